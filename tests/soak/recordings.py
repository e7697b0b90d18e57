# SPDX-License-Identifier: GPL-3.0-or-later
"""A 1 kHz sine is recorded through one fault after the other: it never falls silent, and nothing clicks.

    recordings.py PROGRAM [NAME...]

The rack is 3 dB quieter than the dry signal, which late blocks play at 0 dB here with the same latency, so that wet
and dry can be distinguished and blended. A fault may only change the sound from wet to dry within three blocks, and
back within one.  For each fault are printed: the lowest level of any 5 ms (the dry signal is -9 dBFS, the wet one -12
dBFS), and the largest step, read by a high-pass of 8th order at 6 kHz that is calibrated with a step of -60 dBFS.
WARPRACK_KEEP=FOLDER keeps the recordings.

If JACK itself loses periods during a recording, the recording is repeated.  If all of TAPES attempts fail so, it is not
judged, and the exit code is 77 unless a limit was missed.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "acceptance"))
from common import *

RATE, BLOCK, SECONDS, FREQUENCY, LEVEL = 48000, 256, 40, 1000.0, 0.5
RACK = "g: gain -3dB"
LOWEST_DB = -13.0  # lowest level of any 5 ms: the wet level less a margin for the fade
EDITS_DB = -24.0  # an edit during the fade of another one may be quieter for a moment
TAPES = 5  # tries to record JACK without an xrun
STEP_DB = -40.0  # 40 dB under full scale: the fade of one block back to wet reads about -60 dBFS

HIGH_PASS = sig.butter(8, 6000, "highpass", fs=RATE, output="sos")


def largest_reading(samples):
    return float(np.max(np.abs(sig.sosfilt(HIGH_PASS, samples)[RATE // 10 :])))


def control():
    """The gain of the high-pass for a step in the sine, in dB, measured with a step of -60 dBFS."""
    t = np.arange(RATE) / RATE
    sine = LEVEL * np.sin(2 * np.pi * FREQUENCY * t)
    quiet = largest_reading(sine)
    sine[RATE // 2 :] += 1e-3
    reading = largest_reading(sine)
    assert db(quiet) < -110.0 and -80.0 < db(reading) < -50.0, (db(quiet), db(reading))
    return db(reading) + 60.0


def lowest_level(samples):
    """RMS of the quietest 5 ms, dBFS."""
    n = 5 * RATE // 1000
    frames = samples[: len(samples) // n * n].reshape(-1, n)
    return db(np.sqrt(np.min(np.mean(frames**2, axis=1))))


# ---- the faults: each is given the running server, and ends with the wet signal back ----


def signal_worker(server, number):
    pid = server.worker()
    os.kill(pid, number)
    server.worker(other_than=pid, limit_s=5.0)
    server.wait_until_wet(limit_s=5.0)


def worker_kill(server):
    signal_worker(server, signal.SIGKILL)


def worker_stop(server):
    signal_worker(server, signal.SIGSTOP)


def full_disk(server):
    """Save into a folder on a full disk."""
    for _ in range(20):
        reply, values = server.osc.ask("/rack/save", "full/saved.rack")
        assert reply == "/fail", values
        time.sleep(0.05)


def flood(server):
    """Three seconds of packets as fast as one sender can, good, bad and unknown."""
    packets = [osc_message("/server/ping"), b"/bad", osc_message("/nobody/here", 1), osc_message("/node/g/gain", -3.0)]
    end = time.monotonic() + 3.0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as blaster:
        blaster.connect(("127.0.0.1", server.port))
        while time.monotonic() < end:
            for packet in packets * 50:
                try:
                    blaster.send(packet)
                except OSError:
                    pass
    server.wait_until_wet(limit_s=5.0)


def random_edits(server):
    """100 edits that keep the level: nodes are added, removed and restructured."""
    chooser = random.Random(4)
    names = []
    for number in range(100):
        if len(names) < 6 and (not names or chooser.random() < 0.5):
            names.append(f"n{number}")
            rest = " | ".join(["g: gain -3dB"] + [f"{n}: highpass 20 order={chooser.randint(1, 4)}" for n in names])
        else:
            names.remove(chooser.choice(names))
            rest = " | ".join(["g: gain -3dB"] + [f"{n}: highpass 20 order={chooser.randint(1, 4)}" for n in names])
        server.osc.do("/rack/chain", rest)
    server.osc.do("/rack/chain", RACK)
    server.osc.sync()
    server.wait_until_wet(limit_s=5.0)


def record(name, fault, *options, start=Server, **server):
    """One recording on the timer; returns its samples and the number of dry blocks."""
    with start(
        "--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--play", "sine.wav", "--record",
        f"{name}.wav", "--on-late", "dry", *options, RACK, **server,
    ) as running:
        time.sleep(1.0)
        fault(running)
        time.sleep(0.5)
        status = running.status()
        running.stop()
    samples = read_wav(f"{name}.wav")[1][:, 0]
    frames = int(status["blocks"]) * BLOCK
    return [samples[RATE // 2 : frames - RATE // 4]], status["dry"]


def worker_fault(name, faults):
    """A worker that fails by itself, in the build with faults: it is replaced."""

    def replaced(server):
        server.worker(other_than=server.arm(faults))
        server.wait_until_wet(limit_s=5.0)

    return record(name, replaced, start=FaultyServer) if os.access(FAULTS_PROGRAM, os.X_OK) else None


def worker_late(name):
    """One block in twenty comes back three blocks late, for three seconds."""

    def late(server):
        pid = server.arm("worker.late@1+20=16")
        time.sleep(3.0)
        server.command(pid, "disarm")
        server.wait_until_wet(limit_s=5.0)

    return record(name, late, start=FaultyServer) if os.access(FAULTS_PROGRAM, os.X_OK) else None


def gpu_error(name):
    """An error that ends a device's context, on PoCL, in the build with faults: the CPU continues."""
    if not os.access(FAULTS_PROGRAM, os.X_OK):
        return None

    def failed(server):
        server.wait_for(lambda now: now["device_errors"])
        server.wait_until_wet(limit_s=5.0)

    env = {"WARPRACK_FAULTS": "gpu.error@300=700"}
    return record(name, failed, "--backend", "opencl", program=FAULTS_PROGRAM, env=env)


