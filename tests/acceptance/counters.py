# SPDX-License-Identifier: GPL-3.0-or-later
"""Every counter changes, and every event and notification is sent, when its fault is injected; every address gets a
reply; every exit code occurs.

    counters.py PROGRAM

The test runs the program as users do, several runs at once.  It injects one fault after the other into each, and waits
until the counters of that fault have changed: the calls of `sees` list which ones.  The test fails if a key, event,
address or exit code never occurs, and if a fault counter changes without a fault.  It runs in its own user namespace,
with the addresses of other machines on its loopback interface.
"""

import concurrent.futures
import resource

from seen import *

LOAD = os.environ["WARPRACK_OSC_LOAD"]
CORPUS = os.path.join(os.environ["WARPRACK_TEST_DATA"], "packets.txt")
FAULTS = os.environ["WARPRACK_FAULTS_PROGRAM"]
PEER = os.environ["WARPRACK_JACK_PEER"]
ODD_JACK = os.environ["WARPRACK_ODD_JACK"]
RATE = 48000
FRIEND, STRANGER = "192.0.2.1", "198.51.100.1"
ANOTHER_MACHINE = "203.0.113.7"  # allowed by --osc-allow, but not an address of this machine

# Names that do not change here, with the reason, or the test that covers the name.
ELSEWHERE = {
    ("key", "version"): "there is only one version",
    ("key", "latency_changes"): "needs a plugin: live_plugins.py",
    ("key", "group_dry"): "needs a plugin of a group: live_groups.py",
    ("key", "transport_bpm"): "needs a timebase master: integration/test_jack.c",
    ("key", "fades_full"): "needs 4,096 fades at once: worker/test_fades.c",
    ("key", "notes_played"): "needs an instrument: live_notes.py",
    ("key", "notes_late"): "needs an instrument: live_notes.py",
    ("key", "notes_dropped"): "a note must meet the removal of its node: worker/test_notes.c",
    ("key", "notes_waiting"): "the ring must be full: control/test_control_notes.c",
    ("key", "loudness_lost"): "a thread must be late: callback/test_listener.c",
    ("key", "take_lost"): "thousands of messages must be applied between two rounds: worker/test_reports.c",
    ("event", "take.ended"): "the disk must be full: control/test_takes.c has another reason",
    ("news", "/take/ended"): "the same",
    ("key", "values_merged"): "the ring must be full: control/test_control.c",
    ("key", "values_lost"): "thousands of values must wait behind one edit: see control/editor.c",
    ("key", "osc_trusted"): "needs another machine that gets answers: controllers.py",
    ("news", "/server/started"): "sent by a server that follows another one: subscribers.py",
    ("key", "osc_connections_slow"): "takes 10 s: tcp.py",
    ("key", "midi_dropped"): "thousands of messages must wait: worker/test_midi.c",
    ("news", "/midi/learned"): "needs a controller: jack_midi.py",
    ("key", "midi_unheard"): "the control thread must be late: callback/test_period_midi.c",
    ("key", "midi_unsent"): "needs more feedback than a period carries: callback/test_period_midi.c",
    ("event", "osc.note"): "needs another server on 127.0.0.1: bind.py",
    **{("event", f"nsm.{name}"): "needs a session manager: sessions.py" for name in ("lost", "note", "refused")},
}

PLUGINS = os.environ.get("WARPRACK_LADSPA_FIXTURES", "")
if not PLUGINS:
    ELSEWHERE.update({(kind, name): "the build has no LADSPA" for kind, name in (("key", "nodes_quarantined"), ("event", "node.quarantined"))})


# ---- sound, edits, the worker ----


