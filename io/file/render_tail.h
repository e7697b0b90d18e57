// SPDX-License-Identifier: GPL-3.0-or-later
/// The automatic tail of a rendered file: writes frames until the output stays silent, without the
/// final silence.
#ifndef WARPRACK_IO_FILE_RENDER_TAIL_H
#define WARPRACK_IO_FILE_RENDER_TAIL_H

#include "audio_file.h"

#include <stdbool.h>
#include <stdint.h>

#define RENDER_QUIET 1e-6F // -120 dBFS: quieter samples count as silence

typedef struct RenderTail {
  uint32_t n_channels;
  uint64_t left;     ///< Frames that may still be written
  uint32_t hold;     ///< Number of quiet frames that ends the tail
  uint32_t capacity; ///< Of each row, in frames
  uint32_t n_quiet;  ///< Quiet frames held back; written only if a louder frame follows
  uint64_t n_written;
  float* memory; ///< [n_channels][capacity]
  float** rows;  ///< [n_channels] pointers into `memory`
} RenderTail;

/// Begin a tail of at most max_frames frames, which ends after `hold` quiet frames.  Each write has
/// at most block_frames.  STATUS_NO_MEM.
NODISCARD Status render_tail_init(RenderTail* tail, uint32_t n_channels, uint64_t max_frames,
                                  uint32_t hold, uint32_t block_frames);
void render_tail_clear(RenderTail* tail);

/// True if the tail needs no more frames.
bool render_tail_is_over(const RenderTail* tail);

/// Append n_frames of `in`, unless the tail is over.
NODISCARD Status render_tail_write(RenderTail* tail, AudioWriter* writer, const float* const* in,
                                   uint32_t n_frames, Error* error);

#endif
