// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Compiled modules on disk, so that a second start does not compile again.

   A file per module in $XDG_CACHE_HOME/warprack, by default ~/.cache/warprack.  Its name is a hash
   of the key, and the whole key stands in the file and is compared: a collision is a miss.  Files
   are written under another name, synchronised and renamed, so that none is ever half there, and
   are verified by length and checksum when read; one that is not right is deleted.  The folder may
   be deleted at any time, and a folder that cannot be written is no error: then every start
   compiles.

   A key is everything that the bytes depend on, as words in a fixed order: API, driver, toolchain,
   device, options, source.
*/
#ifndef WARPRACK_DSP_GPU_GPU_CACHE_H
#define WARPRACK_DSP_GPU_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/// True when the folder for cached modules exists, or this call could make it. [builder]
bool gpu_cache_has_folder(void);

/**
   Look a module up.

   @param key NULL-terminated words.
   @param[out] bytes To be freed; untouched on a miss.
   @return Whether it is there. [builder]
*/
bool gpu_cache_load(const char* const* key, void** bytes, size_t* n_bytes);

/// Keep a module.  False when it could not be written; nothing is left behind then. [builder]
bool gpu_cache_store(const char* const* key, const void* bytes, size_t n_bytes);

/// Delete a module: the driver did not like it. [builder]
void gpu_cache_forget(const char* const* key);

#endif
