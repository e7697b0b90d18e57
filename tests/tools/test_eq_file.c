// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of equalisers become a readable rack; a line without an equivalent effect is refused
// or reported.  acceptance/import_eq.py compares the sound of the racks.

#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tools/eq_curve.h"
#include "tools/eq_file.h"
#include "tools/eq_line.h"
#include "tools/rack_arg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char notes[2048];

static void
keep_note(void* const context, const char* const text)
{
  (void)context;
  const size_t n = strlen(notes);
  snprintf(notes + n, sizeof(notes) - n, "%s\n", text);
}

/// Import a text and check that the result is a valid rack.  Returns its text; free() it.
static char*
import(const char* const text)
{
  char* rack = NULL;
  notes[0] = '\0';
  OK(eq_file_to_rack(text, "eq.txt", keep_note, NULL, &rack, &error));
  rack_free(rack_of(rack, NULL));
  return rack;
}

static void
imports(const char* const text, const char* const expected)
{
  SCOPED_MEMORY char* const rack = import(text);
  ck_assert_str_eq(rack, expected);
}

TEST(the_preamp_comes_first_and_filters_follow_with_their_numbers)
{
  imports("Filter 1: ON PK Fc 105 Hz Gain 5.5 dB Q 0.70\nPreamp: -6.2 dB\n"
          "Filter 2: OFF PK Fc 1 Hz Gain 0 dB Q 1\nFilter 3: ON NO Fc 50 Hz\nFilter 4: ON None\n"
          "Delay: 2.5 ms\nDelay: 10 samples\nConvolution: my \"big\" room.wav\n",
          "chain preamp: gain -6.2dB |\n"
          "  f1: peaking frequency=105Hz gain=5.5dB q=0.7 |\n"
          "  f3: notch frequency=50Hz q=30 |\n"
          "  d1: delay time=2.5ms mix=100% feedback=0% |\n"
          "  d2: delay time=10frames mix=100% feedback=0% |\n"
          "  c3: convolver \"my \\\"big\\\" room.wav\"\n");
  ck_assert_str_eq(notes, "");
}

TEST(channels_have_chains_of_their_own)
{
  imports(
      "Channel: R\nPreamp: -1 dB\nFilter: ON LP1 Fc 100 Hz\nChannel: 1 3\nFilter: ON HP Fc 50 Hz\n",
      "chain in:1 |\n  ch1_f2: highpass frequency=50Hz order=2 |\n  out:1\n"
      "chain in:2 |\n  ch2_preamp: gain -1dB |\n  ch2_f1: lowpass frequency=100Hz order=1 |\n"
      "  out:2\n"
      "chain in:3 |\n  ch3_f2: highpass frequency=50Hz order=2 |\n  out:3\n");
  imports("Channel: all\nPreamp: -1 dB\n", "chain preamp: gain -1dB\n");
}

TEST(numbers_are_read_in_any_language)
{
  static const char* const texts[] = {
    "Filter: ON PK Fc 1000.5 Hz Gain -2.5 dB Q 1.25\n",
    "Filter: ON PK Fc 1,000.5 Hz Gain -2.5 dB Q 1.25\n",
    "Filter: ON PK Fc 1.000,5 Hz Gain -2,5 dB Q 1,25\n",
    "Filter: ON PK Fc 1\xC2\xA0"
    "000,5 Hz Gain \xE2\x88\x92"
    "2,5 dB Q 1,25\n",
    "Filter: ON PK Fc 1\xE2\x80\xAF"
    "000,5\xC2\xA0Hz Gain -2,5 dB Q 1,25\r\n",
    "\xEF\xBB\xBF"
    "filter:on peq q1.25 gain-2.5dB fc1.0005kHz",
  };
  for (unsigned t = 0; t < ARRAY_LEN(texts); ++t) {
    imports(texts[t], "chain f1: peaking frequency=1000.5Hz gain=-2.5dB q=1.25\n");
  }
  imports("Filter: ON LP Fc 8.000 Hz\nFilter: ON PK Fc 50 Hz Gain -1,5 dB Q 2\n",
          "chain f1: lowpass frequency=8000Hz order=2 |\n"
          "  f2: peaking frequency=50Hz gain=-1.5dB q=2\n");
  imports("Filter: ON LP Fc 8.000 Hz\n", "chain f1: lowpass frequency=8Hz order=2\n");
}

