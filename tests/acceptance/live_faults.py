# SPDX-License-Identifier: GPL-3.0-or-later
"""The reaction of the two processes of `warprack run` to the faults of tests/README.md's table, most of them in the
build with faults.

    live_faults.py PROGRAM [NAME...]

A sine plays and is recorded: through every fault it stays audible, dry or wet, within the ceiling.
"""

import ctypes

from common import *

RATE, BLOCK, LEVEL = 48000, 256, 0.5
SINE = ("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "sine.wav")
CEILING = 10.0 ** (-0.3 / 20.0) * (1.0 + 1e-6)
RACK = "g: gain -3dB"
STANDSTILL_S = float(os.environ.get("WARPRACK_STANDSTILL_S", "5"))
LOWEST_DB = -13.0  # RMS of any 5 ms: dry it is -9 dBFS, wet -12 dBFS


@contextlib.contextmanager
def playing(*options, rack=RACK, env=None, patience_s=10.0):
    """A server that plays the sine through the rack.  The test reads its recording up to the moment before the stop, because the stop takes time if the worker is busy."""
    with FaultyServer(*SINE, "--record", "out.wav", *options, rack, env=env) as server:
        server.worker()
        server.wait_until_wet(patience_s)
        yield server
        end = int(server.status()["blocks"]) * BLOCK
        server.stop()
    out = read_wav("out.wav")[1][RATE // 10 : end, 0]
    assert np.all(np.isfinite(out)) and np.max(np.abs(out)) <= CEILING
    frames = out[: len(out) // 240 * 240].reshape(-1, 240)
    lowest = db(np.sqrt(np.min(np.mean(frames**2, axis=1))))
    print(f"  {len(out) / RATE:.1f} s, quietest 5 ms {lowest:.1f} dBFS")
    assert lowest >= LOWEST_DB, "it fell silent"


def wait_for(server, has_happened, limit_s=60.0):
    """Wait until a status satisfies the condition; returns that status."""
    deadline = time.monotonic() + limit_s
    while not has_happened(status := server.status()):
        assert time.monotonic() < deadline, (status, server.output())
        time.sleep(0.02)
    return status


def another_rack(server, number):
    """A rack that is as loud; the crashes of one rack do not count for the next."""
    server.osc.do("/rack/chain", f"{RACK} | n{number}: highpass 10")
    server.wait_until_wet()


# ---- the worker ----


def replaced(server, faults, note):
    """The worker with these faults is lost, for the given reason; another one plays soon."""
    old = server.arm(faults)
    server.worker(other_than=old)
    server.wait_until_wet()
    status = server.status()
    assert note in status["worker_note"], status["worker_note"]
    assert not os.path.exists(f"/proc/{old}"), "it was left behind"
    print(f"  {faults}: {status['worker_note']}")
    return status


def worker_lost():
    """C5, C6, C10, C11, C12, C13: crash, hang, wrong block, garbage, stop, kill."""
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
        os.kill(old, signal.SIGKILL)  # as the kernel does when memory runs out
        server.worker(other_than=old)
        server.wait_until_wet()
        assert "SIGKILL" in server.status()["worker_note"]


def worker_late():
    """C7: one block in ten is three blocks late; no block plays out of order, no worker is replaced."""
    with playing() as server:
        pid = server.arm("worker.late@1+10=16")
        before = server.status()
        wait_for(server, lambda now: now["late"] - before["late"] >= 10 and now["dry"] > before["dry"])
        server.command(pid, "disarm")
        server.wait_until_wet()
        assert server.worker() == pid


def worker_nan():
    """A7 and C10: blocks of NaN, infinities and 1e30, every one or every other, play dry and are counted."""
    with playing() as server:
        for faults in ("worker.nan@1+", "worker.nan@1+2"):
            before = server.status()
            pid = server.arm(faults)
            wait_for(server, lambda now: all(now[key] > before[key] for key in ("bad_out", "failed", "dry")))
            server.command(pid, "disarm")
            server.wait_until_wet()
            assert server.worker() == pid


def too_heavy():
    """E12: a rack that no machine plays in time is accepted and plays dry; this is reported, and the next edit takes
    effect as usual."""
    with playing() as server:
        pid = server.worker()
        # Not more than necessary: a worker that is far behind counts as hung.
        for n_reverbs in (25, 50, 100, 200, 400):
            server.osc.do("/rack/chain", " | ".join([RACK] + [f"r{number}: reverb mix=0%" for number in range(n_reverbs)]))
            before = server.status()
            after = wait_for(server, lambda now: now["blocks"] >= before["blocks"] + RATE // BLOCK)
            n_dry, n_late = (after[key] - before[key] for key in ("dry", "late"))
            if n_dry > 0.9 * RATE / BLOCK and n_late:  # half of them: may fit when the machine has less else to do
                break
        print(f"  {n_reverbs} reverbs: in a second {n_late} blocks late, {n_dry} dry")
        assert n_dry > 0.9 * RATE / BLOCK and n_late, server.output()
        assert "blocks.late" in server.output()
        server.osc.do("/rack/chain", RACK)
        server.wait_until_wet(limit_s=5.0)  # half the time for which the tails would sound
        assert server.worker() == pid


def worker_gone_for_long():
    """C8: every worker ends at its first block. Dry all the time, with a few starts only."""
    with FaultyServer(*SINE, "--record", "out.wav", "--on-late", "dry", RACK, env={"WARPRACK_FAULTS": "worker:worker.exit=1"}) as server:
        time.sleep(4.0)
        status = server.status()
        server.stop()
    out = read_wav("out.wav")[1][RATE // 2 : -RATE // 10, 0]
    assert db(np.sqrt(np.mean(out**2))) > -10.0, "not the dry signal"
    assert 1 <= status["worker_restarts"] <= 5, status
    print(f"  {status['worker_restarts']} starts in 4 s; {status['worker_note']}")


def crashing_edit():
    """D1: an edit on which two workers crash is refused, and the current rack continues."""
    with playing() as server:
        assert server.command(server.process.pid, "inherit worker:worker.crash-on@1+=bad") == "done"
        server.arm("worker.crash-on@1+=bad")
        reply, values = server.osc.ask("/rack/chain", f"{RACK} | bad: highpass 10", timeout=20.0)
        assert reply == "/fail", values
        print(f"  {values}")
        server.wait_until_wet()
        assert "bad" not in str(server.osc.ask("/rack/get"))


def crashing_rack():
    """D1: a rack on which two workers crash while it plays goes into quarantine; the previous one returns."""
    with playing() as server:
        assert server.command(server.process.pid, "inherit worker:worker.crash-plays@20+=bad") == "done"
        server.arm("worker.crash-plays@20+=bad")
        server.osc.do("/rack/chain", f"{RACK} | bad: highpass 10")
        print(f"  {wait_for(server, lambda now: now['quarantined'])['quarantine_note']}")
        server.wait_until_wet()
        assert "bad" not in str(server.osc.ask("/rack/get"))


# ---- the GPU, as PoCL ----


def no_gpu():
    """C1, C2: no platform, or an unusable one: the CPU, which is reported; exit code 0."""
    for env in ({"OCL_ICD_VENDORS": "/nonexistent"}, {"POCL_CACHE_DIR": "/dev/null/no", "XDG_CACHE_HOME": "/dev/null/no"}):
        env = {**env, "WARPRACK_AUTO_GPU": "any"}
        with playing("--backend", "auto", env=env) as server:
            assert server.status()["backend"] == "cpu", server.status()
            assert "CPU" in server.output()


def opencl_works():
    done = subprocess.run([FAULTS_PROGRAM, "check", "--backend", "opencl", "gain"], capture_output=True, check=False)
    return done.returncode == 0


def gpu_refused():
    """C3, C4: a kernel that does not compile, memory that runs out: the edit is refused, and the current rack continues."""
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
    """C6: a submission that never completes: the process that waits for it is replaced."""
    with playing("--backend", "opencl") as server:
        old = server.arm("gpu.hang@20")
        server.worker(other_than=old, limit_s=60.0)
        server.wait_until_wet(limit_s=60.0)
        assert not os.path.exists(f"/proc/{old}"), "it was left behind"
        print(f"  {server.status()['worker_note']}")


def gpu_left():
    """C6: the threads of a driver that never returns continue: the process ends without freeing objects that they use."""
    for faults, is_taken_apart in (("", True), ("gpu.hang@20", False)):
        # The dynamic linker prints the libraries whose destructors it calls: exit() calls them, _exit() does not.
        env = {**os.environ, "WARPRACK_FAULTS": faults, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.abspath("linker")}
        command = [FAULTS_PROGRAM, "run", "--in-process", "--io", "dummy", "--duration", "6", "--osc-port", str(free_port()), "--no-realtime"]
        done = subprocess.run([*command, "--backend", "opencl", "gain"], env=env, capture_output=True, text=True, timeout=120, check=False)
        (name,) = [name for name in os.listdir() if name.startswith("linker.")]
        with open(name, encoding="utf-8", errors="replace") as file:
            ends = sum("calling fini" in line for line in file)
        os.remove(name)
        assert done.returncode == 0, (faults, done)
        assert (ends > 0) == is_taken_apart, (faults, ends, done.stderr)
        print(f"  {faults or 'no fault'}: {ends} libraries were ended")


def gpu_lost():
    """C9: an error that ends a context, in a process that continues: the context is not used again, so there is one
    error."""
    with playing("--backend", "opencl") as server:
        server.arm("gpu.error@20=700")
        wait_for(server, lambda now: now["device_errors"])
        server.wait_until_wet(limit_s=60.0)
        assert server.status()["device_errors"] == 1


def gpu_late():
    """C7: a submission that is sometimes 40 ms late: a stall of the machine may hide one of them."""
    with playing("--backend", "opencl") as server:
        dry = server.status()["dry"]
        pid = server.arm("gpu.late@20+200=40")
        wait_for(server, lambda now: now["dry"] > dry)
        server.command(pid, "disarm")
        server.wait_until_wet()
        assert server.worker() == pid


def cold_caches():
    """C15: kernels are compiled while audio plays, with empty caches; then without warprack's cache, finally without
    the driver's."""
    pocl, ours = os.path.abspath("pocl"), os.path.abspath("cache")
    with playing("--backend", "opencl", env={"POCL_CACHE_DIR": pocl, "XDG_CACHE_HOME": ours}, patience_s=60.0) as server:
        pid = server.worker()
        for effect in ("compressor 0dB", "gate -90dB"):
            dry = server.status()["dry"]
            reply, values = server.osc.ask("/rack/chain", f"{RACK} | {effect}", timeout=120.0)
            assert reply == "/done", values
            # PoCL compiles under a lock that its blocks also need: dry, the CPU after a second, and PoCL again at the
            # next attempt.
            deadline = time.monotonic() + 60.0
            while (status := server.status())["gpu_nodes"] != 2:
                assert status["nodes"] == 2 and time.monotonic() < deadline, status
                time.sleep(0.02)
            server.wait_until_wet(60.0)
            print(f"  {effect}: {server.status()['dry'] - dry} blocks dry, {status['device_errors']} errors so far")
            shutil.rmtree(ours)
        shutil.rmtree(pocl)
        reply, values = server.osc.ask("/rack/chain", f"{RACK} | limiter", timeout=120.0)
        assert reply == "/fail" and "does not compile" in values[2], (reply, values)
        server.wait_until_wet(60.0)
        assert server.worker() == pid and server.status()["nodes"] == 2
        print(f"  {values[2]}")


# ---- files and clocks ----


def file_errors():
    """F8: an unreadable impulse response is refused, and the old one stays; short reads are no errors."""
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
    """F6: a failed save is reported; the old file stays whole."""
    with playing() as server:
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
    """F9: the wall clock jumps a day ahead, and back: no block is late, and bundles use the new time."""
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
    """F10: the whole program stops, except for the clock: missed blocks are not played, and no worker is replaced."""
    # Harder than a suspended machine, where CLOCK_MONOTONIC, the clock of all timers, also stops.
    with playing() as server:
        before, began = server.status(), time.monotonic()
        both = (server.process.pid, server.worker())
        for pid in both:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STANDSTILL_S)
        for pid in both:
            os.kill(pid, signal.SIGCONT)
        server.wait_until_wet()
        after = server.status()
        assert after["latency_frames"] == before["latency_frames"] and after["faults"] == 0, after
        # At least half of the standstill is missing.
        played_s = time.monotonic() - began - STANDSTILL_S / 2
        assert after["blocks"] - before["blocks"] < played_s * RATE / BLOCK, "it makes up for what it has missed"
        server.osc.do("/node/g/gain", -3.5)
        assert server.worker() == both[1], after["worker_note"]
        print(f"  {STANDSTILL_S} s: {after['xruns'] - before['xruns']} xruns")


def page_out(pid):
    """Ask the kernel to reclaim all pages of a process, as it does when memory runs out; returns the requested bytes."""
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
    """Page faults of the audio threads so far, minor and major."""
    n_faults = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat") as file:
            name, rest = file.read().split("(")[1].rsplit(")", 1)
        n_faults += sum(int(rest.split()[column]) for column in (7, 9)) * (name in ("dummy", "warprack-worker"))
    return n_faults


def paged_out():
    """F5: memory is short, and the kernel reclaims pages: none that is locked, so no audio thread waits for one."""
    if is_sanitized():
        print("  skipped: nothing is locked")
        return
    faults = {}
    for options in (("--no-realtime",), ()):
        # In one process: pages that two processes map are not reclaimed.
        with Server("--io", "dummy", "--in-process", *options, RACK) as server:
            pid, missing = server.process.pid, server.status()["realtime_note"]
            if missing and not options:
                print(f"  skipped: {missing}")
                continue
            before, blocks = audio_faults(pid), server.status()["blocks"]
            n_bytes = page_out(pid)
            if not n_bytes:
                print("  skipped: process_madvise() is not allowed")
                return
            while server.status()["blocks"] < blocks + 100:
                time.sleep(0.01)
            faults[options] = audio_faults(pid) - before
            print(f"  {' '.join(options) or 'locked'}: {n_bytes >> 10} kB offered, {faults[options]} page faults")
            server.stop()
    assert faults["--no-realtime",] > 0, "the pages were not taken"  # positive control
    assert not faults.get(()), faults


WORKER = [worker_lost, worker_late, worker_nan, too_heavy, worker_gone_for_long, crashing_edit, crashing_rack]
GPU = [no_gpu, gpu_refused, gpu_hang, gpu_left, gpu_lost, gpu_late, cold_caches]
SYSTEM = [file_errors, full_disk, clock_jumps, suspended, paged_out]


def main():
    chosen = [row for row in WORKER + GPU + SYSTEM if not sys.argv[2:] or row.__name__ in sys.argv[2:]]
    has_opencl = opencl_works()
    with scratch():
        t = np.arange(RATE * 180) / RATE
        write_wav("sine.wav", RATE, LEVEL * np.sin(2 * np.pi * 1000.0 * t))
        for row in chosen:
            if row in GPU[1:] and not has_opencl:
                print(f"{row.__name__}: skipped: no OpenCL device")
                continue
            began = time.monotonic()
            print(f"{row.__name__}: {row.__doc__}", flush=True)
            row()
            print(f"  {time.monotonic() - began:.1f} s", flush=True)


main()
