// SPDX-License-Identifier: GPL-3.0-or-later
/// The folder for files that the program can make again: $XDG_CACHE_HOME/warprack, by default
/// ~/.cache/warprack.  The user may delete it at any time.
#ifndef WARPRACK_ENGINE_BASE_CACHE_FOLDER_H
#define WARPRACK_ENGINE_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/// Write the path of the folder, which need not exist.  False if the path does not fit, or neither
/// XDG_CACHE_HOME nor HOME is an absolute path. [any]
bool cache_folder_path(char* path, size_t path_bytes);

/// As cache_folder_path(), and make the folder.  False also if that fails. [any, not rt]
bool cache_folder_make(char* path, size_t path_bytes);

#endif
