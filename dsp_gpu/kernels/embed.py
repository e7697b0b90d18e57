#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the kernels' sources as C arrays: embed.py OUTPUT DIALECT KERNEL..."""

import pathlib
import sys

HEAD = """// Written by dsp_gpu/kernels/embed.py.
#include "gpu_compile.h"
"""


def array(name, path):
    data = path.read_bytes() + b"\0"
    lines = [", ".join(map(str, data[i : i + 24])) for i in range(0, len(data), 24)]
    return f"\nstatic const char {name}[] = {{\n  " + ",\n  ".join(lines) + "\n};\n"


def main():
    output, dialect, *kernels = map(pathlib.Path, sys.argv[1:])
    text = HEAD + array("dialect", dialect) + "\nconst char* const gpu_dialect = dialect;\n"
    for number, kernel in enumerate(kernels):
        text += array(f"kernel_{number}", kernel)
    rows = "".join(f'  {{ "{kernel.name}", kernel_{i} }},\n' for i, kernel in enumerate(kernels))
    text += f"\nconst GpuSource gpu_sources[] = {{\n{rows}}};\n"
    text += f"const uint32_t gpu_n_sources = {len(kernels)}U;\n"
    output.write_text(text)


main()
