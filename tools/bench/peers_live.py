# SPDX-License-Identifier: GPL-3.0-or-later
"""Live clients of tools/bench/peers under a JACK server without a sound card: the processor time that they take."""

import contextlib
import ctypes
import glob
import os
import signal
import socket
import struct
import subprocess
import time

SERVER = f"peers{os.getpid()}"
BLOCK = 64
SO_RCVBUFFORCE = 33  # of Linux; Python has no name for it
N_GAINS = 100
TOGETHER = 10  # sets of a bundle
SETTLE_S = 1.0  # after a start


class Failed(Exception):
    """A program that did not do its work; the text says which, and why."""


def end_with_parent():
    """In a child: it ends when this script does, however that happens."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def jack_server(channels):
    argv = ["jackd", "--name", SERVER, "--no-realtime", "-d", "dummy", "-r", "48000", "-p", str(BLOCK),
            "-C", str(channels), "-P", str(channels)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent) as process:
        try:
            subprocess.run(["jack_wait", "-s", SERVER, "-w", "-t", "10"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            yield
        finally:
            process.terminate()


class Client:
    """A client of a JACK server, for one `with` block."""

    def __init__(self, argv, channels):
        self.argv, self.server, self.words = argv, jack_server(channels), ""

    def __enter__(self):
        self.server.__enter__()
        environment = dict(os.environ, JACK_DEFAULT_SERVER=SERVER)
        self.began = time.monotonic()
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=environment, preexec_fn=end_with_parent)
        return self

    def __exit__(self, *_):
        """Ends it; `words` is then what it has printed."""
        has_ended = self.process.poll() is not None
        self.process.send_signal(signal.SIGINT)
        try:
            self.words, _ = self.process.communicate(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.words, _ = self.process.communicate()
        self.server.__exit__(None, None, None)
        if has_ended:
            raise Failed(f"{' '.join(self.argv)[:300]} ended: {' '.join(self.words[-500:].split())}")

    def cpu_ns(self):
        """Processor time of all threads of the client and its descendants."""
        total = 0
        for place in (place for pid in family(self.process.pid) for place in glob.glob(f"/proc/{pid}/task/*/schedstat")):
            try:
                with open(place, encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass  # the thread has ended
        return total

    def cpu_share(self, seconds):
        """Processor time divided by the real time, measured for about `seconds`."""
        before, began = self.cpu_ns(), time.monotonic_ns()
        time.sleep(seconds)
        return (self.cpu_ns() - before) / (time.monotonic_ns() - began)


def family(pid):
    """A process with all its descendants."""
    pids = [pid]
    for place in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(place, encoding="ascii") as file:
                pids += [p for child in file.read().split() for p in family(int(child))]
        except OSError:
            pass
    return pids


def start_s(argv, word):
    """Seconds from the start of a client to the line that has the word."""
    with Client(argv, 2) as client:
        for line in client.process.stdout:
            if word in line:
                return time.monotonic() - client.began
    raise Failed(f"{' '.join(argv)[:300]} does not print {word}")


def idle_ms(argv, channels, seconds):
    """Milliseconds of processor time that a client takes in a second, and what it has printed at its end."""
    with Client(argv, channels) as client:
        time.sleep(SETTLE_S)
        result = 1e3 * client.cpu_share(seconds)
    return result, client.words


# ---- OSC ----


def message(address, types="", *values):
    def word(text):
        data = text.encode() + b"\0"
        return data + b"\0" * (-len(data) % 4)

    data = word(address) + word("," + types)
    for letter, value in zip(types, values):
        if letter == "b":
            data += struct.pack(">i", len(value)) + value + b"\0" * (-len(value) % 4)
        else:
            data += word(value) if letter == "s" else struct.pack(">" + letter, value)
    return data


def bundle(messages):
    return message("#bundle")[:8] + struct.pack(">Q", 1) + b"".join(struct.pack(">i", len(m)) + m for m in messages)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(control, word):
    """How often the word is in the packets that have come."""
    n = 0
    try:
        while True:
            n += control.recv(65536, socket.MSG_DONTWAIT).count(word)
    except BlockingIOError:
        return n


def ask_until_answered(control, question):
    control.settimeout(0.1)
    for _ in range(100):
        try:
            control.send(question)
            control.recv(65536)
            return
        except (TimeoutError, ConnectionRefusedError):
            time.sleep(0.1)
    raise Failed("no answer to OSC")


def set_us(argv, port, question, setup, packets, answer, seconds=1.0, per_s=30000):
    """Microseconds of processor time that a server with N_GAINS gains takes for one set in bundles; the number of sets
    that it answered, and the number of all sets.

    question: a message that a ready server answers.  setup: a message that makes the gains, if they are not there.  packets: bundles of sets.
    answer: the address of the answer to a set.
    """
    with Client(argv, 2) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        with contextlib.suppress(PermissionError):
            control.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        control.connect(("127.0.0.1", port))
        ask_until_answered(control, question)
        control.setblocking(True)
        if setup:
            control.send(setup)
        time.sleep(SETTLE_S)
        answers(control, answer)
        idle = client.cpu_share(seconds)
        n_sent = n_answered = 0
        before, began = client.cpu_ns(), time.monotonic_ns()
        while n_sent < seconds * per_s:
            due = (time.monotonic_ns() - began) * 1e-9 * per_s
            while n_sent < min(due, seconds * per_s):
                control.send(packets[n_sent % len(packets)])
                n_sent += 1
            n_answered += answers(control, answer)
            time.sleep(1e-4)
        time.sleep(0.2)
        n_answered += answers(control, answer)
        used = client.cpu_ns() - before - idle * (time.monotonic_ns() - began)
    n_sets = n_sent * TOGETHER
    return used / n_sets / 1e3, n_answered, n_sets


def values():
    """Bundles as (gain, value), which set each gain several times."""
    for first in range(0, 12 * N_GAINS, TOGETHER):
        yield [(i % N_GAINS, 0.01 * (1 + i // N_GAINS)) for i in range(first, first + TOGETHER)]


def warprack_set_us(program):
    port = free_port()
    rack = "".join(f"add g{i:03} gain\nconnect in g{i:03}\nconnect g{i:03} out gain=-60dB\n" for i in range(N_GAINS))
    argv = [program, "run", "--io", "jack", "--server", SERVER, "--osc-port", str(port), rack]
    packets = [bundle([message(f"/node/g{i:03}/gain", "f", -100.0 * value) for i, value in together]) for together in values()]
    return set_us(argv, port, message("/server/ping"), b"", packets, b"/done\0")


def scsynth_set_us(is_answered):
    """is_answered: a /s_get for each set, because scsynth answers no /n_set."""
    def name(text):
        return bytes([len(text)]) + text.encode()

    def unit(kind, rate, special, inputs, outputs):
        return (name(kind) + struct.pack(">biih", rate, len(inputs), len(outputs), special) +
                b"".join(struct.pack(">ii", *place) for place in inputs) + bytes(outputs))

    # A gain from the input to the output; an input of a unit is (unit, its output), or (-1, a constant).
    definition = (b"SCgf" + struct.pack(">ih", 2, 1) + name("gain") + struct.pack(">iff", 2, 2.0, 0.0) +
                  struct.pack(">if", 1, 1.0) + struct.pack(">i", 1) + name("gain") + struct.pack(">i", 0) +
                  struct.pack(">i", 4) + unit("Control", 1, 0, [], [1]) + unit("In", 2, 0, [(-1, 0)], [2]) +
                  unit("BinaryOpUGen", 2, 2, [(1, 0), (0, 0)], [2]) + unit("Out", 2, 0, [(-1, 1), (2, 0)], []) +
                  struct.pack(">h", 0))
    made = [message("/s_new", "siii", "gain", 1000 + i, 0, 0) for i in range(N_GAINS)]
    port = free_port()
    packets = [bundle([m for i, value in together for m in
                       [message("/n_set", "isf", 1000 + i, "gain", value)] +
                       [message("/s_get", "is", 1000 + i, "gain")] * is_answered]) for together in values()]
    argv = ["scsynth", "-u", str(port), "-B", "127.0.0.1", "-i", "2", "-o", "2"]
    return set_us(argv, port, message("/status"), message("/d_recv", "bb", definition, bundle(made)), packets, b"/n_set\0")
