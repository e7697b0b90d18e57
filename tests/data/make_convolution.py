# SPDX-License-Identifier: GPL-3.0-or-later
"""References of tests/dsp_cpu/test_partition.c: scipy.signal.fftconvolve in double precision.

A response of n frames is noise of unit energy (to about 1 %): noise(n, 2) times sqrt(3 / n), rounded
to single precision as the program gets it.  The input is noise(m, 1), full scale.
"""

import numpy as np
from scipy.signal import fftconvolve

from signals import noise, save

# Frames of the response, of the input, and the first one kept.
CASES = [(1, 2000, 0), (63, 8000, 0), (1000, 20000, 0), (48000, 60000, 40000), (500000, 520000, 500000)]


def response(n_frames):
    return noise(n_frames, 2).astype(np.float32) * np.float32(np.sqrt(3.0 / n_frames))


def main():
    for n_taps, n_frames, first in CASES:
        output = fftconvolve(noise(n_frames, 1), response(n_taps).astype(np.float64))[:n_frames]
        save(f"convolution_{n_taps}", [output[first:]])


main()
