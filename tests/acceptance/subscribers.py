# SPDX-License-Identifier: GPL-3.0-or-later
"""After a server was killed, or ended normally, the next one sends /server/started and all values to its
subscribers."""

from common import *

RACK = "lowcut: highpass 80 | vol: gain -6dB"
LAST = "/node/vol/ramp"  # the last present value


class Listener:
    """A client whose socket is not connected, so that it receives packets of any server."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(20.0)

    def receive(self):
        packet, self.server = self.socket.recvfrom(65536)
        return osc_parse(packet)

    def expect_value(self, address, value):
        """The next notification of a value must be this one; skips notifications about the server."""
        news = self.receive()
        while news[0].startswith("/server/"):
            news = self.receive()
        assert news == (address, [value]), news

    def ask(self, port, address, *arguments):
        self.socket.sendto(osc_message(address, *arguments), ("127.0.0.1", port))
        while self.receive() != ("/done", [address]):
            pass


def start(*options):
    return Server("--io", "dummy", "--backend", "cpu", "--state", "state", *options, RACK)


def has_stored(words):
    return os.path.exists("state/subscribers") and words in open("state/subscribers").read()


def expect_greeting(listener, server, **expected):
    first = listener.receive()
    while listener.server[1] != server.port:  # skip the last messages of the previous server
        first = listener.receive()
    assert first[0] == "/server/started" and first[1][0] == "warprack", first
    values = {}
    while LAST not in values:
        address, arguments = listener.receive()
        values[address] = arguments[0]
    for name, value in expected.items():
        address = f"/node/{name.replace('__', '/')}"
        assert values[address] == value, (address, values)
    print(f"the server on port {server.port} has sent /server/started and {len(values)} values")


with scratch():
    listener, own = Listener(), None
    with start() as server:
        listener.ask(server.port, "/server/notify", 1)
        own = f"127.0.0.1 {listener.socket.getsockname()[1]}\n"
        until(lambda: has_stored(own), f"state/subscribers lacks '{own}'")
        while listener.receive()[0] != LAST:
            pass
        server.osc.do("/node/vol/gain", -20.0)
        listener.expect_value("/node/vol/gain", -20.0)
        server.process.kill()
        server.process.wait()
    with start("--fresh") as server:
        expect_greeting(listener, server, lowcut__frequency=80.0, vol__gain=-6.0)
        server.osc.do("/node/vol/gain", -9.0)
        listener.expect_value("/node/vol/gain", -9.0)  # the listener is still subscribed
        server.stop()
    with start() as server:
        expect_greeting(listener, server, lowcut__frequency=80.0, vol__gain=-9.0)
        listener.ask(server.port, "/server/notify", 0)
        server.stop()
    with open("state/subscribers") as file:
        assert own not in file.read()
    with open("state/subscribers", "w") as file:
        file.write(f"\n\nlocalhost 1\n127.0.0.1\n192.0.2.1 9\n::1 9\nx\x01 {'9' * 300}\n{own}")
    with start() as server:
        expect_greeting(listener, server, vol__gain=-9.0)
        assert server.status()["subscribers"] == 1
        server.stop()
