// SPDX-License-Identifier: GPL-3.0-or-later
// warprack check prints a rack again, with its latency and cost, and refuses a wrong one.

#include "support/program.h"
#include "support/suite.h"

#include <jansson.h>
#include <string.h>

static Program program;

static void
assert_refused(const char* const rack, const int exit_code, const char* const said)
{
  PROGRAM_RUN(&program, "check", rack);
  ck_assert_msg(program.exit_code == exit_code, "%s%s", program.out, program.err);
  ck_assert_msg(strstr(program.err, said), "'%s' is not in: %s", said, program.err);
  ck_assert_str_eq(program.out, "");
  program_clear(&program);
}

START_TEST(what_is_printed_is_a_rack_again)
{
  PROGRAM_RUN(&program, "check", "a: gain -6dB | gain 3");
  ck_assert_msg(program.exit_code == 0, "%s", program.err);
  ck_assert_msg(strstr(program.out, "add a gain gain=-6dB"), "%s", program.out);
  ck_assert_msg(strstr(program.out, "\n# needs "), "%s", program.out);
  Program again;
  PROGRAM_RUN(&again, "check", program.out);
  ck_assert_msg(again.exit_code == 0, "%s", again.err);
  const size_t n_text = (size_t)(strchr(program.out, '#') - program.out);
  ck_assert_msg(!strncmp(program.out, again.out, n_text), "%s", again.out);
  program_clear(&again);
  program_clear(&program);
}
END_TEST

START_TEST(json_has_the_figures)
{
  PROGRAM_RUN(&program, "check", "--json", "--block", "64", "--channels", "8", "gain -6dB");
  ck_assert_msg(program.exit_code == 0, "%s", program.err);
  json_t* const json = json_loads(program.out, 0, NULL);
  ck_assert_msg(json, "%s", program.out);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "nodes")), 1);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "n_out")), 8);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "latency_frames")), 0);
  ck_assert_double_eq_tol(json_number_value(json_object_get(json, "period_us")), 1333.333, 0.001);
  ck_assert_double_gt(json_number_value(json_object_get(json, "needs_us")), 0.0);
  json_decref(json);
  program_clear(&program);
}
END_TEST

START_TEST(wrong_racks_are_refused_with_the_place_and_a_hint)
{
  assert_refused("gian 3", 2, "rack:1:1: ");
  assert_refused("gian 3", 2, "gain");
  assert_refused("gain 300", 2, "rack:1:6: ");
  assert_refused("missing.rack", 5, "missing.rack");
}
END_TEST

START_TEST(a_backend_that_is_not_there_is_exit_code_4)
{
  PROGRAM_RUN(&program, "check", "--backend", "cuda", "gain");
  ck_assert_msg(program.exit_code == 4, "%d %s", program.exit_code, program.err);
  ck_assert_msg(strstr(program.err, "cuda"), "%s", program.err);
  program_clear(&program);
}
END_TEST

SUITE_MAIN("check", what_is_printed_is_a_rack_again, json_has_the_figures,
           wrong_racks_are_refused_with_the_place_and_a_hint,
           a_backend_that_is_not_there_is_exit_code_4)
