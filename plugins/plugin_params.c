// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugin.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void
plugin_param_id(const char* const name, char id[const PLUGIN_ID_BYTES])
{
  const char* const bracket = strpbrk(name, "([");
  const char* const end = bracket && bracket > name ? bracket : name + strlen(name);
  size_t n = 0;
  for (const char* at = name; at < end && n < PLUGIN_ID_BYTES - 1U; ++at) {
    if (isalnum((unsigned char)*at)) {
      id[n++] = (char)tolower((unsigned char)*at);
    } else if (n && id[n - 1U] != '_') {
      id[n++] = '_';
    }
  }
  n -= n && id[n - 1U] == '_';
  id[n] = '\0';
}

Status
file_key(const char* const path, FileKey* const key, Error* const error)
{
  struct stat file;
  if (stat(path, &file)) {
    return error_set(error, STATUS_FILE, "%s cannot be read", path);
  }
  *key =
      (FileKey){ .device = file.st_dev, .inode = file.st_ino, .n_bytes = (uint64_t)file.st_size };
  return STATUS_OK;
}
