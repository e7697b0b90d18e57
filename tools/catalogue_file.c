// SPDX-License-Identifier: GPL-3.0-or-later
// Reads, renews and writes the user's catalogue of plugins.

#include "catalogue_file.h"

#include "scan_child.h"

#include "control/folder.h"
#include "engine/base/cache_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LEFT_S   600U // no scan writes for that long
#define SCANNING "plugins are new, changed or gone; scanning"

/// The user's catalogue, or NULL: a damaged one is as good as none.
static Catalogue*
read_catalogue(void)
{
  char path[PATH_MAX];
  Catalogue* catalogue = NULL;
  return catalogue_path(path, sizeof(path)) && !catalogue_read(path, &catalogue, NULL) ? catalogue
                                                                                       : NULL;
}

static Status
scan_again(const Catalogue* const old, const bool everything, Catalogue** const out,
           ScanCounts* const counts, Error* const error)
{
  const ScanRequest request = { .old = old, .everything = everything };
  char* text = NULL;
  size_t n_bytes = 0;
  const Status status = scan_run(&request, &text, &n_bytes, counts, error);
  return status ? status : catalogue_new(text, n_bytes, out, error);
}

Status
catalogue_file_scan(const bool everything, Catalogue** const out, ScanCounts* const counts,
                    Error* const error)
{
  Catalogue* const old = read_catalogue();
  const Status status = scan_again(old, everything, out, counts, error);
  catalogue_free(old);
  return status;
}

Status
catalogue_file_write(const Catalogue* const catalogue, Error* const error)
{
  char path[PATH_MAX];
  char parent[PATH_MAX];
  size_t n_bytes = 0;
  Folder folder;
  if (!cache_folder_make(parent, sizeof(parent)) || !catalogue_path(path, sizeof(path))) {
    return error_set(error, STATUS_FILE,
                     "no folder for the catalogue of plugins; set XDG_CACHE_HOME or HOME to the "
                     "path of a folder that can be written");
  }
  Status status = folder_open(&folder, parent, error);
  if (!status) {
    folder_remove_leftovers(&folder, LEFT_S);
    status =
        folder_replace(&folder, strrchr(path, '/') + 1, catalogue_text(catalogue, &n_bytes), error);
    folder_close(&folder);
  }
  return status;
}

/// Scan and write.  A file that cannot be written is reported only.
static Status
renew(const Command* const command, const Catalogue* const old, Catalogue** const out,
      Error* const error)
{
  ScanCounts counts;
  Error why;
  const Status status = scan_again(old, false, out, &counts, error);
  if (!status && catalogue_file_write(*out, &why)) {
    command_fail(command, &why);
  }
  return status;
}

Status
catalogue_file_use(const Command* const command, Error* const error)
{
  Catalogue* const old = read_catalogue();
  const bool is_current = scan_is_current(old);
  if (old && is_current) {
    catalogue_use(old);
    return STATUS_OK;
  }
  if (!is_current) {
    catalogue_file_print_note((void*)command, SCANNING);
  }
  Catalogue* catalogue = NULL;
  const Status status = renew(command, old, &catalogue, error);
  catalogue_free(old);
  if (!status) {
    catalogue_use(catalogue);
  }
  return status;
}

// ---- renewal by a child ----

static struct {
  CatalogueNote note;
  void* context;
} renewal;

/// A CatalogueProvider.
static Status
provide(void* const context, Catalogue** const out, Error* const error)
{
  (void)context;
  Catalogue* const old = read_catalogue();
  if (old && scan_is_current(old)) {
    *out = old;
    return STATUS_OK;
  }
  catalogue_free(old);
  renewal.note(renewal.context, SCANNING);
  return scan_child_run(out, error);
}

void
catalogue_file_renew_on_search(const CatalogueNote note, void* const context)
{
  renewal.note = note;
  renewal.context = context;
  catalogue_set_provider(provide, NULL);
}

void
catalogue_file_print_note(void* const command, const char* const text)
{
  fprintf(stderr, PROGRAM_NAME " %s: %s\n", ((const Command*)command)->name, text);
}
