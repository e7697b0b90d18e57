// SPDX-License-Identifier: GPL-3.0-or-later
// peaking: a bell; the peaking EQ of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

enum { FREQUENCY, GAIN, Q };

static const FxParam peaking_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 1000.0, "Centre"),
  [GAIN] = GAIN_PARAM("Gain at the centre"),
  [Q] = Q_PARAM(1.0, "Frequency over bandwidth, between the points of half the gain in dB"),
  FX_ENGINE_PARAMS,
};

static void
peaking_design(const double* const values, const double rate_hz, Section* const sections)
{
  sections[0] = rbj_peaking(values[FREQUENCY], values[GAIN], values[Q], rate_hz);
}

static Status
peaking_create(const FxSetup* const setup, FxShape* const shape, void** const node,
               Error* const error)
{
  return cascade_create_one(ARRAY_LEN(peaking_params), peaking_design, setup, shape, node, error);
}

const FxInfo fx_peaking_info = {
  .name = "peaking",
  .summary = "Raise or lower a band around a frequency",
  CASCADE_MEMBERS(peaking_params, peaking_create),
};
