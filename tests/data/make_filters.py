#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes filters.txt: the output of SciPy's double-precision filters for noise (needs python3-scipy).

    tests/data/make_filters.py > tests/data/filters.txt

One case is two lines: `effect rate id=value ...`, then the response to signal_noise() with seed 1 at
every STRIDE-th of N_FRAMES frames.  The equaliser's references are the cookbook's digital formulae,
evaluated here.
"""

from math import cos, pi, sin, sqrt

import numpy as np
from scipy import signal

import signals

STRIDE = 1489  # a prime, so that no period of a filter hides between the points
N_FRAMES = 32 * STRIDE
RATES = [44100, 48000, 96000, 192000]
TYPES = ["butterworth", "chebyshev1", "chebyshev2", "elliptic", "bessel", "linkwitz-riley"]


def classic(effect, rate, order, type, ripple=0.5, stopband=60, **edges):
    edge = [min(f, 0.499 * rate) for f in edges.values()]
    options = {"btype": effect, "output": "sos", "fs": rate}
    edge = edge[0] if len(edge) == 1 else edge
    if type == "butterworth":
        return signal.butter(order, edge, **options)
    if type == "chebyshev1":
        return signal.cheby1(order, ripple, edge, **options)
    if type == "chebyshev2":
        return signal.cheby2(order, stopband, edge, **options)
    if type == "elliptic":
        return signal.ellip(order, ripple, stopband, edge, **options)
    if type == "bessel":
        return signal.bessel(order, edge, norm="phase", **options)
    half = signal.butter(order // 2, edge, **options)
    return np.concatenate([half, half])


def cookbook(effect, rate, frequency, q, gain=0.0):
    a = 10 ** (gain / 40)
    w = 2 * pi * min(frequency, 0.499 * rate) / rate
    alpha = sin(w) / (2 * q)
    c = cos(w)
    if effect == "peaking":
        rows = [1 + alpha * a, -2 * c, 1 - alpha * a, 1 + alpha / a, -2 * c, 1 - alpha / a]
    elif effect == "notch":
        rows = [1, -2 * c, 1, 1 + alpha, -2 * c, 1 - alpha]
    elif effect == "allpass":
        rows = [1 - alpha, -2 * c, 1 + alpha, 1 + alpha, -2 * c, 1 - alpha]
    else:
        r = 2 * sqrt(a) * alpha
        s = 1 if effect == "lowshelf" else -1
        rows = [a * ((a + 1) - s * (a - 1) * c + r), s * 2 * a * ((a - 1) - s * (a + 1) * c),
                a * ((a + 1) - s * (a - 1) * c - r), (a + 1) + s * (a - 1) * c + r,
                -s * 2 * ((a - 1) + s * (a + 1) * c), (a + 1) + s * (a - 1) * c - r]
    return np.array([rows]) / rows[3]


def classic_cases():
    for order in range(1, 17):
        for i, type in enumerate(TYPES):
            if type == "linkwitz-riley" and order % 2:
                continue
            rate = RATES[(order + i) % 4]
            shape = {"order": order, "type": type}
            yield "lowpass", rate, {"frequency": 1000 + 371 * order, **shape}
            yield "highpass", rate, {"frequency": 80 + 37 * order, **shape}
            yield "bandpass", rate, {"low": 300 + 20 * order, "high": 3000 + 100 * i, **shape}
            yield "bandstop", rate, {"low": 900 + 20 * order, "high": 1500 + 100 * i, **shape}
    for type in TYPES:
        for effect, edges in [("lowpass", {"frequency": 10}), ("highpass", {"frequency": 10}),
                              ("bandpass", {"low": 10, "high": 20}), ("bandstop", {"low": 10, "high": 40})]:
            for order in (2, 8):
                yield effect, 192000, {**edges, "order": order, "type": type}
        for rate in RATES:
            yield "lowpass", rate, {"frequency": round(0.49 * rate), "order": 4, "type": type}
            yield "highpass", rate, {"frequency": round(0.45 * rate), "order": 5 - (type == "linkwitz-riley"),
                                     "type": type}
        yield "lowpass", 44100, {"frequency": 30000, "order": 2, "type": type}  # clamped
        yield "bandpass", 48000, {"low": 20, "high": 20000, "order": 4, "type": type}
        yield "bandpass", 48000, {"low": 990, "high": 1010, "order": 2, "type": type}
    for ripple, stopband, order in [(0.01, 120, 9), (0.1, 40, 3), (3, 20, 16), (1, 100, 12), (0.5, 160, 7)]:
        shape = {"order": order, "ripple": ripple, "stopband": stopband}
        for type in ("chebyshev1", "chebyshev2", "elliptic"):
            yield "lowpass", 48000, {"frequency": 4000, **shape, "type": type}
            yield "highpass", 96000, {"frequency": 200, **shape, "type": type}
    yield "lowpass", 48000, {"frequency": 12000, "order": 6, "type": "elliptic"}


def cookbook_cases():
    for i, rate in enumerate(RATES):
        for frequency in (10, 100, 1000, 9000, 0.47 * rate, 100000):
            for q in (0.3, 0.7071, 8):
                yield "notch", rate, {"frequency": frequency, "q": q}
                yield "allpass", rate, {"frequency": frequency, "q": q}
                for gain in (-18, 12):
                    for effect in ("peaking", "lowshelf", "highshelf"):
                        if (effect == "peaking" or q < 1) and (frequency != 9000 or i == 1):
                            yield effect, rate, {"frequency": frequency, "gain": gain, "q": q}


def main():
    print("# SPDX-License-Identifier: GPL-3.0-or-later")
    print("# Written by make_filters.py: stride %d, frames %d" % (STRIDE, N_FRAMES))
    noise = signals.noise(N_FRAMES, 1)
    for cases, design in ((classic_cases(), classic), (cookbook_cases(), cookbook)):
        for effect, rate, values in cases:
            response = signal.sosfilt(design(effect, rate, **values), noise)
            print(effect, rate, *("%s=%s" % item for item in values.items()))
            print(*("%.9g" % x for x in response[::STRIDE]))


main()
