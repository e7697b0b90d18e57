// SPDX-License-Identifier: GPL-3.0-or-later
/// Lists the bundles in the folders of all formats, without a look into them.
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_LIST_H
#define WARPRACK_PLUGINS_SCAN_SCAN_LIST_H

#include "plugins/format.h"

#include <sys/types.h>

/// A bundle that a folder contains.
typedef struct FoundBundle {
  const PluginFormat* format;
  char* path;      ///< Absolute; its folder has no links
  uint32_t folder; ///< Place of its folder in the search
  uint64_t key;    ///< catalogue_key()
  dev_t device;
  ino_t inode;
} FoundBundle;

/// The bundles of all formats, in the order of the formats, then of the folders that were searched,
/// then of their paths: of two plugins with one id, the first one counts.
typedef struct FoundBundles {
  FoundBundle* bundles;
  uint32_t n, room;
  uint32_t n_folders; ///< That were searched
  bool failed;        ///< Out of memory
} FoundBundles;

/// List the bundles: each once, also if several names lead to it.  Folders that do not exist or
/// cannot be read are empty.  STATUS_NO_MEM. [any, not rt]
NODISCARD Status bundles_find(FoundBundles* found, Error* error);

/// Free the list.  Accepts zeros. [any]
void bundles_clear(FoundBundles* found);

#endif