def write_faulty_input(path):
    """Eight seconds of silence, then invalid samples twice a second."""
    samples = np.zeros((60 * RATE, 2), np.float32)
    for at in range(8 * RATE, len(samples), RATE // 2):
        samples[at, 0] = np.nan
        samples[at + 1000, 0] = 1e-40
        samples[at + 2000 : at + 6000 : 400, 0] = 3e38  # the rack amplifies them to infinity
        samples[at + 7000, 0] = 1.0
    write_wav(path, RATE, samples)


def edit(live):
    osc = live.osc
    with live.sees("the rack is edited", "revision undo_steps plans nodes units latency_frames rack_latency_frames",
                   news="/rack/changed /server/latency"):
        osc.do("/rack/chain", "x: gain -3dB | y: limiter -1dB")
    with live.sees("a longer chain that needs more time", "levels load_p99 load_max"):
        osc.do("/rack/chain", "x: gain -3dB | " + " | ".join(["reverb"] * 6))
    with live.sees("an undo", "redo_steps"):
        osc.do("/rack/undo")
    with live.sees("a rack that reaches no output", "rack_warnings", "rack.warning", "/rack/warning"):
        osc.do("/rack/chain", "disconnect in out")
    osc.do("/rack/undo")
    with live.sees("a quiet rack whose outputs are dry while blocks are late", "late_note", "rack.warning"):
        osc.do("/rack/chain", "late out dry\nchain x: gain -20dB")
    osc.do("/rack/undo")
    with live.sees("a parameter is set", "values_set params_applied notified", news="/node/x/gain"):
        osc.do("/node/x/gain", -6.0)
    with live.sees("a parameter is set again and again", "notify_merged"):
        for step in range(20):
            osc.do("/node/x/gain", -6.0 - step)
    with live.sees("the tempo is set", "revision tempo_bpm", news="/rack/tempo"):
        osc.do("/rack/tempo", 90.0)
    with live.sees("the tempo gets a source", "tempo_source", news="/rack/tempo"):
        osc.do("/rack/tempo", "jack", 90.0)
    with live.sees("a take is recorded", "take"):
        osc.do("/take/start", "a.osc")
    osc.do("/take/stop")
    with live.sees("another client subscribes", "subscribers"):
        osc.do("/server/notify", 1)
    with live.sees("another client subscribes to levels", "meters"):
        osc.do("/meter/subscribe", "out", 1)
    osc.do("/meter/unsubscribe")
    osc.do("/server/notify", 0)
    with live.sees("a rack names a missing file", "edits_refused commands_failed"):
        assert osc.ask("/rack/chain", "convolver none.wav")[0] == "/fail"


def ask_everything(live):
    """Send a message to each address, and then others to restore the rack."""
    osc = live.osc
    for address, *arguments in [
        ("/rack/clear",), ("/rack/add", "n", "gain", "gain", -3.0), ("/rack/connect", "in", "n"), ("/rack/connect", "n", "out"),
        ("/rack/disconnect", "in", "n"), ("/rack/do", "connect in n"), ("/rack/set", "n.gain", -6.0), ("/rack/get",),
        ("/rack/save", "saved.rack"), ("/rack/load", "saved.rack"), ("/rack/find",), ("/rack/undo",), ("/rack/redo",), ("/rack/remove", "n"),
        ("/rack/insert", "m", "gain", "before", "out"), ("/rack/rename", "m", "k"), ("/rack/late", "out", "auto"), ("/rack/tempo", 90.0), ("/rack/tempo",), ("/rack/check", "gain"), ("/server/answers", "all"),
        ("/ping",), ("/server/hello", ""), ("/server/nodes",), ("/server/notify", 0), ("/server/ping",), ("/server/status",), ("/server/version",), ("/server/plugins", "gain"),
        ("/server/watch", 1), ("/take/start", "all.osc"), ("/take/stop",),
        ("/meter/in",), ("/meter/out", "floats"), ("/meter/subscribe", "in"), ("/meter/unsubscribe",), ("/server/load",),
        ("/rack/chain", "n: gain -3dB"), ("/node/n/gain", -6.0), ("/node/n/gain",),
        ("/scene/store", "a"), ("/scene/store", "b", "n.*"), ("/scene/recall", "a"), ("/scene/next",), ("/scene/previous",), ("/scene/list",),
        ("/midi/map", "cc 1:7 n.gain"), ("/midi/list",), ("/midi/learn",), ("/midi/forget", "cc", "1:7"),
        ("/scene/stop",), ("/scene/morph", "a", "b", 0.5), ("/scene/compare",), ("/scene/compare",),
        ("/scene/safe", "n.*"), ("/scene/unsafe", "n.*"), ("/scene/remove", "b"),
    ]:  # fmt: skip
        reply, values = osc.ask(address, *arguments)
        if reply == "/fail":
            failures.append(f"{address} {arguments}: {values}")
        note("address", ["/node/<node>/<param>" if address.startswith("/node/") else address], "a client sends a message to it")
    with live.sees("the scan that a client requested has ended", "", "plugins.scanned", "/server/scanned"):
        osc.do("/server/scan")
    note("address", ["/server/scan"], "a client sends a message to it")
    reply, values = osc.ask("/server/plugin", "ladspa", "effects/gain")
    if reply == "/fail" and os.environ.get("WARPRACK_LADSPA_FIXTURES"):
        failures.append(f"/server/plugin: {values}")
    note("address", ["/server/plugin"], "a client sends a message to it")
    reply, values = osc.ask("/node/n/presets")
    if reply != "/fail" or "no plugin" not in str(values):
        failures.append(f"/node/n/presets: {reply} {values}")
    note("address", ["/node/<node>/presets"], "a client sends a message to it")
    for address, *arguments in [("/note/<node>", 60, 1), ("/note/<node>/off",)]:
        reply, values = osc.ask(address.replace("<node>", "n"), *arguments)
        if reply != "/fail" or "takes no notes" not in str(values):
            failures.append(f"{address}: {reply} {values}")
        note("address", [address], "a client sends a message to it")
    reply, values = osc.ask("/node/n/state/save")
    if reply != "/fail" or "has no state" not in str(values):
        failures.append(f"/node/n/state/save: {reply} {values}")
    note("address", ["/node/<node>/state/save"], "a client sends a message to it")
    for arguments in [(0.5,), ()]:
        reply, values = osc.ask("/norm/n/gain", *arguments)
        if reply == "/fail":
            failures.append(f"/norm/n/gain {arguments}: {values}")
    note("address", ["/norm/<node>/<param>"], "a client sends a message to it")
    reply, (text, *_) = osc.ask("/server/describe", "/node/n/{gain,mute}", "/rack/ge*")
    lines = [line.split("\t") for line in text.splitlines()]
    if [line[:11] for line in lines] != [
        ["/rack/get", "command", "[i]", "part", "Read the rack's text, in parts of 8 kB"],
        ["/node/n/gain", "number", "f", "dB", "-120", "40", "0", "dB", "value", "-20", "Gain; -120 dB is silence"],
        ["/node/n/mute", "switch", "i", "", "0", "1", "0", "", "value", "0", "The output is silent; the effect runs on"],
    ]:
        failures.append(f"/server/describe: {text}")
    note("address", ["/server/describe"], "a client sends a message to it")
    osc.sync()
    note("address", ["/server/sync"], "a client sends a message to it")


def spoil(live, key, put):
    """Write to the memory that worker and callback share, until a counter has changed: the write has to come after the
    worker's and before the callback reads."""
    before, deadline = live.status()[key], time.monotonic() + PATIENCE_S
    while live.status()[key] == before and time.monotonic() < deadline:
        live.worker()
        with contextlib.suppress(OSError, StopIteration, ValueError):  # the worker is being replaced
            ring = Ring(live.process.pid)
            for _ in range(100):
                put(ring)


def disturb_worker(live):
    osc = live.osc
    with live.sees("the worker is stopped for 0.2 s", "late dropped dry", "blocks.late"):
        pid = live.worker()
        os.kill(pid, signal.SIGSTOP)
        osc.send(osc_message("/rack/chain", "x: gain -3dB"))
        time.sleep(0.1)
        note("key", ["edits_waiting"] if live.status()["edits_waiting"] else [], "the worker is stopped, and an edit is in flight")
        time.sleep(0.1)
        with contextlib.suppress(ProcessLookupError):  # after 0.5 s the server replaces it
            os.kill(pid, signal.SIGCONT)
    with live.sees("a node is removed before the time of its parameter message", "params_dropped"):
        before, deadline = live.status()["params_dropped"], time.monotonic() + PATIENCE_S
        while live.status()["params_dropped"] == before and time.monotonic() < deadline:  # each edit must come in time
            for name in ("x", "y"):
                osc.do("/rack/chain", f"{name}: gain -3dB")
                osc.send(osc_bundle([osc_message(f"/node/{name}/gain", -9.0)], time.time() + 0.09))
    with live.sees("the worker is killed", "worker_pid worker_restarts worker_note", "worker.lost worker.back", "/server/worker"):
        os.kill(live.worker(), signal.SIGKILL)
    with live.sees("no worker can be started", "worker_note", "worker.note"):
        pid = live.process.pid
        files = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, files[1]))
        os.kill(live.worker(), signal.SIGKILL)
        live.wait_for(lambda now: "next attempt in" in now["worker_note"])
        resource.prlimit(pid, resource.RLIMIT_NOFILE, files)
    with live.sees("no scan can be started", "", "plugins.failed"):
        files = resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, (4, files[1]))
        osc.do("/server/scan")
        until(lambda: "plugins.failed" in live.output(), live.output, process=live.process)
        resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, files)
    with live.sees("the worker finishes blocks with wrong numbers", "wrong"):
        spoil(live, "wrong", lambda ring: ring.put_result(12345678))
    with live.sees("the worker writes denormals", "denormal_out"):
        spoil(live, "denormal_out", lambda ring: ring.put_sound(1e-40))
    with live.sees("the worker writes an impossible number of finished blocks", "faults", "engine.fault"):
        spoil(live, "faults", lambda ring: ring.put(ring.finished, 1 << 60))
    if PLUGINS:
        with live.sees("the plugin of a node crashes two workers", "nodes_quarantined quarantine_note", "node.quarantined", "/server/quarantine"):
            osc.do("/rack/chain", "broken: ladspa faults/segv_run after=30")
    with live.sees("two workers crash on a new rack", "quarantined quarantine_note", "rack.quarantined", "/rack/changed /server/quarantine"):
        live.worker()
        osc.do("/rack/chain", "bad: gain -1dB")
        for _ in range(2):
            pid = live.worker()
            os.kill(pid, signal.SIGSEGV)
            live.wait_for(lambda now: now["worker_pid"] != pid)


