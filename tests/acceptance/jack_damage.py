# SPDX-License-Identifier: GPL-3.0-or-later
"""If libjack's database in /dev/shm is damaged, or if /dev/shm is full, libjack crashes every client with SIGBUS, but
not warprack.  With too few open files libjack damages its database, or crashes with SIGSEGV.

A start with --io jack ends with code 3 and a message that says how to repair the database.  `--io auto` and PortAudio
continue without JACK.  A running server reconnects when the damage is repaired.  The test runs in a mount namespace
with its own /dev/shm; without one it is skipped.
"""

from common import *

need("jackd", "jack_lsp", "prlimit")
if not enter_namespace("-rm") or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", "/dev/shm"], check=False).returncode:
    print("skipped: cannot mount a separate /dev/shm")
    sys.exit(77)

DATABASE = f"/dev/shm/jack_db-{os.getuid()}"


def leave_database():
    """Copy the database that a killed jackd leaves to the folder `database`."""
    with Jackd(48000, 256) as jack:
        jack.kill()
    shutil.copytree(DATABASE, "database")
    shutil.rmtree(DATABASE)


def until_done(*steps):
    """Do the steps, again and again until a running program no longer makes the database between them."""
    while True:
        with contextlib.suppress(OSError):
            for step, *arguments in steps:
                step(*arguments)
            return


@contextlib.contextmanager
def empty(name):
    """Make one file of the database empty, as if jackd had been killed before it extended the file."""
    damaged = f"{DATABASE}.damaged"
    shutil.copytree("database", damaged)
    os.truncate(os.path.join(damaged, name), 0)
    until_done((shutil.rmtree, DATABASE, True), (os.rename, damaged, DATABASE))
    yield f"{DATABASE}/{name} is empty, which crashes libjack; remove {DATABASE}"
    until_done((shutil.rmtree, DATABASE))


@contextlib.contextmanager
def full():
    """Fill /dev/shm up to one page: libjack can create its database, but has no space for the pages."""
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


def run(*options, limit=(), env=()):
    command = [*limit, PROGRAM, "run", "--duration", "0.5", "--osc-port", str(free_port()), *options, "gain"]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env={**os.environ, **dict(env)})


def starts():
    """Start the program with each driver and each damage."""
    for damage in (empty("__db.002"), empty("__db.003"), full()):
        with damage as remedy:
            crashes = libjack_crashes()  # only printed: newer versions of libjack may not crash
            print(f"{remedy}: jack_lsp {'crashes' if crashes else 'lives'}")
            done = run("--io", "jack")
            assert done.returncode == 3 and remedy in done.stderr, done
            print(f"  {done.stderr.strip()}")
            for driver in ("auto", "portaudio"):
                done = run("--io", driver)
                assert done.returncode in (0, 3), done
            done = subprocess.run([PROGRAM, "list", "devices"], capture_output=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 0, done


def reconnects():
    """A server survives a jackd that dies and leaves a damaged database, and plays on the next jackd."""
    with Jackd(48000, 256) as jack, Server("--io", "jack", "g: gain", env=jack.env) as server:
        server.advance(10)
        jack.kill()
        with empty("__db.002") as remedy:
            until(lambda: remedy in server.output(), server.output, process=server.process)
        jack.start()
        server.advance(10)
        server.stop()


def few_files():
    """The program plays or ends with code 6, and never leaves an empty file, however few files it may open."""
    codes = {}
    with Jackd(48000, 256) as jack:
        for n in (40, 28, 27, 22, 21, 20, 19, 16, 6, 5, 4):
            limit = ["prlimit", f"--nofile={n}"]
            done = subprocess.run([*limit, PROGRAM, "list", "devices"], capture_output=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 0, (n, done)
            done = run("--io", "jack", limit=limit, env=jack.env)
            codes[n] = done.returncode
            assert done.returncode in (0, 6), (n, done)
            assert all(os.path.getsize(os.path.join(DATABASE, name)) for name in os.listdir(DATABASE)), n
    print(f"exit codes by the number of open files: {codes}")
    assert codes[40] == 0 and codes[4] == 6, codes


with scratch():
    few_files()
    shutil.rmtree(DATABASE, ignore_errors=True)
    leave_database()
    starts()
    reconnects()
