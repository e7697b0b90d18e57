// SPDX-License-Identifier: GPL-3.0-or-later
// bandpass: passes the band between two frequencies; the classic families.

#include "filter_params.h"

#include <stdlib.h>

static const FxParam bandpass_params[] = {
  FREQUENCY_PARAM("low", 300.0, "Lower edge"),
  FREQUENCY_PARAM("high", 3000.0, "Upper edge; the two may change places"),
  FAMILY_PARAMS,
};

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
  .params = bandpass_params,
  .n_params = ARRAY_LEN(bandpass_params),
  .tolerance = CASCADE_TOLERANCE,
  .tolerance_reason = CASCADE_TOLERANCE_REASON,
  .create = bandpass_create,
  .destroy = free,
  .unit_init = cascade_unit_init,
  .set = cascade_set,
  .run = cascade_run,
  .tail = cascade_tail,
  .kernel = &cascade_kernel,
};
