# SPDX-License-Identifier: GPL-3.0-or-later
"""States of plugins: saved while they play, and restored.

    live_states.py PROGRAM

For LV2 and CLAP, with a plugin whose gain is the peak of its input, which it has learnt: its state is saved while it
plays, and the output does not change, not by a sample.  After the loss of the worker, after undo and redo, after
a restart of the server and in the renderer the output is the same as before, also if the plugin has written a file for its
state (state:makePath).  A plugin that crashes, hangs or has too much to save costs no rack; files that are no states of
the plugin are refused, and the old sound goes on.
"""

from common import *

RATE, BLOCK = 48000, 256
HIGH, LOW = 0.5, 0.25  # the level of the first 0.1 s, which the plugin learns, and of the rest
FORMATS = ("lv2", "clap")
NODES = {"lv2": 'a: lv2 "urn:warprack:learner"', "clap": "a: clap test.learner gain=0.5", "file": 'a: lv2 "urn:warprack:taker"'}
LEARNT = {"lv2": LOW + LOW * HIGH, "clap": 0.5 * LOW + LOW * HIGH, "file": LOW + LOW * HIGH}
FRESH = {"lv2": LOW + LOW * LOW, "clap": 0.5 * LOW + LOW * LOW, "file": LOW + LOW * LOW}
MODES = {"lv2": {"large": 1, "crash": 6, "hang": 7, "fail": 8}, "clap": {"large": 1, "crash": 3, "hang": 4, "fail": 5}}


def plugins_here():
    for format in FORMATS:
        folder = os.environ.get(f"WARPRACK_{format.upper()}_FIXTURES")
        if not folder:
            print(f"skipped: the build has no {format}")
            sys.exit(77)
        os.environ[f"{format.upper()}_PATH"] = os.path.dirname(folder) if format == "lv2" else folder
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    subprocess.run([PROGRAM, "scan"], capture_output=True, check=True)


