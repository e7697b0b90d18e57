// SPDX-License-Identifier: GPL-3.0-or-later
// A table of effects that have descriptions only, and parameters of each kind and unit.  With it,
// the tests of the rack language do not depend on the real effects.

#include "engine/contract/effect.h"

#define NUMBER(id_, unit_, min_, max_, initial_)                                                   \
  {                                                                                                \
    .id = (id_), .kind = PARAM_NUMBER, .unit = (unit_), .min = (min_), .max = (max_),              \
    .initial = (initial_), .help = "A number"                                                      \
  }

static const char* const pass_types[] = { "butterworth", "chebyshev1", "elliptic", NULL };

static const FxParam convolver_params[] = {
  { .id = "ir", .kind = PARAM_FILE, .structural = true, .help = "A file" },
  NUMBER("mix", UNIT_NONE, 0.0, 1.0, 1.0),
};

static const FxParam delay_params[] = {
  NUMBER("time", UNIT_MS, 1.0, 5000.0, 500.0),
  NUMBER("feedback", UNIT_NONE, -0.99, 0.99, 0.0),
  { .id = "pingpong", .kind = PARAM_SWITCH, .help = "A switch" },
  { .id = "note",
    .kind = PARAM_TEXT,
    .structural = true,
    .initial_text = "1/4",
    .help = "A text with a default" },
};

static const FxParam gain_params[] = { NUMBER("gain", UNIT_DB, -120.0, 40.0, 0.0) };

static const FxParam highpass_params[] = {
  { .id = "frequency",
    .unit = UNIT_HZ,
    .min = 10.0,
    .max = 20000.0,
    .initial = 1000.0,
    .taper = TAPER_LOG,
    .help = "A number" },
  { .id = "order",
    .kind = PARAM_INTEGER,
    .min = 1.0,
    .max = 16.0,
    .initial = 2.0,
    .structural = true,
    .help = "A whole number" },
  { .id = "type", .kind = PARAM_CHOICE, .choices = pass_types, .help = "A choice" },
};

static const FxParam matrix_params[] = {
  { .id = "rows", .kind = PARAM_TEXT, .structural = true, .help = "A text" },
};

static const FxParam phaser_params[] = {
  NUMBER("angle", UNIT_DEG, -180.0, 180.0, 0.0),
  NUMBER("tempo", UNIT_BPM, 20.0, 300.0, 120.0),
  FX_ENGINE_PARAMS,
};

#define EFFECT(name_)                                                                              \
  {                                                                                                \
    .name = #name_, .params = name_##_params, .n_params = ARRAY_LEN(name_##_params)                \
  }

static const FxSide through_side = { .name = "sidechain" };

static const FxInfo infos[] = {
  EFFECT(convolver),
  EFFECT(delay),
  EFFECT(gain),
  EFFECT(highpass),
  EFFECT(matrix),
  EFFECT(phaser),
  { .name = "through", .sides = &through_side, .n_sides = 1 },
};

const FxInfo* const*
fx_table(uint32_t* const n_effects)
{
  static const FxInfo* table[ARRAY_LEN(infos)];
  for (uint32_t i = 0; i < ARRAY_LEN(infos); ++i) {
    table[i] = &infos[i];
  }
  *n_effects = ARRAY_LEN(infos);
  return table;
}
