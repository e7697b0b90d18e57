# SPDX-License-Identifier: GPL-3.0-or-later
"""A rack gives the same samples when it is rendered on the CPU, on a device, and on both.

For ten racks and two block lengths, the test compares `--backend cpu` with `--backend opencl` (or
WARPRACK_TEST_BACKEND=cuda), and with the same rack in which every other node runs on the other side (backend=cpu,
backend=gpu).  Differences must stay below -120 dB of full scale, over WARPRACK_TEST_SECONDS.  Effects without a kernel
run on the CPU, which the report says.
"""

import json
import re

from common import *

RATE, SECONDS = 48000, int(os.environ.get("WARPRACK_TEST_SECONDS", "1"))
LIMIT_DB = -120.0
DEVICE = os.environ.get("WARPRACK_TEST_BACKEND", "opencl")

RACKS = {
    "gains": (2, "a: gain -6dB | b: gain 3dB | c: gain -1dB"),
    "parallel": (2, "a: gain -6dB | (b: gain -3dB + c: gain -9dB + d: invert) | e: gain 1dB"),
    "filters": (
        2,
        "a: highpass 80 order=4 | b: peaking 1200 4dB | c: lowshelf 200 -3dB | d: highshelf 8000 2dB | "
        "e: lowpass 15000 order=8 type=elliptic | f: notch 50",
    ),
    "matrix": (4, 'a: matrix "0.5 0.5 0 0; 0 0 0.5 0.5; 1 0 0 -1" | b: gain -2dB'),
    "convolver": (2, "a: highpass 40 | b: convolver ir.wav mix=0.6 predelay=10ms | c: gain -3dB"),
    "fir": (3, "a: fir lowpass 4000 taps=511 | b: gain -3dB | c: allpass 500"),
    "delays": (2, "a: delay 120ms feedback=50% mix=40% | b: delay bpm=120 note=1/8d feedback=60% tone=3000 mix=30% pingpong=on | c: pan 0.3"),
    "reverb": (2, "a: gain -3dB | b: reverb mix=0.4 decay=900ms | c: highpass 30"),
    "dynamics": (2, "a: gate -50dB range=-20dB | b: compressor -30dB ratio=3 makeup=4dB | c: limiter -3dB | d: dcblock"),
    "strip": (
        8,
        "a: gain -3dB | b: highpass 60 order=2 | (c: compressor -24dB ratio=4 + d: gain -12dB) | e: gate -60dB | "
        "(f: delay 7ms mix=1 feedback=0 + g: limiter lookahead=3ms) | h: gain -3dB",
    ),
}


def kernels():
    """The names of the effects that have a kernel, according to the program."""
    names = json.loads(subprocess.run([PROGRAM, "list", "effects", "--json"], capture_output=True, check=True).stdout)
    return {row["name"] for row in names if row["has_kernel"]}


def mixed(rack, with_kernel):
    """The rack with every other node that has a kernel on the device, and all other nodes on the CPU."""
    nodes = iter(range(1000))

    def place(match):
        name, effect, rest = match.group(1), match.group(2), match.group(3)
        on_gpu = effect in with_kernel and next(nodes) % 2 == 0
        return f"{name}: {effect}{rest} backend={'gpu' if on_gpu else 'cpu'}"

    return re.sub(r"(\w+): (\w+)((?: (?:\"[^\"]*\"|[^ |()+\"]+))*)", place, rack)


def run(rack, target, *options):
    done = render(rack, "in.wav", target, "--quiet", "--tail", "0.5", "--json", *options)
    assert done.returncode == 0, (rack, options, done.stderr)
    return json.loads(done.stdout), read_wav(target)[1]


with scratch():
    if why := no_device(DEVICE):
        print(f"skipped: {why}")
        sys.exit(77)
    generator = np.random.default_rng(3)
    ir = generator.standard_normal(24000) * np.exp(-6.0 * np.arange(24000) / 24000)
    write_wav("ir.wav", RATE, ir / np.sqrt(np.sum(ir**2)))
    frames = RATE * SECONDS
    swell = np.abs(np.sin(np.arange(frames) / 9000.0))[:, None]
    with_kernel = kernels()
    failed = 0
    for name, (channels, rack) in RACKS.items():
        write_wav("in.wav", RATE, 0.5 * generator.uniform(-1, 1, (frames, channels)) * swell)
        for block in (64, 1024):
            size = ("--block", str(block))
            _, cpu = run(rack, "cpu.wav", *size, "--backend", "cpu")
            on_device, device = run(rack, "device.wav", *size, "--backend", DEVICE)
            on_both, both = run(mixed(rack, with_kernel), "both.wav", *size, "--backend", DEVICE)
            has_one = any(effect in with_kernel for effect in re.findall(r"\w+: (\w+)", rack))
            for report in (on_device, on_both):
                assert (DEVICE in report["backend"]) == has_one and DEVICE in report["gpu"], (rack, report)
            worst = [db(np.max(np.abs(other - cpu))) for other in (device, both)]
            verdict = "" if max(worst) < LIMIT_DB else "  TOO FAR"
            failed += bool(verdict)
            print(
                f"{name:10} block {block:4}: {on_device['backend']:10} {worst[0]:7.1f} dB, "
                f"{on_both['backend']:10} {worst[1]:7.1f} dB from cpu (peak {db(np.max(np.abs(cpu))):.1f}){verdict}"
            )
            assert np.max(np.abs(cpu)) > 0.01
    sys.exit(int(failed > 0))
