// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Memory that is allocated piece by piece and freed all at once: the tables of a plan, the scratch
   memory of a planning run.  A failed allocation sets `failed`, so that a builder checks only once,
   at its end.
*/
#ifndef WARPRACK_ENGINE_BASE_ARENA_H
#define WARPRACK_ENGINE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
  ArenaChunk* chunks;
  size_t n_bytes; ///< Sum over all chunks
  bool failed;    ///< An allocation failed
} Arena;

/// Zeroed, 64-byte aligned memory for `n` items of `size` bytes; not NULL for n == 0.  Returns
/// NULL, and sets `failed`, when out of memory. [builder]
void* arena_take(Arena* arena, size_t n, size_t size);

/// Free all pieces. [builder]
void arena_clear(Arena* arena);

#endif
