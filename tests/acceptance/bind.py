# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that listens on the address of a network also replies to clients on its own machine: at that address and at
127.0.0.1.

    bind.py PROGRAM

If another program uses the port on 127.0.0.1, the server reports how local clients reach it.

The test adds addresses in a network namespace; without one it is skipped.
"""

from common import *

# Addresses of this machine in the test's namespace
ADDRESS, OTHER = "192.0.2.1", "192.0.2.2"
ADDRESS6, OTHER6 = "2001:db8::1", "2001:db8::2"


def ask(program, *words):
    command = [PROGRAM, program, "--timeout", "20", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def expect(done, code, text):
    assert done.returncode == code and text in done.stdout + done.stderr, (done.args, done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def started(name, *arguments):
    """A running server that accepts packets from 192.0.2.0/24 only, and writes its events to the file `name`."""
    with open(name, "w", encoding="utf-8") as log:
        command = [PROGRAM, "run", "--io", "dummy", "--osc-allow", "192.0.2.0/24", *arguments]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        until(lambda: "OSC port" in read(name), lambda: read(name), process=process)
        yield process
        process.terminate()
        assert process.wait(20.0) == 0
    finally:
        process.kill()


def read(name):
    with open(name, encoding="utf-8") as log:
        return log.read()


def write_rack(gain):
    with open("second.rack", "w", encoding="utf-8") as file:
        file.write(f"add vol gain gain={gain}dB\nconnect in vol\nconnect vol out\n")


def expect_second(port):
    """Two servers use the same port on different addresses: the first one keeps 127.0.0.1, and SIGHUP to the second one
    reloads the rack of the second one.  Another program has the second one's TCP port."""
    write_rack(-12)
    with socket.create_server((OTHER, int(port))), started("second.log", "-p", port, "--osc-bind", OTHER, "second.rack") as second:
        said = read("second.log")
        assert f"osc.note: clients that send to 127.0.0.1 do not reach this server: UDP port {port} on 127.0.0.1 is in use" in said, said
        assert f"warprack send --host {OTHER} -p {port}" in said, said
        no_tcp = f"osc.note: clients that use TCP do not reach this server at {OTHER} {port}: Address already in use"
        until(lambda: no_tcp in read("second.log"), lambda: read("second.log"), process=second)  # an event comes once a second
        expect(ask("send", "--host", OTHER, "-p", port, "/node/vol/gain"), 0, "/node/vol/gain f -12")
        write_rack(-15)
        second.send_signal(signal.SIGHUP)
        until(lambda: "rack.reloaded" in read("second.log"), lambda: read("second.log"), process=second)
        expect(ask("send", "--host", OTHER, "-p", port, "/node/vol/gain"), 0, "/node/vol/gain f -15")
        expect(ask("send", "-p", port, "/node/vol/gain"), 0, "/node/vol/gain f -6")


def expect_all_addresses(port):
    """A server on 0.0.0.0 or :: sends complete replies to every address of its own machine, not only to 127.0.0.1."""
    with started("all.log", "-p", port, "--osc-bind", "0.0.0.0", "vol: gain -6dB"):
        for host in ("127.0.0.1", ADDRESS):
            expect(ask("status", "--host", host, "-p", port, "state"), 0, "state  running")
        expect_answers_from(port, socket.AF_INET, [ADDRESS, OTHER, "127.0.0.1", "127.0.0.2"])
    with started("ip6.log", "-p", port, "--osc-allow", "192.0.2.0/24,2001:db8::/32", "--osc-bind", "::", "vol: gain -6dB"):
        expect_answers_from(port, socket.AF_INET, [ADDRESS, OTHER])
        expect_answers_from(port, socket.AF_INET6, [ADDRESS6, OTHER6, "::1"])


def expect_tcp(port, addresses):
    """The server accepts TCP connections at these addresses."""
    for asked in addresses:
        with socket.create_connection((asked, int(port)), timeout=LIMIT_S) as client:
            client.sendall(struct.pack(">I", 20) + osc_message("/server/ping"))
            assert client.recv(1000)[4:12] == b"/done\0\0\0", asked


def expect_answers_from(port, family, addresses):
    """Each reply comes from the address to which the client sent its message; a connected socket receives no others."""
    expect_tcp(port, addresses)
    for own in addresses:
        for asked in addresses:
            with socket.socket(family, socket.SOCK_DGRAM) as client:
                client.settimeout(LIMIT_S)
                client.bind((own, 0))
                client.connect((asked, int(port)))
                client.send(osc_message("/server/ping"))
                try:
                    client.recv(1000)
                except TimeoutError:
                    raise AssertionError(f"{own} sent a ping to {asked}, but got no reply from that address") from None


def choose_ports(text):
    """Set the range from which the kernel chooses free ports."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as ports:
        ports.write(text)


def expect_any_port():
    """With --osc-port 0 the server takes the other one of two ports, if another program uses one of them on
    127.0.0.1."""
    usual = read("/proc/sys/net/ipv4/ip_local_port_range")
    for _ in range(5):  # the kernel may try either port first
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 40000))
            choose_ports("40000 40001")
            with started("any.log", "-p", "0", "--osc-bind", ADDRESS, "vol: gain -6dB"):
                choose_ports(usual)
                said = read("any.log")
                assert "osc.note" not in said and "OSC port 40001" in said, said
                expect(ask("send", "-p", "40001", "/node/vol/gain"), 0, "/node/vol/gain f -6")


if not enter_namespace():
    print("skipped: no network namespaces")
    sys.exit(77)
add_address("lo", "127.0.0.1")
add_address("lo:1", ADDRESS)
add_address("lo:2", OTHER)
add_address6("lo", ADDRESS6)
add_address6("lo", OTHER6)
with scratch(), Server("--io", "dummy", "--osc-bind", ADDRESS, "--osc-allow", "192.0.2.0/24", "vol: gain -6dB") as server:
    port = str(server.port)
    for host in ("127.0.0.1", ADDRESS):
        expect(ask("send", "--host", host, "-p", port, "/node/vol/gain"), 0, "/node/vol/gain f -6")
        expect(ask("send", "--host", host, "-p", port, "/rack/get"), 0, "add vol gain gain=-6dB")
        expect(ask("status", "--host", host, "-p", port, "state"), 0, "state  running")
    expect_tcp(port, ["127.0.0.1", ADDRESS])
    expect(ask("send", "-p", port, "/node/vol/gain", "-3"), 0, "/done")
    # The server sends notifications from the socket that received the subscription.
    server.osc.do("/server/notify", 1)
    for name, value in (("gain", -3.0), ("bypass", 0), ("mute", 0), ("solo", 0), ("ramp", 20.0)):  # the present values
        assert server.osc.receive() == (f"/node/vol/{name}", [value])
    expect(ask("send", "--host", ADDRESS, "-p", port, "/node/vol/gain", "-9"), 0, "/done")
    assert server.osc.receive() == ("/node/vol/gain", [-9.0])
    assert server.status()["osc_withheld"] == 0
    server.osc.do("/node/vol/gain", -6.0)
    expect_second(port)
    server.stop()
    expect_all_addresses(port)
    expect_any_port()
print("local clients reach the server at 127.0.0.1 and at its address")
