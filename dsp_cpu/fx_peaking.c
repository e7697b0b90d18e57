// SPDX-License-Identifier: GPL-3.0-or-later
// peaking: a bell; the peaking EQ of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

#include <stdlib.h>

enum { FREQUENCY, GAIN, Q };

static const FxParam peaking_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 1000.0, "Centre"),
  [GAIN] = GAIN_PARAM("Gain at the centre"),
  [Q] = Q_PARAM(1.0, "Frequency over bandwidth, between the points of half the gain in dB"),
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
  const CascadePlan plan = { .n_params = ARRAY_LEN(peaking_params),
                             .n_sections = 1,
                             .design = peaking_design };
  return cascade_create(&plan, setup, shape, node, error);
}

const FxInfo fx_peaking_info = {
  .name = "peaking",
  .summary = "Raise or lower a band around a frequency",
  .params = peaking_params,
  .n_params = ARRAY_LEN(peaking_params),
  .tolerance = CASCADE_TOLERANCE,
  .tolerance_reason = CASCADE_TOLERANCE_REASON,
  .create = peaking_create,
  .destroy = free,
  .unit_init = cascade_unit_init,
  .set = cascade_set,
  .run = cascade_run,
  .tail = cascade_tail,
  .kernel = &cascade_kernel,
};
