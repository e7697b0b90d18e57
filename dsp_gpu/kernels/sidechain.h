// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The detector and the gain stage of the kernels of dynamics effects: the kernels' version of
  dsp_cpu/sidechain.h.

  One group runs one unit, a single channel or all channels of a linked node, in tiles of TILE
  frames.  One thread for each frame of the tile, and LANES threads along the channels, compute
  levels, curves and gains; one thread runs the recursion from frame to frame.  The recursion
  limits the speed of a unit: seven dependent operations, about 30 cycles a frame, while other
  units use the processor.  With one thread for each channel, that thread would also do all other
  work, several times as much as the recursion, and read its rows with a stride.

  A linked node of many channels is limited by its one group, which has BATCH loads in flight for
  each thread.  Inputs are summed once and stored in the output rows.

  Kernels are compiled for TILE frames, CHANNELS, the most channels of a unit, and a GROUP_SIZE that
  is a multiple of TILE: sidechain_kernel_shape().
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_SIDECHAIN_H
#define WARPRACK_DSP_GPU_KERNELS_SIDECHAIN_H

#include "stage.h"

#define BATCH 8
#define LANES (GROUP_SIZE / TILE)

#define LANE       (LOCAL_ID / TILE) // of the channels LANE, LANE + LANES, ...
#define TILE_FRAME (LOCAL_ID % TILE)

// ---- inputs ----

// Describe the inputs of a unit, once: inputs[CHANNELS].
DEVICE void
sidechain_begin(const Stage stage, const u32 unit, LOCAL_POINTER Input* const inputs)
{
  const u32 n_channels = unit_word(stage, unit, UNIT_N_IN);
  for (u32 c = LOCAL_ID; c < n_channels; c += GROUP_SIZE) {
    inputs[c] = unit_input(stage, unit, c);
  }
  BARRIER();
}

// x[k] = sample of channel first + k * LANES, for those below n_channels.
DEVICE void
sidechain_read(const Stage stage, LOCAL_POINTER const Input* const inputs, const u32 n_channels,
               const u32 first, const u32 frame, f32* const x)
{
  for (u32 k = 0; k < BATCH; ++k) {
    const u32 c = first + k * LANES;
    x[k] = c < n_channels ? inputs[c].gain * inputs[c].row[frame] : 0.0f;
  }
  for (u32 k = 0; k < BATCH; ++k) {
    const u32 c = first + k * LANES;
    if (c < n_channels && !inputs[c].is_plain) {
      x[k] = input_at(stage, inputs[c], frame);
    }
  }
}

// at[k]: address of this frame of output first + k * LANES, for channels below n_channels.  All
// addresses are computed before the first store, so that the compiler does not read the tables
// again after every store.
DEVICE void
sidechain_outs(const Stage stage, const u32 unit, const u32 n_channels, const u32 first,
               const u32 frame, GLOBAL f32** const at)
{
  for (u32 k = 0; k < BATCH; ++k) {
    at[k] = unit_out(stage, unit, min(first + k * LANES, n_channels - 1)) + frame;
  }
}

// ---- peaks and gains ----

// The largest peak of the threads with the same frame. peaks: [GROUP_SIZE].  The caller needs
// another barrier before the next call.
DEVICE f32
sidechain_loudest(f32 peak, LOCAL_POINTER f32* const peaks)
{
  peaks[LOCAL_ID] = peak;
  BARRIER();
  for (u32 lane = 0; lane < LANES; ++lane) {
    peak = FMAX(peak, peaks[lane * TILE + TILE_FRAME]);
  }
  return peak;
}

// The largest |input| over the channels at this thread's frame, ignoring NaN; also copies the
// inputs to the outputs. n_channels: 0 for a thread after the end of the block.  By all threads, as
// sidechain_loudest().
DEVICE f32
sidechain_peak(const Stage stage, const u32 unit, LOCAL_POINTER const Input* const inputs,
               const u32 n_channels, const u32 frame, LOCAL_POINTER f32* const peaks)
{
  f32 peak = 0.0f;
  for (u32 first = LANE; first < n_channels; first += BATCH * LANES) {
    GLOBAL f32* at[BATCH];
    f32 x[BATCH];
    sidechain_outs(stage, unit, n_channels, first, frame, at);
    sidechain_read(stage, inputs, n_channels, first, frame, x);
    for (u32 k = 0; k < BATCH; ++k) {
      if (first + k * LANES < n_channels) {
        *at[k] = x[k];
        peak = FMAX(peak, FABS(x[k]));
      }
    }
  }
  return sidechain_loudest(peak, peaks);
}

