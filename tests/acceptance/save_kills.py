# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeated kill -9 while a server saves its rack: the file is always a whole rack.

    save_kills.py PROGRAM [N]        N kills, default 20

A client changes a value and saves, as fast as the server answers, until the server is killed at a random moment. The
file must then be one of the sent racks, whole, not older than the last acknowledged save; and the next server starts
with it.
"""

import random
import re
import threading

from common import *

N_KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
N_NODES = 200  # a text of several pages
LONGEST_S = 0.06  # from the first save to the kill
VALUE = re.compile(r"(add n0 gain gain=)(\S+)dB")
SEED = int.from_bytes(os.urandom(4), "little")


def value_of(text, template):
    """The value in a saved rack; None if the rack is not whole."""
    found = VALUE.search(text)
    if not found or VALUE.sub(r"\1*", text) != template:
        return None
    return float(found.group(2))


def save_until_killed(server, values, answered):
    """Change and save; `values` are those sent, `answered` those whose save was acknowledged."""
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
    """One server from its start with the saved file to its death; None, or the error."""
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
        f"{leftovers()} of the kills in the middle of one"
    )
    for line in wrong:
        print(line)
    sys.exit(1 if wrong or n_saves == 0 else 0)
