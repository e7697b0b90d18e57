# SPDX-License-Identifier: GPL-3.0-or-later
"""jackd dies N times in its first moments; the program survives, and its connections are restored.

    jack_early.py PROGRAM DEATHS

One third of the deaths come 0 to 50 ms after the server accepts clients, one third 0 to 50 ms after the program begins
to open its client, one third 0 to 50 ms after the program runs again.  In this time the program opens its client, sets
callbacks, makes ports, becomes active, and restores and reads connections, so the server dies before or during each of
these calls.  The test counts the deaths by what the program was doing, and fails if one of these phases has fewer than
a twentieth of them.  Before every fifth death, another server dies 0 to 50 ms after its start, before it accepts clients.
After every CHECKED deaths a server stays alive, and its connections are compared with the initial ones.
"""

import collections
import random
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/acceptance")
from common import *

need("jackd", "jack_lsp", "jack_connect")

DEATHS = int(sys.argv[2])
EARLY_S, CHECKED = 0.05, 25
PAUSE_S = 0.0005  # between two looks at servers and program: short, as the deaths are at most EARLY_S after an event
WIRES = {("system:capture_2", "rack:in_1"), ("rack:out_1", "system:playback_2"), ("rack:out_2", "rack:in_2")}


def opens_client():
    """Whether the program has the socket that libjack makes while it opens a client, and keeps until it closes it."""
    with open("/proc/net/unix", encoding="utf-8") as sockets:
        return any("/jack_rack_" in line for line in sockets)


def phase(server):
    """What the program does now."""
    if not opens_client():
        return "before its client"
    return "running" if server.status()["state"] == "running" else "opening its client"


def die(jack, server, chance, after):
    """Start a server, and kill it within 50 ms of its start, or of the moment when it accepts clients, when the program
    opens its client, or when the program runs.  Returns the phase of the program."""
    jack.launch()
    if after != "start":
        until(jack.listens, "jackd does not accept clients", pause_s=PAUSE_S)
    if after in ("client", "running"):
        until(opens_client, "the program opens no client", pause_s=PAUSE_S)
    if after == "running":
        until(lambda: phase(server) == "running", "the program does not run", pause_s=PAUSE_S)
    time.sleep(chance.uniform(0.0, EARLY_S))
    found = phase(server)
    jack.kill()
    until(lambda: not opens_client(), "the program does not close its client", pause_s=PAUSE_S)
    return found


def check(jack, server, number):
    """Keep a server alive until it has all connections and the rack plays."""
    assert server.process.poll() is None, f"the program ended with {server.process.poll()} within {number} deaths\n{server.output()}"
    jack.start()
    why = f"not as before after {number} deaths"
    until(lambda: jack.wires() == WIRES, why, lambda: jack.wires() ^ WIRES, server.status, server.output)
    server.advance(100, f"no block after {number} deaths")
    held = holdings(server.process.pid)
    jack.kill()
    return held


with scratch(), Jackd(48000, 64) as jack:
    chance, held, n_before, met = random.Random(12), [], 0, collections.Counter()
    with Server("--io", "jack", "--channels", "2:2", "--no-connect", "--name", "rack", "g: gain", env=jack.env) as server:
        jack.wait_for("rack:out_2")
        for source, target in WIRES:
            jack.connect(source, target)
        time.sleep(1.5)  # by then the connections are stored (io/jack_connections.h)
        jack.kill()
        for number in range(1, DEATHS + 1):
            if number % 5 == 0:
                die(jack, server, chance, "start")
                n_before += 1
            met[die(jack, server, chance, ("accepts", "client", "running")[number % 3])] += 1
            if number % CHECKED == 0 or number == DEATHS:
                held.append(check(jack, server, number))
        status = server.status()
        jack.start()
        server.stop()

print(f"figure: deaths by what the program was doing: {dict(met)}")
for what in ("before its client", "opening its client", "running"):
    assert met[what] >= DEATHS // 20, (f"too few deaths while the program was {what}", met)
print(f"figure: jackd died {DEATHS} times within {1000 * EARLY_S:.0f} ms of accepting a client, {n_before} times before: the same process, "
      f"all {len(WIRES)} connections back {len(held)} times of {len(held)}; {status['reconnects']} reconnects")
print(f"resources after {min(CHECKED, DEATHS)}: {held[0]}")
print(f"figure: resources at the end: {held[-1]}; mapped at the first check: {held[0]['shm']}")
for kind in ("fds", "threads", "zombies"):
    assert held[-1][kind] <= held[0][kind], (kind, held)
# libjack unmaps a segment by its size in a list, which the next server may have cleared (jack_attach_lib_shm() in shm.c):
# in about one of 150 deaths that are followed by a start at once, a segment stays mapped.
lost = held[-1]["shm"] - held[0]["shm"]
assert lost <= 3 + DEATHS // 50, ("memory of dead servers stays mapped", held)
assert held[-1]["rss_kb"] - held[0]["rss_kb"] < 1024 + 8 * DEATHS + 8192 * max(lost, 0) or is_sanitized(), ("memory grows", held)
