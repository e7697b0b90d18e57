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
SENT = 75  # presses, an odd number; and steps, each 1/128 of 60 dB
LOUD_DB, QUIET_DB = 0.0, -60.0
N_STEPS = 10  # of the work on a block with events, and a few of the next one
RACK = """add vol gain -60dB
add half gain -6dB
connect in vol
connect vol half
connect half out
midi cc 1:20 half.bypass toggle=on
midi cc 1:21 vol.gain -60dB..0dB taper=linear relative=twos
"""


def state(server):
    """The gain and the bypass in the document."""
    return server.osc.ask("/node/vol/gain")[1][0], server.osc.ask("/node/half/bypass")[1][0]


def peak_db(server):
    """The peak of the output since the last call."""
    return max(server.osc.ask("/meter/out", "floats")[1][0::2])


def one_kill(jack, server, peer, kill):
    """Returns False if the document or the sound differs from what the controllers have done."""
    server.osc.do("/node/vol/gain", QUIET_DB)
    server.osc.do("/node/half/bypass", 0)
    before = server.status()
    jack.connect("peer:midi", "rack:midi_in")
    time.sleep(0.3)
    kill(int(before["worker_pid"]))
    assert peer.stdout.readline().startswith("sent")
    server.wait_for(lambda now: now["worker_restarts"] > before["worker_restarts"] and now["worker"] == "running")
    server.wait_until_wet()
    jack.run("jack_disconnect", "peer:midi", "rack:midi_in")
    # On a busy machine JACK itself may lose the events of a period.
    came = (server.status()["midi_events"] - before["midi_events"]) // len(("press", "release", "step"))
    wanted = (QUIET_DB + came * (LOUD_DB - QUIET_DB) / 128.0, came % 2)

    def is_good():
        gain, bypass = state(server)
        return abs(gain - wanted[0]) < 1e-3 and bypass == wanted[1]

    deadline = time.monotonic() + 2.0 * SLOWNESS
    while not is_good() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.05)  # no further event comes
    peak_db(server)
    time.sleep(0.05)
    heard, level = peak_db(server), db(0.25) + wanted[0] - (0.0 if wanted[1] else 6.0)
    good = came > 0.9 * SENT and is_good() and abs(heard - level) < 0.1
    lost = server.status()["midi_lost"] - before["midi_lost"]
    gain, bypass = state(server)
    steps = (gain - QUIET_DB) * 128.0 / (LOUD_DB - QUIET_DB)
    print(f"  {steps:.2f} steps of {came}, bypass {bypass}, {heard:.2f} dB of {level:.2f}; {lost} events set by the server")
    return good


with scratch(), Jackd(48000, 64) as jack:
    chance = random.Random(int.from_bytes(os.urandom(4), "little"))
    with open("midi.rack", "w", encoding="utf-8") as file:
        file.write(RACK)
    arguments = ("--io", "jack", "--channels", "1:1", "--name", "rack", "--no-connect", "midi.rack")
    with FaultyServer(*arguments, env=jack.env) as server:
        peer = subprocess.Popen([PEER, "steps", str(SENT)], env={**os.environ, **jack.env}, stdout=subprocess.PIPE, text=True)
        jack.wait_for("peer:midi")
        jack.connect("peer:out", "rack:in_1")  # a constant of 0.25
        bad = []
        for step in range(1, N_STEPS + 1):
            print(f"step {step}:")
            if not one_kill(jack, server, peer, lambda pid: server.arm(f"worker.kill@{step}", pid)):
                bad.append(f"step {step}")
        for number in range(N_RANDOM):

            def kill(pid):
                time.sleep(chance.uniform(0.0, 0.5))
                os.kill(pid, signal.SIGKILL)

            print(f"random moment {number + 1}:")
            if not one_kill(jack, server, peer, kill):
                bad.append(f"random moment {number + 1}")
        unheard = server.status()["midi_unheard"]
        peer.terminate()
        peer.wait()
        server.stop()
print(f"figure: {N_STEPS + N_RANDOM} kills, {len(bad)} of them lost or doubled an event (0); {unheard} events did not reach the server (0)")
assert not bad and not unheard, bad
