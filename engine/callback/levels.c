// SPDX-License-Identifier: GPL-3.0-or-later
// The callback adds, the reader takes: engine/base/halves.h.

#include "levels.h"

#include "engine/base/halves.h"
#include "engine/base/rt.h"

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
  _Atomic uint64_t wanted; ///< Of the reader ...
  uint64_t asked;          ///< ... and its own copy
  _Atomic uint64_t begun;  ///< Of the callback ...
  uint64_t span;           ///< ... and its own copy
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
  if (halves_begin(&levels->wanted, &levels->begun, &levels->span)) {
    levels->now = &levels->halves[half_of(levels->span)];
    levels->now->first_frame = frame;
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
  if (!halves_have_begun(&levels->begun, levels->asked)) {
    return false;
  }
  const size_t n_bytes = ((size_t)levels->n_in + levels->n_out) * sizeof(Level);
  LevelsHalf* const ended = &levels->halves[half_before(levels->asked)];
  to->first_frame = ended->first_frame;
  to->n_frames = ended->n_frames;
  to->n_in = levels->n_in;
  to->n_out = levels->n_out;
  memcpy(to->of, ended->of, n_bytes);
  memset(ended->of, 0, n_bytes);
  ended->n_frames = 0;
  halves_ask(&levels->wanted, &levels->asked, levels->asked + 1U);
  return to->n_frames > 0;
}
