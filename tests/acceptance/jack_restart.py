# SPDX-License-Identifier: GPL-3.0-or-later
"""After kill -9 and a restart of jackd, two instances of warprack reconnect, with the same connections between them."""

from common import *

need("jackd", "jack_lsp", "jack_connect")

ROUNDS, PROMISE_S = 5, 1.0
WIRES = [("rack:out_1", "other:in_2"), ("rack:out_2", "other:in_1"), ("system:capture_1", "rack:in_2")]


def wires(jack):
    """Connections of the rack's ports in the server."""
    return {wire for wire in jack.wires() if any(port.startswith("rack:") for port in wire)}


with scratch(), Jackd(48000, 64) as jack:
    rack = ("--io", "jack", "--channels", "2:2", "--no-connect")
    with Server(*rack, "--name", "rack", "g: gain", env=jack.env) as server:
        with Server(*rack, "--name", "other", "", env=jack.env) as other:
            jack.wait_for("rack:out_2")
            jack.wait_for("other:out_2")
            for source, target in WIRES:
                jack.connect(source, target)
            before = wires(jack)
            assert set(WIRES) <= before, before
            time.sleep(0.6)  # until both have stored the connections: two polls
            server.osc.do("/node/g/gain", -6.0)
            times, looks = [], []
            for number in range(ROUNDS):
                jack.kill()
                time.sleep(0.3)
                blocks = server.status()["blocks"], other.status()["blocks"]
                jack.start()  # returns when the server accepts clients
                began = time.monotonic()
                while (
                    server.status()["blocks"] <= blocks[0]
                    or other.status()["blocks"] <= blocks[1]
                    or not set(WIRES) <= wires(jack)
                ):
                    assert time.monotonic() - began < LIMIT_S, (server.status(), wires(jack), server.output(), other.output())
                back = time.monotonic() - began
                assert wires(jack) == before, wires(jack) ^ before
                looks.append(time.monotonic() - began - back)
                print(f"round {number + 1}: back in {back * 1000:.0f} ms, {len(before)} connections")
                times.append(back)
                for engine in (server, other):
                    engine.advance(400, server.output, other.output)
            # A busy machine takes longer for everything, also for a look at the connections: 20 ms on an idle one.
            limit_s = PROMISE_S + 10 * sorted(looks)[ROUNDS // 2]
            assert sorted(times)[ROUNDS // 2] < limit_s, (times, limit_s)
            assert server.osc.ask("/node/g/gain") == ("/node/g/gain", [-6.0])
            other.stop()
        said = server.output()
        assert "audio.lost: lost" in said and "audio.back: " in said, said
        server.stop()
