# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers on another machine, played by liblo and by libraries of npm: no amplification before the machine has proved
its address; complete answers and all changes after it.

    controllers.py PROGRAM

The server is in one network namespace, the controllers are in another one; a pair of virtual Ethernet devices connects
them.  Without the rights for that, or without liblo for Python, the test is skipped; without the libraries of npm
(npm/install), their part is.
"""

import json

from machines import *

try:
    import liblo
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Addresses of the server and of the other machine on five networks: of a desk, which proves its address; of a tablet,
# which is in --osc-notify; of a console, which uses TCP; of a desk with the libraries of npm; of `warprack send`.
DESK, TABLET, CONSOLE = ("192.0.2.1", "192.0.2.2"), ("192.0.3.1", "192.0.3.2"), ("192.0.4.1", "192.0.4.2")
NPM = ("192.0.5.1", "192.0.5.2")
SENDER = ("2001:db8::1", "2001:db8::2")
TABLET_PORT = 9001
FILLER = "0123456789abcdef"  # as long as a cookie


# ---- the other machine ----


class Controller:
    """A program with one port, which sends to the server from this port and remembers what it receives."""

    def __init__(self, port, host, server_port, protocol=liblo.UDP):
        self.liblo = liblo.Server(port, protocol)
        self.liblo.add_method(None, None, lambda path, arguments: self.received.append((path, arguments)))
        self.target = liblo.Address(host, server_port, protocol)
        self.received = []

    def close(self):
        self.liblo.free()

    def say(self, path, *arguments):
        self.liblo.send(self.target, path, *arguments)

    def say_together(self, n, path, *arguments):
        """Send n messages in a bundle."""
        self.liblo.send(self.target, liblo.Bundle(*[liblo.Message(path, *arguments) for _ in range(n)]))

    def listen(self, ms):
        """Receive messages until none comes for this time."""
        while self.liblo.recv(ms):
            pass
        received, self.received = self.received, []
        return received

    def expect(self, path, *arguments):
        """Wait for a message with these first arguments, and return it and those before it."""
        deadline = time.monotonic() + 20.0 * SLOWNESS
        while True:
            for at, (found, values) in enumerate(self.received):
                if found == path and values[: len(arguments)] == list(arguments):
                    got, self.received = self.received[: at + 1], self.received[at + 1 :]
                    return got
            assert time.monotonic() < deadline, f"no {path} {arguments}, but {self.received}"
            self.liblo.recv(50)


def other_machine(pipe):
    """Run calls of the test: the name of a controller, of a method, and arguments."""
    controllers = {}
    while True:
        name, method, *arguments = pipe.recv()
        try:
            if method == "open":
                controllers[name] = Controller(*arguments)
                pipe.send(None)
            elif method == "run":
                done = subprocess.run(arguments, capture_output=True, text=True, timeout=60 * SLOWNESS, check=False)
                pipe.send((done.returncode, done.stdout + done.stderr))
            else:
                pipe.send(getattr(controllers[name], method)(*arguments))
        except Exception as failure:
            pipe.send(failure)


def on(name, method, *arguments):
    """Let the other machine do something."""
    machine.pipe.send((name, method, *arguments))
    answer = machine.pipe.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


def n_bytes():
    """Bytes that the server's machine has received, and sent, in frames."""
    shown = subprocess.run(["ip", "-j", "-s", "link", "show", "near"], capture_output=True, check=True).stdout
    stats = json.loads(shown)[0]["stats64"]
    return stats["rx"]["bytes"], stats["tx"]["bytes"]


# ---- tests ----


def greet_tablet():
    """The tablet has sent nothing, and gets all values when the server starts."""
    got = on("tablet", "expect", "/node/vol/gain", -6.0)
    assert got[0][0] == "/server/started", got


