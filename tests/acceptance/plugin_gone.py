# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins whose files go away while they play.

    plugin_gone.py PROGRAM

The file of a plugin is removed, moved away or replaced by noise, and then the worker is killed.  The next worker cannot
make the plugin's nodes: each of them plays its input, with the latency that it had, the reason is reported, and the
rest of the rack plays on and can be edited.  When a scan finds the plugin again, it plays again, also if others are still
gone.  The same for the file of a plugin's state, and for a plugin that can no longer be used.
"""

from common import *

RATE, BLOCK, LEVEL = 48000, 256, 0.5
RACK = 'g: gain -6dB | p: ladspa effects/gain gain=-12dB | q: ladspa effects/gain gain=-3dB | m: ladspa effects/moving frames=100'
LIBRARY = "plugins/effects.so"


def find_plugins():
    """Let a row find its own plugins, in its own catalogue."""
    os.mkdir("plugins")
    shutil.copy(os.environ["WARPRACK_LADSPA_FIXTURES"] + "/effects.so", LIBRARY)
    os.environ["LADSPA_PATH"] = os.path.abspath("plugins")
    scan_here()


def scan_here():
    os.mkdir("root")
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    subprocess.run([PROGRAM, "scan"], capture_output=True, check=True)


def server_of(rack, samples):
    write_wav("in.wav", RATE, samples)
    return Server("--root", "root", "--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "in.wav",
                  "--record", "out.wav", rack)


def wet(server):
    """The frame from which on the output is wet, after some wet blocks."""
    return int(server.wait_until_wet(n_blocks=int(0.3 * RATE / BLOCK))["blocks"]) * BLOCK


def level_at(frame):
    """The level of the recording in the last 0.2 s before a frame."""
    part = read_wav("out.wav")[1][frame - RATE // 5 : frame - 2 * BLOCK, 0]
    assert np.all(part == part[0]), np.unique(part)
    return db(part[0] / LEVEL)


def bypassed(server):
    return [line.split()[0] for line in server.osc.ask("/server/nodes")[1][0].splitlines() if line.split()[3] == "quarantine"]


def lose_worker(server):
    pid = server.status()["worker_pid"]
    os.kill(pid, signal.SIGKILL)
    server.worker(other_than=pid)


def scan(server):
    server.osc.ask("/server/scan")


def take_away(how):
    if how == "moved":
        os.rename(LIBRARY, "moved.so")
    elif how == "noise":
        with open("noise", "wb") as file:
            file.write(np.random.default_rng(1).bytes(10000))
        os.rename("noise", LIBRARY)
    else:
        os.remove(LIBRARY)


def bring_back(how):
    if how == "moved":
        os.rename("moved.so", LIBRARY)
    else:
        shutil.copy(os.environ["WARPRACK_LADSPA_FIXTURES"] + "/effects.so", "new.so")
        os.rename("new.so", LIBRARY)


def lose_plugin(server, how, says):
    before = server.status()
    spans = [wet(server)]
    take_away(how)
    lose_worker(server)
    now = server.wait_for(lambda now: now["nodes_quarantined"] >= before["nodes_quarantined"] + 3)
    note = now["quarantine_note"]
    assert "p: ladspa effects/gain cannot be loaded (" in note and says in note, note
    assert "its input plays instead, as those of 2 other nodes" in note, note
    spans.append(wet(server))
    assert bypassed(server) == ["p", "q", "m"], bypassed(server)
    now = server.status()
    assert now["rack_latency_frames"] == before["rack_latency_frames"] == 100, now
    scan(server)
    server.osc.do("/rack/insert", "h", "gain", "after", "g")  # an edit of another node
    spans.append(wet(server))
    now = server.status()
    assert bypassed(server) == ["p", "q", "m"] and now["nodes_quarantined"] == before["nodes_quarantined"] + 3, now
    assert now["quarantined"] == 0 and now["worker_restarts"] == before["worker_restarts"] + 1, now
    server.osc.do("/rack/remove", "h")
    bring_back(how)
    scan(server)
    until(lambda: not bypassed(server), server.status)
    spans.append(wet(server))
    print(f"{how}: {note}")
    return spans


def lose_file():
    """The file is removed, moved away or replaced, one after the other in one server."""
    find_plugins()
    ways = {"removed": "No such file", "moved": "No such file", "noise": "changed since the last scan"}
    with server_of(RACK, np.full(RATE * 120, LEVEL)) as server:
        spans = [lose_plugin(server, how, says) for how, says in ways.items()]
        assert server.output().count("node.quarantined") == len(ways), server.output()
        server.stop()
    for of_one in spans:
        levels = [level_at(frame) for frame in of_one]
        assert np.allclose(levels, [-21.0, -6.0, -6.0, -21.0], atol=0.01), levels


def one_state_comes_back():
    """Many states are gone, and one of them comes back: a scan lets its node play, and the others wait."""
    folder = os.environ.get("WARPRACK_LV2_FIXTURES")
    if not folder:
        return
    os.environ["LV2_PATH"] = os.path.dirname(folder)
    scan_here()
    names = [f"p{n}" for n in range(20)]
    os.mkdir("kept")
    with server_of('a: lv2 "urn:warprack:learner"', np.full(RATE * 60, LEVEL)) as server:
        wet(server)
        state = server.osc.ask("/node/a/state/save")[1][-1]
        for name in names:
            shutil.copy(f"root/{state}", f"root/{name}.state")
        server.osc.do("/rack/chain", " | ".join(f'{name}: lv2 "urn:warprack:learner" state={name}.state' for name in names))
        wet(server)
        for name in names:
            os.rename(f"root/{name}.state", f"kept/{name}.state")
        lose_worker(server)
        server.wait_for(lambda now: now["nodes_quarantined"] == 20)
        wet(server)
        assert bypassed(server) == names, bypassed(server)
        os.rename("kept/p7.state", "root/p7.state")
        scan(server)
        names.remove("p7")
        until(lambda: bypassed(server) == names, lambda: bypassed(server))
        server.osc.do("/rack/remove", "p0")
        assert bypassed(server) == names[1:], bypassed(server)
        for name in names:
            os.rename(f"kept/{name}.state", f"root/{name}.state")
        scan(server)
        until(lambda: not bypassed(server), lambda: bypassed(server))
        server.stop()


def lose_state(format, rack):
    """A state that cannot be read: the node plays its input until a scan."""
    folder = os.environ.get(f"WARPRACK_{format.upper()}_FIXTURES")
    if not folder:
        return
    os.environ[f"{format.upper()}_PATH"] = os.path.dirname(folder) if format == "lv2" else folder
    scan_here()
    with server_of(rack, np.full(RATE * 60, LEVEL)) as server:
        wet(server)
        name = server.osc.ask("/node/a/state/save")[1][-1]
        spans = [wet(server)]
        os.rename(f"root/{name}", "kept.state")
        lose_worker(server)
        now = server.wait_for(lambda now: now["nodes_quarantined"] == 1)
        assert f"cannot be loaded ({name}" in now["quarantine_note"], now["quarantine_note"]
        spans.append(wet(server))
        os.rename("kept.state", f"root/{name}")
        scan(server)
        until(lambda: not bypassed(server), server.status)
        spans.append(wet(server))
        server.stop()
    levels = [level_at(frame) for frame in spans]
    assert np.isclose(levels[0], levels[2], atol=0.01) and abs(levels[1]) < 0.01 < abs(levels[0]), levels
    print(f"{format}: {now['quarantine_note']}")


def lose_usability():
    """A new version of a plugin needs what warprack does not offer: its node plays its input in the next worker."""
    folder = os.environ.get("WARPRACK_LV2_FIXTURES")
    if not folder:
        return
    shutil.copytree(folder, "lv2/fixtures.lv2")
    os.environ["LV2_PATH"] = os.path.abspath("lv2")
    scan_here()
    with open("lv2/fixtures.lv2/fixtures.ttl", encoding="utf-8") as file:
        good = file.read()
    bad = good.replace("<urn:warprack:gain>", "<urn:warprack:gain>\n  lv2:requiredFeature <urn:warprack:nothing> ;", 1)
    assert bad != good
    with server_of('g: gain -6dB | p: lv2 "urn:warprack:gain" gain=-12dB', np.full(RATE * 60, LEVEL)) as server:
        spans = [wet(server)]
        for text, gone in ((bad, ["p"]), (good, [])):
            with open("new.ttl", "w", encoding="utf-8") as file:
                file.write(text)
            os.rename("new.ttl", "lv2/fixtures.lv2/fixtures.ttl")
            scan(server)
            server.wait_for(lambda now: "cannot take over" in now["worker_note"] or not gone)
            if gone:
                lose_worker(server)
            until(lambda: bypassed(server) == gone, server.status, server.output)
            spans.append(wet(server))
            print(server.status()["quarantine_note"])
        now = server.status()
        assert now["quarantined"] == 0 and now["nodes_quarantined"] == 1, now
        server.stop()
    levels = [level_at(frame) for frame in spans]
    assert np.allclose(levels, [-18.0, -6.0, -18.0], atol=0.01), levels


def refused_at_the_start():
    """A server does not start with a plugin that cannot be loaded."""
    find_plugins()
    take_away("noise")
    done = subprocess.run([PROGRAM, "run", "--osc-port", str(free_port()), "--io", "dummy", "--duration", "1", RACK],
                          capture_output=True, text=True, check=False)
    assert done.returncode in (2, 4, 5), done
    print(done.stderr.strip().splitlines()[-1])


folder = os.environ.get("WARPRACK_LADSPA_FIXTURES")
if not folder or not os.path.exists(f"{folder}/effects.so"):
    print("skipped: the build has no LADSPA")
    sys.exit(77)
ROWS = [
    (lose_file,),
    (lose_usability,),
    (one_state_comes_back,),
    (lose_state, "lv2", 'a: lv2 "urn:warprack:learner"'),
    (lose_state, "clap", "a: clap test.learner gain=0.25"),
    (refused_at_the_start,),
]
with scratch():
    sys.exit(side_by_side(ROWS) > 0)
