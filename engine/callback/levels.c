// SPDX-License-Identifier: GPL-3.0-or-later
// Two halves, and two numbers that say whose they are.  The callback adds to half `begun` % 2.
// While `begun` == `wanted`, the other half is the reader's, who clears it before it asks for it.

#include "levels.h"

#include "engine/base/rt.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct LevelsHalf {
  uint64_t first_frame, n_frames;
  Level* of; ///< [n_in + n_out]
} LevelsHalf;

struct Levels {
  uint32_t n_in, n_out;
  LevelsHalf halves[2];
  LevelsHalf* now;         ///< [rt] The half that the callback adds to
  Level* memory;           ///< [2][n_in + n_out]
  _Atomic uint32_t wanted; ///< Number of spans that the reader has asked for; it alone writes this
  _Atomic uint32_t begun;  ///< Number of these that have begun; the callback alone writes this
};

Status
levels_new(const uint32_t n_in, const uint32_t n_out, Levels** const out, Error* const error)
{
  const size_t n_ports = (size_t)n_in + n_out;
  Levels* const levels = calloc(1, sizeof(Levels));
  Level* const memory = rt_memory(2U * n_ports * sizeof(Level));
  if (!levels || !memory) {
    free(levels);
    free(memory);
    return error_set(error, STATUS_NO_MEM, "no memory for the levels of the ports");
  }
  levels->n_in = n_in;
  levels->n_out = n_out;
  levels->memory = memory;
  levels->halves[0].of = memory;
  levels->halves[1].of = memory + n_ports;
  levels->now = &levels->halves[0];
  *out = levels;
  return STATUS_OK;
}

void
levels_free(Levels* const levels)
{
  if (levels) {
    free(levels->memory);
    free(levels);
  }
}

void
levels_begin(Levels* const levels, const uint64_t frame)
{
  const uint32_t wanted = atomic_load_explicit(&levels->wanted, memory_order_acquire);
  if (wanted != atomic_load_explicit(&levels->begun, memory_order_relaxed)) {
    levels->now = &levels->halves[wanted % 2U];
    levels->now->first_frame = frame;
    atomic_store_explicit(&levels->begun, wanted, memory_order_release);
  }
}

void
levels_add_in(Levels* const levels, const uint32_t channel, const Level* const block)
{
  level_add(&levels->now->of[channel], block);
}

void
levels_add_out(Levels* const levels, const uint32_t channel, const Level* const block)
{
  level_add(&levels->now->of[levels->n_in + channel], block);
}

void
levels_end(Levels* const levels, const uint32_t n_frames)
{
  levels->now->n_frames += n_frames;
}

bool
levels_collect(Levels* const levels, PortLevels* const to)
{
  const uint32_t wanted = atomic_load_explicit(&levels->wanted, memory_order_relaxed);
  if (atomic_load_explicit(&levels->begun, memory_order_acquire) != wanted) {
    return false;
  }
  const size_t n_bytes = ((size_t)levels->n_in + levels->n_out) * sizeof(Level);
  LevelsHalf* const ended = &levels->halves[(wanted + 1U) % 2U];
  to->first_frame = ended->first_frame;
  to->n_frames = ended->n_frames;
  to->n_in = levels->n_in;
  to->n_out = levels->n_out;
  memcpy(to->of, ended->of, n_bytes);
  memset(ended->of, 0, n_bytes);
  ended->n_frames = 0;
  atomic_store_explicit(&levels->wanted, wanted + 1U, memory_order_release);
  return to->n_frames > 0;
}
