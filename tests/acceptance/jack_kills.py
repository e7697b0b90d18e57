# SPDX-License-Identifier: GPL-3.0-or-later
"""jackd ends and starts again, N times (argument, default 10): audio returns with the same connections, and no resource
leaks.

Each round kills jackd (SIGKILL, every fourth time SIGTERM), and starts it again after a random pause.  Another client
tries every 2 ms to open, so it detects when the server accepts clients.  It plays into the rack and receives its
output; when its signal returns at the right level, input, parameters and output of the rack are restored.
"""

import random
import threading

from common import *

need("jackd", "jack_lsp", "jack_connect")

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
PEER = os.environ.get("WARPRACK_JACK_PEER", os.path.join(os.path.dirname(PROGRAM), "tests", "jack_peer"))
BOUNDED = ("fds", "threads", "shm")  # holdings of which there may not be more at the end
PROMISE_MS = 500.0
GAIN_DB = -6.0
WIRES = {("peer:out", "rack:in_1"), ("rack:out_1", "peer:in"), ("rack:out_2", "system:playback_1")}


class Peer:
    """tests/integration/jack_peer.c with `watch`."""

    def __init__(self, jack):
        env, level = {**os.environ, **jack.env}, 0.25 * 10.0 ** (GAIN_DB / 20.0)
        self.process = subprocess.Popen([PEER, "watch", str(level)], stdout=subprocess.PIPE, text=True, env=env)

    def read(self, word):
        """The time in ns that the peer prints after `word`; None if it prints nothing for LIMIT_S."""
        timer = threading.Timer(LIMIT_S, self.process.kill)
        timer.start()
        line = self.process.stdout.readline().split()
        timer.cancel()
        return float(line[1]) if line and line[0] == word else None

    def end(self, jack):
        """Kill the peer, and wait until the server has noticed: a client that ends just after another one has died
        takes seconds."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        jack.wait_for("peer:in", there=False)


def one_round(jack, server, number, chance):
    """Returns two times in ms, from the moment when the server accepts the peer: until the peer receives sound from the
    rack, and until the sound is as before."""
    if number % 4 == 3:
        jack.process.terminate()
        jack.process.wait()
    else:
        jack.kill()
    peer = Peer(jack)
    try:
        time.sleep(chance.uniform(0.05, 0.55))
        jack.launch()
        accepted, sounded, settled = (peer.read(word) for word in ("accepted", "sounded", "settled"))
        if settled is None:  # print everything that may show the cause
            print(f"round {number + 1}: accepted {accepted}, sounded {sounded}, peer {peer.process.poll()}, jackd {jack.process.poll()}")
            print(jack.run("jack_lsp", "-c"), server.status(), server.output(), sep="\n")
        assert settled is not None, f"the sound is not as before after round {number + 1}"
        # The last one may be restored after the sound is back.
        until(lambda: jack.wires() == WIRES, lambda: jack.wires() ^ WIRES, server.output)
        return (sounded - accepted) * 1e-6, (settled - accepted) * 1e-6
    finally:
        peer.end(jack)


with scratch(), Jackd(48000, 64) as jack:
    chance = random.Random(4)
    rack = ("--io", "jack", "--channels", "2:2", "--no-connect", "--name", "rack")
    with Server(*rack, "g: gain", env=jack.env) as server:
        peer = Peer(jack)
        jack.wait_for("peer:in")
        server.osc.do("/node/g/gain", GAIN_DB)
        for source, target in WIRES:
            jack.connect(source, target)
        peer.read("accepted")
        assert peer.read("sounded") and peer.read("settled"), "no sound before the first kill"
        time.sleep(0.2)
        peer.end(jack)
        times, looks, before = [], [], None
        for number in range(ROUNDS):
            times.append(one_round(jack, server, number, chance))
            began = time.monotonic()
            jack.wires()
            looks.append(1e3 * (time.monotonic() - began))
            if number == min(4, ROUNDS - 1):
                # By now libraries have allocated their permanent memory.
                before = holdings(server.process.pid)
        # The library unmaps memory of a server that has ended some time later.
        after = holdings(server.process.pid)
        deadline = time.monotonic() + LIMIT_S
        while any(after[kind] > before[kind] for kind in BOUNDED) and time.monotonic() < deadline:
            time.sleep(0.1)
            after = holdings(server.process.pid)
        reconnects = server.status()["reconnects"]
        server.stop()

print(f"figure: {ROUNDS} rounds, {reconnects} reconnects; from the first client that the server accepts, in ms:")
for what, column in zip(("first sound", "sound as before"), np.transpose(times)):
    print(f"figure: {what:16} p50 {np.median(column):4.0f}, p99 {np.percentile(column, 99):4.0f}, max {column.max():4.0f}")
print(f"resources after round {min(5, ROUNDS)}: {before}")
print(f"figure: resources at the end: {after}")
assert reconnects == ROUNDS
assert after["zombies"] == 0
for kind in BOUNDED:
    assert after[kind] <= before[kind], kind
assert after["rss_kb"] - before["rss_kb"] < 1024 + 8 * ROUNDS or is_sanitized(), "memory grows"
# The medians, because the machine may stall in some rounds.  A busy machine takes longer for everything, also for a look
# at the connections: 20 ms on an idle one.
limit_ms = PROMISE_MS + 5 * np.median(looks)
assert np.median(times, axis=0)[1] < limit_ms, f"the median return is late: not within {limit_ms:.0f} ms"
