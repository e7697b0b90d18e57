// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A delay line: the last `size` frames that were put into it.  The kernels' half of
  dsp_cpu/delay_line.h, with the same names; there a call moves a span, here one frame of it, so
  that a group takes a span with one frame for each thread.

  Frame i of a span is put at, and read from, `i` frames behind `position`; delay_line_advance()
  makes the span history.  The samples lie in a ring in memory that several channels in lock step
  have one each of.  It needs no clearing: what was never put reads as silence.

  Within a span, and between two barriers, a put and a get of different frames may meet in one place
  of the ring unless size >= delay + n_frames.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_DELAY_LINE_H
#define WARPRACK_DSP_GPU_KERNELS_DELAY_LINE_H

#include "stage.h"

#define DELAY_LINE_WORDS 2 // in memory
#define TAP_WORDS        (2 + RAMP_WORDS)

typedef struct DelayLine {
  u32 size;     // frames of the ring
  u32 position; // where the next frame goes
  u32 filled;   // frames put so far, at most `size`
} DelayLine;

// An empty line over a ring of `size` frames, whatever the ring holds.
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

// Make n_frames <= size frames history.
DEVICE void
delay_line_advance(DelayLine* const line, const u32 n_frames)
{
  line->position += n_frames;
  line->position -= line->position >= line->size ? line->size : 0;
  line->filled += min(n_frames, line->size - line->filled);
}

// What was put `delay` <= size frames before frame i < size of the span.  With i >= delay that is a
// frame of the span itself, which has to be in the ring already.
DEVICE f32
delay_line_get(const DelayLine line, GLOBAL const f32* const ring, const u32 delay, const u32 i)
{
  if (delay > line.filled + i) {
    return 0.0f;
  }
  const u32 at = line.position + (i < delay ? line.size - (delay - i) : i - delay);
  return ring[at < line.size ? at : at - line.size];
}

// A read position that moves without a click or a change of pitch: it cross-fades to the new one.
// A target that comes during a cross-fade waits for its end, and the newest wins.
typedef struct Tap {
  u32 now;   // delay in frames
  u32 next;  // delay that is being faded in; == now at rest
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

// Go to `target`, now or after the present cross-fade; call it before every span.
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

// The longest span of at most n_frames that stays within one cross-fade or rest.
DEVICE u32
tap_span(const Tap tap, const u32 n_frames)
{
  const u32 left = tap.fade.frames_left;
  return left > 0 ? min(left, n_frames) : n_frames;
}

// What the tap reads at frame i of a span, `offset` frames further back than its place.
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

// After a span: on to its end.
DEVICE void
tap_skip(Tap* const tap, const u32 n_frames)
{
  ramp_skip(&tap->fade, n_frames);
}

#endif
