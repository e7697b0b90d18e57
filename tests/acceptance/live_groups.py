# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins of a group break in a live run, and the rest of the rack plays on.

    live_groups.py PROGRAM [FAULT...]

A rack has two ways: a plugin in the worker plays the left channel, a plugin of a group and a faulty one of another group
the right one.  The worker must never be replaced, no block may be late or dry, and the left channel must be recorded to
the sample.  The right channel stays audible and without a click when the process of the faulty plugin ends or hangs.
Until the second loss that node is made again, then it is in quarantine.

First, a rack with groups plays the same samples live as in the renderer, with values that change.
"""

import json

from common import *

RATE, BLOCK, LEVEL = 48000, 256, 0.5
OTHER = "other: ladspa effects/gain gain=-6dB group=good"
FIRST_FAULT = 500  # block of an instance: the second loss comes less than 10 s after the first one
LOWEST_DB = -13.0  # limit for the RMS of 5 ms: the dry signal has -9 dBFS

# Fault, the format of its plugin (group_faults plays each in all formats), and the words in the note about the loss of its
# process; None: it is not lost.
FAULTS = {
    "segv_run": ("clap", "SIGSEGV"),
    "abort_run": ("lv2", "SIGABRT"),
    "exit_run": ("ladspa", "exited with 0"),
    "exit_at_once_run": ("clap", "exited with 0"),
    "hang_run": ("lv2", "did not finish a block"),
    "nan": ("ladspa", None),
    "segv_thread": ("ladspa", "SIGSEGV"),
    "takes_memory": ("lv2", None),
    "starts_threads": ("clap", None),
}
FILTERED = ("x86_64", "aarch64", "riscv64")  # SCAN_HAS_FILTER
PREFIXES = {"clap": "test.faults.", "ladspa": "faults/", "lv2": "urn:warprack:faults:"}


def find_formats():
    """Let the program find the faulty plugins of all formats of the build.  Returns the formats."""
    clap, lv2 = os.environ.get("WARPRACK_CLAP_FIXTURES"), os.environ.get("WARPRACK_LV2_FAULTS")
    os.environ.update(CLAP_PATH=clap or "/nonexistent", LV2_PATH=os.path.dirname(lv2) if lv2 else "/nonexistent")
    find_ladspa_faults()
    return [name for name, folder in (("clap", clap), ("ladspa", True), ("lv2", lv2)) if folder]


def same_samples():
    """Play a file live and render it: the same samples, and the latency that `check` prints."""
    rack = f"a: ladspa effects/lowpass group=one | b: ladspa effects/delay group=one | {OTHER}"
    write_wav("noise.wav", RATE, np.random.default_rng(3).uniform(-0.5, 0.5, (RATE, 2)))
    done = render(rack, "noise.wav", "render.wav", "--block", str(BLOCK), "--tail", "0")
    assert done.returncode == 0, done.stderr
    live = subprocess.run(
        [PROGRAM, "run", "--osc-port", str(free_port()), "--io", "dummy", "--fast", "--block", str(BLOCK), "--rate", str(RATE),
         "--play", "noise.wav", "--record", "live.wav", "--duration", "1", rack],
        capture_output=True, text=True, check=False)
    assert live.returncode == 0, live.stderr
    checked = subprocess.run([PROGRAM, "check", "--json", "--block", str(BLOCK), rack], capture_output=True, text=True, check=True)
    report = json.loads(checked.stdout)
    assert report["latency_frames"] == 3 * BLOCK + 64, report["latency_frames"]
    assert [node["group"] for node in report["plugins"]] == ["one", "one", "good"], report["plugins"]
    latency = BLOCK + report["latency_frames"]
    rendered, recorded = read_wav("render.wav")[1], read_wav("live.wav")[1]
    n = min(len(rendered), len(recorded) - latency)
    assert n > RATE - 2 * latency and np.array_equal(recorded[latency : latency + n], rendered[:n]), "live differs from render"
    print(f"{n} frames live and rendered the same")


def refused_edits():
    """An edit whose plugin ends its process is refused, however often, and the node that plays is not at fault."""
    with Server("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "bad: ladspa faults/segv_run after=-1 group=one") as server:
        server.wait_until_wet()
        before = server.status()
        for _ in range(3):
            reply, values = server.osc.ask("/rack/do", "set bad.after 0", "set bad.group two")
            assert reply == "/fail" and 'the process of the group "two" was killed by SIGSEGV' in values[2], values
        server.advance(2 * RATE // BLOCK)
        now = server.status()
        assert now["nodes_quarantined"] == 0, now["quarantine_note"]
        assert "after=-1 group=one" in server.osc.ask("/rack/get")[1][0]
        if now["group_dry"] != before["group_dry"]:  # also if a busy machine does not run the process
            raise Stalled(now)


def group_processes(server):
    """The processes of groups: the children of the worker."""
    pid = server.status()["worker_pid"]
    children = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as file:
            children += [int(child) for child in file.read().split()]
    return children


def n_in_quarantine(server):
    """The number of nodes whose input plays: that of the status grows first, when the supervisor decides it."""
    return sum(line.split()[3] == "quarantine" for line in server.osc.ask("/server/nodes")[1][0].splitlines())


def check_threads(server):
    """All threads of the processes are confined, and none that runs blocks has the priority of the worker's player."""
    player = 0
    worker = server.status()["worker_pid"]
    for thread in os.listdir(f"/proc/{worker}/task"):
        with open(f"/proc/{worker}/task/{thread}/comm") as file:
            player = os.sched_getparam(int(thread)).sched_priority if file.read() == "warprack-worker\n" else player
    for process in group_processes(server):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/status") as file:
                facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            assert facts["NoNewPrivs"] == "1", facts
            assert facts.get("Seccomp", "2") == "2" or os.uname().machine not in FILTERED, facts
            expected = max(player - 1, 1 if player else 0) if facts["Name"] == "warprack-unit" else 0
            assert os.sched_getparam(int(thread)).sched_priority == expected, (facts["Name"], player)


