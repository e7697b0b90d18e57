# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that others can reach is reached from its own machine as well, by 127.0.0.1 and by its address.

    bind.py PROGRAM

Addresses of one's own need a network namespace; the test is skipped where there is none.
"""

from common import *

ADDRESS = "192.0.2.1"  # of this machine, here


def ask(program, *words):
    command = [PROGRAM, program, "--timeout", "2", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def expect(done, code, text):
    assert done.returncode == code and text in done.stdout + done.stderr, (done.args, done.returncode, done.stdout, done.stderr)


def expect_taken(port, text):
    """The port of 127.0.0.1 is in use: no server may answer in another one's place."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
        command = [PROGRAM, "run", "--io", "dummy", "-p", str(port), "--osc-bind", ADDRESS, "--osc-allow", "192.0.2.0/24"]
        expect(subprocess.run(command, capture_output=True, text=True, timeout=30, check=False), 3, text)


if not enter_namespace():
    print("skipped: no network namespaces")
    sys.exit(77)
add_address("lo", "127.0.0.1")
add_address("lo:1", ADDRESS)
with scratch(), Server("--io", "dummy", "--osc-bind", ADDRESS, "--osc-allow", "192.0.2.0/24", "vol: gain -6dB") as server:
    port = str(server.port)
    for host in ("127.0.0.1", ADDRESS):
        expect(ask("send", "--host", host, "-p", port, "/node/vol/gain"), 0, "/node/vol/gain f -6")
        expect(ask("send", "--host", host, "-p", port, "/rack/get"), 0, "add vol gain gain=-6dB")
        expect(ask("status", "--host", host, "-p", port, "state"), 0, "state  running")
    expect(ask("send", "-p", port, "/node/vol/gain", "-3"), 0, "/done")
    server.osc.do("/server/notify", 1)  # news leave by the socket that the subscriber asked
    expect(ask("send", "--host", ADDRESS, "-p", port, "/node/vol/gain", "-9"), 0, "/done")
    assert server.osc.receive() == ("/node/vol/gain", [-9.0])
    assert server.status()["osc_withheld"] == 0
    server.stop()
    expect_taken(server.port, "UDP port %d on 127.0.0.1 is in use" % server.port)
print("reached by 127.0.0.1 and by its address")
