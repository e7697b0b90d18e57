// SPDX-License-Identifier: GPL-3.0-or-later
/**
   gate: reduces the level of signals below a threshold.

   A switch with hysteresis and a hold time drives a smoothed gain:

     |x| >= threshold                     opens
     |x| >= threshold - hysteresis        keeps an open gate open
     below that for longer than hold      closes
     gain -> 1 while open, -> range while closed, by one pole with the attack's or the release's
             time constant (1 - 1/e of the way; the release so falls evenly in dB)

   |x| is the magnitude of the sample, or that of the side input while it is connected; if linked,
   that of the loudest channel.  The hold time
   bridges zero crossings, so it should be at least half a period of the lowest note.  Source: U.
   Zoelzer (ed.), "DAFX: Digital Audio Effects", 2nd ed. 2011, chapter 4, noise gate; hysteresis and
   hold as in studio hardware.

   - A new threshold, hysteresis or hold changes when the gate opens and closes, a new attack or
     release changes the speed of the gain; the gain stays continuous.  The range ramps.
   - The gain's state is double: at 5 s and 192 kHz, float would stop short of its target.
*/

#include "sidechain.h"

#include "dsp_cpu/shared/decibel.h"
#include "dsp_cpu/shared/gate_words.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <stdlib.h>

enum { THRESHOLD, ATTACK, HOLD, RELEASE, RANGE, HYSTERESIS, LINK, N_PARAMS };

// clang-format off
static const FxParam gate_params[] = {
  //               id            kind          unit          min      max  initial
  [THRESHOLD]  = { "threshold",  PARAM_NUMBER, UNIT_DB,   -120.0,    20.0,   -50.0,                                         .help = "Level that opens the gate" },
  [ATTACK]     = { "attack",     PARAM_NUMBER, UNIT_MS,      0.1,  1000.0,     1.0, .taper = TAPER_LOG,                     .help = "Time constant of opening" },
  [HOLD]       = { "hold",       PARAM_NUMBER, UNIT_MS,      0.0, 10000.0,    50.0, .taper = TAPER_LOG,                     .help = "Time that the gate stays open below the threshold" },
  [RELEASE]    = { "release",    PARAM_NUMBER, UNIT_MS,      1.0,  5000.0,   100.0, .taper = TAPER_LOG,                     .help = "Time constant of closing" },
  [RANGE]      = { "range",      PARAM_NUMBER, UNIT_DB,   -120.0,     0.0,  -120.0,                                         .help = "Gain of the closed gate; -120 dB is silence" },
  [HYSTERESIS] = { "hysteresis", PARAM_NUMBER, UNIT_DB,      0.0,    40.0,     4.0,                                         .help = "How far below the threshold an open gate stays open" },
  [LINK]       = { "link",       PARAM_SWITCH, UNIT_NONE,    0.0,     0.0,     1.0,                     .structural = true, .help = "One gain for all channels, from the loudest; off: each on its own" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct GateNode {
  Sidechain sidechain;
  double threshold_db, hysteresis_db;
  // Targets
  float open_lin, close_lin, range_lin;
  uint32_t hold_frames;
  double attack_pole, release_pole;
} GateNode;

typedef struct GateUnit {
  double gain;
  Ramp range_lin;
  bool is_open;
  uint32_t hold_left;
} GateUnit;

static void
gate_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  GateNode* const gate = node;
  switch (param) {
  case THRESHOLD:
    gate->threshold_db = value;
    break;
  case HYSTERESIS:
    gate->hysteresis_db = value;
    break;
  case ATTACK:
    gate->attack_pole = sidechain_pole(value, gate->sidechain.rate_hz);
    break;
  case RELEASE:
    gate->release_pole = sidechain_pole(value, gate->sidechain.rate_hz);
    break;
  case HOLD:
    gate->hold_frames = (uint32_t)lrint(value * 1e-3 * gate->sidechain.rate_hz);
    break;
  case RANGE:
    gate->range_lin = value <= gate_params[RANGE].min ? 0.0F : (float)pow(10.0, value / 20.0);
    break;
  default: // structural: fixed by create
    break;
  }
  gate->open_lin = (float)pow(10.0, gate->threshold_db / 20.0);
  gate->close_lin = (float)pow(10.0, (gate->threshold_db - gate->hysteresis_db) / 20.0);
  gate->sidechain.ramp_frames = ramp_frames;
}

static Status
gate_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  GateNode* const gate = calloc(1, sizeof(GateNode));
  if (!gate) {
    return error_set(error, STATUS_NO_MEM, "gate: out of memory");
  }
  gate->sidechain = sidechain_new(setup, setup->values[LINK] != 0.0, shape);
  shape->unit_bytes = sizeof(GateUnit);
  for (uint32_t p = 0; p < N_PARAMS; ++p) {
    gate_set(gate, p, setup->values[p], gate->sidechain.ramp_frames);
  }
  *node = gate;
  return STATUS_OK;
}

