// SPDX-License-Identifier: GPL-3.0-or-later
/*
  limiter: the method is in dsp_cpu/fx_limiter.c and lookahead.h.  One group for each unit, see
  sidechain.h.

  Rings of the same length delay the signal, the required gains, the ceiling and the inputs of both
  boxes.  All threads together compute the minimum over the frames that the windows of all frames of
  a tile share; the thread of each frame then includes the rest of its window, at most TILE frames.
  (Van Herk's blocks would be one frame long without a look-ahead.)

  The boxes use 64-bit integers as on the CPU, but sum 1 - gain: without limiting the sum is 0, and
  a gain of 1 is exactly 1.  Only the release and the two sums depend on the previous frame.  For
  each tile, a group loads as many values as the look-ahead has frames, GROUP_SIZE at a time.
*/

#include "delay_line.h"
#include "sidechain.h"

#include "dsp_cpu/shared/limiter_words.h"

#define ONE       ((u64)1 << 36) // a gain of 1
#define ONE_FLOAT 68719476736.0f
#define SEGMENT   8 // values that one thread sums

// ---- the ceiling ----

typedef struct Ceiling {
  Ramp ramp;
  f32 from; // start of the ramp
} Ceiling;

// A ramp that changes direction may overshoot: clamp the ceiling to the ends of the ramp.
DEVICE f32
ceiling_ahead(const Ceiling ceiling, const u32 frames)
{
  const f32 low = FMIN(ceiling.from, ceiling.ramp.target);
  const f32 high = FMAX(ceiling.from, ceiling.ramp.target);
  return FMIN(FMAX(ramp_ahead(ceiling.ramp, frames), low), high);
}

DEVICE Ceiling
ceiling_load(GLOBAL const f32* const state, const f32 target, const u32 ramp_frames)
{
  Ceiling ceiling;
  ceiling.ramp = ramp_at(target);
  ceiling.from = target;
  if (state[0] != 0.0f) {
    ceiling.ramp = ramp_load(state + LIMITER_STATE_CEILING);
    ceiling.from = state[LIMITER_STATE_CEILING_FROM];
  }
  if (target != ceiling.ramp.target) {
    ceiling.from = ceiling_ahead(ceiling, 0);
    ramp_aim(&ceiling.ramp, target, ramp_frames);
  }
  return ceiling;
}

DEVICE void
ceiling_store(GLOBAL f32* const state, Ceiling ceiling, const u32 n_frames)
{
  ramp_skip(&ceiling.ramp, n_frames);
  ramp_store(state + LIMITER_STATE_CEILING, ceiling.ramp);
  state[LIMITER_STATE_CEILING_FROM] = ceiling.from;
}

// ---- the look-ahead ----

typedef struct Lookahead {
  u32 frames;
  f32 release;
  Smooth released; // used by the thread that smooths
  u64 sum[2];      // of the boxes so far
} Lookahead;

DEVICE u64
u64_of(const f32 low, const f32 high)
{
  return (u64)BITS_OF_F32(high) << 32 | BITS_OF_F32(low);
}

DEVICE Lookahead
lookahead_load(const Stage stage, const u32 unit, GLOBAL const f32* const state)
{
  Lookahead ahead;
  ahead.frames = unit_param(stage, unit, LIMITER_LOOKAHEAD);
  ahead.release = unit_param_f32(stage, unit, LIMITER_RELEASE);
  ahead.released = smooth_at(1.0f);
  ahead.sum[0] = ahead.sum[1] = 0;
  if (state[0] != 0.0f) {
    GLOBAL const f32* const sums = state + LIMITER_STATE_SUMS;
    ahead.released = smooth_load(state + LIMITER_STATE_RELEASED);
    ahead.sum[0] = u64_of(sums[0], sums[1]);
    ahead.sum[1] = u64_of(sums[2], sums[3]);
  }
  return ahead;
}

DEVICE void
lookahead_store(GLOBAL f32* const state, const Lookahead ahead)
{
  smooth_store(state + LIMITER_STATE_RELEASED, ahead.released);
  for (u32 b = 0; b < 2; ++b) {
    state[LIMITER_STATE_SUMS + 2 * b] = F32_OF_BITS((u32)ahead.sum[b]);
    state[LIMITER_STATE_SUMS + 2 * b + 1] = F32_OF_BITS((u32)(ahead.sum[b] >> 32));
  }
}

