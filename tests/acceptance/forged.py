# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets with a forged sender: servers never answer answers, nor themselves, and port 0 blocks no other sender.

    forged.py PROGRAM

Raw sockets need a user and a network namespace; without them the test is skipped.
"""

import select

from common import *

IP_TRANSPARENT = 19  # ip(7)
WAIT_S = 0.1  # long enough for the thousands of packets of a loop


def forge(from_port, to_port, packet):
    """Send a packet from that port of 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as sender:
        sender.bind(("127.0.0.1", 0))
        sender.sendto(struct.pack(">HHHH", from_port, to_port, 8 + len(packet), 0) + packet, ("127.0.0.1", 0))


def expect_others_to_be_heard(server):
    """While port 0 of the same address floods: that port is one sender, and not the whole address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", 0))
        client.connect(("127.0.0.1", server.port))
        osc = Osc(server.port)
        osc.socket.close()
        osc.socket = client
        for n in range(1, 21):
            for _ in range(3000):
                forge(0, server.port, osc_message("/server/ping"))
            for _ in range(20):
                osc.send(osc_message("/server/ping"))  # UDP may lose some
            assert osc.receive(30.0)[0] == "/done", n
            while select.select([client], [], [], 0.05)[0]:
                client.recv(65536)


def n_more(servers, act):
    """The number of packets that each server received because of `act`, without the queries of that number."""
    before = [server.status()["osc_packets"] for server in servers]
    act()
    time.sleep(WAIT_S)
    return [server.status()["osc_packets"] - n - 1 for server, n in zip(servers, before)]


def expect_no_loop(a, b):
    for packet in (
        osc_message("/server/ping"), osc_message("/nowhere"), b"/no packet", b"/done\0\0\0", osc_message("/done", "/x"), osc_message("/fail", "/x", 1, "y"),
        osc_message("/server/synced", 1), osc_message("/rack/changed", 1), osc_bundle([osc_message("/done", "/x")]),
        osc_message("/server/notify", 1), osc_message("/server/status"),
    ):  # fmt: skip
        for sender in (a, b):
            n = n_more([a, b], lambda: forge(sender.port, a.port, packet))
            print(f"{packet[:16]!r} from {'another server' if sender is b else 'itself'}: {n} packets")
            # The packet, its answer, and one answer to that.
            assert n[0] <= 2 and n[1] <= 1, (packet, n)


def expect_no_large_answer_to_a_stranger(server):
    """The system may let any address be bound, for addresses that move between machines."""
    with open("/proc/sys/net/ipv4/ip_nonlocal_bind", "w", encoding="ascii") as file:
        file.write("1")
    before = server.status()["osc_withheld"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        sender.bind(("203.0.113.7", 0))
        sender.sendto(osc_message("/server/status"), ("127.0.0.1", server.port))
    deadline = time.monotonic() + 20.0
    while server.status()["osc_withheld"] == before:
        assert time.monotonic() < deadline, f"nothing withheld: {server.status()}"
        time.sleep(0.02)


if not enter_namespace():
    print("skipped: no network namespaces")
    sys.exit(77)
add_address("lo", "127.0.0.1")
rack = "vol: gain -6dB"
with scratch(), Server("--io", "dummy", rack) as a, Server("--io", "dummy", "--osc-bind", "0.0.0.0", "--osc-allow", "192.0.2.1,203.0.113.7", rack) as b:
    expect_no_loop(a, b)
    expect_no_loop(b, a)
    expect_others_to_be_heard(a)
    expect_no_large_answer_to_a_stranger(b)
    a.stop()
    b.stop()
