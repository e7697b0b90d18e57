# SPDX-License-Identifier: GPL-3.0-or-later
"""Another machine: a process in a network namespace of its own.  A pair of virtual Ethernet devices connects it to the
namespace of the test, which must be its own (enter_namespace()); without the rights for that the test is skipped."""

import ctypes

from common import *

CLONE_NEWNET = 0x40000000


class Machine:
    """Runs `run(pipe)` in that process; `Machine.pipe` is the other end of `pipe`."""

    def __init__(self, run):
        need("ip", "nsenter", "unshare")
        context = multiprocessing.get_context("fork")
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=self.begin, args=(run, there), daemon=True)
        self.process.start()
        self.pipe.recv()

    @staticmethod
    def begin(run, pipe):
        assert not ctypes.CDLL(None).unshare(CLONE_NEWNET)
        pipe.send("ready")
        run(pipe)

    def ip(self, *words):
        subprocess.run(["nsenter", "-t", str(self.process.pid), "-n", "ip", *words], check=True)

    def connect(self, networks):
        """Connect it by networks, each (address here, address there).  Neighbours are fixed and IPv6 is off: only packets of
        OSC are counted."""
        pair = ["ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(self.process.pid)]
        if subprocess.run(pair, check=False).returncode:
            print("skipped: no virtual Ethernet devices")
            sys.exit(77)
        add_address("lo", "127.0.0.1")
        ip("link", "set", "near", "address", "02:00:00:00:00:01", "addrgenmode", "none", "up")
        self.ip("link", "set", "far", "address", "02:00:00:00:00:02", "addrgenmode", "none", "up")
        self.ip("link", "set", "lo", "up")
        for own, other in networks:
            ip("address", "add", f"{own}/24", "dev", "near")
            self.ip("address", "add", f"{other}/24", "dev", "far")
            ip("neighbour", "add", other, "lladdr", "02:00:00:00:00:02", "dev", "near")
            self.ip("neighbour", "add", own, "lladdr", "02:00:00:00:00:01", "dev", "far")


def ip(*words):
    subprocess.run(["ip", *words], check=True)
