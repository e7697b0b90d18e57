# SPDX-License-Identifier: GPL-3.0-or-later
"""What listeners and MIDI cost a server whose rack does nothing new, and how soon a value reaches another client.

    costs.py PROGRAM [SECONDS]        SECONDS of each measurement, default 5

- 32 clients on four other machines (network namespaces) get the levels of 64 channels 25 times a second: the processor
  time of server and worker beyond that without them.
- A client sets a value every 5 to 60 ms: the time until another client has it.
- The rack gets a MIDI line, on JACK: how often the control thread wakes up, and its processor time.

A part for which this machine lacks rights or programs is left out.
"""

import os
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "acceptance"))
from machines import *

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
CHANNELS, RATE_HZ, CLIENTS = 64, 25, 32
MACHINES = [(f"192.0.{n}.1", f"192.0.{n}.2") for n in range(2, 6)]
ROUNDS = 3  # without and with, in turn
CONTROL_THREAD = "warprack-osc"
MAX_PERCENT, MAX_P99_MS = 3.0, 25.0


# ---- processor time ----


def threads(pid):
    """Name and folder of each thread of a process."""
    tasks = f"/proc/{pid}/task"
    return [(open(f"{tasks}/{task}/comm").read().strip(), f"{tasks}/{task}") for task in os.listdir(tasks)]


def cpu_s(pid, name=None):
    """The processor time of a process, or of its threads of this name."""
    return sum(int(open(f"{task}/schedstat").read().split()[0]) for found, task in threads(pid) if name in (None, found)) * 1e-9


def wakes(pid, name):
    """How often the threads of this name have waited."""
    found = [open(f"{task}/status").read() for thread, task in threads(pid) if thread == name]
    return sum(int(line.split()[1]) for status in found for line in status.splitlines() if line.startswith("voluntary"))


def percent(read):
    """How much of a core a reading of processor times has grown."""
    began, before = time.monotonic(), read()
    time.sleep(SECONDS / ROUNDS)
    return 100.0 * (read() - before) / (time.monotonic() - began)


# ---- levels for other machines ----


def prove(client):
    """The exchange after which a client of another machine is trusted."""
    client.send(osc_message("/server/hello", "0123456789abcdef"))
    reply, values = osc_parse(client.recv(65536))
    if reply == "/server/cookie":
        client.send(osc_message("/server/hello", values[0]))
        reply, values = osc_parse(client.recv(65536))
    assert (reply, values[0]) == ("/done", "/server/hello"), (reply, values)


def other_machines(pipe):
    """Subscribe and unsubscribe as the test says; report to it how many messages have come since."""
    port, clients, n = pipe.recv(), [], 0
    for k in range(CLIENTS):
        own, other = MACHINES[k % len(MACHINES)]
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.settimeout(20.0)
        client.bind((other, 0))
        client.connect((own, port))
        prove(client)
        clients.append(client)
    pipe.send("ready")
    while True:
        for client in select.select([*clients, pipe], [], [])[0]:
            if client is not pipe:
                n += osc_parse(client.recv(65536))[0] == "/meter/out"
                continue
            word = pipe.recv()
            for each in clients if word else []:
                each.send(osc_message(word, "out", *([RATE_HZ] if word == "/meter/subscribe" else [])))
            pipe.send(n)
            n = 0


def levels(machine):
    options = ["--io", "dummy", "--channels", f"{CHANNELS}:{CHANNELS}", "--osc-bind", "0.0.0.0", "--osc-allow", "192.0.2.0/23,192.0.4.0/23"]
    with Server(*options, "gain -3dB") as server:
        worker = server.worker()
        read = lambda: cpu_s(server.process.pid) + cpu_s(worker)
        say = lambda word: (machine.pipe.send(word), machine.pipe.recv())[1]
        machine.pipe.send(server.port)
        machine.pipe.recv()
        without, using, n = [], [], 0
        for _ in range(ROUNDS):
            without.append(percent(read))
            say("/meter/subscribe")
            time.sleep(0.5)
            say("")
            using.append(percent(read))
            n += say("/meter/unsubscribe")
            time.sleep(0.5)
        server.stop()
    cost = np.median(using) - np.median(without)
    print(
        f"figure: levels of {CHANNELS} channels at {RATE_HZ} Hz for {CLIENTS} clients on {len(MACHINES)} other machines: {cost:.2f} % of a core "
        f"({MAX_PERCENT:.0f} %) more than the {np.median(without):.2f} % without; {n / SECONDS:.0f} messages/s"
    )
    assert n > 0.9 * SECONDS * CLIENTS * RATE_HZ, n
    return cost <= MAX_PERCENT


# ---- news ----


def news():
    with Server("--io", "dummy", "--block", "64", "vol: gain -6dB") as server:
        listener, chance, times = Osc(server.port), random.Random(1), []
        listener.do("/server/notify", 1)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.005, 0.06))
            value = -1.0 - len(times) % 50
            began = time.monotonic()
            server.osc.send(osc_message("/node/vol/gain", value))
            while listener.receive() != ("/node/vol/gain", [value]):
                pass
            times.append(1e3 * (time.monotonic() - began))
            server.osc.ask("/ping")
            listener.ask("/ping")  # the subscription goes on
        server.stop()
    p99 = np.percentile(times, 99)
    print(
        f"figure: {len(times)} values until another client had them: {np.median(times):.2f} ms (median), {p99:.1f} ms (99 %, {MAX_P99_MS:.0f} ms), "
        f"{max(times):.1f} ms (longest)"
    )
    return p99 <= MAX_P99_MS


# ---- MIDI ----


def control_thread(jack, rack):
    """Wake-ups a second of the control thread, and its part of a core in percent."""
    with Server("--io", "jack", "--no-connect", rack, env=jack.env) as server:
        pid = server.process.pid
        time.sleep(1.0)
        began, before, cpu = time.monotonic(), wakes(pid, CONTROL_THREAD), cpu_s(pid, CONTROL_THREAD)
        time.sleep(SECONDS)
        passed = time.monotonic() - began
        found = (wakes(pid, CONTROL_THREAD) - before) / passed, 100.0 * (cpu_s(pid, CONTROL_THREAD) - cpu) / passed
        server.stop()
    return found


def midi():
    with Jackd(48000, 256) as jack:
        for what, line in (("without MIDI", ""), ("with a MIDI line", "midi cc 1:7 vol.gain\n")):
            rack = f"add vol gain\nconnect in vol\nconnect vol out\n{line}"
            n, part = control_thread(jack, rack)
            print(f"figure: control thread {what}: {n:.0f} wake-ups/s, {part:.2f} % of a core")


good = True
if enter_namespace():
    other = Machine(other_machines)
    other.connect(MACHINES)
else:
    print("figure: no network namespaces: the cost of levels for other machines is not measured")
    other = None
with scratch():
    good = (not other or levels(other)) and good
    good = news() and good
    if shutil.which("jackd"):
        midi()
    else:
        print("figure: no jackd: the wake-ups with MIDI are not measured")
sys.exit(0 if good else 1)
