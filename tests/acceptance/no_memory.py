# SPDX-License-Identifier: GPL-3.0-or-later
"""If any allocation fails, the program reports that, does not crash, and continues if it can.

    no_memory.py PROGRAM [EVERY [PART...]]

The build with fault hooks makes allocation number n fail, for n = 1, 2, … up to the last allocation: of each OSC
command to a running server, of renders of a file, and of the starts of a server and of its worker.  Only every EVERY-th
n (default 13) is tested, and the first one is random.  In renders on a GPU, buffer, recording, module and submission
number n fail in the same way.
"""

import random

from common import *

EVERY = int(sys.argv[2]) if len(sys.argv) > 2 else 13
RATE = 48000
SEED = int.from_bytes(os.urandom(4), "little")
MOST = 5000  # largest n: ends the loop if it does not end by itself

BASE = ("/rack/chain", "g: gain -3dB")
ADD = ("/rack/add", "x", "gain")
CONNECT = ("/rack/connect", "in", "x")

# Each row has the command that is tested, which is the last one, and the commands before it.
COMMANDS = [
    [("/rack/chain", "g: gain -3dB | h: highpass 20")],
    [BASE, ADD],
    [BASE, ADD, CONNECT],
    [BASE, ADD, CONNECT, ("/rack/disconnect", "in", "x")],
    [BASE, ADD, ("/rack/remove", "x")],
    [BASE, ADD, ("/rack/undo",)],
    [BASE, ADD, ("/rack/undo",), ("/rack/redo",)],
    [("/rack/set", "g.gain", -4.0)],
    [("/node/g/gain", -3.0)],
    [("/node/g/gain",)],
    [("/rack/get",)],
    [("/rack/save", "saved.rack")],
    [("/rack/load", "saved.rack")],
    [BASE, ("/rack/clear",)],
    [BASE],
    [("/server/ping",)],
    [("/server/status",)],
    [("/server/version",)],
    [("/server/notify", 1)],
    [("/server/notify", 0)],
]


def answer(server, packet, timeout=0.1):
    """The next answer, or None."""
    if packet:
        server.osc.send(packet)
    try:
        return server.osc.receive(timeout)
    except socket.timeout:
        return None


def commands():
    """The replies of a server to each command when an allocation fails."""
    chooser = random.Random(SEED)
    failed = refused = silent = 0
    with FaultyServer("--io", "dummy", "--rate", str(RATE), "--channels", "1:1", "g: gain -3dB") as server:
        server.worker()
        server.wait_until_wet()
        for *before, words in COMMANDS:
            n = chooser.randint(1, EVERY)
            has_failed = True
            while has_failed:
                for other in before:
                    server.osc.do(*other)
                pid = server.arm(f"alloc.fail@{n}", server.process.pid)
                reply = answer(server, osc_message(*words))
                has_failed = server.n_failed("alloc.fail", pid)
                reply = reply or (None if has_failed else answer(server, None, 10.0 * SLOWNESS))
                has_failed = has_failed or server.n_failed("alloc.fail", pid)
                server.command(pid, "disarm")
                server.osc.sync()  # now the command has ended
                failed += has_failed
                refused += bool(reply) and reply[0] == "/fail"
                silent += reply is None  # no memory for the reply
                assert has_failed or reply, (words, n)
                assert not reply or reply[0] != "/fail" or (has_failed and reply[1][2]), (words, n, reply)
                n += EVERY
        server.worker()
        server.wait_until_wet()
        # If a worker had no memory to receive a message, it was replaced, and the next worker got the message.
        restarts = server.status()["worker_restarts"]
        server.osc.do("/rack/chain", "g: gain -3dB")
        server.osc.do("/node/g/gain", -6.0)
        server.stop()
    print(f"commands: {failed} allocations failed: {refused} commands refused, {silent} without an answer, {restarts} workers replaced", flush=True)
    assert failed > 10 and refused > 5


