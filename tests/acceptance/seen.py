# SPDX-License-Identifier: GPL-3.0-or-later
"""Observes a live run: records which keys of /server/status change, which events are logged, and which notifications
are sent, with the cause of each."""

import json

from common import *

NAMES = json.loads(subprocess.run([os.environ["WARPRACK_NAMES"]], capture_output=True, check=True).stdout)
PATIENCE_S = LIMIT_S * SLOWNESS

# Keys that change without a fault, and keys that change when the machine stalls.
ALWAYS = """uptime_s blocks worker_blocks load_p50 load_p99 load_max callback_ns_max osc_packets osc_messages osc_sent
    watchdog_fed state_saved""".split()
BY_LOAD = "late dropped dry xruns log_lines log_left_out".split()

moved = {}  # (kind, name): the cause of the change
failures = []


def note(kind, names, what):
    """Record `what` as the cause of these names, unless they have one."""
    for name in names:
        moved.setdefault((kind, name), what)


def tell(what, names, left, more=""):
    print(f"{what}: {' '.join(sorted(names))}", flush=True)
    if left:
        failures.append(f"{what}: {' '.join(sorted(left))} did not change{more}")


def differs(what, one, other, keys):
    """Check that these keys differ between two runs with different command lines."""
    found = {key for key in keys.split() if one[key] != other[key]}
    note("key", found, what)
    tell(what, found, set(keys.split()) - found)


class Live(Server):
    """A live run, with a second client that subscribes."""

    def __init__(self, *arguments, **more):
        super().__init__("--json", *arguments, **more)
        self.listener = Osc(self.port)
        self.listener.do("/server/notify", 1)

    def status(self, timeout=0.5):
        """/server/status as a dictionary.  Repeats the query if a flood has dropped it or its reply."""
        for _ in range(30):
            with contextlib.suppress(BlockingIOError):
                while True:
                    self.osc.receive(0.0)  # discard late replies
            with contextlib.suppress(socket.timeout):
                return super().status(timeout=timeout)
            assert self.process.poll() is None, self.output()
        raise socket.timeout("the server does not reply")

    def events(self):
        """The names of the events in the log, in order: of JSON lines and of plain lines."""
        names = []
        for line in self.output().splitlines():
            if line.startswith("{") and line.endswith("}"):
                names.append(json.loads(line)["event"])
            elif line.startswith("warprack run: ") and line.count(": ") > 1:
                names.append(line.split(": ")[1])
        return names

    def news(self):
        """The addresses of the notifications since the last call."""
        addresses = set()
        try:
            while True:
                addresses.add(self.listener.receive(0.001)[0])
        except (socket.timeout, BlockingIOError):
            return addresses

    @contextlib.contextmanager
    def sees(self, what, keys="", events="", news=""):
        """After the `with` block, wait until all these keys have changed, events are logged and notifications are
        sent."""
        self.news()
        before, n_events, notices = self.status(), len(self.events()), set()
        yield
        wanted = {("key", name) for name in keys.split()} | {("event", name) for name in events.split()}
        wanted |= {("news", name) for name in news.split()}
        found, deadline = set(), time.monotonic() + PATIENCE_S
        while found != wanted and time.monotonic() < deadline:
            now, written = self.status(), self.events()[n_events:]
            notices |= self.news()
            found |= wanted & {("key", name) for name in now if now[name] != before[name]}
            found |= wanted & {("event", name) for name in written} | wanted & {("news", name) for name in notices}
            time.sleep(0.02)
        for kind, name in found:
            note(kind, [name], what)
        tell(what, {name for _, name in found}, {name for _, name in wanted - found}, f"\n{self.last_lines()}")

    def said(self, what, events):
        """Wait until these events are in the log."""
        deadline = time.monotonic() + PATIENCE_S
        wanted = set(events.split())
        while not wanted <= set(self.events()) and time.monotonic() < deadline:
            time.sleep(0.02)
        found = wanted & set(self.events())
        note("event", found, what)
        tell(what, found, wanted - found, f"\n{self.last_lines()}")

    def last_lines(self):
        """The last lines of the log, without the status line of each second."""
        lines = [line for line in self.output().splitlines() if '"event":"status"' not in line]
        return "\n".join(lines[-20:])

    def expect_quiet(self):
        """Check that no fault counter changes while there is no fault."""
        before = self.status()
        time.sleep(0.5)
        now = self.status()
        restless = {key for key in now if now[key] != before[key]} - set(ALWAYS) - set(BY_LOAD)
        if restless:
            failures.append(f"without a fault {' '.join(restless)} changed")

    def hold(self, pid, seconds):
        """Stop a process for this time."""
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)


class Ring:
    """The memory that a server and its worker share; the test writes to it as a faulty worker could.

    It writes by way of the server's memory, because a seal refuses further mappings.
    """

    def __init__(self, pid):
        layout = NAMES["ring"]
        folder = f"/proc/{pid}/fd"
        regions = []
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # the server has just closed it
                if "memfd:warprack-ring" in os.readlink(f"{folder}/{name}"):
                    regions.append(int(name))
        newest = os.stat(f"{folder}/{max(regions)}").st_ino
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            mappings = [line.split() for line in maps if "memfd:warprack-ring" in line]
        self.begin = next(int(words[0].split("-")[0], 16) for words in mappings if int(words[4]) == newest)
        self.memory = open(f"/proc/{pid}/mem", "r+b", buffering=0)
        self.finished = layout["finished"]
        self.slots = self.word(layout["slots_offset"])
        self.slot_bytes = self.word(layout["slot_bytes"])
        self.n_slots = self.word(layout["n_slots"]) & 0xFFFFFFFF
        self.result = layout["result"]
        self.header_bytes = layout["slot_header_bytes"]

    def word(self, at):
        return struct.unpack("<Q", os.pread(self.memory.fileno(), 8, self.begin + at))[0]

    def put(self, at, value):
        self.write(at, struct.pack("<Q", value))

    def write(self, at, data):
        os.pwrite(self.memory.fileno(), data, self.begin + at)

    def put_result(self, value):
        """Write a result to the headers of all slots."""
        for slot in range(self.n_slots):
            self.put(self.slots + slot * self.slot_bytes + self.result, value)

    def put_sound(self, sample):
        """Fill the inputs and outputs of all slots with a sample."""
        sound = np.full((self.slot_bytes - self.header_bytes) // 4, sample, np.float32).tobytes()
        for slot in range(self.n_slots):
            at = self.slots + slot * self.slot_bytes + self.header_bytes
            self.write(at, sound)
