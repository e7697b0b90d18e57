# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes over OSC: instruments sound from the frame of a note to its end, and nothing goes on after its end.

    live_notes.py PROGRAM

A server plays the tone generators of the tests (tests/support/plugins/tones.c) and records.  The recording has the
exact samples of a note, then silence after every way in which notes end: a length, a message, an edit, an undo, a
bypass, a crash of the worker, and more notes than the engine has room for.
"""

import json
import re
import time

from common import *

RATE, BLOCK = 48000, 256
N_FLOODS = 10  # of 512 notes
PLUGINS = {"clap": "test.tones.tone", "lv2": "urn:warprack:tones:tone"}


def plugins_here():
    """The folders of the tests' plugins.  Returns the formats of the build."""
    clap, lv2 = os.environ.get("WARPRACK_CLAP_FIXTURES"), os.environ.get("WARPRACK_LV2_TONES")
    os.environ.update(CLAP_PATH=clap or "/nonexistent", LV2_PATH=os.path.dirname(lv2) if lv2 else "/nonexistent",
                      LADSPA_PATH="/nonexistent", XDG_CACHE_HOME=os.getcwd())  # fmt: skip
    scan = subprocess.run([PROGRAM, "scan", "--json"], capture_output=True, text=True, check=False)
    assert scan.returncode == 0, scan.stderr
    return [name for name, folder in (("clap", clap), ("lv2", lv2)) if folder]


def program_lists(format):
    """`info` and `list` tell which plugins take notes."""
    plugin = PLUGINS[format]
    info = subprocess.run([PROGRAM, "info", format, plugin], capture_output=True, text=True, check=True).stdout
    assert re.search("^takes +notes$", info, re.M), info
    found = subprocess.run([PROGRAM, "list", "plugins", "notes", "--json"], capture_output=True, text=True, check=True)
    ids = [row["id"] for row in json.loads(found.stdout)]
    assert plugin in ids and not any("gain" in other for other in ids), ids


def server_for(format, recording):
    rack = f'add synth {format} "{PLUGINS[format]}"\nadd vol gain\nconnect synth vol\nconnect vol out\n'
    with open("notes.rack", "w", encoding="utf-8") as file:
        file.write(rack)
    return Server("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--record", recording, "notes.rack")


def now_frame(server):
    """A frame of the recording that is not before all that was done so far."""
    server.osc.sync()
    return int(server.status()["blocks"]) * BLOCK + 2 * BLOCK


def tone(key, velocity, n):
    return velocity * np.cos(2.0 * np.pi * 440.0 * 2.0 ** ((key - 69) / 12.0) * np.arange(n) / RATE)


N_CHORDS, CHORD_S = 8, 0.05


