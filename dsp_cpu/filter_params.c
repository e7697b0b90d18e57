// SPDX-License-Identifier: GPL-3.0-or-later
// Convert the parameters of a filter effect to its FilterSpec.

#include "filter_params.h"

const char* const filter_type_names[] = {
  [FILTER_BUTTERWORTH] = "butterworth",
  [FILTER_CHEBYSHEV1] = "chebyshev1",
  [FILTER_CHEBYSHEV2] = "chebyshev2",
  [FILTER_ELLIPTIC] = "elliptic",
  [FILTER_BESSEL] = "bessel",
  [FILTER_LINKWITZ_RILEY] = "linkwitz-riley",
  NULL,
};

const FxParam filter_band_params[] = {
  FREQUENCY_PARAM("low", 300.0, "Lower edge"),
  FREQUENCY_PARAM("high", 3000.0, "Upper edge; the two may change places"),
  FAMILY_PARAMS,
  FX_ENGINE_PARAMS,
};

static uint32_t
n_edges(const FilterBand band)
{
  return band < BAND_BANDPASS ? 1U : 2U;
}

Status
filter_params_create(const FilterBand band, const CascadeDesign design, const FxSetup* const setup,
                     FxShape* const shape, void** const node, Error* const error)
{
  const double* const family = setup->values + n_edges(band);
  const FilterType type = (FilterType)family[FAMILY_TYPE];
  const uint32_t order = (uint32_t)family[FAMILY_ORDER];
  const Status status = filter_check(type, order, error);
  if (status) {
    return status;
  }
  const CascadePlan plan = { .n_params = n_edges(band) + N_FAMILY_PARAMS,
                             .n_sections = filter_n_sections(band, type, order),
                             .design = design };
  return cascade_create(&plan, setup, shape, node, error);
}

void
filter_params_design(const FilterBand band, const double* const values, const double rate_hz,
                     Section* const sections)
{
  const double* const family = values + n_edges(band);
  const FilterSpec spec = { .band = band,
                            .type = (FilterType)family[FAMILY_TYPE],
                            .order = (uint32_t)family[FAMILY_ORDER],
                            .edge_hz = { values[0], values[n_edges(band) - 1U] },
                            .ripple_db = family[FAMILY_RIPPLE],
                            .stopband_db = family[FAMILY_STOPBAND],
                            .rate_hz = rate_hz };
  filter_design(&spec, sections);
}
