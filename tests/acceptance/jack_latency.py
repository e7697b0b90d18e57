# SPDX-License-Identifier: GPL-3.0-or-later
"""jack_iodelay through an empty rack measures exactly the latency that warprack tells JACK: at the start, after a thousand
OSC edits, and after a restart of jackd."""

import re
import select
import statistics

from common import *

need("jackd", "jack_iodelay", "jack_lsp", "jack_connect")

RATE, PERIOD, EDITS = 48000, 64, 1000
SETTLED, RESOLUTION, LIMIT_S = 4, 0.0011, 60.0  # readings; frames, since it prints three decimals


def connect(jack, source, target, deadline):
    """Connect, and repeat until the connection holds: it fails before the client is active, or if the rack has already
    restored it."""
    while f"   {target}" not in jack.ports("-c", source):
        assert time.monotonic() < deadline, (source, target)
        jack.run("jack_connect", source, target)


def readings(process, deadline):
    """Frames, as jack_iodelay prints them, four times a second."""
    text = ""
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.1)[0]:
            text += os.read(process.stdout.fileno(), 65536).decode()
        *lines, text = text.split("\n")
        for found in (re.search(r"([0-9.]+) frames .*total", line) for line in lines):
            if found:
                yield float(found[1])


def round_trip(jack, connections):
    """Frames, by jack_iodelay; None if a busy machine prevents a reading.

    It measures a thousandth of a frame while its tones are undisturbed.  A period that a busy machine skips moves the
    reading by hundredths for half a second; so a reading counts after SETTLED equal ones in a row.
    """
    process = subprocess.Popen(["jack_iodelay"], env={**os.environ, **jack.env}, stdout=subprocess.PIPE)
    seen = []
    try:
        deadline = time.monotonic() + LIMIT_S
        jack.wait_for("jack_delay:in")
        for source, target in connections:
            connect(jack, source, target, deadline)
        for reading in readings(process, deadline):
            seen.append(reading)
            last = seen[-SETTLED:]
            if len(last) == SETTLED and max(last) - min(last) <= RESOLUTION:
                return statistics.median(last)
    finally:
        process.kill()
        process.wait()
    print(f"jack_iodelay is not left alone for a second within {LIMIT_S} s: {connections}, {seen}, {jack.wires()}")
    return None


def reported(jack):
    """Frames that JACK has for our output on top of our input, from jack_lsp's latency ranges."""
    text = "\n".join(jack.ports("-l", "rack:"))
    ranges = dict(re.findall(r"(rack:\w+)\n(?:.*\n)*?.*port capture latency = \[ (\d+)", text))
    return int(ranges["rack:out_1"]) - int(ranges["rack:in_1"])


with scratch(), Jackd(RATE, PERIOD) as jack:
    # Before the rack starts: it would restore its connections to the client of that name.
    bare = round_trip(jack, [("jack_delay:out", "jack_delay:in")])
    if bare is None:
        print("skipped: without the rack it cannot be measured either")
        sys.exit(77)
    arguments = ("--io", "jack", "--depth", "1", "--channels", "1:1", "--name", "rack", "--no-connect", "")
    with Server(*arguments, env=jack.env) as server:
        jack.wait_for("rack:out_1")

        def compare(when):
            through = round_trip(jack, [("jack_delay:out", "rack:in_1"), ("rack:out_1", "jack_delay:in")])
            assert through is not None, f"{when}: {server.status()}\n{server.output()}"
            measured, told = through - bare, reported(jack)
            print(f"{when}: measured {measured:.3f} frames, JACK is told {told}")
            assert abs(measured - told) < 0.01 and told == PERIOD, f"{when}: through the rack {through}, without {bare}, told {told}\n{server.output()}"

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
