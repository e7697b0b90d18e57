# SPDX-License-Identifier: GPL-3.0-or-later
"""A 1 kHz sine is recorded through one fault after the other: it never falls silent, and nothing clicks.

    recordings.py PROGRAM [NAME...]

The rack is 3 dB quieter than the dry signal and as late, so that wet and dry can be told apart and blended.  A fault may take
the sound from wet to dry and back, within a block each, and nothing else.  For each fault are printed: the lowest level of any 5 ms
(the dry signal is -9 dBFS, the wet one -12 dBFS), and the largest step, read by a high-pass of 8th order at 6 kHz that is calibrated
with a step of -60 dBFS.  WARPRACK_KEEP=FOLDER keeps the recordings.
"""

import pathlib
import random
import threading

sys_path = pathlib.Path(__file__).resolve().parent.parent / "acceptance"
import sys

sys.path.insert(0, str(sys_path))
from common import *  # noqa: E402

RATE, BLOCK, SECONDS, FREQUENCY, LEVEL = 48000, 256, 12, 1000.0, 0.5
RACK = "g: gain -3dB"
LOWEST_DB = -13.0  # of any 5 ms: the wet level, and something for the fade
EDITS_DB = -24.0  # edits within one another's fades may dip
STEP_DB = -40.0  # 40 dB under full scale: the fade of one block from wet to dry and back reads about -60 dBFS

HIGH_PASS = sig.butter(8, 6000, "highpass", fs=RATE, output="sos")


def largest_reading(samples):
    return float(np.max(np.abs(sig.sosfilt(HIGH_PASS, samples)[RATE // 10 :])))


def control():
    """What the high-pass makes of a step of -60 dBFS in the sine, in dB: its own gain."""
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


def wait_until_wet(server, limit_s=5.0):
    """Until half a second has passed without a dry block."""
    deadline = time.monotonic() + limit_s
    dry, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = server.status()["dry"]
        if now != dry:
            dry, since = now, time.monotonic()
        assert time.monotonic() < deadline, "still dry\n" + server.output()
        time.sleep(0.02)


def signal_worker(server, number):
    pid = server.status()["worker_pid"]
    assert pid > 0, "the worker has no process of its own"
    os.kill(pid, number)
    deadline = time.monotonic() + 5.0
    while server.status()["worker_pid"] in (0, pid):
        assert time.monotonic() < deadline, "no new worker\n" + server.output()
        time.sleep(0.02)
    wait_until_wet(server)


def worker_kill(server):
    signal_worker(server, signal.SIGKILL)


def worker_stop(server):
    signal_worker(server, signal.SIGSTOP)


def full_disk(server):
    """Saves into a folder on a full disk."""
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
    wait_until_wet(server)


def random_edits(server):
    """100 edits that leave the level as it is: nodes come, go and change their structure."""
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
    wait_until_wet(server)


FAULTS = {
    "worker_kill": worker_kill,
    "worker_stop": worker_stop,
    "full_disk": full_disk,
    "flood": flood,
    "random_edits": random_edits,
}


def record(name, fault):
    """One recording; returns its samples and the blocks that were dry."""
    with Server(
        "--io", "dummy", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "1:1", "--duration", str(SECONDS + 20),
        "--play", "sine.wav", "--record", f"{name}.wav", RACK,
    ) as server:
        time.sleep(1.0)
        fault(server)
        time.sleep(0.5)
        status = server.status()
        server.stop()
    rate, samples = read_wav(f"{name}.wav")
    samples = samples[:, 0]
    frames = int(status["blocks"]) * BLOCK
    return samples[RATE // 2 : frames - RATE // 4], status


def full_folder():
    """A folder on a full disk, when this may be made here."""
    os.mkdir("full")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "full"]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        return False
    filler = os.open("full/filler", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(filler, bytes(4096))
    os.close(filler)
    return True


def main():
    names = sys.argv[2:] or list(FAULTS)
    gain_db = control()
    failed = 0
    with scratch():
        t = np.arange(RATE * (SECONDS + 20)) / RATE
        write_wav("sine.wav", RATE, LEVEL * np.sin(2 * np.pi * FREQUENCY * t))
        has_full = full_folder()
        try:
            for name in names:
                if name == "full_disk" and not has_full:
                    print("full_disk: skipped: no tmpfs can be mounted here")
                    continue
                samples, status = record(name, FAULTS[name])
                lowest, step = lowest_level(samples), db(largest_reading(samples)) - gain_db
                least = EDITS_DB if name == "random_edits" else LOWEST_DB
                good = lowest >= least and step <= STEP_DB
                failed += not good
                print(
                    f"figure: sine through {name}: quietest 5 ms {lowest:.1f} dBFS (at least {least:.0f}), largest step "
                    f"{step:.1f} dBFS (at most {STEP_DB:.0f}), {status['dry']} blocks dry{'' if good else ' FAILED'}",
                    flush=True,
                )
                keep = os.environ.get("WARPRACK_KEEP")
                if keep:
                    shutil.copy(f"{name}.wav", os.path.join(keep, f"{name}.wav"))
        finally:
            if has_full:
                subprocess.run(["umount", "full"], check=False)
    sys.exit(failed > 0)


main()
