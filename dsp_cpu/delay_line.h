// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A delay line: the last `size` frames that were written, read in spans.

   The caller owns the samples, a ring of `size` floats for each channel; channels with the same
   positions share one DelayLine.  A ring need not be cleared (which takes long for seconds of
   audio): frames that were never written read as silence.
*/
#ifndef WARPRACK_DSP_CPU_DELAY_LINE_H
#define WARPRACK_DSP_CPU_DELAY_LINE_H

#include "engine/contract/ramp.h"

#include <stdint.h>
#include <string.h>

typedef struct DelayLine {
  uint32_t size;     ///< Frames of the ring
  uint32_t position; ///< Place of the next frame
  uint32_t filled;   ///< Frames written so far, at most `size`
} DelayLine;

/// An empty line over a ring of `size` frames with any content.
static inline DelayLine
delay_line_at_start(const uint32_t size)
{
  return (DelayLine){ .size = size };
}

/// Write the next n_frames <= size frames of one channel. delay_line_advance(), once for all
/// channels, completes the write.
static inline void
delay_line_put(const DelayLine* const line, float* const ring, const float* const in,
               const uint32_t n_frames)
{
  const uint32_t to_end = line->size - line->position;
  const uint32_t n_first = n_frames < to_end ? n_frames : to_end;
  memcpy(ring + line->position, in, n_first * sizeof(float));
  memcpy(ring, in + n_first, (n_frames - n_first) * sizeof(float));
}

static inline void
delay_line_advance(DelayLine* const line, const uint32_t n_frames)
{
  line->position += n_frames;
  line->position -= line->position >= line->size ? line->size : 0U;
  const uint32_t room = line->size - line->filled;
  line->filled += n_frames < room ? n_frames : room;
}

/// Read n_frames frames, the first of them `delay` frames before the next one to be written.
/// n_frames <= delay <= size.
static inline void
delay_line_get(const DelayLine* const line, const float* const ring, const uint32_t delay,
               float* const out, const uint32_t n_frames)
{
  const uint32_t missing = delay > line->filled ? delay - line->filled : 0U;
  const uint32_t n_silent = missing < n_frames ? missing : n_frames;
  memset(out, 0, n_silent * sizeof(float));

  const uint32_t age = delay - n_silent;
  const uint32_t start =
      line->position >= age ? line->position - age : line->position + line->size - age;
  const uint32_t n = n_frames - n_silent;
  const uint32_t to_end = line->size - start;
  const uint32_t n_first = n < to_end ? n : to_end;
  memcpy(out + n_silent, ring + start, n_first * sizeof(float));
  memcpy(out + n_silent + n_first, ring, (n - n_first) * sizeof(float));
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

static inline Tap
tap_at(const uint32_t delay)
{
  return (Tap){ .now = delay, .next = delay, .fade = ramp_at(0.0F) };
}

/// Start a fade to `target`, now or after the current cross-fade; call this before every span.
static inline void
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
static inline uint32_t
tap_span(const Tap* const tap, const uint32_t n_frames)
{
  const uint32_t left = tap->fade.frames_left;
  return left && left < n_frames ? left : n_frames;
}

/// Write the weights of `next` for a span, shared by all channels; advances the tap.
static inline void
tap_weights(Tap* const tap, float* const weights, const uint32_t n_frames)
{
  ramp_fill(&tap->fade, weights, n_frames);
}

/// Read a span at the tap's delay plus `offset` frames.
static inline void
tap_get(const Tap* const tap, const DelayLine* const line, const float* const ring,
        const uint32_t offset, const float* const weights, float* const restrict out,
        float* const restrict scratch, const uint32_t n_frames)
{
  delay_line_get(line, ring, tap->now + offset, out, n_frames);
  if (tap->next != tap->now) {
    delay_line_get(line, ring, tap->next + offset, scratch, n_frames);
    for (uint32_t i = 0; i < n_frames; ++i) {
      out[i] += weights[i] * (scratch[i] - out[i]);
    }
  }
}

#endif
