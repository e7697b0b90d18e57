# SPDX-License-Identifier: GPL-3.0-or-later
"""The largest output sample of the program during a series of faults.

    ceiling.py PROGRAM [ROUNDS [SEED]]

The input is far over the ceiling, and has stretches of NaN, infinities, denormals, a constant, bursts of 60 dB; the
rack adds 12 dB.  In a random order, ROUNDS times (default 1), each fault occurs: of signals, worker, GPU (PoCL),
memory, files, clock, and edits.  No sample of the recordings may be above the ceiling of -0.3 dBFS or not finite, and
no 100 ms may be silent unless the input is.
"""

import random
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/acceptance")
from common import *

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
RATE, BLOCK = 48000, 256
CEILING_DB = -0.3
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(4), "little")
RACK = "g: gain 12dB"


def make_input(seconds):
    """A sine at +6 dBFS; from the third second on, one second of each kind of invalid input, between seconds of the
    sine."""
    t = np.arange(int(seconds * RATE)) / RATE
    x = (2.0 * np.sin(2 * np.pi * 1000.0 * t)).astype(np.float32)
    # Above 1e37 a gain of 20 dB would give infinity.
    wrong = (np.nan, np.inf, -np.inf, 1e-40, 1.0, 1e30, -1e30)
    for number in range(len(x) // (2 * RATE) - 1):
        start = 2 * RATE * (number + 1)
        x[start : start + RATE : 7] = wrong[number % len(wrong)]
        x[start + 1 : start + RATE // 10 : 7] *= np.float32(1000.0)
    write_wav("loud.wav", RATE, x)


def replaced(faults):
    """A fault of the worker; ends when another worker plays."""

    def strike(server):
        server.worker(other_than=server.arm(faults), limit_s=30.0)

    return strike


def for_a_second(faults):
    def strike(server):
        pid = server.arm(faults)
        time.sleep(1.0)
        server.command(pid, "disarm")

    return strike


def by_signal(number):
    def strike(server):
        old = server.worker()
        os.kill(old, number)
        server.worker(other_than=old, limit_s=30.0)

    return strike


def edit(faults, rack):
    """An edit while the worker has a fault; its result does not matter."""

    def strike(server):
        pid = server.arm(faults)
        server.osc.ask("/rack/chain", rack, timeout=60.0)
        if server.status()["worker_pid"] == pid:
            server.command(pid, "disarm")
        server.worker(limit_s=30.0)

    return strike


def crash_of_a_rack(server):
    """The worker crashes once it plays the rack; the next one plays it."""
    old = server.arm("worker.crash-plays=bad")
    server.osc.do("/rack/chain", f"{RACK} | bad: gain 20dB")
    server.worker(other_than=old, limit_s=30.0)


def clock(server):
    for ahead_s in (86400, -86400, 0):
        server.arm(f"clock.jump={ahead_s}", server.process.pid)
        server.osc.do("/node/g/gain", 12.0 + ahead_s * 1e-9)


def lost_device(server):
    errors = server.status()["device_errors"]
    server.arm("gpu.error=700")
    deadline = time.monotonic() + 20.0
    while server.status()["device_errors"] == errors and time.monotonic() < deadline:
        time.sleep(0.02)


LOOP = "add a gain gain=6dB\nadd d delay 10ms mix=100% feedback=95%\nconnect in a\nconnect a d\nconnect d out\nconnect in out\n"

CPU = {
    "worker.crash": replaced("worker.crash"),
    "worker.exit": replaced("worker.exit=1"),
    "worker.garbage": replaced("worker.garbage"),
    "worker.hang": replaced("worker.hang"),
    "worker.late": for_a_second("worker.late@1+5=16"),
    "worker.nan": for_a_second("worker.nan@1+2"),
    "worker.stop": replaced("worker.stop"),
    "worker.wrong": replaced("worker.wrong"),
    "SIGKILL": by_signal(signal.SIGKILL),
    "SIGSTOP": by_signal(signal.SIGSTOP),
    "worker.crash-on": edit("worker.crash-on=bad", f"{RACK} | bad: gain 20dB"),
    "worker.crash-plays": crash_of_a_rack,
    "alloc.fail": edit("alloc.fail@20+", f"{RACK} | c: compressor | l: delay 30ms feedback=99%"),
    "fs.eio": edit("fs.eio@1+", f"{RACK} | c: convolver loud.wav"),
    "IR of NaN": edit("fs.short", f"{RACK} | c: convolver loud.wav"),
    "feedback": edit("fs.short", LOOP),
    "edit": edit("fs.short", f"{RACK} | h: highpass 20 | p: peaking 1000 gain=24dB"),
    "clock.jump": clock,
}

GPU = {
    "gpu.build": edit("gpu.build", f"{RACK} | c: compressor"),
    "gpu.error": lost_device,
    "gpu.hang": replaced("gpu.hang"),
    "gpu.late": for_a_second("gpu.late@1+10=40"),
    "gpu.nomem": edit("gpu.nomem", f"{RACK} | d: delay 2s"),
    "gpu.record": edit("gpu.record", f"{RACK} | l: limiter"),
}


def run(backend, faults, chooser):
    """Record through all faults; returns their number and the samples."""
    order = [name for _ in range(ROUNDS) for name in chooser.sample(sorted(faults), len(faults))]
    make_input(20 + 5 * len(order))
    arguments = ("--io", "dummy", "--rate", str(RATE), "--block", str(BLOCK), "--channels", "1:1", "--play", "loud.wav")
    with FaultyServer(*arguments, "--record", "out.wav", "--backend", backend, RACK) as server:
        server.worker()
        time.sleep(3.0)
        for name in order:
            began = time.monotonic()
            faults[name](server)
            # A rack with a new name, so that no rack is quarantined.
            server.osc.ask("/rack/chain", f"{RACK} | n{chooser.randrange(1000)}: gain 0dB", timeout=60.0)
            time.sleep(0.7)
            status = server.status()
            print(f"{status['blocks'] * BLOCK / RATE:6.1f} {name:20} {time.monotonic() - began:5.1f} s, {status['dry']} dry, {status['faults']} faults, {status['worker_note']}", flush=True)
        blocks = server.status()["blocks"]
        print(server.stop())  # the output of the program
    return len(order), read_wav("out.wav")[1][: blocks * BLOCK, 0]


def main():
    chooser = random.Random(SEED)
    print(f"seed {SEED}")
    if not os.access(FAULTS_PROGRAM, os.X_OK):
        print("skipped: no build with faults")
        sys.exit(77)
    missing = no_device("opencl", FAULTS_PROGRAM)
    n_faults, largest, n_wrong, silent = 0, 0.0, 0, 0
    with scratch():
        for backend, faults in (("cpu", CPU), ("opencl", GPU)):
            if backend == "opencl" and missing:
                print(f"gpu.*: skipped: {missing}")
                continue
            n, out = run(backend, faults, chooser)
            n_faults += n
            n_wrong += int(np.sum(~np.isfinite(out)))
            largest = max(largest, float(np.max(np.abs(np.nan_to_num(out, posinf=1e9, neginf=-1e9)))))
            tenths = np.abs(out[: len(out) // 4800 * 4800]).reshape(-1, 4800)[1:-1]
            quiet = np.flatnonzero(np.max(tenths, axis=1) < 0.1)
            silent += len(quiet)
            if len(quiet):
                print(f"silent: tenths of a second {(quiet + 1).tolist()}")
    good = not n_wrong and not silent and db(largest) <= CEILING_DB + 1e-4
    print(
        f"figure: largest sample through {n_faults} faults: {db(largest):.4f} dBFS (at most {CEILING_DB}), {n_wrong} samples not finite (0), "
        f"{silent} tenths of a second silent (0){'' if good else ' FAILED'}"
    )
    sys.exit(not good)


main()
