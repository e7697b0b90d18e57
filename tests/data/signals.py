# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reference scripts share: the noise of tests/support/signals.c, and the file format.

A reference is raw little-endian float64, channel after channel, of every STRIDE-th frame: a prime,
so that a fault in any phase of a block or table is met.
"""

from pathlib import Path

import numpy as np

STRIDE = 13
MASK = (1 << 64) - 1


def noise(n_frames, seed):
    """signal_noise(): splitmix64, the top 24 bits in [-1, 1)."""
    out = np.empty(n_frames)
    state = seed
    for i in range(n_frames):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out[i] = ((z ^ (z >> 31)) >> 40) / 8388608.0 - 1.0
    return out


def bursts(n_frames, seed, loud):
    """signal_bursts(), rounded to single precision as the program gets it."""
    level = np.array([0.02, loud, 0.3, 0.0], np.float32)[np.arange(n_frames) // 1800 % 4]
    return (noise(n_frames, seed).astype(np.float32) * level).astype(np.float64)


def ramp(start, target, n_frames, position):
    """Value of engine/contract/ramp.h that started at rest, `position` >= 1 frames after its start."""
    w = max(n_frames - position, 0) / n_frames
    return target + w * w * (3.0 - 2.0 * w) * (start - target)


def save(name, channels):
    """Write channels, a list of arrays of one length, to <name>.f64 beside this script."""
    kept = np.array([np.asarray(c, dtype="<f8")[::STRIDE] for c in channels], dtype="<f8")
    kept.tofile(Path(__file__).parent / (name + ".f64"))
