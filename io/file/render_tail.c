// SPDX-License-Identifier: GPL-3.0-or-later
// The automatic tail of a rendered file.

#include "render_tail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Status
render_tail_init(RenderTail* const tail, const uint32_t n_channels, const uint64_t max_frames,
                 const uint32_t hold, const uint32_t block_frames)
{
  *tail = (RenderTail){
    .n_channels = n_channels, .left = max_frames, .hold = hold, .capacity = hold + block_frames
  };
  tail->memory = calloc((size_t)n_channels * tail->capacity, sizeof(float));
  tail->rows = calloc(n_channels, sizeof(float*));
  if (!tail->memory || !tail->rows) {
    render_tail_clear(tail);
    return STATUS_NO_MEM;
  }
  for (uint32_t c = 0; c < n_channels; ++c) {
    tail->rows[c] = tail->memory + (size_t)c * tail->capacity;
  }
  return STATUS_OK;
}

void
render_tail_clear(RenderTail* const tail)
{
  free(tail->rows);
  free(tail->memory);
  *tail = (RenderTail){ 0 };
}

bool
render_tail_is_over(const RenderTail* const tail)
{
  return !tail->left || tail->n_quiet >= tail->hold;
}

// Number of frames of the buffered rows up to the last frame above RENDER_QUIET; 0 if there is
// none.
static uint32_t
sounding_frames(const RenderTail* const tail, const uint32_t from)
{
  for (uint32_t n = tail->n_quiet; n > from; --n) {
    for (uint32_t c = 0; c < tail->n_channels; ++c) {
      if (fabsf(tail->rows[c][n - 1U]) > RENDER_QUIET) {
        return n;
      }
    }
  }
  return 0;
}

Status
render_tail_write(RenderTail* const tail, AudioWriter* const writer, const float* const* const in,
                  const uint32_t n_frames, Error* const error)
{
  const uint32_t n = n_frames < tail->left ? n_frames : (uint32_t)tail->left;
  const uint32_t before = tail->n_quiet; // frames that are known to be quiet
  for (uint32_t c = 0; c < tail->n_channels; ++c) {
    memcpy(tail->rows[c] + before, in[c], n * sizeof(float));
  }
  tail->n_quiet += n;
  tail->left -= n;
  const uint32_t sounding = sounding_frames(tail, before);
  if (!sounding) {
    return STATUS_OK;
  }
  tail->n_quiet -= sounding;
  tail->n_written += sounding;
  const Status status =
      audio_writer_write(writer, (const float* const*)tail->rows, sounding, error);
  for (uint32_t c = 0; c < tail->n_channels; ++c) {
    memmove(tail->rows[c], tail->rows[c] + sounding, tail->n_quiet * sizeof(float));
  }
  return status;
}
