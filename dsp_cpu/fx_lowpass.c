// SPDX-License-Identifier: GPL-3.0-or-later
// lowpass: passes frequencies below an edge; the classic families.

#include "filter_params.h"

static const FxParam lowpass_params[] = {
  FREQUENCY_PARAM("frequency", 1000.0, "Edge"),
  FAMILY_PARAMS,
  FX_ENGINE_PARAMS,
};

static void
lowpass_design(const double* const values, const double rate_hz, Section* const sections)
{
  filter_params_design(BAND_LOWPASS, values, rate_hz, sections);
}

static Status
lowpass_create(const FxSetup* const setup, FxShape* const shape, void** const node,
               Error* const error)
{
  return filter_params_create(BAND_LOWPASS, lowpass_design, setup, shape, node, error);
}

const FxInfo fx_lowpass_info = {
  .name = "lowpass",
  .summary = "Pass only frequencies below a limit",
  CASCADE_MEMBERS(lowpass_params, lowpass_create),
};
