// SPDX-License-Identifier: GPL-3.0-or-later
// The hint for an unknown word is the name that the user meant, or the list of all names.

#include "engine/base/hint.h"
#include "engine/base/status.h"
#include "tests/support/suite.h"

#include <string.h>

static const char* const effects[] = { "convolver", "gain", "highpass", "lowpass", "peaking" };
static const char* const params[] = { "size", "decay", "frequency", "mix", "backend" };

TEST(the_nearest_name_is_found_by_case_synonym_letters_and_beginning)
{
  static const struct {
    const char* const* names;
    const char *wrong, *right;
  } rows[] = {
    { effects, "gian", "gain" },
    { effects, "lopass", "lowpass" },
    { effects, "HIGHPASS", "highpass" },
    { effects, "Lopass", "lowpass" },
    { effects, "eq", "peaking" },
    { effects, "equalizer", "peaking" },
    { effects, "HPF", "highpass" },
    { effects, "volume", "gain" },
    { effects, "conv", "convolver" },
    { effects, "high", "highpass" },
    { effects, "g", "gain" },
    { effects, "peakingfilter", "peaking" },
    { params, "wet", "mix" },
    { params, "Dry", "mix" },
    { params, "freq", "frequency" },
    { params, "cutoff", "frequency" },
    { params, "deacy", "decay" },
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const char* const near = nearest_name(rows[r].wrong, rows[r].names, 5);
    ck_assert_msg(near && !strcmp(near, rows[r].right), "%s: %s", rows[r].wrong,
                  near ? near : "nothing");
  }
}

TEST(a_word_far_from_all_names_gets_the_list)
{
  char hint[HINT_BYTES];
  static const char* const far[] = { "tremolo", "reverb", "x", "", "wet" };
  for (size_t f = 0; f < ARRAY_LEN(far); ++f) {
    ck_assert_msg(!nearest_name(far[f], effects, 5), "%s", far[f]);
    ck_assert_str_eq(name_hint(hint, far[f], effects, 5),
                     "one of convolver, gain, highpass, lowpass, peaking");
  }
  ck_assert_str_eq(name_hint(hint, "gian", effects, 5), "did you mean \"gain\"?");
  ck_assert_str_eq(name_hint(hint, "gian", NULL, 0), "");
}

TEST(a_statement_is_not_suggested_for_another_word)
{
  static const char* const statements[] = { "chain", "add", "connect", "remove" };
  ck_assert_ptr_null(nearest_name("tremolo", statements, 4));
  ck_assert_str_eq(nearest_name("conect", statements, 4), "connect");
}

TEST(a_long_list_ends_where_the_buffer_does)
{
  const char* names[100];
  for (size_t n = 0; n < ARRAY_LEN(names); ++n) {
    names[n] = "name_of_a_node";
  }
  char hint[HINT_BYTES];
  name_hint(hint, "x", names, (uint32_t)ARRAY_LEN(names));
  ck_assert_uint_lt(strlen(hint), HINT_BYTES);
  ck_assert_str_eq(hint + strlen(hint) - 5U, ", ...");
}

SUITE_MAIN("hint")
