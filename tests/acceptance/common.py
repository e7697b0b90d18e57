# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the acceptance tests: the program, audio files, servers, and an OSC encoder that is independent of the
program.

The suite runs each test as `python3 test.py PROGRAM`.  Exit codes: 0 passed, 1 failed, 77 skipped.
"""

import contextlib
import fcntl
import io
import multiprocessing
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from concurrent import futures

try:
    import numpy as np
    import scipy.io.wavfile as wavfile
    import scipy.signal as sig
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

warnings.filterwarnings("ignore", category=wavfile.WavFileWarning)  # for chunks that SciPy ignores

os.environ.setdefault("WARPRACK_AUTO_GPU", "none")  # no GPU, unless a test allows it
os.environ.setdefault("WARPRACK_USUAL_PLUGINS", "none")  # nor the plugins of this machine
SLOWNESS = float(os.environ.get("CK_TIMEOUT_MULTIPLIER", "1"))  # multiplies waits, as in tests/support/suite.h
LIMIT_S = 60.0  # of waits, before SLOWNESS; longer than any stall of a busy machine
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/warprack")
FAULTS_PROGRAM = os.path.join(os.path.dirname(PROGRAM), "tests", "warprack_faults")


def need(*programs):
    """Skip the test if a program is missing."""
    for name in programs:
        if not shutil.which(name):
            print(f"skipped: no {name}")
            sys.exit(77)


def find_ladspa_faults():
    """Let the program find the faulty plugins of LADSPA; skip the test if the build has none."""
    folder = os.environ.get("WARPRACK_LADSPA_FIXTURES")
    if not folder or not os.path.exists(f"{folder}/faults.so"):
        print("skipped: the build has no LADSPA")
        sys.exit(77)
    os.environ["LADSPA_PATH"] = folder
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    subprocess.run([PROGRAM, "scan"], capture_output=True, check=True)


def is_sanitized():
    """Whether the program was built with AddressSanitizer: then it keeps freed memory, locks no memory and is slow."""
    with open(PROGRAM, "rb") as program:
        return b"__asan_init" in program.read()


def db(x):
    return 20.0 * np.log10(max(float(x), 1e-20))


def write_wav(path, rate, samples):
    """Write samples, [frames] or [frames][channels], as 32-bit float."""
    wavfile.write(path, rate, np.asarray(samples, dtype=np.float32))


def read_wav(path):
    """Read float samples, [frames][channels]."""
    rate, samples = wavfile.read(path)
    samples = samples.reshape(len(samples), -1)
    if samples.dtype.kind == "i":
        samples = samples / np.float64(2 ** (8 * samples.dtype.itemsize - 1))
    return rate, samples


def render(rack, source, target, *options):
    """Run `warprack render`; returns the finished process."""
    command = [PROGRAM, "render", *options, rack, source, target]
    return subprocess.run(command, capture_output=True, text=True, timeout=300 * SLOWNESS, check=False)


def no_device(api, program=PROGRAM):
    """Why this machine has no device for a GPU API; empty if it has one."""
    done = subprocess.run([program, "check", "--backend", api, "gain"], capture_output=True, text=True, check=False)
    return f"no {api} device: {done.stderr.strip()}" if done.returncode == 4 else ""


def until(what, *details, process=None, limit_s=LIMIT_S, pause_s=0.02):
    """Wait until `what()` is true, and return its result.  After limit_s, or if `process` ends, fail with the details:
    values, or functions that return them."""
    limit_s *= SLOWNESS
    deadline = time.monotonic() + limit_s
    while not (found := what()):
        ended = process and process.poll() is not None
        assert not ended, f"the process ended with {process.poll()}\n{lines_of(details)}"
        assert time.monotonic() < deadline, f"not within {limit_s} s\n{lines_of(details)}"
        time.sleep(pause_s)
    return found


def lines_of(details):
    """What a failed wait prints."""
    lines = []
    for detail in details:
        try:
            lines.append(str(detail() if callable(detail) else detail))
        except Exception as error:  # a program that has ended does not reply
            lines.append(repr(error))
    return "\n".join(lines)


def pairs(line):
    """The numbers in a line of keys and numbers."""
    words = line.split()
    return {key: float(value) for key, value in zip(words[0::2], words[1::2])}


@contextlib.contextmanager
def scratch():
    """A temporary folder, which is the current folder inside of the `with` block."""
    with tempfile.TemporaryDirectory(prefix="warprack-") as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


# ---- rows of a test ----

N_ATTEMPTS = 3


class Stalled(Exception):
    """A row has failed because the machine stalled.  A fault of the program fails each attempt; a machine that stalls
    does not do so at the same place N_ATTEMPTS times."""


def attempt(row, arguments, is_last):
    """Run a row.  Returns whether it passed; None if it must be repeated."""
    try:
        row(*arguments)
        return True
    except Exception as failure:
        if isinstance(failure, Stalled) and not is_last:
            print(f"  repeated, the machine stalled:\n{traceback.format_exc()}")
            return None
        print(f"FAILED {row.__name__}\n{traceback.format_exc()}")
        return False


def run_row(row, arguments):
    """Run a row in a folder of its own.  Returns whether it passed, and what it printed."""
    folder, variables, began, said = os.getcwd(), dict(os.environ), time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(said):
        print(f"{' '.join([row.__name__, *map(str, arguments)])}: {row.__doc__}")
        for n in range(N_ATTEMPTS):
            os.chdir(tempfile.mkdtemp(prefix=f"{row.__name__}-", dir=folder))
            passed = attempt(row, arguments, n == N_ATTEMPTS - 1)
            os.chdir(folder)
            os.environ.clear()  # the next row may run in this process
            os.environ.update(variables)
            if passed is not None:
                break
        print(f"  {time.monotonic() - began:.1f} s")
    return passed, said.getvalue()


def side_by_side(rows, n_processes=3):
    """Run rows that mostly wait, a function with its arguments each, in this number of processes.  Prints what each has
    printed when it ends.  Returns the number of rows that failed."""
    n_failed = 0
    with futures.ProcessPoolExecutor(n_processes, mp_context=multiprocessing.get_context("fork")) as pool:
        waiting = [pool.submit(run_row, row, arguments) for row, *arguments in rows]
        for done in futures.as_completed(waiting):
            passed, said = done.result()
            n_failed += not passed
            print(said, end="", flush=True)
    return n_failed


# ---- a private network ----


def enter_namespace(spaces="-rn"):
    """Restart the test in new namespaces, by default of users and of the network; False if the system allows none."""
    if os.environ.get("WARPRACK_NAMESPACE") == "yes":
        return True
    if subprocess.run(["unshare", spaces, "true"], capture_output=True, check=False).returncode:
        return False
    os.execvpe("unshare", ["unshare", spaces, sys.executable, *sys.argv], {**os.environ, "WARPRACK_NAMESPACE": "yes"})


def add_address(device, address):
    """Add an address to a device of this namespace, and activate the device."""
    SIOCSIFADDR, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        place = struct.pack("16sHH4s8x", device.encode(), socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(any_socket, SIOCSIFADDR, place)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", device.encode(), IFF_UP))


def add_address6(device, address):
    """Add an IPv6 address to a device, which must be active."""
    SIOCSIFADDR = 0x8916
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as any_socket:
        place = struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, address), 128, socket.if_nametoindex(device))
        fcntl.ioctl(any_socket, SIOCSIFADDR, place)


def send_from(address, target, packet):
    """Send a packet to `target`, a host and a port, from an address that this machine need not have."""
    IP_TRANSPARENT = 19  # ip(7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        sender.bind((address, 0))
        sender.sendto(packet, target)


def forge(source, target, packet):
    """Send a packet to `target` as if it came from `source`: an address of this machine, and a port."""
    header = struct.pack(">HHHH", source[1], target[1], 8 + len(packet), 0)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as sender:
        sender.bind((source[0], 0))
        sender.sendto(header + packet, (target[0], 0))


# ---- OSC 1.0; encoded here, because a test with the program's encoder would not find its faults ----


def osc_string(text):
    data = text.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def osc_message(address, *args):
    tags, data = ",", b""
    for arg in args:
        if isinstance(arg, bool):
            tags += "T" if arg else "F"
        elif isinstance(arg, int):
            tags, data = tags + "i", data + struct.pack(">i", arg)
        elif isinstance(arg, float):
            tags, data = tags + "f", data + struct.pack(">f", arg)
        else:
            tags, data = tags + "s", data + osc_string(arg)
    return osc_string(address) + osc_string(tags) + data


def ntp(unix_time):
    return int((unix_time + 2208988800) * 2**32)


def osc_bundle(messages, at=None):
    """A bundle for a Unix time; without a time, for immediately."""
    data = b"#bundle\0" + struct.pack(">Q", 1 if at is None else ntp(at))
    for message in messages:
        data += struct.pack(">i", len(message)) + message
    return data


def osc_messages(packet):
    """The messages of a packet: of a bundle without bundles in it, or one."""
    if not packet.startswith(b"#bundle\0"):
        return [packet]
    messages, at = [], 16
    while at < len(packet):
        size = struct.unpack_from(">i", packet, at)[0]
        messages.append(packet[at + 4 : at + 4 + size])
        at += 4 + size
    return messages


def osc_parse(packet):
    def string(at):
        end = packet.index(b"\0", at)
        return packet[at:end].decode(), (end + 4) & ~3

    address, at = string(0)
    tags, at = string(at)
    args = []
    for tag in tags[1:]:
        if tag == "s":
            value, at = string(at)
        elif tag in "ifhdt":
            kind = {"i": ">i", "f": ">f", "h": ">q", "d": ">d", "t": ">Q"}[tag]
            value = struct.unpack_from(kind, packet, at)[0]
            at += struct.calcsize(kind)
        else:
            value = {"T": True, "F": False}.get(tag)
        args.append(value)
    return address, args


class Osc:
    """A client of a running server."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Not the server's address: before the server has its port, the kernel may give that port to the client, which
        # would then receive its own messages.
        self.socket.bind(("127.0.0.2", 0))
        self.socket.connect(("127.0.0.1", port))
        self.n_syncs = 0
        self.waiting = []  # messages of a bundle that was received

    def send(self, packet):
        self.socket.send(packet)

    def receive(self, timeout=LIMIT_S * SLOWNESS):
        self.socket.settimeout(timeout)
        while not self.waiting:
            self.waiting = osc_messages(self.socket.recv(65536))
        return osc_parse(self.waiting.pop(0))

    def ask(self, address, *args, timeout=LIMIT_S * SLOWNESS):
        """Send a message and wait for its answer: /done, /fail, or a message with the same address."""
        self.send(osc_message(address, *args))
        while True:
            reply, values = self.receive(timeout)
            if reply in ("/done", "/fail") and values[0] == address or reply == address:
                return reply, values

    def do(self, address, *args):
        reply, values = self.ask(address, *args, timeout=LIMIT_S * SLOWNESS)
        assert reply == "/done", (address, args, reply, values)
        return values

    def sync(self):
        """Wait until the server has handled all earlier messages, and they are audible."""
        self.n_syncs += 1
        self.send(osc_message("/server/sync", self.n_syncs))
        while self.receive() != ("/server/synced", [self.n_syncs]):
            pass


