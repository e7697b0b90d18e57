# SPDX-License-Identifier: GPL-3.0-or-later
"""dcblock.f64: SciPy's first-order Butterworth high-pass in double precision, which dcblock implements.

Noise on a constant of 0.5 at the default cutoff, then through cutoffs of 1 Hz and 1 kHz at other rates."""

import numpy as np
from scipy.signal import butter, lfilter

from signals import noise, save

FRAMES = 20000
signal = (0.5 * noise(FRAMES, 3) + 0.5).astype(np.float32).astype(np.float64)
save("dcblock", [lfilter(*butter(1, cutoff, "highpass", fs=rate), signal)
                 for cutoff, rate in [(5.0, 48000.0), (1.0, 192000.0), (1000.0, 44100.0)]])
