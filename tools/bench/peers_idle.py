# SPDX-License-Identifier: GPL-3.0-or-later
"""Live clients of tools/bench/peers under a JACK server without a sound card: the processor time that they take."""

import ctypes
import glob
import os
import re
import signal
import socket
import struct
import subprocess
import time

SERVER = f"peers{os.getpid()}"
BLOCK = 64
last_words = ""  # what the last warprack printed at its end, with its late blocks


class Failed(Exception):
    """A program that did not do its work; the text says which, and why."""


def end_with_parent():
    """In a child: it ends when this script does, however that happens."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """jackd, for one `with` block."""

    def __enter__(self):
        argv = ["jackd", "--name", SERVER, "--no-realtime", "-d", "dummy", "-r", "48000", "-p", str(BLOCK), "-C", "2", "-P", "2"]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)
        subprocess.run(["jack_wait", "-s", SERVER, "-w", "-t", "10"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def family(pid):
    """A process with all its descendants."""
    pids = [pid]
    for place in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(place, encoding="ascii") as file:
                pids += [p for child in file.read().split() for p in family(int(child))]
        except OSError:
            pass  # the thread has ended
    return pids


def cpu_ns(pid):
    """Processor time of all threads of a process and its descendants."""
    total = 0
    for place in (place for p in family(pid) for place in glob.glob(f"/proc/{p}/task/*/schedstat")):
        try:
            with open(place, encoding="ascii") as file:
                total += int(file.read().split()[0])
        except OSError:
            pass
    return total


def milliseconds(argv, seconds):
    """Milliseconds of processor time that a client takes in a second, after it has started."""
    global last_words
    with Server():
        environment = dict(os.environ, JACK_DEFAULT_SERVER=SERVER)
        client = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=environment, preexec_fn=end_with_parent)
        try:
            time.sleep(1.0)
            before, began = cpu_ns(client.pid), time.monotonic()
            time.sleep(seconds)
            result = (cpu_ns(client.pid) - before) / (time.monotonic() - began) / 1e6
            if client.poll() is not None:
                raise Failed(f"{' '.join(argv)} ended: {' '.join(client.stdout.read()[-500:].split())}")
        finally:
            client.send_signal(signal.SIGINT)
            try:
                words, _ = client.communicate(timeout=5.0)
            except subprocess.TimeoutExpired:
                client.kill()
                words, _ = client.communicate()
    if "late" in words:
        last_words = words
    return result


def late_blocks():
    found = re.search(r"blocks (\d+).*?late (\d+)", last_words, re.DOTALL)
    return (True, f"{found[2]} of {found[1]} blocks late") if found else (False, "no count of late blocks")


def scsynth_us(n_bundles=10000, per_s=30000):
    """Microseconds of processor time that scsynth takes for one set, in bundles of 10."""
    def word(text):
        data = text.encode() + b"\0"
        return data + b"\0" * (-len(data) % 4)

    one = word("/n_set") + word(",isf") + struct.pack(">i", 0) + word("amp") + struct.pack(">f", 0.5)
    bundle = word("#bundle") + struct.pack(">Q", 1) + 10 * (struct.pack(">i", len(one)) + one)
    with Server(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = dict(os.environ, JACK_DEFAULT_SERVER=SERVER, SC_JACK_DEFAULT_INPUTS="", SC_JACK_DEFAULT_OUTPUTS="")
        synth = subprocess.Popen(["scsynth", "-u", str(port), "-B", "127.0.0.1"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=environment, preexec_fn=end_with_parent)
        try:
            control.connect(("127.0.0.1", port))
            control.settimeout(10.0)
            time.sleep(1.5)
            control.send(word("/status") + word(","))
            control.recv(4096)
            before, began = cpu_ns(synth.pid), time.monotonic()
            time.sleep(n_bundles / per_s)
            idle = (cpu_ns(synth.pid) - before) / (time.monotonic() - began)
            before, began = cpu_ns(synth.pid), time.monotonic()
            for sent in range(n_bundles):
                control.send(bundle)
                if sent % 100 == 99:
                    time.sleep(max(0.0, began + sent / per_s - time.monotonic()))
            time.sleep(0.1)
            used = cpu_ns(synth.pid) - before - idle * (time.monotonic() - began)
        finally:
            synth.kill()
            synth.wait()
    return used / (10 * n_bundles) / 1e3