def play_fault(fault, format, words):
    """Play a rack with a faulty plugin, and return the recorded output and the status of the server."""
    arguments = ("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "2:2", "--play", "../sine.wav", "--record", "out.wav")
    plugin = PREFIXES[format] + fault
    rack = "\n".join(["add left ladspa effects/gain gain=-3dB", "add other ladspa effects/gain gain=-3dB group=good",
                      f'add bad {format} "{plugin}" after={FIRST_FAULT} group=bad', "connect in:1 left", "connect left out:1",
                      "connect in:2 other", "connect other bad", "connect bad out:2"])
    with open("fault.rack", "w") as file:
        file.write(rack + "\n")
    with Server(*arguments, "fault.rack") as server:
        server.wait_until_wet()
        before = server.status()
        assert len(group_processes(server)) == 2, group_processes(server)
        check_threads(server)
        first = int(before["blocks"])
        if words:
            now = server.wait_for(lambda now: now["nodes_quarantined"] == 1)
            note = now["quarantine_note"].replace('"', "")
            assert f"bad: {format} {plugin} {'hung' if fault == 'hang_run' else 'crashed'} twice in" in note, now
            assert now["group_dry"] > before["group_dry"], now
            until(lambda: n_in_quarantine(server) == 1, server.status, server.output, process=server.process)
        else:
            server.advance(FIRST_FAULT)
        server.advance(RATE // BLOCK)
        now = server.status()
        last = int(now["blocks"])
        assert now["worker_pid"] == before["worker_pid"] and now["worker_restarts"] == before["worker_restarts"], now
        assert now["latency_frames"] == before["latency_frames"], now
        assert now["quarantined"] == 0, now
        late = {key: now[key] - before[key] for key in ("late", "dry", "failed", "dropped")}
        assert "group=bad" in server.osc.ask("/rack/get")[1][0]
        server.stop()
        log = server.output()
    assert not words or words in log, log
    out = read_wav("out.wav")[1][first * BLOCK : (last - 4) * BLOCK]
    return out, late, log


def check_left(out, fault):
    """The left channel is a sine of constant level: its second difference is that of a sine."""
    x = out[:, 0]
    w = 2.0 * np.pi * 1000.0 / RATE
    residue = np.max(np.abs(x[2:] + x[:-2] - 2.0 * np.cos(w) * x[1:-1]))
    assert residue < 1e-5, f"{fault}: the left channel is disturbed: {residue}"


def check_right(out, fault):
    x = out[:, 1]
    assert np.all(np.isfinite(x)), fault
    n = RATE // 200
    rms = [np.sqrt(np.mean(x[i : i + n] ** 2)) for i in range(0, len(x) - n, n)]
    steps = np.max(np.abs(np.diff(x)))
    print(f"{fault}: lowest level of 5 ms {db(min(rms)):.1f} dBFS, largest step {steps:.3f}")
    assert db(min(rms)) > LOWEST_DB, f"{fault}: silent"
    assert steps < 1.5 * LEVEL * 2.0 * np.pi * 1000.0 / RATE, f"{fault}: a click"


def judge_fault(fault, format, words):
    """Play a fault and judge the recording, unless a block was late."""
    out, late, log = play_fault(fault, format, words)
    print(f"{format} {fault}: late blocks of the rack {late}")
    if any(late.values()):
        print("a busy machine: the samples are not judged")
    else:
        check_left(out, fault)
        check_right(out, fault)


def main():
    faults = sys.argv[2:] or list(FAULTS)
    with scratch():
        formats, failed = find_formats(), 0
        if not sys.argv[2:]:
            same_samples()
            failed = side_by_side([(refused_edits,)], n_processes=1)
        time_s = np.arange(60 * RATE) / RATE
        write_wav("sine.wav", RATE, np.repeat(LEVEL * np.sin(2.0 * np.pi * 1000.0 * time_s)[:, None], 2, axis=1))
        rows = [(fault, *FAULTS[fault]) for fault in faults]
        rows = [(judge_fault, fault, format if format in formats else "ladspa", words) for fault, format, words in rows]
        sys.exit(failed + side_by_side(rows, n_processes=2) > 0)


main()
