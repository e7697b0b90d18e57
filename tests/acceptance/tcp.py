# SPDX-License-Identifier: GPL-3.0-or-later
"""OSC over TCP: both framings, subscriptions, limits, slow and faulty clients; then clients of another maker (liblo).

    tcp.py PROGRAM

The clients that are too slow wait for 10 s, beside the other parts of the test.
"""

import ctypes

from common import *

END, ESC = b"\xc0", b"\xdb"


class Tcp:
    """A client that has a connection."""

    def __init__(self, port, is_slip=False, source="127.0.0.1", target="127.0.0.1", client=None):
        self.is_slip = is_slip
        self.socket = client or socket.create_connection((target, port), timeout=LIMIT_S * SLOWNESS, source_address=(source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.arrived = b""

    def frame(self, packet):
        if self.is_slip:
            return END + packet.replace(ESC, ESC + b"\xdd").replace(END, ESC + b"\xdc") + END
        return struct.pack(">I", len(packet)) + packet

    def send(self, packet):
        self.socket.sendall(self.frame(packet))

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionResetError("the server has closed the connection")
        self.arrived += data

    def packet(self):
        """The next packet from the server."""
        while self.is_slip and self.arrived.lstrip(END).count(END) == 0:
            self.more()
        if self.is_slip:
            packet, _, self.arrived = self.arrived.lstrip(END).partition(END)
            return packet.replace(ESC + b"\xdc", END).replace(ESC + b"\xdd", ESC)
        while len(self.arrived) < 4 or len(self.arrived) < 4 + struct.unpack(">I", self.arrived[:4])[0]:
            self.more()
        end = 4 + struct.unpack(">I", self.arrived[:4])[0]
        packet, self.arrived = self.arrived[4:end], self.arrived[end:]
        return packet

    def receive(self):
        return osc_parse(self.packet())

    def ask(self, address, *arguments):
        """Send a message and wait for its answer.  News that come before are in `news`."""
        self.send(osc_message(address, *arguments))
        self.news = []
        while True:
            reply, values = self.receive()
            if reply in ("/done", "/fail") and values[0] == address or reply == address:
                return reply, values
            self.news.append((reply, values))

    def wait_for(self, *message):
        """Skip messages until this one."""
        while self.receive() != message:
            pass

    def is_closed(self):
        """Whether the server closes the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def is_refused(port, source):
    """Whether another connection from an address is closed at once."""
    try:
        with Tcp(port, source=source) as client:
            client.send(osc_message("/server/ping"))
            return client.is_closed()
    except (BrokenPipeError, ConnectionResetError):
        return True


def is_accepted(port):
    try:
        with Tcp(port) as client:
            return client.ask("/server/ping")[0] == "/done"
    except ConnectionError:
        return False


def expect_packets(port, is_slip):
    """Commands, long answers, refused and large packets."""
    with Tcp(port, is_slip) as client:
        assert client.ask("/server/ping") == ("/done", ["/server/ping"])
        assert client.ask("/node/vol/gain", -6.25) == ("/done", ["/node/vol/gain"])
        assert client.ask("/node/vol/gain") == ("/node/vol/gain", [-6.25])
        reply, values = client.ask("/server/status")
        assert reply == "/server/status" and "osc_connections" in values
        assert "add lowcut highpass" in client.ask("/rack/get")[1][0]
        assert client.ask("/rack/add", "end", "gain")[0] == "/done"
        assert client.ask("/rack/remove", "end")[0] == "/done"
        client.send(osc_bundle([osc_message("/node/vol/gain", -3.0), osc_message("/server/ping")]))
        assert client.receive() == ("/done", ["/node/vol/gain"]) and client.receive() == ("/done", ["/server/ping"])
        client.send(b"/x\0\0")
        assert client.receive()[0] == "/fail"
        client.send(b"/" + bytes(100_000))
        assert client.receive()[1][2] == "packet refused: the packet is too large"
        for byte in client.frame(osc_message("/server/ping")):
            client.socket.send(bytes([byte]))
        assert client.receive() == ("/done", ["/server/ping"])
        for step in range(500):
            client.send(osc_message("/node/vol/gain", -step / 100.0))
        for step in range(500):
            assert client.receive() == ("/done", ["/node/vol/gain"])
        # Its last answers come although it sends no more.
        client.send(osc_message("/rack/chain", "lowcut: highpass 80 | vol: gain -6dB"))
        client.socket.shutdown(socket.SHUT_WR)
        assert client.receive()[1][0] == "/rack/chain"


def expect_news(server):
    """A client gets present values and the changes of others, not its own, until its connection ends."""
    server.osc.do("/node/vol/gain", -6.0)
    with Tcp(server.port) as client, Tcp(server.port, True) as other:
        assert client.ask("/server/notify", 1) == ("/done", ["/server/notify"])
        client.wait_for("/node/vol/gain", [-6.0])
        assert other.ask("/node/vol/gain", -7.5)[0] == "/done"
        client.wait_for("/node/vol/gain", [-7.5])
        server.osc.do("/node/vol/gain", -8.5)
        client.wait_for("/node/vol/gain", [-8.5])
        assert client.ask("/node/vol/gain", -9.5)[0] == "/done"
        other.ask("/node/lowcut/frequency", 90.0)
        assert client.ask("/server/version")[0] == "/server/version"
        assert ("/node/vol/gain", [-9.5]) not in client.news, client.news
        assert other.ask("/server/answers", "failures")[0] == "/done"
        assert other.ask("/node/vol/gain", 1e9)[0] == "/fail"
        assert server.status()["subscribers"] == 1
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as display:
            display.bind(("127.0.0.1", 0))
            display.settimeout(20.0)
            port = display.getsockname()[1]
            assert other.ask("/server/notify", 1, port) == ("/done", ["/server/notify"])  # news by UDP
            while osc_parse(display.recv(1000)) != ("/node/vol/gain", [-9.5]):
                pass
            assert other.ask("/server/notify", 0, port) == ("/done", ["/server/notify"])
    server.osc.do("/node/vol/gain", -6.0)  # there is nobody to get this
    server.wait_for(lambda now: now["subscribers"] == 0)


def expect_limits(server):
    """At most 8 connections of an address, and 32 of all; a place is free again after a connection."""
    before = server.status()["osc_connections_refused"]
    with contextlib.ExitStack() as stack:
        first = [stack.enter_context(Tcp(server.port)) for _ in range(8)]
        for client in first:
            assert client.ask("/server/ping")[0] == "/done"
        assert is_refused(server.port, "127.0.0.1"), "the 9th of an address"
        first[3].close()
        with Tcp(server.port) as client:
            assert client.ask("/server/ping")[0] == "/done"
            rest = [stack.enter_context(Tcp(server.port, source=f"127.0.0.{2 + n // 8}")) for n in range(24)]
            assert rest[-1].ask("/server/ping")[0] == "/done"
            assert is_refused(server.port, "127.0.0.9"), "the 33rd"
    assert server.status()["osc_connections_refused"] == before + 2


def expect_garbage(server):
    """A client that sends neither framing, or an invalid one, is closed."""
    before = server.status()
    garbage = [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, END + ESC + b"x" + END, b"\0\0\0\x04/a\0\0\x7f\xff\xff\xff"]
    for bytes_ in garbage:
        with Tcp(server.port) as client:
            client.socket.sendall(bytes_)
            assert client.is_closed(), bytes_
    generator = random.Random(1)
    for n in range(100):
        with Tcp(server.port) as client, contextlib.suppress(ConnectionError):
            client.socket.sendall((b"\0", END)[n % 2] + generator.randbytes(20_000))
    server.osc.do("/server/ping")
    after = server.status()
    assert after["osc_connections_refused"] >= before["osc_connections_refused"] + len(garbage)
    # The server still reads from the last ones, and refuses this address until it has found the end of one.
    until(lambda: is_accepted(server.port), "a place for another connection")


def expect_check(server):
    """The cost of a rack is predicted by a child process, one rack at a time; nothing changes."""
    before = server.status()
    with Tcp(server.port) as client, Tcp(server.port) as other:
        client.send(osc_message("/rack/check", "verb: reverb | gain"))
        assert client.ask("/server/ping")[0] == "/done"  # the check runs
        reply, values = other.ask("/rack/check", "no such effect")  # after the check that runs
        assert reply == "/fail" and values[2].startswith("rack:1:"), values
        reply, values = client.receive()
        cost = dict(zip(values[::2], values[1::2]))
        assert reply == "/rack/check" and cost["nodes"] == 2 and cost["backend"] == "cpu", cost
        assert 0.0 < cost["needs_us"] <= cost["needs_us_p99"] and cost["memory_bytes"] > 100_000, cost
        assert cost["block_frames"] == before["block_frames"], cost
        reply, values = other.ask("/rack/check", "convolver ir=/etc/hostname")
        assert reply == "/fail" and "/etc/hostname" in values[2], values  # outside the server's folder
        print(f"{cost['needs_us']:.1f} of {cost['period_us']:.1f} us, {cost['memory_bytes']} bytes")
    after = server.status()
    assert after["revision"] == before["revision"] and after["nodes"] == before["nodes"]


def expect_few_texts(server):
    """Long texts that several clients do not read have a limit: the last requests fail, and the others get all parts."""
    nodes = [f"{'n' * 59}{n:03d}" for n in range(64)]
    values = " ".join(f"{node}.{param}" for node in nodes for param in ("mix=1%", "time=20ms", "feedback=2%"))
    with open("long.rack", "w", encoding="utf-8") as file:
        file.writelines(f"add {node} delay\n" for node in nodes)
        file.writelines(f"scene s{n} {values}\n" for n in range(100))
    server.osc.do("/rack/load", "long.rack")
    clients = []
    for _ in range(7):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # with few bytes in the system
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        clients.append(Tcp(server.port, client=client))
        clients[-1].send(osc_message("/rack/get"))
    for client in clients:
        client.socket.recv(1, socket.MSG_PEEK)  # the server has begun to answer each
    failed = 0
    for client in clients:
        reply, answer = client.receive()
        n_read, n_parts = len(answer[0]), answer[2]
        while reply == "/rack/get" and answer[1] < (n_parts if client == clients[0] else 70):  # more than has room
            reply, answer = client.receive()
            n_read += len(answer[0])
        failed += reply == "/fail"
        assert reply == "/rack/get" or "too many texts" in answer[2], answer
        n_bytes = n_read if client == clients[0] else n_bytes
        client.close()
    assert (7 - failed) * n_bytes <= 8 * 2**20 < (8 - failed) * n_bytes, (failed, n_bytes)
    server.osc.do("/rack/undo")


class SlowClients:
    """One that begins a packet and does not end it, and one that asks and does not read."""

    def __init__(self, port):
        self.half = Tcp(port, source="127.0.0.21")
        self.half.socket.sendall(b"\0\0\0\x08/a\0")
        self.deaf = Tcp(port, source="127.0.0.22")
        self.deaf.socket.setblocking(False)
        self.began = time.monotonic()
        question, n_bytes = self.deaf.frame(osc_message("/server/status")), 0
        for _ in range(100):  # until the server has stopped reading, and TCP the client
            with contextlib.suppress(BlockingIOError):
                while n_bytes < 10_000_000:
                    n_bytes += self.deaf.socket.send((question * 50)[n_bytes % len(question) :])
            time.sleep(0.005)
        self.n_asked = n_bytes // len(question)

    def expect_closed(self, server):
        after = server.wait_for(lambda now: now["osc_connections_slow"] == 2)
        assert after["osc_dropped"] == 0, after["osc_dropped"]
        self.half.socket.settimeout(LIMIT_S * SLOWNESS)
        assert self.half.is_closed()
        self.half.close()
        self.deaf.close()
        print(f"figure: closed after {time.monotonic() - self.began:.1f} s, {self.n_asked} questions sent without reading")


# ---- clients of another maker ----


def expect_liblo_python(liblo, server):
    """Questions and answers of python3-liblo over TCP, with the size before each packet."""
    client, target, heard = liblo.Server(proto=liblo.TCP), liblo.Address("127.0.0.1", server.port, liblo.TCP), []
    client.add_method(None, None, lambda path, arguments: heard.append((path, list(arguments))))

    def expect(path, values, address="", *arguments):
        heard.clear()
        if address:
            client.send(target, address, *arguments)
        until(lambda: client.recv(20) and (path, values) in heard, path, values, heard, pause_s=0.0)

    expect("/done", ["/node/vol/gain"], "/node/vol/gain", ("f", -4.0))
    expect("/node/vol/gain", [-4.0], "/node/vol/gain")
    expect("/server/version", ["warprack", server.status()["version"]], "/server/version")
    expect("/done", ["/server/notify"], "/server/notify", 1)
    server.osc.do("/node/vol/gain", -5.0)
    expect("/node/vol/gain", [-5.0])
    print("python3-liblo: questions, answers, news")


def expect_liblo_slip(server):
    """Messages of liblo with SLIP, which its Python module does not offer.  liblo 0.31 receives no SLIP."""
    lo, pointer, TCP = ctypes.CDLL("liblo.so.7"), ctypes.c_void_p, 4
    lo.lo_address_new_with_proto.restype = lo.lo_message_new.restype = pointer
    target = pointer(lo.lo_address_new_with_proto(TCP, b"127.0.0.1", str(server.port).encode()))
    assert lo.lo_address_set_stream_slip(target, 1) == 0
    for gain in range(20):
        message = pointer(lo.lo_message_new())
        lo.lo_message_add_float(message, ctypes.c_float(-gain - 0.5))
        assert lo.lo_send_message(target, b"/node/vol/gain", message) > 0
        lo.lo_message_free(message)
    until(lambda: server.osc.ask("/node/vol/gain") == ("/node/vol/gain", [-19.5]), "the last value of liblo")
    lo.lo_address_free(target)
    print("liblo with SLIP: 20 values")


def expect_oscsend(server):
    """A client that sends one message and ends."""
    for gain in range(20):
        subprocess.run(["oscsend", f"osc.tcp://127.0.0.1:{server.port}/", "/node/vol/gain", "f", str(-gain)], check=True)
    until(lambda: server.osc.ask("/node/vol/gain") == ("/node/vol/gain", [-19.0]), "the last value of oscsend")
    print("oscsend osc.tcp://: 20 values")


def expect_foreign_clients(server):
    """Returns why a part was not tried; empty if all were."""
    expect_liblo_slip(server)
    if not shutil.which("oscsend"):
        return "no oscsend"
    expect_oscsend(server)
    try:
        import liblo
    except ImportError as missing:
        return str(missing)
    expect_liblo_python(liblo, server)
    return ""


with scratch(), Server("--backend", "cpu", "--io", "dummy", "lowcut: highpass 80 | vol: gain -6dB") as server:
    expect_check(server)
    expect_limits(server)
    expect_few_texts(server)
    slow = SlowClients(server.port)
    held = holdings(server.process.pid)
    for is_slip in (False, True):
        expect_packets(server.port, is_slip)
    expect_news(server)
    expect_garbage(server)
    why = expect_foreign_clients(server)
    slow.expect_closed(server)
    server.wait_for(lambda now: now["osc_connections"] == 0)
    late = holdings(server.process.pid)
    print(f"figure: held {held}, then {late}")
    assert late["fds"] < held["fds"] and (late["rss_kb"] <= held["rss_kb"] + 4096 or is_sanitized()), (held, late)
    server.stop()
if why:
    print(f"skipped: {why}")
    sys.exit(77)
