// SPDX-License-Identifier: GPL-3.0-or-later
// notch: removes one frequency; the notch of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

#include <stdlib.h>

enum { FREQUENCY, Q };

static const FxParam notch_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 50.0, "What is removed"),
  [Q] = Q_PARAM(10.0, "Frequency over bandwidth, between the -3 dB points"),
};

static void
notch_design(const double* const values, const double rate_hz, Section* const sections)
{
  sections[0] = rbj_notch(values[FREQUENCY], values[Q], rate_hz);
}

static Status
notch_create(const FxSetup* const setup, FxShape* const shape, void** const node,
             Error* const error)
{
  const CascadePlan plan = { .n_params = ARRAY_LEN(notch_params),
                             .n_sections = 1,
                             .design = notch_design };
  return cascade_create(&plan, setup, shape, node, error);
}

const FxInfo fx_notch_info = {
  .name = "notch",
  .summary = "Remove one frequency",
  .params = notch_params,
  .n_params = ARRAY_LEN(notch_params),
  .tolerance = CASCADE_TOLERANCE,
  .tolerance_reason = CASCADE_TOLERANCE_REASON,
  .create = notch_create,
  .destroy = free,
  .unit_init = cascade_unit_init,
  .set = cascade_set,
  .run = cascade_run,
  .tail = cascade_tail,
  .kernel = &cascade_kernel,
};
