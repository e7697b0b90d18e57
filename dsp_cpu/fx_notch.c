// SPDX-License-Identifier: GPL-3.0-or-later
// notch: removes one frequency; the notch of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

enum { FREQUENCY, Q };

static const FxParam notch_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 50.0, "What is removed"),
  [Q] = Q_PARAM(10.0, "Frequency over bandwidth, between the -3 dB points"),
  FX_ENGINE_PARAMS,
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
  return cascade_create_one(ARRAY_LEN(notch_params), notch_design, setup, shape, node, error);
}

const FxInfo fx_notch_info = {
  .name = "notch",
  .summary = "Remove one frequency",
  CASCADE_MEMBERS(notch_params, notch_create),
};
