// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Parameter rows that the filter effects share, so that a word means the same in all of them.
*/
#ifndef WARPRACK_DSP_CPU_FILTER_PARAMS_H
#define WARPRACK_DSP_CPU_FILTER_PARAMS_H

#include "cascade.h"
#include "filter_design.h"

#include "../engine/effect.h"

extern const char* const filter_type_names[]; ///< In the order of FilterType, then NULL

#define FREQUENCY_PARAM(name, hz, text)                                                            \
  {                                                                                                \
    .id = (name), .kind = PARAM_NUMBER, .unit = UNIT_HZ, .min = 1.0, .max = 192000.0,              \
    .initial = (hz), .help = text "; at most 0.499 of the rate"                                    \
  }

#define GAIN_PARAM(text)                                                                           \
  {                                                                                                \
    .id = "gain", .kind = PARAM_NUMBER, .unit = UNIT_DB, .min = -60.0, .max = 40.0,                \
    .initial = 0.0, .help = (text)                                                                 \
  }

#define Q_PARAM(value, text)                                                                       \
  {                                                                                                \
    .id = "q", .kind = PARAM_NUMBER, .min = 0.05, .max = 200.0, .initial = (value), .help = (text) \
  }

/// The rows that say which classic filter it is, after its frequencies.
enum { FAMILY_ORDER, FAMILY_TYPE, FAMILY_RIPPLE, FAMILY_STOPBAND, N_FAMILY_PARAMS };

#define FAMILY_PARAMS                                                                              \
  { .id = "order",                                                                                 \
    .kind = PARAM_INTEGER,                                                                         \
    .min = 1.0,                                                                                    \
    .max = FILTER_MAX_ORDER,                                                                       \
    .initial = 2.0,                                                                                \
    .structural = true,                                                                            \
    .help = "6 dB per octave each; even for linkwitz-riley" },                                     \
      { .id = "type",                                                                              \
        .kind = PARAM_CHOICE,                                                                      \
        .initial = FILTER_BUTTERWORTH,                                                             \
        .structural = true,                                                                        \
        .choices = filter_type_names,                                                              \
        .help = "Family; a frequency is where its passband ends (chebyshev2: where its stopband "  \
                "begins)" },                                                                       \
      { .id = "ripple",                                                                            \
        .kind = PARAM_NUMBER,                                                                      \
        .unit = UNIT_DB,                                                                           \
        .min = 0.001,                                                                              \
        .max = 6.0,                                                                                \
        .initial = 0.5,                                                                            \
        .help = "Ripple of the passband: chebyshev1 and elliptic" },                               \
  {                                                                                                \
    .id = "stopband", .kind = PARAM_NUMBER, .unit = UNIT_DB, .min = 10.0, .max = 160.0,            \
    .initial = 60.0, .help = "Attenuation of the stopband: chebyshev2 and elliptic"                \
  }

// For an effect whose parameters are one edge (low, high) or two (bands), then FAMILY_PARAMS:

/// FxInfo::create with the band filled in; refuses what filter_check() refuses. [builder]
NODISCARD Status filter_params_create(FilterBand band, CascadeDesign design, const FxSetup* setup,
                                      FxShape* shape, void** node, Error* error);

/// CascadeDesign with the band filled in. [rt]
void filter_params_design(FilterBand band, const double* values, double rate_hz, Section* sections);

#endif
