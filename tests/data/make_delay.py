# SPDX-License-Identifier: GPL-3.0-or-later
"""References of tests/dsp_cpu/test_fx_delay.c: the delay frame by frame, in double precision."""

import numpy as np

from signals import noise, ramp, save

RATE = 48000.0
FRAMES = 14400


def pole(tone_hz):
    """The one-pole low-pass whose gain at tone_hz is -3 dB, found by bisection, not by formula."""
    w = 2.0 * np.pi * tone_hz / RATE
    low, high = 0.0, 1.0
    for _ in range(200):
        p = 0.5 * (low + high)
        if abs((1.0 - p) / (1.0 - p * np.exp(-1j * w))) ** 2 > 0.5:
            low = p
        else:
            high = p
    return p


def delay(inputs, delays, fades, feedback, tone_hz, mix, pingpong):
    """delays[n] = (now, next) in frames and fades[n] the weight of `next`, at frame n."""
    n_channels = len(inputs)
    lines = np.zeros((n_channels, FRAMES))
    lowpass = np.zeros(n_channels)
    out = np.zeros((n_channels, FRAMES))
    p = pole(tone_hz)

    def at(c, n):
        return lines[c, n] if n >= 0 else 0.0

    for n in range(FRAMES):
        now, to = delays[n]
        fade = fades[n]
        echo = np.array([(1 - fade) * at(c, n - now) + fade * at(c, n - to) for c in range(n_channels)])
        lowpass = (1 - p) * echo + p * lowpass
        if pingpong:
            lines[0, n] = 0.5 * (inputs[0][n] + inputs[1][n]) + feedback * lowpass[1]
            lines[1, n] = feedback * lowpass[0]
        else:
            lines[:, n] = [x[n] for x in inputs] + feedback * lowpass
        out[:, n] = (1 - mix) * np.array([x[n] for x in inputs]) + mix * echo
    return out


def constant(frames):
    return [(frames, frames)] * FRAMES, np.zeros(FRAMES)


def main():
    one = [noise(FRAMES, 1)]
    two = [noise(FRAMES, 1), noise(FRAMES, 2)]
    save("delay_tone", delay(one, *constant(480), 0.7, 3000.0, 0.4, False))
    save("delay_pingpong", delay(two, *constant(720), -0.8, 5000.0, 0.6, True))

    # 10 ms; 20 ms at frame 7200; 5 ms a hundred frames later, which waits for the first cross-fade.
    change, length = 7200, 960
    delays, fades = constant(480)
    for n in range(change, FRAMES):
        k = n - change
        delays[n] = (480, 960) if k < length else (960, 240)
        fades[n] = ramp(0.0, 1.0, length, k % length + 1) if k < 2 * length else 1.0
    save("delay_change", delay(one, delays, fades, 0.5, 3000.0, 1.0, False))


main()
