# SPDX-License-Identifier: GPL-3.0-or-later
"""Each call of libjack fails in turn, with NULL, 0 or -1: once alone, and once together with all later calls, as after
the end of the server.  `warprack run` survives each failure.  When libjack works again, it plays with all its
connections.  At the start of each run, the first opening of a client fails, too.

    jack_calls.py PROGRAM [CALLS]
    jack_calls.py PROGRAM observe SERVER CLIENT

The test first counts the calls of one client, from its opening until it has stored its connections and described its
ports.  Of each function the first CALLS calls fail alone, and half of them with all later calls.  Many more are
repetitions in each poll or period: `tools/soak --long jack-calls` makes all of them fail.
"""

import ctypes
import itertools
import json
import threading

from common import *

need("jackd", "jack_lsp", "jack_connect")

ODD_JACK = os.environ.get("WARPRACK_ODD_JACK", os.path.join(os.path.dirname(PROGRAM), "tests", "libodd_jack.so"))
# Calls of one function.  The number of those that follow depends on the time, so some may not happen.
CERTAIN = 4
CALLS = int(sys.argv[2]) if len(sys.argv) == 3 else CERTAIN
RACKS, SETTLED_S, REPEATED_S = 2, 1.5, 5.0
# Functions that are called when the server requests latencies; a busy jackd does that rarely, or never.
WHEN_ASKED = ("jack_port_connected", "jack_port_get_latency_range", "jack_port_set_latency_range")


def observe(server, name):
    """Print the connections of a client, as a list of pairs of source and target, for each line of the input."""
    libjack = ctypes.CDLL("libjack.so.0")
    libjack.jack_client_open.restype = ctypes.c_void_p
    libjack.jack_port_by_name.restype = ctypes.c_void_p
    libjack.jack_port_get_all_connections.restype = ctypes.POINTER(ctypes.c_char_p)
    no_start, server_name = 1, 4
    client = ctypes.c_void_p(libjack.jack_client_open(f"observer-{name}".encode(), no_start | server_name, None, server.encode()))
    assert client, f"{server} refuses the observer"

    def peers(port_name):
        port = ctypes.c_void_p(libjack.jack_port_by_name(client, port_name.encode()))
        found = port and libjack.jack_port_get_all_connections(client, port)
        names = [peer.decode() for peer in itertools.takewhile(bool, found)] if found else []
        if found:
            libjack.jack_free(found)
        return names

    source, target = f"{name}:out_1", f"{name}:in_1"
    for _ in sys.stdin:
        print(json.dumps([(peer, target) for peer in peers(target)] + [(source, peer) for peer in peers(source)]), flush=True)
    libjack.jack_client_close(client)


class Observer:
    """A client that queries the connections of another one and stays open.  A jack_lsp for each query would open and
    close a client, and libjack notifies all other clients of that.  libjack 1.9.21 has a fault (jack2, issue 395): if
    the notification arrives while a process closes its client, the process can never open another one.

    It is a process of its own, because the libjack of a process knows only one server at a time."""

    def __init__(self, server, name):
        command = [sys.executable, __file__, PROGRAM, "observe", server, name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wires(self):
        """The connections of the client, as pairs of source and target."""
        print(file=self.process.stdin, flush=True)
        return {tuple(pair) for pair in json.loads(self.process.stdout.readline())}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Rack:
    """A JACK server, and a `warprack run` with the wrapper around its libjack and a connection on each side.

    Each client has a name of its own: libjack names the socket of a client without the name of its server, so one of
    two clients of the same name may get the other's notifications, even if they belong to two servers."""

    def __init__(self, number):
        self.name = f"rack{number}"
        self.ends = {("system:capture_2", f"{self.name}:in_1"), (f"{self.name}:out_1", "system:playback_2")}
        self.folder = os.path.abspath(str(number))
        os.mkdir(self.folder)
        self.jack = Jackd(48000, 256, number)
        env = {**self.jack.env, "LD_PRELOAD": ODD_JACK, "ODD_JACK": self.folder}
        self.write("fail", "jack_client_open 1")  # the program must try again after a failed start
        refusal = threading.Thread(target=self.refuse_first)
        refusal.start()
        self.server = Server("--io", "jack", "--channels", "1:1", "--no-connect", "--name", self.name, "", env=env)
        refusal.join()
        self.jack.wait_for(f"{self.name}:out_1")
        for source, target in self.ends:
            self.jack.connect(source, target)
        self.observer = Observer(self.jack.name, self.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.observer.close()
        self.server.__exit__()
        self.jack.__exit__()

    def refuse_first(self):
        while not self.has_failed():
            time.sleep(0.001)
        os.unlink(self.path("fail"))
        os.unlink(self.path("failed"))

    def until(self, what, why):
        server = self.server

        def happens():
            with contextlib.suppress(OSError):  # a program that has ended does not reply
                return what()

        until(happens, why, self.observer.wires, server.status, server.output, process=server.process)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text=""):
        """Replace a file in one step, because the wrapper may read it at any time."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name + ".new"), self.path(name))

    def until_it_plays(self, why):
        seen = []

        def plays():
            seen.append(self.server.status()["blocks"])
            return seen[-1] >= seen[0] + 20

        self.until(plays, f"{why}: the program does not play")
        self.until(lambda: self.observer.wires() == self.ends, f"{why}: not all connections are restored")

    def calls(self):
        """How often one client calls each function, until its connections are stored and its ports described."""
        self.write("end")
        self.until_it_plays("a first end")
        time.sleep(SETTLED_S)  # by then the ports are described
        self.write("end")
        self.until_it_plays("a second end")
        with open(self.path("calls"), encoding="utf-8") as file:
            return {name: int(count) for name, count in (line.split() for line in file)}

    def fail(self, function, call, on):
        """Make this call fail, and wait until the program plays again.  Returns False if the call does not happen."""
        why = f"{function}, call {call}{' and all later calls' if on else ''}"
        self.write("fail", f"{function} {call}{' on' if on else ''}")
        self.write("end")
        if function == "jack_client_close":
            self.until_it_plays(why)
            self.write("end")
        is_certain = call <= CERTAIN and function not in WHEN_ASKED
        deadline = time.monotonic() + (LIMIT_S if is_certain else SETTLED_S if function in WHEN_ASKED else REPEATED_S)
        self.until(lambda: self.has_failed() or time.monotonic() > deadline, why)
        has_failed = self.has_failed()
        assert has_failed or not is_certain, f"{why}: this call does not happen\n{self.server.output()}"
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
        time.sleep(SETTLED_S)  # by then the connections are stored (io/jack_connections.h)
        counts = racks[0].calls()
        cases = [(name, call + 1, on) for name, count in counts.items() for on, most in ((False, CALLS), (True, (CALLS + 1) // 2)) for call in range(min(count, most))]
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
        print(f"figure: {len(failed)} of {len(cases)} calls failed, of {len(set(failed))} functions; after each the program plays as before")


if sys.argv[2:3] == ["observe"]:
    observe(*sys.argv[3:])
else:
    main()
