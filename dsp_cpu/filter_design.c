// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Frequency transforms of a lowpass prototype.  Each pair of poles is transformed separately, so
   that it keeps its zeros and its place in the cascade at any frequency.

   Method: S. J. Orfanidis, "Introduction to Signal Processing" (1996), chapter 11: s -> s/w,
   w/s, (s^2 + w^2)/(B s), B s/(s^2 + w^2) with edges prewarped for the bilinear transform.
   Linkwitz-Riley: S. H. Linkwitz, "Active Crossover Networks for Noncoincident Drivers", JAES
   24(1), 1976: a Butterworth filter of half the order, twice.
*/

#include "filter_design.h"

#include <math.h>
#include <string.h>

#define NARROWEST_BAND 1.001 // ratio of the edges

Status
filter_check(const FilterType type, const uint32_t order, Error* const error)
{
  if (type == FILTER_LINKWITZ_RILEY && order % 2U) {
    return error_set(error, STATUS_BAD_ARG,
                     "a linkwitz-riley filter is a butterworth filter run twice, so its order is "
                     "even: use %u or butterworth",
                     order + 1U);
  }
  return STATUS_OK;
}

/// The order of the prototype: Linkwitz-Riley runs a filter of half the order twice.
static uint32_t
prototype_order(const FilterType type, const uint32_t order)
{
  return type == FILTER_LINKWITZ_RILEY ? order / 2U : order;
}

uint32_t
filter_n_sections(const FilterBand band, const FilterType type, const uint32_t order)
{
  const uint32_t n_poles = prototype_order(type, order);
  const uint32_t n = band < BAND_BANDPASS ? (n_poles + 1U) / 2U : n_poles;
  return type == FILTER_LINKWITZ_RILEY ? 2U * n : n;
}

static double
squared(const double x)
{
  return x * x;
}

/// |p|^2
static double
norm2(const double complex p)
{
  return squared(creal(p)) + squared(cimag(p));
}

static Section*
lowpass_sections(const Prototype* const prototype, const double edge, Section* out)
{
  if (prototype->real_pole > 0.0) {
    const double a0 = prototype->real_pole * edge;
    *out++ = section_first_order(0.0, a0, a0);
  }
  for (uint32_t i = prototype->n_pairs; i-- > 0U;) {
    const double complex pole = prototype->pole[i] * edge;
    *out++ = (Section){ .b2 = norm2(prototype->pole[i]) * squared(prototype->zero_period[i]),
                        .b0 = norm2(pole),
                        .a1 = -2.0 * creal(pole),
                        .a0 = norm2(pole) };
  }
  return out;
}

static Section*
highpass_sections(const Prototype* const prototype, const double edge, Section* out)
{
  if (prototype->real_pole > 0.0) {
    *out++ = section_first_order(1.0, 0.0, edge / prototype->real_pole);
  }
  for (uint32_t i = prototype->n_pairs; i-- > 0U;) {
    const double complex pole = edge / prototype->pole[i];
    *out++ = (Section){ .b2 = 1.0,
                        .b0 = squared(edge * prototype->zero_period[i]),
                        .a1 = -2.0 * creal(pole),
                        .a0 = norm2(pole) };
  }
  return out;
}

/// The band of a bandpass or bandstop in prewarped frequencies.
typedef struct Band {
  double center2; ///< Square of the middle, the product of the edges
  double width;
} Band;

/// The upper of the two poles that solve s^2 - q s + center^2 = 0, computed without cancellation;
/// center^2 divided by it is the lower pole.
static double complex
outer_root(const double complex q, const double center2)
{
  const double complex half = 0.5 * q;
  const double complex root = csqrt(half * half - center2);
  return creal(conj(half) * root) < 0.0 ? half - root : half + root;
}

/// The upper frequency to which the zero pair j Omega of the prototype is transformed; `spread` is
/// its distance from the lower frequency, which is center^2 divided by the upper one.
static double
outer_zero(const double spread, const double center2)
{
  return 0.5 * spread + sqrt(0.25 * spread * spread + center2);
}

