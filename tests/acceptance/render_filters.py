# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares `warprack render` of a chain of filters with SciPy's sosfilt of the same filters in double precision."""

from common import *

RACK = "highpass 80 order=4 | lowpass 12000 type=elliptic order=6 ripple=0.5 stopband=60"
LIMIT_DB = -120.0

worst = -400.0
with scratch():
    for rate in (44100, 48000, 96000, 192000):
        sos = np.vstack(
            [
                sig.butter(4, 80, "highpass", fs=rate, output="sos"),
                sig.ellip(6, 0.5, 60, 12000, "lowpass", fs=rate, output="sos"),
            ]
        )
        for channels in (1, 2, 3, 5, 8):
            noise = np.random.default_rng(channels).uniform(-1, 1, (2 * rate, channels)).astype(np.float32)
            write_wav("in.wav", rate, noise)
            done = render(RACK, "in.wav", "out.wav", "--tail", "0")
            assert done.returncode == 0, done.stderr
            got_rate, got = read_wav("out.wav")
            assert (got_rate, got.shape) == (rate, noise.shape), (got_rate, got.shape)
            error = db(np.max(np.abs(got - sig.sosfilt(sos, noise.astype(np.float64), axis=0))))
            worst = max(worst, error)
            print(f"{rate:6} Hz {channels} ch: {error:7.1f} dB")
print(f"worst: {worst:.1f} dB of full scale (limit {LIMIT_DB:g})")
sys.exit(int(worst > LIMIT_DB))