def first_run(has_namespace):
    """A run on a timer, in two processes, under a service manager."""
    write_faulty_input("faulty.wav")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("manager")
        env = {"NOTIFY_SOCKET": os.path.abspath("manager"), "WATCHDOG_USEC": "500000"}
        env["XDG_CACHE_HOME"] = os.path.abspath("cache")
        if PLUGINS:
            env["LADSPA_PATH"] = PLUGINS
            subprocess.run([PROGRAM, "scan"], env={**os.environ, **env}, capture_output=True, check=True)
        rack = "(a: gain 0dB + b: gain 0dB + c: gain 24dB)"
        with Live("--io", "dummy", "--play", "faulty.wav", rack, env=env) as live:
            first = live.status()
            live.said("the program starts", "running realtime.missing" if has_namespace else "running")
            with live.sees("the program runs", "uptime_s blocks worker_blocks watchdog_fed", "status"):
                pass
            with live.sees("a client queries the status", "osc_packets osc_messages osc_sent"):
                pass
            live.expect_quiet()
            with live.sees(
                "the input has NaN, denormals and huge samples",
                "bad_in bad_out denormal_in clipped units_reset nodes_bypassed guarded_ports log_lines",
                "input.bad node.bypassed node.reset",
            ):
                pass
            edit(live)
            ask_everything(live)
            disturb_worker(live)
            live.stop()
            live.said("the program ends", "stopped")
            return first


