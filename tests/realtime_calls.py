#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the library functions that real-time code can call on any path, by the disassembly of the program.

    realtime_calls.py SOURCE PROGRAM

Begins at every function that a header of engine/, dsp_cpu/ or io/ marks REALTIME, and at every one
that a table of functions names as event, rests, factor, run, set, set_at, unit_init or as part of a
stage.  Follows all calls and all functions whose address is taken, and compares the library functions that it reaches with
ALLOWED.  It cannot follow a call through a pointer; the tables and the taken addresses cover these.
The backend of a device is not checked, because its driver determines what is called.
"""

import collections
import pathlib
import platform
import re
import shutil
import subprocess
import sys

# Library functions, and which of ours may call them (None: all).
ALLOWED = {
    'clock_gettime': {'time_clock_ns', 'time_now_ns', '__wrap_clock_gettime'},  # in the vDSO: no system call; the second in a build with faults
    'syscall': {'rt_futex_wait', 'rt_futex_wake', 'rt_futex_wake_one'},
    'fftwf_execute_dft': {'fft_forward', 'fft_inverse'},  # uses the memory of its plan
    **dict.fromkeys(('pthread_setcancelstate', 'pthread_setcanceltype'), {'rt_hold_cancel', 'rt_allow_cancel'}),  # a word of the thread's own
    'memcpy': None,
    'memmove': None,
    'memset': None,
    # Arithmetic.
    **dict.fromkeys('''asinh cabs ccos cos cosf cosh csqrt exp exp2f expf expm1 fmax fmaxf fmin fminf
        hypot ldexp ldexpf log log10 log10f log1p log2f logf lrintf nextafterf pow powf sin sincos
        sincosf sinf sinh sqrt sqrtf tan tanh tanhf'''.split()),
    '__stack_chk_fail': None,  # ends the program; some compilers add it
    # Functions of the real-time trap, in builds that have it (engine/base/rt.h).
    'warprack_rt_enter': None,
    'warprack_rt_leave': None,
}

# Functions and files that run offline only and are not followed.
OFFLINE = {'worker_process'}
OFFLINE_FILES = {'fx_normalize.c'}

TABLES = r'\.(?:event|rests|factor|run|set|set_at|unit_init|stage_submit|stage_is_done|stage_collect)\s*=\s*(\w+)\b(?!->)'

# Controls: from these functions the search must find a forbidden call.
CONTROLS = {
    'period_new': 'calloc',
    'player_init': 'calloc',
    'node_load': 'aligned_alloc',
    'worker_start_player': 'pthread_create',
}


def roots(source):
    """Names of functions that must be real-time safe: of headers, of tables."""
    declared = set()
    named = set()
    for folder in 'engine', 'dsp_cpu', 'plugins', 'io':
        for header in (source / folder).rglob('*.h'):
            text = re.sub(r'//[^\n]*|^#[^\n]*|/\*.*?\*/', '', header.read_text(),
                          flags=re.S | re.M)
            declared |= set(re.findall(r'\bREALTIME\s+[\w\s*]+?(\w+)\s*\(', text))
    for folder in 'dsp_cpu', 'plugins':
        for code in (source / folder).rglob('*.[ch]'):
            if code.name not in OFFLINE_FILES:
                named |= set(re.findall(TABLES, code.read_text()))
    return declared, named - {'NULL', 'false', 'true'}


def global_functions(path):
    """Addresses of functions that are not static."""
    text = subprocess.run(['nm', path], check=True, capture_output=True, text=True).stdout
    return {int(a, 16) for a in re.findall(r'^([0-9a-f]+) T ', text, flags=re.M)}


class Program:
    """Functions of an executable, and which of them each one mentions."""

    def __init__(self, path):
        self.name_at = {}  # first address of a function: its name
        self.mentions = collections.defaultdict(set)  # address: addresses or names of imports
        text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], check=True,
                              capture_output=True, text=True).stdout
        here = None
        for line in text.splitlines():
            start = re.match(r'([0-9a-f]+) <(.+)>:$', line)
            if start:
                here = int(start[1], 16)
                self.name_at[here] = start[2]
            elif here is not None:
                for address, name in re.findall(r'\b([0-9a-f]+) <([^>]+)>', line):
                    self.mentions[here].add(self.resolve(int(address, 16), name))
        self.addresses = collections.defaultdict(list)
        for address, name in self.name_at.items():
            self.addresses[name.split('.')[0]].append(address)  # clones and parts as well

    @staticmethod
    def resolve(address, name):
        """An import by its name, anything else by its address."""
        chosen = re.match(r'\*ABS\*\+0x([0-9a-f]+)@plt', name)
        if chosen:  # between versions of one function for several processors
            return int(chosen[1], 16)
        imported = re.match(r'(\w+)@', name)
        return imported[1] if imported else address - offset_in(name)

    def reach(self, addresses):
        """Imports that can be reached, each with one way there; and the functions on the ways."""
        queue = collections.deque((address, ()) for address in sorted(addresses))
        seen = set()
        imports = {}
        while queue:
            address, way = queue.popleft()
            if isinstance(address, str):
                imports.setdefault((address, way[-1]), way)
            elif address in self.name_at and address not in seen:
                seen.add(address)
                name = self.name_at[address].split('.')[0]
                if name in OFFLINE:
                    continue
                queue.extend((to, way + (name,)) for to in self.mentions[address])
                if '.resolver' in self.name_at[address]:
                    queue.extend((to, way) for to in self.addresses[name])
        return imports, seen


def offset_in(name):
    offset = re.search(r'\+0x([0-9a-f]+)$', name)
    return int(offset[1], 16) if offset else 0


def main():
    source, path = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not shutil.which('objdump') or platform.machine() != 'x86_64':
        print('skipped: needs objdump and x86-64')
        return 77
    program = Program(path)
    public = global_functions(path)
    failed = False
    for root, wanted in CONTROLS.items():
        if wanted not in {name for name, _ in program.reach(program.addresses[root])[0]}:
            print(f'control: {root}() calls {wanted}(), and the search does not find it')
            failed = True

    declared, named = roots(source)
    begin = {a for name in declared for a in program.addresses[name] if a in public}
    begin |= {a for name in named for a in program.addresses[name]}
    imports, seen = program.reach(begin)
    for (name, caller), way in sorted(imports.items()):
        if name not in ALLOWED or (ALLOWED[name] and caller not in ALLOWED[name]):
            print(f'{name}: {" > ".join(way)}')
            failed = True
    missing = [name for name in sorted(declared | named) if not program.addresses[name]]
    print(f'{len(declared | named)} functions reach {len(seen)}, and of libraries:',
          ' '.join(sorted({name for name, _ in imports})))
    if failed:
        print('these calls are not in ALLOWED; add only functions that never allocate, lock, wait or call the kernel')
    if missing:
        print('inlined:', ' '.join(missing))
    return 1 if failed or len(missing) > 5 else 0


if __name__ == '__main__':
    sys.exit(main())
