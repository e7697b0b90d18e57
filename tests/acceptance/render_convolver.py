# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares `warprack render 'convolver ir.wav'` with scipy.signal.fftconvolve, for several lengths of impulse responses
and blocks.

The impulse responses are decaying noise.  They are scaled so that the largest sample of the reference is 1; so errors
in dB are relative to full scale.
"""

from common import *

LIMIT_DB = -120.0
LENGTHS = (1, 2, 63, 64, 65, 1000, 4097, 48000, 500000)
BLOCKS = (16, 31, 64, 100, 480, 512, 1000, 1024, 4096, 8191, 8192)
RATE = 48000

worst = -400.0
with scratch():
    generator = np.random.default_rng(1)
    noise = generator.uniform(-1, 1, RATE).astype(np.float32)
    write_wav("in.wav", RATE, noise)
    for length in LENGTHS:
        ir = generator.standard_normal(length) * np.exp(-4.0 * np.arange(length) / length)
        ir = ir.astype(np.float32)
        ir /= np.float32(np.max(np.abs(sig.fftconvolve(noise.astype(np.float64), ir.astype(np.float64)))))
        write_wav("ir.wav", RATE, ir)
        reference = sig.fftconvolve(noise.astype(np.float64), ir.astype(np.float64))
        for block in BLOCKS:
            done = render("convolver ir.wav", "in.wav", "out.wav", "--block", str(block), "--tail", f"{(length - 1) / RATE}")
            assert done.returncode == 0, done.stderr
            got = read_wav("out.wav")[1][:, 0]
            n = min(len(got), len(reference))
            assert n >= len(reference) - 1, (len(got), len(reference))
            error = db(np.max(np.abs(got[:n] - reference[:n])))
            worst = max(worst, error)
            if error > LIMIT_DB:
                print(f"IR {length}, block {block}: {error:.1f} dB")
        print(f"IR of {length:6} frames: worst so far {worst:7.1f} dB")
print(f"worst: {worst:.1f} dB of full scale (limit {LIMIT_DB:g})")
sys.exit(int(worst > LIMIT_DB))
