# SPDX-License-Identifier: GPL-3.0-or-later
"""A server with a limit of 300 MiB refuses racks that need more, replies to every command, and loses no worker.

    memory_limit.py PROGRAM [ROUNDS [SEED]]

A control group (version 1 or 2) sets the limit.  If the system allows none, RLIMIT_AS sets it, and the test prints
that; then a rack may end a worker.  The test sends the largest racks of several kinds that fit into one datagram, then
ROUNDS (default 10) random racks.  After each rack it sends /rack/get, /rack/clear and /rack/undo without waiting.
"""

import random

from common import *

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(4), "little")
LIMIT = 300 << 20
DATAGRAM = 65507
MOST_NODES = 4096
ANSWER_S = 30.0 * SLOWNESS  # time limit for a reply; the test does not judge speed


class Group:
    """A control group with a limit of 300 MiB; `join` is None if the system allows none."""

    def __init__(self):
        self.path = self.join = self.peak_file = None
        for controllers, own in (line.rstrip("\n").split(":", 2)[1:] for line in open("/proc/self/cgroup", encoding="utf-8")):
            if not controllers:
                self.make(f"/sys/fs/cgroup{own}", "memory.max", "memory.peak")
            elif "memory" in controllers.split(","):
                self.make("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes")

    def make(self, parent, limit, peak):
        path = os.path.join(parent, f"warprack-{os.getpid()}")
        try:
            os.mkdir(path)
        except OSError:
            return
        if not os.path.exists(os.path.join(path, limit)):
            os.rmdir(path)
            return
        with open(os.path.join(path, limit), "w", encoding="utf-8") as file:
            file.write(str(LIMIT))
        self.path, self.join, self.peak_file = path, os.path.join(path, "cgroup.procs"), os.path.join(path, peak)

    def peak(self):
        try:
            with open(self.peak_file, encoding="utf-8") as file:
                return f"{int(file.read()) >> 20} MiB at most"
        except (OSError, TypeError):
            return "peak unknown"

    def remove(self):
        def is_gone():
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
            return not os.path.exists(self.path)

        if self.path:
            until(is_gone, "processes are left in the control group")


def launcher(group):
    """Write a script that runs warprack with a limit of 300 MiB, and return its path."""
    limit = f"echo $$ > {group.join}" if group.join else f"ulimit -v {LIMIT >> 10}"
    with open("launch", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n{limit} || exit 99\nexec {PROGRAM} "$@"\n')
    os.chmod("launch", 0o755)
    return os.path.abspath("launch")


def chain(effect, separator, count):
    """A chain of up to `count` nodes of an effect, at most as many as fit into a datagram and into a rack."""
    room = (DATAGRAM - 64) // (len(effect) + len(separator))
    return separator.join([effect] * min(count, room, MOST_NODES))


LARGEST = [
    chain("delay 60s", " | ", 20),  # 343 bytes
    chain("delay 60s", " | ", 100),
    chain("delay 60s", " | ", MOST_NODES),
    "(" + chain("delay 60s", " + ", MOST_NODES) + ")",
    chain("delay max_time=60s", " | ", MOST_NODES),
    chain("reverb 1", " | ", MOST_NODES),
    chain("limiter lookahead=20", " | ", MOST_NODES),
    "(" + chain("gain", " + ", 2000) + " + limiter -1 lookahead=20)",
    chain("fir taps=65535", " | ", MOST_NODES),
    chain("matrix rows=\"" + ";".join(["1 1"] * 1000) + "\" | matrix rows=\"" + ";".join([" ".join(["0"] * 1000)] * 2) + "\"", " | ", 100),
]
PIECES = ["delay 60s", "delay 10s", "reverb 1", "fir taps=65535", "gain -3", "limiter -1", "delay 1s max_time=30s", "highpass 80 order=8"]


def converse(server, rack, answers, allowed):
    """Send a rack and three more commands at once.  Each gets its reply, in any order."""
    began = time.monotonic()
    waiting = {"/rack/chain", "/rack/get", "/rack/clear", "/rack/undo"}
    for packet in (("/rack/chain", rack), ("/rack/get",), ("/rack/clear",), ("/rack/undo",)):
        server.osc.send(osc_message(*packet))
    while waiting:
        try:
            reply, values = server.osc.receive(ANSWER_S)
        except socket.timeout:
            sys.exit(f"no answer to {waiting} with {rack[:60]}… ({len(rack)} bytes)\n{server.output()}")
        address = values[0] if reply in ("/done", "/fail") else reply
        waiting.discard(address)
        if address == "/rack/chain":
            answer = f"fail {values[1]}" if reply == "/fail" else "done"
            answers[answer] = answers.get(answer, 0) + 1
            assert answer in allowed, (rack[:60], values)
    print(f"{time.monotonic() - began:5.1f} s  {len(rack):5} bytes  {rack[:50]}", flush=True)


def main(group):
    if is_sanitized():
        print("skipped: a sanitizer needs more memory than the limit")
        sys.exit(77)
    if not group.join:
        print("the system allows no control group: RLIMIT_AS limits the address space instead")
    random.seed(SEED)
    answers, allowed = {}, ["done", "fail 5"]
    if not group.join:  # threads and libraries take address space, too: it may end below the limit of a rack
        allowed += ["fail 6", "fail 12"]
    with Server("--io", "dummy", "--no-realtime", program=launcher(group)) as server:
        server.wait_until_wet()
        before = server.status()
        for rack in LARGEST:
            converse(server, rack, answers, allowed)
        for _ in range(ROUNDS):
            converse(server, " | ".join(random.choices(PIECES, k=int(2 ** random.uniform(0, 11)))), answers, allowed)
        # The last rack may take all that is allowed.  Cleared, its tails end when an edit needs the memory.
        server.osc.do("/rack/clear")
        server.osc.do("/rack/chain", "gain -6")
        after = server.status()
        assert not group.join or after["worker_restarts"] == before["worker_restarts"], after["worker_note"]
        server.stop()
    print(f"seed {SEED}: {answers}, {group.peak()}")
    assert answers.get("fail 5", 0) >= (5 if group.join else 1), answers


with scratch():
    its_group = Group()
    try:
        main(its_group)
    finally:
        its_group.remove()
