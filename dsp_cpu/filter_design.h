// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Classic filters as second-order sections: prototype, frequency transform, prewarping.

   The sections are ordered from the lowest Q to the highest, each with the zeros nearest to its
   poles, and each is scaled to a gain of 1 where the whole filter passes (0 Hz, Nyquist, or the
   middle of the band), so that what runs between sections stays in reach of the signal's level;
   the passband gain of the family is in the first one.  No allocation, bounded time: may be called
   on an audio thread.
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
  uint32_t order;     ///< Of the prototype, 1..FILTER_MAX_ORDER; bands have twice as many poles
  double edge_hz[2];  ///< Bands: both edges in any order; else only the first
  double ripple_db;   ///< Chebyshev 1, elliptic
  double stopband_db; ///< Chebyshev 2, elliptic; more than ripple_db
  double rate_hz;
} FilterSpec;

/// STATUS_BAD_ARG with a reason when there is no such filter: an odd Linkwitz-Riley order. [any]
NODISCARD Status filter_check(FilterType type, uint32_t order, Error* error);

/// How many sections filter_design() writes; does not depend on frequencies, ripple and stopband.
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
