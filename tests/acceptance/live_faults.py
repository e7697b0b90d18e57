# SPDX-License-Identifier: GPL-3.0-or-later
"""How the two processes of `warprack run` react to the faults in the table of tests/FAULTS.md.  The build with fault
hooks causes most of them.

    live_faults.py PROGRAM [NAME...]

A sine plays and is recorded.  During each fault the output stays audible, dry or wet, and below the ceiling.
"""

import ctypes

from common import *

RATE, BLOCK, LEVEL = 48000, 256, 0.5
SINE = ("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "../sine.wav")
CEILING = 10.0 ** (-0.3 / 20.0) * (1.0 + 1e-6)
RACK = "g: gain -3dB"
HALF_A_SECOND = RATE // BLOCK // 2  # in blocks
STANDSTILL_S = float(os.environ.get("WARPRACK_STANDSTILL_S", "5"))
LOWEST_DB = -13.0  # limit for the RMS of 5 ms: the dry signal has -9 dBFS, the wet signal -12 dBFS


@contextlib.contextmanager
def playing(*options, rack=RACK, env=None):
    """A server that plays the sine through the rack.  After the `with` block the recording is checked, up to the moment
    before the stop, because the stop takes time if the worker is busy.  If the row fails, and the machine has stopped the
    worker alone for so long that the server replaced it, the row is repeated."""
    with FaultyServer(*SINE, "--record", "out.wav", *options, rack, env=env) as server:
        server.worker()
        server.wait_until_wet()
        try:
            yield server
        except Exception as failure:
            if "finished no blocks in time" in server.output():
                raise Stalled from failure
            raise
        end = int(server.status()["blocks"]) * BLOCK
        server.stop()
    out = read_wav("out.wav")[1][RATE // 10 : end, 0]
    assert np.all(np.isfinite(out)) and np.max(np.abs(out)) <= CEILING
    frames = out[: len(out) // 240 * 240].reshape(-1, 240)
    powers = np.mean(frames**2, axis=1)
    lowest = db(np.sqrt(np.min(powers)))
    print(f"  {len(out) / RATE:.1f} s, quietest 5 ms {lowest:.1f} dBFS")
    quiet = np.flatnonzero(powers < 10.0 ** (LOWEST_DB / 10.0)) * 0.005 + 0.1
    if len(quiet) and "the disk was too slow" in server.output():
        print("  not judged: the disk was too slow for the recording")
    else:
        assert not len(quiet), f"too quiet for {len(quiet)} times 5 ms, from {quiet[0]:.3f} to {quiet[-1]:.3f} s\n{server.output()}"


def another_rack(server, number):
    """Edit to another rack of the same level, because the crashes of one rack do not count for the next rack."""
    server.osc.do("/rack/chain", f"{RACK} | n{number}: highpass 10")
    server.wait_until_wet()


# ---- the worker ----


def replaced(server, faults, note):
    """Arm these faults in the worker, and wait until another worker plays.  `note` must be in the reason of the
    loss."""
    old = server.arm(faults)
    server.worker(other_than=old)
    server.wait_until_wet()
    status = server.status()
    assert note in status["worker_note"], status["worker_note"]
    assert not os.path.exists(f"/proc/{old}"), "the old worker process still exists"
    print(f"  {faults}: {status['worker_note']}")
    return status


def worker_lost():
    """C5, C6, C10, C11, C12, C13: the worker crashes, hangs, finishes a wrong block, writes random data, is stopped,
    ends or is killed; another one takes over."""
    with playing() as server:
        for number, (faults, note) in enumerate(
            (
                ("worker.crash@100", "SIGSEGV"),
                ("worker.hang", "blocks"),
                ("worker.wrong", "invalid data"),
                ("worker.garbage", "invalid data"),
                ("worker.stop", "stopped"),
                ("worker.exit=3", "3"),
            )
        ):
            another_rack(server, number)
            replaced(server, faults, note)
        old = server.worker()
        os.kill(old, signal.SIGKILL)  # as the kernel kills it when memory runs out
        server.worker(other_than=old)
        server.wait_until_wet()
        assert "SIGKILL" in server.status()["worker_note"]


def worker_late():
    """C7: one block in ten is three blocks late.  Audio continues, and the worker is not replaced."""
    with playing() as server:
        pid = server.arm("worker.late@1+10=16")
        before = server.status()
        server.wait_for(lambda now: now["late"] - before["late"] >= 10 and now["dry"] > before["dry"])
        server.command(pid, "disarm")
        server.wait_until_wet(n_blocks=HALF_A_SECOND)
        assert server.worker() == pid


def worker_nan():
    """A7, C10: the worker finishes blocks of NaN, infinity and 1e30, all blocks or every other one.  They play dry and
    are counted."""
    with playing() as server:
        for faults in ("worker.nan@1+", "worker.nan@1+2"):
            before = server.status()
            pid = server.arm(faults)
            keys = ("bad_out", "failed", "dry")
            server.wait_for(lambda now: all(now[key] > before[key] for key in keys))
            server.command(pid, "disarm")
            server.wait_until_wet(n_blocks=HALF_A_SECOND)
            assert server.worker() == pid


def too_heavy():
    """E12: a rack that is too heavy for the machine is accepted, plays dry, and is reported.  The next edit takes
    effect as usual."""
    with playing() as server:
        pid = server.worker()
        # Only slightly too heavy, because a worker that is far behind counts as one that hangs.
        for n_reverbs in (25, 35, 50, 70, 100, 140, 200, 280, 400, 560, 800, 1100, 1600):
            server.osc.do("/rack/chain", " | ".join([RACK] + [f"r{number}: reverb mix=0%" for number in range(n_reverbs)]))
            before = server.status()
            after = server.wait_for(lambda now: now["blocks"] >= before["blocks"] + RATE // BLOCK)
            n_dry, n_late = (after[key] - before[key] for key in ("dry", "late"))
            if n_dry > 0.9 * RATE / BLOCK and n_late:  # with fewer, the rack may be in time on an idle machine
                break
        print(f"  {n_reverbs} reverbs: in a second {n_late} blocks late, {n_dry} dry")
        assert n_dry > 0.9 * RATE / BLOCK and n_late, server.output()
        assert "blocks.late" in server.output()
        server.osc.do("/rack/chain", RACK)
        server.wait_until_wet(limit_s=5.0, n_blocks=HALF_A_SECOND)  # half the length of the tails
        assert server.worker() == pid, server.output()


def worker_gone_for_long():
    """C8: every worker ends at its first block.  The output is dry all the time, and few workers are started."""
    with FaultyServer(*SINE, "--record", "out.wav", "--on-late", "dry", RACK, env={"WARPRACK_FAULTS": "worker:worker.exit=1"}) as server:
        time.sleep(4.0)
        status = server.status()
        server.stop()
    out = read_wav("out.wav")[1][RATE // 2 : -RATE // 10, 0]
    assert db(np.sqrt(np.mean(out**2))) > -10.0, "the output is not the dry signal"
    assert 1 <= status["worker_restarts"] <= 5, status
    print(f"  {status['worker_restarts']} starts in 4 s; {status['worker_note']}")


def crashing_edit():
    """D1: an edit that crashes two workers is refused, and the current rack plays on."""
    with playing() as server:
        assert server.command(server.process.pid, "inherit worker:worker.crash-on@1+=bad") == "done"
        server.arm("worker.crash-on@1+=bad")
        reply, values = server.osc.ask("/rack/chain", f"{RACK} | bad: highpass 10")
        assert reply == "/fail", values
        print(f"  {values}")
        server.wait_until_wet()
        assert "bad" not in str(server.osc.ask("/rack/get"))


def overtaken_edits():
    """D1: two edits, on each of which every worker crashes, then /rack/clear: the edits are refused after one crash
    each, not two, and all commands are answered in order."""
    with playing() as server:
        assert server.command(server.process.pid, "inherit worker:worker.crash-on@1+=bad") == "done"
        server.arm("worker.crash-on@1+=bad")
        before = server.status()["worker_restarts"]
        for command in (("/rack/chain", f"{RACK} | bad: highpass 10"), ("/rack/chain", "bad: highpass 20"), ("/rack/clear",)):
            server.osc.send(osc_message(*command))
        answers = [server.osc.receive() for _ in range(3)]
        print(f"  {answers}")
        assert [(reply, values[0]) for reply, values in answers] == [("/fail", "/rack/chain")] * 2 + [("/done", "/rack/clear")]
        assert "makes the rack smaller" in answers[1][1][2]
        server.wait_until_wet()
        restarts = server.status()["worker_restarts"] - before
        assert restarts < 4, restarts  # the first edit may crash two workers before the server reads the next command


def crashing_rack():
    """D1: a rack that crashes two workers while it plays is put into quarantine, and the previous rack returns."""
    with playing() as server:
        assert server.command(server.process.pid, "inherit worker:worker.crash-plays@20+=bad") == "done"
        server.arm("worker.crash-plays@20+=bad")
        server.osc.do("/rack/chain", f"{RACK} | bad: highpass 10")
        print(f"  {server.wait_for(lambda now: now['quarantined'])['quarantine_note']}")
        server.wait_until_wet()
        assert "bad" not in str(server.osc.ask("/rack/get"))


def crashing_effect():
    """D1: a built-in effect crashes two workers in the run of a node.  The node plays its input, and the rest of the
    rack plays on: also where the node runs together with others, in its chain or of its effect, which the first crash
    parts."""
    for chain in ("bad: highpass 10", "(a: highpass 10 + bad: highpass 20 + b: highpass 10) | gain -9.5dB"):
        with playing() as server:
            assert server.command(server.process.pid, "inherit worker:worker.crash-runs@20+=bad") == "done"
            server.arm("worker.crash-runs@20+=bad")
            server.osc.do("/rack/chain", f"{RACK} | {chain}")
            status = server.wait_for(lambda now: now["nodes_quarantined"] or now["quarantined"])
            print(f"  {status['quarantine_note']}")
            effect = chain.split("bad: ")[1].split()[0]
            assert status["quarantine_note"] == f"bad: {effect} crashed twice in run; its input plays instead", status
            server.wait_until_wet(n_blocks=HALF_A_SECOND)
            status = server.status()
            assert (status["nodes_quarantined"], status["quarantined"], status["worker_restarts"]) == (1, 0, 2), status
            nodes = server.osc.ask("/server/nodes")[1][0].splitlines()
            assert [node.split()[0] for node in nodes if "quarantine" in node] == ["bad"], nodes


# ---- the GPU: OpenCL with PoCL ----


def no_gpu():
    """C1, C2: there is no OpenCL platform, or an unusable one.  The rack plays on the CPU, which is reported; the exit
    code is 0."""
    for env in ({"OCL_ICD_VENDORS": "/nonexistent"}, {"POCL_CACHE_DIR": "/dev/null/no", "XDG_CACHE_HOME": "/dev/null/no"}):
        env = {**env, "WARPRACK_AUTO_GPU": "any"}
        with playing("--backend", "auto", env=env) as server:
            assert server.status()["backend"] == "cpu", server.status()
            assert "CPU" in server.output()


def gpu_refused():
    """C3, C4: a kernel does not compile, memory runs out, a recording fails.  The edit is refused, and the current
    rack plays on."""
    for faults, edit, words in (
        ("gpu.build", "compressor", ".cu:"),
        ("gpu.nomem", "delay 2s", "bytes requested"),
        ("gpu.record", "limiter", "refused to record"),
    ):
        with playing("--backend", "opencl") as server:
            pid = server.arm(faults)
            reply, values = server.osc.ask("/rack/chain", f"{RACK} | {edit}", timeout=120.0)
            assert reply == "/fail" and words in values[2], (faults, reply, values)
            assert server.n_failed(faults, pid) == 1
            assert server.status()["nodes"] == 1 and server.worker() == pid
            print(f"  {faults}: {values[2][:100]!r}")


def gpu_hang():
    """C6: a submission never completes.  The worker process that waits for it is replaced."""
    with playing("--backend", "opencl") as server:
        old = server.arm("gpu.hang@20")
        server.worker(other_than=old)
        server.wait_until_wet()
        assert not os.path.exists(f"/proc/{old}"), "the old worker process still exists"
        print(f"  {server.status()['worker_note']}")


def gpu_left():
    """C6: a driver hangs, and its threads continue.  The process ends with _exit(), and does not free the objects that
    these threads use.  With cold caches the driver compiles during the first block: if that block misses its deadline,
    the exit code is 4."""
    cold = {"POCL_CACHE_DIR": os.path.abspath("pocl"), "XDG_CACHE_HOME": os.path.abspath("cache")}
    cases = (("", {}, 0, True), ("gpu.hang@20", {}, 0, False), ("gpu.late@1=1000000", cold, 4, False))
    processes = []
    for faults, caches, _, _ in cases:
        # The dynamic linker prints the libraries whose destructors it calls: exit() calls them, _exit() does not.
        env = {**os.environ, **caches, "WARPRACK_FAULTS": faults, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.abspath("linker")}
        command = [FAULTS_PROGRAM, "run", "--in-process", "--io", "dummy", "--duration", "6", "--osc-port", str(free_port()), "--no-realtime"]
        processes.append(subprocess.Popen([*command, "--backend", "opencl", "gain"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for process, (faults, _, exit_code, calls_destructors) in zip(processes, cases):
        errors = process.communicate(timeout=120.0)[1]
        with open(f"linker.{process.pid}", encoding="utf-8", errors="replace") as file:
            n_destroyed = sum("calling fini" in line for line in file)
        assert process.returncode == exit_code, (faults, process.returncode, errors)
        assert (n_destroyed > 0) == calls_destructors, (faults, n_destroyed, errors)
        assert ("did not come back" in errors) == bool(faults), (faults, errors)
        print(f"  {faults or 'no fault'}: exit code {exit_code}, destructors of {n_destroyed} libraries")


def gpu_lost():
    """C9: an error ends the context of a device, but not the process.  The context is not used again, so there is only
    one error."""
    with playing("--backend", "opencl") as server:
        server.arm("gpu.error@20=700")
        server.wait_for(lambda now: now["device_errors"])
        server.wait_until_wet(n_blocks=HALF_A_SECOND)
        assert server.status()["device_errors"] == 1


def gpu_late():
    """C7: one submission in 200 is 40 ms late.  Its block plays dry, and the worker is not replaced."""
    with playing("--backend", "opencl") as server:
        dry = server.status()["dry"]
        pid = server.arm("gpu.late@20+200=40")
        server.wait_for(lambda now: now["dry"] > dry)
        server.command(pid, "disarm")
        server.wait_until_wet(n_blocks=HALF_A_SECOND)
        assert server.worker() == pid


def cold_caches():
    """C15: kernels are compiled while audio plays: with empty caches, then without warprack's cache, and finally
    without the driver's cache."""
    pocl, ours = os.path.abspath("pocl"), os.path.abspath("cache")

    def on_device(status):
        assert status["nodes"] == 2, status
        return status["gpu_nodes"] == 2

    with playing("--backend", "opencl", env={"POCL_CACHE_DIR": pocl, "XDG_CACHE_HOME": ours}) as server:
        pid = server.worker()
        for effect in ("compressor 0dB", "gate -90dB"):
            dry = server.status()["dry"]
            reply, values = server.osc.ask("/rack/chain", f"{RACK} | {effect}", timeout=120.0)
            assert reply == "/done", values
            # While PoCL compiles, it holds a lock that its blocks need, too: they are dry, after a second the CPU plays
            # the rack, and at the next attempt PoCL plays it again.
            status = server.wait_for(on_device)
            server.wait_until_wet()
            print(f"  {effect}: {server.status()['dry'] - dry} blocks dry, {status['device_errors']} errors so far")
            shutil.rmtree(ours)
        shutil.rmtree(pocl)
        reply, values = server.osc.ask("/rack/chain", f"{RACK} | limiter", timeout=120.0)
        assert reply == "/fail" and "does not compile" in values[2], (reply, values)
        server.wait_until_wet()
        assert server.worker() == pid and server.status()["nodes"] == 2
        print(f"  {values[2]}")


# ---- files and clocks ----


def file_errors():
    """F8: an impulse response that cannot be read is refused, and the old one stays.  Short reads are not errors."""
    rng = np.random.default_rng(1)
    for name in ("ir0.wav", "ir1.wav"):
        write_wav(name, RATE, rng.standard_normal(4000) * np.exp(-np.arange(4000) / 400.0) * 0.05)
    with playing(rack=f"{RACK} | c: convolver ir0.wav mix=0%") as server:
        for faults in ("fs.eio@1", "fs.eio@2", "fs.eio@1+"):
            pid = server.arm(faults)
            reply, values = server.osc.ask("/rack/chain", f"{RACK} | c: convolver ir1.wav mix=0%")
            assert reply == "/fail" and "ir1.wav" in values[2], (faults, values)
            assert server.n_failed("fs.eio", pid) >= 1
            server.command(pid, "disarm")
            assert "ir0.wav" in str(server.osc.ask("/rack/get"))
        print(f"  {values[2]}")
        pid = server.arm("fs.short@1+")
        server.osc.do("/rack/chain", f"{RACK} | c: convolver ir1.wav mix=0%")
        assert server.n_failed("fs.short", pid) >= 1


def full_disk():
    """F6: a save to a full disk fails with a message, and the old file stays complete."""
    # Without a recording, which would write to the full disk, too.
    with FaultyServer("--io", "dummy", "--rate", str(RATE), "--block", str(BLOCK), RACK) as server:
        server.osc.do("/rack/save", "saved.rack")
        with open("saved.rack") as file:
            before = file.read()
        server.osc.do("/rack/chain", f"{RACK} | h: highpass 10")
        server.arm("fs.full@1+", server.process.pid)
        reply, values = server.osc.ask("/rack/save", "saved.rack")
        assert reply == "/fail", values
        server.command(server.process.pid, "disarm")
        with open("saved.rack") as file:
            assert file.read() == before
        server.osc.do("/rack/save", "saved.rack")
        print(f"  {values}")


def clock_jumps():
    """F9: the wall clock jumps a day ahead, and back.  The worker is not replaced, and new bundles follow the changed
    clock."""
    with playing() as server:
        before = server.status()
        for ahead_s in (86400.0, -86400.0, 0.0):
            for pid in (server.process.pid, server.worker()):
                server.arm(f"clock.jump={ahead_s:.0f}", pid)
            sent = time.time()
            level = -3.0 + (ahead_s != 0.0) * 1e-3
            server.osc.send(osc_bundle([osc_message("/node/g/gain", level)], at=sent + ahead_s + 0.2))
            reply, values = server.osc.receive()
            assert (reply, values[0]) == ("/done", "/node/g/gain"), (reply, values)
            server.osc.sync()
        after = server.status()
        assert after["worker_pid"] == before["worker_pid"]
        print(f"  {after['late'] - before['late']} blocks late")


def suspended():
    """F10: both processes are stopped for a while.  The missed blocks are not played, and the worker is not
    replaced."""
    # This is harder than a suspended machine, where CLOCK_MONOTONIC, the clock of all timers, stops, too.
    with playing() as server:
        before, began = server.status(), time.monotonic()
        both = (server.process.pid, server.worker())
        for pid in both:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STANDSTILL_S)
        for pid in reversed(both):  # the server may judge a worker that is still stopped
            os.kill(pid, signal.SIGCONT)
        server.wait_until_wet(n_blocks=HALF_A_SECOND)
        after = server.status()
        assert after["latency_frames"] == before["latency_frames"] and after["faults"] == 0, after
        # Blocks for at least half of the standstill must be missing.
        played_s = time.monotonic() - began - STANDSTILL_S / 2
        assert after["blocks"] - before["blocks"] < played_s * RATE / BLOCK, "the program plays the missed blocks"
        server.osc.do("/node/g/gain", -3.5)
        assert server.worker() == both[1], after["worker_note"]
        print(f"  {STANDSTILL_S} s: {after['xruns'] - before['xruns']} xruns")


def page_out(pid):
    """Ask the kernel to reclaim all pages of a process, as it does when memory runs out.  Returns the number of bytes
    that it may reclaim."""
    PROCESS_MADVISE, MADV_PAGEOUT, n_bytes = 440, 21, 0
    process = os.pidfd_open(pid)
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            where = struct.pack("PN", begin, end - begin)  # struct iovec
            n_bytes += max(0, ctypes.CDLL(None).syscall(PROCESS_MADVISE, process, where, 1, MADV_PAGEOUT, 0))
    os.close(process)
    return n_bytes


def audio_faults(pid):
    """Number of page faults of the audio threads so far, minor and major."""
    n_faults = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat") as file:
            name, rest = file.read().split("(")[1].rsplit(")", 1)
        n_faults += sum(int(rest.split()[column]) for column in (7, 9)) * (name in ("dummy", "warprack-worker"))
    return n_faults


def paged_out():
    """F5: memory is short, and the kernel reclaims pages.  It does not reclaim locked pages, so no audio thread has a
    page fault."""
    if is_sanitized():
        print("  skipped: a program with AddressSanitizer locks no memory")
        return
    faults = {}
    for options in (("--no-realtime",), ()):
        # In one process, because the kernel does not reclaim pages that two processes map.
        with Server("--io", "dummy", "--in-process", *options, RACK) as server:
            pid, missing = server.process.pid, server.status()["realtime_note"]
            if missing and not options:
                print(f"  skipped: {missing}")
                continue
            server.wait_until_wet()  # each audio thread touches its stack before its first block
            before = audio_faults(pid)
            n_bytes = page_out(pid)
            if not n_bytes:
                print("  skipped: process_madvise() is not allowed")
                return
            server.advance(100)
            faults[options] = audio_faults(pid) - before
            print(f"  {' '.join(options) or 'locked'}: {n_bytes >> 10} kB may be reclaimed, {faults[options]} page faults")
            server.stop()
    assert faults["--no-realtime",] > 0, "the kernel has not reclaimed the pages"  # positive control
    assert not faults.get(()), faults


WORKER = [worker_lost, worker_late, worker_nan, too_heavy, worker_gone_for_long, crashing_edit, overtaken_edits, crashing_rack, crashing_effect]
GPU = [no_gpu, gpu_refused, gpu_hang, gpu_left, gpu_lost, gpu_late, cold_caches]
SYSTEM = [file_errors, full_disk, clock_jumps, suspended, paged_out]
# These rows mostly wait, and none waits for late blocks.  The others run alone.
SIDE_BY_SIDE = [gpu_left, worker_lost, suspended, worker_gone_for_long, gpu_refused, gpu_hang, crashing_rack]
SIDE_BY_SIDE += [overtaken_edits, crashing_edit, crashing_effect, no_gpu, file_errors, full_disk, gpu_lost]


def main():
    chosen = [row for row in WORKER + GPU + SYSTEM if not sys.argv[2:] or row.__name__ in sys.argv[2:]]
    if why := no_device("opencl", FAULTS_PROGRAM):
        print(f"skipped: {why}:", " ".join(row.__name__ for row in chosen if row in GPU[1:]))
        chosen = [row for row in chosen if row not in GPU[1:]]
    alone = [row for row in chosen if row not in SIDE_BY_SIDE]
    with scratch():
        t = np.arange(RATE * 180) / RATE
        write_wav("sine.wav", RATE, LEVEL * np.sin(2 * np.pi * 1000.0 * t))
        failed = side_by_side([(row,) for row in SIDE_BY_SIDE if row in chosen])
        failed += side_by_side([(row,) for row in alone], n_processes=1)
    sys.exit(failed > 0)


main()
