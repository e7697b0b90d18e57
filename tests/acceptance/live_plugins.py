# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins that break in a live run, and plugins that do not.

    live_plugins.py PROGRAM [FAULT...]

First, plugins of the three formats play the same samples live as in the renderer, and a latency that changes is
compensated.  Then a sine plays through one faulty plugin of the tests after the other and is recorded: the output stays
audible, dry or wet, without a sample that is not finite, and the next rack plays as usual.  A plugin that crashes takes
its worker with it; after the second crash its node plays its input, and the rack stays.

The faults are the same code in each format (tests/support/plugins/faults.c).  As LADSPA plugins all of them play, each
in a server of its own.  As LV2 and CLAP plugins those play, one after the other in one server, that meet code of the
format: its buffers, its renewal, its calls around run().  The others meet code that all formats share.
"""

import json

from common import *

RATE, BLOCK, LEVEL = 48000, 256, 0.5
LOWEST_DB = -13.0  # limit for the RMS of 5 ms: the dry signal has -9 dBFS, the wet signal -12 dBFS
PLAIN = "g: gain -3dB"
GOOD = {"ladspa": "effects/gain gain=-6dB", "lv2": "urn:warprack:gain", "clap": "test.gain"}

# Plugin, and what it does to the worker: nothing, or the words in the reason of its loss.
FAULTS = {
    "nan": None,
    "allocates": None,
    "changes_folder": None,
    "changes_handler": None,
    "changes_locale": None,
    "changes_mxcsr": None,
    "forks": None,
    "in_place": None,
    "locks": None,
    "looks_for_display": None,
    "prints": None,
    "starts_threads": None,
    "writes_input": None,
    "segv_run": "SIGSEGV",
    "abort_run": "SIGABRT",
    "exit_run": "exited with",
    "hang_run": "finished no blocks in time",
}
OF_FORMAT = ["nan", "in_place", "writes_input", "changes_mxcsr", "starts_threads", "segv_run"]
FAULTY = {"ladspa": "faults/{}", "lv2": '"urn:warprack:faults:{}"', "clap": "test.faults.{}"}


def plugins_here():
    """The folders of the tests' plugins, in which this process and its children find all their plugins."""
    folders = {format: os.environ.get(f"WARPRACK_{format.upper()}_FIXTURES") for format in GOOD}
    for format, folder in folders.items():
        if folder:
            os.environ[f"{format.upper()}_PATH"] = os.path.dirname(folder) if format == "lv2" else folder
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    scan = subprocess.run([PROGRAM, "scan", "--json"], capture_output=True, text=True, check=False)
    assert scan.returncode == 0, scan.stderr
    found = subprocess.run([PROGRAM, "list", "plugins", "--json"], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def same_samples(rack):
    """Play a file live and render it: the same samples."""
    generator = np.random.default_rng(3)
    write_wav("noise.wav", RATE, generator.uniform(-0.5, 0.5, (RATE, 2)))
    done = render(rack, "noise.wav", "render.wav", "--block", str(BLOCK), "--tail", "0")
    assert done.returncode == 0, done.stderr
    live = subprocess.run(
        [PROGRAM, "run", "--osc-port", str(free_port()), "--io", "dummy", "--fast", "--block", str(BLOCK), "--rate", str(RATE),
        "--play", "noise.wav", "--record", "live.wav", "--duration", "1", rack],
        capture_output=True, text=True, check=False,
    )
    assert live.returncode == 0, live.stderr
    checked = subprocess.run([PROGRAM, "check", "--json", "--channels", "2", rack], capture_output=True, text=True, check=True)
    latency = BLOCK + json.loads(checked.stdout)["latency_frames"]
    rendered, recorded = read_wav("render.wav")[1], read_wav("live.wav")[1]
    n = min(len(rendered), len(recorded) - latency)
    assert n > RATE - 2 * latency and np.array_equal(recorded[latency : latency + n], rendered[:n]), "live differs from render"
    print(f"{rack}: {n} frames live and rendered the same")


def follow_latency():
    """The latency of a plugin changes while it plays beside a dry path: the two are aligned again."""
    before, after, seconds = 100, 700, 90  # longer than all limits of the waits
    signal = np.random.default_rng(4).uniform(-0.2, 0.2, RATE * seconds)
    write_wav("noise.wav", RATE, signal)
    rack = f"(m: ladspa effects/moving frames={before} + d: gain 0dB)"
    with Server("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "noise.wav",
                "--record", "out.wav", rack) as server:
        server.wait_until_wet()
        assert server.status()["rack_latency_frames"] == before
        server.osc.do("/node/m/frames", after)
        server.wait_for(lambda now: now["latency_changes"] > 0)
        server.wait_for(lambda now: now["rack_latency_frames"] == after)
        for _ in range(30):  # until no block of a whole second is late, and so dry
            late = server.status()["late"]
            server.advance(RATE // BLOCK)
            now = server.status()
            if now["late"] == late:
                break
        end = int(now["blocks"]) * BLOCK
        server.stop()
        assert f"m: its latency has changed from {before} to {after} frames" in server.output(), server.output()
    out = read_wav("out.wav")[1][:, 0]
    delay, part = after + BLOCK, slice(end - RATE // 2, end - RATE // 4)
    expected = 2.0 * signal[part.start - delay : part.stop - delay]
    worst = np.max(np.abs(out[part] - expected))
    print(f"latency of a plugin from {before} to {after} frames: worst difference {worst:.2e}")
    assert worst < 1e-4, "the plugin is not aligned with the dry path"


def break_plugin(server, format, label):
    """Play the plugin until it has broken, then the plain rack again."""
    before = server.status()
    plugin, reason = FAULTY[format].format(label), FAULTS[label]
    server.osc.do("/rack/chain", f"{PLAIN} | f: {format} {plugin} after=40")
    if reason:
        now = server.wait_for(lambda now: now["nodes_quarantined"] > before["nodes_quarantined"])
        assert reason in now["worker_note"] and f"run of f ({format} " in now["worker_note"], now["worker_note"]
        server.wait_until_wet(n_blocks=RATE // BLOCK)
        assert server.status()["quarantined"] == before["quarantined"]
        assert server.osc.ask("/rack/get")[1][0].find("faults") >= 0, "the rack has changed"
    else:
        server.advance(RATE // BLOCK)
        assert server.status()["worker_pid"] == before["worker_pid"], server.output()
    server.osc.do("/rack/chain", PLAIN)
    server.wait_until_wet(n_blocks=RATE // BLOCK // 2)


def record(format, *labels):
    """Play one plugin after the other and check the recording."""
    with Server("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "../sine.wav",
                "--record", "out.wav", PLAIN) as server:
        server.worker()
        server.wait_until_wet()
        for label in labels:
            break_plugin(server, format, label)
        end = int(server.status()["blocks"]) * BLOCK  # the stop takes time if the worker is busy
        server.stop()
    n_printed = server.output().count(f"plugin: {BLOCK} frames\n")
    assert 0 < n_printed <= 20 or "prints" not in labels, f"{n_printed} lines of a plugin that prints in each block"
    check_recording("out.wav", end, server)


def check_recording(path, end, server):
    out = read_wav(path)[1][RATE // 10 : end, 0]
    assert np.all(np.isfinite(out)), "not finite"
    powers = np.mean(out[: len(out) // 240 * 240].reshape(-1, 240) ** 2, axis=1)
    quiet = np.flatnonzero(powers < 10.0 ** (LOWEST_DB / 10.0)) * 0.005 + 0.1
    print(f"{len(out) / RATE:.1f} s, quietest 5 ms {db(np.sqrt(np.min(powers))):.1f} dBFS, largest sample {np.max(np.abs(out)):.3f}")
    if len(quiet) and "the disk was too slow" in server.output():
        print("not judged: the disk was too slow for the recording")
    else:
        assert not len(quiet), f"too quiet for {len(quiet)} times 5 ms, from {quiet[0]:.3f} to {quiet[-1]:.3f} s\n{server.output()}"


def rows(formats, chosen):
    """What plays side by side."""
    for format, plugin in GOOD.items():
        if format in formats:
            name, *values = plugin.split(" ")
            yield same_samples, f'p: {format} "{name}" {" ".join(values)} | limiter -1dB'
    if "ladspa" in formats:
        yield same_samples, "p: ladspa faults/looks_for_display after=0 | limiter -1dB"
        yield (follow_latency,)
    for format in sorted(formats - {"ladspa"}):
        yield record, format, *(label for label in OF_FORMAT if label in chosen)
    for label in chosen if "ladspa" in formats else []:
        yield record, "ladspa", label


with scratch():
    os.environ["DISPLAY"] = ":99"
    formats = {plugin["format"] for plugin in plugins_here()}
    write_wav("sine.wav", RATE, LEVEL * np.sin(2 * np.pi * 1000.0 * np.arange(RATE * 180) / RATE))
    failed = side_by_side(list(rows(formats, sys.argv[2:] or list(FAULTS))))
    if not formats:
        print("skipped: the build has no plugin formats")
        sys.exit(77)
    sys.exit(failed > 0)
