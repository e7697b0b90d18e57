// SPDX-License-Identifier: GPL-3.0-or-later
// Designed taps are those of scipy.signal.firwin (tests/data/make_firwin.py).

#include "dsp_cpu/fir_design.h"
#include "engine/contract/effect.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

#define MAX_TAPS 129U

static const struct {
  FirDesign design;
  double taps[MAX_TAPS];
} cases[] = {
#include "tests/data/firwin.inc"
};

TEST(taps_are_those_of_firwin)
{
  for (size_t c = 0; c < ARRAY_LEN(cases); ++c) {
    double taps[MAX_TAPS];
    fir_design(&cases[c].design, taps);
    for (uint32_t i = 0; i < cases[c].design.n_taps; ++i) {
      ck_assert_msg(fabs(taps[i] - cases[c].taps[i]) < 1e-13, "case %zu tap %u: %.17g, not %.17g",
                    c, i, taps[i], cases[c].taps[i]);
    }
  }
}

SUITE_MAIN("fir_design")
