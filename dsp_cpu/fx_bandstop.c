// SPDX-License-Identifier: GPL-3.0-or-later
// bandstop: removes the band between two frequencies; the classic families.

#include "filter_params.h"

static void
bandstop_design(const double* const values, const double rate_hz, Section* const sections)
{
  filter_params_design(BAND_BANDSTOP, values, rate_hz, sections);
}

static Status
bandstop_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                Error* const error)
{
  return filter_params_create(BAND_BANDSTOP, bandstop_design, setup, shape, node, error);
}

const FxInfo fx_bandstop_info = {
  .name = "bandstop",
  .summary = "Remove frequencies between two limits",
  CASCADE_MEMBERS(filter_band_params, bandstop_create),
};
