# SPDX-License-Identifier: GPL-3.0-or-later
"""References of tests/dsp_cpu/test_fir_design.c: the taps of scipy.signal.firwin, as C initialisers."""

from pathlib import Path

from scipy.signal import firwin

# Band, edges as parts of half the rate (0: none), taps, window, beta.
CASES = [
    ("LOWPASS", 0.25, 0, 31, "HANN", 0),
    ("LOWPASS", 0.1, 0, 3, "HAMMING", 0),
    ("LOWPASS", 0.01, 0, 64, "BLACKMAN", 0),
    ("LOWPASS", 0.9, 0, 63, "KAISER", 8.6),
    ("HIGHPASS", 0.003, 0, 129, "HAMMING", 0),
    ("HIGHPASS", 0.6, 0, 41, "BLACKMANHARRIS", 0),
    ("BANDPASS", 0.1, 0.4, 75, "KAISER", 3.2),
    ("BANDPASS", 0.2, 0.21, 128, "HANN", 0),
    ("BANDSTOP", 0.3, 0.5, 51, "BLACKMAN", 0),
    ("BANDSTOP", 0.02, 0.97, 101, "KAISER", 40.0),
]


def taps(band, low, high, n_taps, window, beta):
    edges = [low, high] if high else low
    shape = ("kaiser", beta) if window == "KAISER" else window.lower()
    return firwin(n_taps, edges, window=shape, pass_zero=band.lower(), scale=True)


def main():
    lines = ["// SPDX-License-Identifier: GPL-3.0-or-later", "// Made by make_firwin.py."]
    for case in CASES:
        band, low, high, n_taps, window, beta = case
        values = ", ".join(f"{tap:.17g}" for tap in taps(*case))
        lines.append(
            f"{{ {{ FIR_{band}, {low:.17g}, {high:.17g}, {n_taps}, FIR_{window}, {beta:.17g} }},\n  {{ {values} }} }},"
        )
    (Path(__file__).parent / "firwin.inc").write_text("\n".join(lines) + "\n")


main()
