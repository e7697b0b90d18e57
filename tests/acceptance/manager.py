# SPDX-License-Identifier: GPL-3.0-or-later
"""A session manager, and the program under it.  The manager is a stand-in, played by liblo and written from the text of
the NSM API 1.1; it is not nsmd."""

from common import *

try:
    import liblo
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


class Manager:
    """A session manager with one client."""

    def __init__(self):
        self.server = liblo.Server()
        self.server.add_method(None, None, self.receive)
        self.url = f"osc.udp://localhost:{self.server.port}/"
        self.client, self.received, self.is_dirty = None, [], None

    def receive(self, path, arguments, _types, source):
        if path == "/nsm/server/announce":
            self.client, self.announced, self.is_dirty = source, arguments, None
            self.server.send(source, "/reply", path, "welcome", "the stand-in", ":server-control:")
        elif path in ("/nsm/client/is_dirty", "/nsm/client/is_clean"):
            self.is_dirty = path == "/nsm/client/is_dirty"
        else:
            self.received.append((path, arguments))

    def wait(self, condition, *details):
        """Receive until the condition is true."""
        deadline = time.monotonic() + LIMIT_S * SLOWNESS
        while not condition():
            assert time.monotonic() < deadline, f"{self.received}\n{lines_of(details)}"
            self.server.recv(20)

    def order(self, path, *arguments):
        """Send an order, and return the answer: None, or the error's code and text; with the text of a reply."""
        self.received = [message for message in self.received if message[0] == "/nsm/client/message"]
        self.server.send(self.client, path, *arguments)
        answers = lambda: [m for m in self.received if m[0] in ("/reply", "/error") and m[1][0] == path]
        self.wait(answers, f"no answer to {path}")
        kind, values = answers()[0]
        return (0, values[1]) if kind == "/reply" else tuple(values[1:])

    def messages(self):
        return [arguments for path, arguments in self.received if path == "/nsm/client/message"]

    def send_raw(self, packet):
        """Send bytes from the manager's socket."""
        host, port = self.client.url.split("//")[1].strip("/").split(":")
        with socket.socket(fileno=os.dup(self.server.fileno())) as own:
            own.sendto(packet, (socket.gethostbyname(host), int(port)))


class Client:
    """The program under the manager; `path` is that of its project."""

    def __init__(self, manager, *arguments, program=(PROGRAM, "run"), env=None):
        manager.client = None
        self.manager, self.path, self.log = manager, None, tempfile.TemporaryFile(mode="w+")
        env = {**os.environ, **(env or {}), "NSM_URL": manager.url}
        self.process = subprocess.Popen([*program, *arguments], stdout=self.log, stderr=subprocess.STDOUT, env=env)
        manager.wait(lambda: manager.client, self.output)

    def open(self, path, client_id):
        """Open a project.  Returns the code of the error, or 0, and the text."""
        code, text = self.manager.order("/nsm/client/open", path, "a session", client_id)
        if not code:
            self.path = path
            self.port = int(text.split()[-1])
            self.osc = Osc(self.port)
        return code, text

    def save(self):
        return self.manager.order("/nsm/client/save")

    def rack(self):
        """The text of the rack that plays."""
        return next(value for value in self.osc.ask("/rack/get")[1] if isinstance(value, str))

    def saved(self):
        with open(f"{self.path}/main.rack", encoding="utf-8") as file:
            return file.read()

    def expect_dirty(self, is_dirty):
        self.manager.wait(lambda: self.manager.is_dirty == is_dirty, self.output, self.manager.is_dirty)

    def plays(self):
        """The number of blocks so far; 0 while no server answers, or no audio runs."""
        try:
            status = self.osc.ask("/server/status")[1]
        except ConnectionRefusedError:
            return 0
        status = dict(zip(status[0::2], status[1::2]))
        return status["blocks"] if status["state"] == "running" else 0

    def expect_to_play(self):
        before = until(self.plays, self.output, process=self.process)
        until(lambda: self.plays() > before, self.output, process=self.process)

    def output(self):
        return read_log(self.log)

    def expect_said(self, text):
        until(lambda: text in self.output(), self.output, process=self.process)

    def stop(self, signal_number=signal.SIGTERM):
        self.process.send_signal(signal_number)
        began = time.monotonic()
        code = self.process.wait(LIMIT_S * SLOWNESS)
        assert code == (0 if signal_number == signal.SIGTERM else -signal_number), (code, self.output())
        return time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
