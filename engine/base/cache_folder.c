// SPDX-License-Identifier: GPL-3.0-or-later

#include "cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// $XDG_CACHE_HOME is valid only if it is absolute (XDG Base Directory Specification).
bool
cache_folder_path(char* const path, const size_t path_bytes)
{
  const char* const cache = getenv("XDG_CACHE_HOME");
  const char* const home = getenv("HOME");
  int length = 0;
  if (cache && cache[0] == '/') {
    length = snprintf(path, path_bytes, "%s/warprack", cache);
  } else if (home && home[0] == '/') {
    length = snprintf(path, path_bytes, "%s/.cache/warprack", home);
  }
  return length > 0 && (size_t)length < path_bytes;
}

bool
cache_folder_make(char* const path, const size_t path_bytes)
{
  if (!cache_folder_path(path, path_bytes)) {
    return false;
  }
  char* const slash = strrchr(path, '/');
  *slash = '\0';
  mkdir(path, 0700); // may already exist or fail: the next mkdir() shows it
  *slash = '/';
  return !mkdir(path, 0700) || errno == EEXIST;
}