TEST(unsupported_lines_are_refused_with_their_number)
{
  static const struct {
    const char* line;
    const char* reason;
  } lines[] = {
    { "Filter 1: ON XY Fc 100 Hz", "filters of type 'XY' cannot" },
    { "Filter 1: ON IIR Order 2 Coefficients 1 0 0 1 0 0", "cannot be imported" },
    { "Filter 1: ON", "filters of type ''" },
    { "Filter 1: PK Fc 100 Hz Gain 1 dB Q 1", "is ON or OFF" },
    { "Filter 1: ON PK Gain 1 dB Q 1", "'PK' needs Fc" },
    { "Filter 1: ON PK Fc 0 Hz Gain 1 dB Q 1", "'PK' needs Fc" },
    { "Filter 1: ON PK Fc 100 Hz Q 1", "'PK' needs Gain" },
    { "Filter 1: ON PK Fc 100 Hz Gain 1 dB", "'PK' needs Q and a number above 0" },
    { "Filter 1: ON AP Fc 100 Hz", "'AP' needs Q and a number above 0" },
    { "Filter 1: ON PK Fc 100 Hz Gain 1 dB Q 1 Foo 3", "'Foo' is not understood" },
    { "Filter 1: ON PK Fc 100 Hz Gain 99 dB Q 1", "gain 99dB: peaking takes -60 to 40dB" },
    { "Filter 1: ON PK Fc 1e9 Hz Gain 1 dB Q 1", "peaking takes 1 to 192000Hz" },
    { "Filter 1: ON PK Fc 100 Hz Gain 1 dB Q 1e9", "peaking takes 0.05 to 200" },
    { "Filter 1: ON PK Fc 100 Hz Gain 1 dB Q 1 BW Oct 2", "more than one" },
    { "Filter 1: ON LP 6dB Fc 100 Hz", "a width that it cannot have" },
    { "Filter 1: ON LSC 60 dB Fc 100 Hz Gain 20 dB", "as steep as this" },
    { "Filter 1: ON LS 0.0001 dB Fc 100 Hz Gain 30 dB", "frequency infHz: lowshelf takes 1" },
    { "Preamp: loud", "needs a gain" },
    { "Preamp: 3 dB 4", "needs a gain" },
    { "Preamp: 400 dB", "-120 to 40 dB" },
    { "Channel: X", "'X' is no channel" },
    { "Channel:", "needs a channel" },
    { "Channel: 65", "'65' is no channel" },
    { "Delay: 3", "ms or samples" },
    { "Delay: -3 ms", "0 to 60000" },
    { "GraphicEQ:", "no points" },
    { "GraphicEQ: 20 1; x 2", "point 2" },
    { "GraphicEQ: 20 1; 20 2", "point 2 of GraphicEQ has no higher" },
    { "Convolution:", "name of a file" },
    { "Include: other.txt", "cannot be imported" },
    { "Copy: L=R", "cannot be imported" },
    { "If: sampleRate == 48000", "cannot be imported" },
    { "", "no filter in it that is on" },
    { "Filter 1: ON \x1B[2J\xE2\x80\xAE Fc 100 Hz", "filters of type '?[2J" },
  };
  for (unsigned l = 0; l < ARRAY_LEN(lines); ++l) {
    char text[256];
    char place[16] = "eq.txt:3: ";
    char* rack = NULL;
    Error error = { STATUS_OK, "" };
    snprintf(text, sizeof(text), "# one\n\n%s\n", lines[l].line);
    ck_assert_msg(eq_file_to_rack(text, "eq.txt", keep_note, NULL, &rack, &error) == STATUS_FILE,
                  "'%s' was imported, although it is invalid", lines[l].line);
    ck_assert_ptr_null(rack);
    place[lines[l].line[0] ? 10 : 7] = '\0';
    ck_assert_msg(!strncmp(error.text, lines[l].line[0] ? place : "eq.txt: ", strlen(place)) &&
                      strstr(error.text, lines[l].reason),
                  "%s: %s", lines[l].line, error.text);
  }
}

