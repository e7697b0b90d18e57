# SPDX-License-Identifier: GPL-3.0-or-later
"""While blocks are late, each output plays its input at the level that the output had before; so it is never louder
than the rack.

    late.py PROGRAM [NAME...]

The worker is stopped, killed or made late while a signal plays and is recorded.  The test compares the levels of the
recording during the gap with those before it.
"""

import json

from common import *

RATE, BLOCK, SECONDS = 48000, 256, 60
rng = np.random.default_rng(16)


def tone():
    return 0.5 * np.sin(2 * np.pi * 997.0 * np.arange(RATE * SECONDS) / RATE)


def pink():
    """Pink noise: falls by 3 dB per octave above 20 Hz."""
    spectrum = np.fft.rfft(rng.standard_normal(RATE * SECONDS))
    frequency = np.maximum(np.fft.rfftfreq(RATE * SECONDS, 1.0 / RATE), 20.0)
    noise = np.fft.irfft(spectrum / np.sqrt(frequency))
    return 0.1 * noise / np.std(noise)


def chord():
    t = np.arange(RATE * SECONDS) / RATE
    return sum(0.1 * np.sin(2 * np.pi * f * t + k) for k, f in enumerate((220.0, 277.18, 329.63, 440.0, 554.37, 659.26)))


def rms(samples):
    return db(np.sqrt(np.mean(np.square(samples, dtype=np.float64), axis=0)))


def peak(samples):
    return db(np.max(np.abs(samples)))


@contextlib.contextmanager
def playing(rack, signal_, *options, start=Server):
    """A server that plays a signal through a rack; read its recording after the `with` block."""
    signal_ = signal_.reshape(len(signal_), -1)
    write_wav("in.wav", RATE, signal_)
    arguments = ["--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--play", "in.wav", "--record", "out.wav"]
    if "--channels" not in options:
        arguments += ["--channels", f"{signal_.shape[1]}:{signal_.shape[1]}"]
    with start(*arguments, *options, rack) as server:
        yield server
        server.stop()


def position(server):
    """The first frame of the current block, or of a recent one."""
    return int(server.status()["blocks"]) * BLOCK


def wait_for_wet(server, seconds):
    """Wait until this many seconds of wet blocks have played.  On a busy machine there may be late blocks among
    them."""

    def n_wet(status):
        return status["blocks"] - status["dry"]

    goal = n_wet(server.status()) + seconds * RATE / BLOCK
    server.wait_for(lambda now: n_wet(now) >= goal, "still dry")


def gap_of(server, number=signal.SIGSTOP):
    """Stop or kill the worker, and wait until another one has taken over.  Returns the first and last frame of about
    half a second without a worker.

    The last frame is one at which no other worker had taken over, even if the machine stalled.
    """
    pid = server.worker()
    begin = end = position(server)
    os.kill(pid, number)
    stopped = time.monotonic()
    while time.monotonic() - stopped < 0.45:
        status = server.status()
        if number == signal.SIGSTOP and status["worker_pid"] != pid:
            break
        end = int(status["blocks"]) * BLOCK
        time.sleep(0.01)
    server.worker(other_than=pid)
    wait_for_wet(server, 0.1)
    if end - begin < RATE // 4:  # the machine stalled for most of the gap: try again
        return gap_of(server, number)
    return begin, end


# ---- the levels ----


