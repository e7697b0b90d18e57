# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker is killed while MIDI controllers move: each event counts once, whatever the worker was doing.

    midi_kills.py PROGRAM [N]        N kills at random moments, default 3, after those at each step

Presses that toggle a switch, and steps of an endless encoder, come every 16 ms.  The worker is killed before and after
each of its writes to shared memory that concern them: by its fault hooks (worker.kill), then at random moments from
outside.  At the end the document has all of them, and so has the sound.
"""

import random

from common import *

need("jackd", "jack_lsp", "jack_connect", "jack_disconnect")

N_RANDOM = int(sys.argv[2]) if len(sys.argv) > 2 else 3
PEER = os.environ["WARPRACK_JACK_PEER"]
SENT = 75  # groups of events; a step is 1/128 of 60 dB
N_KINDS = 3  # press, release, step: the events of a group
LOUD_DB, QUIET_DB, HALF_DB = 0.0, -60.0, -6.0
N_STEPS = 10  # of the work on a block with events, and a few of the next one
RACK = """add vol gain -60dB
add half gain -6dB
connect in vol
connect vol half
connect half out
midi cc 1:20 half.bypass toggle=on
midi cc 1:21 vol.gain -60dB..0dB taper=linear relative=twos
"""


def play(jack, server, peer, kill):
    """The events, and a kill among them; returns how many of them came."""
    server.osc.do("/node/vol/gain", QUIET_DB)
    server.osc.do("/node/half/bypass", 0)
    before = server.status()
    jack.connect("peer:midi", "rack:midi_in")
    time.sleep(0.3)
    # The server may have replaced the worker, which is a kill as well; or the fault comes before the answer to arm().
    with contextlib.suppress(ProcessLookupError, ConnectionRefusedError, TimeoutError):
        kill(int(before["worker_pid"]))
    assert peer.stdout.readline().startswith("sent")

    def is_replaced(now):
        server.osc.do("/node/half/gain", HALF_DB)  # further steps, if the events were over before the fault was armed
        return now["worker_restarts"] > before["worker_restarts"] and now["worker"] == "running"

    server.wait_for(is_replaced)
    jack.run("jack_disconnect", "peer:midi", "rack:midi_in")
    server.advance(8, "for the last events")
    return server.status()["midi_events"] - before["midi_events"]


def check_kill(jack, server, peer, kill):
    """The document and the sound come to what the controllers have done."""
    # On a busy machine JACK itself may lose the events of a period, or pass a part of them.
    n = until(lambda: (came := play(jack, server, peer, kill)) % N_KINDS == 0 and came // N_KINDS)
    gain, bypass = QUIET_DB + n * (LOUD_DB - QUIET_DB) / 128.0, n % 2
    level = db(0.25) + gain + (0.0 if bypass else HALF_DB)

    def found():
        return server.osc.ask("/node/vol/gain")[1][0], server.osc.ask("/node/half/bypass")[1][0]

    def peak_db():
        return max(server.osc.ask("/meter/out", "floats")[1][0::2])

    def is_in_document():
        now = found()
        return abs(now[0] - gain) < 1e-3 and now[1] == bypass

    details = f"{n} groups of events: {(gain, bypass, level)}", found, peak_db, server.status
    until(lambda: is_in_document() and abs(peak_db() - level) < 0.1, *details, process=server.process)
    time.sleep(0.05)
    assert is_in_document(), lines_of(details)  # no further event comes
    print(f"  {n} groups of events: gain {gain:.2f} dB, bypass {bypass}, sound {level:.2f} dB")


with scratch(), Jackd(48000, 64) as jack:
    chance = random.Random(int.from_bytes(os.urandom(4), "little"))
    with open("midi.rack", "w", encoding="utf-8") as file:
        file.write(RACK)
    arguments = ("--io", "jack", "--channels", "1:1", "--name", "rack", "--no-connect", "midi.rack")
    with FaultyServer(*arguments, env=jack.env) as server:
        peer = subprocess.Popen([PEER, "steps", str(SENT)], env={**os.environ, **jack.env}, stdout=subprocess.PIPE, text=True)
        jack.wait_for("peer:midi")
        jack.connect("peer:out", "rack:in_1")  # a constant of 0.25
        for step in range(1, N_STEPS + 1):
            print(f"step {step}:")
            check_kill(jack, server, peer, lambda pid: server.arm(f"worker.kill@{step}", pid))
        for number in range(N_RANDOM):

            def kill(pid):
                time.sleep(chance.uniform(0.0, 0.5))
                os.kill(pid, signal.SIGKILL)

            print(f"random moment {number + 1}:")
            check_kill(jack, server, peer, kill)
        unheard = server.status()["midi_unheard"]
        peer.terminate()
        peer.wait()
        server.stop()
print(f"figure: {N_STEPS + N_RANDOM} kills; {unheard} events did not reach the server (0)")
assert not unheard
