# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the curves of tools/bench/peers: SVG, and PNG if rsvg-convert (package librsvg2-bin) is installed."""

import math
import shutil
import subprocess
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, UPPER, LOWER = 900, 600, 140, 60, 100, 120
COLOURS = ["#c0392b", "#2471a3", "#1e8449", "#7d3c98", "#b9770e"]


def ticks(low, high):
    """1, 2, 5, 10 ... from below the lowest to above the highest value."""
    values = [m * 10.0**n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    return [v for v, above in zip(values, values[1:]) if above > low and v < high] + [min(v for v in values if v >= high)]


def draw(file, title, x_name, y_name, lines, remark):
    """lines: name of a side -> [(x, y)], all above 0.  Both axes are logarithmic."""
    points = [point for line in lines.values() for point in line]
    x_low, x_high = min(x for x, _ in points), max(x for x, _ in points)
    y_ticks = ticks(min(y for _, y in points), max(y for _, y in points))
    right, bottom = WIDTH - RIGHT, HEIGHT - LOWER

    def place(x, y):
        across = math.log(x / x_low) / (math.log(x_high / x_low) or 1.0)
        up = math.log(y / y_ticks[0]) / (math.log(y_ticks[-1] / y_ticks[0]) or 1.0)
        return LEFT + across * (right - LEFT), bottom - up * (bottom - UPPER)

    def text(x, y, words, size=20, anchor="middle", more=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {more}>{escape(words)}</text>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', text(LEFT, 36, title, 24, "start")]
    for y in y_ticks:
        at = place(x_low, y)[1]
        out += [f'<path d="M{LEFT} {at:.1f}H{right}" stroke="#ccc"/>', text(LEFT - 10, at + 7, f"{y:,g}", anchor="end")]
    last = math.inf
    for x in sorted({x for x, _ in points}, reverse=True):
        at = place(x, y_ticks[0])[0]
        out.append(f'<path d="M{at:.1f} {UPPER}V{bottom}" stroke="#ddd"/>')
        width = 6.5 * len(f"{x:,g}")  # half of the text's
        if at + width < last:
            out.append(text(at, bottom + 28, f"{x:,.0f}"))
            last = at - width
    out += [text((LEFT + right) / 2, bottom + 62, x_name), text(30, (UPPER + bottom) / 2, y_name, more=f'transform="rotate(-90 30 {(UPPER + bottom) / 2})"')]
    across = LEFT
    for colour, (side, line) in zip(COLOURS, lines.items()):
        at = [place(x, y) for x, y in sorted(line)]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="3" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>' for x, y in at]
        out += [f'<path d="M{across} 70h36" stroke="{colour}" stroke-width="3"/><circle cx="{across + 18}" cy="70" r="5" fill="{colour}"/>',
                text(across + 46, 77, side, anchor="start")]
        across += 46 + 12 * len(side) + 30
    out += [text(LEFT, HEIGHT - 14, remark, 13, "start", 'fill="#666"'), "</svg>"]
    with open(file, "w", encoding="utf-8") as svg:
        svg.write("\n".join(out) + "\n")
    if shutil.which("rsvg-convert"):
        subprocess.run(["rsvg-convert", "-o", file.removesuffix(".svg") + ".png", file], check=True)
