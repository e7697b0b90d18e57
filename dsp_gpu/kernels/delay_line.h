// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The samples of a delay line (dsp_cpu/shared/tap.h).  The kernels' version of dsp_cpu/delay_line.h,
  with the same names.  A call handles one frame of a span instead of a complete span, so that each
  thread of a group handles one frame.

  Frame i of a span is at place `position` + i of the ring; delay_line_advance() completes the span.

  Within a span, and between two barriers, a write and a read of different frames may use the same
  place of the ring unless size >= delay + n_frames.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_DELAY_LINE_H
#define WARPRACK_DSP_GPU_KERNELS_DELAY_LINE_H

#include "stage.h"

#define TAP_FUNCTION DEVICE
#include "dsp_cpu/shared/tap.h"

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
