# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets with a forged sender: two servers exchange at most three packets, a server sends nothing to itself, and a
flood from port 0 blocks no other sender.

    forged.py PROGRAM

The test needs raw sockets, and thus a user and a network namespace; without them it is skipped.
"""

import select

from common import *

HOST = "127.0.0.1"
WAIT_S = 0.1  # in a loop, servers would exchange thousands of packets in this time


def expect_others_are_served(server):
    """A flood from port 0 does not delay a client at the same address: port 0 counts as one sender, not as the whole
    address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((HOST, 0))
        client.connect((HOST, server.port))
        osc = Osc(server.port)
        osc.socket.close()
        osc.socket = client
        for n in range(1, 21):
            for _ in range(3000):
                forge((HOST, 0), (HOST, server.port), osc_message("/server/ping"))
            for _ in range(20):
                osc.send(osc_message("/server/ping"))  # several, because UDP may lose some
            assert osc.receive()[0] == "/done", n
            while select.select([client], [], [], 0.05)[0]:
                client.recv(65536)


def expect_packets(servers, expected, act):
    """`act` causes each server to receive this number of packets, without the queries that count them."""
    begin = [server.status()["osc_packets"] for server in servers]
    n_asked = 0

    def count():
        nonlocal n_asked
        n_asked += 1
        return [server.status()["osc_packets"] - n - n_asked for server, n in zip(servers, begin)]

    act()
    until(lambda: all(n >= least for n, least in zip(count(), expected)), lambda: f"{count()} packets, not {expected}")
    time.sleep(WAIT_S)
    n = count()
    assert n == expected, f"{n} packets, not {expected}"


N_VALUES = 5  # of the rack: gain, bypass, mute, solo and ramp of one node


def expect_no_loop(a, b):
    """The numbers of packets that `a` and `b` receive when a packet to `a` seems to come from `b`, as
    control/OSC.md states them.  The packets of the first row are answers, which no server answers.  `a` answers those of
    the second row, and `b` ignores that answer.  Those of the third row are queries: `b` takes the answer of `a` as a
    message, and `a` ignores what `b` answers.  After that of the fourth row, `b` also gets the present values."""
    for expected, packets in (
        ([1, 0], [b"/done\0\0\0", osc_message("/done", "/x"), osc_message("/fail", "/x", 1, "y"), osc_message("/server/synced", 1),
                  osc_message("/server/cookie", "0123456789abcdef"),
                  osc_message("/rack/changed", 1), osc_bundle([osc_message("/done", "/x")])]),
        ([1, 1], [osc_message("/server/ping"), osc_message("/nowhere"), b"/no packet", osc_message("/server/hello", "0123456789abcdef"),
                  osc_message("/server/notify", 0), osc_message("/server/status", "state"), osc_message("/server/sync", 1)]),
        ([2, 1], [osc_message("/server/status"), osc_message("/server/version"), osc_message("/server/nodes"), osc_message("/rack/get"),
                  osc_message("/node/vol/gain")]),
        ([1 + N_VALUES, 1 + N_VALUES], [osc_message("/server/notify", 1)]),
    ):  # fmt: skip
        for packet in packets:
            print(f"{packet[:16]!r}: {expected} packets from another server, [1, 0] from itself")
            expect_packets([a, b], expected, lambda: forge((HOST, b.port), (HOST, a.port), packet))
            expect_packets([a, b], [1, 0], lambda: forge((HOST, a.port), (HOST, a.port), packet))


def expect_no_large_answer_to_a_stranger(server):
    """With ip_nonlocal_bind the system lets a socket have any address; a sender with such an address still gets no
    reply that is larger than its message."""
    with open("/proc/sys/net/ipv4/ip_nonlocal_bind", "w", encoding="ascii") as file:
        file.write("1")
    before = server.status()["osc_withheld"]
    send_from("203.0.113.7", (HOST, server.port), osc_message("/server/status"))
    server.wait_for(lambda now: now["osc_withheld"] != before, "osc_withheld does not increase")


if not enter_namespace():
    print("skipped: no network namespaces")
    sys.exit(77)
add_address("lo", "127.0.0.1")
rack = "vol: gain -6dB"
with scratch(), Server("--io", "dummy", rack) as a, Server("--io", "dummy", "--osc-bind", "0.0.0.0", "--osc-allow", "192.0.2.1,203.0.113.7", rack) as b:
    expect_no_loop(a, b)
    expect_no_loop(b, a)
    expect_others_are_served(a)
    expect_no_large_answer_to_a_stranger(b)
    a.stop()
    b.stop()
