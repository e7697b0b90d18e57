# SPDX-License-Identifier: GPL-3.0-or-later
"""One sender, 200 or 2,000 flood the OSC port at full speed: commands of another client are acknowledged as quickly
as without a flood.

    flood.py PROGRAM [COMMANDS]

Before, between and during floods another client sets a parameter and pings, 500 times a second, and the times until
its /done are compared.  Audio continues meanwhile: late blocks are counted and printed beside those of the quiet
runs.  Then one sender sends 50,000 single values a second, and all of them are served.

Skipped if a result is bad, and the machine is so busy with others, or so slow, that this says nothing.
"""

import resource

from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 300
# Limit for the extra milliseconds of the slowest of 100 commands, as compared with the quiet runs.  Beside 2,000 senders
# each command comes from a new port, and only its answer counts.
LIMIT_MS, LIMITED = 50.0, (1, 200)
KINDS = {1: ("ping", "status", "value", "noise"), 200: ("ping", "noise"), 2000: ("value", "noise")}
LOAD = os.environ["WARPRACK_OSC_LOAD"]
SECONDS = 60  # at most: a flood ends with the commands
RATE, PACE_S, SERVED = 50000, 3, 0.99
REACHED = 0.98  # of RATE, by the sender
FLOOD_PACKETS = 10000  # at least, from a flood
# A fraction of time without a processor, above which a bad result says nothing about the program.  Alone on two
# processors the server waits for up to 0.1 of a flood.
BUSY = 0.25


def control_waits_s(server):
    """Time for which the thread that serves packets has waited for a processor; the program does not cause it."""
    return server.control_times_s()["waits"]


def measure(server, kind=None, senders=0):
    """Send commands, with a flood of `kind` beside them, or none."""
    port = str(server.port)
    before, began, waits_s = server.status(), time.monotonic(), control_waits_s(server)
    flood = kind and subprocess.Popen([LOAD, "flood", port, str(SECONDS), kind, str(senders)])
    asked = subprocess.run([LOAD, "ask", port, str(N), *(["new"] if senders == 2000 else [])], capture_output=True, text=True, check=True).stdout
    if flood:
        flood.terminate()
        flood.wait()
    result = pairs(asked)
    result["waits"] = (control_waits_s(server) - waits_s) / (time.monotonic() - began)
    # Another port: the server may send reports of dropped packets to the old one.
    server.osc = Osc(server.port)
    after = server.status()
    for key in ("late", "blocks", "osc_packets", "osc_messages", "osc_dropped", "osc_lost"):
        result[key] = after[key] - before[key]
    print(f"{senders:4} {kind or 'quiet':7}" + "".join(f" {key} {value:.4g}" for key, value in result.items()), flush=True)
    return result


def not_judged(what, why):
    print(f"not judged: {what}, {why}")
    return 1


def expect_pace(server):
    """Of one sender that is fast; returns 1 if this machine does not allow a judgement, else 0."""
    before, waits_s = server.status(), control_waits_s(server)
    result = pairs(subprocess.run([LOAD, "pace", str(server.port), str(PACE_S), str(RATE)], capture_output=True, text=True, check=True).stdout)
    after, waits_s = server.status(), control_waits_s(server) - waits_s
    served = (after["osc_messages"] - before["osc_messages"] - 1) / result["sent"]
    rate = result["sent"] / result["seconds"]
    print(f"figure: {rate:.0f} values a second of one sender: {100 * served:.2f} % served (allowed {100 * SERVED:.0f});", end=" ")
    print(f"{after['osc_dropped'] - before['osc_dropped']} dropped, {after['osc_lost'] - before['osc_lost']} lost, {waits_s:.2f} s without a processor")
    if rate < REACHED * RATE:
        return not_judged("one fast sender", f"it does not reach {RATE} values a second here")
    if served >= SERVED or is_sanitized():
        return 0
    assert waits_s >= 0.1 * PACE_S  # longer than the queues can absorb
    return not_judged("one fast sender", "this machine is busy with others")


def expect_quick(senders, results, usual_ms):
    """The same for the times of another client's commands during floods of so many senders."""
    limit_ms = usual_ms + LIMIT_MS if senders in LIMITED else float("inf")
    bad = [result for result in results if result["p99_ms"] >= limit_ms or result["osc_packets"] + result["osc_lost"] < FLOOD_PACKETS]
    worst_ms = max(result["p99_ms"] for result in results)
    allowed = f"allowed {LIMIT_MS:.0f} ms more" if senders in LIMITED else "no limit"
    print(f"figure: p99 {worst_ms:.3f} ms during floods of {senders}, {usual_ms:.3f} ms without ({allowed})")
    if not bad or is_sanitized():
        return 0
    assert all(result["waits"] >= BUSY for result in bad), bad
    return not_judged(f"{len(bad)} of {len(results)} floods of {senders}", "this machine is busy with others")


def expect_report(said, floods):
    """The same for the event that names a sender whose packets were dropped."""
    if not any(result["osc_dropped"] for _, result in floods):
        return not_judged("osc.flood", "no packet was dropped")
    assert "osc.flood: 127.0.0.1 " in said, said
    return 0


files = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(files[0], 4096), files[1]), files[1]))
with scratch(), Server("--backend", "cpu", "--io", "dummy", "vol: gain -6dB") as server:
    quiet, floods = [measure(server)], []
    for senders in KINDS:
        for kind in KINDS[senders]:
            floods.append((senders, measure(server, kind, senders)))
        quiet.append(measure(server))
    n_open = expect_pace(server)
    said = server.stop()

n_open += expect_report(said, floods)
usual = min(result["p99_ms"] for result in quiet)
for senders in KINDS:
    n_open += expect_quick(senders, [result for n, result in floods if n == senders], usual)
if n_open:
    print("skipped: not all could be judged")
    sys.exit(77)