def read_log(log):
    """All that a process has written to its log so far.  A seek would also move the position at which the process
    writes, and it would overwrite its first lines."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode(errors="replace")


reserved_ports = []  # sockets, while this process lives


def free_port():
    """A UDP port that neither another test nor the kernel gives to somebody else before the server has it: below the
    ports that the kernel chooses, and reserved by a name among the tests of this machine."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        end = int(file.read().split()[0])
    for port in random.sample(range(end // 2, end), end // 2):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0warprack-test-port-{port}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("", port))
        except OSError:
            name.close()
            continue
        reserved_ports.append(name)
        return port
    raise AssertionError("no port is free")


class Server:
    """`warprack run` in the background, with its OSC client."""

    WET_BLOCKS = 32  # four times as many good blocks as end the fallback

    def __init__(self, *arguments, env=None, program=PROGRAM, patience=120.0, states=("running", "ended")):
        self.port = free_port()
        command = [program, "run", "--osc-port", str(self.port), *arguments]
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
        )
        self.osc = Osc(self.port)

        def runs():
            with contextlib.suppress(socket.timeout, ConnectionRefusedError):
                # The ping drops late replies to earlier questions.
                return self.status(timeout=0.2)["state"] in states and self.osc.do("/server/ping")

        # The server replies a moment before it plays.
        until(runs, "the server does not run", self.output, process=self.process, limit_s=patience)

    def status(self, **timeout):
        """/server/status as a dictionary."""
        reply, values = self.osc.ask("/server/status", **timeout)
        assert reply == "/server/status", (reply, values)
        return dict(zip(values[0::2], values[1::2]))

    def wait_for(self, condition, *details, limit_s=LIMIT_S):
        """Wait until /server/status satisfies the condition.  Returns that status."""

        def satisfied():
            status = self.status()
            return status if condition(status) else None

        return until(satisfied, *details, self.status, self.output, process=self.process, limit_s=limit_s)

    def advance(self, blocks, *details, limit_s=LIMIT_S):
        """Wait until the server has played this many more blocks."""
        began = self.status()["blocks"] + 1  # a block may have begun before
        self.wait_for(lambda now: now["blocks"] >= began + blocks, *details, limit_s=limit_s)

    def wait_until_wet(self, limit_s=LIMIT_S, n_blocks=WET_BLOCKS):
        """Wait until this many blocks have been played in a row, none of them dry.  Returns the status then."""
        dry, first = -1, 0

        def is_wet(status):
            nonlocal dry, first
            if status["dry"] != dry:
                dry, first = status["dry"], status["blocks"]
            return status["blocks"] >= first + n_blocks

        return self.wait_for(is_wet, "still dry", limit_s=limit_s)

    def worker(self, other_than=0, limit_s=LIMIT_S):
        """The worker process, once there is one."""

        def plays(status):
            return status["worker"] == "running" and status["worker_pid"] not in (0, other_than)

        return self.wait_for(plays, limit_s=limit_s)["worker_pid"]

    def control_times_s(self):
        """Of the thread that serves packets: CPU time, and the time for which it has waited for a processor."""
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            path = f"/proc/{self.process.pid}/task/{task}"
            with open(f"{path}/comm", encoding="ascii") as name, open(f"{path}/schedstat", encoding="ascii") as times:
                if name.read().strip() == "warprack-osc":
                    return dict(zip(("cpu", "waits"), (int(word) * 1e-9 for word in times.read().split())))
        raise AssertionError("no thread is called warprack-osc")

    def output(self):
        return read_log(self.log)

    def wait(self, timeout=120.0):
        return self.process.wait(timeout * SLOWNESS)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.wait(LIMIT_S)
        assert code == 0, (code, self.output())
        return self.output()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class FaultyServer(Server):
    """A server with fault hooks (engine/base/faults.h).  A test can arm faults in both of its processes at any time."""

    def __init__(self, *arguments, env=None):
        self.name = f"warprack-test-{os.getpid()}"
        super().__init__(*arguments, env={"WARPRACK_FAULT_SOCKET": self.name, **(env or {})}, program=FAULTS_PROGRAM)

    def command(self, pid, text):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
            asking.bind("")
            asking.settimeout(LIMIT_S * SLOWNESS)
            asking.sendto(text.encode(), f"\0{self.name}.{pid}")
            return asking.recv(65536).decode()

    def arm(self, faults, pid=None):
        """Arm faults in a process, by default in the current worker; returns its process id."""
        pid = pid or self.worker()
        answer = self.command(pid, f"arm {faults}")
        assert answer == "done", answer
        return pid

    def n_failed(self, name, pid):
        """How often a fault has occurred in a process since it was armed."""
        lines = [line.split() for line in self.command(pid, "list").splitlines()]
        return {words[0].split("@")[0]: int(words[4]) for words in lines}[name]


def holdings(pid):
    """The resources of a process: file descriptors, threads, mappings of shared memory and their size in kB, resident
    memory in kB, children, and how many of them are zombies."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        shared = [line.split("-", 1) for line in file if "/dev/shm/" in line or "/memfd:" in line]
    children = subprocess.run(["ps", "--ppid", str(pid), "-o", "stat="], capture_output=True, text=True, check=False).stdout
    return {
        "fds": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
        "shm": len(shared),
        "shm_kb": sum(int(end.split()[0], 16) - int(begin, 16) for begin, end in shared) // 1024,
        "rss_kb": int(status["VmRSS"].split()[0]),
        "children": len(children.split()),
        "zombies": sum(state.startswith("Z") for state in children.split()),
    }


def check_holdings(early, late, memory_kb):
    """Print what a process holds at the end.  Fail if it is not the same as before, or has memory_kb more memory."""
    grown = {key: late[key] - early[key] for key in late}
    print(f"figure: held at the end: {late}, increase: {grown} (0, memory {memory_kb} KiB at most)")
    assert all(n == 0 for kind, n in grown.items() if kind != "rss_kb"), grown
    assert grown["rss_kb"] <= memory_kb or is_sanitized(), grown


class Jackd:
    """A JACK server without a sound card, with the same name in every run (the reason is in tests/support/jackd.h).  A
    test with several servers numbers them."""

    def __init__(self, rate=48000, period=64, number="", is_realtime=False):
        test = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        name = f"warprack-{zlib.crc32(PROGRAM.encode()):08x}-{test}{number}"
        self.name, self.rate, self.period, self.is_realtime = name, rate, period, is_realtime
        self.env = {"JACK_DEFAULT_SERVER": name, "JACK_NO_START_SERVER": "1", "JACK_NO_AUDIO_RESERVATION": "1"}
        self.start()

    SHARED_BYTES = 48 << 20  # of /dev/shm; containers often have 64 MiB, and a server without room gets SIGBUS

    def skip_unless(self, has_room):
        if not has_room:
            print(f"skipped: a server of JACK needs {self.SHARED_BYTES >> 20} MiB of /dev/shm")
            sys.exit(77)

    def launch(self):
        """Start the server, and do not wait for it.  Skip the test if it has no room."""
        space = os.statvfs("/dev/shm")
        self.skip_unless(space.f_bavail * space.f_frsize >= self.SHARED_BYTES)
        # Every client locks the server's memory, 50 kB for each possible port; for 2,048 ports that takes 30 ms.
        command = ["jackd", "-R" if self.is_realtime else "-r", "-p", "128", "-n", self.name, "-d", "dummy"]
        command += ["-r", str(self.rate), "-p", str(self.period)]
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def output(self):
        return read_log(self.log)

    def start(self):
        """Start the server and wait until it accepts clients."""
        self.launch()

        def accepts():
            self.skip_unless(self.process.poll() != -signal.SIGBUS)  # another server has taken the room
            return not self.run("jack_lsp").returncode

        until(accepts, "jackd accepts no client", self.output, process=self.process)

    def listens(self):
        """Whether the server accepts clients.  Opens no client."""
        with open("/proc/net/unix", encoding="utf-8") as sockets:
            return any(f"/jack_{self.name}_" in line for line in sockets)

    def run(self, *command, timeout=LIMIT_S):
        return subprocess.run(
            command, env={**os.environ, **self.env}, capture_output=True, text=True, timeout=timeout, check=False
        )

    def wait_for(self, port, there=True):
        """Wait until a port exists, or is gone."""
        until(lambda: (port in self.ports()) == there, f"{'no ' if there else ''}port {port}")

    def connect(self, source, target, limit_s=LIMIT_S):
        """Try to connect two ports until the connection exists.  jack_connect fails before the client of a port is
        active, and if the rack has already restored the connection."""
        deadline, done = time.monotonic() + limit_s, None
        while f"   {target}" not in self.ports("-c", source):
            assert time.monotonic() < deadline, (source, target, done)
            done = self.run("jack_connect", source, target)

    def ports(self, *options):
        """The lines of jack_lsp.  Tries again if it fails, because a busy server refuses clients now and then."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                listed = self.run("jack_lsp", *options, timeout=5.0)
                if not listed.returncode:
                    return listed.stdout.splitlines()
                reason = listed.stderr
            except subprocess.TimeoutExpired:
                reason = "jack_lsp hangs"  # libjack waits for ever if the server ends while a client opens
            assert time.monotonic() < deadline, reason
            time.sleep(0.02)

    def wires(self):
        """All connections, as (output, input)."""
        peers, port, found = {}, None, set()
        for line in self.ports("-c", "-p"):
            if line.startswith("   "):
                peers[port].append(line.strip())
            elif not line.startswith("\t"):
                port, peers[line] = line, []
            elif "input" in line:
                found |= {(peer, port) for peer in peers[port]}
            else:
                found |= {(port, peer) for peer in peers[port]}
        return found

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


class Marks:
    """Searches for clicks in the recording of a live server.  Each mark is a part of the recording: it contains one
    action, and the signal is steady before and after it.

    The largest second difference during the action may be ALLOWED times the larger one of those before and after.
    Marks with a late block are not judged, because the machine may have stalled.
    """

    ALLOWED = 1.5
    # Seconds after an edit until its fades have ended, and the filters have settled.
    SETTLED = 0.4

    def __init__(self, server, rate, block):
        self.server, self.rate, self.block = server, rate, block
        self.late = None  # late blocks before the steady signal that precedes the next mark
        self.marks = []  # (name, first frame, last frame, number of late blocks)

    def now(self):
        """Number of frames that the driver has processed, which is the length of the recording, and of late blocks."""
        status = self.server.status()
        return status["blocks"] * self.block, status["late"]

    @contextlib.contextmanager
    def mark(self, name):
        """Each action after the first mark needs a mark: the steady signal after one mark is also the one before the
        next."""
        # Count late blocks from SETTLED before, because the echoes of a dropped block are audible for a while.
        if self.late is None:
            self.late = self.now()[1]
            time.sleep(self.SETTLED)
        begin, before = self.now()[0], self.late
        yield
        time.sleep(self.SETTLED)
        end, self.late = self.now()
        time.sleep(self.SETTLED)
        self.marks.append((name, begin, end, self.now()[1] - before))

    def n_judged(self):
        return sum(not late for *_, late in self.marks)

    def check_machine(self):
        """If fewer than a quarter of the marks can be judged, play as long without edits, to find out whether blocks
        are late then, too.  Call it while the server still plays."""
        self.enough = self.n_judged() >= len(self.marks) / 4
        n_late = 0
        for _ in range(0 if self.enough else 10):  # as long as a mark, but without an edit
            late = self.server.status()["late"]
            time.sleep(3 * self.SETTLED)
            n_late += self.server.status()["late"] > late
        self.is_stalled = n_late > 0

    def exit_code(self, out, latency):
        """Judge all marks.  Returns the test's exit code: 77 if too few can be judged because the machine stalls."""
        _, failed = self.judge(out, latency)
        if not failed and self.is_stalled:
            print("skipped: on this machine blocks are late without edits, too")
            return 77
        return int(failed > 0 or not self.enough)

    def judge(self, out, latency):
        """Judge and print all marks.  Returns the number of judged marks, and of those with a click."""
        failed = judged = 0
        window = int(0.2 * self.rate)
        for name, begin, end, late in self.marks:
            begin, end = begin - 2 * self.block, end + latency
            before = second_difference(out[begin - window : begin])
            after = second_difference(out[end : end + window])
            across = second_difference(out[begin:end])
            ratio = across / max(before, after)
            note = f"not judged, the machine stalled for {late} blocks" if late else ""
            judged += not late
            failed += ratio > self.ALLOWED and not late
            print(f"{name:20} steady {before:.5f} -> {after:.5f}, across {across:.5f}: {ratio:.2f} {note}")
        print(f"{judged} of {len(self.marks)} edits judged, {failed} over {self.ALLOWED}")
        return judged, failed


def second_difference(x):
    return float(np.max(np.abs(np.diff(np.asarray(x, dtype=np.float64), 2)), initial=0.0))
