// SPDX-License-Identifier: GPL-3.0-or-later
// compressor: the method is in dsp_cpu/fx_compressor.c.  One group for each unit, see sidechain.h.

#include "sidechain.h"

#define DECIBEL_FUNCTION   DEVICE
#define float_bits(x)      BITS_OF_F32(x)
#define float_from_bits(x) F32_OF_BITS(x)
#include "dsp_cpu/shared/compressor_words.h"
#include "dsp_cpu/shared/decibel.h"

// The static curve: reduction in dB.
DEVICE f32
curve(const f32 power, const f32 threshold_db, const f32 slope, const f32 knee_db)
{
  const f32 over = decibel_from_power(power) - threshold_db;
  const f32 knee = FMAX(knee_db, 1e-6f); // avoids a division by 0
  const f32 above = over + 0.5f * knee;
  const f32 bent = FMIN(FMAX(above, 0.0f), knee);
  const f32 straight = FMAX(above - knee, 0.0f);
  return slope * (bent * bent / (2.0f * knee) + straight);
}

// Mean square over the frames, in place.
DEVICE void
average(Smooth* const mean_square, const f32 part, LOCAL_POINTER f32* const power,
        const u32 n_frames)
{
  Smooth mean = *mean_square;
  for (u32 i = 0; i < n_frames; ++i) {
    mean = smooth_step(mean, smooth_way(mean, power[i]), part);
    power[i] = mean.high;
  }
  *mean_square = mean;
}

// Smooth branching peak detector, in place.
DEVICE void
smooth_reduction(Smooth* const reduction, LOCAL_POINTER const f32* const attack,
                 LOCAL_POINTER const f32* const release, LOCAL_POINTER f32* const reduction_db,
                 const u32 n_frames)
{
  Smooth smooth = *reduction;
  for (u32 i = 0; i < n_frames; ++i) {
    const f32 way = smooth_way(smooth, reduction_db[i]);
    smooth = smooth_step(smooth, way, way > 0.0f ? attack[i] : release[i]);
    reduction_db[i] = smooth.high;
  }
  *reduction = smooth;
}

KERNEL
fx_compressor(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  LOCAL_ARRAY(Input, inputs, CHANNELS);
  LOCAL_ARRAY(Ramp, ramps, COMPRESSOR_N_RAMPS);
  LOCAL_ARRAY(f32, peaks, GROUP_SIZE);
  LOCAL_ARRAY(f32, level, TILE); // power, then reduction in dB
  LOCAL_ARRAY(f32, attack, TILE);
  LOCAL_ARRAY(f32, release, TILE);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 n_channels = unit_word(stage, unit, UNIT_N_IN);
  const f32 rms_part = unit_param_f32(stage, unit, COMPRESSOR_RMS_PART);
  GLOBAL f32* const state = unit_state(stage, unit);
  const u32 has_begun = state[0] != 0.0f;
  Smooth reduction = has_begun ? smooth_load(state + COMPRESSOR_STATE_REDUCTION) : smooth_at(0.0f);
  Smooth mean_square =
      has_begun ? smooth_load(state + COMPRESSOR_STATE_MEAN_SQUARE) : smooth_at(0.0f);
  ramps_begin(stage, unit, state + COMPRESSOR_STATE_RAMPS, has_begun,
              unit_param(stage, unit, COMPRESSOR_RAMP_FRAMES), COMPRESSOR_N_RAMPS, ramps);
  sidechain_begin(stage, unit, inputs);

  u32 is_bad = 0;
  for (u32 first = 0; first < stage.n_frames; first += TILE) {
    const u32 n_frames = min(stage.n_frames - first, (u32)TILE);
    const u32 frame = first + TILE_FRAME;
    const u32 n = TILE_FRAME < n_frames ? n_channels : 0;
    const f32 peak = FMIN(sidechain_peak(stage, unit, inputs, n, frame, peaks), COMPRESSOR_LOUDEST);
    if (LANE == 0) {
      level[TILE_FRAME] = peak * peak;
      attack[TILE_FRAME] = part_ahead(ramps[COMPRESSOR_ATTACK], frame + 1);
      release[TILE_FRAME] = part_ahead(ramps[COMPRESSOR_RELEASE], frame + 1);
    }
    BARRIER();
    if (LOCAL_ID == 0 && rms_part > 0.0f) {
      average(&mean_square, rms_part, level, n_frames);
    }
    BARRIER();
    if (LANE == 0) {
      level[TILE_FRAME] =
          curve(level[TILE_FRAME], ramp_ahead(ramps[COMPRESSOR_THRESHOLD_DB], frame + 1),
                part_ahead(ramps[COMPRESSOR_SLOPE], frame + 1),
                ramp_ahead(ramps[COMPRESSOR_KNEE_DB], frame + 1));
    }
    BARRIER();
    if (LOCAL_ID == 0) {
      smooth_reduction(&reduction, attack, release, level, n_frames);
    }
    BARRIER();
    const f32 makeup_db = ramp_ahead(ramps[COMPRESSOR_MAKEUP_DB], frame + 1);
    const f32 mix = part_ahead(ramps[COMPRESSOR_MIX], frame + 1);
    const f32 gain = (1.0f - mix) + mix * gain_from_decibel(makeup_db - level[TILE_FRAME]);
    is_bad |= sidechain_apply(stage, unit, n, frame, gain);
  }

  ramps_end(stage, state + COMPRESSOR_STATE_RAMPS, COMPRESSOR_N_RAMPS, ramps);
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    smooth_store(state + COMPRESSOR_STATE_REDUCTION, reduction);
    smooth_store(state + COMPRESSOR_STATE_MEAN_SQUARE, mean_square);
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}
