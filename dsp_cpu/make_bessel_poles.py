#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes bessel_poles.h: the roots of the reverse Bessel polynomials, to 40 digits (needs python3-mpmath).

    theta_N(s) = sum over k of (2N - k)! / (2^(N - k) k! (N - k)!) s^k

scaled so that their product is 1, which is SciPy's norm='phase'.  W. E. Thomson, "Delay networks having
maximally flat frequency characteristics", Proc. IEE 96 (1949); E. Grosswald, "Bessel Polynomials" (1978).
"""

from mpmath import factorial, mp, mpf, polyroots

MAX_ORDER = 16
mp.dps = 40


def poles(order):
    theta = [factorial(2 * order - k) / (mpf(2) ** (order - k) * factorial(k) * factorial(order - k))
             for k in range(order, -1, -1)]
    scale = theta[-1] ** (mpf(1) / order)
    return [root / scale for root in polyroots(theta, maxsteps=500, extraprec=400)]


def upper(order):
    """The poles on and above the real axis, from the highest Q to the lowest."""
    kept = [p for p in poles(order) if p.imag > -mpf(10) ** -30]
    return sorted(kept, key=lambda p: -p.real / abs(p))


print("""// SPDX-License-Identifier: GPL-3.0-or-later
// Poles of the Bessel filters of order 1 to 16, on and above the real axis, from the highest Q to
// the lowest; their product over all poles of an order is 1.  Written by make_bessel_poles.py.
#ifndef WARPRACK_DSP_CPU_BESSEL_POLES_H
#define WARPRACK_DSP_CPU_BESSEL_POLES_H

// clang-format off
/// { real, imaginary } parts: row [order - 1], entry [pole]
static const double bessel_poles[16][8][2] = {""")
for order in range(1, MAX_ORDER + 1):
    print("  {")
    for p in upper(order):
        imaginary = p.imag if p.imag > mpf(10) ** -30 else mpf(0)
        print("    { %r, %r }," % (float(p.real), float(imaginary)))
    print("  },")
print("""};
// clang-format on

#endif""")