def server_of(rack, seconds=90):
    signal = np.full(RATE * seconds, LOW, dtype=np.float32)
    signal[: RATE // 10] = HIGH
    write_wav("in.wav", RATE, signal)
    return Server("--root", "root", "--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "in.wav",
                  "--record", "out.wav", rack)


def save(server, node="a"):
    reply, values = server.osc.ask(f"/node/{node}/state/save")
    assert reply == "/done", values
    return values[-1]


def fail(server, address, *arguments):
    reply, values = server.osc.ask(address, *arguments)
    assert reply == "/fail", (address, values)
    return values[-1]


def set_mode(server, mode):
    """How the plugin misbehaves; waits until it knows it."""
    server.osc.do("/node/a/mode", mode)
    server.osc.sync()
    server.advance(2)


def wet(server, seconds=0.4):
    """The frame up to which the output has been wet for some seconds: longer than levels() looks back and the first level lasts."""
    return int(server.wait_until_wet(n_blocks=int(seconds * RATE / BLOCK))["blocks"]) * BLOCK


def levels(spans):
    """The recorded samples in the last 0.2 s before each frame: all the same."""
    out = read_wav("out.wav")[1][:, 0]
    found = []
    for end in spans:
        part = out[end - RATE // 5 : end - 2 * BLOCK]
        assert np.all(part == part[0]), (end, np.unique(part))
        found.append(float(part[0]))
    return out, found


def save_and_restore(format):
    with server_of(NODES[format]) as server:
        spans, before = [wet(server)], server.status()
        name = save(server)
        saved = wet(server)
        after = server.status()
        undisturbed = after["dry"] == before["dry"] and after["late"] == before["late"]
        assert f"state={name}" in server.osc.ask("/rack/get")[1][0]
        files = sorted(os.listdir("root"))
        assert name in files and [os.path.splitext(file)[1] for file in files if file != name] == ([".raw"] if format == "file" else [])
        assert save(server) == name and sorted(os.listdir("root")) == files
        pid = server.status()["worker_pid"]
        os.kill(pid, signal.SIGKILL)
        server.wait_for(lambda now: now["worker"] == "running" and now["worker_pid"] != pid)
        spans += [saved, wet(server)]
        server.osc.do("/rack/undo")
        fresh = wet(server)
        server.osc.do("/rack/redo")
        spans.append(wet(server))
        server.osc.do("/rack/save", "saved.rack")
        server.stop()
    out, found = levels([*spans, fresh])
    assert all(np.isclose(level, LEARNT[format], atol=1e-6) for level in found[:-1]), found
    assert len(set(found[:-1])) == 1, found
    assert np.isclose(found[-1], FRESH[format], atol=1e-6), found
    if undisturbed:  # no block was late on this machine
        part = out[spans[0] - 2 * BLOCK : saved - 2 * BLOCK]
        assert np.all(part == part[0]), "the sound was disturbed"
    print(f"{format}: {name}; the same samples after the save, a kill, undo and redo{'' if undisturbed else '; blocks were late'}")
    return name, found[0]


def restore_elsewhere(format, level):
    """A restarted server and the renderer play as the rack that was saved."""
    with server_of("root/saved.rack", seconds=20) as server:
        end = wet(server)
        server.stop()
    assert levels([end])[1] == [level]
    write_wav("low.wav", RATE, np.full(RATE, LOW, dtype=np.float32))
    done = render("root/saved.rack", "low.wav", "render.wav", "--block", str(BLOCK))
    assert done.returncode == 0, done.stderr
    assert np.all(read_wav("render.wav")[1][: RATE - BLOCK, 0] == np.float32(level)), "the renderer plays other samples"
    print(f"{format}: the same samples after a restart and in a file")


def bad_files(name):
    """Files that are no states of the plugin, and what is said about them."""
    with open(f"root/{name}", "rb") as file:
        good = file.read()
    os.mkdir("root/folder.state")
    os.mkfifo("root/fifo.state")
    os.symlink("/etc/passwd", "root/link.state")
    for file, content in {
        "cut.state": good[:-1], "noise.state": np.random.default_rng(1).bytes(100000), "empty.state": b"",
        "other.state": good.replace(b"# lv2 ", b"# clap ").replace(b"# clap test", b"# lv2 test"),
        "wrong.state": good[:-2] + bytes([good[-2] ^ 1]) + good[-1:],
    }.items():
        with open(f"root/{file}", "wb") as target:
            target.write(content)
    with open("root/huge.state", "wb") as target:
        target.truncate(1 << 30)
    return {
        "folder.state": "not a regular file", "fifo.state": "not a regular file", "link.state": "outside the server's folder",
        "cut.state": "damaged or cut off", "noise.state": "not a state", "empty.state": "not a state", "other.state": "another plugin",
        "wrong.state": "damaged or cut off", "huge.state": "at most 16 MiB", "nowhere.state": "No such file", "../outside.state": "outside",
        "/etc/passwd": "outside",
    }


def refuse_files(name):
    """A state whose file is gone, or a link that leads out of the folder."""
    (file,) = (f"root/{other}" for other in os.listdir("root") if other.endswith(".raw"))
    os.rename(file, "elsewhere.raw")
    done = render("root/saved.rack", "low.wav", "render.wav")
    assert done.returncode != 0 and "No such file" in done.stderr, done.stderr
    os.symlink(os.path.abspath("elsewhere.raw"), file)
    done = render("root/saved.rack", "low.wav", "render.wav")
    assert done.returncode != 0 and "outside" in done.stderr, done.stderr
    with server_of(NODES["file"]) as server:
        wet(server)
        assert "outside" in fail(server, "/node/a/state", name)
        set_mode(server, 2)
        assert "no name below its folder" in fail(server, "/node/a/state/save")
        set_mode(server, 4)
        assert "16 MiB" in fail(server, "/node/a/state/save")
        set_mode(server, 5)
        assert "a link" in fail(server, "/node/a/state/save")
        server.stop()
    print("file: a file that is gone, outside, too large or a link is refused")


def refuse(format, name, level):
    with server_of(f"{NODES[format]} state={name}") as server:
        wet(server)
        for file, says in bad_files(name).items():
            reason = fail(server, "/node/a/state", file)
            assert says in reason, (file, reason)
        set_mode(server, MODES[format]["large"])
        assert "more than 16 MiB" in fail(server, "/node/a/state/save")
        set_mode(server, MODES[format]["fail"])
        assert "does not save its state" in fail(server, "/node/a/state/save")
        end = wet(server)
        assert server.status()["worker_restarts"] == 0
        assert f"state={name}" in server.osc.ask("/rack/get")[1][0]
        server.stop()
    assert levels([end])[1] == [level]
    print(f"{format}: bad files and large states are refused, and the old sound goes on")


def break_while_saving(format, name):
    """A hang: another worker takes over.  Two crashes: the node is bypassed, and the rack stays."""
    with server_of(f"{NODES[format]} state={name}") as server:
        wet(server)
        before = server.status()
        set_mode(server, MODES[format]["hang"])
        began = time.monotonic()
        assert "did not return in 10 s in state of a" in fail(server, "/node/a/state/save")
        seconds = time.monotonic() - began
        server.wait_for(lambda now: now["worker_pid"] != before["worker_pid"] and now["worker"] == "running")
        wet(server, seconds=0.6)
        set_mode(server, MODES[format]["crash"])
        reason = fail(server, "/node/a/state/save")
        assert "SIGABRT in state of a" in reason, reason
        now = server.wait_for(lambda now: now["nodes_quarantined"] > before["nodes_quarantined"])  # the hang was the first time
        assert "a: " in now["quarantine_note"] and "in state; its input plays instead" in now["quarantine_note"], now
        end = wet(server)
        assert "quarantine" in fail(server, "/node/a/state/save")
        assert f"state={name}" in server.osc.ask("/rack/get")[1][0]
        server.stop()
    assert levels([end])[1] == [LOW]
    print(f"{format}: a hang is over after {seconds:.1f} s; after a crash the node plays its input")


def made_file():
    """A state with a file of the plugin."""
    os.mkdir("root")
    name, level = save_and_restore("file")
    restore_elsewhere("file", level)
    refuse_files(name)


def state_of(format):
    """A state of values."""
    os.mkdir("root")
    name, level = save_and_restore(format)
    restore_elsewhere(format, level)
    refuse(format, name, level)
    break_while_saving(format, name)


def no_states():
    """A format without states."""
    os.environ["LADSPA_PATH"] = os.environ.get("WARPRACK_LADSPA_FIXTURES", "/nowhere")
    os.environ["XDG_CACHE_HOME"] = os.getcwd()  # the others have no such plugins in their catalogue
    refused = subprocess.run([PROGRAM, "check", "ladspa effects/gain state=x.state"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "are all its state" in refused.stderr, refused.stderr
    print(refused.stderr.strip())


with scratch():
    plugins_here()
    sys.exit(side_by_side([(no_states,), *((state_of, format) for format in FORMATS), (made_file,)]) > 0)
