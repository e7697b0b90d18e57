# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene fades 1,000 parameters for ten seconds while a take records: `render --take` makes the same samples, with
blocks of 32, 64 and 1,000 frames.

    fades.py PROGRAM [SECONDS]        SECONDS of the fade, default 10

The dummy driver plays noise as fast as the worker can.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from common import *

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
PARAMETERS = 1000
RATE, DEPTH = 48000, 1
QUIET = 10 * RATE  # of silence, in which the take begins
REST = RATE  # after the fade


def write_rack():
    names = [f"g{n}" for n in range(PARAMETERS)]
    lines = [f"add {name} gain\nconnect in {name}\nconnect {name} out gain=-60dB" for name in names]
    lines.append("scene end " + " ".join(f"{name}.gain={-1 - n % 40}dB" for n, name in enumerate(names)))
    with open("many.rack", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def record(block):
    """Play the fade.  Returns the frame at which the take begins, the frames of latency, and the frames that were played
    before the run ended, with a fade to silence."""
    arguments = ("--io", "dummy", "--fast", "--block", str(block), "--rate", str(RATE), "--channels", "1:1", "--depth", str(DEPTH))
    with Server(*arguments, "--play", "all.wav", "--record", "live.wav", "many.rack") as server:
        server.osc.do("/take/start", "t.osc")
        until(lambda: server.status()["blocks"] * block > QUIET, server.output, limit_s=120.0, pause_s=0.0)
        server.osc.do("/scene/recall", "end", SECONDS, "s")
        end = server.status()["blocks"] * block + SECONDS * RATE + REST
        until(lambda: server.status()["blocks"] * block > end, server.output, limit_s=120.0)
        server.osc.do("/take/stop")
        status = server.status()
        server.stop()
    assert status["dry"] == 0 and status["take_lost"] == 0 and status["fades_full"] == 0, status
    with open("t.osc", encoding="utf-8") as file:
        lines = file.readlines()
    assert sum(" /node/" in line for line in lines) == PARAMETERS and not any(" /take/gap " in line for line in lines), lines[:3]
    begun = int(lines[0].split()[-1])
    assert begun < QUIET, f"the take began after {begun / RATE:.0f} s, when the noise had begun"
    played = (int(status["blocks"]) - 1) * block  # the last block counts before it is played
    return begun, DEPTH * block + int(status["rack_latency_frames"]), played


def compare(noise, begun, latency, played):
    """Render the take.  Returns the numbers of samples that differ and that were compared."""
    write_wav("in.wav", RATE, noise[begun:])
    done = subprocess.run([PROGRAM, "render", "--quiet", "--tail", "0", "--take", "t.osc", "in.wav", "out.wav"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    rendered, recorded = read_wav("out.wav")[1], read_wav("live.wav")[1][begun + latency : played]
    n = min(len(rendered), len(recorded))
    assert n > QUIET - begun + SECONDS * RATE, (n, begun)
    assert recorded[n - RATE // 2 : n].any(), "nothing sounds at the end of the fade"
    differing = np.flatnonzero(rendered[:n] != recorded[:n])
    if len(differing):
        print(f"differs first at {differing[0]}, last at {differing[-1]} of {n} frames")
    return len(differing), n


n_bad = 0
for block in (32, 64, 1000):
    with scratch():
        noise = 0.1 * np.random.default_rng(3).standard_normal(QUIET + int(20.0 * SECONDS * RATE)).astype(np.float32)
        noise[:QUIET] = 0.0
        write_wav("all.wav", RATE, noise)
        write_rack()
        n_differing, n = compare(noise, *record(block))
    print(f"figure: {PARAMETERS} parameters faded for {SECONDS:.0f} s, blocks of {block}: {n_differing} of {n} samples differ from the live run")
    n_bad += n_differing
sys.exit(1 if n_bad else 0)
