// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Memory that is taken piece by piece and given back all at once: the tables of a plan, the scratch
   of a planning run.  Out of memory is remembered, so that a builder checks once at its end.
*/
#ifndef WARPRACK_ENGINE_BASE_ARENA_H
#define WARPRACK_ENGINE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
  ArenaChunk* chunks;
  size_t n_bytes; ///< Of all chunks
  bool failed;    ///< Some piece could not be had
} Arena;

/// Zeroed, 64-byte aligned memory for `n` items of `size` bytes.  Never NULL for n == 0.  NULL, and
/// `failed` set, when out of memory. [builder]
void* arena_take(Arena* arena, size_t n, size_t size);

/// Give everything back. [builder]
void arena_clear(Arena* arena);

#endif
