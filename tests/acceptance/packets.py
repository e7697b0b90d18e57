# SPDX-License-Identifier: GPL-3.0-or-later
"""The server survives mutated packets, and counts each refused packet with its reason.  Prints the late blocks with and
without the packets.

    packets.py PROGRAM [PACKETS [SEED]]
"""

from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
SEED = sys.argv[3] if len(sys.argv) > 3 else "1"
LOAD = os.environ["WARPRACK_OSC_LOAD"]
CORPUS = os.path.join(os.environ["WARPRACK_TEST_DATA"], "packets.txt")


with scratch(), Server("--backend", "cpu", "--io", "dummy", "lowcut: highpass 80 | vol: gain -6dB") as server:
    before = server.status()
    began = time.monotonic()
    load = subprocess.run(
        [LOAD, "mutate", str(server.port), str(N), SEED, CORPUS], stdout=subprocess.PIPE, text=True, check=False
    )
    print(load.stdout, end="")
    after = server.status()
    time.sleep(time.monotonic() - began)  # as long without packets
    quiet = server.status()
    assert load.returncode == 0, load.returncode
    result = pairs(load.stdout)
    print(f"figure: {N} packets, late blocks: {after['late'] - before['late']} of {after['blocks'] - before['blocks']} with the packets,", end=" ")
    print(f"{quiet['late'] - after['late']} of {quiet['blocks'] - after['blocks']} without")
    print(f"memory: {open(f'/proc/{server.process.pid}/statm').read().split()[1]} pages")
    server.stop()

assert result["exact"] == 1 and result["dropped"] == 0 and result["lost"] == 0, result
