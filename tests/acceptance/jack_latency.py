# SPDX-License-Identifier: GPL-3.0-or-later
"""jack_iodelay measures through an empty rack the latency that warprack reports to JACK, to the frame: at the start,
after a thousand OSC edits, and after a restart of jackd."""

import re
import select
import statistics

from common import *

need("jackd", "jack_iodelay", "jack_lsp", "jack_connect", "stdbuf")

RATE, PERIOD, EDITS = 48000, 64, 1000
SETTLED = 4  # readings in a row
# In frames.  Steady readings of jack_iodelay differ by up to 0.02, and may rest that far from a whole
# number, for example at 63.984.  The latency of the rack is a whole number: a quarter is unambiguous.
TOLERANCE = 0.25


def readings(process, deadline):
    """The readings of jack_iodelay in frames, about four per second, except those that it marks with "??" or "Inv"."""
    text = ""
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.1)[0]:
            text += os.read(process.stdout.fileno(), 65536).decode()
        while found := re.search(r"([0-9.]+) frames .*total.*\n.*\n.*-I and -O(.*)\n", text):
            text = text[found.end() :]
            if not found[2].strip():
                yield float(found[1])


def round_trip(jack, connections):
    """The latency in frames that jack_iodelay measures; None if a busy machine prevents it.

    If a busy machine skips a period, the readings are wrong for half a second.  So a reading counts only after SETTLED
    ones that agree.
    """
    # Without stdbuf its readings come when it has written 4 kB, seven seconds later.
    process = subprocess.Popen(["stdbuf", "-oL", "jack_iodelay"], env={**os.environ, **jack.env}, stdout=subprocess.PIPE)
    seen = []
    try:
        deadline = time.monotonic() + LIMIT_S
        jack.wait_for("jack_delay:in")
        for source, target in connections:
            jack.connect(source, target)
        for reading in readings(process, deadline):
            seen.append(reading)
            last = seen[-SETTLED:]
            if len(last) == SETTLED and max(last) - min(last) <= TOLERANCE:
                return statistics.median(last)
    finally:
        process.kill()
        process.wait()
    print(f"jack_iodelay had no second without interruption within {LIMIT_S} s: {connections}, {seen}, {jack.wires()}")
    return None


def reported(jack):
    """The difference in frames between the capture latencies of the rack's output and input, from jack_lsp."""
    text = "\n".join(jack.ports("-l", "rack:"))
    ranges = dict(re.findall(r"(rack:\w+)\n(?:.*\n)*?.*port capture latency = \[ (\d+)", text))
    return int(ranges["rack:out_1"]) - int(ranges["rack:in_1"])


with scratch(), Jackd(RATE, PERIOD) as jack:
    # Measured before the rack starts, because the rack would restore its connections to a client of that name.
    bare = round_trip(jack, [("jack_delay:out", "jack_delay:in")])
    if bare is None:
        print("skipped: jack_iodelay has no steady reading without the rack, either")
        sys.exit(77)
    arguments = ("--io", "jack", "--depth", "1", "--channels", "1:1", "--name", "rack", "--no-connect", "")
    with Server(*arguments, env=jack.env) as server:
        jack.wait_for("rack:out_1")

        def compare(when):
            through = round_trip(jack, [("jack_delay:out", "rack:in_1"), ("rack:out_1", "jack_delay:in")])
            assert through is not None, f"{when}: {server.status()}\n{server.output()}"
            measured, latency = through - bare, reported(jack)
            print(f"{when}: measured {measured:.3f} frames, reported {latency}")
            assert abs(measured - latency) <= TOLERANCE and latency == PERIOD, f"{when}: with the rack {through}, without {bare}, reported {latency}\n{server.output()}"

        compare("at the start")
        for i in range(EDITS // 2):
            server.osc.do("/rack/chain", f"g: gain {-(i % 12)}dB | h: lowpass {2000 + i}Hz")
            server.osc.do("/rack/clear")
        server.osc.sync()
        compare(f"after {EDITS} edits")
        jack.kill()
        jack.start()
        jack.wait_for("rack:out_1")
        compare("after a restart of jackd")
        server.stop()
