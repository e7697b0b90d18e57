// SPDX-License-Identifier: GPL-3.0-or-later
/**
   pan: one channel placed between two, or the balance of two.

   With p the position from -1 (left) to 1 (right) and a = (1 - p) / 2 the share of the left side,
   one channel goes to left and right with

     -3 dB    sin(a pi/2), cos(a pi/2)   constant power in a room
     -6 dB    a, 1 - a                   constant sum, as when both are mixed to one
     -4.5 dB  the geometric mean of the two, between both

   named by their level at the centre (C. Roads, "The Computer Music Tutorial", MIT Press 1996,
   chapter 11, linear and constant power panning; -4.5 dB is the usual compromise of mixing desks).
   Two channels keep their level at the centre.  Off the centre, the level of the channel on the far
   side falls by the same law, relative to its level at the centre; the other channel keeps its
   level.
*/

#include "dsp_cpu/shared/state_words.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POSITION, LAW };
enum { LAW_POWER, LAW_MIDDLE, LAW_LINEAR };

static const char* const law_names[] = { "-3dB", "-4.5dB", "-6dB", NULL };

// clang-format off
static const FxParam pan_params[] = {
  //             id          kind          unit        min  max    initial
  [POSITION] = { "position", PARAM_NUMBER, UNIT_NONE, -1.0, 1.0,       0.0,                       .help = "From -1 (left) to 1 (right)" },
  [LAW]      = { "law",      PARAM_CHOICE, UNIT_NONE,  0.0, 0.0, LAW_POWER, .choices = law_names, .help = "Level of one channel at the centre" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct PanNode {
  double position;
  uint32_t law;
  uint32_t n_in;
  uint32_t ramp_frames;
  float gains[2]; // targets, left and right
} PanNode;

typedef struct PanUnit {
  Ramp gains[2];
} PanUnit;

/// Gain of a side whose share of the position is a; exactly 0 and 1 at the ends.
static double
law_gain(const uint32_t law, const double a)
{
  switch (law) {
  case LAW_LINEAR:
    return a;
  case LAW_MIDDLE:
    return sqrt(a * sin(a * M_PI_2));
  default:
    return sin(a * M_PI_2);
  }
}

static void
aim(PanNode* const pan)
{
  const double centre = law_gain(pan->law, 0.5);
  for (uint32_t side = 0; side < 2U; ++side) {
    const double share = 0.5 * (1.0 + (side ? pan->position : -pan->position));
    const double gain = law_gain(pan->law, share);
    pan->gains[side] = (float)(pan->n_in == 1U ? gain : fmin(1.0, gain / centre));
  }
}

static void
pan_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  PanNode* const pan = node;
  if (param == POSITION) {
    pan->position = value;
  } else {
    pan->law = (uint32_t)value;
  }
  pan->ramp_frames = ramp_frames;
  aim(pan);
}

static Status
pan_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  if (setup->n_in > 2U) {
    return error_set(error, STATUS_BAD_RACK,
                     "pan takes 1 or 2 channels, not %u; connect a pair, as in in:1-2",
                     setup->n_in);
  }
  PanNode* const pan = calloc(1, sizeof(PanNode));
  if (!pan) {
    return error_set(error, STATUS_NO_MEM, "pan: out of memory");
  }
  pan->position = setup->values[POSITION];
  pan->law = (uint32_t)setup->values[LAW];
  pan->n_in = setup->n_in;
  pan->ramp_frames = fx_ramp_frames(setup->rate_hz);
  aim(pan);
  shape->unit_in = setup->n_in;
  shape->unit_out = 2;
  shape->unit_bytes = sizeof(PanUnit);
  *node = pan;
  return STATUS_OK;
}

static void
pan_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const PanNode* const pan = node;
  *(PanUnit*)state = (PanUnit){ { ramp_at(pan->gains[0]), ramp_at(pan->gains[1]) } };
}

static void
pan_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const PanNode* const pan = units[u].node;
    PanUnit* const unit = units[u].state;
    for (uint32_t side = 0; side < 2U; ++side) {
      ramp_aim(&unit->gains[side], pan->gains[side], pan->ramp_frames);
      ramp_multiply(&unit->gains[side], units[u].in[pan->n_in == 2U ? side : 0U],
                    units[u].out[side], n_frames);
    }
  }
}

static void
pan_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  (void)node;
  *shape = (FxKernelShape){
    .passes = { { "fx_pan", 128U, 1U, 1U } },
    .n_passes = 1,
    .param_words = 3,
    .state_words = 1 + 2 * RAMP_WORDS,
  };
}

static void
pan_pack(const void* const node, uint32_t* const words)
{
  const PanNode* const pan = node;
  memcpy(words, pan->gains, sizeof(pan->gains));
  words[2] = pan->ramp_frames;
}

static const FxKernel pan_kernel = {
  .file = "fx_pan.cu",
  .shape = pan_kernel_shape,
  .pack = pan_pack,
};

const FxInfo fx_pan_info = {
  .name = "pan",
  .summary = "Place one channel between two, or balance two",
  .params = pan_params,
  .n_params = ARRAY_LEN(pan_params),
  .tolerance = 1e-6,
  .tolerance_reason = "one rounding per sample, and of the ramp",
  .create = pan_create,
  .destroy = free,
  .unit_init = pan_unit_init,
  .set = pan_set,
  .run = pan_run,
  .kernel = &pan_kernel,
};
