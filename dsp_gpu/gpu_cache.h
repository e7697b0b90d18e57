// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Compiled modules on disk, so that a second start does not compile again.

   One file per module in $XDG_CACHE_HOME/warprack, by default ~/.cache/warprack.  The file name is
   a hash of the key; the file contains the complete key, so a collision is a miss.  A file is
   written under a temporary name, synchronised and renamed, so that no partial file exists; length
   and checksum are verified when it is read, and an invalid file is deleted.  The user may delete
   the folder at any time.  If the folder cannot be written, every start compiles.

   A key is a list of words in a fixed order, on which the bytes of a module depend: API, driver,
   toolchain, device, options, source.
*/
#ifndef WARPRACK_DSP_GPU_GPU_CACHE_H
#define WARPRACK_DSP_GPU_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/// True if the folder for cached modules exists or this call made it. [builder]
bool gpu_cache_has_folder(void);

/**
   Look a module up.

   @param key NULL-terminated words.
   @param[out] bytes The caller calls free(); untouched on a miss.
   @return True if the module was found. [builder]
*/
bool gpu_cache_load(const char* const* key, void** bytes, size_t* n_bytes);

/// Store a module.  Returns false, and leaves no file, if it cannot be written. [builder]
bool gpu_cache_store(const char* const* key, const void* bytes, size_t n_bytes);

/// Delete a module that the driver refused. [builder]
void gpu_cache_forget(const char* const* key);

#endif
