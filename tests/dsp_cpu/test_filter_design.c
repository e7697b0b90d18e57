// SPDX-License-Identifier: GPL-3.0-or-later
// Every family has its defining properties at every order: edges, passband, stopband.  No section
// of the cascade is far louder than the complete filter.

#include "dsp_cpu/filter_design.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#define RATE     48000.0
#define RIPPLE   0.5
#define STOPBAND 70.0

static double complex
response(const Section* const section, const double complex s)
{
  return ((section->b2 * s + section->b1) * s + section->b0) /
         ((s + section->a1) * s + section->a0);
}

/// Gain in dB of the first n sections at a frequency.
static double
gain_db(const Section* const sections, const uint32_t n, const double frequency_hz)
{
  double complex h = 1.0;
  for (uint32_t k = 0; k < n; ++k) {
    h *= response(&sections[k], I * section_warp(frequency_hz, RATE));
  }
  return decibels(cabs(h));
}

/// Attenuation at the edge by the definition of each family, in dB.
static double
edge_db(const FilterType type)
{
  switch (type) {
  case FILTER_BUTTERWORTH:
    return 10.0 * log10(2.0);
  case FILTER_LINKWITZ_RILEY:
    return 20.0 * log10(2.0);
  case FILTER_CHEBYSHEV2:
    return STOPBAND;
  default:
    return RIPPLE;
  }
}

/// Run `check` for every valid filter.
static void
for_every_filter(void (*const check)(const FilterSpec* spec, const Section* sections, uint32_t n))
{
  for (FilterBand band = BAND_LOWPASS; band <= BAND_BANDSTOP; ++band) {
    for (FilterType type = FILTER_BUTTERWORTH; type <= FILTER_LINKWITZ_RILEY; ++type) {
      for (uint32_t order = 1; order <= FILTER_MAX_ORDER; ++order) {
        const FilterSpec spec = { .band = band,
                                  .type = type,
                                  .order = order,
                                  .edge_hz = { 1000.0, 3000.0 },
                                  .ripple_db = RIPPLE,
                                  .stopband_db = STOPBAND,
                                  .rate_hz = RATE };
        Section sections[FILTER_MAX_SECTIONS];
        if (filter_check(type, order, NULL) == STATUS_OK) {
          filter_design(&spec, sections);
          check(&spec, sections, filter_n_sections(band, type, order));
        }
      }
    }
  }
}

static void
check_edges(const FilterSpec* const spec, const Section* const sections, const uint32_t n)
{
  if (spec->type != FILTER_BESSEL) {
    for (uint32_t e = 0; e < (spec->band < BAND_BANDPASS ? 1U : 2U); ++e) {
      ck_assert_double_eq_tol(gain_db(sections, n, spec->edge_hz[e]), -edge_db(spec->type), 1e-6);
    }
  }
}

TEST(each_family_is_exact_at_its_edges)
{
  for_every_filter(check_edges);
}

static void
check_limits(const FilterSpec* const spec, const Section* const sections, const uint32_t n)
{
  const bool ripples = spec->type == FILTER_CHEBYSHEV1 || spec->type == FILTER_ELLIPTIC;
  const bool stops = spec->type == FILTER_CHEBYSHEV2 || spec->type == FILTER_ELLIPTIC;
  double most = -1e9;
  for (double f = 20.0; f < 23900.0; f *= 1.002) {
    const double db = gain_db(sections, n, f);
    most = fmax(most, db);
    const bool above = f > spec->edge_hz[0];
    const bool within = above && f < spec->edge_hz[1];
    const bool passes[] = { !above, above, within, f < spec->edge_hz[0] || f > spec->edge_hz[1] };
    if (ripples && passes[spec->band]) {
      ck_assert_double_ge(db, -RIPPLE - 1e-6);
    }
    if (spec->type == FILTER_CHEBYSHEV2 && !passes[spec->band]) {
      ck_assert_double_le(db, -STOPBAND + 1e-6);
    }
  }
  ck_assert_double_le(most, 1e-6);
  if (spec->type != FILTER_CHEBYSHEV2) { // at low order, the edge is far from 0 dB
    ck_assert_double_ge(most, -0.02);
  }
  if (stops && spec->band == BAND_LOWPASS && spec->order >= 4U) {
    ck_assert_double_le(gain_db(sections, n, 20000.0), -STOPBAND + 1e-6);
  }
}

TEST(passbands_and_stopbands_stay_in_their_limits)
{
  for_every_filter(check_limits);
}

static void
check_headroom(const FilterSpec* const spec, const Section* const sections, const uint32_t n)
{
  (void)spec;
  for (uint32_t k = 1; k <= n; ++k) {
    for (double f = 20.0; f < 23900.0; f *= 1.02) {
      ck_assert_double_le(gain_db(sections, k, f), 40.0);
    }
  }
}

TEST(no_section_is_far_louder_than_the_whole)
{
  for_every_filter(check_headroom);
}

static void
check_stability(const FilterSpec* const spec, const Section* const sections, const uint32_t n)
{
  FilterSpec extreme = *spec;
  Section others[FILTER_MAX_SECTIONS];
  const double edges_hz[][2] = { { 1.0, 1.0 }, { 1.0, 192000.0 }, { 192000.0, 192000.0 } };
  for (uint32_t e = 0; e < ARRAY_LEN(edges_hz); ++e) {
    extreme.edge_hz[0] = edges_hz[e][0];
    extreme.edge_hz[1] = edges_hz[e][1];
    filter_design(&extreme, others);
    for (uint32_t k = 0; k < n; ++k) {
      ck_assert(others[k].a1 > 0.0 && others[k].a0 > 0.0 && isfinite(others[k].a1));
      ck_assert(isfinite(others[k].b2) && isfinite(others[k].b1) && isfinite(others[k].b0));
      ck_assert(sections[k].a1 > 0.0 && sections[k].a0 > 0.0);
    }
  }
}

TEST(every_section_is_stable_at_any_edge)
{
  for_every_filter(check_stability);
}

// At its edge, a Bessel filter of order n has half of its total phase: n times 45 degrees.
TEST(a_bessel_filter_has_turned_half_way_at_its_edge)
{
  for (uint32_t order = 1; order <= FILTER_MAX_ORDER; ++order) {
    const FilterSpec spec = { .band = BAND_LOWPASS,
                              .type = FILTER_BESSEL,
                              .order = order,
                              .edge_hz = { 1000.0, 1000.0 },
                              .rate_hz = RATE };
    Section sections[FILTER_MAX_SECTIONS];
    filter_design(&spec, sections);
    double phase = 0.0;
    for (uint32_t k = 0; k < filter_n_sections(BAND_LOWPASS, FILTER_BESSEL, order); ++k) {
      phase += carg(response(&sections[k], I * section_warp(1000.0, RATE)));
    }
    ck_assert_double_eq_tol(phase, -(double)order * M_PI_4, 0.06 * order);
  }
}

SUITE_MAIN("filter_design")
