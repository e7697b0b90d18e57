# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker process is killed or stopped at random moments: audio continues, dry and then wet again, and no resource
leaks.

    worker_kills.py PROGRAM [N] [KILL|STOP]        N times, at least 2, default 5; KILL is the default

A sine plays through a rack that halves it, and the output is recorded.  The dry signal is twice as loud, so the
recording shows which blocks were wet, dry or silent.  Descriptors, threads and memory of the server are counted after a
tenth of the kills and at the end.
"""

import random

from common import *

N = int(sys.argv[2]) if len(sys.argv) > 2 else 5
SIGNAL = {"KILL": signal.SIGKILL, "STOP": signal.SIGSTOP}[sys.argv[3] if len(sys.argv) > 3 else "KILL"]
RATE, BLOCK, FREQUENCY, LEVEL = 16000, 64, 1000.0, 0.5  # 4 whole periods of the sine in a block
DRY = LEVEL / np.sqrt(2.0)  # RMS
WET = DRY / 2.0
SILENT = 0.9 * WET
GOAL_S = 3.0  # from the kill until the output is wet, on an idle machine
REST_S = 1.0  # wait before the next start, if the worker had played for less than half a second
LONGEST_PAUSE_S = 1.0  # from the first wet block to the next kill
MEMORY_KB = 1024  # allowed growth until the end
SEED = int.from_bytes(os.urandom(4), "little")


def wait_for_worker(server, n_restarts):
    """Wait until this many workers have taken over, and the last one plays wet blocks."""
    dry = None

    def is_wet(status):
        nonlocal dry
        before, dry = dry, status["dry"]
        return status["worker_restarts"] >= n_restarts and dry == before

    return server.wait_for(is_wet)


def kill_all(server, chooser):
    """Kill the worker N times.  Returns the server's resources after a tenth of the kills, and at the end."""
    early = None
    for n in range(N):
        status = wait_for_worker(server, n)
        time.sleep(chooser.uniform(0.0, LONGEST_PAUSE_S))
        while True:
            with contextlib.suppress(ProcessLookupError):  # a worker that stalls is replaced meanwhile
                os.kill(status["worker_pid"], SIGNAL)
                break
            status = wait_for_worker(server, n)
        if n == max(1, N // 10):
            wait_for_worker(server, n + 1)
            early = holdings(server.process.pid)
    wait_for_worker(server, N)
    return early, holdings(server.process.pid)


def outages(is_wet):
    """The lengths of the gaps between wet blocks, in blocks."""
    edges = np.flatnonzero(np.diff(np.concatenate(([1], is_wet.astype(int), [1]))))
    return edges[1::2] - edges[0::2]


def judge(recording, early, late):
    blocks = recording[: len(recording) // BLOCK * BLOCK].reshape(-1, BLOCK)
    # Without the first two blocks, which are silent because of the latency.
    level = np.sqrt(np.mean(np.square(blocks, dtype=np.float64), axis=1))[2:]
    silent = int(np.sum(level < SILENT))
    lengths = outages(np.abs(level - WET) < 0.01 * WET)
    lengths = np.sort(lengths[lengths > 2]) * BLOCK / RATE  # a shorter gap is a late block
    print(f"figure: {N} times {SIGNAL.name} (seed {SEED}): {silent} of {len(level)} blocks without signal (0)")
    print(
        f"figure: {len(lengths)} outages; wet again after {1e3 * np.median(lengths):.0f} ms (median), {1e3 * lengths[-1]:.0f} ms "
        f"(longest), {np.sum(lengths > GOAL_S)} over {1e3 * GOAL_S:.0f} ms"
    )
    step = second_difference(recording[2 * BLOCK :]) / second_difference(LEVEL * np.sin(2 * np.pi * FREQUENCY / RATE * np.arange(RATE)))
    print(f"figure: largest second difference {step:.3f} of the dry sine's (1.2 at most)")
    assert silent == 0
    # Relative to the median, because a busy machine is slower.
    assert len(lengths) >= 1 and lengths[-1] <= REST_S + max(GOAL_S, 10.0 * np.median(lengths))
    assert step < 1.2
    check_holdings(early, late, MEMORY_KB)


def main():
    chooser = random.Random(SEED)
    with scratch():
        seconds = 20.0 + N * (GOAL_S + LONGEST_PAUSE_S)
        time_s = np.arange(int(seconds * RATE)) / RATE
        write_wav("in.wav", RATE, LEVEL * np.sin(2 * np.pi * FREQUENCY * time_s))
        arguments = ["--io", "dummy", "--rate", str(RATE), "--block", str(BLOCK), "--channels", "1:1"]
        arguments += ["--play", "in.wav", "--record", "out.wav", "--on-late", "dry", "gain -6.020599913dB"]
        with Server(*arguments) as server:
            early, late = kill_all(server, chooser)
            server.stop()
        _, recording = read_wav("out.wav")
        fade = RATE // 10  # longer than the fade-out at the end
        judge(recording[:-fade, 0], early, late)


main()
