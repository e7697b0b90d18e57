#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the kernels' sources as C arrays: embed.py OUTPUT DEPFILE DIALECT KERNEL...

The compilers at run time read no files, so #include "..." is resolved here, in the kernel's folder or
from the root of the project, with #line directives for their messages.  System headers of files that C includes too are left out.
DEPFILE tells make and ninja which files OUTPUT was made from."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEAD = """// Written by dsp_gpu/kernels/embed.py.
#include "dsp_gpu/gpu_compile.h"
"""


def resolved(path, seen):
    """The lines of a file, with the files that it includes where it does so first."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'#include "(.*)"', line)
        if not include:
            yield "" if line.startswith("#include <") else line
            continue
        inner = (path.parent / include[1]).resolve()
        if not inner.exists():
            inner = ROOT / include[1]
        if inner not in seen:
            seen.add(inner)
            yield f'#line 1 "{inner.name}"'
            yield from resolved(inner, seen)
            yield f'#line {number + 1} "{path.name}"'
        else:
            yield ""


def array(name, path, sources):
    seen = {path.resolve()}
    data = "\n".join(resolved(path, seen)).encode() + b"\n\0"
    lines = [", ".join(map(str, data[i : i + 24])) for i in range(0, len(data), 24)]
    sources |= seen
    return f"\nstatic const char {name}[] = {{\n  " + ",\n  ".join(lines) + "\n};\n"


def main():
    output, depfile, dialect, *kernels = map(pathlib.Path, sys.argv[1:])
    sources = set()
    text = HEAD + array("dialect", dialect, sources) + "\nconst char* const gpu_dialect = dialect;\n"
    for number, kernel in enumerate(kernels):
        text += array(f"kernel_{number}", kernel, sources)
    rows = "".join(f'  {{ "{kernel.name}", kernel_{i} }},\n' for i, kernel in enumerate(kernels))
    text += f"\nconst GpuSource gpu_sources[] = {{\n{rows}}};\n"
    text += f"const uint32_t gpu_n_sources = {len(kernels)}U;\n"
    output.write_text(text)
    files = sorted(str(source).replace(" ", "\\ ") for source in sources)
    depfile.write_text(f"{output}: {' '.join(files)}\n")


main()
