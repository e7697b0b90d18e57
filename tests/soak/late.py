# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the late blocks of runs with and without random edits, which alternate within the same minutes.

    late.py PROGRAM EDITS

An idle machine stalls now and then, and late blocks come in groups: a run with edits may have three standard
deviations more than the quiet runs, for a count whose groups have the size STALL.
"""

import json
import math
import subprocess
import sys

PROGRAM, EDITS = sys.argv[1], int(sys.argv[2])
PER_MINUTE, PAIRS, STALL = 3000, 5, 8

seconds = max(2.0, EDITS * 60.0 / PER_MINUTE / PAIRS)
command = [PROGRAM, "bench", "edit", "--json", "--channels", "16", "--block", "256", "--edits", str(PER_MINUTE)]
done = subprocess.run(command + ["--pairs", str(PAIRS), "--seconds", f"{seconds:.1f}"], capture_output=True, text=True, check=False)
if done.returncode:
    sys.exit(done.stderr)
result = json.loads(done.stdout)
quiet, edited, fast = result["without_edits"], result["with_edits"], result["fast"]
allowed = quiet["late"] + 3.0 * math.sqrt(STALL * (quiet["late"] + STALL))
good = edited["late"] <= allowed and edited["edits_refused"] == 0 and edited["edits_accepted"] >= 0.9 * EDITS and fast["late"] == 0
print(
    f"figure: late blocks of {edited['blocks']}: {edited['late']} with {edited['edits_accepted']} edits, {quiet['late']} without "
    f"(at most {allowed:.0f}); {fast['late']} on a clock that waits (0){'' if good else ' FAILED'}"
)
sys.exit(0 if good else 1)