// The gain required `delay` frames before frame i of the tile; 1 before the first frame.
DEVICE f32
needed_at(const DelayLine line, GLOBAL const f32* const ring, const u32 delay, const u32 i)
{
  return delay > line.filled + i ? 1.0f : delay_line_get(line, ring, delay, i);
}

// The smallest gain required in the shared frames.  By all threads. minima: [GROUP_SIZE].
DEVICE f32
lowest_shared(const DelayLine line, GLOBAL const f32* const ring, const u32 n,
              LOCAL_POINTER f32* const minima)
{
  f32 lowest = 1.0f;
  for (u32 delay = 1 + LOCAL_ID; delay <= n; delay += GROUP_SIZE) {
    lowest = FMIN(lowest, needed_at(line, ring, delay, 0));
  }
  minima[LOCAL_ID] = lowest;
  for (u32 width = GROUP_SIZE / 2; width > 0; width /= 2) {
    BARRIER();
    if (LOCAL_ID < width) {
      minima[LOCAL_ID] = FMIN(minima[LOCAL_ID], minima[LOCAL_ID + width]);
    }
  }
  BARRIER();
  return minima[0];
}

// For each frame i, in now[i]: the minimum over two parts of its window.  One part has the frames
// of the tile up to i, the other one `past` from i on: windows after frame k do not contain
// past[k].  By all threads; each may read its own result.  Each step combines each minimum with the
// one that is `step` frames away.
DEVICE void
lowest_own(LOCAL_POINTER f32* const now, LOCAL_POINTER f32* const past, const u32 lookahead)
{
  const u32 i = min(LOCAL_ID, (u32)TILE - 1);
  const u32 window = min(lookahead + 1, (u32)TILE);
  u32 width = 1; // frames of each minimum
  do {
    const u32 step = min(width, window - width);
    BARRIER();
    const f32 before = i >= step ? now[i - step] : 1.0f;
    const f32 after = i + step < TILE ? past[i + step] : 1.0f;
    BARRIER();
    if (LOCAL_ID < TILE) {
      now[LOCAL_ID] = FMIN(now[LOCAL_ID], before);
      past[LOCAL_ID] = FMIN(past[LOCAL_ID], after);
    }
    width += step;
  } while (width < window);
  if (LOCAL_ID < TILE) {
    now[LOCAL_ID] = FMIN(now[LOCAL_ID], past[LOCAL_ID]);
  }
}

// Fall at once, rise with the release; rounding errors go to rest[].  By one thread.
DEVICE void
release_gains(Lookahead* const ahead, LOCAL_POINTER f32* const gain, LOCAL_POINTER f32* const rest,
              const u32 n_frames)
{
  Smooth released = ahead->released;
  for (u32 i = 0; i < n_frames; ++i) {
    const f32 way = smooth_way(released, gain[i]);
    released = way < 0.0f ? smooth_at(gain[i]) : smooth_step(released, way, ahead->release);
    gain[i] = released.high;
    rest[i] = released.low;
  }
  ahead->released = released;
}

// 1 - gain as an integer; gains are rounded down.
DEVICE u64
missing(const f32 high, const f32 low)
{
  const f32 scaled = high * ONE_FLOAT;
  const f32 whole = FLOOR(scaled);
  const i32 rest = (i32)FLOOR((scaled - whole) + low * ONE_FLOAT);
  return ONE - min((u64)whole + (u64)rest, ONE);
}

// Replace values by `sum` + the sum of all of them up to each.  By all threads: some sum SEGMENT
// values each; then each adds the sums of the segments before its value.
DEVICE void
add_up(LOCAL_POINTER u64* const values, const u64 sum)
{
  if (LOCAL_ID < TILE / SEGMENT) {
    u64 total = 0;
    for (u32 k = LOCAL_ID * SEGMENT; k < (LOCAL_ID + 1) * SEGMENT; ++k) {
      total += values[k];
      values[k] = total;
    }
  }
  BARRIER();
  u64 before = sum;
  for (u32 s = 0; s < TILE / SEGMENT; ++s) {
    before += s < LOCAL_ID / SEGMENT ? values[(s + 1) * SEGMENT - 1] : 0;
  }
  BARRIER();
  if (LOCAL_ID < TILE) {
    values[LOCAL_ID] += before;
  }
  BARRIER();
}

