#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of `warprack bench iir` in SciPy: prints the seconds in float32 and in float64.

    sosfilt_peer.py SECONDS CHANNELS FILTERS

The filters are the sections of one cascade, in one call of sosfilt over contiguous channels: SciPy's fastest way. The
creation of noise and filters is not timed. """

import sys
import time

import numpy as np
from scipy import signal

RATE = 44100
SOS = np.concatenate([
    signal.butter(2, 1000, "highpass", fs=RATE, output="sos"),
    signal.butter(2, 5000, "lowpass", fs=RATE, output="sos"),
    signal.cheby1(2, 0.1, 1500, "highpass", fs=RATE, output="sos"),
    signal.cheby1(2, 0.1, 1800, "lowpass", fs=RATE, output="sos"),
])


def seconds(dtype, noise):
    sos = np.resize(SOS, (int(sys.argv[3]), 6)).astype(dtype)
    noise = noise.astype(dtype)
    start = time.perf_counter()
    signal.sosfilt(sos, noise)
    return time.perf_counter() - start


n_frames = int(float(sys.argv[1]) * RATE)
noise = np.random.default_rng(1).random((int(sys.argv[2]), n_frames), dtype=np.float32) * 2 - 1
print(seconds(np.float32, noise), seconds(np.float64, noise))
