# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that waits for a JACK server names pw-jack when PipeWire starts, which may be long after the program.

PipeWire is a listening socket here, because the program with jackd's libjack uses nothing else of it."""

from common import *

HINT = "but PipeWire does: start this program with pw-jack"


class WaitingServer(Server):
    """With jackd's libjack, and no server."""

    def __init__(self, folder):
        env = {name: value for name, value in os.environ.items() if not name.startswith("PIPEWIRE_")}
        env |= {"XDG_RUNTIME_DIR": folder, "JACK_DEFAULT_SERVER": f"none-{os.getpid()}", "JACK_NO_START_SERVER": "1"}
        command = [PROGRAM, "run", "--osc-port", "0", "--io", "jack", "--wait", "gain"]
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=env)

    def expect(self, words):
        until(lambda: words in self.output(), f"'{words}' is not in:", self.output, process=self.process)


with scratch() as folder, WaitingServer(folder) as server, socket.socket(socket.AF_UNIX) as pipewire:
    server.expect("waiting for it")
    time.sleep(0.5)  # ten attempts
    assert "PipeWire" not in server.output() and "trying again" not in server.output(), server.output()
    pipewire.bind(f"{folder}/pipewire-0")
    pipewire.listen(64)
    server.expect(HINT)
    print(server.stop())
