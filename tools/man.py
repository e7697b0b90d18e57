#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the manual page to stdout, from the output of the program and from README.md.

    tools/man.py PROGRAM README RACKS DOCUMENTS

Subcommands, options, choices, ranges, exit codes and effects are those of the program's tables, as `--help` and `list` print
them.  Examples, racks and OSC are sections of README.  RACKS and DOCUMENTS are the folders in which both are installed.
"""

import pathlib
import re
import subprocess
import sys

PROGRAM, README, RACKS, DOCUMENTS = sys.argv[1:]
HELP_COLUMN = 26  # tools/options.c


def output_of(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


# ---- roff ----


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    text = text.replace("~", "\\(ti").replace("…", "...")
    return re.sub(r"^\.", "\\\\&.", text, flags=re.MULTILINE)


def formatted(text):
    """A paragraph of Markdown, on one line."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(text.split()))
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text)
    return "".join(f"\\fB{escaped(p.strip('`*'))}\\fR" if p[:1] == "`" or p[:2] == "**" else escaped(p) for p in parts)


def item(head, text):
    return f".TP\n{head}\n{text}\n"


def verbatim(lines):
    return ".PP\n.RS 4\n.nf\n" + "".join(escaped(line) + "\n" for line in lines) + ".fi\n.RE\n"


# ---- the program's output ----


def read_options(lines):
    """Options of a help text: (syntax, description)."""
    options = []
    for line in lines:
        if re.match(r"  (-., |    )--", line):
            options.append([line[:HELP_COLUMN].strip(), line[HELP_COLUMN:]] if len(line) > HELP_COLUMN and line[HELP_COLUMN - 1] == " "
                           else [line.strip(), ""])  # fmt: skip
        elif line.startswith(" " * HELP_COLUMN) and options:
            options[-1][1] += line.strip()
    return options


def option_head(written):
    """`-p, --osc-port N`: names bold, values in italics."""
    return re.sub(r"(-{1,2}[^ ,]+)( [^-,][^,]*)?", lambda m: f"\\fB{escaped(m.group(1))}\\fR" +
                  (f" \\fI{escaped(m.group(2).strip())}\\fR" if m.group(2) else ""), written)  # fmt: skip


def command_section(name):
    lines = output_of(name, "--help").splitlines()
    usage, summary = lines[0].removeprefix("usage: "), lines[2]
    options = read_options(lines)
    text = f".SS {escaped(usage)}\n{escaped(summary)}\n"
    text += "".join(item(option_head(written), escaped(meaning)) for written, meaning in options)
    notes = [line for line in lines[3:] if line and not line.startswith(" ")]
    return text + "".join(f".PP\n{escaped(note)}\n" for note in notes)


def read_table(text):
    """Lines of two columns, indented by two blanks or not at all."""
    return re.findall(r"^ {0,2}([a-z][a-z0-9-]*) +(\S.*)$", text, re.MULTILINE)


# ---- sections of README ----


def readme_section(title):
    text = re.search(rf"^## {title}\n(.*?)^##", pathlib.Path(README).read_text(), re.MULTILINE | re.DOTALL)
    return text.group(1)


def readme_blocks(text):
    """Paragraphs, tables of addresses and indented lines as roff; fenced blocks and headings in bold end the text."""
    for block in re.split(r"\n\n+", text.strip()):
        if block.startswith(("**", "```", "<!--")):
            return
        if block.startswith("    "):
            yield verbatim(line[4:].replace("build/warprack", "warprack") for line in block.splitlines())
        elif block.startswith("|"):
            for row in block.splitlines()[2:]:
                cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
                yield item(f"{formatted(cells[0])} {formatted(cells[1])}".strip(), formatted(cells[2]))
        else:
            yield f".PP\n{formatted(block)}\n"


def examples():
    blocks = list(readme_blocks(readme_section("First sound")))
    return "".join(block for block in blocks if ".nf" in block)


# ---- the page ----


def page():
    text = output_of("--help")
    about = text.splitlines()[2]
    commands = read_table(text.split("\n\n")[2])
    codes = re.search(r"^Exit status: (.*)\.$", text, re.MULTILINE).group(1).split(", ")
    version = output_of("--version").split()[1]
    yield '.\\" SPDX-License-Identifier: GPL-3.0-or-later\n.\\" Written by tools/man.py.\n'
    yield f'.TH WARPRACK 1 "" "warprack {version}" "User Commands"\n.nh\n.ad l\n'
    yield f".SH NAME\nwarprack \\- {escaped(about[0].lower() + about[1:].rstrip('.'))}\n"
    yield ".SH SYNOPSIS\n" + "".join(f".B {escaped(output_of(name, '--help').splitlines()[0].removeprefix('usage: '))}\n.br\n" for name, _ in commands)
    yield ".SH COMMANDS\n" + "".join(command_section(name) for name, _ in commands)
    yield ".SH EXAMPLES\n" + examples()
    yield ".SH RACKS\n" + next(readme_blocks(readme_section("Racks")))
    yield ".SH EFFECTS\n" + "".join(item(f"\\fB{escaped(name)}\\fR", escaped(meaning)) for name, meaning in read_table(output_of("list", "effects")))
    yield ".SH OSC\n" + "".join(readme_blocks(readme_section("OSC")))
    yield ".SH EXIT STATUS\n" + "".join(item(*code.split(" ", 1)) for code in codes)
    yield ".SH FILES\n"
    yield item("\\fI/etc/default/warprack\\fR, \\fI~/.config/warprack.conf\\fR", "options of the system's and of a user's service: WARPRACK_OPTIONS=...")
    yield item(f"\\fI{escaped(RACKS)}\\fR", "racks that are ready to use")
    yield item(f"\\fI{escaped(DOCUMENTS)}\\fR", "the whole documentation; start with README.md")
    yield ".SH SEE ALSO\n.BR oscsend (1),\n.BR systemctl (1)\n"


sys.stdout.write("".join(page()))
