// SPDX-License-Identifier: GPL-3.0-or-later
// highshelf: a shelf; the highShelf of the RBJ cookbook.

#include "filter_params.h"
#include "rbj.h"

enum { FREQUENCY, GAIN, Q };

static const FxParam highshelf_params[] = {
  [FREQUENCY] = FREQUENCY_PARAM("frequency", 4000.0, "Middle of the slope"),
  [GAIN] = GAIN_PARAM("Gain of the shelf"),
  [Q] = Q_PARAM(0.7071067811865476, "Steepness; above 0.71 the ends overshoot"),
  FX_ENGINE_PARAMS,
};

static void
highshelf_design(const double* const values, const double rate_hz, Section* const sections)
{
  sections[0] = rbj_highshelf(values[FREQUENCY], values[GAIN], values[Q], rate_hz);
}

static Status
highshelf_create(const FxSetup* const setup, FxShape* const shape, void** const node,
                 Error* const error)
{
  return cascade_create_one(ARRAY_LEN(highshelf_params), highshelf_design, setup, shape, node,
                            error);
}

const FxInfo fx_highshelf_info = {
  .name = "highshelf",
  .summary = "Raise or lower the level above a frequency",
  CASCADE_MEMBERS(highshelf_params, highshelf_create),
};