// Replace values by the sums of the last `length` of them.  By all threads; values from n_frames on
// do not matter.
DEVICE u64
box(const DelayLine line, GLOBAL f32* const low, GLOBAL f32* const high, const u32 length,
    const u64 sum, LOCAL_POINTER u64* const values, const u32 n_frames)
{
  const u32 i = LOCAL_ID;
  if (i < n_frames) {
    delay_line_put(line, low, i, F32_OF_BITS((u32)values[i]));
    delay_line_put(line, high, i, F32_OF_BITS((u32)(values[i] >> 32)));
  }
  BARRIER();
  if (i < n_frames) {
    values[i] -=
        u64_of(delay_line_get(line, low, length, i), delay_line_get(line, high, length, i));
  }
  BARRIER();
  add_up(values, sum);
  return values[n_frames - 1];
}

// The gain if `missing` is the sum of the second box.
DEVICE f32
gain_of(const u64 missing_sum, const u64 full_sum)
{
  const f32 scale = 1.0f / (f32)full_sum;
  return missing_sum < full_sum / 2 ? 1.0f - (f32)missing_sum * scale
                                    : (f32)(full_sum - missing_sum) * scale;
}

// Convert the lowest required gains to smooth gains.  By all threads; each gets the gain of its
// frame.
DEVICE f32
smooth_gain(Lookahead* const ahead, const DelayLine line, GLOBAL f32* const rings,
            LOCAL_POINTER f32* const gain, LOCAL_POINTER f32* const rest,
            LOCAL_POINTER u64* const values, const u32 n_frames)
{
  const u32 boxes[2] = { ahead->frames / 2 + 1, ahead->frames - ahead->frames / 2 + 1 };
  BARRIER();
  if (LOCAL_ID == 0) {
    release_gains(ahead, gain, rest, n_frames);
  }
  BARRIER();
  if (LOCAL_ID < TILE) {
    values[LOCAL_ID] = LOCAL_ID < n_frames ? missing(gain[LOCAL_ID], rest[LOCAL_ID]) : 0;
  }
  for (u32 b = 0; b < 2; ++b) {
    GLOBAL f32* const low = rings + (2 * b) * line.size;
    ahead->sum[b] = box(line, low, low + line.size, boxes[b], ahead->sum[b], values, n_frames);
  }
  return gain_of(values[min(TILE_FRAME, n_frames - 1)], ONE * boxes[0] * boxes[1]);
}

// ---- the signal ----

// Write the inputs to their rings; returns the peak, as sidechain_peak().
DEVICE f32
put_inputs(const Stage stage, LOCAL_POINTER const Input* const inputs, const u32 n_channels,
           const u32 frame, const DelayLine line, GLOBAL f32* const rings,
           LOCAL_POINTER f32* const peaks)
{
  f32 peak = 0.0f;
  for (u32 first = LANE; first < n_channels; first += BATCH * LANES) {
    f32 x[BATCH];
    sidechain_read(stage, inputs, n_channels, first, frame, x);
    for (u32 k = 0; k < BATCH; ++k) {
      const u32 c = first + k * LANES;
      if (c < n_channels) {
        delay_line_put(line, rings + c * line.size, TILE_FRAME, x[k]);
        peak = FMAX(peak, FABS(x[k]));
      }
    }
  }
  return sidechain_loudest(peak, peaks);
}