# ---- packets ----


def send_badly(live):
    osc, port = live.osc, str(live.port)
    with live.sees("bad packets arrive", " ".join("refused_" + word for word in NAMES["reasons"])):
        subprocess.run([LOAD, "corpus", port, CORPUS], check=True)
    with live.sees("an unknown address", "osc_unknown"):
        osc.ask("/rack/ad")
    with live.sees("a reply of another server arrives", "osc_answers"):
        osc.send(osc_message("/done", "/server/ping"))
    with live.sees("a client connects over TCP", "osc_connections"):
        client = socket.create_connection(("127.0.0.1", live.port))
    with live.sees("it sends neither framing", "osc_connections_refused"):
        client.send(b"GET / HTTP/1.1\r\n")
    client.close()
    with live.sees("a bundle arrives after its time", "osc_late"):
        osc.send(osc_bundle([osc_message("/server/ping")], time.time() - 5.0))
    with live.sees("too many bundles wait for their time", "osc_scheduled osc_unscheduled"):
        at = time.time() + 2.0
        for _ in range(1100):
            osc.send(osc_bundle([osc_message("/node/x/gain", -9.0)], at))
    flood = subprocess.Popen([LOAD, "flood", port, "60", "noise"], stdout=subprocess.DEVNULL)
    with live.sees("a client floods the port", "osc_dropped", "osc.flood"):
        pass
    with live.sees("the server is stopped during the flood", "osc_lost"):
        live.hold(live.process.pid, 0.3)
    flood.terminate()
    flood.wait()


