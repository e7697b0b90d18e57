# SPDX-License-Identifier: GPL-3.0-or-later
"""References of tests/dsp_cpu/test_fx_reverb.c: the network frame by frame, with its matrices written out."""

import numpy as np
from scipy.linalg import hadamard

from signals import noise, ramp, save

RATE = 48000.0
FRAMES = 14400
CHANGE = 7200  # where decay changes, ramped over 960 frames
RAMP = 960
LINES = 16
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
H = hadamard(LINES).astype(float)


def primes_from(n):
    while any(n % d == 0 for d in range(2, int(n**0.5) + 1)):
        n += 1
    return n


def delays(size):
    mean = 0.01 * 10.0**size * RATE
    lengths, last = [], 0
    for l in range(LINES):
        last = primes_from(max(round(mean * 2.0 ** (1.4 * ((l + 0.5) / LINES - 0.5))), last + 1))
        lengths.append(last)
    jitter = [((l + 1) * GOLDEN) % 1.0 for l in range(LINES)]
    first = [round(0.15 * mean * (l * 7 % LINES + jitter[l]) / LINES) for l in range(LINES)]
    second = [round(0.4 * mean * (l * 11 % LINES + 1 - jitter[l]) / LINES) for l in range(LINES)]
    return np.array(lengths), np.array(first), np.array(second)


def damping(lengths, decay, half_hz):
    """Gain and pole of each line: decay at 0 Hz, half of it at half_hz, found by bisection."""
    r = 10.0 ** (-3.0 * lengths / (decay * RATE))
    w = 2.0 * np.pi * half_hz / RATE
    low, high = np.zeros(LINES), np.ones(LINES)
    for _ in range(200):
        p = 0.5 * (low + high)
        too_bright = r * np.abs((1.0 - p) / (1.0 - p * np.exp(-1j * w))) > r * r
        low, high = np.where(too_bright, p, low), np.where(too_bright, high, p)
    return r * (1.0 - p), p


def field_multiply(a, b):
    """The product in GF(16) with the polynomial x^4 + x + 1."""
    product = 0
    for bit in range(4):
        product ^= (a << bit) if b >> bit & 1 else 0
    for bit in (6, 5, 4):
        product ^= (0b10011 << (bit - 4)) if product >> bit & 1 else 0
    return product


def trace(a):
    total, power = 0, a
    for _ in range(4):
        total ^= power
        power = field_multiply(power, power)
    return total


def power(x, n):
    return field_multiply(x, power(x, n - 1)) if n else 1


def trace_of_gf4(a):
    return a ^ field_multiply(a, a)


def sign(group, x):
    """The sign of a group of 16 channels at line x; the group stands for an element of GF(16) and one of GF(4)."""
    gf4 = (0, 1, power(2, 5), power(2, 10))
    cubic = trace(field_multiply(group % LINES, power(x, 3)))
    fifth = trace_of_gf4(field_multiply(gf4[group // LINES], power(x, 5)))
    return (-1.0) ** (cubic ^ fifth)


def rows(n_channels):
    """Rows of +1 and -1 with which the channels are fed to the lines and read from them."""
    signs = np.array([[sign(g, x) for x in range(LINES)] for g in range(-(-n_channels // LINES))])
    return (H[None, :, :] * signs[:, None, :]).reshape(-1, LINES)[:n_channels]


def turns(depth):
    """The moving matrix of each frame as cosine and sine of eight angles."""
    grid = np.arange(0, FRAMES + 64, 32) / RATE
    rate_hz = 0.4 * 2.0 ** (np.arange(8) / 8.0)
    angle = depth * np.pi * np.sin(2.0 * np.pi * (np.outer(grid, rate_hz) + np.arange(8) * GOLDEN))
    at = np.arange(FRAMES) / 32.0
    knots = np.arange(len(grid))
    return [np.array([np.interp(at, knots, f(angle[:, p])) for p in range(8)]).T
            for f in (np.cos, np.sin)]


def reverb(inputs, size, decays, half_hz, depth, predelay, mix):
    n_channels = len(inputs)
    lengths, first, second = delays(size)
    designs = [damping(lengths, d, half_hz) for d in decays]
    levels = [np.sqrt((1.0 - 10.0 ** (-6.0 * np.mean(lengths) / (d * RATE))) / n_channels)
              for d in decays]
    pattern = rows(n_channels)
    cosine, sine = turns(depth)
    lines = np.zeros((LINES, FRAMES))
    stage = np.zeros((2, LINES, FRAMES))
    damped = np.zeros(LINES)
    out = np.zeros((n_channels, FRAMES))
    index = np.arange(LINES)

    def late(history, n, by):
        return np.where(n >= by, history[index, np.maximum(n - by, 0)], 0.0)

    for n in range(FRAMES):
        def now(a, b):
            return ramp(a, b, RAMP, n - CHANGE + 1) if n >= CHANGE else a

        x = inputs[:, n]
        stage[0, :, n] = now(*levels) * (pattern.T @ x) / 4.0
        stage[1, :, n] = H @ late(stage[0], n, first + predelay) / 4.0
        entering = H @ late(stage[1], n, second) / 4.0
        leaving = late(lines, n, lengths)
        out[:, n] = (1.0 - mix) * x + mix * (pattern @ leaving)
        gain, pole = now(designs[0][0], designs[1][0]), now(designs[0][1], designs[1][1])
        damped = gain * leaving + pole * damped
        c, s = cosine[n], sine[n]
        turned = np.concatenate([c * damped[:8] - s * damped[8:], s * damped[:8] + c * damped[8:]])
        lines[:, n] = entering + H @ turned / 4.0
    return out


def main():
    stereo = np.array([noise(FRAMES, 1), noise(FRAMES, 2)])
    save("reverb_stereo", reverb(stereo, 0.2, (0.5, 3.0), 4000.0, 0.8, 240, 0.7))
    correlation = np.abs(rows(1024) @ rows(1024).T) / LINES
    assert np.max(correlation - np.eye(1024)) <= 0.5
    one_per_group = np.zeros((1024, FRAMES))
    for group in range(64):
        one_per_group[16 * group + group % 16] = noise(FRAMES, 1 + group)
    many = reverb(one_per_group, 0.0, (1.0, 1.0), 8000.0, 0.0, 0, 1.0)
    save("reverb_many", [many[0], many[85], many[600], many[1023]])


main()
