#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What 64 mono plugins cost in warprack, jalv and mod-host, under JACK without a sound card.

    tools/bench/plugin_peers.py [--build FOLDER] [--mod-host FILE] [--plugin URI] [--rounds N] [--seconds S]

Starts `jackd -d dummy` at 48 kHz and 64 frames, and then one host after the other, several times: warprack with an empty
rack of 64 channels, warprack with the plugin on 64 channels, jalv 64 times, and mod-host with 64 instances.  No port is
connected.  Counts the processor time of all processes of the host, not of jackd, in seconds per second, and prints the
median of the rounds.  jalv and swh-lv2 are packages of Debian; mod-host is not: build it from
https://github.com/mod-audio/mod-host.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
N = 64
TICKS = os.sysconf("SC_CLK_TCK")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(TOP, "build"), metavar="FOLDER", help="what meson built, default build/")
    parser.add_argument("--mod-host", default=shutil.which("mod-host"), metavar="FILE", help="default: the one of PATH")
    parser.add_argument("--plugin", default="http://plugin.org.uk/swh-plugins/amp", metavar="URI", help="an LV2 plugin with one input and one output")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds over all hosts, default 3")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="of each measurement, default 10")
    return parser.parse_args()


def start(argv):
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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
    """Processor time so far of some processes."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def count_clients():
    """The clients of the server besides its own."""
    ports = subprocess.run(["jack_lsp"], capture_output=True, text=True, check=False).stdout.split()
    return len({port.split(":")[0] for port in ports} - {"system"})


def wait_for_clients(n, limit_s=120.0):
    deadline = time.monotonic() + limit_s
    while count_clients() < n:
        assert time.monotonic() < deadline, f"only {count_clients()} of {n} clients play"
        time.sleep(0.5)


def run_warprack(options, rack):
    process = start([os.path.join(options.build, "warprack"), "run", "--io", "jack", "--no-connect", "--channels", f"{N}:{N}",
                     "--osc-port", "0", "--fresh", rack])
    wait_for_clients(1)
    return [process]


def run_jalv(options):
    processes = [start(["jalv", "-n", f"jalv{i}", options.plugin]) for i in range(N)]
    wait_for_clients(N)
    return processes


def run_mod_host(options):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = start([options.mod_host, "-n", "-p", str(port), "-f", str(port + 1)])
    deadline = time.monotonic() + 20.0
    while True:
        with contextlib.suppress(OSError):
            control = socket.create_connection(("127.0.0.1", port), timeout=20.0)
            break
        assert time.monotonic() < deadline and process.poll() is None, "mod-host does not listen"
        time.sleep(0.2)
    with control:
        for i in range(N):
            control.sendall(f"add {options.plugin} {i}\0".encode())
            answer = control.recv(256)
            assert answer.startswith(f"resp {i}".encode()), answer
    wait_for_clients(N)
    return [process]


HOSTS = {
    "warprack, empty rack": lambda options: run_warprack(options, ""),
    "warprack": lambda options: run_warprack(options, f'lv2 "{options.plugin}"'),
    "jalv": run_jalv,
    "mod-host": run_mod_host,
}


def measure(host, options):
    processes = HOSTS[host](options)
    try:
        time.sleep(2.0)  # after the start
        pids = with_children(process.pid for process in processes)
        before, began = cpu_s(pids), time.monotonic()
        time.sleep(options.seconds)
        return (cpu_s(pids) - before) / (time.monotonic() - began)
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main():
    options = arguments()
    os.environ["JACK_DEFAULT_SERVER"] = f"peers-{os.getpid()}"
    os.environ["JACK_NO_START_SERVER"] = "1"
    hosts = [host for host in HOSTS if host != "jalv" or shutil.which("jalv")]
    hosts = [host for host in hosts if host != "mod-host" or options.mod_host]
    subprocess.run([os.path.join(options.build, "warprack"), "scan"], stdout=subprocess.DEVNULL, check=True)
    jackd = start(["jackd", "-n", os.environ["JACK_DEFAULT_SERVER"], "-r", "-t", "5000", "-d", "dummy", "-r", "48000", "-p", "64", "-C", "2", "-P", "2"])
    results = {host: [] for host in hosts}
    try:
        for _ in range(options.rounds):
            for host in hosts:
                results[host].append(measure(host, options))
    finally:
        jackd.terminate()
        jackd.wait()
    for host, values in results.items():
        print(f"{host:22} {statistics.median(values):7.4f} s/s   {' '.join(f'{value:.4f}' for value in values)}")
    return 0


sys.exit(main())
