# SPDX-License-Identifier: GPL-3.0-or-later
"""The packet that costs the server the most CPU time per byte, found by a fuzzer, affects only its sender.

    costly.py PROGRAM [PACKETS [SEED]]

A hill climber mutates packets of reads, patterns, values, edits and nonsense against a rack of 3,500 nodes, and keeps
mutations that cost more per byte.  Then one client repeatedly sends the worst packet while another one pings: its
times and the dry blocks are compared with those of a quiet run.
"""

import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 60
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
NODES = 3500
LIMIT_MS = 50.0
MAX_BYTES = 60000
SECONDS = 5.0
LONG = "*n" * 30  # the longest address

MESSAGES = [
    osc_message("/rack/get"),
    osc_message("/server/nodes"),
    osc_message("/server/status"),
    osc_message("/node/*/*"),
    osc_message(f"/node/{LONG}/g*"),
    osc_message(f"/node/{'[a-z]' * 20}{'?' * 9}/*"),
    osc_message(f"/node/{{{'n,' * 50}n}}*/gain"),
    osc_message("/node/*/gain", -6.0),
    osc_message("/node/n[0-9]*/gain", -7.0),
    osc_message(f"/node/{LONG}/*x*", -6.0),
    osc_message("/node/no-such-node-" + "x" * 40 + "/gain", 1.0),
    osc_message("/rack/set", "n0001.gain", -5.0),
    osc_message("/rack/remove", "no-such-node-" + "x" * 40),
    osc_message("/rack/do", "connect in nowhere"),
    osc_message("/rack/add", "n0001", "gain"),
    osc_message("/rack/undo"),
    osc_message("/rack/chain", "gain"),
    osc_message("/nowhere/at/all/" + "x" * 100),
]  # fmt: skip


def packet(genes):
    """Bundles of messages.  A gene is a message, its count, and whether each copy is a separate bundle."""
    inner = []
    for which, times, apart in genes:
        inner += [osc_bundle([MESSAGES[which]])] * times if apart else [osc_bundle([MESSAGES[which]] * times)]
    return osc_bundle(inner)


def change(genes, chooser):
    genes = list(genes)
    for _ in range(chooser.randint(1, 3)):
        new = (chooser.randrange(len(MESSAGES)), chooser.choice([1, 4, 16, 64, 256, 1000]), chooser.random() < 0.5)
        at = chooser.randrange(len(genes))
        if chooser.random() < 0.3 and len(genes) < 4:
            genes.append(new)
        elif chooser.random() < 0.3 and len(genes) > 1:
            del genes[at]
        else:
            genes[at] = new
    return genes


def is_good(genes):
    return sum(times for _, times, _ in genes) <= 1024 and len(packet(genes)) <= MAX_BYTES


def sender():
    """A client that reads no replies."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return client


def cost(server, genes, limit_s=2.0):
    """CPU seconds per byte, until the server is idle, at most for limit_s."""
    data = packet(genes)
    with sender() as client:
        began, before = time.monotonic(), server.control_times_s()["cpu"]
        client.sendto(data, ("127.0.0.1", server.port))
        last, idle = before, 0
        while idle < 3 and time.monotonic() - began < limit_s:
            time.sleep(0.01)
            now = server.control_times_s()["cpu"]
            idle = idle + 1 if now - last < 0.001 else 0
            last = now
    return (last - before) / len(data)


def ping(server):
    """Ping for SECONDS: the 99th percentile and the maximum of the times in ms, and the number of dry blocks."""
    times, before, end = [], server.status()["dry"], time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.monotonic()
        server.osc.ask("/server/ping", timeout=60.0)
        times.append((time.monotonic() - began) * 1e3)
        time.sleep(0.002)
    times.sort()
    return times[int(0.99 * len(times))], times[-1], server.status(timeout=60.0)["dry"] - before


def start():
    server = Server("--backend", "cpu", "--io", "dummy", "--block", "1024", "big.rack", patience=60.0)
    server.wait_until_wet(60.0)
    return server


chooser = random.Random(SEED)
with scratch():
    with open("big.rack", "w", encoding="utf-8") as file:
        file.write("chain " + " | ".join(f"n{n:04}: gain 0dB" for n in range(NODES)) + "\n")
    best, most = None, 0.0
    for n in range(N):
        genes = [(n, 256, True)] if n < len(MESSAGES) else change(best, chooser)
        if not is_good(genes):
            continue
        with start() as server:  # a new server, because the packet may have changed the rack
            per_byte = cost(server, genes)
        print(f"{per_byte * 1e6:9.2f} us a byte, {len(packet(genes)):6} bytes: {genes}", flush=True)
        if per_byte > most:
            best, most = genes, per_byte
    with start() as server:
        quiet = ping(server)
        stop = threading.Event()

        def send_on():
            with sender() as client:
                while not stop.wait(0.02):
                    client.sendto(packet(best), ("127.0.0.1", server.port))

        flood = threading.Thread(target=send_on)
        flood.start()
        loud = ping(server)
        stop.set()
        flood.join()
print(f"worst: {most * 1e6:.2f} us a byte: {[(MESSAGES[which][:24], times, apart) for which, times, apart in best]}")
print(f"figure: p99 {loud[0]:.1f} ms beside the worst packet, {quiet[0]:.1f} ms without (allowed {LIMIT_MS:.0f}), max {loud[1]:.1f} ms")
print(f"figure: {loud[2]} dry blocks beside it, {quiet[2]} without (allowed no more than without)")
sys.exit(loud[0] > LIMIT_MS or loud[2] > quiet[2])
