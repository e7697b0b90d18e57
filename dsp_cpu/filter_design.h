// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Classic filters as second-order sections: prototype, frequency transform, prewarping.

   The sections are ordered from the lowest Q to the highest, each with the zeros nearest to its
   poles, and each is scaled to a gain of 1 where the whole filter passes (0 Hz, Nyquist, or the
   middle of the band), so that signals between sections keep about the level of the input; the
   first section carries the passband gain of the family.  No allocation, bounded time: these
   functions may be called on an audio thread.
*/
#ifndef WARPRACK_DSP_CPU_FILTER_DESIGN_H
#define WARPRACK_DSP_CPU_FILTER_DESIGN_H

#include "prototype.h"
#include "section.h"

#include "engine/base/status.h"

#include <stdint.h>

/// A bandpass or bandstop has one section per order.
#define FILTER_MAX_SECTIONS FILTER_MAX_ORDER

typedef enum FilterBand { BAND_LOWPASS, BAND_HIGHPASS, BAND_BANDPASS, BAND_BANDSTOP } FilterBand;

typedef struct FilterSpec {
  FilterBand band;
  FilterType type;
  uint32_t order;     ///< Order of the prototype, 1..FILTER_MAX_ORDER; bands have twice the poles
  double edge_hz[2];  ///< Bands: both edges in any order; otherwise only the first
  double ripple_db;   ///< Chebyshev 1, elliptic
  double stopband_db; ///< Chebyshev 2, elliptic; more than ripple_db
  double rate_hz;
} FilterSpec;

/// Check that a filter exists for type and order.  STATUS_BAD_ARG with a reason if not, for example
/// an odd Linkwitz-Riley order. [any]
NODISCARD Status filter_check(FilterType type, uint32_t order, Error* error);

/// The number of sections that filter_design() writes; independent of frequencies, ripple and
/// stopband.
REALTIME uint32_t // [rt]
filter_n_sections(FilterBand band, FilterType type, uint32_t order);

/**
   Design a filter that filter_check() accepts.

   Edges at or above Nyquist are clamped to 0.499 of the rate, and a band is at least 0.1 % wide
   (the wider edge moves).

   @param[out] sections [filter_n_sections()]
*/
REALTIME void // [rt]
filter_design(const FilterSpec* spec, Section* sections);

#endif
