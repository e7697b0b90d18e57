// SPDX-License-Identifier: GPL-3.0-or-later
// A ring of frames between an audio thread and a disk thread.

#include "frame_ring.h"

#include <stdlib.h>
#include <string.h>

Status
frame_ring_init(FrameRing* const ring, const uint32_t n_channels, const uint32_t min_frames)
{
  uint32_t n_frames = 1;
  while (n_frames < min_frames) {
    n_frames *= 2U;
  }
  *ring = (FrameRing){ .n_channels = n_channels, .n_frames = n_frames };
  const size_t bytes = (size_t)n_channels * n_frames * sizeof(float);
  ring->samples = malloc(bytes + 1U);
  if (!ring->samples) {
    return STATUS_NO_MEM;
  }
  memset(ring->samples, 0, bytes); // page faults here, not on the audio thread
  return STATUS_OK;
}

void
frame_ring_clear(FrameRing* const ring)
{
  free(ring->samples);
  ring->samples = NULL;
}

/// Frames that can be read now.
static uint32_t
readable(const FrameRing* const ring)
{
  return (uint32_t)(atomic_load_explicit(&ring->written, memory_order_acquire) -
                    atomic_load_explicit(&ring->read, memory_order_acquire));
}

uint32_t
frame_ring_space(const FrameRing* const ring)
{
  return ring->n_frames - readable(ring);
}

// Length of the first piece of a run of frames, up to the end of the ring.
static uint32_t
first_piece(const FrameRing* const ring, const uint32_t start, const uint32_t n)
{
  const uint32_t until_end = ring->n_frames - start;
  return n < until_end ? n : until_end;
}

uint32_t
frame_ring_write(FrameRing* const ring, const float* const* const in, const uint32_t n_frames)
{
  const uint32_t space = frame_ring_space(ring);
  const uint32_t n = n_frames < space ? n_frames : space;
  const uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
  const uint32_t start = (uint32_t)written & (ring->n_frames - 1U);
  const uint32_t piece = first_piece(ring, start, n);
  for (uint32_t c = 0; c < ring->n_channels; ++c) {
    float* const lane = ring->samples + (size_t)c * ring->n_frames;
    memcpy(lane + start, in[c], piece * sizeof(float));
    memcpy(lane, in[c] + piece, (n - piece) * sizeof(float));
  }
  atomic_store_explicit(&ring->written, written + n, memory_order_release);
  return n;
}

uint32_t
frame_ring_read(FrameRing* const ring, float* const* const out, const uint32_t n_frames)
{
  const uint32_t n_readable = readable(ring);
  const uint32_t n = n_frames < n_readable ? n_frames : n_readable;
  const uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
  const uint32_t start = (uint32_t)read & (ring->n_frames - 1U);
  const uint32_t piece = first_piece(ring, start, n);
  for (uint32_t c = 0; c < ring->n_channels; ++c) {
    const float* const lane = ring->samples + (size_t)c * ring->n_frames;
    memcpy(out[c], lane + start, piece * sizeof(float));
    memcpy(out[c] + piece, lane, (n - piece) * sizeof(float));
  }
  atomic_store_explicit(&ring->read, read + n, memory_order_release);
  return n;
}