def attenuation():
    """gain -40dB: while the worker is stopped for half a second, the output is at -46 dBFS like the rack, not at -6
    dBFS like the input."""
    with playing("gain -40dB", tone()) as server:
        wait_for_wet(server, 1.0)
        begin, end = gap_of(server)
    out = read_wav("out.wav")[1][:, 0]
    before, gap = peak(out[begin - RATE // 2 : begin]), out[begin : end + RATE]
    print(f"  peak before {before:.2f} dBFS, in the gap {peak(gap):.2f}, at its end {rms(out[end - RATE // 8 : end]):.2f} RMS")
    assert peak(gap) <= before + 0.5
    assert abs(rms(out[end - RATE // 8 : end]) - rms(out[begin - RATE // 2 : begin])) < 0.5


def crossover():
    """A crossover: woofers play on at their level, tweeters are silent."""
    way = " | {}pass 2000 order=4 type=linkwitz-riley | "
    rack = f"chain in:1-2{way.format('low')}out:1-2\nchain in:1-2{way.format('high')}out:3-4"
    noise = np.column_stack([pink(), pink()])
    with playing(rack, noise, "--channels", "2:4") as server:
        wait_for_wet(server, 1.0)
        begin, end = gap_of(server)
    out = read_wav("out.wav")[1]
    for c in range(4):
        before, gap = rms(out[begin - RATE // 2 : begin, c]), rms(out[begin + RATE // 5 : end, c])
        print(f"  output {c + 1}: {before:.1f} dBFS before, {gap:.1f} in the gap")
        assert (gap < -120.0) if c >= 2 else abs(gap - before) < 3.0, (c, before, gap)
    assert peak(out[begin - BLOCK : end, 2:]) <= peak(out[:begin, 2:]) + 0.5


def edits():
    """The fallback has the level of the active rack: after an edit by -40 dB as soon as the rack is measured, after a
    change of a parameter by -40 dB within half a second."""
    with playing("g: gain 0", np.column_stack([tone()] * 2)) as server:
        wait_for_wet(server, 0.6)
        server.osc.do("/rack/chain", "late out:2 dry\nchain g: gain 0 | h: gain -40dB")
        # `dry` is 40 dB above the measured level.
        until(lambda: "late out:2 auto" in server.status()["late_note"], server.output, pause_s=0.01)
        first = gap_of(server, signal.SIGKILL)
        server.osc.do("/rack/chain", "g: gain 0")
        server.osc.sync()
        wait_for_wet(server, 0.2)
        server.osc.do("/node/g/gain", -40.0)
        server.osc.sync()
        wait_for_wet(server, 0.6)
        second = gap_of(server)
    out = read_wav("out.wav")[1][:, 0]
    for name, (begin, end) in (("edit", first), ("parameter", second)):
        gap = peak(out[begin + 2 * BLOCK : end])
        print(f"  {name}: peak in the gap {gap:.2f} dBFS")
        assert gap <= -45.5, (name, gap)


def words():
    """`late` statements by OSC, in undo, in saved and loaded racks; and --on-late for outputs without a statement."""
    rack = "late out:2 silence\nchain gain -12"
    with playing(rack, np.column_stack([tone()] * 4), "--on-late", "-30dB") as server:
        server.osc.do("/rack/late", "out:3", "dry")
        server.osc.do("/rack/late", "out:4", -20.0)
        server.osc.do("/rack/save", "late.rack")
        server.osc.do("/rack/late", "out", "silence")
        server.osc.do("/rack/undo")
        server.osc.do("/rack/clear")
        server.osc.do("/rack/load", "late.rack")
        server.osc.sync()
        reply, values = server.osc.ask("/rack/get")
        assert values[0].endswith("late out:2 silence\nlate out:3 dry\nlate out:4 -20dB\n"), values
        for wrong in ("loud", "6dB"):
            reply, values = server.osc.ask("/rack/late", "out:1", wrong)
            assert reply == "/fail", values
        wait_for_wet(server, 0.5)
        begin, end = gap_of(server)
    out = read_wav("out.wav")[1]
    levels = [rms(out[begin + RATE // 5 : end, c]) for c in range(4)]
    print(f"  {['%.1f' % level for level in levels]} dBFS")
    for level, wanted in zip(levels, (-30.0, -400.0, 0.0, -20.0)):
        assert abs(level - (wanted - 9.03)) < 0.5 or level < -120.0 and wanted < -120.0, levels


def unmeasured():
    """After an edit there is not enough memory to measure a copy of the rack.  Its outputs are then silent while blocks
    are late, and late_note reports it."""
    noise = rng.standard_normal(2 * RATE) * np.exp(-np.arange(2 * RATE) / RATE)
    write_wav("ir.wav", RATE, 0.01 * noise.reshape(-1, 1))
    rack = "convolver ir.wav | g: gain 0"
    words = [PROGRAM, "check", "--json", "--backend", "cpu", rack]
    checked = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    limit = checked["making_bytes"] // 2**20 + 2
    with playing(rack, np.column_stack([tone()] * 2), "--backend", "cpu", "--memory", str(limit)) as server:
        assert server.status()["late_note"] == "", server.status()["late_note"]
        server.osc.do("/rack/do", "set g.gain -1dB")  # a changed value needs no measurement
        time.sleep(0.3)
        assert server.status()["late_note"] == "", server.status()["late_note"]
        server.osc.do("/rack/do", "add h gain")
        text = server.wait_for(lambda now: now["late_note"])["late_note"]
        print(f"  {limit} MiB: {text}")
        assert text.startswith("while blocks are late out:1-2 is silent: "), text
        wait_for_wet(server, 0.5)
        begin, end = gap_of(server)
    gap = read_wav("out.wav")[1][begin + RATE // 5 : end]
    assert np.max(np.abs(gap)) == 0.0, peak(gap)


# ---- one late block ----


def delay_a_block(server):
    """Delay a block by 7 ms, and try again until one is late: if the machine stalls at the same time, the next period
    is late, too, so the block is in time."""
    before = server.status()["dry"]
    for _ in range(10):
        server.arm("worker.late@20=7")
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            if server.status()["dry"] > before:
                return
            time.sleep(0.01)
    raise AssertionError("no block was late\n" + server.output())


def expect_same_samples(server_status):
    """The take of a run renders to its samples, outside the spans that were dry.  Returns the number of dry frames."""
    with open("t.osc", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    assert lines[-1][1] == "/take/end" and not any(line[1] == "/take/gap" for line in lines), lines
    begun, depth = int(lines[0][-1]), int(lines[0][6])
    spans = [(int(line[3]), int(line[4])) for line in lines if line[1] == "/take/dry"]
    done = subprocess.run([PROGRAM, "render", "--quiet", "--tail", "0", "--take", "t.osc", "t.au", "again.wav"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    latency = depth * BLOCK + int(server_status["rack_latency_frames"])
    again, out = read_wav("again.wav")[1], read_wav("out.wav")[1][begun + latency :]
    n = min(len(again), len(out) - RATE // 10)  # without the fade at the end of the run
    differs = (again[:n] != out[:n]).any(axis=1)
    differs[: RATE // 20] = False  # a take has no state of effects
    for first, frames in spans:
        differs[max(0, first - latency) : first - latency + frames] = False
    if differs.any():
        found = (n, lines, np.flatnonzero(differs)[[0, -1]], out[:n][differs][0], again[:n][differs][0], server_status)
        raise (Stalled if server_status["xruns"] else AssertionError)(found)
    assert n > RATE // 10, (n, lines)
    return sum(frames for _, frames in spans)


def one_late_block():
    """One late block among blocks in time: it is no louder than the wet signal, and the next block is wet again.  A
    take has exactly the blocks that were dry."""
    signals = {"tone": tone(), "pink": pink(), "chord": chord()}
    for rack in ("gain -3", "lowpass 3000 | gain -3", "late silence\nchain gain -3"):
        with playing(rack, np.column_stack(list(signals.values())), start=FaultyServer) as server:
            wait_for_wet(server, 0.3)
            server.wait_until_wet()  # else the fade back after a late block counts as dry
            server.osc.do("/take/start", "t.osc", "audio")
            before = server.status()
            delay_a_block(server)
            time.sleep(0.1)
            after = server.status()
            frame = position(server)
            server.osc.do("/take/stop")
            ended = server.status()
        assert expect_same_samples(ended) == (ended["dry"] - before["dry"]) * BLOCK
        for name in ("t.osc", "t.au"):
            os.remove(name)
        out, wet = read_wav("out.wav")[1], read_wav("in.wav")[1]
        n_dry, n_late = after["dry"] - before["dry"], after["late"] - before["late"]
        peaks = [peak(out[RATE // 8 : frame, c]) for c in range(len(signals))]
        print(f"  {rack!r}: {n_late} late, {n_dry} dry, peaks {['%.2f' % level for level in peaks]} dBFS")
        for c, level in enumerate(peaks):
            assert level <= peak(wet[:, c]) - 3.0 + 0.5, (rack, list(signals)[c], level)
        assert n_dry == 2 or n_late > 1, (n_dry, n_late)


def main():
    rows = [edits, crossover, attenuation, unmeasured, words]
    alone = [one_late_block] if os.access(FAULTS_PROGRAM, os.X_OK) else []
    chosen = sys.argv[2:] or [row.__name__ for row in rows + alone]
    with scratch():
        failed = side_by_side([(row,) for row in rows if row.__name__ in chosen])
        failed += side_by_side([(row,) for row in alone if row.__name__ in chosen], n_processes=1)
    sys.exit(failed > 0)


main()
