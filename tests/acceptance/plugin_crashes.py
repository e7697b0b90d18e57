# SPDX-License-Identifier: GPL-3.0-or-later
"""One bad plugin among twenty: it is named and bypassed, and the others play on.

    plugin_crashes.py PROGRAM [ROUNDS]

Twenty plugins play in series.  In each round (default 2) one of them crashes until it is bypassed, which must be at
its second crash; an edit that replaces it ends the quarantine.  Measured is the time from the loss of the second
worker until the other nineteen play again, beside the time that an edit takes to make them, and the time for a rack
of built-in effects whose worker is killed.  After the rounds the server holds what it held after the first tenth of
them.  Then, once each: a plugin that hangs in the block; one that crashes and one that hangs while an edit makes it,
where the edit is refused, after a hang within ten seconds, and the old rack plays on; and both in the rack with which
the server starts.
"""

from common import *

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
FEW_ROUNDS = 10  # the machine may stall in one of them: only the shortest time counts
RATE, BLOCK = 48000, 128
GOAL_S = 0.25  # in addition to the time that the plugins take to be made; on an idle machine
EDIT_LIMIT_S = 11.0  # ten seconds, and the time to notice
MEMORY_KB = 2048
N_OTHERS = 19
SHARE_DB = 0.5  # of each of the others
OTHERS = [f"p{n}: ladspa effects/gain gain=-{SHARE_DB}dB" for n in range(N_OTHERS)]
BUILT_IN = " | ".join(f"p{n}: gain -{SHARE_DB}dB" for n in range(N_OTHERS + 1))


def rack(bad):
    """The bad plugin in the middle of the others."""
    return " | ".join(OTHERS[:10] + ([bad] if bad else []) + OTHERS[10:])


def wet_again(server, restarts, began):
    """The seconds since `began` until another worker plays wet blocks: 8 good ones end the fallback."""

    def is_wet(status):
        return status["worker"] == "running" and status["worker_restarts"] >= restarts

    server.wait_for(is_wet)
    dry = -1
    while (now := server.status())["dry"] != dry:
        dry = now["dry"]
        time.sleep(3 * BLOCK / RATE)
    return time.monotonic() - began


