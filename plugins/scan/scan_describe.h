// SPDX-License-Identifier: GPL-3.0-or-later
/// Describes the bundles of one format in children.
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_DESCRIBE_H
#define WARPRACK_PLUGINS_SCAN_SCAN_DESCRIBE_H

#include "scan_children.h"
#include "scan_list.h"

#include "plugins/catalogue.h"

/// What is known of a bundle.
typedef struct ScanBundle {
  const FoundBundle* found;
  const CatalogueBundle* old; ///< The same bundle, unchanged, or NULL
  bool is_kept;               ///< `old` goes into the new catalogue
  bool is_done;               ///< `text` and `fault` are the result of this scan
  uint64_t key;               ///< 0: to be described again by the next scan
  char* text;                 ///< NULL: empty
  size_t n_bytes;
  char fault[REPORT_FAULT_BYTES];
} ScanBundle;

/// The scan, or the part of it that has one format.
typedef struct Scan {
  const PluginFormat* format;
  uint32_t n_children; ///< At a time; 0: as many as cores
  uint32_t limit_ms;   ///< For a bundle
  ScanBundle* bundles; ///< [n]
  uint32_t n;
  uint32_t* jobs;  ///< [n] Places of the bundles that children describe
  uint32_t broken; ///< The bundle that preparing was reading when it ended, from 1; 0: none
  Status status;   ///< Of a callback
} Scan;

/// The text of a catalogue of the bundles that are kept or done, which the caller frees; NULL if
/// out of memory. [any, not rt]
char* scan_print(const Scan* scan, size_t* n_bytes);

/// Describe all bundles of the scan, which has one format, that are neither kept nor done; see
/// scan_run(). [main]
NODISCARD Status scan_describe(Scan* scan, Error* error);

#endif