// Write the delayed signals times the gain, clamped to the ceiling.  Returns not 0 if a result is
// not finite.
DEVICE u32
limit(const Stage stage, const u32 unit, const u32 n_channels, const u32 frame,
      const DelayLine line, GLOBAL const f32* const rings, const u32 lookahead, const f32 gain,
      const f32 ceiling)
{
  u32 is_bad = 0;
  for (u32 first = LANE; first < n_channels; first += BATCH * LANES) {
    GLOBAL f32* at[BATCH];
    f32 y[BATCH];
    sidechain_outs(stage, unit, n_channels, first, frame, at);
    for (u32 k = 0; k < BATCH; ++k) {
      const u32 c = min(first + k * LANES, n_channels - 1);
      const f32 x = gain * delay_line_get(line, rings + c * line.size, lookahead, TILE_FRAME);
      const f32 not_above = x > ceiling ? ceiling : x;
      y[k] = not_above < -ceiling ? -ceiling : not_above;
      is_bad |= !is_finite(y[k]);
    }
    for (u32 k = 0; k < BATCH; ++k) {
      if (first + k * LANES < n_channels) {
        *at[k] = y[k];
      }
    }
  }
  return is_bad;
}

KERNEL
fx_limiter(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  LOCAL_ARRAY(Input, inputs, CHANNELS);
  LOCAL_ARRAY(f32, peaks, GROUP_SIZE);
  LOCAL_ARRAY(f32, level, TILE); // lowest required gain, then the released gain
  LOCAL_ARRAY(f32, rest, TILE);
  LOCAL_ARRAY(u64, values, TILE);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 n_channels = unit_word(stage, unit, UNIT_N_IN);
  GLOBAL f32* const state = unit_state(stage, unit);
  const Ceiling ceiling = ceiling_load(state, unit_param_f32(stage, unit, LIMITER_CEILING),
                                       unit_param(stage, unit, LIMITER_RAMP_FRAMES));
  Lookahead ahead = lookahead_load(stage, unit, state);
  const u32 ring_frames = ahead.frames + 1 + TILE; // the longer box is look-ahead + 1 at most
  DelayLine line = state[0] != 0.0f ? delay_line_load(state + LIMITER_STATE_LINE, ring_frames)
                                    : delay_line_at_start(ring_frames);
  GLOBAL f32* const rings = state + LIMITER_STATE_RINGS;
  GLOBAL f32* const needed = rings + LIMITER_RING_NEEDED * ring_frames;
  GLOBAL f32* const ceilings = rings + LIMITER_RING_CEILING * ring_frames;
  GLOBAL f32* const channels = rings + LIMITER_RING_CHANNEL * ring_frames;
  sidechain_begin(stage, unit, inputs);

  u32 is_bad = 0;
  for (u32 first = 0; first < stage.n_frames; first += TILE) {
    const u32 n_frames = min(stage.n_frames - first, (u32)TILE);
    const u32 frame = first + TILE_FRAME;
    const u32 n = TILE_FRAME < n_frames ? n_channels : 0;
    const f32 peak = put_inputs(stage, inputs, n, frame, line, channels, peaks);
    f32 now = 1.0f;
    if (LOCAL_ID < n_frames) {
      const f32 limit_now = ceiling_ahead(ceiling, frame + 1);
      now = peak > limit_now ? limit_now / peak : 1.0f;
      delay_line_put(line, ceilings, LOCAL_ID, limit_now);
      delay_line_put(line, needed, LOCAL_ID, now);
    }
    const u32 n_own = min(ahead.frames, n_frames - 1);
    if (LOCAL_ID < TILE) {
      level[LOCAL_ID] = now;
      rest[LOCAL_ID] = LOCAL_ID < n_own ? needed_at(line, needed, ahead.frames, LOCAL_ID) : 1.0f;
    }
    lowest_own(level, rest, ahead.frames);
    const f32 lowest = lowest_shared(line, needed, ahead.frames - n_own, peaks);
    if (LOCAL_ID < n_frames) {
      level[LOCAL_ID] = FMIN(lowest, level[LOCAL_ID]);
    }
    const f32 gain = smooth_gain(&ahead, line, rings + LIMITER_RING_BOX * ring_frames, level, rest,
                                 values, n_frames);
    is_bad |= limit(stage, unit, n, frame, line, channels, ahead.frames, gain,
                    delay_line_get(line, ceilings, ahead.frames, min(TILE_FRAME, n_frames - 1)));
    delay_line_advance(&line, n_frames);
    BARRIER(); // all threads have read the rings
  }

  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    ceiling_store(state, ceiling, stage.n_frames);
    lookahead_store(state, ahead);
    delay_line_store(state + LIMITER_STATE_LINE, line);
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}
