# SPDX-License-Identifier: GPL-3.0-or-later
"""The same rack plays the same file live on the dummy driver, in JACK's freewheel mode, and in the renderer.

With the same block length the outputs are identical, bit for bit, after the latency is removed.  With other block
lengths they differ by less than -120 dB.  The reverb has no modulation, because its phase depends on the time since the
start.
"""

import json

from common import *

need("jackd", "jack_freewheel", "jack_connect")

RATE, BLOCK, SECONDS = 48000, 64, 2
LIMIT_DB = -120.0
RACK = (
    "eq: highpass 80 order=4 | pk: peaking 1200 4dB | "
    "(dry: gain -6dB + hall: convolver ir.wav + rev: reverb mix=1 decay=900ms modulation=0) | "
    "comp: compressor -30dB ratio=3 | lim: limiter -1dB"
)


with scratch():
    generator = np.random.default_rng(7)
    frames = RATE * SECONDS
    voice = generator.uniform(-1, 1, (frames, 2)) * np.abs(np.sin(np.arange(frames) / 9000.0))[:, None]
    write_wav("in.wav", RATE, 0.5 * voice)
    ir = generator.standard_normal(30000) * np.exp(-6.0 * np.arange(30000) / 30000)
    write_wav("ir.wav", RATE, ir / np.sqrt(np.sum(ir**2)))

    done = render(RACK, "in.wav", "render.wav", "--block", str(BLOCK), "--tail", "0")
    assert done.returncode == 0, done.stderr
    rendered = read_wav("render.wav")[1]

    # Live on the dummy driver.  The recording contains the latency.
    live = subprocess.run(
        [PROGRAM, "run", "--osc-port", str(free_port()), "--io", "dummy", "--fast", "--block", str(BLOCK), "--rate", str(RATE), "--channels", "2:2",
        "--play", "in.wav", "--record", "live.wav", "--duration", str(SECONDS), RACK],
        capture_output=True, text=True, check=False,
    )
    assert live.returncode == 0, live.stderr
    recorded = read_wav("live.wav")[1]
    checked = subprocess.run(
        [PROGRAM, "check", "--json", "--rate", str(RATE), "--block", str(BLOCK), "--channels", "2", RACK],
        capture_output=True, text=True, check=True,
    )
    rack_latency = json.loads(checked.stdout)["latency_frames"]
    latency = BLOCK + rack_latency
    n = min(len(rendered), len(recorded) - latency)
    assert n > frames - 2 * latency, (len(rendered), len(recorded), latency)
    assert np.array_equal(recorded[latency : latency + n], rendered[:n]), "dummy differs from render"
    print(f"dummy, latency {latency}: {n} frames identical to the render")

    # Other block lengths.
    for block in (17, 480, 1024):
        done = render(RACK, "in.wav", "other.wav", "--block", str(block), "--tail", "0")
        assert done.returncode == 0, done.stderr
        error = db(np.max(np.abs(read_wav("other.wav")[1] - rendered)))
        print(f"render at block {block}: {error:.1f} dB from block {BLOCK}")
        assert error < LIMIT_DB

    # JACK's freewheel.
    with Jackd(RATE, BLOCK) as jack:
        arguments = ("--io", "jack", "--channels", "2:2", "--name", "rack", "--no-connect", RACK)
        with Server(*arguments, env=jack.env) as server:
            tape = os.environ["WARPRACK_JACK_TAPE"]
            played = jack.run(tape, "freewheel", "rack", "in.wav", "jack.wav", timeout=120.0)
            assert played.returncode == 0, played.stdout + played.stderr
            server.stop()
    recorded = read_wav("jack.wav")[1]
    n = min(len(rendered), len(recorded) - latency)
    assert np.array_equal(recorded[latency : latency + n], rendered[:n]), "freewheel differs from render"
    print(f"freewheel, latency {latency}: {n} frames identical to the render")
