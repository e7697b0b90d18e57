#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the includes between the rooms of the project (folders of sources): rooms.py ROOT PROGRAM

Derives the includes between rooms from the sources, and compares them with the table of rooms in engine/README.md.
Fails on an include that the table does not list, on an entry of the table that no include needs, on a circle of rooms,
files or modules, on files of one room that use functions or data of each other in a circle, on a room without a README,
and on a README that is longer than README_LINES (of all rooms but engine/, whose README is the map).

A module is a source with its headers: editor.c, editor.h and editor_private.h.  A header without a source of the
same name belongs to the source whose name it extends (io_driver.h to io.c); without such a source it is a module by
itself.

Prints the graph: rooms, levels, and the numbers of modules and circles."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
TOPS = ("engine", "dsp_cpu", "dsp_gpu", "plugins", "io", "control", "tools")
SOURCE = re.compile(r"\.(c|h|cu|inc|c\.in)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
README_LINES = 60
ALONE = {"engine/faults"}  # no room includes it: only tests and fault builds link it


def sources():
    """Every source of the program with its includes."""
    files = [path for top in TOPS for path in (ROOT / top).rglob("*") if SOURCE.search(path.name) and "include" not in path.parts]
    names = {str(path.relative_to(ROOT)) for path in files}
    graph = {}
    for path in files:
        name = str(path.relative_to(ROOT))
        graph[name] = set()
        for include in INCLUDE.findall(path.read_text()):
            here = str(pathlib.Path(name).parent / include)
            found = here if here in names else include
            if found not in names:
                sys.exit(f"{name} includes '{include}', which is neither in its folder nor at that path from the root")
            graph[name].add(found)
    return graph


def room_of(name):
    return str(pathlib.Path(name).parent)


def modules(files):
    """The includes between modules, as a graph like the graph of files."""
    bodies = {SOURCE.sub("", name) for name in files if not name.endswith(".h")}

    def module_of(name):
        stem = owner = SOURCE.sub("", name)
        while owner not in bodies and "_" in pathlib.Path(owner).name:
            owner = owner.rpartition("_")[0]
        return owner if owner in bodies else stem

    graph = {module_of(name): set() for name in files}
    for name, includes in files.items():
        graph[module_of(name)] |= {module_of(other) for other in includes} - {module_of(name)}
    return graph


def uses(files):
    """Which sources of a room use functions or data that another source of the room defines."""
    code, own, defined = {}, {}, {}
    for name in sorted(name for name in files if name.endswith(".c")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*|" + r'"(?:[^"\\\n]|\\.)*"', " ", (ROOT / name).read_text(), flags=re.S)
        functions = re.findall(r"^(\w[^\n;={}()#]*)\n([a-z]\w*)\(", text, re.M)
        data = re.findall(r"^(\w[\w *]*?)(\w+)(?:\[[^]]*\])*(?: =|;)", text, re.M)
        code[name] = set(re.findall(r"(?<![.>\w])[a-z]\w*", text))
        own[name] = {item for _, item in functions + data}
        shared = {item for kind, item in functions + data if not re.match(r"(static|typedef|extern)\b", kind)}
        defined.update({(room_of(name), item): name for item in shared})
    graph = {name: set() for name in code}
    for (room, item), where in defined.items():
        for name in graph:
            if room_of(name) == room and item in code[name] - own[name]:
                graph[name].add(where)
    return graph


def circles(graph):
    """The circles of a graph: its strongly connected components of more than one node (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def listed():
    """The permitted includes of each room, from the table: | [room](path) | ... | rooms |"""
    table = {}
    for line in (ROOT / "engine/README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        room = re.fullmatch(r"\[`([\w/]+)/`\]\([\w./]+\)", cells[0])
        if room:
            table[room[1]] = set(re.findall(r"[\w/]+", cells[-1].replace("nothing", "")))
    return table


def faults(files, rooms, table):
    """The violations, as text."""
    for room in sorted(set(rooms) | set(table)):
        if room not in table:
            yield f"{room}: not in the table of rooms in engine/README.md"
            continue
        if room not in rooms:
            yield f"{room}: in the table, but there is no such folder of sources"
            continue
        for other in sorted(rooms[room] - table[room]):
            why = [f"{a} includes {b}" for a in files for b in files[a] if room_of(a) == room and room_of(b) == other]
            yield f"{room} may not include {other}: {', '.join(sorted(why))}"
        for other in sorted(table[room] - rooms[room]):
            yield f"{room} does not include {other}, although the table lists it"
        for other in rooms[room] & ALONE:
            yield f"{room} includes {other}, which no room may include"
        readme = ROOT / room / "README.md"
        if not readme.exists():
            yield f"{room}: no README.md"
        elif room != "engine" and len(readme.read_text().splitlines()) > README_LINES:
            yield f"{room}/README.md: longer than {README_LINES} lines"
    for circle in circles(rooms):
        yield f"a circle of rooms: {' '.join(circle)}"


def main():
    files = sources()
    rooms = {room_of(name): set() for name in files}
    for name, includes in files.items():
        rooms[room_of(name)] |= {room_of(other) for other in includes} - {room_of(name)}
    level = {}
    while not circles(rooms) and len(level) < len(rooms):
        for room, others in rooms.items():
            if all(other in level for other in others):
                level[room] = 1 + max((level[other] for other in others), default=0)
    for room in sorted(rooms, key=lambda room: (level.get(room, 0), room)):
        n_lines = sum(len((ROOT / name).read_text().splitlines()) for name in files if room_of(name) == room)
        n_files = sum(room_of(name) == room for name in files)
        print(f"{level.get(room, '-'):>2} {room:18} {n_files:3} files {n_lines:5} lines  {' '.join(sorted(rooms[room]))}")
    of_modules = modules(files)
    knots = circles(of_modules)
    print(f"{len(rooms)} rooms, {max(level.values(), default=0)} levels, {len(circles(rooms))} circles of rooms; "
          f"{len(of_modules)} modules, {len(knots)} circles of modules")
    found = list(faults(files, rooms, listed()))
    found += [f"a circle of files: {' '.join(circle)}" for circle in circles(files)]
    found += [f"a circle of modules: {' '.join(circle)}" for circle in knots]
    found += [f"these files use each other in a circle: {' '.join(circle)}" for circle in circles(uses(files))]
    print("\n".join(found))
    sys.exit(bool(found))


main()