def record_chords(format):
    """Play chords in bundles, at any frame.  Returns the recording, and how many blocks and notes were late or left out."""
    with server_for(format, "chords.wav") as server:
        server.wait_until_wet()
        before = server.status()
        for chord in range(N_CHORDS):
            messages = [("/note/synth", key, 50, CHORD_S) for key in (57, 64 + chord)]
            server.osc.send(osc_bundle([osc_message(*message) for message in messages], time.time() + 0.2 + 0.1 * chord))
        for _ in range(2 * N_CHORDS):
            assert server.osc.receive()[0] == "/done"
        server.advance(RATE // BLOCK // 2)
        status = server.status()
        assert status["notes_played"] == 2 * N_CHORDS and status["notes_dropped"] == 0, lines_of(status)
        server.stop()
    late = sum(status[key] - before[key] for key in ("late", "dry", "xruns", "notes_late"))
    return read_wav("chords.wav")[1][:, 0], late


def exact_samples(format):
    """Each note of a chord has exactly its length, and its samples.  On a busy machine, blocks and ends may be late, and the
    driver leaves out periods: then the chords are played again."""
    for _ in range(5):
        out, late = record_chords(format)
        if not late:
            break
        print(f"{format}: {late:g} blocks and notes late, the samples are not judged")
    else:
        return
    sounding = np.flatnonzero(np.abs(out) > 0.0)
    starts = [sounding[0], *sounding[1:][np.diff(sounding) > 500]]
    assert len(starts) == N_CHORDS, f"{len(starts)} chords of {N_CHORDS}"
    n = round(CHORD_S * RATE)
    worst = 0.0
    for chord, start in enumerate(starts):
        expected = tone(57, 50 / 127, n) + tone(64 + chord, 50 / 127, n)
        worst = max(worst, np.max(np.abs(out[start : start + n] - expected)))
        assert np.all(out[start + n : start + n + 500] == 0.0), f"chord {chord} is longer than {n} frames"
    assert worst < 1e-5, f"{worst} from the exact samples"
    offsets = sorted(int(start) % BLOCK for start in starts)
    print(f"{format}: {N_CHORDS} chords, at frames {offsets} of their blocks: worst difference {worst:.2e}")


def expect_silence(out, spans):
    for what, (begin, end) in spans.items():
        assert end - begin > BLOCK, what
        assert np.max(np.abs(out[begin:end])) == 0.0, f"a note goes on: {what}"


def ends(format):
    """After each way to end a note there is silence."""
    silent, loud = {}, {}

    def hold(*keys):
        for key in keys:
            server.osc.do("/note/synth", key, 40)

    def check(what, spans):
        begin = now_frame(server)
        server.advance(60)
        spans[what] = (begin, int(server.status()["blocks"]) * BLOCK - 4 * BLOCK)

    with server_for(format, "ends.wav") as server:
        server.wait_until_wet()
        check("before the first note", silent)
        hold(60, 64)
        check("two keys", loud)
        server.osc.do("/note/synth", 60, 0)
        check("the second key", loud)
        server.osc.do("/note/synth", 64, 0)
        check("both keys are released", silent)
        hold(60, 64, 67)
        server.osc.do("/note/*/off")
        check("all notes off", silent)
        hold(60)
        server.osc.do("/rack/chain", "vol: gain -3dB")
        check("the node is removed", silent)
        server.osc.do("/rack/undo")
        check("the removal is undone", silent)
        hold(61)
        check("the node plays again", loud)
        server.osc.do("/rack/insert", "more", "gain", "before", "out")
        check("an edit that keeps the node", loud)
        server.osc.do("/node/synth/bypass", 1)
        server.advance(20)
        server.osc.do("/note/synth", 61, 0)
        server.osc.do("/node/synth/bypass", 0)
        check("it was released in a bypass", silent)
        hold(62)
        pid = server.worker()
        os.kill(pid, signal.SIGKILL)
        server.worker(other_than=pid)
        server.wait_until_wet()
        check("the worker was killed", silent)
        server.osc.do("/note/synth", 62, 0)
        hold(63)
        check("the next worker plays", loud)
        server.osc.do("/note/synth/off")
        answers = flood(server)
        check("after a flood", silent)
        server.stop()
    out = read_wav("ends.wav")[1][:, 0]
    expect_silence(out, silent)
    for what, (begin, end) in loud.items():
        assert np.max(np.abs(out[begin:end])) > 0.1, f"no sound: {what}"
    print(f"{format}: silent after {len(silent)} ends; flood: {answers}")


def flood(server):
    """More notes at one moment than block, heap and ring have room for; after each its end."""
    before = server.status()
    flooder = Osc(server.port)
    flooder.do("/server/answers", "failures")
    for velocity in (100, 0) * N_FLOODS:
        flooder.send(osc_bundle([osc_message("/note/synth", key, velocity) for key in range(128)] * 4))
    n_messages = before["osc_messages"] + 2 * 512 * N_FLOODS
    server.wait_for(lambda now: now["osc_messages"] > n_messages and now["notes_waiting"] == 0)
    server.advance(60)
    now = server.status()
    changes = {key: now[key] - before[key] for key in ("notes_played", "notes_late", "commands_failed", "osc_dropped")}
    assert changes["notes_played"] > 0 and changes["notes_late"] > 0, changes
    assert changes["notes_played"] == 512 * N_FLOODS or changes["commands_failed"] > 0, f"notes were lost silently: {changes}"
    return changes


with scratch():
    formats = plugins_here()
    if not formats:
        sys.exit(77)
    for one in formats:
        program_lists(one)
        exact_samples(one)
        ends(one)
