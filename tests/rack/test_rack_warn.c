// SPDX-License-Identifier: GPL-3.0-or-later
// A warning names what is probably a mistake in a rack; other racks get no warning.

#include "engine/rack/rack.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/// Check that a document at a rate gets exactly these warnings.
static void
expect(const char* const document, const double rate_hz, const char* const lines)
{
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, rate_hz);
  ck_assert_msg(warnings && !strcmp(warnings, lines), "%s\ngives\n%sexpected\n%s", document,
                warnings, lines);
}

#define NO_OUT "nothing reaches out, so the rack is silent; connect a node to out\n"
#define NO_IN  "in reaches nothing, so the rack is silent; connect in to a node\n"
#define SUMMED                                                                                     \
  " chains have the same input and output and are summed; to put them in series, write one "       \
  "chain with | between them\n"

TEST(a_silent_rack_is_reported_with_its_reason)
{
  expect("", 48000.0, "");
  expect("gain | highpass", 48000.0, "");
  expect("add x gain", 48000.0, NO_OUT NO_IN);
  expect("disconnect in out", 48000.0, NO_OUT NO_IN);
  expect("add x gain\nconnect in x", 48000.0, NO_OUT);
  expect("add x gain\nconnect x out", 48000.0, NO_IN);
  expect("add b gain\nadd a gain\nconnect b out\nconnect a b\nconnect in a", 48000.0, "");
  expect("add a gain\nadd b gain\nconnect in a\nconnect b out", 48000.0,
         "no connections lead from in to out, so the rack is silent\n");
}

TEST(summed_chains_are_reported_unless_they_use_other_channels)
{
  expect("chain gain\nchain highpass", 48000.0, "2" SUMMED);
  expect("chain gain\nchain highpass\nchain gain", 48000.0, "3" SUMMED);
  expect("chain in:1-2 | gain | out\nchain in:2 | gain | out:2", 48000.0, "2" SUMMED);
  expect("chain in:1 | gain | out:1\nchain in:2 | gain | out:2", 48000.0, "");
  expect("chain in:1 | gain | out\nchain in:2 | gain | out", 48000.0, ""); // a mixing desk
  expect("chain gain + highpass", 48000.0, "");                            // explicit
  SCOPED_RACK Rack* const rack = rack_of("gain", NULL);
  OK(rack_apply(rack, "chain highpass", "t", &error));
  SCOPED_RACK Rack* const copy = rack_copy(rack);
  SCOPED_MEMORY char* const warnings = rack_warnings(copy, 48000.0);
  ck_assert_str_eq(warnings, "2" SUMMED);
}

TEST(a_frequency_above_nyquist_is_reported)
{
  expect("highpass 12kHz", 24000.0,
         "highpass.frequency is 12000Hz, not below half the rate of 24000Hz; lower it\n");
  expect("highpass 12kHz", 24001.0, "");
  expect("highpass 12kHz", 0.0, ""); // 0.0: the rate is not known yet
  expect("highpass", 1000.0, "");    // an initial value is not the user's mistake
}

TEST(a_short_time_without_a_unit_is_reported)
{
  expect("delay 1 | delay 1.5", 48000.0, "");
  expect("delay 1500us", 48000.0, "");
  expect("phaser 0.5 | delay feedback=0.5", 48000.0, "");
  SCOPED_RACK Rack* const rack = rack_of("d: delay 0.002s", NULL);
  SCOPED_MEMORY char* warnings = rack_warnings(rack, 48000.0);
  ck_assert_str_eq(warnings, "");
}

SUITE_MAIN("rack_warn")
