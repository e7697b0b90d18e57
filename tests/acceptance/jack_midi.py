# SPDX-License-Identifier: GPL-3.0-or-later
"""MIDI by JACK, whose ports a run makes for a rack with MIDI lines: a controller moves a parameter, which is heard and
is in the document, also after the worker was killed; a program recalls a scene; a controller is learnt; notes of
jack_midiseq reach the rack, and jack_midi_dump gets what the controller shall show; after a restart of jackd the
controller is connected again.

    jack_midi.py PROGRAM
"""

import signal

from common import *

need("jackd", "jack_lsp", "jack_connect", "jack_midiseq", "jack_midi_dump", "stdbuf")

PEER = os.environ["WARPRACK_JACK_PEER"]
RACK = "add vol gain -20dB\nconnect in vol\nconnect vol out\nmidi cc 1:1 vol.gain -40dB..-6dB\n"


def peak(server):
    """The peak of the output since the last call, in dB."""
    return max(server.osc.ask("/meter/out", "floats")[1][0::2])


def hears(server, level_db):
    """Wait until the output has this level for a while."""
    until(lambda: all(abs(peak(server) - level_db) < 0.1 for _ in range(3)), lambda: f"{peak(server)} dB, not {level_db}", server.output)


def has_gain(server, gain):
    until(lambda: abs(server.osc.ask("/node/vol/gain")[1][0] - gain) < 1e-6, server.output)


with scratch(), Jackd(48000, 256) as jack:
    with open("midi.rack", "w", encoding="utf-8") as file:
        file.write(RACK)
    arguments = ("--io", "jack", "--channels", "1:1", "--name", "rack", "--no-connect", "midi.rack")
    with Server(*arguments, env=jack.env) as server:
        peer = subprocess.Popen([PEER, "midi"], env={**os.environ, **jack.env})
        jack.wait_for("peer:midi")
        jack.connect("peer:out", "rack:in_1")  # a constant of 0.25
        hears(server, db(0.25) - 20.0)
        jack.connect("peer:midi", "rack:midi_in")  # its last event of a period is position 127
        hears(server, db(0.25) - 6.0)
        assert abs(server.osc.ask("/node/vol/gain")[1][0] + 6.0) < 1e-6, server.osc.ask("/node/vol/gain")
        assert "gain=-6dB" in server.osc.ask("/rack/get")[1][0]

        # The program of each period recalls a scene, once it is mapped.
        server.osc.do("/rack/do", "insert end gain after vol", "scene quiet end.gain=-20dB", "midi program 3:6 scene quiet")
        hears(server, db(0.25) - 26.0)
        server.osc.do("/midi/forget", "program", "3:6")
        server.osc.do("/node/end/gain", 0.0)
        hears(server, db(0.25) - 6.0)
        jack.run("jack_disconnect", "peer:midi", "rack:midi_in")

        # The same controller is learnt.
        server.osc.do("/midi/forget", "cc", "1:1")
        server.osc.do("/midi/learn", "vol.gain", "-40dB..-6dB")
        jack.connect("peer:midi", "rack:midi_in")
        hears(server, db(0.25) - 6.0)
        assert server.osc.ask("/midi/list")[1][0] == "cc 1:1 vol.gain -40dB..-6dB\n", server.osc.ask("/midi/list")
        jack.run("jack_disconnect", "peer:midi", "rack:midi_in")

        before = server.status()
        os.kill(int(before["worker_pid"]), signal.SIGKILL)
        until(lambda: server.status()["worker_restarts"] > before["worker_restarts"] and server.status()["worker"] == "running", server.output)
        hears(server, db(0.25) - 6.0)
        assert abs(server.osc.ask("/node/vol/gain")[1][0] + 6.0) < 1e-6, "the value is lost with the worker"

        seen = server.status()["midi_events"]
        player = subprocess.Popen(["jack_midiseq", "seq", "4800", "0", "60", "2400"], env={**os.environ, **jack.env}, stdout=subprocess.DEVNULL)
        jack.wait_for("seq:out")
        jack.connect("seq:out", "rack:midi_in")
        until(lambda: server.status()["midi_events"] >= seen + 4, server.output)

        dump = subprocess.Popen(["stdbuf", "-oL", "jack_midi_dump", "dump"], env={**os.environ, **jack.env}, stdout=open("dump", "wb"))
        jack.wait_for("dump:input")
        jack.connect("rack:midi_out", "dump:input")
        server.osc.do("/node/vol/gain", -40.0)
        until(lambda: "b0 01 00" in open("dump", encoding="utf-8").read(), server.output)
        seen = server.status()["reconnects"]
        for process in (player, dump, peer):
            process.terminate()
            process.wait()
        server.osc.do("/node/vol/gain", -20.0)
        peer = subprocess.Popen([PEER, "midi"], env={**os.environ, **jack.env})
        jack.wait_for("peer:midi")
        jack.connect("peer:midi", "rack:midi_in")
        has_gain(server, -6.0)
        jack.kill()
        peer.wait()
        jack.start()
        until(lambda: server.status()["reconnects"] > seen, server.output)
        server.osc.do("/node/vol/gain", -20.0)
        peer = subprocess.Popen([PEER, "midi"], env={**os.environ, **jack.env})
        has_gain(server, -6.0)  # its connection is there again
        peer.terminate()
        peer.wait()
        server.stop()
