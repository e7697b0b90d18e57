// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Finds the plugins of this machine and describes them.

   Plugin code and plugin descriptions (Turtle) are only opened in children of the process that scans.
   A child that crashes, or that takes longer than SCAN_LIMIT_MS, costs its bundle and no other; the
   catalogue remembers why, until the bundle changes.
*/
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_H
#define WARPRACK_PLUGINS_SCAN_SCAN_H

#include "plugins/catalogue.h"

#define SCAN_LIMIT_MS 8000 // for a bundle

/// What a scan did.
typedef struct ScanCounts {
  uint32_t n_bundles;   ///< Found
  uint32_t n_described; ///< New or changed, so described
  uint32_t n_kept;      ///< Unchanged, from the old catalogue
  uint32_t n_failed;    ///< Without a description, as CatalogueBundle::fault says
  uint32_t n_plugins;
} ScanCounts;

typedef struct ScanRequest {
  const Catalogue* old; ///< Its unchanged bundles are kept; NULL: none
  bool everything;      ///< Describe unchanged bundles, too
  uint32_t n_children;  ///< Children at a time; 0: as many as cores
  /// Called before a bundle is described, and with its fault after it failed; may be NULL.
  void (*note)(void* context, const char* bundle, const char* fault);
  void* context;
} ScanRequest;

/**
   Scan the folders of all formats, and return the text of the new catalogue.

   Forks, so the process must have one thread, no audio and no descriptors that a plugin must not
   have.  STATUS_NO_MEM, STATUS_LIMIT.
   [main, of a process that scans]
*/
NODISCARD Status scan_run(const ScanRequest* request, char** text, size_t* n_bytes,
                          ScanCounts* counts, Error* error);

/// True if the catalogue is of this version and no bundle was added, changed or removed since: one
/// stat() per folder and file, no code is run. [any, not rt]
bool scan_is_current(const Catalogue* catalogue);

#endif