/// A section with a pole pair at `pole` and a gain of 1 at the centre of the band.  Its zeros are
/// at +-j zero, or at 0 and infinity when `zero` is 0.
static Section
bandpass_section(const double complex pole, const double zero, const double center2)
{
  const double a1 = -2.0 * creal(pole);
  const double a0 = norm2(pole);
  const double middle = hypot(a0 - center2, a1 * sqrt(center2)); // |denominator| at the centre
  if (zero == 0.0) {
    return (Section){ .b1 = middle / sqrt(center2), .a1 = a1, .a0 = a0 };
  }
  const double b2 = middle / fabs(squared(zero) - center2);
  return (Section){ .b2 = b2, .b0 = b2 * squared(zero), .a1 = a1, .a0 = a0 };
}

static Section*
bandpass_sections(const Prototype* const prototype, const Band band, Section* out)
{
  if (prototype->real_pole > 0.0) {
    const double a1 = prototype->real_pole * band.width;
    *out++ = (Section){ .b1 = a1, .a1 = a1, .a0 = band.center2 };
  }
  for (uint32_t i = prototype->n_pairs; i-- > 0U;) {
    const double complex pole = outer_root(prototype->pole[i] * band.width, band.center2);
    const double period = prototype->zero_period[i];
    const double zero = period > 0.0 ? outer_zero(band.width / period, band.center2) : 0.0;
    *out++ = bandpass_section(pole, zero, band.center2);
    *out++ =
        bandpass_section(band.center2 / pole, zero > 0.0 ? band.center2 / zero : 0.0, band.center2);
  }
  return out;
}

static Section
bandstop_section(const double complex pole, const double zero)
{
  return (Section){ .b2 = 1.0, .b0 = squared(zero), .a1 = -2.0 * creal(pole), .a0 = norm2(pole) };
}

static Section*
bandstop_sections(const Prototype* const prototype, const Band band, Section* out)
{
  if (prototype->real_pole > 0.0) {
    *out++ = (Section){
      .b2 = 1.0, .b0 = band.center2, .a1 = band.width / prototype->real_pole, .a0 = band.center2
    };
  }
  for (uint32_t i = prototype->n_pairs; i-- > 0U;) {
    const double complex pole = outer_root(band.width / prototype->pole[i], band.center2);
    const double zero = outer_zero(band.width * prototype->zero_period[i], band.center2);
    *out++ = bandstop_section(pole, zero);
    *out++ = bandstop_section(band.center2 / pole, band.center2 / zero);
  }
  return out;
}

/// The band between two edges in any order; at least NARROWEST_BAND wide and below Nyquist.
static Band
band_between(const double* const edge_hz, const double rate_hz)
{
  const double highest = SECTION_MAX_FREQUENCY * rate_hz;
  const double low_hz = fmin(fmin(edge_hz[0], edge_hz[1]), highest / NARROWEST_BAND);
  const double high_hz = fmax(fmax(edge_hz[0], edge_hz[1]), low_hz * NARROWEST_BAND);
  const double low = section_warp(low_hz, rate_hz);
  const double high = section_warp(high_hz, rate_hz);
  return (Band){ .center2 = low * high, .width = high - low };
}

static Section*
transform(const FilterSpec* const spec, const Prototype* const prototype, Section* const out)
{
  switch (spec->band) {
  case BAND_LOWPASS:
    return lowpass_sections(prototype, section_warp(spec->edge_hz[0], spec->rate_hz), out);
  case BAND_HIGHPASS:
    return highpass_sections(prototype, section_warp(spec->edge_hz[0], spec->rate_hz), out);
  case BAND_BANDPASS:
    return bandpass_sections(prototype, band_between(spec->edge_hz, spec->rate_hz), out);
  default:
    return bandstop_sections(prototype, band_between(spec->edge_hz, spec->rate_hz), out);
  }
}

void
filter_design(const FilterSpec* const spec, Section* const sections)
{
  Prototype prototype;
  prototype_make(spec->type, prototype_order(spec->type, spec->order), spec->ripple_db,
                 spec->stopband_db, &prototype);
  Section* const end = transform(spec, &prototype, sections);
  sections[0].b2 *= prototype.gain;
  sections[0].b1 *= prototype.gain;
  sections[0].b0 *= prototype.gain;
  if (spec->type == FILTER_LINKWITZ_RILEY) {
    memcpy(end, sections, (size_t)(end - sections) * sizeof(Section));
  }
}
