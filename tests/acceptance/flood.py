# SPDX-License-Identifier: GPL-3.0-or-later
"""One sender, or 200, flood the OSC port at full speed: another one's commands are acknowledged as quickly as ever.

Before, between and during floods another client sets a parameter and pings, 500 times a second, and the times until its
/done are compared.  The sound goes on meanwhile: blocks that are late are counted, and shown beside those of the quiet runs.
"""

from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 1000  # flood.py PROGRAM [COMMANDS]
LIMIT_MS = 50.0
LOAD = os.environ["WARPRACK_OSC_LOAD"]
SECONDS = 60  # at most: a flood is ended when the commands are done


def measure(server, kind=None, senders=0):
    """Ask, with a flood of `kind` beside it, or none."""
    port = str(server.port)
    before = server.status()
    flood = kind and subprocess.Popen([LOAD, "flood", port, str(SECONDS), kind, str(senders)])
    asked = subprocess.run([LOAD, "ask", port, str(N)], capture_output=True, text=True, check=True).stdout.split()
    if flood:
        flood.terminate()
        flood.wait()
    after = server.status()
    result = {key: float(value) for key, value in zip(asked[0::2], asked[1::2])}
    for key in ("late", "blocks", "osc_packets", "osc_slowed", "osc_shut_out", "osc_lost"):
        result[key] = after[key] - before[key]
    print(f"{senders:3} {kind or 'quiet':7}" + "".join(f" {key} {value:g}" for key, value in result.items()), flush=True)
    return result


with scratch(), Server("--backend", "cpu", "--io", "dummy", "vol: gain -6dB") as server:
    quiet = [measure(server)]
    floods = []
    for senders in (1, 200):
        for kind in ("ping", "status", "value", "noise"):
            floods.append(measure(server, kind, senders))
            quiet.append(measure(server))
    server.stop()

worst = max(result["p99_ms"] for result in floods)
usual = max(result["p99_ms"] for result in quiet)
print(f"figure: p99 {worst:.3f} ms during floods, {usual:.3f} ms without; allowed {LIMIT_MS:.0f} ms more")
assert all(result["osc_slowed"] + result["osc_lost"] > 10000 for result in floods), "that was no flood"
assert worst < usual + LIMIT_MS
