// SPDX-License-Identifier: GPL-3.0-or-later
// fir: short filters as sums of products.  Long ones are fx_convolver.cu.
//
// A group processes tiles of TILE frames.  It loads the taps and the input frames of a tile into
// local memory; each thread computes four successive outputs from a part of the taps.  TILE / 4
// threads use the same part.  The parts of an output are added at the end, so that small blocks
// also keep the group busy.  Four taps for four outputs take two reads of local memory and 16
// multiply-adds, about the ratio of the two speeds of a multiprocessor: this limits the kernel.
//
// The groups in y share a channel; they take its tiles in turn.  A group reads the frames before
// its tile from the block's input or, for frames before the block, from the state, so that no group
// waits for another.  If the longest block is one tile, one group does all the work.  Otherwise a
// second launch, fx_fir_end, stores the new past after every group has read the old one, and
// silences the complete channel if any group stored a non-finite value.
//
// Sizes: TILE, a power of two from 32 to 4 * GROUP_SIZE.  Local memory: 6 to 10 KB.

#include "stage.h"

#include "dsp_cpu/shared/fir_layout.h"

#define STATE_FILLED 1 // frames of the past that are valid
#define STATE_IS_BAD 2 // 1 if an output of this block is not finite; 0 between blocks
#define STATE_PAST   FIR_HEAD

#define QUADS  (TILE / 4)           // threads with the same part of the taps
#define PARTS  (GROUP_SIZE / QUADS) // of the taps
#define N_PAST FIR_MAX_DIRECT_TAPS

// The past of a unit, at the start of the launch.
typedef struct Past {
  GLOBAL f32* frames; // [n_frames], the latest last
  u32 n_frames;       // the number of taps, rounded up to a multiple of four
  u32 filled;         // number of valid frames, at the end
} Past;

DEVICE Past
past_of(const Stage stage, const u32 unit)
{
  GLOBAL f32* const state = unit_state(stage, unit);
  Past past;
  past.frames = state + STATE_PAST;
  past.n_frames = 4 * BITS_OF_F32(unit_data(stage, unit)[FIR_TAP_QUADS]);
  past.filled = state[0] == 0.0f ? 0 : BITS_OF_F32(state[STATE_FILLED]);
  return past;
}

// The frame at `time` from the first frame of the block; a negative time is in the past.
DEVICE f32
frame_at(const Stage stage, const Input input, const Past past, const i32 time)
{
  if (time >= 0) {
    return (u32)time < stage.n_frames ? input_at(stage, input, (u32)time) : 0.0f;
  }
  return (u32)-time <= past.filled ? past.frames[past.n_frames - (u32)-time] : 0.0f;
}

// Store the last frames up to the end of the block, which is not empty: latest, [past.n_frames].
// By all threads, after all have read the past.
DEVICE void
keep(const Stage stage, const u32 unit, const Past past, LOCAL_POINTER const f32* const latest)
{
  GLOBAL f32* const state = unit_state(stage, unit);
  for (u32 k = LOCAL_ID; k < past.n_frames; k += GROUP_SIZE) {
    past.frames[k] = latest[k];
  }
  if (LOCAL_ID == 0) {
    state[STATE_FILLED] = F32_OF_BITS(min(past.filled + stage.n_frames, past.n_frames));
    state[0] = 1.0f;
  }
}

// a + the products of four outputs with four taps: `late` holds the frames of the outputs at the
// first tap, `early` the four frames before them.
DEVICE float4
four_taps(float4 a, const float4 taps, const float4 early, const float4 late)
{
  a.x = FMA(taps.x, late.x, FMA(taps.y, early.w, FMA(taps.z, early.z, FMA(taps.w, early.y, a.x))));
  a.y = FMA(taps.x, late.y, FMA(taps.y, late.x, FMA(taps.z, early.w, FMA(taps.w, early.z, a.y))));
  a.z = FMA(taps.x, late.z, FMA(taps.y, late.y, FMA(taps.z, late.x, FMA(taps.w, early.w, a.z))));
  a.w = FMA(taps.x, late.w, FMA(taps.y, late.z, FMA(taps.z, late.y, FMA(taps.w, late.x, a.w))));
  return a;
}

