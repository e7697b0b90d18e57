// SPDX-License-Identifier: GPL-3.0-or-later
// A circular buffer per channel, with one position for all.

#include "dry_line.h"

#include "engine/base/rt.h"

#include <stdlib.h>
#include <string.h>

// The callback writes all channels at the same position.  If their distance were a power of two,
// all these writes would fall into the same few sets of the cache; one more cache line spreads
// them.
#define PAD_FRAMES 16U

struct DryLine {
  uint32_t n_channels;
  uint32_t size;     ///< Frames of a channel, power of two
  uint32_t position; ///< Frame that is written next, 0..size-1
  float* samples;    ///< [n_channels][size + PAD_FRAMES]
};

Status
dry_line_new(const uint32_t n_channels, const uint32_t n_frames, DryLine** const out,
             Error* const error)
{
  uint32_t size = 1U;
  while (size < n_frames && size < 1U << 31U) {
    size *= 2U;
  }
  DryLine* const line = calloc(1, sizeof(DryLine));
  const size_t n_samples = (size_t)n_channels * (size + PAD_FRAMES);
  float* const samples = size < n_frames ? NULL : rt_memory(n_samples * sizeof(float));
  if (!line || !samples) {
    free(samples);
    free(line);
    return error_set(error, STATUS_NO_MEM, "no memory for the dry signal: %u channels of %u frames",
                     n_channels, n_frames);
  }
  *line = (DryLine){ .n_channels = n_channels, .size = size, .samples = samples };
  *out = line;
  return STATUS_OK;
}

void
dry_line_free(DryLine* const line)
{
  if (line) {
    free(line->samples);
    free(line);
  }
}

uint32_t
dry_line_channels(const DryLine* const line)
{
  return line->n_channels;
}

static float*
channel_buffer(const DryLine* const line, const uint32_t channel)
{
  return line->samples + (size_t)channel * (line->size + PAD_FRAMES);
}

/// Number of frames from `position` to the end of the buffer, at most `n_frames`.
static uint32_t
until_end(const DryLine* const line, const uint32_t position, const uint32_t n_frames)
{
  const uint32_t left = line->size - position;
  return left < n_frames ? left : n_frames;
}

static void
write_run(float* const to, const float* const from, const uint32_t n_frames)
{
  if (from) {
    memcpy(to, from, n_frames * sizeof(float));
  } else {
    memset(to, 0, n_frames * sizeof(float));
  }
}

void
dry_line_feed(DryLine* const line, const uint32_t channel, const float* const in,
              const uint32_t n_frames)
{
  float* const buffer = channel_buffer(line, channel);
  const uint32_t first = until_end(line, line->position, n_frames);
  write_run(buffer + line->position, in, first);
  write_run(buffer, in ? in + first : NULL, n_frames - first);
}

void
dry_line_advance(DryLine* const line, const uint32_t n_frames)
{
  line->position = (line->position + n_frames) & (line->size - 1U);
}

void
dry_line_runs(const DryLine* const line, const uint32_t channel, const uint32_t delay_frames,
              const uint32_t n_frames, const float* runs[const 2], uint32_t n_runs[const 2])
{
  const float* const buffer = channel_buffer(line, channel);
  const uint32_t position = (line->position - n_frames - delay_frames) & (line->size - 1U);
  runs[0] = buffer + position;
  runs[1] = buffer;
  n_runs[0] = until_end(line, position, n_frames);
  n_runs[1] = n_frames - n_runs[0];
}

void
dry_line_read(const DryLine* const line, const uint32_t channel, const uint32_t delay_frames,
              float* const out, const uint32_t n_frames)
{
  const float* runs[2];
  uint32_t n_runs[2];
  dry_line_runs(line, channel, delay_frames, n_frames, runs, n_runs);
  memcpy(out, runs[0], n_runs[0] * sizeof(float));
  memcpy(out + n_runs[0], runs[1], n_runs[1] * sizeof(float));
}
