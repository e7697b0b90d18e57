// SPDX-License-Identifier: GPL-3.0-or-later
/**
   normalize: brings a complete file to a level.  The first pass only measures; the second pass
   applies one gain to all channels, so that their balance stays.

   - peak: the largest sample of all channels.
   - rms: the mean of the squares over all channels, from the first frame that is not silent to the
     last, so that leading and trailing zeros do not count.  A full-scale sine has -3.01 dB.
   - r128: integrated loudness, ITU-R BS.1770-4 with the gates of EBU R 128, by libebur128; the
     target is then in LUFS.

   Offline only: it runs on the renderer's thread, where libebur128 may allocate.
*/

#include "engine/contract/effect.h"

#include <ebur128.h>
#include <math.h>
#include <stdlib.h>

#define CHUNK        64U // frames at a time, for libebur128's interleaved input
#define MAX_R128     64U // channels that libebur128 takes
#define R128_SECONDS 0.4 // block of the loudness gate
#define SILENCE_DB   (-140.0)
#define LOUDEST_DB   (-3.0) // mean level of a full-scale sine

enum { MODE, TARGET };
enum { MODE_PEAK, MODE_RMS, MODE_R128 };

static const char* const mode_names[] = { "peak", "rms", "r128", NULL };

// clang-format off
static const FxParam normalize_params[] = {
  //           id        kind          unit         min  max  initial
  [MODE]   = { "mode",   PARAM_CHOICE, UNIT_NONE,   0.0, 0.0,     0.0, .choices = mode_names, .structural = true, .help = "What is measured: the largest sample, the power, or the loudness" },
  [TARGET] = { "target", PARAM_NUMBER, UNIT_DB,   -70.0, 0.0,    -1.0, .structural = true,                        .help = "dB below full scale, LUFS with r128; at most -3 for rms and r128" },
  FX_ENGINE_PARAMS,
};
// clang-format on

/// libebur128's state, allocated outside of the node: `run` gets a const node and updates the
/// state.
typedef struct Meter {
  ebur128_state* ebur128; ///< NULL unless mode is r128
  bool failed;            ///< libebur128 ran out of memory
} Meter;

typedef struct NormalizeNode {
  uint32_t mode;
  double target_db;
  uint32_t n_channels;
  unsigned long rate_hz;
  Meter* meter;
  bool is_measured;
  float gain; ///< 1 until the first pass ends
} NormalizeNode;

/// The measurement of a pass so far.
typedef struct NormalizeUnit {
  bool has_begun;
  double peak;
  double squares;     ///< Sum of the squares of all channels
  uint64_t n_counted; ///< Frames in the mean, up to the last frame that is not silent
  uint64_t n_silent;  ///< Silent frames since then
} NormalizeUnit;

static void
meter_clear(Meter* const meter)
{
  if (meter->ebur128) {
    ebur128_destroy(&meter->ebur128);
  }
}

/// Make a new state: libebur128 has no reset.
static void
meter_restart(Meter* const meter, const NormalizeNode* const node)
{
  meter_clear(meter);
  meter->ebur128 = ebur128_init(node->n_channels, node->rate_hz, EBUR128_MODE_I);
  meter->failed = !meter->ebur128;
}

static void
normalize_destroy(void* const node)
{
  NormalizeNode* const normalize = node;
  if (normalize) {
    if (normalize->meter) {
      meter_clear(normalize->meter);
    }
    free(normalize->meter);
    free(normalize);
  }
}

static Status
normalize_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                 Error* const error)
{
  const uint32_t mode = (uint32_t)setup->values[MODE];
  if (mode == MODE_R128 && setup->n_in > MAX_R128) {
    return error_set(error, STATUS_BAD_RACK, "normalize: r128 takes up to %u channels, not %u",
                     MAX_R128, setup->n_in);
  }
  if (mode != MODE_PEAK && setup->values[TARGET] > LOUDEST_DB) {
    return error_set(error, STATUS_BAD_RACK,
                     "normalize: a mean level of %g is no target without clipping; give one, as in "
                     "target=%g",
                     setup->values[TARGET], mode == MODE_R128 ? -23.0 : -20.0);
  }
  NormalizeNode* const normalize = calloc(1, sizeof(NormalizeNode));
  Meter* const meter = calloc(1, sizeof(Meter));
  if (!normalize || !meter) {
    free(meter);
    free(normalize);
    return error_set(error, STATUS_NO_MEM, "normalize: out of memory");
  }
  *normalize = (NormalizeNode){ .mode = mode,
                                .target_db = setup->values[TARGET],
                                .n_channels = setup->n_in,
                                .rate_hz = (unsigned long)lrint(setup->rate_hz),
                                .meter = meter,
                                .gain = 1.0F };
  shape->unit_in = shape->unit_out = setup->n_in;
  shape->unit_bytes = sizeof(NormalizeUnit);
  shape->data_bytes = sizeof(Meter);
  if (mode == MODE_R128) { // memory that libebur128 allocates at the first block
    shape->data_bytes += (size_t)ceil(R128_SECONDS * setup->rate_hz) * setup->n_in * sizeof(double);
  }
  *node = normalize;
  return STATUS_OK;
}