def disturb_server(live):
    with live.sees("the server is stopped for 0.3 s", "xruns"):
        live.hold(live.process.pid, 0.3)
    with live.sees("SIGHUP, ten times", "log_left_out", "rack.reloaded"):
        for _ in range(10):
            live.process.send_signal(signal.SIGHUP)
            time.sleep(0.12)
    with open("kept.rack", "a", encoding="utf-8") as file:
        file.write("what is that\n")
    with live.sees("SIGHUP, and the rack file is invalid", "", "rack.refused"):
        live.process.send_signal(signal.SIGHUP)


def meet_strangers(live):
    status, server = osc_message("/server/status"), (FRIEND, live.port)
    with live.sees("the reply to another machine would be larger than its message", "osc_withheld"):
        send_from(ANOTHER_MACHINE, server, status)
    with live.sees("another machine begins to prove its address", "osc_cookies"):
        send_from(ANOTHER_MACHINE, server, osc_message("/server/hello", "0123456789abcdef"))
    with live.sees("a sender is not allowed", "osc_forbidden"):
        send_from(STRANGER, server, status)
    text = live.osc.ask("/server/watch", 1)[1][0]
    if not any(line.split("\t")[1].startswith(STRANGER) and line.split("\t")[2] == "forbidden" for line in text.splitlines()):
        failures.append(f"/server/watch: {text}")
    with socket.create_connection(server, source_address=(STRANGER, 0)) as stranger:
        if stranger.recv(1):
            failures.append("a stranger has a TCP connection")
    with live.sees("the system cannot send a reply", "osc_send_failed"):
        forge(("127.0.0.1", 0), server, status)


def second_run(has_namespace):
    """A run in one process with another format, without a service manager and JACK: faults of packets and of files."""
    with open("kept.rack", "w", encoding="utf-8") as file:
        file.write("chain x: gain -3dB\n")
    arguments = ["--io", "auto", "--in-process", "--no-realtime", "--rate", "44100", "--block", "512", "--depth", "2"]
    arguments += ["--channels", "4:4", "--ceiling", "0"]
    if has_namespace:
        arguments += ["--osc-bind", "0.0.0.0", "--osc-allow", "192.0.2.0/24,203.0.113.0/24"]
    arguments += ["--state", "state"]
    env = {"NOTIFY_SOCKET": os.path.abspath("nowhere"), "JACK_DEFAULT_SERVER": "nowhere", "JACK_NO_START_SERVER": "1"}
    with Live(*arguments, "kept.rack", env=env) as live:
        live.said("neither a service manager nor JACK runs", "service.lost audio.note")
        second = live.status()
        live.expect_quiet()
        with live.sees("a rack has played for 5 s", "state_saved"):
            live.osc.do("/rack/chain", "x: gain -1dB")
            if has_namespace:
                meet_strangers(live)
            send_badly(live)
        shutil.rmtree("state")
        with live.sees("a rack has played for 5 s, but the state folder is gone", "state_failed", "state.unsaved"):
            live.osc.do("/rack/chain", "x: gain -2dB")
            disturb_server(live)
        live.osc.ask("/server/quit")
        assert live.wait(5.0) == 0
        note("address", ["/server/quit"], "a client sends a message to it")
        return second


# ---- starts ----


