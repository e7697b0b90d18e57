# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals of tools/bench/peers, and what should come out: references in double precision by SciPy."""

import functools
import math
import subprocess
import time

import numpy as np
from scipy import signal
from scipy.io import wavfile

RATE = 48000
PROGRAM = ""  # the warprack that the checks run
FILTERS = "highpass 1000 | lowpass 5000 | highpass 1500 type=chebyshev1 ripple=0.1dB | lowpass 1800 type=chebyshev1 ripple=0.1dB"


def read(file, seconds=None):
    """Samples [frames][channels] of a file, as doubles; at most the first seconds."""
    _, samples = wavfile.read(file, mmap=True)
    return np.array(samples[: None if seconds is None else int(seconds * RATE)], dtype=np.float64)


def write(file, samples):
    wavfile.write(file, RATE, np.asarray(samples, dtype=np.float32))
    return file


@functools.cache
def noise_file(file, channels, seconds):
    return write(file, np.random.default_rng(1).random((int(seconds * RATE), channels), dtype=np.float32) - np.float32(0.5))


def error_db(file, wanted, early=0):
    """The largest difference from the wanted samples, in dB relative to the largest of these.  early: frames by which the
    file is early; as many frames at its beginning are not compared, because the program dropped what they depend on."""
    got = read(file)[early: len(wanted) - early]
    wanted = wanted[2 * early:]
    if got.shape != wanted.shape:
        return math.inf
    error = np.max(np.abs(got - wanted)) / np.max(np.abs(wanted))
    return 20.0 * math.log10(error) if error else -math.inf


def decibels(value):
    return "none" if value == -math.inf else "no file or another length" if value == math.inf else f"{value:.0f} dB"


def rendered(rack, samples):
    write("check_in.wav", samples)
    subprocess.run([PROGRAM, "render", "--quiet", "--tail", "0", rack, "check_in.wav", "check_out.wav"], check=True)
    return "check_out.wav"


def verdict(file, wanted, limit_db):
    error = error_db(file, wanted)
    return error <= limit_db, f"error: warprack {decibels(error)}"


# ---- references ----


def equalized(file, bands, seconds):
    """The cookbook's peaking filters (R. Bristow-Johnson) with Q 1."""
    sections = []
    for hz, db in bands:
        a, w = 10.0 ** (db / 40.0), 2.0 * math.pi * hz / RATE
        alpha = math.sin(w) / 2.0
        section = [1 + alpha * a, -2 * math.cos(w), 1 - alpha * a, 1 + alpha / a, -2 * math.cos(w), 1 - alpha / a]
        sections.append(np.array(section) / section[3])
    return signal.sosfilt(np.array(sections), read(file, seconds), axis=0)


def fir_files(n):
    """Files of 101 coefficients, a number in each line."""
    files = []
    for i in range(n):
        files.append(f"taps{i}.txt")
        np.savetxt(files[-1], signal.firwin(101, 2000.0 * (i + 2), fs=RATE), fmt="%.17g")
    return files


def merged_file(tap_files, file="merged.txt"):
    """A file with the coefficients of all filters in one."""
    np.savetxt(file, functools.reduce(np.convolve, [np.loadtxt(taps) for taps in tap_files]), fmt="%.17g")
    return file


def filtered(file, tap_files, seconds):
    samples = read(file, seconds)
    for taps in tap_files:
        samples = signal.lfilter(np.loadtxt(taps), 1.0, samples, axis=0)
    return samples


def oaconvolve_seconds(file, tap_files, merged):
    """SciPy's fastest way in float32, without reading and writing.  merged: all filters in one."""
    samples = np.ascontiguousarray(read(file).T, dtype=np.float32)
    taps = [np.loadtxt(taps) for taps in tap_files]
    began = time.perf_counter()
    taps = [functools.reduce(np.convolve, taps)] if merged else taps
    taps = [h.astype(np.float32)[np.newaxis] for h in taps]
    for h in taps:
        samples = signal.oaconvolve(samples, h, axes=1)[:, : samples.shape[1]]
    return time.perf_counter() - began


def delayed(file, frames):
    samples = read(file)
    out = 0.5 * samples
    out[frames:] += 0.5 * samples[:-frames]
    return out


# ---- checks of the effects that run in memory ----


def filters_are_right():
    samples = read(noise_file("check_filters.wav", 2, 5.0))
    sections = np.concatenate([
        signal.butter(2, 1000, "highpass", fs=RATE, output="sos"), signal.butter(2, 5000, "lowpass", fs=RATE, output="sos"),
        signal.cheby1(2, 0.1, 1500, "highpass", fs=RATE, output="sos"), signal.cheby1(2, 0.1, 1800, "lowpass", fs=RATE, output="sos"),
    ])
    return verdict(rendered(FILTERS, samples), signal.sosfilt(sections, samples, axis=0), -120.0)


def filters_of_files_are_right(rack, tap_files):
    samples = read(noise_file("check_fir.wav", 2, 2.0))
    return verdict(rendered(rack, samples), filtered("check_fir.wav", tap_files, 2.0), -120.0)


def convolver_is_right():
    samples = read(noise_file("check_convolver.wav", 2, 3.0))
    response = np.random.default_rng(2).standard_normal(48000) * np.exp(-np.arange(48000) / 8000.0)
    write("check_ir.wav", response)
    wanted = signal.fftconvolve(samples, read("check_ir.wav")[:, np.newaxis], axes=0)[: len(samples)]
    return verdict(rendered("convolver check_ir.wav", samples), wanted, -110.0)


def reverb_is_right():
    """The time in which the sound falls by 60 dB, from the backward integral (M. R. Schroeder, 1965)."""
    impulse = np.zeros((3 * RATE, 2))
    impulse[0, 0] = 1.0
    out = read(rendered("reverb decay=1500 damping=20000 mix=1", impulse))
    left = np.cumsum(np.sum(out**2, axis=1)[::-1])[::-1]
    level = 10.0 * np.log10(left / left[0] + 1e-30)
    place = np.flatnonzero((level < -5.0) & (level > -45.0))
    slope = np.polyfit(place / RATE, level[place], 1)[0]
    measured = -60.0 / slope
    return abs(measured / 1.5 - 1.0) < 0.03, f"RT60 {measured:.3f} s of 1.5"
