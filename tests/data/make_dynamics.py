# SPDX-License-Identifier: GPL-3.0-or-later
"""References of the tests of compressor, gate and limiter, in double precision with libm and SciPy."""

import numpy as np
from scipy.signal import lfilter

from signals import bursts, ramp, save

RATE = 48000.0
FRAMES = 14400
RAMP = 960  # frames, FX_RAMP_SECONDS


def pole(ms):
    return np.exp(-1000.0 / (ms * RATE))


def compressor(inputs, threshold, ratio, knee, attack, release, makeup, mix, rms):
    power = np.max(np.abs(inputs), axis=0) ** 2
    if rms:
        power = lfilter([1.0 - pole(10.0)], [1.0, -pole(10.0)], power)
    over = 10.0 * np.log10(np.maximum(power, 1e-30)) - threshold
    bent = over + knee / 2.0
    wanted = (1.0 - 1.0 / ratio) * np.where(
        bent <= 0.0, 0.0, np.where(over >= knee / 2.0, over, bent**2 / (2.0 * knee)))
    reduction = np.empty(FRAMES)
    y = 0.0
    for n in range(FRAMES):
        p = pole(attack) if wanted[n] > y else pole(release)
        y = p * y + (1.0 - p) * wanted[n]
        reduction[n] = y
    return np.asarray(inputs) * (1.0 - mix + mix * 10.0 ** ((makeup - reduction) / 20.0))


def gate(inputs, threshold, hysteresis, attack, hold, release, floor):
    peak = np.max(np.abs(inputs), axis=0)
    gain = np.empty(FRAMES)
    g, is_open, last_loud = 10.0 ** (floor / 20.0), False, -(10**9)
    for n in range(FRAMES):
        level = 20.0 * np.log10(peak[n]) if peak[n] > 0.0 else -1000.0
        if level >= (threshold - hysteresis if is_open else threshold):
            is_open, last_loud = True, n
        elif n - last_loud > round(hold * 1e-3 * RATE):
            is_open = False
        p = pole(attack) if is_open else pole(release)
        g = p * g + (1.0 - p) * (1.0 if is_open else 10.0 ** (floor / 20.0))
        gain[n] = g
    return np.asarray(inputs) * gain


def limiter(inputs, ceiling, release, lookahead):
    top = 10.0 ** (ceiling / 20.0)
    window = lookahead + 1
    needed = np.minimum(1.0, top / np.maximum(np.max(np.abs(inputs), axis=0), 1e-30))
    padded = np.concatenate([np.ones(window), needed])
    lowest = np.array([padded[n - lookahead:n + 1].min() for n in range(window, len(padded))])
    released = np.empty(FRAMES)
    e = 1.0
    for n in range(FRAMES):
        e = min(lowest[n], lowest[n] + pole(release) * (e - lowest[n]))
        released[n] = e
    first = lookahead // 2 + 1
    second = window + 1 - first
    shape = np.convolve(np.ones(first) / first, np.ones(second) / second)
    gain = np.convolve(np.concatenate([np.ones(window), released]), shape)[window:window + FRAMES]
    delayed = [np.concatenate([np.zeros(lookahead), x])[:FRAMES] for x in inputs]
    return np.asarray(delayed) * gain


def main():
    one = [bursts(FRAMES, 1, 1.0)]
    two = [bursts(FRAMES, 1, 1.0), bursts(FRAMES, 2, 1.0)]
    hot = [bursts(FRAMES, 1, 30.0), bursts(FRAMES, 2, 8.0)]
    save("compressor_peak", compressor(two, -25.0, 4.0, 10.0, 3.0, 40.0, 6.0, 0.8, False))
    moving = np.array([ramp(-20.0, -30.0, RAMP, n - 7199) if n >= 7200 else -20.0
                       for n in range(FRAMES)])
    save("compressor_rms", compressor(one, moving, 8.0, 6.0, 5.0, 60.0, 0.0, 1.0, True))
    save("gate", gate(two, -12.0, 6.0, 1.0, 4.0, 10.0, -40.0))
    save("limiter", limiter(hot, -1.0, 20.0, 72))


main()
