// SPDX-License-Identifier: GPL-3.0-or-later
// fir: short filters as sums of products, one group for each channel.  Long ones are
// fx_convolver.cu.
//
// A tile of TILE frames at a time: the frames that its outputs depend on and the taps go to local
// memory, and each thread makes four successive outputs from a part of the taps.  TILE / 4 threads
// share a part; the parts of an output are added up in the end, so that small blocks keep the group
// busy, too.  Four taps for four outputs take two reads of local memory and 16 multiply-adds: about
// as much of the one as a multiprocessor can do beside the other, which is the limit of this
// kernel.
//
// Sizes: TILE, a power of two from 32 to 4 * GROUP_SIZE.  Local memory: 6 to 10 KB.

#include "stage.h"

#include "../../dsp_cpu/fir_layout.h"

#define STATE_FILLED 1 // frames of the past that are there
#define STATE_PAST   FIR_HEAD

#define QUADS  (TILE / 4)           // threads that share a part of the taps
#define PARTS  (GROUP_SIZE / QUADS) // of the taps
#define N_PAST FIR_MAX_DIRECT_TAPS

// The frame at `time` from the block's first one, which may lie in the past.
DEVICE f32
frame_at(const Stage stage, const Input input, GLOBAL const f32* const past, const u32 n_past,
         const u32 filled, const i32 time)
{
  if (time >= 0) {
    return (u32)time < stage.n_frames ? input_at(stage, input, (u32)time) : 0.0f;
  }
  return (u32)-time <= filled ? past[n_past - (u32)-time] : 0.0f;
}

// a + the four outputs' products with four taps: `late` holds the frames of the outputs at the
// first tap, `early` the four in front of them.
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
  GLOBAL f32* const state = unit_state(stage, unit);
  GLOBAL f32* const past = state + STATE_PAST;
  GLOBAL const f32* const data = unit_data(stage, unit);
  const u32 n_quads = BITS_OF_F32(data[FIR_TAP_QUADS]); // of taps, filled up with zeros
  const u32 n_past = 4 * n_quads;
  const u32 filter =
      BITS_OF_F32(data[FIR_N_FILTERS]) > 1 ? unit_word(stage, unit, UNIT_CHANNEL) : 0;
  const u32 filled = state[0] == 0.0f ? 0 : BITS_OF_F32(state[STATE_FILLED]);
  const Input input = unit_input(stage, unit, 0);
  GLOBAL f32* const out = unit_out(stage, unit, 0);

  for (u32 k = LOCAL_ID; k < n_quads; k += GROUP_SIZE) {
    taps[k] = ((GLOBAL const float4*)(data + FIR_HEAD))[filter * n_quads + k];
  }
  const u32 quad = LOCAL_ID % QUADS;
  const u32 part = LOCAL_ID / QUADS;
  const u32 part_quads = (n_quads + PARTS - 1) / PARTS;
  const u32 first_quad = min(part * part_quads, n_quads);
  const u32 end_quad = min(first_quad + part_quads, n_quads);
  LOCAL_POINTER f32* const frame = (LOCAL_POINTER f32*)frames;
  u32 is_bad = 0;
  u32 tile = 0; // first frame of the last tile
  for (u32 first = 0; first < stage.n_frames; first += TILE) {
    BARRIER(); // all are done with the tile before
    tile = first;
    for (u32 k = LOCAL_ID; k < n_past + TILE; k += GROUP_SIZE) {
      frame[k] = frame_at(stage, input, past, n_past, filled, (i32)(first + k) - (i32)n_past);
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
  }
  // The last frames of the last tile are the past of the next block.
  if (stage.n_frames > 0) {
    for (u32 k = LOCAL_ID; k < n_past; k += GROUP_SIZE) {
      past[k] = frame[stage.n_frames - tile + k];
    }
    if (LOCAL_ID == 0) {
      state[STATE_FILLED] = F32_OF_BITS(min(filled + stage.n_frames, n_past));
      state[0] = 1.0f;
    }
  }
  unit_end(stage, unit, is_bad, flag);
}
