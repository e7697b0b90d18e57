# SPDX-License-Identifier: GPL-3.0-or-later
"""While a rack plays live on a GPU device, OSC commands edit it and move its nodes between CPU and device.

No edit clicks, the latency stays the same, /server/nodes shows each move, and an impossible edit is refused while
audio continues.  WARPRACK_TEST_BACKEND names the API of the device.  The test makes each edit at least once, and
repeats them for WARPRACK_TEST_SECONDS.
"""

from common import *

RATE, BLOCK, FREQUENCY = 48000, 256, 997.0
DEVICE = os.environ.get("WARPRACK_TEST_BACKEND", "opencl")
SECONDS = float(os.environ.get("WARPRACK_TEST_SECONDS", "10"))
RACK = "a: gain -3dB | eq: peaking 1000 3dB | echo: delay 30ms mix=0.4 feedback=40% | z: gain -1dB"

EDITS = [
    ("set on the device", "/node/a/gain", (-9.0,)),
    ("a to the CPU", "/node/a/backend", ("cpu",)),
    ("set on the CPU", "/node/a/gain", (-3.0,)),
    ("a to the device", "/node/a/backend", ("gpu",)),
    ("echo to the CPU", "/node/echo/backend", ("cpu",)),
    ("echo to the default", "/node/echo/backend", ("auto",)),
    ("add", "/rack/add", ("wide", "gain", "gain", -8.0)),
    ("connect in", "/rack/connect", ("eq", "wide")),
    ("connect out", "/rack/connect", ("wide", "out", -6.0)),
    ("wide to the CPU", "/node/wide/backend", ("cpu",)),
    ("remove", "/rack/remove", ("wide",)),
    ("EQ", "/node/eq/gain", (-4.0,)),
    ("undo", "/rack/undo", ()),
    ("disconnect", "/rack/disconnect", ("echo", "z")),
    ("reconnect", "/rack/connect", ("echo", "z")),
]


def places(osc):
    """The backends of all nodes and their reasons: {node: (backend, reason)}."""
    _, (text, _, _) = osc.ask("/server/nodes")
    return {name: (backend, why) for name, _, backend, why, *_ in (line.split() for line in text.splitlines())}


if why := no_device(DEVICE):
    print(f"skipped: {why}")
    sys.exit(77)

with scratch():
    t = np.arange(int(RATE * (SECONDS + 150))) / RATE
    write_wav("sine.wav", RATE, 0.25 * np.sin(2 * np.pi * FREQUENCY * t))
    with Server(
        "--io", "dummy", "--block", str(BLOCK), "--depth", "2", "--rate", str(RATE), "--channels", "1:1",
        "--backend", DEVICE, "--play", "sine.wav", "--record", "out.wav", RACK,
    ) as server:
        osc, marks = server.osc, Marks(server, RATE, BLOCK)
        server.wait_until_wet(120.0)  # the device may compile its kernels first
        began = time.monotonic()
        first = server.status()
        assert DEVICE in first["backend"] and DEVICE in first["gpu"] and first["gpu_nodes"] > 0, first
        assert places(osc)["a"] == (DEVICE, "option"), places(osc)
        # Repeat the edits also if the machine stalled during most of them.
        while (played_s := time.monotonic() - began) < SECONDS or marks.n_judged() < len(EDITS) / 2 and played_s < SECONDS + 60:
            for name, address, arguments in EDITS:
                with marks.mark(name):
                    osc.do(address, *arguments)
                    osc.sync()
                if address.endswith("/backend"):
                    node, word = address.split("/")[2], arguments[0]
                    expected = {"cpu": ("cpu", "node"), "gpu": (DEVICE, "node"), "auto": (DEVICE, "option")}[word]
                    assert places(osc)[node] == expected, (name, places(osc))
            with marks.mark("as at the start"):
                for name in ("a", "z"):
                    osc.do(f"/node/{name}/backend", "auto")
            with marks.mark("refused"):
                reply, values = osc.ask("/node/a/backend", "cuda")
                assert reply == "/fail", (reply, values)
        marks.check_machine()
        last = server.status()
        server.stop()
    assert last["latency_frames"] == first["latency_frames"], (first, last)
    assert last["units_reset"] == last["device_errors"] == 0, last
    out = read_wav("out.wav")[1][:, 0]
    assert np.max(np.abs(out[RATE:-RATE])) > 0.01
    sys.exit(marks.exit_code(out, last["latency_frames"]))