// Multiply the outputs, where sidechain_peak() stored the inputs.  Returns not 0 if a result is
// not finite.
DEVICE u32
sidechain_apply(const Stage stage, const u32 unit, const u32 n_channels, const u32 frame,
                const f32 gain)
{
  u32 is_bad = 0;
  for (u32 first = LANE; first < n_channels; first += BATCH * LANES) {
    GLOBAL f32* at[BATCH];
    f32 y[BATCH];
    sidechain_outs(stage, unit, n_channels, first, frame, at);
    for (u32 k = 0; k < BATCH; ++k) {
      y[k] = first + k * LANES < n_channels ? *at[k] * gain : 0.0f;
    }
    for (u32 k = 0; k < BATCH; ++k) {
      if (first + k * LANES < n_channels) {
        *at[k] = y[k];
        is_bad |= !is_finite(y[k]);
      }
    }
  }
  return is_bad;
}

// ---- settings ----

// Load the ramps of a unit, n_ramps <= TILE of them in a row in memory, with the unit's first
// parameters as targets: ramps[n_ramps].  They are valid after the next barrier.
DEVICE void
ramps_begin(const Stage stage, const u32 unit, GLOBAL const f32* const words, const u32 has_begun,
            const u32 ramp_frames, const u32 n_ramps, LOCAL_POINTER Ramp* const ramps)
{
  if (LOCAL_ID < n_ramps) {
    const f32 target = unit_param_f32(stage, unit, LOCAL_ID);
    Ramp ramp = has_begun ? ramp_load(words + LOCAL_ID * RAMP_WORDS) : ramp_at(target);
    ramp_aim(&ramp, target, ramp_frames);
    ramps[LOCAL_ID] = ramp;
  }
}

// Store the ramps at the end of a block.
DEVICE void
ramps_end(const Stage stage, GLOBAL f32* const words, const u32 n_ramps,
          LOCAL_POINTER const Ramp* const ramps)
{
  if (LOCAL_ID < n_ramps && stage.n_frames > 0) {
    Ramp ramp = ramps[LOCAL_ID];
    ramp_skip(&ramp, stage.n_frames);
    ramp_store(words + LOCAL_ID * RAMP_WORDS, ramp);
  }
}

// As ramp_ahead(), clamped to [0, 1]: a ramp that changes direction may overshoot.
DEVICE f32
part_ahead(const Ramp ramp, const u32 frames)
{
  return FMIN(FMAX(ramp_ahead(ramp, frames), 0.0f), 1.0f);
}

// ---- smoothers ----

/*
  The state of a smoother: the sum of two floats, where the CPU has a double; low is at most half a
  unit in the last place of high.  A step is a fraction of the distance to the target, a millionth
  at 5 s and 192 kHz.  One float would stop when the step is less than half a unit in its last
  place: then its distance from the target is a thirtieth of its value.  With 48 bits this distance
  is 2^-28 of the value.
*/
typedef struct Smooth {
  f32 high, low;
} Smooth;

DEVICE Smooth
smooth_at(const f32 value)
{
  Smooth smooth;
  smooth.high = value;
  smooth.low = 0.0f;
  return smooth;
}

DEVICE Smooth
smooth_load(GLOBAL const f32* const words)
{
  Smooth smooth;
  smooth.high = words[0];
  smooth.low = words[1];
  return smooth;
}

DEVICE void
smooth_store(GLOBAL f32* const words, const Smooth smooth)
{
  words[0] = flush_denormal(smooth.high);
  words[1] = flush_denormal(smooth.low);
}

// Target minus state.
DEVICE f32
smooth_way(const Smooth smooth, const f32 target)
{
  return (target - smooth.high) - smooth.low;
}

// A step of `part` of the distance to the target: T. J. Dekker's sum of a float and a smaller one
// (Numerische Mathematik 18, 1971).  A step that is larger than the state loses only its own last
// place.
DEVICE Smooth
smooth_step(const Smooth smooth, const f32 way, const f32 part)
{
  const f32 step = FMA(part, way, smooth.low);
  Smooth next;
  next.high = smooth.high + step;
  next.low = step - (next.high - smooth.high);
  return next;
}

#endif
