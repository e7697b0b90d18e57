# SPDX-License-Identifier: GPL-3.0-or-later
"""warprack on PipeWire: the daemon ends and returns, sinks appear and disappear, formats change, and connections are
made automatically.

The test starts its own daemon, WirePlumber and bus, in its own folder, without real devices.  The sinks are null sinks
of PipeWire; a sink exists as long as the client that made it.
"""

from common import *

need("pipewire", "wireplumber", "dbus-daemon", "pw-jack", "pw-cli", "pw-metadata", "jack_lsp", "jack_connect", "jack_disconnect")

# Configuration without real devices, in the syntax of WirePlumber 0.4 and of its successors.
NO_DEVICES = {
    "wireplumber/main.lua.d/60-none.lua": "\n".join(
        f"if {name} then {name}.enabled = false end" for name in ("alsa_monitor", "v4l2_monitor", "libcamera_monitor")
    ),
    "wireplumber/bluetooth.lua.d/60-none.lua": "if bluez_monitor then bluez_monitor.enabled = false end",
    "wireplumber/wireplumber.conf.d/60-none.conf": "wireplumber.profiles = { main = { "
    + " ".join(f"monitor.{name} = disabled" for name in ("alsa", "alsa-midi", "v4l2", "libcamera", "bluez", "bluez-midi"))
    + " } }",
    "pipewire/pipewire.conf.d/60-test.conf": "context.properties = { default.clock.min-quantum = 64 }",
}


