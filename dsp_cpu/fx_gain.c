// SPDX-License-Identifier: GPL-3.0-or-later
// gain: multiplies every channel by one gain.

#include "dsp_cpu/shared/state_words.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAIN };

// clang-format off
static const FxParam gain_params[] = {
  //         id      kind          unit        min   max  initial
  [GAIN] = { "gain", PARAM_NUMBER, UNIT_DB, -120.0, 40.0,     0.0, .taper = TAPER_DB, .help = "Gain; -120 dB is silence" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct GainNode {
  float gain_lin;
  uint32_t ramp_frames;
} GainNode;

static void
gain_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)param;
  GainNode* const gain = node;
  gain->gain_lin = value <= gain_params[GAIN].min ? 0.0F : (float)pow(10.0, value / 20.0);
  gain->ramp_frames = ramp_frames;
}

static Status
gain_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  GainNode* const gain = calloc(1, sizeof(GainNode));
  if (!gain) {
    return error_set(error, STATUS_NO_MEM, "gain: out of memory");
  }
  gain_set(gain, GAIN, setup->values[GAIN], fx_ramp_frames(setup->rate_hz));
  shape->unit_bytes = sizeof(Ramp);
  *node = gain;
  return STATUS_OK;
}

static void
gain_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  *(Ramp*)state = ramp_at(((const GainNode*)node)->gain_lin);
}

static void
gain_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const GainNode* const node = units[u].node;
    Ramp* const ramp = units[u].state;
    ramp_aim(ramp, node->gain_lin, node->ramp_frames);
    ramp_multiply(ramp, units[u].in[0], units[u].out[0], n_frames);
  }
}

static float
gain_factor(const void* const state)
{
  return ((const Ramp*)state)->target;
}

static bool
gain_rests(const void* const node, const void* const state)
{
  const Ramp* const ramp = state;
  return !ramp->frames_left && ramp->target == ((const GainNode*)node)->gain_lin;
}

static const FxLinear gain_linear = { .factor = gain_factor, .rests = gain_rests };

static void
gain_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  (void)node;
  *shape = (FxKernelShape){
    .passes = { { "fx_gain", 128U, 1U, 1U } },
    .n_passes = 1,
    .param_words = 2,
    .state_words = 1 + RAMP_WORDS,
  };
}

static void
gain_pack(const void* const node, uint32_t* const words)
{
  const GainNode* const gain = node;
  memcpy(&words[0], &gain->gain_lin, sizeof(float));
  words[1] = gain->ramp_frames;
}

static const FxKernel gain_kernel = {
  .file = "fx_gain.cu",
  .shape = gain_kernel_shape,
  .pack = gain_pack,
};

const FxInfo fx_gain_info = {
  .name = "gain",
  .summary = "Change the level",
  .params = gain_params,
  .n_params = ARRAY_LEN(gain_params),
  .tolerance = 1e-6,
  .tolerance_reason = "one rounding per sample",
  .create = gain_create,
  .destroy = free,
  .unit_init = gain_unit_init,
  .set = gain_set,
  .run = gain_run,
  .linear = &gain_linear,
  .kernel = &gain_kernel,
};
