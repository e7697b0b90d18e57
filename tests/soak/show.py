# SPDX-License-Identifier: GPL-3.0-or-later
"""A show on JACK, recorded as a take: ten scenes, recalled by OSC and by MIDI programs, morphs, faders of a MIDI
controller, edits, undo.  `render --take` makes the same samples of its input, and the recording has no clicks.

    show.py PROGRAM [ROUNDS]

Without python3-jack-client, which plays the MIDI controller, the run is skipped.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from common import *

try:
    import jack as jack_client
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
RATE, BLOCK = 48000, 256
SECONDS = 4 + 12 * ROUNDS
QUIET = RATE // 2  # of silence at the start of the tape
SCENES = 10
ALLOWED = 4.0  # times the largest second difference of the signal before
RACK = (
    "chain lowcut: highpass 80 | pk: peaking 1200 3dB | echo: delay 90ms feedback=30% mix=25% | comp: compressor -24dB ratio=3 | vol: gain -6dB\n"
    "midi cc 1:7 vol.gain -24dB..0dB\nmidi cc 1:74 pk.frequency 200Hz..6kHz taper=log\n"
)
RACK += "".join(
    f"scene s{n} fade={n % 4 * 0.2:.1f}s curve={'linear s in out'.split()[n % 4]} vol.gain={-3 - n}dB pk.gain={n - 5}dB echo.mix={10 + 3 * n}% "
    f"comp.threshold={-20 - n}dB\n" for n in range(SCENES)
)
RACK += "".join(f"midi program 16:{n + 1} scene s{n}\n" for n in range(SCENES))


class Controller:
    """A MIDI controller: a JACK client that plays what it is given."""

    def __init__(self, server):
        self.client = jack_client.Client("fader", servername=server, no_start_server=True)
        self.port = self.client.midi_outports.register("midi")
        self.waiting, self.lock = [], threading.Lock()
        self.client.set_process_callback(self.process)
        self.client.activate()

    def process(self, _):
        self.port.clear_buffer()
        if self.lock.acquire(blocking=False):
            for n, event in enumerate(self.waiting[:16]):
                self.port.write_midi_event(7 * n, event)
            del self.waiting[:16]
            self.lock.release()

    def play(self, *events):
        with self.lock:
            self.waiting += events

    def sweep(self, number):
        for position in range(0, 128, 2):
            self.play((0xB0, number, position))
            time.sleep(0.005)


def perform(osc, fader):
    """One round of the show, 12 s at most."""
    for n in range(SCENES):
        if n % 2:
            fader.play((0xCF, n))
        else:
            osc.do("/scene/recall", f"s{n}")
        time.sleep(0.3)
    for step in range(21):
        osc.do("/scene/morph", "s1", "s8", step / 20)
        time.sleep(0.03)
    fader.sweep(7)
    osc.do("/rack/do", "insert shelf highshelf before vol\nset shelf.gain 3")
    time.sleep(0.5)
    fader.sweep(74)
    osc.do("/node/vol/gain", -12.0, 1.0)
    time.sleep(0.5)
    osc.do("/node/echo/mute", 1)
    time.sleep(0.3)
    osc.do("/node/echo/mute", 0)
    osc.do("/rack/remove", "shelf")
    time.sleep(0.3)
    osc.do("/rack/undo")
    time.sleep(0.3)
    osc.do("/rack/undo")
    osc.do("/scene/recall", "s0")
    time.sleep(0.5)


def input_signal():
    time_s = np.arange(SECONDS * RATE) / RATE
    tones = sum(0.08 * np.sin(2 * np.pi * hz * time_s) for hz in (110.0, 311.0, 740.0))
    tones[:QUIET] = 0.0
    tones[QUIET : QUIET + RATE // 10] *= np.linspace(0.0, 1.0, RATE // 10)
    return tones.astype(np.float32)


def record(jack):
    """Play the show.  Returns the status at its end."""
    with open("show.rack", "w", encoding="utf-8") as file:
        file.write(RACK)
    arguments = ("--io", "jack", "--channels", "1:1", "--name", "rack", "--no-connect", "--root", ".", "show.rack")
    with Server(*arguments, env=jack.env) as server:
        fader = Controller(jack.name)
        jack.wait_for("fader:midi")
        jack.connect("fader:midi", "rack:midi_in")
        server.osc.do("/take/start", "show.osc", "audio")
        tape = subprocess.Popen([os.environ["WARPRACK_JACK_TAPE"], "live", "rack", "in.wav", "live.wav"], env={**os.environ, **jack.env},
                                stdout=subprocess.PIPE, text=True)  # fmt: skip
        time.sleep(2.5)
        for _ in range(ROUNDS):
            perform(server.osc, fader)
        said = tape.communicate(timeout=60.0)[0]
        assert tape.returncode == 0, said
        server.osc.do("/take/stop")
        status = server.status()
        fader.client.deactivate()
        fader.client.close()
        server.stop()
    print(said.strip())
    return status


def compare(status):
    """The render of the take and its input, and the recording of the tape, which began later.  Returns the number of
    samples that differ, those that were compared, and those that were played dry."""
    with open("show.osc", encoding="utf-8") as file:
        lines = file.readlines()
    begun = int(lines[0].split()[-1])
    assert not [line for line in lines if " /take/gap " in line], "the take has gaps"
    done = subprocess.run([PROGRAM, "render", "--quiet", "--tail", "0", "--take", "show.osc", "show.au", "out.wav"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open("show.au", "rb") as file:
        _, offset, *_ = struct.unpack(">4s5I", file.read(24))
        file.seek(offset)
        heard = np.frombuffer(file.read(), dtype=">f4").astype(np.float32)
    rendered, recorded = (read_wav(name)[1][:, 0] for name in ("out.wav", "live.wav"))
    tape = int(np.flatnonzero(heard)[0]) - int(np.flatnonzero(input_signal())[0])  # at which frame of the take it begins
    n_tape = min(len(heard) - tape, len(recorded))
    if not np.array_equal(heard[tape : tape + n_tape], input_signal()[:n_tape]):
        print("skipped: on this machine the tape has gaps")
        sys.exit(77)
    latency = BLOCK + int(status["rack_latency_frames"])
    n = min(len(rendered) - tape, len(recorded) - latency)
    differs = rendered[tape : tape + n] != recorded[latency : latency + n]
    is_dry = np.zeros(n, dtype=bool)
    for at, frames in ([int(word) for word in line.split()[3:5]] for line in lines if " /take/dry " in line):
        at -= begun + tape + latency
        is_dry[max(0, at) : max(0, at + frames)] = True
    counts = [sum(f" {path}" in line for line in lines) for path in ("/node/", "/take/rack ")]
    wrong = np.flatnonzero(differs & ~is_dry)
    if len(wrong):
        print(f"differs first at {wrong[0] / RATE:.4f} s, last at {wrong[-1] / RATE:.4f} s of {n / RATE:.4f} s")
    return len(wrong), n, int(np.count_nonzero(is_dry)), *counts


need("jackd", "jack_lsp", "jack_connect")
with scratch(), Jackd(RATE, BLOCK, is_realtime=True) as jack:
    write_wav("in.wav", RATE, input_signal())
    status = record(jack)
    n_differing, n, n_dry, n_values, n_edits = compare(status)
    print(f"figure: {SECONDS} s, {n_values} values by OSC, scenes and MIDI, {n_edits - 1} edits: {n_differing} of {n} samples differ", end=" ")
    print(f"from the live run, beside {n_dry} that were dry")
    out = read_wav("live.wav")[1][:, 0]
    steady, largest = second_difference(input_signal()[QUIET + RATE // 10 :]), second_difference(out)
    print(f"figure: largest step {largest / steady:.2f} times that of the input ({ALLOWED} at most)")
    assert status["midi_events"] > 100 * ROUNDS and n_edits > 4 * ROUNDS, (status["midi_events"], n_edits)
    assert n_differing == 0 and largest <= ALLOWED * steady
