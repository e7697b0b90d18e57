# SPDX-License-Identifier: GPL-3.0-or-later
"""A take of a live run, with a worker process, and what `render --take` makes of it: the same samples.

    takes.py PROGRAM [SECONDS [CHANGES [EDITS]]]

The dummy driver plays noise as fast as the worker can. While it plays, a client sets and fades values, recalls scenes
and stops them, edits and undoes. The figure is the number of samples that differ.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from common import *

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
CHANGES = int(sys.argv[3]) if len(sys.argv) > 3 else 500
EDITS = int(sys.argv[4]) if len(sys.argv) > 4 else 10
RATE, BLOCK, DEPTH = 48000, 64, 1
QUIET = 300 * RATE  # silence in which the take begins
RACK = (
    "low: highpass 80 order=4 | pk: peaking 1200 4dB ramp=150ms | (dry: gain -6dB + echo: delay 90ms feedback=40% mix=100% + "
    "rev: reverb mix=1 decay=900ms modulation=0) | comp: compressor -30dB ratio=3 | vol: gain -3dB | lim: limiter -1dB"
)
SCENES = ["scene quiet vol.gain=-20dB pk.gain=0dB echo.feedback=10%", "scene loud vol.gain=0dB pk.gain=6dB echo.feedback=60% low.frequency=200Hz"]
chance = random.Random(1)


def change(osc, k):
    [
        lambda: osc.do("/node/vol/gain", -20.0 * chance.random()),
        lambda: osc.do("/node/pk/frequency", 100.0 + 5000.0 * chance.random(), 2.0 * chance.random()),
        lambda: osc.do("/norm/comp/threshold", chance.random()),
        lambda: osc.do("/scene/recall", chance.choice(["quiet", "loud"]), chance.random(), "s"),
        lambda: osc.do("/scene/stop"),
        lambda: osc.do("/norm/pk/frequency", chance.random()),
        lambda: osc.do("/node/echo/mute", k // 7 % 2),
    ][k % 7]()


def edit(osc, k):
    osc.do("/rack/do", ["insert new highshelf before vol\nset new.gain 2", "set low.order 6", "remove new", "set low.order 4"][k % 4])
    for ms in (2.0 + k % 5, 1.5):  # the second waits until the first has passed
        osc.do("/node/lim/lookahead", ms)
    if k % 4 == 1:
        osc.do("/rack/undo")
        osc.do("/rack/redo")


with scratch():
    noise = 0.1 * np.random.default_rng(3).standard_normal(QUIET + SECONDS * RATE).astype(np.float32)
    noise[:QUIET] = 0.0
    write_wav("all.wav", RATE, noise)
    arguments = ("--io", "dummy", "--fast", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--depth", str(DEPTH))
    with Server(*arguments, "--play", "all.wav", "--record", "live.wav", RACK) as server:
        osc = server.osc
        osc.do("/take/start", "t.osc")
        osc.do("/rack/do", *SCENES)
        with open("t.osc", encoding="utf-8") as file:
            begun = int(file.readline().split()[-1])
        assert begun < QUIET, f"the take began after {begun / RATE:.0f} s, when the noise had begun"
        for k in range(CHANGES):
            due = (QUIET + k * SECONDS * RATE // CHANGES) // BLOCK
            while server.status()["blocks"] < due:
                pass
            change(osc, k)
            if k % (CHANGES // EDITS) == 7:
                edit(osc, k // (CHANGES // EDITS))
        while server.status()["blocks"] < (QUIET + SECONDS * RATE) // BLOCK:
            pass
        osc.do("/take/stop")
        status = server.status()
        server.stop()
    assert status["dry"] == 0 and status["take_lost"] == 0, status
    with open("t.osc", encoding="utf-8") as file:
        lines = file.readlines()
    n_edits = sum(" /take/rack " in line for line in lines) - 1
    n_values = sum(" /node/" in line for line in lines)
    assert n_edits >= EDITS and n_values >= CHANGES, (n_edits, n_values)
    assert not any(" /take/gap " in line or " /take/dry " in line for line in lines), "the take has gaps"
    seconds, parts = (int(part, 16) for part in lines[-1].split()[0].split("."))
    ended = begun + round((seconds + parts / 2**32) * RATE)  # a slow client ends after the noise: silence follows
    write_wav("in.wav", RATE, np.pad(noise[begun:], (0, max(0, ended + BLOCK - len(noise)))))
    began = time.monotonic()
    done = subprocess.run([PROGRAM, "render", "--quiet", "--tail", "0", "--take", "t.osc", "in.wav", "out.wav"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    rendered = read_wav("out.wav")[1]
    recorded = read_wav("live.wav")[1]
    latency = DEPTH * BLOCK + int(status["rack_latency_frames"])
    n = min(len(rendered), len(recorded) - begun - latency)
    assert n > SECONDS * RATE, (len(rendered), len(recorded), begun)
    differing = np.flatnonzero(np.asarray(rendered[:n] != recorded[begun + latency : begun + latency + n]).reshape(n, -1).any(axis=1))
    print(f"figure: {SECONDS} s, {n_values} values and {n_edits} edits: {len(differing)} of {n} samples differ from the live run")
    print(f"figure: {len(lines)} lines, {os.path.getsize('t.osc') / 1e6:.1f} MB; rendered in {time.monotonic() - began:.1f} s")
    if len(differing):
        sys.exit(f"the first sample that differs is at {differing[0] / RATE:.3f} s, the last one at {differing[-1] / RATE:.3f} s")
