# SPDX-License-Identifier: GPL-3.0-or-later
"""When a server is killed with kill -9 while it saves its rack, the file is always a complete rack.

    save_kills.py PROGRAM [N]        N kills, default 20

A client changes a value and saves the rack, as fast as the server replies, until the server is killed at a random
moment.  The file must then be a complete rack with a value that was sent, not older than the last save with a reply.
The next server starts with this file.
"""

import random
import re
import threading

from common import *

N_KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
N_NODES = 200  # the file is longer than a page of memory
LONGEST_S = 0.06  # from the first save to the kill
VALUE = re.compile(r"(add n0 gain gain=)(\S+)dB")
SEED = int.from_bytes(os.urandom(4), "little")


def value_of(text, template):
    """The value in the text of a saved rack; None if the text is not complete."""
    found = VALUE.search(text)
    if not found or VALUE.sub(r"\1*", text) != template:
        return None
    return float(found.group(2))


def save_until_killed(server, values, answered):
    """Change the value and save the rack, again and again.  `values` gets all values that were sent, `answered` the
    indices of those whose save got a reply."""
    while True:
        values.append(-0.05 * (len(values) % 1000 + 1))
        try:
            server.osc.send(osc_message("/node/n0/gain", values[-1]))
            reply, why = server.osc.ask("/rack/save", "live.rack", timeout=0.5)
        except (ConnectionRefusedError, socket.timeout):
            return
        assert reply == "/done", why
        answered.append(len(values) - 1)


def kill_once(random_s):
    """Start a server with the saved file, and kill it during a save.  Returns an error message or None, and the number
    of saves."""
    values, answered = [], []
    server = Server("--io", "dummy", "live.rack")
    with open("live.rack") as file:
        template = VALUE.sub(r"\1*", file.read())
    killer = threading.Timer(random_s, server.process.kill)
    killer.start()
    save_until_killed(server, values, answered)
    killer.join()
    server.process.wait()
    server.osc.socket.close()
    with open("live.rack") as file:
        value = value_of(file.read(), template)
    if not answered:
        return None, 0
    expected = values[answered[-1] :]
    if value is None or min(abs(value - v) for v in expected) > 1e-3:
        return f"after {len(answered)} saves the file has {value}, not one of {expected}", len(answered)
    return None, len(answered)


def leftovers():
    return len([name for name in os.listdir(".") if name.endswith(".tmp")])


with scratch():
    chance = random.Random(SEED)
    chain = " | ".join(f"n{i}: gain -1dB" for i in range(N_NODES))
    with Server("--io", "dummy", chain) as first:
        first.osc.do("/rack/save", "live.rack")
    with open("live.rack") as file:
        whole = file.read()
    marked = VALUE.sub(r"\1*", whole)
    assert value_of(whole, marked) == -1.0, whole[:200]
    assert value_of(whole[: len(whole) // 2], marked) is None  # positive control

    n_saves, wrong = 0, []
    for kill in range(N_KILLS):
        why, n = kill_once(chance.uniform(0.0, LONGEST_S))
        n_saves += n
        if why:
            wrong.append(f"kill {kill}: {why}")
    subprocess.run([PROGRAM, "check", "live.rack"], check=True, stdout=subprocess.DEVNULL)
    print(
        f"figure: seed {SEED}: {N_KILLS - len(wrong)} of {N_KILLS} files load after kill -9, {n_saves} saves, "
        f"{leftovers()} of the kills during a save"
    )
    for line in wrong:
        print(line)
    sys.exit(1 if wrong or n_saves == 0 else 0)
