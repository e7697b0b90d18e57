# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory order of each atomic access between threads, as the compiler understood it.

    memory_orders.py BUILD_FOLDER

On x86, loads that acquire and stores that release are plain moves, so that no test fails there if an order becomes relaxed, and the models for spin
(ring.pml, sleepers.pml, publish.pml, exchange.pml, period_door.pml) assume the orders.  The intermediate code of GCC (-fdump-tree-gimple) names the order of every
access.  This script compares it with FUNCTIONS: each access must be at least as strong as the protocol needs.  As a control, it then weakens one
order at a time in copies of ring.c, and must find each of them.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])

# The numbers of GCC for the orders, and for each order those that are at least as strong.
RELAXED, ACQUIRE, RELEASE, BOTH, ONE_ORDER = 0, 2, 3, 4, 5
AT_LEAST = {
    RELAXED: {0, 1, 2, 3, 4, 5},
    ACQUIRE: {2, 4, 5},
    RELEASE: {3, 4, 5},
    BOTH: {4, 5},
    ONE_ORDER: {5},
}

# The accesses of each function in their order: kind, least order, reason.
FUNCTIONS = {
    "ring.c": {
        "ring_submit": [("store", ONE_ORDER, "`submitted`: publishes the slot, and is written before `asleep` is read")],
        "bell_ring_if_asleep": [("load", ONE_ORDER, "`asleep`, read after the counter was written: no wake is lost")],
        "bell_ring": [("fetch_add", ONE_ORDER, "`rung`")],
        "finished_checked": [("load", ONE_ORDER, "`finished`: takes the slot, and is read after `asleep` was written")],
        "ring_take": [("load", ONE_ORDER, "`submitted`: as `finished`, on the other side")],
        "consumer_is_called": [
            ("load", RELAXED, "`wakes_seen`, written by this thread"),
            ("load", ONE_ORDER, "`wakes`, read after `asleep` was written"),
        ],
        "ring_wait_take": [
            ("load", ONE_ORDER, "`wakes`"),
            ("load", RELAXED, "`wakes_seen`, written by this thread"),
            ("store", RELAXED, "`wakes_seen`, the same"),
        ],
        "take_wakes": [
            ("load", ACQUIRE, "`wakes_seen`: `wakes` is read after it, and is no older than what another thread has seen"),
            ("load", ONE_ORDER, "`wakes`, read after `asleep` was written"),
            ("compare_exchange", ACQUIRE, "`wakes_seen`: one thread takes a wake; the others read `wakes` after it"),
            ("load", ONE_ORDER, "`wakes`, the same"),
        ],
        "give_back": [
            ("store", RELAXED, "`result`, published by `finished`"),
            ("store", ONE_ORDER, "`finished`: publishes the slot, and is written before `asleep` is read"),
        ],
        "sleep_until": [
            ("load", ONE_ORDER, "`rung`, read before the condition"),
            ("fetch_add", ONE_ORDER, "`asleep`, written before the condition is read"),
            ("fetch_sub", RELAXED, "`asleep`, no longer: seen late it costs a futex call"),
        ],
        "ring_wake": [("fetch_add", ONE_ORDER, "`wakes`")],
        "ring_send": [
            ("load", ACQUIRE, "`received`: the places that it frees are written to"),
            ("store", RELEASE, "`sent`: publishes the messages"),
        ],
        "ring_receive": [
            ("load", ACQUIRE, "`sent`: the messages are read"),
            ("store", RELEASE, "`received`: the place was read"),
        ],
    },
    "player.c": {
        "player_offer": [("store", RELEASE, "publishes the plan")],
        "player_has_taken": [("load", ACQUIRE, "the builder reads what the worker wrote into the old plan")],
        "player_collect": [("exchange", ACQUIRE, "the builder frees the old plan")],
        "take_offer": [
            ("load", ACQUIRE, "the plan is read"),
            ("load", RELAXED, "`hurry`"),
            ("store", RELEASE, "gives the old plan back"),
            ("store", RELAXED, "`first_frame`, published by the next store"),
            ("store", RELEASE, "marks the offer as taken"),
        ],
    },
    "node.c": {
        "node_renew": [
            ("load", ACQUIRE, "what the player wrote into the node before it stopped"),
            ("store", RELEASE, "publishes the renewed node"),
        ],
    },
    "node_health.c": {
        "ask_for_renewal": [("store", RELEASE, "gives the node to the builder")],
        "node_health_may_run": [
            ("load", ACQUIRE, "the renewed node is read"),
            ("store", RELAXED, "the player's own state"),
        ],
    },
    "period.c": {
        "take_offer": [
            ("load", RELAXED, "whether a ring is offered"),
            ("load", ACQUIRE, "the ring that was left has been collected"),
            ("exchange", ACQUIRE, "the ring is read"),
            ("store", RELEASE, "gives the old ring back"),
        ],
        "publish_clock": [
            ("load", RELAXED, "the version, which only this thread writes"),
            ("store", RELAXED, "odd version: the pair is being written"),
            ("store", RELEASE, "the frame, after the version"),
            ("store", RELEASE, "the time, after the version"),
            ("store", RELEASE, "even version: the pair is complete"),
        ],
    },
    "period_door.c": {
        "period_door_admits": [("load", ONE_ORDER, "`caller`, read after `inside` was written")],
        "may_enter": [("load", ONE_ORDER, "`shut`, the same")],
        "enter": [
            ("exchange", ONE_ORDER, "`inside`, written before `shut` is read again"),
            ("fetch_add", RELAXED, "a counter"),
            ("store", ONE_ORDER, "`inside`, cleared"),
        ],
        "period_door_pass": [("store", ONE_ORDER, "`inside`, cleared: publishes what the period wrote")],
        "period_door_shut": [("fetch_or", ONE_ORDER, "`shut`, written before `inside` is read")],
        "period_door_is_occupied": [("load", ONE_ORDER, "`inside`, read after `shut` was written")],
        "period_door_open": [("fetch_and", RELEASE, "`shut`, cleared: publishes what changed while the door was shut")],
        "period_door_admit": [("store", RELEASE, "`caller`, before the door opens")],
    },
    "pool.c": {
        "spin_while": [("load", ACQUIRE, "what was written before the change of the word is read")],
        "finish_job": [
            ("load", RELAXED, "`n_jobs`, published by `ticket`"),
            ("fetch_add", ONE_ORDER, "`done`: publishes the job's results, and is written before `caller_sleeps` is read"),
            ("load", ONE_ORDER, "`caller_sleeps`, read after `done` was written: no wake is lost"),
        ],
        "take_part": [
            ("load", ACQUIRE, "`ticket`: `job` and `context` are read"),
            ("load", RELAXED, "`job`, dropped when the claim fails"),
            ("load", RELAXED, "`context`, the same"),
            ("compare_exchange", ACQUIRE, "`ticket`: the writes of the caller are read; the next claim uses the ticket that a failed claim read"),
            ("load", ACQUIRE, "`ticket` of the next claim"),
        ],
        "sleep_until_run": [
            ("fetch_add", ONE_ORDER, "`sleepers`, written before `run` is read"),
            ("load", ONE_ORDER, "`run`, read after `sleepers` was written: no wake is lost"),
            ("fetch_sub", RELAXED, "`sleepers`: seen late it costs a futex call"),
        ],
        "helper_main": [
            ("load", ACQUIRE, "`stop`"),
            ("load", ACQUIRE, "`run`: the ticket of this run is read"),
        ],
        "wait_done": [
            ("load", ACQUIRE, "`done`: the results are read"),
            ("store", ONE_ORDER, "`caller_sleeps`, written before `done` is read"),
            ("load", ONE_ORDER, "`done`, read after `caller_sleeps` was written: no wake is lost"),
            ("store", RELAXED, "`caller_sleeps`, no longer: seen late it costs a futex call"),
            ("load", ACQUIRE, "`done`: the results are read"),
        ],
        "pool_run": [
            ("load", RELAXED, "its own number"),
            ("store", RELAXED, "`job`, published by `ticket`"),
            ("store", RELAXED, "`context`, the same"),
            ("store", RELAXED, "`n_jobs`, the same"),
            ("store", RELAXED, "`done`, the same"),
            ("store", RELEASE, "`ticket`: publishes the run"),
            ("store", ONE_ORDER, "`run`, written before `sleepers` is read"),
            ("load", ONE_ORDER, "`sleepers`, read after `run` was written: no wake is lost"),
        ],
    },
    "period_midi.c": {
        "end_diversion": [("load", ACQUIRE, "`n_set`: the next slot comes after the values in the ring")],
    },
    "ring_reports.c": {
        "ring_report": [
            ("load", ACQUIRE, "`reports_taken`: the places that it frees are written to"),
            ("store", RELAXED, "`reports_lost`, a number"),
        ],
        "ring_publish_reports": [("store", RELEASE, "`reported`: publishes the reports")],
        "ring_take_report": [
            ("load", ACQUIRE, "`reported`: the reports are read"),
            ("store", RELEASE, "`reports_taken`: the place was read"),
        ],
    },
    "period_threads.c": {
        "period_clock": [
            ("load", ACQUIRE, "the version, read before the pair"),
            ("load", ACQUIRE, "the frame, read before the second read of the version"),
            ("load", ACQUIRE, "the time, read before the second read of the version"),
            ("load", RELAXED, "the version, read again"),
        ],
        "period_return_midi": [("store", RELEASE, "`n_set`: publishes the values in the ring")],
        "period_offer_ring": [("exchange", BOTH, "publishes a ring, and takes back one that was not taken")],
        "period_collect_ring": [("exchange", BOTH, "takes the ring that was left, and lets the next one be offered")],
    },
}


