// SPDX-License-Identifier: GPL-3.0-or-later
/**
   compressor: reduces the level of signals above a threshold.

   Source: D. Giannoulis, M. Massberg, J. D. Reiss, "Digital Dynamic Range Compressor Design - A
   Tutorial and Analysis", J. Audio Eng. Soc. 60(6), 2012: feed-forward, detector in the logarithmic
   domain after the gain computer, soft knee of second order, smooth branching peak detector.  With
   level x in dB, threshold T, ratio R, knee W and over = x - T the reduction in dB is

     0                                     over <= -W/2
     (1 - 1/R) (over + W/2)^2 / (2 W)      in between
     (1 - 1/R) over                        over >= W/2

   A one-pole filter then smooths the reduction, with the attack's time constant while it grows and
   the release's while it falls; in one time constant it covers 1 - 1/e of a step in dB. The gain in
   dB is makeup - reduction.

   - detector=rms takes the level from the mean square over a one-pole window of 10 ms.
   - If linked, the loudest channel of each frame sets one gain for all channels.
   - While its side input is connected, the level is that of the side input, which has as many
     channels as the node.
   - All settings ramp, also attack and release: without a ramp, a new attack of 0 would make a step
     in the gain.
   - The smoother's state is double: with a release of 5 s at 192 kHz its steps are below the
     resolution of float, and a float would stop 0.9 dB short of its target.
*/

#include "sidechain.h"

#include "dsp_cpu/shared/compressor_words.h"
#include "dsp_cpu/shared/decibel.h"
#include "engine/base/simd.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <stdlib.h>
#include <string.h>

#define RMS_MS 10.0

// Each of the first parameters sets the target of the ramp with its number.
enum {
  THRESHOLD = COMPRESSOR_THRESHOLD_DB,
  RATIO = COMPRESSOR_SLOPE,
  ATTACK = COMPRESSOR_ATTACK,
  RELEASE = COMPRESSOR_RELEASE,
  KNEE = COMPRESSOR_KNEE_DB,
  MAKEUP = COMPRESSOR_MAKEUP_DB,
  MIX = COMPRESSOR_MIX,
  DETECTOR = COMPRESSOR_N_RAMPS,
  LINK,
  N_PARAMS
};
enum { DETECTOR_PEAK, DETECTOR_RMS };

static const char* const detector_names[] = { "peak", "rms", NULL };