def sweep(what, words, env, ends, n=None, every=EVERY):
    """Run the program for every `every`-th n, and return the last n.  `ends` checks a run, and returns whether it is
    the last one."""
    n = n or 1 + random.Random(SEED).randrange(EVERY)
    n_failed = 0
    while n < MOST:
        env["WARPRACK_FAULTS"] = env["WHOM"] + f"alloc.fail@{n}"
        done = subprocess.run([FAULTS_PROGRAM, *words], env={**os.environ, **env}, capture_output=True, text=True, timeout=60 * SLOWNESS, check=False)
        assert done.returncode >= 0, f"{what}, allocation {n}: signal {-done.returncode}\n{done.stderr}"
        if ends(done, n):
            break
        n_failed += 1
        n += every
    print(f"{what}: {n_failed} runs failed, with every {every}th allocation up to {n}", flush=True)
    assert n_failed > 3 and n < MOST
    return n


def renders():
    """A render fails with a message and leaves no file, or it writes the complete file."""
    rng = np.random.default_rng(1)
    write_wav("in.wav", RATE, 0.1 * rng.standard_normal((2000, 2)))
    write_wav("ir.wav", RATE, 0.1 * rng.standard_normal(500))
    rack = "h: highpass 80 order=4 | c: convolver ir.wav mix=30% | compressor | delay 5ms mix=20% | limiter"
    assert render(rack, "in.wav", "whole.wav").returncode == 0
    whole = read_wav("whole.wav")[1]
    n_quiet = 0

    def ends(done, n):
        nonlocal n_quiet
        if done.returncode:
            assert done.stderr.strip(), f"allocation {n}: no message"
            assert not os.path.exists("out.wav"), f"allocation {n}: {done.stderr}"
            n_quiet = 0
            return False
        assert np.array_equal(read_wav("out.wav")[1], whole), f"allocation {n}: other samples"
        os.remove("out.wav")
        n_quiet += 1  # some allocations are optional
        return n_quiet == 8

    words = ["render", rack, "in.wav", "out.wav"]
    last = sweep("render", words, {"WHOM": ""}, ends)
    # The allocations at the end of the program: after the file is complete, the render must not fail.
    sweep("render's end", words, {"WHOM": ""}, ends, last - 10 * EVERY, 1)


def device_calls():
    """The same for buffers, recordings, modules and submissions of a GPU (PoCL)."""
    if why := no_device("opencl", FAULTS_PROGRAM):
        print(f"devices: skipped: {why}")
        return
    write_wav("short.wav", RATE, 0.1 * np.ones((8000, 1)))
    words = [FAULTS_PROGRAM, "render", "--backend", "opencl", "g: gain -3dB | l: limiter", "short.wav", "out.wav"]
    for fault, value in (("gpu.nomem", ""), ("gpu.record", ""), ("gpu.build", ""), ("gpu.error", "=700")):
        for n in range(1, MOST):
            env = {**os.environ, "WARPRACK_FAULTS": f"{fault}@{n}{value}"}
            done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60 * SLOWNESS, check=False)
            if not done.returncode:
                break
            assert done.returncode > 0 and done.stderr.strip(), (fault, n, done)
            assert not os.path.exists("out.wav"), (fault, n)
        os.remove("out.wav")
        print(f"{fault}: {n - 1} runs failed, each with a message", flush=True)
        assert n > 1


def starts():
    """A live server starts, or ends with a message.  A worker that cannot start is started again."""
    words = ["run", "--io", "dummy", "--osc-port", "0", "--fast", "--duration", "0.2", "--channels", "1:1", "g: gain -3dB | l: limiter"]
    for whom in ("server:", "worker:"):
        n_quiet = 0

        def ends(done, n):
            nonlocal n_quiet
            said = done.stderr + done.stdout
            bad = done.returncode or "worker.lost" in said
            assert not done.returncode or "memory" in said or "worker" in said, f"{whom} allocation {n}: {done.returncode}: {said}"
            n_quiet = 0 if bad else n_quiet + 1
            return n_quiet == 8

        sweep(f"start, {whom[:-1]}", words, {"WHOM": whom}, ends)


def main():
    print(f"seed {SEED}")
    with scratch():
        for part in (commands, renders, device_calls, starts):
            if not sys.argv[3:] or part.__name__ in sys.argv[3:]:
                part()


main()
