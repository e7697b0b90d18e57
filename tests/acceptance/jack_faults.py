# SPDX-License-Identifier: GPL-3.0-or-later
"""The behaviour that io/FAULTS.md promises for faults of the JACK server: the server stops, changes its format,
freewheels, has another client of the same name, or disconnects ports.

    jack_faults.py PROGRAM [RECONNECTIONS]

Another client plays the number of each frame, and computes the age of each sample that returns.  So the test detects
late, stale and repeated audio, and a latency that differs from the reported one.
"""

import collections

from common import *

need("jackd", "jack_lsp", "jack_connect", "jack_bufsize", "jack_freewheel")

CLOCK = os.environ.get("WARPRACK_JACK_CLOCK", os.path.join(os.path.dirname(PROGRAM), "tests", "jack_clock"))
RATE, PERIOD = 48000, 64
STALE_FRAMES = RATE // 4  # longer than stalls of a machine, shorter than the stops of this test
DELAY_MS = 10
BLOCKS = 200  # that the rack plays before and after a fault
# A late block fades between the previous and the dry signal, and the sum of two frame numbers is not a valid number.
FADED_BLOCKS = 16
RECONNECTIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 100


class Clock:
    """tests/integration/jack_clock.c, with its output and its input connected to the rack."""

    def __init__(self, jack):
        self.process = subprocess.Popen(
            [CLOCK, "rack:in_1", str(RECONNECTIONS)], stdout=subprocess.PIPE, text=True, env={**os.environ, **jack.env}
        )
        jack.wait_for("clock:in")
        for source, target in (("clock:out", "rack:in_1"), ("rack:out_1", "clock:in")):
            jack.connect(source, target)  # the rack may have restored the connection to the previous clock

    def runs(self):
        """Stop the clock.  Returns its runs as [(frame, age, length)], without silence."""
        self.process.send_signal(signal.SIGTERM)
        lines = self.process.communicate(timeout=LIMIT_S)[0].splitlines()
        return [run for run in (tuple(map(int, line.split())) for line in lines) if run[1] >= 0]


def judge(name, runs, age, block):
    """Most samples are `age` frames old, and none is stale.

    If the machine stalls and a client misses a cycle, JACK shifts a block or repeats the last one.  The rack does not
    cause that, and such a block does not count as stale.
    """
    counts = collections.Counter()
    for last, this in zip([(0, 0, 0), *runs], runs):
        repeated = min(last[2], this[2]) if this[0] - this[1] == last[0] - last[1] else 0
        counts[this[1]] += this[2] - repeated
    usual = counts.most_common(1)[0][0] if runs else None
    stale = sum(count for found, count in counts.items() if found > STALE_FRAMES)
    print(f"{name:40} {counts[age]} of {counts.total()} samples are {age} frames old, {stale} stale")
    assert usual == age, (name, runs)
    assert stale <= FADED_BLOCKS * block, (name, runs)


def server_stops(jack, server):
    """B3: the server stops.  When it continues, the blocks in flight are played at their frames, and nothing else
    is."""
    clock = Clock(jack)
    server.advance(BLOCKS)
    jack.process.send_signal(signal.SIGSTOP)
    # Longer than the limit for missing periods: the driver probes the server.
    server.wait_for(lambda now: now["audio_hang_s"] >= 0.5)
    jack.process.send_signal(signal.SIGCONT)
    server.advance(BLOCKS)
    judge("server stopped until it is probed", clock.runs(), 2 * PERIOD, PERIOD)
    assert server.status()["reconnects"] == 0, server.output()


def engine_stops(jack, server):
    """B9: warprack stops while the server continues.  When warprack continues, it does not play the missed blocks."""
    clock = Clock(jack)
    server.advance(BLOCKS)
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(2.0)
    server.process.send_signal(signal.SIGCONT)
    server.advance(BLOCKS)
    runs = clock.runs()
    oldest = max(range(len(runs)), key=lambda number: runs[number][1])
    assert runs[oldest][1] > RATE // 10, ("the engine was not stopped", runs)
    judge("engine stopped for 2 s, from then on", runs[oldest + 1 :], 2 * PERIOD, PERIOD)
    assert server.status()["reconnects"] == 0


