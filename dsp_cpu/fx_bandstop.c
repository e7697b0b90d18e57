// SPDX-License-Identifier: GPL-3.0-or-later
// bandstop: removes the band between two frequencies; the classic families.

#include "filter_params.h"

#include <stdlib.h>

static const FxParam bandstop_params[] = {
  FREQUENCY_PARAM("low", 300.0, "Lower edge"),
  FREQUENCY_PARAM("high", 3000.0, "Upper edge; the two may change places"),
  FAMILY_PARAMS,
};

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
  .params = bandstop_params,
  .n_params = ARRAY_LEN(bandstop_params),
  .tolerance = CASCADE_TOLERANCE,
  .tolerance_reason = CASCADE_TOLERANCE_REASON,
  .create = bandstop_create,
  .destroy = free,
  .unit_init = cascade_unit_init,
  .set = cascade_set,
  .run = cascade_run,
  .tail = cascade_tail,
  .kernel = &cascade_kernel,
};
