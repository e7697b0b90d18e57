// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The positions of delay lines and of the taps that read them.

   A delay line keeps the last `size` frames that were written, in a ring of `size` floats for each
   channel; channels with the same positions share one DelayLine.  A ring need not be cleared (which
   takes long for seconds of audio): frames that were never written read as silence.  The functions
   that write and read samples are in dsp_cpu/delay_line.h, a span in each call, and in
   dsp_gpu/kernels/delay_line.h, a frame in each thread.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_TAP_H
#define WARPRACK_DSP_CPU_SHARED_TAP_H

#include "engine/contract/ramp.h"

#include <stdint.h>

#ifndef TAP_FUNCTION // kernels include this file too
#define TAP_FUNCTION static inline
#endif

typedef struct DelayLine {
  uint32_t size;     ///< Frames of the ring
  uint32_t position; ///< Place of the next frame
  uint32_t filled;   ///< Frames written so far, at most `size`
} DelayLine;

/// An empty line over a ring of `size` frames with any content.
TAP_FUNCTION DelayLine
delay_line_at_start(const uint32_t size)
{
  DelayLine line;
  line.size = size;
  line.position = line.filled = 0U;
  return line;
}

/// Complete the write of a span of n_frames <= size frames, once for all channels.
TAP_FUNCTION void
delay_line_advance(DelayLine* const line, const uint32_t n_frames)
{
  line->position += n_frames;
  line->position -= line->position >= line->size ? line->size : 0U;
  const uint32_t room = line->size - line->filled;
  line->filled += n_frames < room ? n_frames : room;
}

/**
   A read position that moves without a click or a change of pitch: it cross-fades to the new
   position.  A target that is set during a cross-fade waits until the fade ends; then the newest
   target is used.
*/
typedef struct Tap {
  uint32_t now;  ///< Current delay in frames
  uint32_t next; ///< Delay that fades in; == now without a fade
  Ramp fade;     ///< Weight of `next`, 0 to 1
} Tap;

TAP_FUNCTION Tap
tap_at(const uint32_t delay)
{
  Tap tap;
  tap.now = tap.next = delay;
  tap.fade = ramp_at(0.0F);
  return tap;
}

/// Start a fade to `target`, now or after the current cross-fade; call this before every span.
TAP_FUNCTION void
tap_aim(Tap* const tap, const uint32_t target, const uint32_t fade_frames)
{
  if (tap->fade.frames_left == 0U) {
    tap->now = tap->next;
    tap->next = target;
    tap->fade = ramp_at(0.0F);
    if (tap->next != tap->now) {
      ramp_aim(&tap->fade, 1.0F, fade_frames);
    }
  }
}

/// The longest span of at most n_frames that is either completely inside or completely outside a
/// cross-fade.
TAP_FUNCTION uint32_t
tap_span(const Tap* const tap, const uint32_t n_frames)
{
  const uint32_t left = tap->fade.frames_left;
  return left && left < n_frames ? left : n_frames;
}

#endif
