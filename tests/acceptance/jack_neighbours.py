# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever other clients of the JACK server do, even if they die, each client continues to get periods."""

import ctypes
import threading

from common import *

need("jackd", "jack_lsp", "jack_connect", "jack_bufsize")

ODD_JACK = os.environ.get("WARPRACK_ODD_JACK", os.path.join(os.path.dirname(PROGRAM), "tests", "libodd_jack.so"))
RACK = ("--io", "jack", "--channels", "1:1", "--no-connect")
LEFT_OUT = "it plays without this client"


def switch(name, on):
    """Switch a fault of odd_jack.c on or off."""
    if on:
        open(name, "w").close()
    else:
        os.unlink(name)


def blocks_of_both(rack, other, seconds=0.5):
    before = rack.status()["blocks"], other.status()["blocks"]
    time.sleep(seconds)
    return rack.status()["blocks"] - before[0], other.status()["blocks"] - before[1]


def passing_client(jack):
    """Open a client in the server's first free slot.  Returns a function that closes it, so that the next client gets
    that slot."""
    os.environ.update(jack.env)
    libjack = ctypes.CDLL("libjack.so.0")
    libjack.jack_client_open.restype = ctypes.c_void_p
    client = libjack.jack_client_open(b"passing", 1, None)
    assert client
    return lambda: libjack.jack_client_close(ctypes.c_void_p(client))


def missed_end(jack, env):
    """A client ends while the rack opens its own client.  The rack must still wake the next client, which gets the same
    slot."""
    close = passing_client(jack)
    switch("slow", True)

    def end_it():
        until(lambda: os.path.exists("opening"))
        close()
        switch("slow", False)

    ending = threading.Thread(target=end_it)
    ending.start()
    with Server(*RACK, "--name", "rack", "", env=env) as rack:
        ending.join()
        with Server(*RACK, "--name", "next", "", env=jack.env) as other:
            jack.wait_for("next:in_1")
            done = jack.run("jack_connect", "rack:out_1", "next:in_1")
            assert done.returncode == 0, done
            n_rack, n_other = blocks_of_both(rack, other)
            print(f"a client ended while the rack opened: the rack played {n_rack} blocks, the client after it {n_other}")
            assert n_other > n_rack / 2 > 0, (n_rack, n_other)
            assert LEFT_OUT not in other.stop()
        rack.stop()


def left_out(jack, env):
    """The server continues, but the rack gets no periods: it opens a new client with the same connections, at growing
    intervals."""
    with Server(*RACK, "--name", "rack", "", env=env) as rack:
        with Server(*RACK, "--name", "next", "", env=jack.env) as other:
            jack.wait_for("next:in_1")
            assert jack.run("jack_connect", "rack:out_1", "next:in_1").returncode == 0
            time.sleep(1.5)  # until the connection is stored (io/jack_connections.h)
            times = [time.monotonic()]
            switch("none", True)
            for number in range(1, 3):
                until(lambda: rack.status()["reconnects"] >= number, rack.output, pause_s=0.01)
                times.append(time.monotonic())
            switch("none", False)
            rack.advance(200)
            until(lambda: "   rack:out_1" in jack.ports("-c", "next:in_1"), rack.output)
            n_times = rack.status()["reconnects"]
            n_rack, n_other = blocks_of_both(rack, other)
            assert n_other > n_rack / 2 > 0, (n_rack, n_other)
            assert rack.status()["reconnects"] == n_times
            other.stop()
        assert LEFT_OUT in rack.stop()
    waits = [later - times[0] for later in times[1:]]
    print(f"without periods: a new client after {waits[0]:.2f} and {waits[1]:.2f} s, then it plays")
    # The second interval is at least 20 polls of 50 ms, the first one 5; a busy machine makes both longer.
    assert waits[1] > 0.95, waits