def period_changes(jack, server):
    """B7: the period changes during playback, to any length.  The latency is one block, plus the period that JACK adds
    for the loop."""
    for period in (1024, 17, 256, PERIOD):
        done = jack.run("jack_bufsize", str(period))
        assert done.returncode == 0, done
        server.wait_for(lambda now: now["block_frames"] == period)
        server.advance(20)
        clock = Clock(jack)
        server.advance(100)
        judge(f"period {period}", clock.runs(), 2 * period, period)
        assert server.status()["latency_frames"] == period


def freewheel(jack, server):
    """B8: while JACK freewheels, no block is late or dry; afterwards the latency is the same."""
    assert jack.run("jack_freewheel", "y").returncode == 0
    server.wait_for(lambda now: now["freewheeling"])
    server.advance(8)  # the fade back after a late block
    before = server.status()
    server.advance(20000)
    during = server.status()
    assert during["freewheeling"] == 1, during
    assert during["late"] == before["late"] and during["dry"] == before["dry"], (before, during)
    assert jack.run("jack_freewheel", "n").returncode == 0
    clock = Clock(jack)
    server.advance(BLOCKS)
    judge("after 20000 blocks freewheeling", clock.runs(), 2 * PERIOD, PERIOD)
    assert server.status()["freewheeling"] == 0


def names_are_taken(jack, server):
    """B10: a second instance gets another JACK name and reports it.  Both keep their names when the server returns.  A
    third one with the OSC port of the first one does not start."""
    arguments = ("--io", "jack", "--channels", "1:1", "--no-connect", "--name", "rack")
    with Server(*arguments, "", env=jack.env) as second:
        jack.wait_for("rack-01:out_1")
        for _ in range(3):
            jack.kill()
            jack.start()
            jack.wait_for("rack:out_1")
            jack.wait_for("rack-01:out_1")
        assert "is taken" not in server.output(), server.output()
        assert "'rack' is taken; this one is called 'rack-01'" in second.stop()
    command = [PROGRAM, "run", *arguments, "--osc-port", str(server.port), ""]
    third = subprocess.run(
        command, env={**os.environ, **jack.env}, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert third.returncode == 3 and str(server.port) in third.stderr, third
    assert server.status()["state"] == "running"
    print(f"the second instance is called rack-01; one with the port of the first: {third.stderr.strip()}")


def ports_come_and_go(jack, server):
    """A6: when an input is connected or disconnected, it receives a step from silence to the signal or back; the rack
    plays that step unchanged.

    JACK connects ports between two periods and does not fade.  A rack that must not get such a step needs a fade before
    its input.
    """
    clock = Clock(jack)
    server.advance(BLOCKS)
    dry = server.status()["dry"]
    clock.process.send_signal(signal.SIGUSR1)
    assert clock.process.stdout.readline() == "reconnected\n"
    server.advance(BLOCKS)
    dry, runs = server.status()["dry"] - dry, clock.runs()
    # JACK may skip or repeat whole cycles only.  A fade of the rack has samples that are not frame numbers.
    strange = [run for run in runs[1:-1] if run[1] % PERIOD or run[2] % PERIOD]
    silences = sum(this[0] > last[0] + last[2] for last, this in zip(runs, runs[1:]))
    print(f"{RECONNECTIONS} reconnections: {silences} silences, {len(strange)} runs that are not whole cycles, {dry} blocks dry")
    assert silences >= RECONNECTIONS // 2, runs
    assert dry or not strange, strange


def rate_changes(jack, server):
    """B6: the server returns with another rate, and a delay in milliseconds has another number of frames."""
    server.osc.do("/rack/chain", f"delay time={DELAY_MS}ms mix=1 feedback=0")
    for rate in (RATE, 44100):
        jack.kill()
        jack.rate = rate
        jack.start()
        server.wait_for(lambda now: now["state"] == "running" and now["rate_hz"] == rate)
        clock = Clock(jack)
        server.advance(400)
        judge(f"{DELAY_MS} ms at {rate} Hz", clock.runs(), 2 * PERIOD + rate * DELAY_MS // 1000, PERIOD)


with scratch(), Jackd(RATE, PERIOD) as jack:
    with Server("--io", "jack", "--channels", "1:1", "--no-connect", "--name", "rack", "", env=jack.env) as server:
        for fault in (server_stops, engine_stops, period_changes, freewheel, names_are_taken, ports_come_and_go, rate_changes):
            fault(jack, server)
        assert server.status()["overlaps"] == 0
        server.stop()
