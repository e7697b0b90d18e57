# SPDX-License-Identifier: GPL-3.0-or-later
"""jack_iodelay through an empty rack measures exactly the latency that warprack tells JACK: at the start, after a thousand
OSC edits, and after a restart of jackd."""

import re
import statistics

from common import *

need("jackd", "jack_iodelay", "jack_lsp", "jack_connect")

RATE, PERIOD, EDITS = 48000, 64, 1000


def connect(jack, source, target, deadline):
    """Until it holds: refused before the client is active, or when the rack has restored it by itself."""
    while f"   {target}" not in jack.ports("-c", source):
        assert time.monotonic() < deadline, (source, target)
        jack.run("jack_connect", source, target)


def round_trip(jack, connections):
    """Frames, by jack_iodelay."""
    process = subprocess.Popen(["jack_iodelay"], env={**os.environ, **jack.env}, stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 20.0
        jack.wait_for("jack_delay:in")
        for source, target in connections:
            connect(jack, source, target, deadline)
        os.set_blocking(process.stdout.fileno(), False)
        text, readings = "", []
        while len(readings) < 7:
            assert time.monotonic() < deadline, text
            time.sleep(0.1)
            text += (process.stdout.read() or b"").decode()
            readings = re.findall(r"([0-9.]+) frames .*total", text)
        return statistics.median(map(float, readings[2:]))  # settled; a stall spoils one or two
    finally:
        process.kill()
        process.wait()


def reported(jack):
    """Frames that JACK has for our output on top of our input, from jack_lsp's latency ranges."""
    text = "\n".join(jack.ports("-l", "rack:"))
    ranges = dict(re.findall(r"(rack:\w+)\n(?:.*\n)*?.*port capture latency = \[ (\d+)", text))
    return int(ranges["rack:out_1"]) - int(ranges["rack:in_1"])


with scratch(), Jackd(RATE, PERIOD) as jack:
    # Before the rack is there: it would restore its connections to the client of that name.
    bare = round_trip(jack, [("jack_delay:out", "jack_delay:in")])
    arguments = ("--io", "jack", "--depth", "1", "--channels", "1:1", "--name", "rack", "--no-connect", "")
    with Server(*arguments, env=jack.env) as server:
        jack.wait_for("rack:out_1")

        def compare(when):
            through = round_trip(jack, [("jack_delay:out", "rack:in_1"), ("rack:out_1", "jack_delay:in")])
            measured, told = through - bare, reported(jack)
            print(f"{when}: measured {measured:.3f} frames, JACK is told {told}")
            assert abs(measured - told) < 0.01 and told == PERIOD, (measured, told)

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
