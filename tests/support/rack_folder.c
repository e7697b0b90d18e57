// SPDX-License-Identifier: GPL-3.0-or-later

#include "rack_folder.h"

#include "suite.h"

#include <stdlib.h>
#include <unistd.h>

RackFolder rack_folder;

void
rack_folder_begin(void)
{
  rack_folder = (RackFolder){ .root = scratch_new(), .made = scratch_new() };
  setenv("TMPDIR", rack_folder.made.directory, 1);
}

void
rack_folder_end(void)
{
  scratch_remove(&rack_folder.root);
  scratch_remove(&rack_folder.made);
  unsetenv("TMPDIR");
}

/// FxFiles::find.
static Status
find(void* const context, const char* const name, char** const path, Error* const error)
{
  (void)context;
  const char* const found = scratch_path(&rack_folder.root, name);
  *path = access(found, R_OK) ? NULL : strdup(found);
  return *path ? STATUS_OK : error_set(error, STATUS_FILE, "%s: No such file", name);
}

const FxFiles rack_folder_access = { .find = find };

uint32_t
rack_folder_write(const FxInfo* const fx, const void* const bytes, const size_t n_bytes,
                  char names[const PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES])
{
  PackageFile files[PACKAGE_MAX_FILES];
  uint32_t n = 0;
  OK(package_read(bytes, n_bytes, files, &n, &error));
  for (uint32_t f = 0; f < n; ++f) {
    package_name(fx, &files[f], names[f]);
    scratch_write(&rack_folder.root, names[f], files[f].bytes, files[f].n_bytes);
  }
  return n;
}