def kill_built_in(server):
    server.osc.do("/rack/chain", BUILT_IN)
    server.wait_until_wet(n_blocks=RATE // BLOCK * 6 // 10)  # half a second: the next start is at once
    before = server.status()
    began = time.monotonic()
    os.kill(before["worker_pid"], signal.SIGKILL)
    return wet_again(server, before["worker_restarts"] + 1, began)


def make_others(server):
    """The seconds of an edit that makes the other plugins."""
    began = time.monotonic()
    server.osc.do("/rack/chain", rack(""))
    return time.monotonic() - began


def crash_twice(server):
    """One round.  Returns the seconds from the second loss until the others play."""
    server.osc.do("/rack/chain", rack(""))
    server.wait_until_wet(n_blocks=RATE // BLOCK * 6 // 10)
    before = server.status()
    server.osc.do("/rack/chain", rack("bad: ladspa faults/segv_run after=30"))
    began = time.monotonic()

    def is_bypassed(now):
        nonlocal began
        bypassed = now["nodes_quarantined"] > before["nodes_quarantined"]
        began = began if bypassed else time.monotonic()  # the loss comes after this
        return bypassed

    server.wait_for(is_bypassed)
    seconds = wet_again(server, before["worker_restarts"] + 1, began)
    now = server.status()
    assert now["worker_restarts"] <= before["worker_restarts"] + 2, now  # less if the second one crashed before it took over
    assert now["quarantine_note"] == "bad: ladspa faults/segv_run crashed twice in run; its input plays instead", now["quarantine_note"]
    assert now["nodes_quarantined"] == before["nodes_quarantined"] + 1 and now["quarantined"] == 0, now
    assert now["latency_frames"] == before["latency_frames"], now
    check_nodes(server, "bad segv_run cpu quarantine")
    return seconds


def check_nodes(server, expected):
    """The rack is the whole document, and its node is in quarantine."""
    text = server.osc.ask("/rack/get")[1][0]
    assert text.count("ladspa effects/gain") == N_OTHERS and "ladspa faults/" in text, text
    nodes = server.osc.ask("/server/nodes")[1][0].splitlines()
    assert any(node.startswith(expected + " ") for node in nodes) and sum("quarantine" in node for node in nodes) == 1, nodes


def hang_in_run(server):
    before = server.status()
    server.osc.do("/rack/chain", rack("bad: ladspa faults/hang_run after=30"))
    now = server.wait_for(lambda now: now["nodes_quarantined"] > before["nodes_quarantined"])
    assert "bad: ladspa faults/hang_run hung twice in run" in now["quarantine_note"], now["quarantine_note"]
    server.wait_until_wet()
    server.osc.do("/rack/chain", rack(""))


def crash_in_edit(server):
    before = server.status()
    reply, values = server.osc.ask("/rack/chain", rack("bad: ladspa faults/segv_instantiate"))
    assert reply == "/fail" and "instantiate of bad (ladspa faults/segv_instantiate)" in values[-1], (reply, values)
    assert server.status()["nodes_quarantined"] == before["nodes_quarantined"]
    server.wait_until_wet()


def hang_in_edit(server):
    """An edit that makes a plugin which never returns: the old rack plays on in the old worker."""
    before, began = server.status(), time.monotonic()
    server.osc.send(osc_message("/rack/chain", rack("bad: ladspa faults/hang_instantiate")))
    time.sleep(EDIT_LIMIT_S - 3.0)
    waiting = server.status()
    reply, values = server.osc.receive()
    seconds = time.monotonic() - began
    assert reply == "/fail" and "instantiate of bad (ladspa faults/hang_instantiate)" in values[-1], (reply, values)
    n_dry = waiting["dry"] - before["dry"]
    print(f"figure: an edit that hangs is refused after {seconds:.1f} s ({EDIT_LIMIT_S:.0f} at most); {n_dry} of {waiting['blocks'] - before['blocks']} blocks dry meanwhile")
    assert waiting["worker_pid"] == before["worker_pid"]
    assert seconds <= 2 * EDIT_LIMIT_S, "the edit waits for the supervisor's limit"  # the machine may stall meanwhile
    assert n_dry < (waiting["blocks"] - before["blocks"]) // 4, "an outage"  # some blocks may be late on a busy machine
    now = server.wait_for(lambda now: now["worker_pid"] != before["worker_pid"])
    assert "in which a plugin hung" in now["worker_note"] and now["worker_restarts"] == before["worker_restarts"] + 1, now
    assert now["nodes_quarantined"] == before["nodes_quarantined"]
    server.osc.do("/rack/chain", rack("last: gain 0dB"))
    server.wait_until_wet()


def bad_start(arguments):
    """A server that starts with two bad plugins: both are bypassed, and the rest plays."""
    nodes = ("first: ladspa faults/segv_instantiate", "second: ladspa faults/hang_instantiate")
    with Server(*arguments, " | ".join([*nodes, rack("")])) as server:
        now = server.wait_for(lambda now: now["nodes_quarantined"] == 2)
        assert now["quarantine_note"] == "second: ladspa faults/hang_instantiate hung twice in instantiate; its input plays instead", now
        server.wait_until_wet()
        assert server.status()["quarantined"] == 0
        server.stop()


def main():
    with scratch():
        find_ladspa_faults()
        arguments = ("--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "2:2")
        with Server(*arguments, rack("")) as server:
            server.worker()
            server.wait_until_wet()
            built_in = [kill_built_in(server) for _ in range(ROUNDS)]
            made_s = make_others(server)
            plugins, early = [], None
            for n in range(ROUNDS):
                plugins.append(crash_twice(server))
                early = holdings(server.process.pid) if n == ROUNDS // 10 else early
            late = holdings(server.process.pid)
            with futures.ThreadPoolExecutor() as pool:  # both wait for hangs
                beside = pool.submit(bad_start, arguments)
                hang_in_run(server)
                crash_in_edit(server)
                hang_in_edit(server)
                beside.result()
            server.stop()
    for what, times in (("a built-in rack", built_in), (f"{N_OTHERS} of {N_OTHERS + 1} plugins", plugins)):
        print(f"figure: {what}: wet again after {1e3 * np.median(times):.0f} ms (median), {1e3 * max(times):.0f} ms (longest), {ROUNDS} rounds")
    n_over = sum(seconds > made_s + GOAL_S for seconds in plugins)
    print(f"figure: an edit makes the {N_OTHERS} plugins in {1e3 * made_s:.0f} ms; {n_over} of {ROUNDS} times they were wet later than that and {1e3 * GOAL_S:.0f} ms")
    check_holdings(early, late, MEMORY_KB)
    if ROUNDS < FEW_ROUNDS:
        assert min(plugins) <= min(built_in) + made_s + GOAL_S, "too slow"
    else:
        assert max(plugins) <= max(built_in) + GOAL_S, "too slow"
        assert np.median(plugins) <= np.median(built_in) + made_s + GOAL_S, "too slow as a rule"


main()