def expect_no_amplification(server):
    """Each message of a stranger gets at most as many bytes as it has, with the headers on both sides."""
    on("desk", "open", None, DESK[0], server.port)
    n_in = n_out = 0
    for message in (
        *[("say", path) for path in ("/server/ping", "/ping", "/server/status", "/server/version", "/server/nodes", "/rack/get", "/node/*/*", "/nowhere")],
        ("say", "/node/vol/gain", 99.0), ("say", "/server/notify", 1), ("say", "/server/notify", 1, 9002), ("say", "/server/answers", "failures"),
        ("say", "/server/hello", "short"), ("say", "/server/hello", FILLER), ("say", "/server/hello", 20 * FILLER),
        ("say_together", 20, "/server/hello", FILLER), ("say_together", 20, "/server/sync", 1),
    ):  # fmt: skip
        news = True
        while news:  # the tablet may get news of the start, which count as bytes, too
            on("tablet", "listen", 10)
            n_packets = server.status()["osc_packets"]
            before = n_bytes()
            on("desk", *message)
            server.wait_for(lambda now: now["osc_packets"] > n_packets + 1 and n_bytes()[0] > before[0], message)
            server.osc.sync()
            received, sent = (now - then for now, then in zip(n_bytes(), before))
            news = on("tablet", "listen", 10)
        assert sent <= received, (message, received, sent)
        n_in, n_out = n_in + received, n_out + sent
    status = server.status()
    assert status["osc_trusted"] == 1 and status["subscribers"] == 1, status  # the tablet's
    print(f"a stranger sent {n_in} bytes and got {n_out}")
    on("desk", "listen", 100)


def prove(server):
    """The desk proves its address, and gets an answer to every message."""
    on("desk", "say", "/server/hello", FILLER)
    cookie = on("desk", "expect", "/server/cookie")[-1][1][0]
    on("desk", "say", "/server/hello", cookie)
    on("desk", "expect", "/done", "/server/hello")
    assert server.status()["osc_trusted"] == 2
    for message, answer in (
        (("/server/ping",), ("/done", "/server/ping")), (("/ping",), ("/done", "/ping")), (("/server/status",), ("/server/status",)),
        (("/server/version",), ("/server/version",)), (("/rack/get",), ("/rack/get",)), (("/node/vol/gain",), ("/node/vol/gain", -6.0)),
        (("/node/vol/gain", 99.0), ("/fail", "/node/vol/gain")), (("/nowhere",), ("/fail", "/nowhere")),
    ):  # fmt: skip
        on("desk", "say", *message)
        on("desk", "expect", *answer)


def same_port(server):
    """As Open Stage Control: the desk is subscribed on the port from which it sends, and sees what all others do."""
    on("desk", "say", "/server/notify", 1)
    on("desk", "expect", "/done", "/server/notify")
    on("desk", "expect", "/node/vol/gain", -6.0)  # the present value
    server.osc.do("/node/vol/gain", -9.0)
    on("desk", "expect", "/node/vol/gain", -9.0)
    server.osc.do("/rack/undo")
    got = on("desk", "expect", "/node/vol/gain", -6.0)
    assert "/rack/changed" in [path for path, _ in got], got
    on("desk", "say", "/node/vol/gain", -12.0)
    got = on("desk", "expect", "/done", "/node/vol/gain")
    assert "/node/vol/gain" not in [path for path, _ in got], got  # no news of its own change
    os.kill(server.worker(), signal.SIGKILL)
    on("desk", "expect", "/server/worker", "running")


def other_port(server):
    """A desk that listens on another port."""
    on("faders", "open", 9002, DESK[0], server.port)
    on("desk", "say", "/server/notify", 1, 9002, 20)
    on("desk", "expect", "/done", "/server/notify")
    on("faders", "expect", "/node/vol/gain", -12.0)
    on("desk", "say", "/node/vol/gain", -15.0)
    on("faders", "expect", "/node/vol/gain", -15.0)
    on("desk", "say", "/server/notify", 0, 9002)
    on("desk", "expect", "/done", "/server/notify")
    assert server.status()["subscribers"] == 2


def tablet(server):
    """As TouchOSC: the tablet gets all changes on its port.  It sends from another one, and is answered there."""
    on("tablet", "expect", "/node/vol/gain", -15.0)
    on("thumb", "open", None, TABLET[0], server.port)
    on("thumb", "say", "/ping")
    on("thumb", "expect", "/done", "/ping")
    on("thumb", "say", "/node/vol/gain", -18.0)
    on("thumb", "expect", "/done", "/node/vol/gain")
    on("desk", "expect", "/node/vol/gain", -18.0)
    on("tablet", "expect", "/node/vol/gain", -18.0)
    on("thumb", "say", "/server/notify", 1, TABLET_PORT)
    on("thumb", "expect", "/done", "/server/notify")
    on("tablet", "expect", "/node/vol/gain", -18.0)  # again