TEST(lines_without_audible_effect_are_noted_with_their_number)
{
  static const struct {
    const char* line;
    const char* said; ///< Part of the note; "": no note
  } lines[] = {
    { "Device: speakers", "eq.txt:1: a rack has no devices" },
    { "Stage: pre-mix", "eq.txt:1: a rack has no devices" },
    { "hello", "eq.txt:1: this line is not understood" },
    { "Filter: ON LP Fc 100 Hz Gain 3 dB", "eq.txt:1: the Gain of 'LP'" },
    { "Filter: ON LS Q Fc 100 Hz Gain 3 dB Q 0.7",
      "eq.txt:1: Fc of 'LS Q' is taken as the corner" },
    { "Filter: ON PK Fc 9000 Hz Gain 3 dB BW Oct 1", "eq.txt:1: BW is that" },
    { "Channel: SL\nFilter: ON LP Fc 9 Hz\nChannel: all", "eq.txt:1: channel SL is taken as 7" },
    { "GraphicEQ: 20 0; 1000 0; 1001 20; 2000 0", "differ from the curve by up to" },
    { "# a comment\n* and one\n\n", "" },
    { "Filter Settings file\n\nRoom EQ V5.20\nNotes: x\nEqualiser: Generic\nMy room", "" },
  };
  for (unsigned l = 0; l < ARRAY_LEN(lines); ++l) {
    char text[256];
    snprintf(text, sizeof(text), "%s\nFilter 9: ON PK Fc 100 Hz Gain 1 dB Q 1\n", lines[l].line);
    free(import(text));
    ck_assert_msg(*lines[l].said ? !!strstr(notes, lines[l].said) : !*notes, "%s: %s",
                  lines[l].line, notes);
  }
}

TEST(a_curve_is_interpolated_between_its_points_and_flat_outside)
{
  static const EqPoint points[] = { { 100.0, -6.0 }, { 1000.0, 3.0 }, { 5000.0, -3.0 } };
  static const EqPoint one[] = { { 1000.0, -5.0 } };
  EqCurve curve;
  eq_curve_fit(points, ARRAY_LEN(points), &curve);
  ck_assert_double_le(curve.worst_db, 0.5);
  eq_curve_fit(one, 1, &curve);
  ck_assert_double_eq_tol(curve.gain_db, -5.0, 1e-9);
  ck_assert_double_le(curve.worst_db, 1e-9);
}

TEST(the_command_prints_a_rack_or_one_message)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "ParametricEQ.txt");
  static const char good[] = "Preamp: -1 dB\nFilter 1: ON PK Fc 100 Hz Gain 1 dB Q 1\n";
  scratch_write(&scratch, "ParametricEQ.txt", good, strlen(good));
  RUN_GOOD("import", path);
  ck_assert_str_eq(program.out, "chain preamp: gain -1dB |\n"
                                "  f1: peaking frequency=100Hz gain=1dB q=1\n");
  ck_assert_str_eq(program.err, "");
  scratch_write(&scratch, "ParametricEQ.txt", "Filter 1: ON ZZ\n", 16);
  RUN("import", path);
  ck_assert_int_eq(program.exit_code, 5);
  ck_assert_str_eq(program.out, "");
  assert_says(program.err, "ParametricEQ.txt:1: filters of type 'ZZ'");
  RUN("import");
  ck_assert_int_eq(program.exit_code, 2);
}

SUITE_MAIN("eq_file")
