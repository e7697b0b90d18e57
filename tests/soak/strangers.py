# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that begin to prove their address and do not end it, that send wrong cookies, that send nonsense over TCP, or
that do not read: nothing is kept for them, memory does not grow, and a client that behaves is answered meanwhile.

    strangers.py PROGRAM [ADDRESSES [BYTES [SEED]]]

The strangers have addresses of a network that a namespace routes to itself; without the rights for one the run is
skipped.
"""

import os
import random
import select
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
N_BYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 500_000
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
HOST = "198.18.0.1"  # of the network for tests of devices, RFC 2544
N_SLOW = 8
MEMORY_KIB = 32 * 128  # of all connections together: the allocator may keep what they once had
END, ESC = b"\xc0", b"\xdb"
MESSAGES = [
    osc_message("/server/ping"), osc_message("/server/status"), osc_message("/rack/get"), osc_message("/node/*/*"),
    osc_message("/node/vol/gain", -6.0), osc_message("/server/notify", 1), osc_message("/server/hello", "0123456789abcdef"),
    osc_bundle([osc_message("/node/vol/gain", -7.0), osc_message("/rack/undo")]), osc_message("/rack/do", "gain vol -3dB"),
]  # fmt: skip


class Pings(threading.Thread):
    """A client on this machine that sends a ping every 20 ms, and keeps the longest time to an answer."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.osc, self.is_ended, self.times = Osc(port), False, []

    def run(self):
        while not self.is_ended:
            began = time.monotonic()
            self.osc.do("/server/ping")
            self.times.append(time.monotonic() - began)
            time.sleep(0.02)


def address(n):
    return socket.inet_ntoa(struct.pack(">I", struct.unpack(">I", socket.inet_aton("198.18.1.0"))[0] + n))


def stranger(n):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind((address(n), 0))
    one.connect((HOST, server.port))
    one.settimeout(20.0 * SLOWNESS)
    return one


def hello(one, text):
    """The cookie that the server sends, and the bytes on both ways."""
    question = osc_message("/server/hello", text)
    one.send(question)
    answer = one.recv(65536)
    assert len(answer) <= len(question), (question, answer)
    path, (cookie,) = osc_parse(answer)
    assert path == "/server/cookie", answer
    return cookie


def half_open():
    """Each stranger begins, and does not end; or ends with another one's cookie, or with none."""
    generator = random.Random(SEED)
    last = None
    for n in range(N):
        with stranger(n) as one:
            cookie = hello(one, "0123456789abcdef")
            if last:
                assert hello(one, last) != last
            hello(one, "".join(generator.choices("0123456789abcdef", k=16)))
            last = cookie


def mutated(generator):
    """A frame of a message with some of its bytes changed, in one of two framings."""
    packet = generator.choice(MESSAGES)
    frame = struct.pack(">I", len(packet)) + packet
    if generator.random() < 0.5:
        frame = END + packet.replace(ESC, ESC + b"\xdd").replace(END, ESC + b"\xdc") + END
    frame = bytearray(frame)
    for _ in range(generator.choice((0, 0, 1, 1, 2, 8))):
        frame[generator.randrange(len(frame))] = generator.randrange(256)
    return bytes(frame)


def connect():
    """Another connection, of one of many addresses."""
    connect.n = (connect.n + 1) % 200
    return socket.create_connection((HOST, server.port), timeout=20.0 * SLOWNESS, source_address=(address(connect.n), 0))


connect.n = 0


def nonsense():
    """Send bytes until there were enough; a new connection when the server closes one.  Returns their number."""
    generator = random.Random(SEED)
    n_sent = n_connections = 0
    while n_sent < N_BYTES:
        n_connections += 1
        with connect() as one, contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(generator.randrange(1, 200)):
                frame = mutated(generator)
                one.sendall(frame)
                n_sent += len(frame)
                if select.select([one], [], [], 0.0)[0] and not one.recv(65536):
                    break
    return n_sent, n_connections


def deaf():
    """A client that asks for long answers and does not read them."""
    one = connect()
    one.setblocking(False)
    question = struct.pack(">I", len(MESSAGES[1])) + MESSAGES[1]
    with contextlib.suppress(BlockingIOError):
        for _ in range(20000):
            one.send(question)
    return one


def strangers():
    """All of them, until the server has closed their connections.  Returns what nonsense() does."""
    before = server.status()
    half_open()
    slow = [deaf() for _ in range(N_SLOW)]
    sent = nonsense()
    server.wait_for(lambda now: now["osc_connections_slow"] >= before["osc_connections_slow"] + N_SLOW, limit_s=60.0)
    for one in slow:
        one.close()
    server.wait_for(lambda now: now["osc_connections"] == 0 and now["osc_trusted"] == 0)
    return sent


need("ip", "unshare")
if not enter_namespace("-n") and not enter_namespace():  # as root, with the right to real-time priorities
    print("skipped: no network namespaces")
    sys.exit(77)
add_address("lo", "127.0.0.1")
subprocess.run(["ip", "route", "add", "local", "198.18.0.0/15", "dev", "lo"], check=True)
with scratch(), Server("--io", "dummy", "--osc-bind", "0.0.0.0", "--osc-allow", "198.18.0.0/15", "lowcut: highpass 80 | vol: gain -6dB") as server:
    strangers()  # once, so that all memory is in use that a second time needs
    early, before, began = holdings(server.process.pid), server.status(), time.monotonic()
    pings = Pings(server.port)
    pings.start()
    n_sent, n_connections = strangers()
    pings.is_ended = True
    pings.join(30.0)
    assert not pings.is_alive()
    after, seconds = server.status(), time.monotonic() - began
    print(f"figure: {N} addresses began to prove themselves; {after['osc_cookies'] - before['osc_cookies']} cookies, 0 trusted")
    n_closed = after["osc_connections_refused"] - before["osc_connections_refused"]
    times = sorted(1e3 * seconds for seconds in pings.times)
    print(f"figure: {n_sent} bytes in {n_connections} connections, {n_closed} of them closed; {N_SLOW} slow ones closed")
    print(f"figure: all {len(times)} pings beside it answered, after {times[len(times) // 2]:.1f} ms (median),", end=" ")
    print(f"{times[int(0.99 * len(times))]:.1f} ms (p99)")
    time.sleep(seconds)  # as long without strangers
    quiet = server.status()
    print(f"figure: late blocks: {after['late'] - before['late']} of {after['blocks'] - before['blocks']} with strangers,", end=" ")
    print(f"{quiet['late'] - after['late']} of {quiet['blocks'] - after['blocks']} without")
    check_holdings(early, holdings(server.process.pid), MEMORY_KIB)
    server.stop()
