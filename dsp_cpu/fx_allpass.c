// SPDX-License-Identifier: GPL-3.0-or-later
// allpass: changes the phase and keeps the level; the APF of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

enum { FREQUENCY, Q };

static const FxParam allpass_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 1000.0, "Where the phase is turned by 180 degrees"),
  [Q] = Q_PARAM(0.7071067811865476, "How fast the phase turns"),
  FX_ENGINE_PARAMS,
};

static void
allpass_design(const double* const values, const double rate_hz, Section* const sections)
{
  sections[0] = rbj_allpass(values[FREQUENCY], values[Q], rate_hz);
}

static Status
allpass_create(const FxSetup* const setup, FxShape* const shape, void** const node,
               Error* const error)
{
  return cascade_create_one(ARRAY_LEN(allpass_params), allpass_design, setup, shape, node, error);
}

const FxInfo fx_allpass_info = {
  .name = "allpass",
  .summary = "Shift the phase around a frequency",
  CASCADE_MEMBERS(allpass_params, allpass_create),
};