def command_of(name, commands):
    """How a file of the engine or of dsp_cpu is compiled, to print its intermediate code instead."""
    path = rf"/(engine/\w+|dsp_cpu)/{re.escape(name)}$"
    (found,) = [c for c in commands if re.search(path, c["file"]) and re.search(r"lib(engine|dsp_cpu)\.a", c["output"])]
    words = shlex.split(found["command"])
    kept = []
    skip = False
    for word in words[: words.index("-o")]:
        if not skip and word not in ("-MD", "-MQ", "-MF", "-c"):
            kept.append(word)
        skip = word in ("-MQ", "-MF")
    return kept, found["file"], found["directory"]


def accesses(name, commands, source=None):
    """{function: [(access, order)]} of a file, or of another source in its place."""
    words, path, directory = command_of(name, commands)
    path = os.path.join(directory, path)
    words += ["-I", os.path.dirname(path), "-w", "-S", "-o", os.devnull, "-fdump-tree-gimple=/dev/stdout", source or path]
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    found, function = {}, None
    for line in done.stdout.splitlines():
        begin = re.match(r"^[\w\s*]*?\b(\w+) \(", line)
        if begin and not line.startswith(" "):
            function = begin[1]
        access = re.search(r"__atomic_(load|store|exchange|fetch_add|fetch_sub|fetch_or|fetch_and|compare_exchange)\w* \((.*)\)", line)
        if access:
            found.setdefault(function, []).append((access[1], int(access[2].split(", ")[-1])))
    return found