def liblo_tools(server):
    """oscdump shows the news, also of what oscsend does; both are on the machine of the desk."""
    target = f"osc.udp://{DESK[0]}:{server.port}/"
    script = f"""
    news=$(mktemp)
    oscdump -L 9006 > $news &
    dump=$!
    until grep -q "/node/vol/gain f -18" $news || [ $((n += 1)) = 200 ]; do
      oscsend {target} /server/notify ii 1 9006
      sleep 0.1
    done
    oscsend {target} /node/vol/gain f -19
    until grep "/node/vol/gain f -19" $news || [ $((n += 1)) = 400 ]; do sleep 0.05; done
    oscsend {target} /server/notify ii 0 9006
    kill $dump
    rm $news"""
    code, said = on("", "run", "sh", "-c", script)
    assert code == 0 and "gain f -19" in said, (code, said)
    on("desk", "expect", "/node/vol/gain", -19.0)


def send(server):
    """`warprack send` proves its address by itself, here over IPv6."""
    ip("address", "add", f"{SENDER[0]}/64", "dev", "near", "nodad")
    machine.ip("address", "add", f"{SENDER[1]}/64", "dev", "far", "nodad")
    code, said = on("", "run", PROGRAM, "send", "--host", SENDER[0], "-p", str(server.port), "/rack/get")
    assert code == 0 and "add vol gain gain=-19dB" in said, (code, said)
    assert server.status()["osc_trusted"] == 3


def console(server):
    """As Eos: a console with a TCP connection needs no proof, nor does its display, which gets the changes by UDP."""
    on("console", "open", None, CONSOLE[0], server.port, liblo.TCP)
    for path in ("/server/status", "/rack/get"):
        on("console", "say", path)
        on("console", "expect", path)
    on("console", "say", "/server/notify", 1)
    on("console", "expect", "/node/vol/gain", -19.0)
    server.osc.do("/node/vol/gain", -21.0)
    on("console", "expect", "/node/vol/gain", -21.0)
    assert server.status()["osc_trusted"] == 3
    on("display", "open", 9003, CONSOLE[0], server.port)
    on("console", "say", "/server/notify", 1, 9003)
    on("display", "expect", "/node/vol/gain", -21.0)
    on("console", "say", "/node/vol/gain", -24.0)
    on("display", "expect", "/node/vol/gain", -24.0)
    status = server.status()
    assert status["osc_trusted"] == 4 and status["osc_connections"] == 1, status


def npm(server):
    """The same exchanges by node-osc, osc-js and osc.  Returns the reason if they were not played, else an empty text."""
    folder = os.environ.get("WARPRACK_NPM", "")
    if not shutil.which("node") or not os.path.exists(f"{folder}/installed.json"):
        return f"the libraries of npm are not in '{folder}' (tests/acceptance/npm/install); all others were played"
    on("tablet", "close")
    networks = *NPM, *TABLET
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npm", "controllers.js")
    code, said = on("", "run", "node", script, folder, str(20.0 * SLOWNESS), str(server.port), *networks)
    assert code == 0, said
    print(f"played: {said}", end="")
    return ""


need("oscdump", "oscsend")
if not enter_namespace():
    print("skipped: no network namespaces")
    sys.exit(77)
machine = Machine(other_machine)
machine.connect((DESK, TABLET, CONSOLE, NPM))
allowed = "192.0.2.0/24,192.0.3.0/24,192.0.4.0/24,192.0.5.0/24,2001:db8::/64"
with scratch():
    options = ["--io", "dummy", "--osc-bind", "::", "--osc-allow", allowed, "--osc-notify", f"{TABLET[1]}:{TABLET_PORT}"]
    on("tablet", "open", TABLET_PORT, TABLET[0], 9)
    with Server(*options, "vol: gain -6dB") as server:
        greet_tablet()
        expect_no_amplification(server)
        prove(server)
        same_port(server)
        other_port(server)
        tablet(server)
        liblo_tools(server)
        send(server)
        console(server)
        not_played = npm(server)
        server.stop()
if not_played:
    print(f"skipped: {not_played}")
    sys.exit(77)
print("controllers on another machine get all answers and changes")
