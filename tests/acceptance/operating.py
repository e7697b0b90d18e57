# SPDX-License-Identifier: GPL-3.0-or-later
"""OPERATING.md names all keys, notifications, events (with their levels) and exit codes of the program, and no
others."""

import pathlib
import re

from seen import *

PAGE = pathlib.Path(__file__).parents[2] / "control" / "OPERATING.md"
OF_LINES = {"event", "level", "uptime_s", "text", "left_out", "why", "osc_port"}  # only in log lines


def rows(text, heading):
    """The cells of all table rows between this heading of the second level and the next one."""
    section = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL).group(1)
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(cell):
    return set(re.findall(r"`([^`]+)`", cell))


def described(text):
    """All names in OPERATING.md, as (kind, name)."""
    found = {("key", name) for row in rows(text, "Keys of `/server/status`") for name in quoted(row[0])}
    found |= {("news", name) for row in rows(text, "News for subscribers") for name in quoted(row[0])}
    for cells in rows(text, "Events"):
        interval = "10 s" if cells[0].endswith("*") else "1 s"
        found |= {("event", f"{name}, {cells[1]}, {interval}") for name in quoted(cells[0])}
    return found | {("exit code", row[0]) for row in rows(text, "Exit codes") if row[0].isdigit()}


def there(status):
    """All names in the program, as (kind, name)."""
    found = {("key", key) for key in status} | {("news", name) for name in NAMES["news"]} | {("news", "/node/<node>/<param>")}
    for name, event in NAMES["events"].items():
        found.add(("event", f"{name}, {event['level']}, {10 if event['interval_s'] == 10 else 1} s"))
    return found | {("exit code", str(code)) for code in NAMES["exit_codes"]}


def expect_to_be_found(text, status):
    """Positive control: the comparison detects errors in the page."""
    assert described(text) == there(status)
    for old, new in [
        ("| `muted` |", "| muted |"),
        ("`refused_no_types`, ", ""),
        ("| `muted` |", "| `muted`, `mooted` |"),
        ("| `/server/audio` |", "| `/server/sound` |"),
        ("| `audio.lost` | warning |", "| `audio.lost` | error |"),
        ("| `input.bad` * |", "| `input.bad` |"),
        ("| 5 |", "| 6 |"),
    ]:
        wrong = text.replace(old, new)
        assert wrong != text and described(wrong) != there(status), (old, new)


with scratch(), Live("--io", "dummy", "gain") as live:
    status = live.status()
    live.said("it runs", "status")
    live.stop()
    lines = [json.loads(line) for line in live.output().splitlines() if line.startswith("{")]

text = PAGE.read_text(encoding="utf-8")
wrong = [f"OPERATING.md describes the {kind} {name}, which the program does not have" for kind, name in described(text) - there(status)]
wrong += [f"OPERATING.md lacks the {kind} {name}" for kind, name in there(status) - described(text)]
for line in lines:
    for name in set(line) - set(status) - OF_LINES:
        wrong.append(f"the event {line['event']} has the key '{name}', which is not in /server/status")
print("\n".join(sorted(wrong)) or f"{len(described(text))} names, all described")
assert {"running", "status", "stopped"} <= {line["event"] for line in lines}, lines
if not wrong:
    expect_to_be_found(text, status)
sys.exit(1 if wrong else 0)
