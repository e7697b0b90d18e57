# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene of 1,000 parameters is recalled again and again, at once and by a fade, while blocks of 64 frames play: the
time from the packet to the answer, which the server sends when the ring has the values; the longest block of the worker;
and the late blocks beside those of as long a time without recalls.

    recalls.py PROGRAM [N]        N recalls of each kind, default 30
"""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 30
PARAMETERS = 1000
RATE, BLOCK = 48000, 64
PAUSE_S = 0.1  # between two recalls
FADE_S = 0.08  # shorter than the pause
STALL = 8  # late blocks come in groups, also on an idle machine
SCENES = {"a": -9.0, "b": -3.0}


def write_rack():
    names = [f"g{n}" for n in range(PARAMETERS)]
    lines = [f"add {name} gain\nconnect in {name}\nconnect {name} out gain=-60dB" for name in names]
    lines += [f"scene {scene} " + " ".join(f"{name}.gain={level}dB" for name in names) for scene, level in SCENES.items()]
    with open("many.rack", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def late_blocks(server, step):
    """Run N steps.  Returns the number of late blocks and of all meanwhile."""
    before = server.status()
    for n in range(N):
        step(n)
        time.sleep(PAUSE_S)
    after = server.status()
    return int(after["late"]) - int(before["late"]), int(after["blocks"]) - int(before["blocks"])


def measure(server, what, *arguments):
    """Recall scenes in turn.  Returns the number of late blocks."""
    times = []

    def recall(n):
        began = time.monotonic()
        reply, values = server.osc.ask("/scene/recall", "ab"[n % 2], *arguments)
        times.append(time.monotonic() - began)
        assert reply == "/done", values

    late, blocks = late_blocks(server, recall)
    print(
        f"figure: {N} recalls of {PARAMETERS} parameters {what}: {late} of {blocks} blocks late; answered after "
        f"{1e3 * np.median(times):.2f} ms (median), {1e3 * max(times):.2f} ms (longest)"
    )
    return late


with scratch():
    write_rack()
    with Server("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "many.rack") as server:
        time.sleep(1.0)
        quiet, blocks = late_blocks(server, lambda n: None)
        print(f"figure: without recalls {quiet} of {blocks} blocks late")
        at_once = measure(server, "at once", 0.0)
        by_fade = measure(server, "by a fade", FADE_S)
        status = server.status()
        print(f"figure: the longest block of the last seconds took {100 * status['load_max']:.0f} % of its period")
        assert status["params_dropped"] == 0 and status["fades_full"] == 0, status
        allowed = quiet + 3.0 * math.sqrt(STALL * (quiet + STALL))
        assert at_once <= allowed and by_fade <= allowed, (quiet, at_once, by_fade)
        server.stop()
