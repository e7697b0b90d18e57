# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugins of this machine play live, one after the other: no server ends, no rack is lost, no block is silent.

    live_sweep.py PROGRAM [N [FIRST]]     N plugins (default 20, 0: all), spread over the list from number FIRST on

Noise plays.  The left channel of the rack is a gain of -3 dB, the right one the plugin with its default values, for half
a second.  A plugin may be refused, with a reason, and it may crash: then its worker is replaced, and after the second
crash its node plays its input.  The left channel is recorded, and must have its level all the time.  A server that has
played for PART_S ends, and the next one goes on.

Printed are the plugins that did not play, with their reasons, and the plugin that played at each silent block.
"""

import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "acceptance"))
from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 20
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 0
RATE, BLOCK, LEVEL = 48000, 256, 0.5
PART_S, LONGEST_S = 60, 300  # of a server; the noise has the second length
PLAYS = RATE // BLOCK // 2  # blocks
LOWEST_DB = -3.0 - 3.0 - 1.5  # of 10 ms, to the noise: the gain, a cross-fade to another latency, and that noise is uneven
NAMES = {"late": "blocks late", "worker_restarts": "workers lost", "nodes_quarantined": "nodes bypassed"}


def chosen_plugins():
    os.environ.pop("WARPRACK_USUAL_PLUGINS", None)  # "none" for the tests of the suite
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    subprocess.run([PROGRAM, "scan"], stdout=subprocess.DEVNULL, check=True)
    listed = subprocess.run([PROGRAM, "list", "plugins", "--json"], capture_output=True, text=True, check=True)
    plugins = json.loads(listed.stdout)[FIRST:]
    if not plugins:
        print("skipped: no plugin is installed")
        sys.exit(77)
    n = min(N or len(plugins), len(plugins))
    return [plugins[i * len(plugins) // n] for i in range(n)]


def edit(server, plugin):
    """Let the plugin play on the right.  Returns why the server refuses it, or an empty text."""
    lines = [f'add p {plugin["format"]} "{plugin["id"]}"', "add left gain -3dB", "connect in:1 left", "connect left out:1",
             "connect p:1 out:2"]
    for input in (["connect in:2 p"], []):  # a source has no input
        reply, values = server.osc.ask("/rack/chain", "\n".join(lines + input), timeout=120.0 * SLOWNESS)
        if reply != "/fail" or "has no audio input" not in values[-1]:
            break
    return values[-1] if reply == "/fail" else ""


def play(server, plugin):
    """Play one plugin.  Returns why it did not play until the end, or an empty text."""
    before = server.status()
    if refusal := edit(server, plugin):
        server.wait_for(lambda now: now["worker"] == "running", limit_s=60.0)  # the edit may have cost two workers
        return f"refused: {refusal}"
    server.advance(PLAYS, limit_s=60.0)
    server.wait_until_wet(limit_s=60.0, n_blocks=9)
    now = server.status()
    assert now["quarantined"] == before["quarantined"], now["quarantine_note"]
    assert plugin["id"] in server.osc.ask("/rack/get")[1][0], "the rack is lost"
    if now["nodes_quarantined"] != before["nodes_quarantined"]:
        return f"bypassed: {now['quarantine_note']}"
    return f"crashed once: {now['worker_note']}" if now["worker_restarts"] != before["worker_restarts"] else ""


def silent_blocks(left, begins, first_block):
    """The number of silent blocks.  `begins`: a block and the plugin that plays from there on."""
    blocks = left[: len(left) // BLOCK * BLOCK].reshape(-1, BLOCK)
    silent = first_block + np.flatnonzero(np.max(np.abs(blocks), axis=1) < 1e-3)
    for span in np.split(silent, np.flatnonzero(np.diff(silent) > 1) + 1):
        if len(span):
            began, name = [begin for begin in begins if begin[0] <= span[0]][-1]
            print(f"silent: {len(span)} blocks, {span[0] - began} blocks after {name} was given")
    return len(silent)


def play_part(plugins, reasons, counts):
    """Play plugins in one server for PART_S.  Removes them from the list; returns the recording, and the number of its
    silent blocks."""
    arguments = ["--io", "dummy", "--rate", str(RATE), "--block", str(BLOCK), "--channels", "2:2", "--play", "noise.wav"]
    with Server(*arguments, "--record", "out.wav", "left: gain -3dB") as server:
        server.wait_until_wet()
        first = server.status()
        begins = [(first["blocks"], "no plugin")]
        while plugins and begins[-1][0] * BLOCK < PART_S * RATE:
            plugin = plugins.pop(0)
            begins.append((server.status()["blocks"], plugin["id"]))
            print(f"{plugin['format']} {plugin['id']}", flush=True)
            if reason := play(server, plugin):
                print(f"    {reason}")
                reasons[reason.split(":")[0]] += 1
        last = server.status()
        server.stop()
    for key in NAMES:
        counts[key] += last[key] - first[key]
    assert last["blocks"] * BLOCK < LONGEST_S * RATE, "the noise has ended"
    left = read_wav("out.wav")[1][first["blocks"] * BLOCK : (last["blocks"] - 4) * BLOCK, 0]
    return left, silent_blocks(left, begins, first["blocks"])


def main():
    reasons, counts, n_silent, lowest, n_blocks, n_servers = collections.Counter(), collections.Counter(), 0, 0.0, 0, 0
    with scratch():
        noise = np.random.default_rng(5).uniform(-LEVEL, LEVEL, (RATE * LONGEST_S, 1)).astype(np.float32)
        write_wav("noise.wav", RATE, np.repeat(noise, 2, axis=1))
        plugins = chosen_plugins()
        n_plugins = len(plugins)
        while plugins:
            left, n = play_part(plugins, reasons, counts)
            parts = left[: len(left) // 480 * 480].reshape(-1, 480)
            lowest = min(lowest, db(np.sqrt(np.min(np.mean(parts**2, axis=1)) * 3.0) / LEVEL))
            n_silent, n_blocks, n_servers = n_silent + n, n_blocks + len(left) // BLOCK, n_servers + 1
    print(f"figure: {n_plugins} plugins live in {n_servers} servers, 0 of which ended, 0 racks lost; {sum(reasons.values())} did not play: {dict(reasons)}")
    print(f"figure: {n_silent} of {n_blocks} blocks silent (0); lowest level of 10 ms {lowest:.1f} dB ({LOWEST_DB} at least)")
    print(f"figure: {', '.join(f'{counts[key]} {name}' for key, name in NAMES.items())}")
    assert n_silent == 0 and lowest >= LOWEST_DB


main()
