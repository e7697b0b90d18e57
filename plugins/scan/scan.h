// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Finds the plugins of this machine and describes them.

   Plugin code and plugin descriptions (Turtle) are only opened in children of the process that
   scans.  A child that crashes, or that finds no plugin for SCAN_LIMIT_MS, costs its bundle and no
   other; the catalogue remembers why, until the bundle changes.
*/
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_H
#define WARPRACK_PLUGINS_SCAN_SCAN_H

#include "plugins/catalogue.h"

#define SCAN_LIMIT_MS 8000U // for a bundle, or for the next plugin of it

/// What a scan did.
typedef struct ScanCounts {
  uint32_t n_bundles;   ///< Found
  uint32_t n_described; ///< New or changed, so described
  uint32_t n_kept;      ///< Unchanged, from the old catalogue
  uint32_t n_failed;    ///< Without a description; CatalogueBundle::fault has the reason
} ScanCounts;

typedef struct ScanRequest {
  const Catalogue* old; ///< Its unchanged bundles are kept; NULL: none
  bool everything;      ///< Describe unchanged bundles, too
  uint32_t n_children;  ///< Children at a time; 0: as many as cores
  uint32_t limit_ms;    ///< For a bundle; 0: SCAN_LIMIT_MS
} ScanRequest;

/**
   Scan the folders of all formats, and return the text of the new catalogue, which the caller
   frees.

   A format that prepares is described as a whole if one of its bundles is new, changed or gone,
   because its bundles may describe each other's plugins; bundles that failed and did not change are
   left out.

   Forks, so the process must have one thread, no other children, no audio and no descriptors that a
   plugin must not have.  After SIGINT, SIGTERM or SIGHUP the children are killed and the signal is
   raised again.  STATUS_NO_MEM, STATUS_LIMIT.
   [main, of a process that scans]
*/
NODISCARD Status scan_run(const ScanRequest* request, char** text, size_t* n_bytes,
                          ScanCounts* counts, Error* error);

/// True if no bundle was added, changed or removed since a scan: one stat() per folder and file, no
/// code is run.  A bundle whose fault may be gone at the next attempt counts as unchanged.  NULL is
/// an empty catalogue. [any, not rt]
bool scan_is_current(const Catalogue* catalogue);

#endif
