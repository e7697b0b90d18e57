// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Linear-phase FIR filters by the window method: the ideal response, cut off by a window, scaled to
   unit gain in the middle of its (first) pass band.  Oppenheim and Schafer, "Discrete-Time Signal
   Processing", 3rd ed. 2010, section 7.5.  The same numbers as SciPy's `firwin` (scale=True).

   Windows: Harris, "On the Use of Windows for Harmonic Analysis with the DFT", Proc. IEEE 66(1),
   1978 (hann, hamming, blackman, four-term Blackman-Harris of 92 dB), all in their symmetric form;
   kaiser: Kaiser, "Nonrecursive Digital Filter Design Using the I0-sinh Window Function", 1974.
*/
#ifndef WARPRACK_DSP_CPU_FIR_DESIGN_H
#define WARPRACK_DSP_CPU_FIR_DESIGN_H

#include <stdint.h>

typedef enum FirBand { FIR_LOWPASS, FIR_HIGHPASS, FIR_BANDPASS, FIR_BANDSTOP } FirBand;

typedef enum FirWindow {
  FIR_HANN,
  FIR_HAMMING,
  FIR_BLACKMAN,
  FIR_BLACKMANHARRIS,
  FIR_KAISER
} FirWindow;

typedef struct FirDesign {
  FirBand band;
  double low;      ///< Edge (6 dB down), as a fraction of half the rate, in (0, 1)
  double high;     ///< BANDPASS and BANDSTOP: second edge, in (low, 1)
  uint32_t n_taps; ///< At least 1; odd for HIGHPASS and BANDSTOP, whose gain at half the rate is 1
  FirWindow window;
  double beta; ///< KAISER: shape
} FirDesign;

/// Write taps[n_taps]. [builder]
void fir_design(const FirDesign* design, double* taps);

#endif
