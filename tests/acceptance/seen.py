# SPDX-License-Identifier: GPL-3.0-or-later
"""A live run under observation: which keys of /server/status, log events and news for subscribers change, and
why."""

import json
import mmap

from common import *

NAMES = json.loads(subprocess.run([os.environ["WARPRACK_NAMES"]], capture_output=True, check=True).stdout)
PATIENCE_S = 15.0

# Keys that change without any fault; and those that change when the machine stalls.
ALWAYS = """uptime_s blocks worker_blocks load_p50 load_p99 load_max callback_ns_max osc_packets osc_messages osc_sent
    watchdog_fed state_saved""".split()
BY_LOAD = "late dropped dry xruns log_lines log_left_out".split()

moved = {}  # (kind, name): the cause of the change
failures = []


def note(kind, names, what):
    """Record that these have changed."""
    for name in names:
        moved.setdefault((kind, name), what)


def tell(what, names, left, more=""):
    print(f"{what}: {' '.join(sorted(names))}", flush=True)
    if left:
        failures.append(f"{what}: {' '.join(sorted(left))} did not move{more}")


def differs(what, one, other, keys):
    """Keys that depend on the command line."""
    found = {key for key in keys.split() if one[key] != other[key]}
    note("key", found, what)
    tell(what, found, set(keys.split()) - found)


class Live(Server):
    """A live run and its subscriber."""

    def __init__(self, *arguments, **more):
        super().__init__("--json", *arguments, **more)
        self.listener = Osc(self.port)
        self.listener.do("/server/notify", 1)

    def status(self, timeout=0.5):
        """Repeated if a flood has dropped the datagram."""
        for _ in range(30):
            with contextlib.suppress(BlockingIOError):
                while True:
                    self.osc.receive(0.0)  # a late answer
            with contextlib.suppress(socket.timeout):
                return super().status(timeout=timeout)
            assert self.process.poll() is None, self.output()
        raise socket.timeout("it does not answer")

    def events(self):
        """The names in the log, in order; also those of plain lines."""
        names = []
        for line in self.output().splitlines():
            if line.startswith("{") and line.endswith("}"):
                names.append(json.loads(line)["event"])
            elif line.startswith("warprack run: ") and line.count(": ") > 1:
                names.append(line.split(": ")[1])
        return names

    def news(self):
        """Addresses of the news since the last call."""
        addresses = set()
        try:
            while True:
                addresses.add(self.listener.receive(0.001)[0])
        except (socket.timeout, BlockingIOError):
            return addresses

    @contextlib.contextmanager
    def sees(self, what, keys="", events="", news=""):
        """Runs an action; all of these must then change, be logged, or be sent."""
        self.news()
        before, n_events, heard = self.status(), len(self.events()), set()
        yield
        wanted = {("key", name) for name in keys.split()} | {("event", name) for name in events.split()}
        wanted |= {("news", name) for name in news.split()}
        found, deadline = set(), time.monotonic() + PATIENCE_S
        while found != wanted and time.monotonic() < deadline:
            now, written = self.status(), self.events()[n_events:]
            heard |= self.news()
            found |= wanted & {("key", name) for name in now if now[name] != before[name]}
            found |= wanted & {("event", name) for name in written} | wanted & {("news", name) for name in heard}
            time.sleep(0.02)
        for kind, name in found:
            note(kind, [name], what)
        tell(what, {name for _, name in found}, {name for _, name in wanted - found}, f"\n{self.last_lines()}")

    def said(self, what, events):
        """Wait until these are in the log."""
        deadline = time.monotonic() + PATIENCE_S
        wanted = set(events.split())
        while not wanted <= set(self.events()) and time.monotonic() < deadline:
            time.sleep(0.02)
        found = wanted & set(self.events())
        note("event", found, what)
        tell(what, found, wanted - found, f"\n{self.last_lines()}")

    def last_lines(self):
        """For debugging: all but the counters of every second."""
        lines = [line for line in self.output().splitlines() if '"event":"status"' not in line]
        return "\n".join(lines[-20:])

    def expect_quiet(self):
        """Without a fault no fault counter changes."""
        before = self.status()
        time.sleep(0.5)
        now = self.status()
        restless = {key for key in now if now[key] != before[key]} - set(ALWAYS) - set(BY_LOAD)
        if restless:
            failures.append(f"without any fault {' '.join(restless)} moved")

    def hold(self, pid, seconds):
        """Suspend a process for a while."""
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    def worker(self):
        """The worker process, once there is one."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = self.status()
            if status["worker"] == "running":
                return status["worker_pid"]
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)


class Ring:
    """The memory that a server and its worker share, which a faulty worker may overwrite."""

    def __init__(self, pid):
        layout = NAMES["ring"]
        folder = f"/proc/{pid}/fd"
        regions = []
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                if "memfd:" in os.readlink(f"{folder}/{name}"):
                    regions.append(int(name))
        with open(f"{folder}/{max(regions)}", "r+b") as file:  # the newest
            self.memory = mmap.mmap(file.fileno(), 0)
        self.finished = layout["finished"]
        self.slots = self.word(layout["slots_offset"])
        self.slot_bytes = self.word(layout["slot_bytes"])
        self.n_slots = struct.unpack_from("<I", self.memory, layout["n_slots"])[0]
        self.result = layout["result"]
        self.header_bytes = layout["slot_header_bytes"]

    def word(self, at):
        return struct.unpack_from("<Q", self.memory, at)[0]

    def put(self, at, value):
        struct.pack_into("<Q", self.memory, at, value)

    def put_result(self, value):
        """Read from all blocks."""
        for slot in range(self.n_slots):
            self.put(self.slots + slot * self.slot_bytes + self.result, value)

    def put_sound(self, sample):
        """Write to all blocks, inputs and outputs."""
        sound = np.full((self.slot_bytes - self.header_bytes) // 4, sample, np.float32).tobytes()
        for slot in range(self.n_slots):
            at = self.slots + slot * self.slot_bytes + self.header_bytes
            self.memory[at : at + len(sound)] = sound
