// SPDX-License-Identifier: GPL-3.0-or-later
// bandpass: passes the band between two frequencies; the classic families.

#include "filter_params.h"

static void
bandpass_design(const double* const values, const double rate_hz, Section* const sections)
{
  filter_params_design(BAND_BANDPASS, values, rate_hz, sections);
}

static Status
bandpass_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                Error* const error)
{
  return filter_params_create(BAND_BANDPASS, bandpass_design, setup, shape, node, error);
}

const FxInfo fx_bandpass_info = {
  .name = "bandpass",
  .summary = "Pass only frequencies between two limits",
  CASCADE_MEMBERS(filter_band_params, bandpass_create),
};
