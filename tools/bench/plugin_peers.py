#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What plugins cost in warprack, jalv and mod-host: prints the figures for the goals of tools/bench/PLUGINS.md.

    tools/bench/plugin_peers.py [--build FOLDER] [--mod-host FILE] [--rounds N] [--seconds S] [--hosts WORD,...]

The first table is measured under `jackd -d dummy`, 48 kHz, 64 frames, with one host after the other, several times:
64 instances of a mono gain, in warprack as one node of 64 channels and as 64 nodes, in 64 processes of jalv, in one
process of mod-host; and warprack with an empty rack of 64 channels.  No port is connected.  The processor time of all
processes of the host is counted, and beside it that of jackd; also the times that jackd reports a client as late, and
warprack's late blocks.  The second table is made by `warprack bench plugins`.

jalv and swh-lv2 are packages of Debian (tools/install bench); mod-host is not: build it from
https://github.com/mod-audio/mod-host.  A host that is not there is left out.
"""

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
N = 64
GAIN = "http://plugin.org.uk/swh-plugins/amp"

# Mono plugins of packages of tools/install test; 16 channels of each are 256 instances.
MIXED = [
    "ladspa amp/amp_mono", "ladspa delay_1898/delay_c", "ladspa comb_1190/comb", "ladspa valve_1209/valve",
    "ladspa single_para_1203/singlePara", "ladspa caps/Compress", "ladspa caps/EqFA4p", "ladspa cmt/delay_1s",
    "ladspa tap_eqbw/tap_equalizer_bw", "ladspa tap_tremolo/tap_tremolo", 'lv2 "http://gareus.org/oss/lv2/fil4#mono"',
    'lv2 "http://gareus.org/oss/lv2/darc#mono"', 'lv2 "http://gareus.org/oss/lv2/dpl#mono"', "clap com.zamaudio.ZamTube",
    "clap com.zamaudio.ZamEQ2", "clap com.zamaudio.ZamDelay",
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(TOP, "build"), metavar="FOLDER", help="what meson built, default build/")
    parser.add_argument("--mod-host", default=shutil.which("mod-host"), metavar="FILE", help="default: the one of PATH")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds over all hosts, default 5")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="of each measurement, default 10")
    parser.add_argument("--hosts", default="", metavar="WORD,...", help="only hosts whose names have one of these words")
    return parser.parse_args()


# ---- programs ----


def end_with_parent():
    """In a child: it is killed when this script ends, however that happens; mod-host ignores SIGTERM at times."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Program:
    """A program in the background, which ends with the `with` block."""

    def __init__(self, argv):
        self.argv, self.output = argv, tempfile.TemporaryFile()
        # jalv ends at the end of its input.
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=self.output, stderr=subprocess.STDOUT,
                                        preexec_fn=end_with_parent)

    def said(self):
        """What the program has printed so far, without a change of the place where it goes on."""
        n_bytes = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), n_bytes, 0).decode(errors="replace")

    def fail(self, what):
        sys.exit(f"plugin_peers: {what}: {' '.join(self.argv)}\n{self.said()[-2000:]}")

    def check(self):
        if self.process.poll() is not None:
            self.fail(f"ended with {self.process.returncode}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.output.close()


def until(what, programs, limit_s=180.0):
    """Wait until what() is true while the programs run."""
    deadline = time.monotonic() + limit_s
    while not what():
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            programs[0].fail(f"not ready within {limit_s:.0f} s")
        time.sleep(0.2)


def with_children(pids):
    """These processes and all that they have started."""
    found, left = set(), list(pids)
    while left:
        pid = left.pop()
        found.add(pid)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                    left += [int(child) for child in children.read().split()]
    return found


def cpu_s(pids):
    """Processor time so far of some processes, with that of threads that have ended: clock_getcpuclockid(3)."""
    CPUCLOCK_SCHED = 2
    return sum(time.clock_gettime(~pid << 3 | CPUCLOCK_SCHED) for pid in pids)


# ---- hosts ----


def clients():
    """The clients of the server besides its own; None while there is no server."""
    done = subprocess.run(["jack_lsp"], capture_output=True, text=True, check=False)
    return {port.split(":")[0] for port in done.stdout.split()} - {"system"} if done.returncode == 0 else None


def have_clients(n):
    return lambda: len(clients() or ()) >= n


class Warprack(Program):
    """warprack with a rack, at a free OSC port."""

    def __init__(self, options, rack):
        self.program, self.port = os.path.join(options.build, "warprack"), free_port(socket.SOCK_DGRAM)
        super().__init__([self.program, "run", "--io", "jack", "--no-connect", "--channels", f"{N}:{N}", "--osc-port",
                          str(self.port), "--fresh", rack])

    def late_blocks(self):
        done = subprocess.run([self.program, "status", "--json", "--osc-port", str(self.port), "late"], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            self.fail(f"no counters: {done.stderr}")
        return json.loads(done.stdout)["late"]


def free_port(kind):
    with socket.socket(type=kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def warprack(options, rack):
    return [Warprack(options, rack)], 1


def one_node_each():
    """A rack with a node for each channel."""
    nodes = [f'add amp{c} lv2 "{GAIN}"\nconnect in:{c} amp{c}\nconnect amp{c} out:{c}' for c in range(1, N + 1)]
    return "\n".join(nodes)


def jalv(_options):
    return [Program(["jalv", "-n", f"jalv{i}", GAIN]) for i in range(N)], N


def add_to_mod_host(program, port):
    """Make the instances over mod-host's socket, when it listens."""
    sockets = []

    def listens():
        with contextlib.suppress(OSError):
            sockets.append(socket.create_connection(("127.0.0.1", port), timeout=20.0))
        return sockets

    until(listens, [program])
    with sockets[0] as control:
        for i in range(N):
            control.sendall(f"add {GAIN} {i}\0".encode())
            answer = control.recv(256).decode()
            if not answer.startswith(f"resp {i}"):
                program.fail(f"answers {answer!r}")


def mod_host(options):
    port = free_port(socket.SOCK_STREAM)
    program = Program([options.mod_host, "-n", "-p", str(port), "-f", "0"])
    add_to_mod_host(program, port)
    return [program], N


EMPTY = f"warprack, an empty rack of {N} channels"
HOSTS = {
    EMPTY: lambda options: warprack(options, ""),
    f"warprack, one node with {N} instances": lambda options: warprack(options, f'lv2 "{GAIN}"'),
    f"warprack, {N} nodes": lambda options: warprack(options, one_node_each()),
    f"jalv, {N} processes": jalv,
    f"mod-host, one process, {N} clients": mod_host,
}


def is_wanted(host, options):
    is_there = not (host.startswith("jalv") and not shutil.which("jalv") or host.startswith("mod-host") and not options.mod_host)
    return is_there and any(word in host for word in options.hosts.split(","))


def late_clients(jackd):
    """Times that jackd has reported a client as late, one for each client and period."""
    return jackd.said().count("JackEngine::XRun")


def late_blocks(programs):
    """Late blocks of warprack so far; None for another host."""
    return programs[0].late_blocks() if isinstance(programs[0], Warprack) else None


def measure(host, jackd, options):
    """Processor seconds per second of a host, and of jackd meanwhile; late clients; late blocks or None."""
    with contextlib.ExitStack() as stack:
        until(lambda: clients() == set(), [jackd])
        programs, n_clients = HOSTS[host](options)
        for program in programs:
            stack.enter_context(program)
        until(have_clients(n_clients), programs)
        time.sleep(2.0)  # after the start
        groups = [with_children(program.process.pid for program in programs), {jackd.process.pid}]
        blocks_before, clients_before = late_blocks(programs), late_clients(jackd)
        before, began = [cpu_s(pids) for pids in groups], time.monotonic()
        time.sleep(options.seconds)
        passed = time.monotonic() - began
        own, of_jackd = [(cpu_s(pids) - start) / passed for pids, start in zip(groups, before)]
        for program in programs:
            program.check()
        n_clients, n_blocks = late_clients(jackd) - clients_before, late_blocks(programs)
        return own, of_jackd, n_clients, None if n_blocks is None else n_blocks - blocks_before


def print_beyond_empty(results):
    """What the racks with plugins cost more than the empty one of the same round: the goal is 0.01."""
    for host, rounds in results.items():
        if host.startswith("warprack") and host != EMPTY and EMPTY in results:
            beyond = [own - empty for (own, *_), (empty, *_) in zip(rounds, results[EMPTY])]
            print(f"{host}: {statistics.median(beyond):.4f} more than the empty rack; " + " ".join(f"{value:.4f}" for value in beyond))


def measure_hosts(options):
    os.environ.update(JACK_DEFAULT_SERVER=f"peers-{os.getpid()}", JACK_NO_START_SERVER="1", JACK_NO_AUDIO_RESERVATION="1")
    hosts = [host for host in HOSTS if is_wanted(host, options)]
    results = {host: [] for host in hosts}
    server = ["jackd", "-n", os.environ["JACK_DEFAULT_SERVER"], "-r", "-p", "1024", "-t", "5000", "-d", "dummy", "-r", "48000",
              "-p", "64", "-C", "2", "-P", "2"]
    with Program(server) as jackd:
        until(lambda: clients() is not None, [jackd])
        for _ in range(options.rounds):
            for host in hosts:
                results[host].append(measure(host, jackd, options))
    print("| host | processor seconds per second | of each round | jackd's | late clients | late blocks |\n|---|---|---|---|---|---|")
    for host, rounds in results.items():
        own, of_jackd, n_clients, n_blocks = zip(*rounds)
        rows = " ".join(f"{value:.4f}" for value in own)
        late = "-" if None in n_blocks else sum(n_blocks)
        print(f"| {host} | {statistics.median(own):.4f} | {rows} | {statistics.median(of_jackd):.4f} | {sum(n_clients)} | {late} |")
    print()
    print_beyond_empty(results)


# ---- beyond the plugins' own time ----


def bench(options, *words):
    done = subprocess.run([os.path.join(options.build, "warprack"), "bench", "plugins", "--json", *words], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"plugin_peers: {done.stderr}")
    return json.loads(done.stdout)


def measure_hosting(options):
    racks = {
        f"{N} instances of amp as LV2": [f'lv2 "{GAIN}"'],
        f"{N} instances of amp as LADSPA": ["ladspa amp/amp_mono"],
        f"{N} nodes of amp as LADSPA in series": ["--channels", "1", " | ".join(["ladspa amp/amp_mono"] * N)],
        f"{16 * len(MIXED)} instances of {len(MIXED)} plugins": ["--channels", "16", "--block", "256", "--rounds", "20", "--blocks", "50",
                                                           " | ".join(MIXED)],
    }
    print("| rack | frames | plugins alone | hosting, per instance | rack / plugins |\n|---|---|---|---|---|")
    for name, words in racks.items():
        rounds = [bench(options, *words) for _ in range(options.rounds)]
        middle = sorted(rounds, key=lambda result: result["ratio"])[len(rounds) // 2]
        print(f"| {name} | {middle['block_frames']} | {middle['plugins_us']:.2f} us | {middle['hosting_ns_each']:.1f} ns | "
              f"{middle['ratio']:.3f} |")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else os.uname().machine}, {os.cpu_count()} processors, Linux {os.uname().release}"


def load():
    return f"{os.getloadavg()[0]:.2f}"


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not shutil.which("jackd"):
        sys.exit("plugin_peers: no jackd")
    done = subprocess.run([os.path.join(options.build, "warprack"), "scan"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"plugin_peers: {done.stderr}")
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}; {options.rounds} rounds of {options.seconds:.0f} s, medians")
    print(f"load before: {load()}\n")
    measure_hosts(options)
    print()
    measure_hosting(options)
    return 0


sys.exit(main())
