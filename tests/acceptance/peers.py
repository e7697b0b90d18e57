# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/bench/peers writes its table, its CSV file and its curves; a program that is slower than its baseline, and one
with wrong samples, fail, but not one that is its own baseline; a peer that does nothing has no part in the ratio."""

import csv
import re

from common import *

try:
    import scipy.signal  # pylint: disable=unused-import
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/bench/peers")
ROW = "start: a rack of 1 gains, 10 ms of sound"


def peers(build, *options, path=os.environ["PATH"]):
    command = [sys.executable, PEERS, "--build", build, "--quick", "--rounds", "1", "--out", "out", *options, "rack of 1 gains"]
    return subprocess.run(command, capture_output=True, text=True, timeout=180 * SLOWNESS, check=False,
                          env=dict(os.environ, PATH=path))


def stand_in(folder, name, line):
    """A program in place of another; returns its folder."""
    os.mkdir(folder)
    with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{line}\n")
    os.chmod(f"{folder}/{name}", 0o755)
    return folder


def sides_of(name=ROW):
    """The lines of the CSV file for a row, by side."""
    with open("out/rows.csv", encoding="utf-8") as file:
        return {row["side"]: row for row in csv.DictReader(file) if row["row"].startswith(name)}


with scratch():
    done = peers(os.path.dirname(PROGRAM))
    assert done.returncode == 0, done.stderr
    rows = sides_of()
    assert float(rows["warprack"]["median"]) > 0.0, rows
    if shutil.which("ffmpeg"):
        ratio = float(rows["ffmpeg"]["median"]) / float(rows["warprack"]["median"])
        assert abs(float(rows["warprack"]["ratio"]) / ratio - 1.0) < 0.01, rows
        assert f"| {ratio:.2f} |" in done.stdout, done.stdout
    else:
        assert rows["warprack"]["ratio"] == "" and "not installed" in rows["ffmpeg"]["missing"], rows
    assert ROW in done.stdout, done.stdout
    commit = re.search(r"\((.*)\)", subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout)[1]
    assert rows["warprack"]["commit"] == commit and f"commit {commit}" in done.stdout, done.stdout

    for build, options, reason in ((".", [], "./warprack"), (os.path.dirname(PROGRAM), ["--baseline", "nowhere"], "nowhere"),
                                   (os.path.dirname(PROGRAM), ["--rounds", "0"], "--rounds")):
        done = peers(build, *options)
        assert done.returncode == 2 and reason.lstrip(".") in done.stderr, done.stderr

    done = peers(os.path.dirname(PROGRAM), "in memory, 2 ch", "five of 101 taps in", "IR 64 frames", "rack of 64", "OSC")
    assert os.path.getsize("out/nodes.svg") > 500 and not os.path.exists("out/channels.svg")  # which has one point
    for name, peer in ("iir", "SciPy float32"), ("FIR", "SciPy oaconvolve"), ("convolver", "zita-convolver"), ("OSC", "scsynth, each read back"):
        rows = sides_of(name)
        print(name, rows["warprack"]["median"] or rows["warprack"]["missing"], rows["warprack"]["compared"])
        assert float(rows["warprack"]["median"] or name == "OSC") > 0.0, rows
        assert rows["warprack"]["right"] == "True" or name == "OSC", rows  # a busy machine may lose packets
        assert rows[peer]["missing"] or float(rows[peer]["ratio"]) > 0.0, rows
    if shutil.which("jackd"):
        assert int(re.search(r"answered: warprack (\d+) of", sides_of("OSC")["warprack"]["compared"])[1]) > 0, done.stdout

    done = peers(os.path.dirname(PROGRAM), "--baseline", PROGRAM)
    assert done.returncode == 0 and " pairs)" in done.stdout, done

    other = stand_in("other", "warprack", f'sleep 0.1\nshift 5\nexec "{PROGRAM}" render --quiet --tail 0 "gain 1dB" "$@"')
    done = peers(other, "--baseline", PROGRAM)
    assert done.returncode == 1 and f"{ROW}: wrong result" in done.stderr, done
    assert f"{ROW}: slower: " in done.stderr, done

    done = peers(os.path.dirname(PROGRAM), "idle", path=os.path.abspath(stand_in("idler", "ffmpeg", ":")))  # no jackd
    assert done.returncode == 0 and "jackd is not installed" in done.stdout, done
    rows = sides_of()
    assert rows["ffmpeg"]["median"] and rows["warprack"]["ratio"] == "" and "ffmpeg no file or another length" in done.stdout, done
print("the program as it is: right; slow and with another gain: refused")