class PipeWire:
    """A daemon with its session manager, and tools to query it."""

    def __init__(self, folder):
        self.processes = []
        self.env = {
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={folder}/none",
            "HOME": folder,
            "JACK_DEFAULT_SERVER": f"warprack-{os.getpid()}",  # no jackd has this name
            "JACK_NO_START_SERVER": "1",
            "LC_ALL": "C",
            "XDG_CONFIG_HOME": f"{folder}/config",
            "XDG_RUNTIME_DIR": folder,
            "XDG_STATE_HOME": f"{folder}/state",
        }
        for name, text in NO_DEVICES.items():
            path = os.path.join(folder, "config", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.log = open(f"{folder}/log", "w+", encoding="utf-8", errors="replace")
        bus = self.launch("dbus-daemon", "--session", "--nofork", "--print-address=1", stdout=subprocess.PIPE)
        self.env["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()
        libraries = self.run("pw-jack", "printenv", "LD_LIBRARY_PATH").stdout.strip()
        self.jack_env = {**self.env, "LD_LIBRARY_PATH": libraries}  # as pw-jack does
        self.start()

    def launch(self, *command, stdout=None):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout or self.log, stderr=self.log, env={**os.environ, **self.env}
        )
        self.processes.append(process)
        return process

    def end(self, process, signal_number=signal.SIGTERM):
        process.send_signal(signal_number)
        process.wait(LIMIT_S)
        self.processes.remove(process)

    def run(self, *command, env=None):
        return subprocess.run(
            command, env={**os.environ, **(env or self.env)}, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def jack(self, *command):
        """Run a JACK tool; returns its lines."""
        done = self.run(*command, env=self.jack_env)
        assert done.returncode == 0, (command, done.stderr, self.words())
        return done.stdout.splitlines()

    def start(self):
        """Start the daemon, wait until it accepts clients, and start WirePlumber.  If the daemon does not run here,
        skip the test."""
        self.daemon = self.launch("pipewire")
        deadline = time.monotonic() + LIMIT_S
        while self.run("jack_lsp", env=self.jack_env).returncode:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                print("skipped: PipeWire does not run here\n" + self.words())
                sys.exit(77)
            time.sleep(0.05)
        self.manager = self.launch("wireplumber")

    def stop(self, signal_number):
        self.end(self.daemon, signal_number)
        if self.manager in self.processes:
            self.end(self.manager, signal.SIGKILL)

    def words(self):
        return read_log(self.log)

    def sink(self, name):
        """Make a sink with two channels, and wait until it has its ports."""
        properties = f"factory.name=support.null-audio-sink node.name={name} media.class=Audio/Sink audio.position=[FL FR]"
        if self.manager.poll() is not None:
            print("skipped: WirePlumber does not run here\n" + self.words())
            sys.exit(77)
        sink = self.launch("pw-cli", "-m", "create-node", "adapter", "{ " + properties + " }")
        until(lambda: f"{name}:playback_FR" in self.jack("jack_lsp"), self.words)
        return sink

    def wires(self, client):
        """The connections of a client's ports: {(its port, other port)}."""
        found, port = set(), None
        for line in self.jack("jack_lsp", "-c", client + ":"):
            if not line.startswith(" "):
                port = line
            elif port.startswith(client + ":"):
                found.add((port, line.strip()))
        return found

    def expect(self, client, wires, server):
        """Wait until a client has exactly these connections, and check that it has them half a second later."""
        until(lambda: self.wires(client) == wires, lambda: self.wires(client) ^ wires, server.output)
        time.sleep(0.5)
        assert self.wires(client) == wires, (self.wires(client) ^ wires, server.output())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.log.close()


def names_pw_jack(pipewire):
    """With jackd's libjack the program finds no server.  Its message names pw-jack, and --io auto does not play on a
    timer."""
    env = {**os.environ, **pipewire.env}
    for driver in ("jack", "auto"):
        command = [PROGRAM, "run", "--osc-port", "0", "--io", driver, "--duration", "1", ""]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        print(f"--io {driver} beside PipeWire: exit code {done.returncode}: {done.stderr.strip()}")
        # --io auto may play on PortAudio if the machine has a device.
        on_device = driver == "auto" and "playing on portaudio" in done.stderr
        assert done.returncode == 3 or on_device, done
        assert "start this program with pw-jack" in done.stderr, done


def wait_for_latency(pipewire, rack):
    """Wait until PipeWire has the latency that the rack reports."""

    def is_reported():
        frames = int(rack.status()["latency_frames"])
        return f"\tport capture latency = [ {frames} {frames} ] frames" in pipewire.jack("jack_lsp", "-l", "rack:out_2")

    until(is_reported, lambda: pipewire.jack("jack_lsp", "-l"), rack.output)


def attempts(pipewire):
    """While no daemon answers, the program tries rarely to connect, because each attempt takes milliseconds: libjack
    loads all of PipeWire."""
    with scratch() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/pipewire-0")
        listener.listen(64)
        env = {**os.environ, **pipewire.jack_env, "XDG_RUNTIME_DIR": folder}
        command = [PROGRAM, "run", "--osc-port", "0", "--io", "jack", "--wait", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        try:
            listener.settimeout(LIMIT_S)
            began, n = None, 0
            while n < 10:
                listener.accept()[0].close()
                began, n = began or time.monotonic(), n + 1
            seconds = time.monotonic() - began
        finally:
            process.kill()
            process.wait()
    print(f"no daemon: {n} attempts took {seconds:.2f} s")
    assert seconds > 1.5, seconds  # at least 9 times 0.24 s; a poll every 50 ms would take 0.45 s


def formats(pipewire, rack):
    """The rack follows changes of PipeWire's quantum and rate, and reports its latency for each."""
    for quantum in (256, 2048, 64):
        pipewire.run("pw-metadata", "-n", "settings", "0", "clock.force-quantum", str(quantum))
        rack.wait_for(lambda now: now["block_frames"] == quantum)
        rack.advance(10)
        wait_for_latency(pipewire, rack)
    pipewire.run("pw-metadata", "-n", "settings", "0", "clock.force-rate", "44100")
    rack.wait_for(lambda now: now["rate_hz"] == 44100.0)
    rack.advance(10)
    assert rack.status()["reconnects"] == 0, rack.output()


def stopped_daemon(pipewire, rack):
    """If the daemon is stopped for longer than the limit for missing periods, the driver does not reconnect."""
    reconnects = rack.status()["reconnects"]
    pipewire.daemon.send_signal(signal.SIGSTOP)
    rack.wait_for(lambda now: now["audio_hang_s"] > 0.5)  # the driver probes the daemon
    pipewire.daemon.send_signal(signal.SIGCONT)
    rack.wait_for(lambda now: now["audio_hang_s"] == 0.0)
    rack.advance(10)
    assert rack.status()["reconnects"] == reconnects, rack.output()


def sessions(pipewire, folder):
    """Under a session manager the client has the name that the manager chose, and changes it with the project."""
    from manager import Client, Manager

    manager = Manager()
    with Client(manager, "--io", "jack", "gain -3dB", env=pipewire.jack_env) as client:
        for name in ("warprack.nAAA", "warprack.nBBB"):
            assert client.open(f"{folder}/{name}", name)[0] == 0, client.output()
            assert pipewire.jack("jack_lsp", "in_1") == [f"{name}:in_1"], pipewire.jack("jack_lsp")
            assert client.save()[0] == 0 and "gain=-3dB" in client.saved(), client.output()
            client.expect_to_play()
        client.stop()


with scratch() as folder, PipeWire(folder) as pipewire:
    names_pw_jack(pipewire)
    attempts(pipewire)
    rack_arguments = ("--io", "jack", "--name", "rack", "")
    with Server(*rack_arguments, env=pipewire.jack_env) as rack:
        assert rack.status()["device"] == "PipeWire", rack.status()
        rack.advance(10)

        print("the first sink appears after the rack, then a second one")
        speakers = pipewire.sink("speakers")
        left, right = (("rack:out_1", "speakers:playback_FL"), ("rack:out_2", "speakers:playback_FR"))
        pipewire.expect("rack", {left, right}, rack)
        screen = pipewire.sink("screen")
        formats(pipewire, rack)

        print("the first sink disappears and returns; the rack does not connect to the second one")
        pipewire.end(speakers)
        pipewire.expect("rack", set(), rack)
        speakers = pipewire.sink("speakers")
        pipewire.expect("rack", {left, right}, rack)

        print("a connection that is removed by hand stays removed, and one that is made by hand is restored")
        pipewire.jack("jack_disconnect", *right)
        by_hand = ("rack:out_2", "speakers:playback_FL")
        pipewire.jack("jack_connect", *by_hand)
        pipewire.expect("rack", {left, by_hand}, rack)
        pipewire.end(speakers)
        pipewire.expect("rack", set(), rack)
        speakers = pipewire.sink("speakers")
        pipewire.expect("rack", {left, by_hand}, rack)

        with contextlib.ExitStack() as stack:
            other = stack.enter_context(Server("--io", "jack", "--name", "other", "--no-connect", "", env=pipewire.jack_env))
            pipewire.expect("other", set(), other)
            between = ("rack:out_1", "other:in_2")
            pipewire.jack("jack_connect", *between)
            pipewire.expect("rack", {left, by_hand, between}, rack)
            stopped_daemon(pipewire, rack)
            for number, how in enumerate((signal.SIGKILL, signal.SIGTERM), 1):
                print(f"the daemon ends by {how.name}, and returns")
                pipewire.stop(how)
                for server in (rack, other):
                    server.wait_for(lambda now: now["state"] == "waiting")
                for sink in (speakers, screen):
                    pipewire.end(sink)
                if how == signal.SIGTERM:
                    print("a rack that starts with --wait before the daemon and the sinks is connected, too")
                    arguments = ("--io", "jack", "--wait", "--name", "early", "")
                    early = stack.enter_context(Server(*arguments, env=pipewire.jack_env, states=["waiting"]))
                pipewire.start()
                if how == signal.SIGTERM:
                    early.wait_for(lambda now: now["state"] == "running")
                speakers, screen = pipewire.sink("speakers"), pipewire.sink("screen")
                rack.wait_for(lambda now: now["state"] == "running")
                pipewire.expect("rack", {left, by_hand, between}, rack)
                assert rack.status()["reconnects"] == number, rack.output()
                rack.advance(10)
            pipewire.expect("early", {("early:out_1", left[1]), ("early:out_2", right[1])}, early)
            early.advance(10)
            assert early.status()["reconnects"] == 0, early.output()
            early.stop()
            other.stop()
        log = rack.stop()
        print(log)
        assert "no server answers" in log, log

    print("--connect chooses the sink; without a pattern for it, a monitor is not connected")
    with Server("--io", "jack", "--name", "rack", "--connect", "screen", "", env=pipewire.jack_env) as rack:
        screens = {("rack:out_1", "screen:playback_FL"), ("rack:out_2", "screen:playback_FR")}
        pipewire.expect("rack", screens, rack)
        print("a second rack with the same name gets another name and its own connections")
        with Server("--io", "jack", "--name", "rack", "--connect", "speakers", "", env=pipewire.jack_env) as second:
            pipewire.expect(
                "rack-01", {("rack-01:out_1", "speakers:playback_FL"), ("rack-01:out_2", "speakers:playback_FR")}, second
            )
            pipewire.expect("rack", screens, rack)
            assert "'rack' is taken; this one is called 'rack-01'" in second.stop()
        rack.stop()
    with Server("--io", "jack", "--name", "rack", "--connect", "^spe.*monitor|screen:play", "", env=pipewire.jack_env) as rack:
        monitors = {("rack:in_1", "speakers:monitor_FL"), ("rack:in_2", "speakers:monitor_FR")}
        pipewire.expect("rack", screens | monitors, rack)
        rack.stop()
    bad = [PROGRAM, "run", "--osc-port", "0", "--io", "jack", "--connect", "(", ""]
    done = subprocess.run(bad, env={**os.environ, **pipewire.jack_env}, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 2 and "no regular expression" in done.stderr, done
    try:
        sessions(pipewire, folder)
    except SystemExit:
        print("no sessions: liblo for Python is missing")