def take(jack, tape, target):
    """One recording of the rack on a JACK server: its samples, or None if JACK lost periods of its own in all tries.

    The tape counts them: jackd skips periods of its timer on a busy machine, and drops a client that runs late."""
    lost = []
    deadline = time.monotonic() + 10.0
    while len(lost) < TAPES:
        try:
            done = jack.run(tape, "live", "rack", "short.wav", target)
            if done.returncode:
                # Ports exist before they can be connected.
                assert time.monotonic() < deadline, done.stderr
                continue
            if done.stdout == "0 xruns, 0 jumps\n":
                return read_wav(target)[1][RATE // 10 :, 0]
            lost.append(done.stdout.strip())
        except subprocess.TimeoutExpired:
            lost.append("no end")
        deadline = time.monotonic() + 10.0
    print(f"figure: {target}: skipped: JACK lost periods of its own in {len(lost)} recordings: {'; '.join(lost)}", flush=True)
    return None


def jack_kill(name):
    """jackd is killed and restarted; the recording has its output while it runs."""
    tape = os.environ.get("WARPRACK_JACK_TAPE", os.path.join(os.path.dirname(PROGRAM), "tests", "jack_tape"))
    if not (os.access(tape, os.X_OK) and shutil.which("jackd")):
        return None
    write_wav("short.wav", RATE, read_wav("sine.wav")[1][: 2 * RATE])
    recordings = []
    with Jackd(RATE, BLOCK) as jack:
        client = ("--io", "jack", "--name", "rack", "--channels", "1:1", "--no-connect", "--on-late", "dry")
        with Server(*client, RACK, env=jack.env) as server:
            for number in range(4):
                if number:
                    jack.kill()
                    jack.start()
                jack.wait_for("rack:out_1")
                recordings.append(take(jack, tape, f"{name}{number}.wav"))
            dry = server.status()["dry"]
            server.stop()
    return recordings, dry


def fill_folder():
    """Make the folder `full` a full disk, if permitted."""
    os.mkdir("full")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "full"]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        return
    filler = os.open("full/filler", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(filler, bytes(4096))
    os.close(filler)


# The recording function of each fault: None if this machine or build cannot make it.
FAULTS = {
    "worker_kill": lambda name: record(name, worker_kill),
    "worker_stop": lambda name: record(name, worker_stop),
    "worker_crash": lambda name: worker_fault(name, "worker.crash"),
    "worker_garbage": lambda name: worker_fault(name, "worker.garbage"),
    "worker_hang": lambda name: worker_fault(name, "worker.hang"),
    "worker_late": worker_late,
    "worker_wrong": lambda name: worker_fault(name, "worker.wrong"),
    "jack_kill": jack_kill,
    "gpu_error": gpu_error,
    "full_disk": lambda name: record(name, full_disk) if os.path.ismount("full") else None,
    "flood": lambda name: record(name, flood),
    "random_edits": lambda name: record(name, random_edits),
}


def judge(name, recordings, dry, gain_db):
    """Print the figure; returns True if it is reached."""
    lowest = min(lowest_level(samples) for samples in recordings)
    step = max(db(largest_reading(samples)) for samples in recordings) - gain_db
    least = EDITS_DB if name == "random_edits" else LOWEST_DB
    good = lowest >= least and step <= STEP_DB
    print(
        f"figure: sine through {name}: quietest 5 ms {lowest:.1f} dBFS (at least {least:.0f}), largest step {step:.1f} dBFS "
        f"(at most {STEP_DB:.0f}), {dry} blocks dry{'' if good else ' FAILED'}",
        flush=True,
    )
    return good


def main():
    gain_db = control()
    failed = unjudged = 0
    with scratch() as folder:
        t = np.arange(RATE * SECONDS) / RATE
        write_wav("sine.wav", RATE, LEVEL * np.sin(2 * np.pi * FREQUENCY * t))
        fill_folder()
        try:
            for name in sys.argv[2:] or FAULTS:
                made = FAULTS[name](name)
                if not made:
                    print(f"{name}: skipped: not possible here")
                    continue
                recordings = [samples for samples in made[0] if samples is not None]
                unjudged += len(recordings) < len(made[0])
                failed += bool(recordings) and not judge(name, recordings, made[1], gain_db)
        finally:
            subprocess.run(["umount", "full"], capture_output=True, check=False)
            if os.environ.get("WARPRACK_KEEP"):
                shutil.copytree(folder, os.environ["WARPRACK_KEEP"], dirs_exist_ok=True, ignore=shutil.ignore_patterns("full"))
    sys.exit(1 if failed else 77 if unjudged else 0)


main()
