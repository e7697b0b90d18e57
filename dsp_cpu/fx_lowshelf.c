// SPDX-License-Identifier: GPL-3.0-or-later
// lowshelf: a shelf; the lowShelf of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

enum { FREQUENCY, GAIN, Q };

static const FxParam lowshelf_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 200.0, "Middle of the slope"),
  [GAIN] = GAIN_PARAM("Gain of the shelf"),
  [Q] = Q_PARAM(0.7071067811865476, "Steepness; above 0.71 the ends overshoot"),
  FX_ENGINE_PARAMS,
};

static void
lowshelf_design(const double* const values, const double rate_hz, Section* const sections)
{
  sections[0] = rbj_lowshelf(values[FREQUENCY], values[GAIN], values[Q], rate_hz);
}

static Status
lowshelf_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                Error* const error)
{
  return cascade_create_one(ARRAY_LEN(lowshelf_params), lowshelf_design, setup, shape, node, error);
}

const FxInfo fx_lowshelf_info = {
  .name = "lowshelf",
  .summary = "Raise or lower the level below a frequency",
  CASCADE_MEMBERS(lowshelf_params, lowshelf_create),
};
