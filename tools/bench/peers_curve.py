# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the curves of tools/bench/peers: SVG, and PNG if rsvg-convert (package librsvg2-bin) is installed."""

import math
import shutil
import subprocess
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, UPPER, LOWER = 760, 440, 70, 30, 40, 70
COLOURS = ["#c0392b", "#2471a3", "#1e8449", "#7d3c98", "#b9770e"]


def ticks(low, high):
    """Powers of ten from below the lowest to above the highest value."""
    return [10.0**n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def draw(file, title, lines, remark):
    """lines: name of a side -> [(x, y)], all above 0.  Both axes are logarithmic."""
    points = [point for line in lines.values() for point in line]
    if not points:
        return
    x_low, x_high = min(x for x, _ in points), max(x for x, _ in points)
    y_ticks = ticks(min(y for _, y in points), max(y for _, y in points))

    def place(x, y):
        across = math.log(x / x_low) / (math.log(x_high / x_low) or 1.0)
        up = math.log(y / y_ticks[0]) / (math.log(y_ticks[-1] / y_ticks[0]) or 1.0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - LOWER - up * (HEIGHT - UPPER - LOWER)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>']
    for y in y_ticks:
        _, at = place(x_low, y)
        out.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ccc"/><text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in sorted({x for x, _ in points}):
        at, _ = place(x, y_ticks[0])
        out.append(f'<path d="M{at:.1f} {UPPER}V{HEIGHT - LOWER}" stroke="#eee"/>'
                   f'<text x="{at:.1f}" y="{HEIGHT - LOWER + 18}" font-size="11" text-anchor="middle">{x:g}</text>')
    for i, (side, line) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        at = [place(x, y) for x, y in sorted(line)]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
        out.append(f'<text x="{LEFT + 10 + 160 * i}" y="{HEIGHT - 28}" fill="{colour}">{escape(side)}</text>')
    out.append(f'<text x="{LEFT}" y="{HEIGHT - 8}" font-size="10" fill="#666">{escape(remark)}</text></svg>')
    with open(file, "w", encoding="utf-8") as svg:
        svg.write("\n".join(out) + "\n")
    if shutil.which("rsvg-convert"):
        subprocess.run(["rsvg-convert", "-o", file.removesuffix(".svg") + ".png", file], check=True)