def faults(name, found):
    for function, expected in FUNCTIONS[name].items():
        got = found.get(function, [])
        if [access for access, _ in got] != [access for access, _, _ in expected]:
            yield f"{name}, {function}(): {[access for access, _ in got]} instead of {[access for access, _, _ in expected]}: has its protocol changed?"
            continue
        for (access, order), (_, least, why) in zip(got, expected):
            if order not in AT_LEAST[least]:
                yield f"{name}, {function}(): a {access} of order {order}, weaker than {least}: {why}"


def weaken(text):
    """Copies of a file with one relaxed access each, and the changed access."""
    for match in re.finditer(r"memory_order_(acquire|release|acq_rel)", text):
        yield match[0], text[: match.start()] + "memory_order_relaxed" + text[match.end() :]
    for match in re.finditer(r"\batomic_(load|store|fetch_add|exchange)\(", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        changed = f"atomic_{match[1]}_explicit({text[match.end() : end - 1]}, memory_order_relaxed)"
        yield match[0], text[: match.start()] + changed + text[end:]


def main():
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    words, path, directory = command_of("ring.c", commands)
    version = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)
    if "Free Software Foundation" not in version.stdout:
        print(f"skipped: needs the intermediate code of GCC, and the compiler of the build is {version.stdout.splitlines()[:1]}")
        return 77
    wrong = [fault for name in FUNCTIONS for fault in faults(name, accesses(name, commands))]
    if wrong:
        print("\n".join(wrong))
        return 1
    n_found, missed = 0, []
    with open(os.path.join(directory, path), encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for what, changed in weaken(text):
            copy = os.path.join(folder, "ring.c")
            with open(copy, "w", encoding="utf-8") as file:
                file.write(changed)
            if list(faults("ring.c", accesses("ring.c", commands, copy))):
                n_found += 1
            else:
                missed.append(f"{what} in line {text[: len(os.path.commonprefix([text, changed]))].count(chr(10)) + 1} of ring.c")
    n = sum(len(expected) for functions in FUNCTIONS.values() for expected in functions.values())
    print(f"{n} accesses are strong enough; {n_found} weakened accesses in copies of ring.c were found")
    if missed:
        print("not found:", *missed, sep="\n  ")
    return 1 if missed else 0


sys.exit(main())
