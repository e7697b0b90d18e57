#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the quotations in the documents equal to their sources.

    tools/docs.py PROGRAM            writes the quotations
    tools/docs.py --check PROGRAM    changes nothing; exit status 1 when a quotation differs from its source, a
                                     relative link leads nowhere, README.md names an OSC address that
                                     control/OSC.md does not describe, or a line of Markdown that is no row
                                     of a table is wider than 120 columns

README.md quotes racks, each in the fenced block after a comment `content of: FILE`.  tools/COMMANDS.md
ends with the help of every subcommand and benchmark, after the comment that names this script.
"""

import pathlib
import re
import subprocess
import sys

QUOTATION = re.compile(r"(<!-- content of: (.*?) -->\n```text\n).*?(```\n)", re.DOTALL)
COLUMNS = 120
HELP_BEGINS = "<!-- From here on written by tools/docs.py: repair with tools/check docs. -->\n"


def content_of(path):
    """The content of a file without its licence line."""
    lines = pathlib.Path(path).read_text().splitlines(keepends=True)
    return "".join(line for line in lines if "SPDX-License-Identifier" not in line)


def with_quotations(text):
    return QUOTATION.sub(lambda m: m.group(1) + content_of(m.group(2)) + m.group(3), text)


def with_help(text, program):
    def output_of(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout

    commands = re.findall(r"^  ([a-z]+) ", output_of("--help"), re.MULTILINE)
    commands += ["bench " + name for name in re.findall(r"^([a-z-]+)", output_of("bench"), re.MULTILINE)]
    parts = [f"\n## {name}\n\n```text\n{output_of(*name.split(), '--help')}```\n" for name in commands]
    return text[: text.index(HELP_BEGINS)] + HELP_BEGINS + "".join(parts)


QUOTING = {
    "README.md": lambda text, program: with_quotations(text),
    "tools/COMMANDS.md": with_help,
}


def renew(program):
    for name, source in QUOTING.items():
        document = pathlib.Path(name)
        text = document.read_text()
        renewed = source(text, program)
        if renewed != text:
            document.write_text(renewed)
            print(f"{name}: quotations renewed")


def stale_quotations(program):
    for name, source in QUOTING.items():
        text = pathlib.Path(name).read_text()
        if source(text, program) != text:
            yield f"{name}: a quotation differs from its source; repair with tools/check docs"


def documents():
    return [*pathlib.Path(".").glob("*.md"), *pathlib.Path(".").glob("[!b.]*/**/*.md")]


def long_lines():
    for document in documents():
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
            if len(line) > COLUMNS and not line.startswith("|"):
                yield f"{document}:{number}: {len(line)} columns; at most {COLUMNS}, except in rows of tables"


def dead_links():
    for document in documents():
        for link in re.findall(r"\]\(([^)#]+)", document.read_text()):
            if "://" not in link and not (document.parent / link).exists():
                yield f"{document}: a link to '{link}', which is not there"


def unknown_addresses():
    described = pathlib.Path("control/OSC.md").read_text()
    for address in re.findall(r"`(/[a-z]+/[^` ]+)`", pathlib.Path("README.md").read_text()):
        if address not in described:
            yield f"README.md: {address} is not in control/OSC.md"


def main():
    program = str(pathlib.Path(sys.argv[-1]).resolve())
    if sys.argv[1] != "--check":
        renew(program)
        return 0
    wrong = [*stale_quotations(program), *dead_links(), *unknown_addresses(), *long_lines()]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