// clang-format off
static const FxParam compressor_params[] = {
  //              id           kind          unit          min     max  initial
  [THRESHOLD] = { "threshold", PARAM_NUMBER, UNIT_DB,   -100.0,   20.0,   -20.0,                                                                    .help = "Level above which the gain is reduced" },
  [RATIO]     = { "ratio",     PARAM_NUMBER, UNIT_NONE,    1.0, 1000.0,     4.0, .taper = TAPER_LOG,                                                .help = "Decibels in for one decibel out, above the threshold" },
  [ATTACK]    = { "attack",    PARAM_NUMBER, UNIT_MS,      0.0, 1000.0,     5.0, .taper = TAPER_LOG,                                                .help = "Time constant of going down" },
  [RELEASE]   = { "release",   PARAM_NUMBER, UNIT_MS,      1.0, 5000.0,   100.0, .taper = TAPER_LOG,                                                .help = "Time constant of coming back" },
  [KNEE]      = { "knee",      PARAM_NUMBER, UNIT_DB,      0.0,   40.0,     6.0,                                                                    .help = "Width of the bend at the threshold" },
  [MAKEUP]    = { "makeup",    PARAM_NUMBER, UNIT_DB,    -40.0,   40.0,     0.0,                                                                    .help = "Gain after compression" },
  [MIX]       = { "mix",       PARAM_NUMBER, UNIT_NONE,    0.0,    1.0,     1.0,                                                                    .help = "0 is the input, 1 the compressed signal; between is parallel compression" },
  [DETECTOR]  = { "detector",  PARAM_CHOICE, UNIT_NONE,    0.0,    0.0,     0.0,                     .choices = detector_names, .structural = true, .help = "What the level is: the peak of each frame, or the mean over 10 ms" },
  [LINK]      = { "link",      PARAM_SWITCH, UNIT_NONE,    0.0,    0.0,     1.0,                     .structural = true,                            .help = "One gain for all channels, from the loudest; off: each on its own" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct CompressorNode {
  Sidechain sidechain;
  bool is_rms;
  double rms_pole;
  float targets[COMPRESSOR_N_RAMPS];
} CompressorNode;

typedef struct CompressorUnit {
  double mean_square;
  double reduction_db; // smoothed
  Ramp ramps[COMPRESSOR_N_RAMPS];
} CompressorUnit;

static void
compressor_set(void* const node, const uint32_t param, const double value,
               const uint32_t ramp_frames)
{
  CompressorNode* const compressor = node;
  compressor->sidechain.ramp_frames = ramp_frames;
  switch (param) {
  case RATIO:
    compressor->targets[param] = (float)(1.0 - 1.0 / value);
    break;
  case ATTACK:
  case RELEASE:
    compressor->targets[param] =
        (float)(1.0 - sidechain_pole(value, compressor->sidechain.rate_hz));
    break;
  case THRESHOLD:
  case KNEE:
  case MAKEUP:
  case MIX:
    compressor->targets[param] = (float)value;
    break;
  default: // structural: fixed by create
    break;
  }
}

static Status
compressor_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                  Error* const error)
{
  CompressorNode* const compressor = calloc(1, sizeof(CompressorNode));
  if (!compressor) {
    return error_set(error, STATUS_NO_MEM, "compressor: out of memory");
  }
  compressor->sidechain = sidechain_new(setup, setup->values[LINK] != 0.0, shape);
  shape->unit_bytes = sizeof(CompressorUnit);
  compressor->is_rms = setup->values[DETECTOR] == DETECTOR_RMS;
  compressor->rms_pole = sidechain_pole(RMS_MS, setup->rate_hz);
  for (uint32_t p = 0; p < N_PARAMS; ++p) {
    compressor_set(compressor, p, setup->values[p], compressor->sidechain.ramp_frames);
  }
  *node = compressor;
  return STATUS_OK;
}

static void
compressor_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const CompressorNode* const compressor = node;
  CompressorUnit* const unit = state;
  *unit = (CompressorUnit){ 0 };
  for (uint32_t r = 0; r < COMPRESSOR_N_RAMPS; ++r) {
    unit->ramps[r] = ramp_at(compressor->targets[r]);
  }
}

static void
aim(const CompressorNode* const node, CompressorUnit* const unit)
{
  for (uint32_t r = 0; r < COMPRESSOR_N_RAMPS; ++r) {
    ramp_aim(&unit->ramps[r], node->targets[r], node->sidechain.ramp_frames);
  }
}

/// Power of the level: the square of the loudest channel, or its running mean.
static void
measure(const FxUnit* const io, const uint32_t first, float* const power, const uint32_t n_frames)
{
  const CompressorNode* const node = io->node;
  CompressorUnit* const unit = io->state;
  sidechain_peak(io, node->sidechain.n_channels, first, power, n_frames);
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float level = power[i] < COMPRESSOR_LOUDEST ? power[i] : COMPRESSOR_LOUDEST;
    power[i] = level * level;
  }
  if (node->is_rms) {
    double mean = unit->mean_square;
    for (uint32_t i = 0; i < n_frames; ++i) {
      mean = power[i] + node->rms_pole * (mean - power[i]);
      power[i] = (float)mean;
    }
    unit->mean_square = mean;
  }
}

/// The static curve: reduction in dB for each frame's power, at the ramped settings.
VECTOR_CLONES static void
curve(const float* const restrict power, const float* const restrict threshold_db,
      const float* const restrict slope, const float* const restrict knee_db,
      float* const restrict reduction_db, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float over = decibel_from_power(power[i]) - threshold_db[i];
    const float knee = knee_db[i] > 1e-6F ? knee_db[i] : 1e-6F; // avoids a division by 0
    const float above = over + 0.5F * knee;
    const float bent = above < 0.0F ? 0.0F : above < knee ? above : knee;
    const float straight = above > knee ? above - knee : 0.0F;
    reduction_db[i] = slope[i] * (bent * bent / (2.0F * knee) + straight);
  }
}

