// SPDX-License-Identifier: GPL-3.0-or-later

#include "rack_folder.h"

#include "suite.h"

#include <unistd.h>

Status
rack_folder_find(void* const folder, const char* const name, char** const path, Error* const error)
{
  const char* const found = scratch_path(folder, name);
  *path = access(found, R_OK) ? NULL : strdup(found);
  return *path ? STATUS_OK : error_set(error, STATUS_FILE, "%s: No such file", name);
}

uint32_t
rack_folder_write(const Scratch* const folder, const FxInfo* const fx, const void* const bytes,
                  const size_t n_bytes, char names[const PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES])
{
  PackageFile files[PACKAGE_MAX_FILES];
  uint32_t n = 0;
  OK(package_read(bytes, n_bytes, files, &n, &error));
  for (uint32_t f = 0; f < n; ++f) {
    package_name(fx, &files[f], names[f]);
    scratch_write(folder, names[f], files[f].bytes, files[f].n_bytes);
  }
  return n;
}