KERNEL
fx_fir(STAGE_ARGS)
{
  LOCAL_ARRAY(float4, frames, (N_PAST + TILE) / 4);
  LOCAL_ARRAY(float4, taps, FIR_MAX_DIRECT_TAPS / 4);
  LOCAL_ARRAY(float4, sums, GROUP_SIZE);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  GLOBAL const f32* const data = unit_data(stage, unit);
  const Past past = past_of(stage, unit);
  const u32 n_quads = past.n_frames / 4; // also of the taps
  const u32 filter =
      BITS_OF_F32(data[FIR_N_FILTERS]) > 1 ? unit_word(stage, unit, UNIT_CHANNEL) : 0;
  const Input input = unit_input(stage, unit, 0);
  GLOBAL f32* const out = unit_out(stage, unit, 0);

  for (u32 k = LOCAL_ID; k < n_quads; k += GROUP_SIZE) {
    taps[k] = ((GLOBAL const float4*)(data + FIR_HEAD))[filter * n_quads + k];
  }
  const u32 quad = LOCAL_ID % QUADS;
  const u32 part = LOCAL_ID / QUADS;
  const u32 part_quads = (n_quads + PARTS - 1) / PARTS;
  const u32 first_quad = min(part * part_quads, n_quads);
  u32 first = GROUP_Y * TILE;
  const u32 has_tile = first < stage.n_frames;
  const u32 end_quad = has_tile ? min(first_quad + part_quads, n_quads) : first_quad;
  LOCAL_POINTER f32* const frame = (LOCAL_POINTER f32*)frames;
  u32 is_bad = 0;
  // At least one iteration, for PoCL: see the rules in ../README.md.
  do {
    BARRIER(); // all threads have finished the previous tile
    for (u32 k = LOCAL_ID; k < past.n_frames + TILE; k += GROUP_SIZE) {
      frame[k] = frame_at(stage, input, past, (i32)(first + k) - (i32)past.n_frames);
    }
    BARRIER();
    float4 sum = F4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 late = frames[n_quads + quad - first_quad];
    for (u32 t = first_quad; t < end_quad; ++t) {
      const float4 early = frames[n_quads + quad - t - 1];
      sum = four_taps(sum, taps[t], early, late);
      late = early;
    }
    sums[LOCAL_ID] = sum;
    BARRIER();
    LOCAL_POINTER const f32* const parts = (LOCAL_POINTER const f32*)sums;
    for (u32 i = LOCAL_ID; i < TILE && first + i < stage.n_frames; i += GROUP_SIZE) {
      f32 y = 0.0f;
      for (u32 p = 0; p < PARTS; ++p) {
        y += parts[p * TILE + i];
      }
      is_bad |= !is_finite(y);
      out[first + i] = y;
    }
    first += N_GROUPS_Y * TILE;
  } while (first < stage.n_frames);
  if (N_GROUPS_Y > 1) {
    if (is_bad) {
      unit_state(stage, unit)[STATE_IS_BAD] = 1.0f; // by any thread of any group
    }
  } else {
    if (stage.n_frames > 0) {
      keep(stage, unit, past, frame + stage.n_frames);
    }
    unit_end(stage, unit, is_bad, flag);
  }
}

// One group for each channel.
KERNEL
fx_fir_end(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, latest, N_PAST);
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  GLOBAL f32* const state = unit_state(stage, unit);
  const Past past = past_of(stage, unit);
  const Input input = unit_input(stage, unit, 0);
  const u32 is_bad = state[STATE_IS_BAD] != 0.0f;
  for (u32 k = LOCAL_ID; k < past.n_frames; k += GROUP_SIZE) {
    latest[k] = frame_at(stage, input, past, (i32)(stage.n_frames + k) - (i32)past.n_frames);
  }
  BARRIER(); // all threads have read the state
  if (stage.n_frames > 0) {
    keep(stage, unit, past, latest);
    if (LOCAL_ID == 0) {
      state[STATE_IS_BAD] = 0.0f;
    }
  }
  unit_end(stage, unit, is_bad, flag);
}
