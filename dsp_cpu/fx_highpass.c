// SPDX-License-Identifier: GPL-3.0-or-later
// highpass: passes frequencies above an edge; the classic families.

#include "filter_params.h"

#include <stdlib.h>

static const FxParam highpass_params[] = {
  FREQUENCY_PARAM("frequency", 100.0, "Edge"),
  FAMILY_PARAMS,
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
  .params = highpass_params,
  .n_params = ARRAY_LEN(highpass_params),
  .tolerance = CASCADE_TOLERANCE,
  .tolerance_reason = CASCADE_TOLERANCE_REASON,
  .create = highpass_create,
  .destroy = free,
  .unit_init = cascade_unit_init,
  .set = cascade_set,
  .run = cascade_run,
  .tail = cascade_tail,
  .kernel = &cascade_kernel,
};
