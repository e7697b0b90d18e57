// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The equaliser's sections.

   Method: R. Bristow-Johnson, "Cookbook formulae for audio equalizer biquad filter coefficients"
   (W3C Note, 2021): its analog prototypes H(s), shifted to the prewarped frequency.  Its digital
   formulae are these under the bilinear transform, alpha = sin(w0) / (2 Q).

   gain_db is the gain of the peak or of the shelf's plateau; q > 0 is the cookbook's Q (for a
   peak, the bandwidth is measured between the points of half the gain in decibels).  Frequencies at
   or above Nyquist are clamped to 0.499 of the rate.
*/
#ifndef WARPRACK_DSP_CPU_RBJ_H
#define WARPRACK_DSP_CPU_RBJ_H

#include "section.h"

#include "engine/base/status.h"

REALTIME Section rbj_peaking(double frequency_hz, double gain_db, double q, double rate_hz);
REALTIME Section rbj_lowshelf(double frequency_hz, double gain_db, double q, double rate_hz);
REALTIME Section rbj_highshelf(double frequency_hz, double gain_db, double q, double rate_hz);
REALTIME Section rbj_notch(double frequency_hz, double q, double rate_hz);
REALTIME Section rbj_allpass(double frequency_hz, double q, double rate_hz);

#endif