/// Smooth branching peak detector, in place.
static void
smooth(double* const state, const float* const attack, const float* const release,
       float* const reduction_db, const uint32_t n_frames)
{
  double y = *state;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const double x = reduction_db[i];
    y += (double)(x > y ? attack[i] : release[i]) * (x - y);
    reduction_db[i] = (float)y;
  }
  *state = y;
}

/// Convert reductions in dB to gains, in place.
VECTOR_CLONES static void
gains(float* const restrict reduction_db, const float* const restrict makeup_db,
      const float* const restrict mix, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    reduction_db[i] = (1.0F - mix[i]) + mix[i] * gain_from_decibel(makeup_db[i] - reduction_db[i]);
  }
}

/// A ramp that changes direction may overshoot: clamp to [0, 1].
static void
fill_part(Ramp* const ramp, float* const out, const uint32_t n_frames)
{
  ramp_fill_within(ramp, 0.0F, 1.0F, out, n_frames);
}

static void
run_chunk(const FxUnit* const io, const uint32_t first, const uint32_t n_frames)
{
  const CompressorNode* const node = io->node;
  CompressorUnit* const unit = io->state;
  float power[SIDECHAIN_CHUNK], gain[SIDECHAIN_CHUNK];
  float settings[3][SIDECHAIN_CHUNK];
  measure(io, first, power, n_frames);
  ramp_fill(&unit->ramps[COMPRESSOR_THRESHOLD_DB], settings[0], n_frames);
  fill_part(&unit->ramps[COMPRESSOR_SLOPE], settings[1], n_frames);
  ramp_fill(&unit->ramps[COMPRESSOR_KNEE_DB], settings[2], n_frames);
  curve(power, settings[0], settings[1], settings[2], gain, n_frames);
  fill_part(&unit->ramps[COMPRESSOR_ATTACK], settings[0], n_frames);
  fill_part(&unit->ramps[COMPRESSOR_RELEASE], settings[1], n_frames);
  smooth(&unit->reduction_db, settings[0], settings[1], gain, n_frames);
  ramp_fill(&unit->ramps[COMPRESSOR_MAKEUP_DB], settings[0], n_frames);
  fill_part(&unit->ramps[COMPRESSOR_MIX], settings[1], n_frames);
  gains(gain, settings[0], settings[1], n_frames);
  sidechain_apply(io, node->sidechain.n_channels, first, gain, n_frames);
}

static void
compressor_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    aim(units[u].node, units[u].state);
    for (uint32_t first = 0; first < n_frames; first += SIDECHAIN_CHUNK) {
      const uint32_t left = n_frames - first;
      run_chunk(&units[u], first, left < SIDECHAIN_CHUNK ? left : SIDECHAIN_CHUNK);
    }
  }
}

static float
compressor_reduction_db(const void* const state)
{
  return (float)((const CompressorUnit*)state)->reduction_db;
}

static void
compressor_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  sidechain_kernel_shape(&((const CompressorNode*)node)->sidechain, "fx_compressor",
                         COMPRESSOR_PARAM_WORDS, COMPRESSOR_STATE_WORDS, shape);
}

static void
compressor_pack(const void* const node, uint32_t* const words)
{
  const CompressorNode* const compressor = node;
  memcpy(words, compressor->targets, sizeof(compressor->targets));
  words[COMPRESSOR_RAMP_FRAMES] = compressor->sidechain.ramp_frames;
  sidechain_pack(&words[COMPRESSOR_RMS_PART],
                 compressor->is_rms ? (float)(1.0 - compressor->rms_pole) : 0.0F);
}

static const FxKernel compressor_kernel = {
  .file = "fx_compressor.cu",
  .shape = compressor_kernel_shape,
  .pack = compressor_pack,
};

const FxInfo fx_compressor_info = {
  .name = "compressor",
  .summary = "Reduce levels above a threshold",
  .params = compressor_params,
  .n_params = ARRAY_LEN(compressor_params),
  .sides = &sidechain_input,
  .n_sides = 1,
  .tolerance = 1e-5,
  .tolerance_reason = "decibels in single precision: 1e-6 of the gain before makeup",
  .create = compressor_create,
  .destroy = free,
  .unit_init = compressor_unit_init,
  .set = compressor_set,
  .run = compressor_run,
  .reduction_db = compressor_reduction_db,
  .kernel = &compressor_kernel,
};
