// SPDX-License-Identifier: GPL-3.0-or-later
// An arena: memory that is allocated piece by piece and freed all at once.

#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT   64U
#define CHUNK_BYTES ((size_t)64U << 10U) // one or two chunks hold the tables of a usual rack

struct ArenaChunk {
  ArenaChunk* next;
  size_t used, size;
};

static ArenaChunk*
chunk_new(const size_t n_bytes, ArenaChunk* const next)
{
  const size_t size = n_bytes > CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
  ArenaChunk* const chunk = aligned_alloc(ALIGNMENT, ALIGNMENT + size);
  if (chunk) {
    *chunk = (ArenaChunk){ .next = next, .used = 0, .size = size };
  }
  return chunk;
}

void*
arena_take(Arena* const arena, const size_t n, const size_t size)
{
  size_t n_bytes = 0;
  if (__builtin_mul_overflow(n, size, &n_bytes) || n_bytes > SIZE_MAX / 2U) {
    arena->failed = true;
    return NULL;
  }
  // One byte more, so that no piece is empty.
  n_bytes = (n_bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1U);
  ArenaChunk* chunk = arena->chunks;
  if (!chunk || chunk->size - chunk->used < n_bytes) {
    chunk = chunk_new(n_bytes, arena->chunks);
    if (!chunk) {
      arena->failed = true;
      return NULL;
    }
    arena->chunks = chunk;
    arena->n_bytes += ALIGNMENT + chunk->size;
  }
  uint8_t* const memory = (uint8_t*)chunk + ALIGNMENT + chunk->used;
  chunk->used += n_bytes;
  return memset(memory, 0, n_bytes);
}

void
arena_clear(Arena* const arena)
{
  while (arena->chunks) {
    ArenaChunk* const chunk = arena->chunks;
    arena->chunks = chunk->next;
    free(chunk);
  }
  arena->n_bytes = 0;
  arena->failed = false;
}
