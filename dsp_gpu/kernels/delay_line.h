// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A delay line: the last `size` frames that were written.  The kernels' version of
  dsp_cpu/delay_line.h, with the same names.  A call handles one frame of a span instead of a
  complete span, so that each thread of a group handles one frame.

  Frame i of a span is at place `position` + i of the ring; delay_line_advance() completes the span.
  Each channel has a ring of samples in memory; channels with the same positions share the line.  A
  ring need not be cleared: frames that were never written read as silence.

  Within a span, and between two barriers, a write and a read of different frames may use the same
  place of the ring unless size >= delay + n_frames.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_DELAY_LINE_H
#define WARPRACK_DSP_GPU_KERNELS_DELAY_LINE_H

#include "stage.h"

typedef struct DelayLine {
  u32 size;     // frames of the ring
  u32 position; // place of the next frame
  u32 filled;   // frames written so far, at most `size`
} DelayLine;

// An empty line over a ring of `size` frames with any content.
DEVICE DelayLine
delay_line_at_start(const u32 size)
{
  DelayLine line;
  line.size = size;
  line.position = line.filled = 0;
  return line;
}

DEVICE DelayLine
delay_line_load(GLOBAL const f32* const words, const u32 size)
{
  DelayLine line;
  line.size = size;
  line.position = BITS_OF_F32(words[0]);
  line.filled = BITS_OF_F32(words[1]);
  return line;
}

DEVICE void
delay_line_store(GLOBAL f32* const words, const DelayLine line)
{
  words[0] = F32_OF_BITS(line.position);
  words[1] = F32_OF_BITS(line.filled);
}

// Write frame i < size of the span.
DEVICE void
delay_line_put(const DelayLine line, GLOBAL f32* const ring, const u32 i, const f32 x)
{
  const u32 at = line.position + i;
  ring[at < line.size ? at : at - line.size] = x;
}

// Complete a span of n_frames <= size frames.
DEVICE void
delay_line_advance(DelayLine* const line, const u32 n_frames)
{
  line->position += n_frames;
  line->position -= line->position >= line->size ? line->size : 0;
  line->filled += min(n_frames, line->size - line->filled);
}

// The frame `delay` <= size frames before frame i < size of the span.  If i >= delay it is a frame
// of the span itself, which must already be written.
DEVICE f32
delay_line_get(const DelayLine line, GLOBAL const f32* const ring, const u32 delay, const u32 i)
{
  if (delay > line.filled + i) {
    return 0.0f;
  }
  const u32 at = line.position + (i < delay ? line.size - (delay - i) : i - delay);
  return ring[at < line.size ? at : at - line.size];
}

// A read position that moves without a click or a change of pitch: it cross-fades to the new
// position.  A target that is set during a cross-fade waits until the fade ends; then the newest
// target is used.
typedef struct Tap {
  u32 now;   // current delay in frames
  u32 next;  // delay that fades in; == now without a fade
  Ramp fade; // weight of `next`, 0 to 1
} Tap;

DEVICE Tap
tap_at(const u32 delay)
{
  Tap tap;
  tap.now = tap.next = delay;
  tap.fade = ramp_at(0.0f);
  return tap;
}

DEVICE Tap
tap_load(GLOBAL const f32* const words)
{
  Tap tap;
  tap.now = BITS_OF_F32(words[0]);
  tap.next = BITS_OF_F32(words[1]);
  tap.fade = ramp_load(words + 2);
  return tap;
}

DEVICE void
tap_store(GLOBAL f32* const words, const Tap tap)
{
  words[0] = F32_OF_BITS(tap.now);
  words[1] = F32_OF_BITS(tap.next);
  ramp_store(words + 2, tap.fade);
}

// Start a fade to `target`, now or after the current cross-fade; call this before every span.
DEVICE void
tap_aim(Tap* const tap, const u32 target, const u32 fade_frames)
{
  if (tap->fade.frames_left == 0) {
    tap->now = tap->next;
    tap->next = target;
    tap->fade = ramp_at(0.0f);
    if (tap->next != tap->now) {
      ramp_aim(&tap->fade, 1.0f, fade_frames);
    }
  }
}

// The longest span of at most n_frames that is either completely inside or completely outside a
// cross-fade.
DEVICE u32
tap_span(const Tap tap, const u32 n_frames)
{
  const u32 left = tap.fade.frames_left;
  return left > 0 ? min(left, n_frames) : n_frames;
}

// Read frame i of a span at the tap's delay plus `offset` frames.
DEVICE f32
tap_get(const Tap tap, const DelayLine line, GLOBAL const f32* const ring, const u32 offset,
        const u32 i)
{
  const f32 now = delay_line_get(line, ring, tap.now + offset, i);
  if (tap.next == tap.now) {
    return now;
  }
  const f32 next = delay_line_get(line, ring, tap.next + offset, i);
  return now + ramp_ahead(tap.fade, i + 1) * (next - now);
}

// Advance the tap to the end of a span.
DEVICE void
tap_skip(Tap* const tap, const u32 n_frames)
{
  ramp_skip(&tap->fade, n_frames);
}

#endif
