#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second table of engine/GLOSSARY.md and the headers of engine/ agree: glossary.py ROOT PROGRAM

Fails if a header declares a type that is not in a row of the table with that header, or a function whose prefix the
table does not list.  Fails also if the table names a prefix, a type or a header that does not exist."""

import pathlib
import re
import sys

ENGINE = pathlib.Path(sys.argv[1]) / "engine"


def declarations(header):
    """The types and the functions in a header."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", "", header.read_text(), flags=re.S)
    text = re.sub(r"^\s*#.*", "", text, flags=re.M)
    types = set(re.findall(r"typedef (?:struct|enum|union) (\w+)", text))
    types |= set(re.findall(r"typedef [^;{]*?\(\*(\w+)\)", text)) | set(re.findall(r"typedef \w+ (\w+);", text))
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", ";", text)
    text = re.sub(r"__attribute__\(\(.*?\)\)|typedef[^;]*;|_Static_assert[^;]*;", "", text)
    return types, {match[1] for match in re.finditer(r"(?:^|;)[^;(]*?\b([a-z]\w*)\s*\(", text)}


def table():
    """The rows of the table: prefixes, types, headers."""
    for line in (ENGINE / "GLOSSARY.md").read_text().partition("| prefix | types |")[2].splitlines()[2:]:
        prefixes, types, headers = line.split("|")[1:4]
        yield set(re.findall(r"`(\w+_)`", prefixes)), set(re.findall(r"`(\w+)`", types)), set(re.findall(r"[\w/]+\.h", headers))


def faults():
    declared = {str(path.relative_to(ENGINE)): declarations(path) for path in sorted(ENGINE.rglob("*.h"))}
    rows = list(table())
    prefixes = set().union(*(row[0] for row in rows))
    for header, (types, functions) in declared.items():
        for name in sorted(types - set().union(*(row[1] for row in rows if header in row[2]))):
            yield f"{header} declares {name}, which engine/GLOSSARY.md does not list with this header"
        for name in sorted(functions):
            if not any(name.startswith(prefix) or name == prefix[:-1] for prefix in prefixes):
                yield f"{header} declares {name}(), whose prefix engine/GLOSSARY.md does not list"
    functions = set().union(*(functions for _, functions in declared.values()))
    for prefix in sorted(prefixes):
        if not any(name.startswith(prefix) for name in functions):
            yield f"engine/GLOSSARY.md lists {prefix}, but no function has this prefix"
    for _, types, headers in rows:
        for header in sorted(headers - set(declared)):
            yield f"engine/GLOSSARY.md names {header}, which does not exist"
        there = set().union(*(declared[header][0] for header in headers & set(declared)))
        for name in sorted(types - there):
            yield f"engine/GLOSSARY.md: {name} is not in {' '.join(sorted(headers))}"


found = list(faults())
print("\n".join(found))
sys.exit(bool(found))
