# SPDX-License-Identifier: GPL-3.0-or-later
"""OSC edits while a sine plays: each command gets a reply, no edit clicks, and a bundle of ten edits makes one plan.

The server plays a sine on the dummy driver in real time, and records its output.  (tests/engine/test_engine.c does the
same on a simulated clock.)  `Marks` in common.py defines a click.
"""

from common import *

BACKEND = sys.argv[2] if len(sys.argv) > 2 else "cpu"  # edits.py PROGRAM [BACKEND [BLOCK]]
BLOCK = int(sys.argv[3]) if len(sys.argv) > 3 else 256
RATE, SECONDS, FREQUENCY = 48000, 60, 997.0

EDITS = [
    ("gain down", "/node/g/gain", (-12.0,)),
    ("gain up", "/node/g/gain", (0.0,)),
    ("EQ boost", "/node/pk/gain", (12.0,)),
    ("EQ sweep", "/node/pk/frequency", (4000.0,)),
    ("EQ q", "/node/pk/q", (4.0,)),
    ("high-pass up", "/node/eq/frequency", (900.0,)),
    ("high-pass down", "/node/eq/frequency", (40.0,)),
    ("bypass", "/node/eq/bypass", (1,)),
    ("bypass off", "/node/eq/bypass", (0,)),
    ("mute", "/node/hall/mute", (1,)),
    ("mute off", "/node/hall/mute", (0,)),
    ("order, structural", "/node/eq/order", (6,)),
    ("IR exchange", "/node/hall/ir", ("other.wav",)),
    ("IR back", "/node/hall/ir", ("ir.wav",)),
    ("add", "/rack/add", ("echo", "delay", "time", 35.0, "mix", 1.0)),
    ("connect in", "/rack/connect", ("pk", "echo")),
    ("connect out", "/rack/connect", ("echo", "out", -6.0)),
    ("disconnect", "/rack/disconnect", ("pk", "hall")),
    ("reconnect", "/rack/connect", ("pk", "hall")),
    ("remove", "/rack/remove", ("echo",)),
    ("remove in a chain", "/rack/remove", ("pk",)),
    ("insert", "/rack/insert", ("trim", "gain", "before", "hall", "gain", -2.0)),
    ("rename", "/rack/rename", ("hall", "room")),
    ("three statements", "/rack/do", ("remove trim", "insert eq2 peaking after in 500 3dB", "rename room hall")),
    ("undo", "/rack/undo", ()),
    ("chain", "/rack/chain", ("g: gain -3dB | eq: highpass 40 order=6",)),
    ("clear", "/rack/clear", ()),
]
RACK = "g: gain | eq: highpass 40 order=4 | pk: peaking 1000 0dB | hall: convolver ir.wav mix=0.5"


def make_ir(name, seed):
    n = 6000
    ir = np.random.default_rng(seed).standard_normal(n) * np.exp(-7.0 * np.arange(n) / n)
    write_wav(name, RATE, ir / np.sqrt(np.sum(ir**2)))



with scratch():
    t = np.arange(RATE * SECONDS) / RATE
    write_wav("sine.wav", RATE, 0.25 * np.sin(2 * np.pi * FREQUENCY * t))
    make_ir("ir.wav", 1)
    make_ir("other.wav", 2)
    with Server(
        "--backend", BACKEND, "--io", "dummy", "--block", str(BLOCK), "--depth", "2", "--rate", str(RATE), "--channels", "1:1",
        "--play", "sine.wav", "--record", "out.wav", RACK,
    ) as server:
        osc, marks = server.osc, Marks(server, RATE, BLOCK)
        time.sleep(1.0)
        latency = server.status()["latency_frames"]
        for name, address, arguments in EDITS:
            with marks.mark(name):
                osc.do(address, *arguments)
                osc.sync()

        # Ten edits in one bundle make one plan.
        plans = server.status()["plans"]
        names = [f"n{i}" for i in range(5)]
        messages = [osc_message("/rack/add", n, "gain", "gain", -1.0) for n in names]
        messages += [osc_message("/rack/connect", a, b) for a, b in zip(["in"] + names, names)][:4]
        messages += [osc_message("/rack/connect", names[3], "out", -20.0)]
        with marks.mark("bundle of ten"):
            osc.send(osc_bundle(messages))
            answers = [osc.receive() for _ in messages]
            assert all(a[0] == "/done" for a in answers), answers
            osc.sync()
            assert server.status()["plans"] == plans + 1, (plans, server.status())

        # A bundle is all or nothing.
        text = osc.ask("/rack/get")[1][0]
        bad = [osc_message("/rack/remove", "n0"), osc_message("/rack/remove", "nobody")]
        osc.send(osc_bundle(bad))
        answers = [osc.receive() for _ in bad]
        assert any(a[0] == "/fail" for a in answers), answers
        assert osc.ask("/rack/get")[1][0] == text

        status = server.status()
        assert status["latency_frames"] == latency, (latency, status)
        marks.check_machine()
        server.stop()

    rate, recorded = read_wav("out.wav")
    out = recorded[:, 0]
    assert np.max(np.abs(out[RATE:-RATE])) > 0.01
    sys.exit(marks.exit_code(out, status["latency_frames"]))
