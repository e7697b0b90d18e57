# SPDX-License-Identifier: GPL-3.0-or-later
"""Typical mistakes on the command line give the messages in tests/data/wrong_inputs.txt, which describes its format.

    wrong_inputs.py build/warprack             the test
    wrong_inputs.py build/warprack --show      each line with its current output
"""

import concurrent.futures
import os
import shlex
import subprocess
import sys

import numpy as np

from common import PROGRAM, Server, scratch, write_wav

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "wrong_inputs.txt")


def read_table():
    """The rows of the table: [(line number, command line, exit code, parts of the output)]."""
    rows = []
    with open(TABLE, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            line = line.rstrip("\n")
            if line.startswith("> "):
                rows.append((number, line[2:], None, []))
            elif line and not line.startswith("#"):
                code, text = line.split(" ", 1)
                number, command, expected, parts = rows[-1]
                assert expected in (None, int(code)), f"line {number}: two exit codes"
                rows[-1] = (number, command, int(code), parts + [text])
    return rows


def make_files():
    """Make the files that the table names."""
    noise = np.random.default_rng(1).standard_normal((4800, 2)) * 0.1
    write_wav("in.wav", 48000, noise)
    write_wav("my hall.wav", 48000, noise[:480])
    os.mkdir("folder")
    texts = {
        "notes.txt": "Take the bus to the hall.\n",
        "chain.rack": "# two lines that meet at out\nchain a: gain -6\nchain b: gain -6\n",
        "zero.txt": "Filter 1: ON PK Fc 1000 Hz Gain 3 dB Q 0\n",
        "off.txt": "Filter 1: OFF PK Fc 1000 Hz Gain 3 dB Q 1\n",
        "camilla.rack": "filters:\n  lowpass:\n    type: Biquad\n",
        "jconv.rack": "/convolver/new 2 2 256 204800\n/impulse/read 1 1 1 0 0 0 1 hall.wav\n",
    }
    for name, text in texts.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)


def command_of(line, port):
    """The full command line: `send` and `status` use the test's server; `run` plays on a timer, for a moment."""
    words = shlex.split(line)
    extra = {"send": ["-p", str(port)], "status": ["-p", str(port)], "run": ["--io", "dummy", "-p", "0", "-t", "0.1"]}
    return [PROGRAM, *words[:1], *(extra.get(words[0], []) if words else []), *words[1:]]


def run_row(row, port):
    done = subprocess.run(
        command_of(row[1], port), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, (done.stdout + done.stderr).strip()


def judge(row, result):
    number, line, code, parts = row
    missing = [part for part in parts if part not in result[1]]
    if result[0] == code and not missing:
        return True
    print(f"wrong_inputs.txt:{number}: warprack {line}\n  expected {code}: {missing or parts}\n  got {result[0]}: {result[1]}")
    return False


def main():
    rows = read_table()
    with scratch():
        make_files()
        with Server("--io", "dummy", "vol: gain -6 | lowcut: highpass 80") as server:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                results = list(pool.map(lambda row: run_row(row, server.port), rows))
            server.stop()
    if "--show" in sys.argv:
        for row, result in zip(rows, results):
            print(f"> {row[1]}\n{result[0]} {result[1]}\n")
        return 0
    good = sum(judge(row, result) for row, result in zip(rows, results))
    print(f"{good} of {len(rows)} wrong inputs give the expected message")
    return 0 if good == len(rows) and rows else 1


if __name__ == "__main__":
    sys.exit(main())
