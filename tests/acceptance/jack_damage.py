# SPDX-License-Identifier: GPL-3.0-or-later
"""libjack's database in /dev/shm is damaged, or /dev/shm is full: libjack ends every client by SIGBUS, but not warprack.

A first start ends with code 3 and names the remedy, `--io auto` and PortAudio go on without JACK, a server that waits
or reconnects plays once the damage is gone.  In a mount namespace with its own /dev/shm; skipped without one.
"""

from common import *

need("jackd", "jack_lsp")
if not enter_namespace("-rm") or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", "/dev/shm"], check=False).returncode:
    print("skipped: no /dev/shm of its own")
    sys.exit(77)

DATABASE = f"/dev/shm/jack_db-{os.getuid()}"


def leave_database():
    """The state that a killed jackd leaves."""
    with Jackd(48000, 256) as jack:
        jack.kill()
    shutil.copytree(DATABASE, "database")
    shutil.rmtree(DATABASE)


@contextlib.contextmanager
def empty(name):
    """A file of a jackd that was killed before it extended the file."""
    shutil.rmtree(DATABASE, ignore_errors=True)
    shutil.copytree("database", DATABASE)
    os.truncate(os.path.join(DATABASE, name), 0)
    yield f"{DATABASE}/{name} is empty, which crashes libjack; remove {DATABASE}"
    shutil.rmtree(DATABASE)


@contextlib.contextmanager
def full():
    """Up to one page: the database is created without space for its pages."""
    with open("/dev/shm/everything", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        file.truncate(file.tell() - 4096)
        yield "/dev/shm is full, which crashes libjack"
    os.remove("/dev/shm/everything")
    shutil.rmtree(DATABASE, ignore_errors=True)


def libjack_crashes():
    return subprocess.run(["jack_lsp"], capture_output=True, check=False).returncode == -signal.SIGBUS


def run(*options):
    command = [PROGRAM, "run", "--duration", "0.5", "--osc-port", str(free_port()), *options, "gain"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def starts():
    """With each driver and each damage."""
    for damage in (empty("__db.002"), empty("__db.003"), full()):
        with damage as remedy:
            crashes = libjack_crashes()  # only printed: a libjack without the fault is no failure
            print(f"{remedy}: jack_lsp {'crashes' if crashes else 'lives'}")
            done = run("--io", "jack")
            assert done.returncode == 3 and remedy in done.stderr, done
            print(f"  {done.stderr.strip()}")
            for driver in ("auto", "portaudio"):
                done = run("--io", driver)
                assert done.returncode in (0, 3), done
            done = subprocess.run([PROGRAM, "list", "devices"], capture_output=True, timeout=60, check=False)
            assert done.returncode == 0, done


def until_it_plays(server):
    blocks, deadline = server.status()["blocks"], time.monotonic() + 20.0
    while server.status()["blocks"] <= blocks + 10:
        assert time.monotonic() < deadline, server.output()
        time.sleep(0.02)


def reconnects():
    """A server survives a jackd that dies and leaves damage, and plays with the next one."""
    with Jackd(48000, 256) as jack, Server("--io", "jack", "g: gain", env=jack.env) as server:
        until_it_plays(server)
        jack.kill()
        with empty("__db.002") as remedy:
            deadline = time.monotonic() + 20.0
            while remedy not in server.output():
                assert server.process.poll() is None, server.process.poll()
                assert time.monotonic() < deadline, server.output()
                time.sleep(0.02)
        jack.start()
        until_it_plays(server)
        server.stop()


with scratch():
    leave_database()
    starts()
    reconnects()
