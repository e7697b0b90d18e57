// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A ring of frames between an audio thread and a thread that may wait for a disk: one writer, one
   reader, planar on both sides, never blocking.
*/
#ifndef WARPRACK_IO_FILE_FRAME_RING_H
#define WARPRACK_IO_FILE_FRAME_RING_H

#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct FrameRing {
  uint32_t n_channels;
  uint32_t n_frames;        ///< Capacity, a power of two
  float* samples;           ///< [n_channels][n_frames]
  _Atomic uint64_t written; ///< Frames so far; stored by the writer (release)
  _Atomic uint64_t read;    ///< Frames so far; stored by the reader (release)
} FrameRing;

/// Allocate room for at least min_frames frames, zeroed.  STATUS_NO_MEM. [main]
NODISCARD Status frame_ring_init(FrameRing* ring, uint32_t n_channels, uint32_t min_frames);
void frame_ring_clear(FrameRing* ring);

/// Frames that can be written now. [writer]
REALTIME uint32_t frame_ring_space(const FrameRing* ring);
/// Append at most n_frames of in[n_channels]; returns the number of frames that fit. [writer]
REALTIME uint32_t frame_ring_write(FrameRing* ring, const float* const* in, uint32_t n_frames);

/// Move at most n_frames to out[n_channels]; returns the number of frames moved. [reader]
REALTIME uint32_t frame_ring_read(FrameRing* ring, float* const* out, uint32_t n_frames);

#endif
