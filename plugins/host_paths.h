// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The files that the state of a node names.  In the state a file has the name that it would have in
   the rack, and the plugin gets its path, by the rules for all files of racks (FxFiles::find).  A
   plugin may also name files of its own bundle, by their paths.  Files that it has made itself
   (host_made.h) are saved with the state, under names made from their contents.
*/
#ifndef WARPRACK_PLUGINS_HOST_PATHS_H
#define WARPRACK_PLUGINS_HOST_PATHS_H

#include "plugin.h"

#include "engine/contract/package.h"

typedef struct HostPath {
  char* name;
  char* path; ///< Absolute
} HostPath;

/// Zeros: no files.
typedef struct HostPaths {
  const FxFiles* files; ///< NULL: only files that are known already
  const char* bundle;
  HostPath* list; ///< [n]
  uint32_t n;
  // of the state that is being saved
  TextBuffer kept;                                         ///< As package_add() appends them
  char kept_names[PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES]; ///< [n_kept] all different
  uint32_t n_kept;
} HostPaths;

/// Begin with the files that the parameters of the node name. STATUS_NO_MEM. [builder]
NODISCARD Status host_paths_init(HostPaths* paths, const FxSetup* setup, Error* error);

/// Add a file, copied.  STATUS_NO_MEM. [builder]
NODISCARD Status host_paths_add(HostPaths* paths, const char* name, const char* path, Error* error);

/// The path of a file that a state names.  NULL, with an error, if no state may name it. [builder]
const char* host_paths_find(HostPaths* paths, const char* name, Error* error);

/// The name of a path in a state; NULL if a state cannot name it. [builder]
const char* host_paths_name(const HostPaths* paths, const char* path);

/// Save a file that a plugin has made beside the state.  `stored`: the name that it has in the
/// folder of the rack then.  STATUS_LIMIT, STATUS_NO_MEM. [builder]
NODISCARD Status host_paths_keep(HostPaths* paths, const FxInfo* fx, const PackageFile* file,
                                 char stored[FX_STATE_NAME_BYTES], Error* error);

/// Forget the files of host_paths_keep(). [builder]
void host_paths_forget_kept(HostPaths* paths);

void host_paths_clear(HostPaths* paths);

#endif
