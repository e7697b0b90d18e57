# SPDX-License-Identifier: GPL-3.0-or-later
"""A server finds plugins that are new, changed or gone while it plays.

    plugin_renewal.py PROGRAM

A plugin's file is replaced under a running server.  After SIGHUP another worker with the new code takes over.  After the loss of the worker the server finds the changed file by itself, and the rack plays again.  A
plugin that is gone plays on.  A new one can be used, and a rack file that names it is read after the scan.  Clients
that request scans all the time neither cause one after another nor delay SIGHUP.  A server that began without plugins
finds them, too.
"""

from common import *

FIXTURES = os.environ.get("WARPRACK_LADSPA_FIXTURES")


def install(name, folder="plugins"):
    """Put a copy of a library into the folder, or replace the one there, as a package manager does."""
    shutil.copyfile(os.path.join(FIXTURES, name), f"{folder}/{name}.new")
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def scans(server):
    return server.output().count("plugins.scanned")


def renew(server):
    """Send SIGHUP, and wait for the end of the scan."""
    before = scans(server)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: scans(server) > before, server.output, process=server.process)


def other_worker(server, before):
    server.wait_for(lambda now: now["worker_pid"] not in (0, before["worker_pid"]))
    server.wait_until_wet(n_blocks=20)


if not FIXTURES:
    print("skipped: the build has no LADSPA")
    sys.exit(77)
with scratch():
    os.mkdir("plugins")
    os.environ["LADSPA_PATH"] = os.path.join(os.getcwd(), "plugins")
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    install("effects.so")
    with open("a.rack", "w", encoding="utf-8") as file:
        file.write("chain ladspa effects/gain gain=-6dB\n")
    with Server("a.rack", "--io", "dummy", "--block", "256") as server:
        assert "scanning" in server.output(), server.output()  # the start has found the plugins
        server.wait_until_wet(n_blocks=20)

        before = server.status()
        install("effects.so")
        renew(server)
        other_worker(server, before)
        assert "old code of plugins" in server.status()["worker_note"], server.status()["worker_note"]

        assert "worker.lost" not in server.output(), server.output()  # so no scan follows
        n_scans = scans(server)
        time.sleep(1.0)
        assert scans(server) == n_scans, server.output()

        before = server.status()
        install("effects.so")
        os.kill(before["worker_pid"], signal.SIGSEGV)
        other_worker(server, before)
        assert server.status()["quarantined"] == 0, server.status()["quarantine_note"]

        install("broken.so")
        with open("a.rack", "w", encoding="utf-8") as file:
            file.write("chain ladspa effects/gain gain=-6dB | ladspa effects/ducker\n")
        renew(server)
        until(lambda: "ducker" in server.osc.ask("/rack/get")[1][0], server.output, process=server.process)

        os.remove("plugins/effects.so")
        renew(server)
        assert "are gone" in server.output(), server.output()
        server.osc.do("/node/gain/gain", -12.0)
        server.wait_until_wet(n_blocks=20)

        began, before = time.monotonic(), scans(server)
        while time.monotonic() < began + 3.0:
            server.osc.do("/server/scan")
            time.sleep(0.02)
        assert scans(server) <= before + 2 + (time.monotonic() - began) // 5.0, server.output()
        n_reloads = server.output().count("rack.re")
        server.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            server.osc.do("/server/scan")
            time.sleep(0.02)
        until(lambda: server.output().count("rack.re") > n_reloads, server.output, process=server.process)

    for name in os.listdir("."):
        if name.startswith("warprack"):
            shutil.rmtree(name)
    with open("none.rack", "w", encoding="utf-8") as file:
        file.write("chain gain 0dB\n")
    with Server("none.rack", "--io", "dummy", "--block", "256") as server:
        reply = server.osc.ask("/rack/do", "add d ladspa effects/gain")
        assert "/server/scan" in str(reply), reply
        install("effects.so")
        renew(server)
        server.osc.do("/rack/do", "add d ladspa effects/gain")
    print("new, changed and gone plugins: the server plays on")