static void
normalize_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)node;
  (void)channel;
  *(NormalizeUnit*)state = (NormalizeUnit){ .has_begun = false };
}

/// Copy the input with NaN and infinity as silence: one such sample would make every mean invalid.
static void
copy_finite(const float* const restrict in, float* const restrict out, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] = isfinite(in[i]) ? in[i] : 0.0F;
  }
}

static void
measure_samples(NormalizeUnit* const unit, const float* const* const channels,
                const uint32_t n_channels, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    double squares = 0.0;
    for (uint32_t c = 0; c < n_channels; ++c) {
      const double x = channels[c][i];
      squares += x * x;
      unit->peak = fmax(unit->peak, fabs(x));
    }
    unit->n_silent++;
    if (squares > 0.0) {
      unit->n_counted = unit->squares > 0.0 ? unit->n_counted + unit->n_silent : 1U;
      unit->n_silent = 0;
      unit->squares += squares;
    }
  }
}

static void
measure_loudness(Meter* const meter, const float* const* const channels, const uint32_t n_channels,
                 const uint32_t n_frames)
{
  float interleaved[CHUNK * MAX_R128];
  for (uint32_t done = 0; done < n_frames; done += CHUNK) {
    const uint32_t n = n_frames - done < CHUNK ? n_frames - done : CHUNK;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t c = 0; c < n_channels; ++c) {
        interleaved[i * n_channels + c] = channels[c][done + i];
      }
    }
    if (!meter->failed) {
      meter->failed = ebur128_add_frames_float(meter->ebur128, interleaved, n) != EBUR128_SUCCESS;
    }
  }
}

static void
measure(const NormalizeNode* const node, const FxUnit* const fx_unit, const uint32_t n_frames)
{
  NormalizeUnit* const unit = fx_unit->state;
  const float* const* const channels = (const float* const*)fx_unit->out;
  if (node->mode != MODE_R128) {
    measure_samples(unit, channels, node->n_channels, n_frames);
    return;
  }
  if (!unit->has_begun) {
    meter_restart(node->meter, node);
    unit->has_begun = true;
  }
  measure_loudness(node->meter, channels, node->n_channels, n_frames);
}

static void
normalize_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const NormalizeNode* const node = units[u].node;
    for (uint32_t c = 0; c < node->n_channels; ++c) {
      float* const out = units[u].out[c];
      copy_finite(units[u].in[c], out, n_frames);
      for (uint32_t i = 0; node->is_measured && i < n_frames; ++i) {
        out[i] *= node->gain;
      }
    }
    if (!node->is_measured) {
      measure(node, &units[u], n_frames);
    }
  }
}

/// Level of the pass in dB or LUFS; -infinity for silence, or if no block is above the gate.
static Status
measured_db(const NormalizeNode* const node, const NormalizeUnit* const unit,
            double* const level_db, Error* const error)
{
  Meter* const meter = node->meter;
  switch (node->mode) {
  case MODE_PEAK:
    *level_db = 20.0 * log10(unit->peak);
    break;
  case MODE_RMS:
    *level_db = 10.0 * log10(unit->squares / ((double)unit->n_counted * node->n_channels));
    break;
  default:
    *level_db = -INFINITY; // without a frame the meter is empty
    if (meter->ebur128 && !meter->failed) {
      meter->failed = ebur128_loudness_global(meter->ebur128, level_db) != EBUR128_SUCCESS;
    }
    break;
  }
  return meter->failed ? error_set(error, STATUS_NO_MEM, "normalize: out of memory") : STATUS_OK;
}

static Status
normalize_finish_pass(void* const node, void* const state, bool* const again, Error* const error)
{
  NormalizeNode* const normalize = node;
  double level_db = 0.0;
  if (normalize->is_measured) {
    return STATUS_OK;
  }
  const Status status = measured_db(normalize, state, &level_db, error);
  if (status) {
    return status;
  }
  normalize->is_measured = true;
  // Otherwise the input was silent, or had no frames (NaN), and the gain stays 1.
  if (level_db > SILENCE_DB) {
    normalize->gain = (float)pow(10.0, (normalize->target_db - level_db) / 20.0);
  }
  *again = normalize->gain != 1.0F;
  return STATUS_OK;
}

const FxInfo fx_normalize_info = {
  .name = "normalize",
  .summary = "Bring a whole file to a peak, power or loudness (rendering only)",
  .params = normalize_params,
  .n_params = ARRAY_LEN(normalize_params),
  .tolerance = 1e-6,
  .tolerance_reason = "one gain, measured in double; one rounding per sample",
  .offline_only = true,
  .create = normalize_create,
  .destroy = normalize_destroy,
  .unit_init = normalize_unit_init,
  .run = normalize_run,
  .finish_pass = normalize_finish_pass,
};
