# SPDX-License-Identifier: GPL-3.0-or-later
"""A run under a session manager (NSM): it opens, saves and switches projects, tells whether the document differs from
the saved one, and plays on when an order is wrong or the manager ends.

    sessions.py PROGRAM [ROUNDS] [jack]       by default the suite's few rounds on the dummy driver

With the word jack, a jackd runs, and the test compares the names of the client with those of the projects.
"""

import random

from manager import *

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
WITH_JACK = "jack" in sys.argv[3:]
SERVER = "warprack-sessions"
SEED = int.from_bytes(os.urandom(4), "little")
GENERAL, BAD_PROJECT, CREATE_FAILED = -1, -9, -10


def driver():
    return ("--io", "jack", "--no-connect") if WITH_JACK else ("--io", "dummy")


def expect_name(name):
    """With JACK: the client has this name, and no other client has ports of the program."""
    if WITH_JACK:
        ports = subprocess.run(["jack_lsp", "in_1"], capture_output=True, text=True, check=True).stdout.split()
        assert ports == [f"{name}:in_1"], ports


# ---- rows ----


def announced_and_ended(manager, folder):
    """The program without arguments announces itself, waits, and ends at once on SIGTERM."""
    with Client(manager, program=(PROGRAM,)) as client:
        name, capabilities, executable, major, minor, pid = manager.announced
        assert (name, executable, major, minor, pid) == ("warprack", PROGRAM, 1, 1, client.process.pid), manager.announced
        assert set(capabilities.strip(":").split(":")) == {"switch", "dirty", "message"}, capabilities
        client.expect_said("nsm.note: the session manager is the stand-in")
        assert client.stop() < 2.0 * SLOWNESS
        assert not os.listdir(folder), os.listdir(folder)
    for option in (["--state", "x"], ["--name", "x"], ["--root", "."], ["--fresh"]):
        env = {**os.environ, "NSM_URL": manager.url}
        done = subprocess.run([PROGRAM, "run", *option], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and "NSM_URL" in done.stderr, done


def refused_orders(manager, client, folder):
    """Orders that cannot be carried out, and packets of others, get an error or nothing, and the music goes on."""
    os.makedirs(f"{folder}/damaged")
    with open(f"{folder}/damaged/main.rack", "w", encoding="utf-8") as file:
        file.write("chain nonsense\n")
    for path, name, code in [
        ("relative/path", "warprack.nAAA", CREATE_FAILED),
        (f"{folder}/../up", "warprack.nAAA", CREATE_FAILED),
        (f"{folder}/none/below", "warprack.nAAA", CREATE_FAILED),
        (f"{folder}/new", "war:prack", CREATE_FAILED),
        (f"{folder}/" + "x" * 5000, "warprack.nAAA", CREATE_FAILED),
        (f"{folder}/new", "n" * 100, CREATE_FAILED),
        (f"{folder}/damaged", "warprack.nAAA", BAD_PROJECT),
    ]:
        before, playing = client.path, client.rack()
        found, why = client.open(path, name)
        assert found == code, (path, name, found, why)
        assert client.path == before and client.rack() == playing
    stranger = liblo.Server()
    stranger.send(manager.client, "/nsm/client/open", f"{folder}/stranger", "", "warprack.nZZZ")
    for packet in (b"", b"\0", b"/nsm/client/open", b"#bundle\0" + bytes(8), os.urandom(400), b"/" * 9000,
                   osc_message("/nsm/client/open"), osc_message("/nsm/client/open", 1, 2, 3), osc_message("/reply")):  # fmt: skip
        manager.send_raw(packet)
    client.expect_to_play()
    assert not os.path.exists(f"{folder}/stranger") and not os.path.exists(f"{folder}/new"), os.listdir(folder)
    os.rename(f"{client.path}/main.rack", f"{client.path}/kept")
    os.mkdir(f"{client.path}/main.rack")  # cannot be replaced
    assert client.save()[0] == GENERAL
    os.rmdir(f"{client.path}/main.rack")
    os.rename(f"{client.path}/kept", f"{client.path}/main.rack")


def saved_and_opened_at_once(manager, client):
    """An order to open waits for the save before it, and then reads what that save has written."""
    playing = client.rack()
    manager.received.clear()
    manager.server.send(manager.client, "/nsm/client/save")
    manager.server.send(manager.client, "/nsm/client/open", client.path, "a session", os.path.basename(client.path))
    answers = lambda: [(kind, values[0]) for kind, values in manager.received if kind in ("/reply", "/error")]
    manager.wait(lambda: len(answers()) == 2, client.output)
    assert answers() == [("/reply", "/nsm/client/save"), ("/reply", "/nsm/client/open")], manager.received
    assert client.rack() == client.saved() == playing


def life_of_a_session(manager, folder):
    """A project begins with the RACK of the command line and its files; it is saved, changed, closed, opened again, and
    another one follows it.  Wrong orders, and the end of the manager, do not end the music."""
    write_wav("hall.wav", 48000, np.eye(4800, 1))
    with open("hall.rack", "w", encoding="utf-8") as file:
        file.write("chain vol: gain -6dB | hall: convolver hall.wav mix=30%\n")
    first, second = f"{folder}/song/warprack.nAAA", f"{folder}/song/warprack.nBBB"
    os.mkdir(f"{folder}/song")
    holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with contextlib.suppress(OSError):  # another program may have the port
        holder.bind(("127.0.0.1", 9770))
    with open("with-options", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/bash\nexec -a "${{0##*/}}" "{PROGRAM}" run "$@"\n')
    os.chmod("with-options", 0o755)
    with Client(manager, *driver(), "hall.rack", program=("./with-options",)) as client:
        assert manager.announced[2] == "with-options", manager.announced  # nsmd knows it by this name
        expect_name_of = lambda name: WITH_JACK and expect_name(name)
        assert client.open(first, "warprack.nAAA")[0] == 0, client.output()
        assert client.port != 9770
        manager.wait(lambda: any("OSC port 9770 is in use" in text for _, text in manager.messages()))
        expect_name_of("warprack.nAAA")
        assert sorted(os.listdir(first)) == ["hall.wav"], os.listdir(first)
        assert "hall.wav" in client.rack()
        client.expect_dirty(True)  # nothing is saved yet
        assert client.save()[0] == 0
        client.expect_dirty(False)
        assert client.saved() == client.rack()
        client.osc.do("/node/vol/gain", -9.0)
        client.expect_dirty(True)
        client.osc.do("/node/vol/gain", -6.0)
        client.expect_dirty(False)
        client.osc.do("/rack/do", "remove vol")
        client.expect_dirty(True)
        assert client.save()[0] == 0
        client.expect_dirty(False)
        refused_orders(manager, client, folder)

        listener, port = Osc(client.port), client.port
        listener.do("/server/notify", 1)
        assert client.open(second, "warprack.nBBB")[0] == 0
        assert client.port == port  # clients of OSC stay
        until(lambda: listener.receive()[0] == "/server/started")
        expect_name_of("warprack.nBBB")
        assert "add vol" in client.rack()
        client.osc.do("/rack/chain", "other: gain -3dB")
        saved_and_opened_at_once(manager, client)
        assert client.open(first, "warprack.nAAA")[0] == 0
        assert client.rack() == client.saved() and "add vol" not in client.rack()
        client.expect_dirty(False)
        with open(f"{second}/main.rack", "w", encoding="utf-8") as file:
            file.write("chain hall: convolver missing.wav\n")  # found out when it is planned
        client.osc.do("/rack/do", "add extra gain", "connect in extra", "connect extra out")
        code, why = client.open(second, "warprack.nBBB")
        assert code == BAD_PROJECT and "missing.wav" in why, (code, why)
        client.path = first
        client.expect_to_play()  # back in the first project, as it was
        assert "extra" in client.rack()
        client.expect_dirty(True)
        expect_name_of("warprack.nAAA")
        assert client.save()[0] == 0 and "extra" in client.saved()

        manager.server.free()
        client.expect_said("nsm.lost")
        client.expect_to_play()
        assert client.stop() < 3.0 * SLOWNESS
    holder.close()


def states(folder):
    """The state of a plugin is saved in the project; with its file it comes along when the project begins another one."""
    fixtures = os.environ.get("WARPRACK_LV2_FIXTURES")
    if not fixtures:
        return print("no LV2: no states")
    os.environ["LV2_PATH"] = os.path.dirname(fixtures)
    subprocess.run([PROGRAM, "scan"], capture_output=True, check=True)
    first, second = f"{folder}/warprack.nAAA", f"{folder}/warprack.nBBB"
    mono = (*driver(), "--channels", "1:1")
    with Client(manager := Manager(), *mono, 'a: lv2 "urn:warprack:taker"') as client:
        assert client.open(first, "warprack.nAAA")[0] == 0, client.output()
        client.expect_to_play()
        client.osc.do("/node/a/state/save")
        assert client.save()[0] == 0
        kept = sorted(os.listdir(first))
        assert len(kept) == 3 and sum(name.endswith(".state") for name in kept) == 1, kept
        client.stop()
    with Client(manager, *mono, f"{first}/main.rack") as client:
        assert client.open(second, "warprack.nBBB")[0] == 0, client.output()
        assert client.save()[0] == 0 and sorted(os.listdir(second)) == kept, os.listdir(second)
        client.stop()


def rounds(folder):
    """Random orders with kill -9 between them: the project is always as it was saved last."""
    chance = random.Random(SEED)
    manager = Manager()
    paths = [f"{folder}/{name}/warprack.n{name}" for name in ("A", "B", "C")]
    saved = {}
    client = None
    n_saves = n_switches = n_kills = 0
    for path in paths:
        os.mkdir(os.path.dirname(path))
    for n in range(ROUNDS):
        path = chance.choice(paths)
        n_switches += client is not None
        client = client or Client(manager, *driver(), "vol: gain -1dB")
        assert client.open(path, os.path.basename(path))[0] == 0, client.output()
        expect_name(os.path.basename(path))
        assert path not in saved or client.rack() == saved[path], (n, client.rack(), saved[path])
        for _ in range(chance.randrange(1, 4)):
            gain = -float(chance.randrange(2, 60))
            client.osc.do("/rack/chain", f"vol: gain {gain}dB | eq: highpass {chance.randrange(50, 500)}")
            client.expect_dirty(True)
            if chance.random() < 0.7:
                assert client.save()[0] == 0, client.output()
                client.expect_dirty(False)
                n_saves += 1
                saved[path] = client.rack()
                assert client.saved() == saved[path]
        if n % 2 == 0:
            client.stop(signal.SIGKILL)
            client = None
            n_kills += 1
    if client:
        client.stop()
    print(f"figure: {ROUNDS} rounds: {n_saves} saves, {n_switches} switches, {n_kills} kills, no save lost (seed {SEED})")


os.environ.update({"JACK_DEFAULT_SERVER": SERVER, "JACK_NO_START_SERVER": "1"})
with contextlib.ExitStack() as stack:
    folder = stack.enter_context(scratch())
    if WITH_JACK:
        need("jackd", "jack_lsp")
        jackd = subprocess.Popen(["jackd", "-n", SERVER, "-d", "dummy", "-p", "256"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(lambda: (jackd.terminate(), jackd.wait()))
        until(lambda: subprocess.run(["jack_lsp"], capture_output=True, check=False).returncode == 0)
    for name in ("alone", "session", "states", "rounds"):
        os.mkdir(name)
    announced_and_ended(Manager(), f"{folder}/alone")
    life_of_a_session(Manager(), f"{folder}/session")
    states(f"{folder}/states")
    rounds(f"{folder}/rounds")
print("a session is opened, saved, switched and closed, and wrong orders are refused")
