// SPDX-License-Identifier: GPL-3.0-or-later

#include "reverb_bank.h"

#include <string.h>

#define N_LINES REVERB_LINES
#define CHUNK   REVERB_GRID
// Floats behind a ring: a chunk, and 16 that let the rings begin in different sets of a cache.
#define MARGIN (CHUNK + 16U)

size_t
reverb_bank_design(ReverbBank* const bank, const uint32_t extra_frames)
{
  bank->longest = 0;
  for (uint32_t l = 0; l < N_LINES; ++l) {
    const uint32_t delay = bank->delay_frames[l];
    bank->longest = delay > bank->longest ? delay : bank->longest;
  }
  bank->ring_frames = (bank->longest + extra_frames + 3U * CHUNK - 1U) / CHUNK * CHUNK;
  bank->stride = (size_t)bank->ring_frames + MARGIN;
  for (uint32_t l = 0; l < N_LINES; ++l) {
    bank->places[l] = (ptrdiff_t)(l * bank->stride) - (ptrdiff_t)bank->delay_frames[l];
  }
  return N_LINES * bank->stride;
}

void
reverb_bank_wrote(const ReverbBank* const bank, const DelayLine* const line, float* const rings,
                  const uint32_t n_frames)
{
  if (line->position < CHUNK) {
    for (uint32_t l = 0; l < N_LINES; ++l) {
      float* const from = rings + l * bank->stride + line->position;
      memcpy(from + line->size, from, n_frames * sizeof(float));
    }
  }
}

/// Copy the frames to scratch, silence in place of those that were never written.
static void
copy_written(const ReverbBank* const bank, const DelayLine* const line, const uint32_t delay,
             ReverbSources* const sources)
{
  for (uint32_t l = 0; l < N_LINES; ++l) {
    const uint32_t age = delay + bank->delay_frames[l];
    const uint32_t missing = age > line->filled ? age - line->filled : 0U;
    memcpy(sources->scratch[l], sources->rows[l], sizeof(sources->scratch[l]));
    memset(sources->scratch[l], 0, (missing < CHUNK ? missing : CHUNK) * sizeof(float));
    sources->rows[l] = sources->scratch[l];
  }
}

void
reverb_bank_read(const ReverbBank* const bank, const DelayLine* const line,
                 const float* const rings, const uint32_t delay, ReverbSources* const sources)
{
  const ptrdiff_t place = (ptrdiff_t)line->position - (ptrdiff_t)delay;
  for (uint32_t l = 0; l < N_LINES; ++l) {
    const uint32_t own = bank->delay_frames[l];
    sources->rows[l] = rings + bank->places[l] + place + ((ptrdiff_t)own > place ? line->size : 0U);
  }
  if (line->filled < delay + bank->longest) {
    copy_written(bank, line, delay, sources);
  }
}
