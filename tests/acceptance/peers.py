# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/bench/peers writes its table, its CSV file and its curves; a program that is slower than its baseline, and one
with wrong samples, fail; a peer that does nothing has no part in the ratio."""

import csv

from common import *

try:
    import scipy.signal  # pylint: disable=unused-import
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/bench/peers")
ROW = "start: a rack of 1 gains, 10 ms of sound"


def peers(build, *options, path=os.environ["PATH"]):
    command = [sys.executable, PEERS, "--build", build, "--quick", "--out", "out", *options, "rack of 1 gains"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120 * SLOWNESS, check=False,
                          env=dict(os.environ, PATH=path))


def stand_in(folder, name, line):
    """A program in place of another; returns its folder."""
    os.mkdir(folder)
    with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{line}\n")
    os.chmod(f"{folder}/{name}", 0o755)
    return folder


def rows_of_row():
    """The lines of the CSV file for ROW, by side."""
    with open("out/rows.csv", encoding="utf-8") as file:
        return {row["side"]: row for row in csv.DictReader(file) if row["row"] == ROW}


with scratch():
    done = peers(os.path.dirname(PROGRAM))
    assert done.returncode == 0, done.stderr
    rows = rows_of_row()
    assert float(rows["warprack"]["median"]) > 0.0, rows
    if shutil.which("ffmpeg"):
        ratio = float(rows["ffmpeg"]["median"]) / float(rows["warprack"]["median"])
        assert abs(float(rows["warprack"]["ratio"]) / ratio - 1.0) < 0.01, rows
        assert f"| {ratio:.2f} |" in done.stdout, done.stdout
    else:
        assert rows["warprack"]["ratio"] == "" and "not installed" in rows["ffmpeg"]["missing"], rows
    assert os.path.getsize("out/nodes.svg") > 500 and ROW in done.stdout, done.stdout

    other = stand_in("other", "warprack", f'sleep 0.5\nshift 5\nexec "{PROGRAM}" render --quiet --tail 0 "gain 1dB" "$@"')
    done = peers(other, "--baseline", PROGRAM)
    assert done.returncode == 1 and f"{ROW}: wrong result" in done.stderr, done
    assert "times the baseline's figure" in done.stderr, done

    done = peers(os.path.dirname(PROGRAM), "idle", path=os.path.abspath(stand_in("idler", "ffmpeg", ":")))  # no jackd
    assert done.returncode == 0 and "jackd is not installed" in done.stdout, done
    rows = rows_of_row()
    assert rows["ffmpeg"]["median"] and rows["warprack"]["ratio"] == "" and "ffmpeg no file or another length" in done.stdout, done
print("the program as it is: right; slow and with another gain: refused")