class Loop:
    """Two runs that are killed as soon as they play, and one that continues."""

    ARGUMENTS = ("--io", "dummy", "--state", "loop", "x: gain -3dB")

    def __init__(self):
        with Live(*self.ARGUMENTS) as live:
            live.osc.do("/node/x/gain", -4.0)
            live.stop()
        with Live(*self.ARGUMENTS) as live:
            self.first = live.status()
            live.said("the previous run ended normally", "state.restored")
            live.process.kill()
            live.wait()
        with open("loop/present.rack", "a", encoding="utf-8") as file:
            file.write("what is that\n")
        with Live(*self.ARGUMENTS) as live:
            live.said("the saved rack is invalid", "state.refused")
            live.process.kill()
            live.wait()
        self.live = Live(*self.ARGUMENTS)
        self.live.said("two starts failed early", "state.loop")
        differs("two starts failed early", self.first, self.live.status(), "starts muted")

    def end(self):
        """Wait until the output is no longer muted, 20 s after the start, and stop the run."""
        time.sleep(max(0.0, 20.0 - self.live.status()["uptime_s"]))
        self.live.said("the run has played for 20 s", "state.note")
        self.live.stop()


def unread_run():
    """A run whose stdout has no reader."""
    reader, writer = os.pipe()
    os.close(reader)
    port = str(free_port())
    words = [PROGRAM, "run", "--io", "dummy", "--osc-port", port, "gain"]
    with open("unread.txt", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(words, stdout=writer, stderr=log)
        os.close(writer)
        deadline, text, dropped = time.monotonic() + PATIENCE_S, "", 0
        while not ("log.dropped" in text and dropped) and time.monotonic() < deadline:
            ask = [PROGRAM, "send", "--osc-port", port, "--json", "/server/status"]
            answer = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
            dropped = json.loads(answer)["log_dropped"] if "log_dropped" in answer else 0
            with open("unread.txt", encoding="utf-8") as written:
                text = written.read()
        process.terminate()
        process.wait()
    note("key", ["log_dropped"] if dropped else [], "stdout has no reader")
    note("event", ["log.dropped"] if "log.dropped" in text else [], "stdout has no reader")


# ---- JACK ----


def jack_run():
    """A run on a real JACK server, which is stopped, killed and started again, with a libjack that fails on demand
    (odd_jack.c)."""
    with Jackd(RATE, 256) as jack:
        env = {**jack.env, "LD_PRELOAD": ODD_JACK, "ODD_JACK": os.path.abspath(".")}
        with Live("--io", "jack", "--no-connect", "--midi", "--name", "rack", "gain 12dB", env=env) as live:
            status = live.status()
            live.expect_quiet()
            for name, key in (("short", "odd_periods"), ("twice", "overlaps")):
                with live.sees(f"fault of JACK's periods: {name}", key):
                    open(name, "w", encoding="utf-8").close()
                    time.sleep(0.5)
                os.remove(name)
            with live.sees("an output is patched to its input", "feedback attenuated_ports", "output.feedback"):
                peer = subprocess.Popen([PEER, "midi"], env={**os.environ, **jack.env})
                jack.wait_for("peer:out")
                for source in ("peer:out", "rack:out_1"):
                    jack.connect(source, "rack:in_1")
            with live.sees("MIDI comes, more than fits", "midi_events midi_lost midi_skipped"):
                jack.connect("peer:midi", "rack:midi_in")
            peer.terminate()
            peer.wait()
            with live.sees("freewheeling", "freewheeling"):
                jack.run("jack_freewheel", "y")
            jack.run("jack_freewheel", "n")
            with live.sees("jackd is stopped", "audio_hang_s", news="/server/latency"):
                os.kill(jack.process.pid, signal.SIGSTOP)
                live.osc.send(osc_message("/rack/chain", "limiter -1dB"))
                time.sleep(1.0)
            os.kill(jack.process.pid, signal.SIGCONT)
            with live.sees("jackd is killed", "state", "audio.lost", "/server/audio"):
                jack.kill()
            with live.sees("jackd starts again", "reconnects state", "audio.back", "/server/audio"):
                jack.start()
            live.stop()
        return status


# ---- a GPU that fails ----

OF_FAILURE = ("device_errors failed backend backend_note gpu gpu_nodes", "backend.chosen", "/server/backend")
OF_GPUS = {"key": OF_FAILURE[0] + " cost_cpu_us cost_gpu_us", "event": "backend.chosen engine.note", "news": "/server/backend"}


def forget_costs():
    """Remove the costs that earlier runs stored in $XDG_CACHE_HOME.  Compiled kernels stay, because compiling them
    takes a minute."""
    folder = os.path.join(os.environ["XDG_CACHE_HOME"], "warprack")
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), "rb") as file:
            if b"\0costs " in file.read(1024):
                os.remove(file.name)


