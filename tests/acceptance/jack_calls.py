# SPDX-License-Identifier: GPL-3.0-or-later
"""Each call of libjack fails in turn, with NULL, 0 or -1: once alone, and once with all later calls, as after the end
of the server. `warprack run` survives each and, once libjack behaves again, plays with all its connections.  Before
that, its first opening of a client fails.

First the calls in one life of a client are counted, from its opening until its connections are known and its ports
described.  Of the calls of one function, the first few fail; later calls are those of every poll and every period,
which repeat.
"""

import threading

from common import *

need("jackd", "jack_lsp", "jack_connect")

ODD_JACK = os.environ.get("WARPRACK_ODD_JACK", os.path.join(os.path.dirname(PROGRAM), "tests", "libodd_jack.so"))
MOST, MOST_ON, RACKS, SETTLED_S, LIMIT_S = 4, 2, 2, 1.5, 30.0
# Called when the server requests latencies; a busy jackd does so more rarely, or never.
WHEN_ASKED = ("jack_port_connected", "jack_port_get_latency_range", "jack_port_set_latency_range")
WIRES = {("system:capture_2", "rack:in_1"), ("rack:out_1", "system:playback_2")}


class Rack:
    """A JACK server, a rack with the wrapper before its libjack, and a connection at either end."""

    def __init__(self, number):
        self.folder = os.path.abspath(str(number))
        os.mkdir(self.folder)
        self.jack = Jackd(48000, 256, number)
        env = {**self.jack.env, "LD_PRELOAD": ODD_JACK, "ODD_JACK": self.folder}
        self.write("fail", "jack_client_open 1")  # a refused first start is tried again
        refusal = threading.Thread(target=self.refuse_first)
        refusal.start()
        self.server = Server("--io", "jack", "--channels", "1:1", "--no-connect", "--name", "rack", "", env=env)
        refusal.join()
        self.jack.wait_for("rack:out_1")
        for source, target in WIRES:
            done = self.jack.run("jack_connect", source, target)
            assert done.returncode == 0, (source, target, done.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()
        self.jack.__exit__()

    def refuse_first(self):
        while not self.has_failed():
            time.sleep(0.001)
        os.unlink(self.path("fail"))
        os.unlink(self.path("failed"))

    def until(self, what, why):
        deadline = time.monotonic() + LIMIT_S
        while True:
            with contextlib.suppress(OSError):  # a program that has ended does not answer
                if what():
                    return
            assert self.server.process.poll() is None, f"{why}: the program ended with {self.server.process.poll()}\n{self.server.output()}"
            assert time.monotonic() < deadline, f"{why}\n{self.server.status()}\n{self.server.output()}"
            time.sleep(0.01)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text=""):
        """Replaced as a whole: the wrapper may read the file at any time."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name + ".new"), self.path(name))

    def until_it_plays(self, why):
        seen = []

        def plays():
            seen.append(self.server.status()["blocks"])
            return seen[-1] >= seen[0] + 20

        self.until(plays, f"{why}: it does not play")
        self.until(lambda: self.jack.wires() == WIRES, f"{why}: not all connections are back")

    def calls(self):
        """Number of calls of each function in the life of a client until everything is done."""
        self.write("end")
        self.until_it_plays("a first end")
        time.sleep(SETTLED_S)  # by then the ports are described
        self.write("end")
        self.until_it_plays("a second end")
        with open(self.path("calls"), encoding="utf-8") as file:
            return {name: int(count) for name, count in (line.split() for line in file)}

    def fail(self, function, call, on):
        """Returns False if this call does not happen."""
        why = f"{function}, call {call}{' and all that follow' if on else ''}"
        self.write("fail", f"{function} {call}{' on' if on else ''}")
        self.write("end")
        if function == "jack_client_close":
            self.until_it_plays(why)
            self.write("end")
        deadline = time.monotonic() + (SETTLED_S if function in WHEN_ASKED else LIMIT_S)
        self.until(lambda: self.has_failed() or time.monotonic() > deadline, why)
        has_failed = self.has_failed()
        assert has_failed or function in WHEN_ASKED, f"{why}: it is not called\n{self.server.output()}"
        os.unlink(self.path("fail"))
        self.until_it_plays(why)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path("failed"))
        return has_failed

    def has_failed(self):
        return os.path.exists(self.path("failed"))


def main():
    with scratch(), contextlib.ExitStack() as stack:
        racks = [stack.enter_context(Rack(number)) for number in range(RACKS)]
        time.sleep(SETTLED_S)  # by then the connections are stored (io/jack_links.h)
        counts = racks[0].calls()
        cases = [(name, call + 1, on) for name, count in counts.items() for on, most in ((False, MOST), (True, MOST_ON)) for call in range(min(count, most))]
        left, done = list(cases), []

        def work(rack):
            while left:
                case = left.pop()
                try:
                    done.append((case, rack.fail(*case), None))
                except (AssertionError, OSError) as error:
                    done.append((case, True, error))
                    left.clear()

        threads = [threading.Thread(target=work, args=(rack,)) for rack in racks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors = [f"{case}: {error}" for case, _, error in done if error]
        assert not errors, "\n".join(errors)
        for rack in racks:
            rack.server.stop()
        failed = [name for (name, _, _), has_failed, _ in done if has_failed]
        assert set(failed) == {name for name, count in counts.items() if count}, (counts, failed)
        print(f"{len(failed)} of {len(cases)} calls failed, of {len(set(failed))} functions; after each it plays as before")


main()