def left_out_and_parted(jack, env):
    """As left_out(), but a connected client dies meanwhile.  The rack opens a new client, although it cannot restore
    that connection."""
    with Server(*RACK, "--name", "rack", "", env=env) as rack:
        with Server(*RACK, "--name", "next", "", env=jack.env) as other:
            jack.wait_for("next:in_1")
            assert jack.run("jack_connect", "rack:out_1", "next:in_1").returncode == 0
            until(lambda: "   rack:out_1" in jack.ports("-c", "next:in_1"), rack.output)
            time.sleep(1.5)  # until the connection is stored
            switch("none", True)
            other.process.kill()
            rack.wait_for(lambda now: now["reconnects"] > 0)
            switch("none", False)
        print("without periods, and a connected client dies: the rack opens a new client, too")
        rack.stop()


def inactive_client(jack, env):
    """JACK refuses to connect the ports of a client that is not active.  The rack tries again at growing intervals, and
    connects them when the client is active."""
    os.environ.update(jack.env)
    libjack = ctypes.CDLL("libjack.so.0")
    libjack.jack_client_open.restype = ctypes.c_void_p
    client = ctypes.c_void_p(libjack.jack_client_open(b"lazy", 1, None))
    flags = ctypes.c_ulong(1)  # JackPortIsInput
    libjack.jack_port_register.restype = ctypes.c_void_p
    assert libjack.jack_port_register(client, b"in_1", b"32 bit float mono audio", flags, ctypes.c_ulong(0))
    began = len(jack.output())
    with Server("--io", "jack", "--channels", "1:1", "--name", "rack", "--connect", "lazy", "", env=env) as rack:
        time.sleep(4.0)
        n = jack.output()[began:].count("not active")
        print(f"a client that is not active: {n} attempts in 4 s to connect it")
        assert 0 < n < 15, jack.output()  # constant intervals of 0.1 s would make 40 attempts
        assert libjack.jack_activate(client) == 0
        until(lambda: "   rack:out_1" in jack.ports("-c", "lazy:in_1"), rack.output)
        rack.stop()
    libjack.jack_client_close(client)


def hanging_call(jack, env):
    """The call that names the ports hangs, as it does when another client has died in the same call.  The rack must
    still follow a change of the period."""
    switch("hang", True)
    with Server(*RACK, "--name", "rack", "", env=env) as rack:
        until(lambda: os.path.exists("hanging"), rack.output)
        done = jack.run("jack_bufsize", "256")
        assert done.returncode == 0, done
        rack.wait_for(lambda now: now["block_frames"] == 256)
        rack.advance(100)
        assert rack.status()["audio_hang_s"] > 0.0, rack.output()
        print("a call hangs: the rack changes to 256 frames, and plays on")
        switch("hang", False)
        rack.stop()


def real_time_priorities(pid):
    """The real-time priorities of the threads of a process, without those that have none."""
    priorities = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
            priorities.append(int(file.read().rsplit(")", 1)[1].split()[37]))
    return [priority for priority in priorities if priority > 0]


def yielding():
    """By default, the threads of the effects do not preempt the clients of jackd, and not the callback that wakes
    them."""
    with Jackd(48000, 256, number="-realtime", is_realtime=True) as jack, Server(*RACK, "gain", env=jack.env) as rack:
        missing = rack.status()["realtime_note"]
        if missing:
            print(f"skipped: {missing}")
        else:
            rack.advance(10)
            callback, effects = real_time_priorities(rack.process.pid), real_time_priorities(rack.worker())
            print(f"jackd -R: the callback runs at {callback}, the effects at {effects}")
            assert callback and effects and max(effects) <= min(callback), (callback, effects)
        rack.stop()


with scratch() as folder, Jackd(48000, 64) as jack:
    odd = {**jack.env, "LD_PRELOAD": ODD_JACK, "ODD_JACK": folder}
    missed_end(jack, odd)
    left_out(jack, odd)
    left_out_and_parted(jack, odd)
    inactive_client(jack, jack.env)
    hanging_call(jack, odd)
yielding()