def gpu_run():
    """Two runs with OpenCL on the CPU: the first one measures costs, in the second one the device fails."""
    if why := no_device("opencl"):
        for kind, names in OF_GPUS.items():
            ELSEWHERE.update({(kind, name): why for name in names.split()})
        return
    env = {"WARPRACK_AUTO_GPU": "any"}
    forget_costs()
    with Live("--io", "dummy", "reverb", env=env, patience=300.0) as live:
        live.said("a GPU is found, and costs are measured", "engine.note backend.chosen")
        note("key", {key for key in ("cost_cpu_us", "cost_gpu_us") if live.status()[key] > 0.0}, "a GPU is found, and costs are measured")
        live.stop()
    env["WARPRACK_FAULTS"] = "gpu.error@600=700"
    with Live("--io", "dummy", "--backend", "opencl", "reverb", program=FAULTS, env=env, patience=300.0) as live:
        with live.sees("the GPU fails", *OF_FAILURE):
            pass
        live.stop()


# ---- codes ----


def exit_with_each_code():
    for code, *words in [
        (0, "list", "effects"),
        (2, "check", "nonsense"),
        (3, "run", "--io", "jack", "--server", "nowhere"),
        (4, "check", "--backend", "cuda", "--gpu", "63", "gain"),
        (5, "render", "gain", "none.wav", "out.wav"),
        (6, "run", "--io", "dummy", "--osc-port", "0", "gain"),
    ]:
        few = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))) if code == 6 else None
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False, preexec_fn=few)
        note("exit code", [done.returncode], " ".join(words))
        tell(" ".join(words), [str(done.returncode)], [] if done.returncode == code else [str(code)], done.stderr)


# ---- all of them ----


def names_of(statuses):
    keys = {("key", key) for status in statuses for key in status}
    keys |= {("event", name) for name in NAMES["events"]} | {("news", name) for name in NAMES["news"]}
    return keys | {("address", name) for name in NAMES["addresses"]} | {("exit code", code) for code in NAMES["exit_codes"]}


def main():
    has_namespace = enter_namespace()
    if has_namespace:
        for device, address in (("lo", "127.0.0.1"), ("lo:1", FRIEND), ("lo:2", STRANGER)):
            add_address(device, address)
    else:
        why = "needs a user namespace, which this system does not allow"
        ELSEWHERE.update({("key", key): why for key in "osc_withheld osc_forbidden osc_send_failed realtime_note".split()})
        ELSEWHERE["event", "realtime.missing"] = why
    need("jackd", "jack_lsp", "jack_freewheel")
    with scratch():
        with concurrent.futures.ThreadPoolExecutor() as beside:  # the runs mostly wait
            gpu = beside.submit(gpu_run)
            loop = Loop()
            runs = [beside.submit(first_run, has_namespace), beside.submit(second_run, has_namespace), beside.submit(jack_run)]
            gpu.result()
            statuses = [run.result() for run in runs]
        differs(
            "with other options", statuses[0], statuses[1],
            "inputs outputs rate_hz block_frames depth worker callback_ns_max load_p50" + has_namespace * " realtime_note",
        )  # fmt: skip
        differs("on JACK", statuses[0], statuses[2], "driver device")
        unread_run()
        exit_with_each_code()
        loop.end()
    left = names_of(statuses) - set(moved) - set(ELSEWHERE)
    needless = set(ELSEWHERE) & set(moved)
    for kind, name in sorted(left, key=str):
        failures.append(f"{kind} {name}: no step of this test covers it; add one")
    for kind, name in sorted(needless):
        failures.append(f"{kind} {name}: ELSEWHERE lists it, but it changes here")
    print(f"{len(moved)} names have changed; these {len(ELSEWHERE)} do not change here:")
    for (kind, name), why in ELSEWHERE.items():
        print(f"  {kind} {name}: {why}")
    for line in failures:
        print(f"FAILED {line}")
    sys.exit(1 if failures else 0)


main()
