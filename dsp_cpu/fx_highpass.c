// SPDX-License-Identifier: GPL-3.0-or-later
// highpass: passes frequencies above an edge; the classic families.

#include "filter_params.h"

static const FxParam highpass_params[] = {
  FREQUENCY_PARAM("frequency", 100.0, "Edge"),
  FAMILY_PARAMS,
  FX_ENGINE_PARAMS,
};

static void
highpass_design(const double* const values, const double rate_hz, Section* const sections)
{
  filter_params_design(BAND_HIGHPASS, values, rate_hz, sections);
}

static Status
highpass_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                Error* const error)
{
  return filter_params_create(BAND_HIGHPASS, highpass_design, setup, shape, node, error);
}

const FxInfo fx_highpass_info = {
  .name = "highpass",
  .summary = "Pass only frequencies above a limit",
  CASCADE_MEMBERS(highpass_params, highpass_create),
};
