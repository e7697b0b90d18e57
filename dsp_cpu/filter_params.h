// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Parameter rows that the filter effects share, so that a parameter has the same meaning in all of
   them.
*/
#ifndef WARPRACK_DSP_CPU_FILTER_PARAMS_H
#define WARPRACK_DSP_CPU_FILTER_PARAMS_H

#include "cascade.h"
#include "filter_design.h"

#include "engine/contract/effect.h"

extern const char* const filter_type_names[]; ///< In the order of FilterType, then NULL

// clang-format off
#define FREQUENCY_PARAM(name, hz, text) { (name), PARAM_NUMBER, UNIT_HZ,     1.0, 192000.0, (hz),    .taper = TAPER_LOG, .help = text "; at most 0.499 of the rate" }
#define GAIN_PARAM(text)                { "gain", PARAM_NUMBER, UNIT_DB,   -60.0,     40.0, 0.0,                         .help = (text) }
#define Q_PARAM(value, text)            { "q",    PARAM_NUMBER, UNIT_NONE,  0.05,    200.0, (value), .taper = TAPER_LOG, .help = (text) }

/// The rows that choose the family of a classic filter; in a table they follow its frequencies.
enum { FAMILY_ORDER, FAMILY_TYPE, FAMILY_RIPPLE, FAMILY_STOPBAND, N_FAMILY_PARAMS };

#define FAMILY_PARAMS                                                                                                                                                                                                                        \
  { "order",    PARAM_INTEGER, UNIT_NONE,   1.0, FILTER_MAX_ORDER,                2.0, .structural = true,                               .help = "6 dB per octave each; even for linkwitz-riley" },                                          \
  { "type",     PARAM_CHOICE,  UNIT_NONE,   0.0,              0.0, FILTER_BUTTERWORTH, .structural = true, .choices = filter_type_names, .help = "Family; a frequency is where its passband ends (chebyshev2: where its stopband begins)" }, \
  { "ripple",   PARAM_NUMBER,  UNIT_DB,   0.001,              6.0,                0.5,                                                   .help = "Ripple of the passband: chebyshev1 and elliptic" },                                        \
  { "stopband", PARAM_NUMBER,  UNIT_DB,    10.0,            160.0,               60.0,                                                   .help = "Attenuation of the stopband: chebyshev2 and elliptic" }
// clang-format on

/// The table of an effect with a band: its two edges, FAMILY_PARAMS, the switches of the engine.
extern const FxParam filter_band_params[2 + N_FAMILY_PARAMS + FX_N_ENGINE_PARAMS];

// For an effect whose parameters are one edge (low, high) or two (bands), followed by
// FAMILY_PARAMS:

/// FxInfo::create for a given band; fails where filter_check() fails. [builder]
NODISCARD Status filter_params_create(FilterBand band, CascadeDesign design, const FxSetup* setup,
                                      FxShape* shape, void** node, Error* error);

/// CascadeDesign for a given band. [rt]
void filter_params_design(FilterBand band, const double* values, double rate_hz, Section* sections);

#endif
