# SPDX-License-Identifier: GPL-3.0-or-later
"""A thread that a plugin has started ends the process while the player runs another node.

    plugin_threads.py PROGRAM

In each format: after two crashes the node of that plugin plays its input, and the rack stays.  Where it is not known
which node started the thread, no node is bypassed: the rack goes into quarantine, and the note says why.
"""

from common import *

RATE, BLOCK = 48000, 1024
PLAIN = "g: gain -3dB"
FAULTY = {"ladspa": "ladspa faults/{}", "lv2": 'lv2 "urn:warprack:faults:{}"', "clap": "clap test.faults.{}"}
# Behind the faulty plugin: another one, of another library, that runs for 10 ms of each block.  The thread ends the
# process 5 ms after the faulty plugin has run.
BUSY = {"ladspa": FAULTY["lv2"].format("sleeps"), "lv2": FAULTY["ladspa"].format("sleeps"), "clap": FAULTY["ladspa"].format("sleeps")}
UNKNOWN = "outside of the calls of nodes"


def find_plugins():
    folders = {format: os.environ.get(f"WARPRACK_{format.upper()}_FIXTURES") for format in FAULTY}
    if not all(folders.values()):
        print("skipped: the build has not all formats")
        sys.exit(77)
    for format, folder in folders.items():
        os.environ[f"{format.upper()}_PATH"] = os.path.dirname(folder) if format == "lv2" else folder
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    subprocess.run([PROGRAM, "scan"], capture_output=True, check=True)


def play(server, rack):
    """Edit to the rack and wait for the first quarantine.  Returns the status before and after."""
    server.osc.do("/rack/chain", PLAIN)
    server.wait_until_wet()
    before = server.status()
    server.osc.send(osc_message("/rack/chain", rack))
    keys = ("nodes_quarantined", "quarantined")
    after = server.wait_for(lambda now: any(now[key] > before[key] for key in keys))
    print(f"  {after['quarantine_note']}", flush=True)
    return before, after


def bypassed(server, format, label, phase):
    """The node is named, and plays its input."""
    plugin = FAULTY[format].format(label)
    before, after = play(server, f"{PLAIN} | bad: {plugin} after=20 | busy: {BUSY[format]} after=0")
    note = f"bad: {plugin} crashed twice in {phase}; its input plays instead".replace('"', "")
    assert after["quarantine_note"] == note, after["quarantine_note"]
    assert (after["nodes_quarantined"], after["quarantined"]) == (before["nodes_quarantined"] + 1, before["quarantined"]), after
    server.wait_until_wet()
    nodes = server.osc.ask("/server/nodes")[1][0].splitlines()
    assert [node.split()[0] for node in nodes if "quarantine" in node] == ["bad"], nodes


def withdrawn(server, rack, why):
    """No node is named, and the rack goes into quarantine."""
    before, after = play(server, rack)
    assert (after["nodes_quarantined"], after["quarantined"]) == (before["nodes_quarantined"], before["quarantined"] + 1), after
    assert why in after["quarantine_note"] and why in after["worker_note"], after
    server.wait_until_wet()


def server_of_plain():
    return Server("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", PLAIN)


def of_format(format):
    """Threads of its plugins that crash, abort and exit."""
    with server_of_plain() as server:
        server.worker()
        server.wait_until_wet()
        for end in ("segv", "abort", "exit"):
            bypassed(server, format, f"{end}_thread", "a thread")
        server.stop()


def without_a_node():
    """No handler runs, or two nodes have one library."""
    with server_of_plain() as server:
        server.worker()
        server.wait_until_wet()
        bypassed(server, "ladspa", "overflow_run", "run")  # the handler has a stack of its own
        ends = ["exit_at_once_thread", "overflow_thread", "exit_at_once_run"]  # no handler runs
        if "ASAN_OPTIONS" in os.environ:  # AddressSanitizer gives each thread a stack for handlers
            ends.remove("overflow_thread")
            bypassed(server, "ladspa", "overflow_thread", "a thread")
        for end in ends:
            withdrawn(server, f"bad: {FAULTY['ladspa'].format(end)} after=20 | busy: {BUSY['ladspa']} after=0", UNKNOWN)
        # Two nodes of one library.
        twins = f"bad: {FAULTY['lv2'].format('segv_thread')} after=20 | twin: {FAULTY['lv2'].format('in_place')} after=0"
        withdrawn(server, f"{twins} | busy: {BUSY['lv2']} after=0", "or of another node that has or had the same library")
        server.stop()


with scratch():
    find_plugins()
    sys.exit(side_by_side([(without_a_node,), *((of_format, format) for format in FAULTY)], n_processes=4) > 0)
