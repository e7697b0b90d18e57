# SPDX-License-Identifier: GPL-3.0-or-later
"""jackd dies N times, each time 0 to 50 ms after it accepts clients: the program lives, and has all its connections at the end.

    jack_early.py PROGRAM DEATHS

Within that time the program opens its client, sets callbacks, makes ports, becomes active, restores connections, and
looks at them: each of these calls meets a dead server.  Before every fifth of these deaths, another server dies 0 to
50 ms after its start, before it accepts clients. After every CHECKED deaths a server stays alive, and its connections
are compared with the initial ones.
"""

import random
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/acceptance")
from common import *

need("jackd", "jack_lsp", "jack_connect")

DEATHS = int(sys.argv[2])
EARLY_S, CHECKED, LIMIT_S = 0.05, 25, 20.0
WIRES = {("system:capture_2", "rack:in_1"), ("rack:out_1", "system:playback_2"), ("rack:out_2", "rack:in_2")}


def die(jack, chance, accepts):
    """Start a server, and kill it within 50 ms of its start, or of the moment when it accepts clients."""
    jack.launch()
    if accepts:
        deadline = time.monotonic() + LIMIT_S
        while not jack.listens():
            assert time.monotonic() < deadline, f"jackd does not accept clients within {LIMIT_S} s"
            time.sleep(0.0005)
    time.sleep(chance.uniform(0.0, EARLY_S))
    jack.kill()


def check(jack, server, number):
    """Keep a server alive until it has all connections and the rack plays."""
    assert server.process.poll() is None, f"the program ended with {server.process.poll()} within {number} deaths\n{server.output()}"
    jack.start()
    deadline = time.monotonic() + LIMIT_S
    while (found := jack.wires()) != WIRES:
        assert time.monotonic() < deadline, (f"not as before after {number} deaths", found ^ WIRES, server.status(), server.output())
    blocks = server.status()["blocks"]
    while server.status()["blocks"] < blocks + 100:
        assert time.monotonic() < deadline, (f"no block after {number} deaths", server.status(), server.output())
        time.sleep(0.01)
    held = holdings(server.process.pid)
    jack.kill()
    return held


with scratch(), Jackd(48000, 64) as jack:
    chance, held, n_before = random.Random(12), [], 0
    with Server("--io", "jack", "--channels", "2:2", "--no-connect", "--name", "rack", "g: gain", env=jack.env) as server:
        jack.wait_for("rack:out_2")
        for source, target in WIRES:
            done = jack.run("jack_connect", source, target)
            assert done.returncode == 0, (source, target, done.stderr)
        time.sleep(1.5)  # by then the connections are stored (io/jack_links.h)
        jack.kill()
        for number in range(1, DEATHS + 1):
            if number % 5 == 0:
                die(jack, chance, accepts=False)
                n_before += 1
            die(jack, chance, accepts=True)
            if number % CHECKED == 0 or number == DEATHS:
                held.append(check(jack, server, number))
        status = server.status()
        jack.start()
        server.stop()

print(f"figure: jackd died {DEATHS} times within {1000 * EARLY_S:.0f} ms of accepting clients, {n_before} times before: the same process, "
      f"all {len(WIRES)} connections back {len(held)} times of {len(held)}; {status['reconnects']} reconnects")
print(f"held after {min(CHECKED, DEATHS)}: {held[0]}")
print(f"figure: held at the end: {held[-1]}; mapped at the first look: {held[0]['shm']}")
for kind in ("fds", "threads", "zombies"):
    assert held[-1][kind] <= held[0][kind], (kind, held)
# libjack unmaps by the size that it has read from a list which the next server may have cleared meanwhile (jack_attach_lib_shm() in shm.c): it
# loses a segment in one of some 150 deaths that are followed by a start at once.
lost = held[-1]["shm"] - held[0]["shm"]
assert lost <= 3 + DEATHS // 50, ("memory of dead servers stays mapped", held)
assert held[-1]["rss_kb"] - held[0]["rss_kb"] < 1024 + 8 * DEATHS + 8192 * max(lost, 0) or is_sanitized(), ("memory grows", held)