static void
gate_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const GateNode* const gate = node;
  *(GateUnit*)state =
      (GateUnit){ .gain = (double)gate->range_lin, .range_lin = ramp_at(gate->range_lin) };
}

static bool
stays_open(const GateNode* const node, GateUnit* const unit, const float peak)
{
  if (peak >= (unit->is_open ? node->close_lin : node->open_lin)) {
    unit->hold_left = node->hold_frames;
    return true;
  }
  if (!unit->is_open || unit->hold_left == 0U) {
    return false;
  }
  --unit->hold_left;
  return true;
}

/// Convert peaks to gains, in place.
static void
gains(const GateNode* const node, GateUnit* const unit, float* const peak, const uint32_t n_frames)
{
  float range[SIDECHAIN_CHUNK];
  ramp_fill(&unit->range_lin, range, n_frames);
  for (uint32_t i = 0; i < n_frames; ++i) {
    unit->is_open = stays_open(node, unit, peak[i]);
    const double target = unit->is_open ? 1.0 : (double)range[i];
    const double pole = unit->is_open ? node->attack_pole : node->release_pole;
    unit->gain = target + pole * (unit->gain - target);
    peak[i] = (float)unit->gain;
  }
}

static void
gate_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  float gain[SIDECHAIN_CHUNK];
  for (uint32_t u = 0; u < n_units; ++u) {
    const GateNode* const node = units[u].node;
    GateUnit* const unit = units[u].state;
    ramp_aim(&unit->range_lin, node->range_lin, node->sidechain.ramp_frames);
    for (uint32_t first = 0; first < n_frames; first += SIDECHAIN_CHUNK) {
      const uint32_t left = n_frames - first;
      const uint32_t n = left < SIDECHAIN_CHUNK ? left : SIDECHAIN_CHUNK;
      sidechain_peak(&units[u], node->sidechain.n_channels, first, gain, n);
      gains(node, unit, gain, n);
      sidechain_apply(&units[u], node->sidechain.n_channels, first, gain, n);
    }
  }
}

static float
gate_reduction_db(const void* const state)
{
  const float gain = (float)((const GateUnit*)state)->gain;
  return -decibel_from_power(gain * gain);
}

static void
gate_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  sidechain_kernel_shape(&((const GateNode*)node)->sidechain, "fx_gate", GATE_PARAM_WORDS,
                         GATE_STATE_WORDS, shape);
}

static void
gate_pack(const void* const node, uint32_t* const words)
{
  const GateNode* const gate = node;
  sidechain_pack(&words[GATE_RANGE], gate->range_lin);
  words[GATE_RAMP_FRAMES] = gate->sidechain.ramp_frames;
  sidechain_pack(&words[GATE_OPEN], gate->open_lin);
  sidechain_pack(&words[GATE_CLOSE], gate->close_lin);
  words[GATE_HOLD] = gate->hold_frames;
  sidechain_pack(&words[GATE_ATTACK], (float)(1.0 - gate->attack_pole));
  sidechain_pack(&words[GATE_RELEASE], (float)(1.0 - gate->release_pole));
}

static const FxKernel gate_kernel = {
  .file = "fx_gate.cu",
  .shape = gate_kernel_shape,
  .pack = gate_pack,
};

const FxInfo fx_gate_info = {
  .name = "gate",
  .summary = "Reduce levels below a threshold",
  .params = gate_params,
  .n_params = ARRAY_LEN(gate_params),
  .sides = &sidechain_input,
  .n_sides = 1,
  .tolerance = 1e-6,
  .tolerance_reason = "one rounding of the gain and one of the product",
  .create = gate_create,
  .destroy = free,
  .unit_init = gate_unit_init,
  .set = gate_set,
  .run = gate_run,
  .reduction_db = gate_reduction_db,
  .kernel = &gate_kernel,
};
