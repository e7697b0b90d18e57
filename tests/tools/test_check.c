// SPDX-License-Identifier: GPL-3.0-or-later
// warprack check prints a rack, its latency and its cost, and refuses an invalid rack.

#include "engine/base/status.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/// Run `warprack check` with these arguments, and expect exit code `code` and the message `said`.
#define assert_refused_with(code, said, ...)                                                       \
  do {                                                                                             \
    RUN("check", __VA_ARGS__);                                                                     \
    program_expect_end(code, "", said);                                                            \
  } while (0)

TEST(the_output_is_a_valid_rack)
{
  RUN_GOOD("check", "chain a: gain -6dB | gain 3\nscene low a.gain=-20\nscene 2");
  assert_says(program.out, "add a gain gain=-6dB");
  assert_says(program.out, "\nscene low a.gain=-20dB\nscene 2\n# 2 nodes");
  assert_says(program.out, "\n# needs ");
  assert_says(program.out, "\n# scenes low, 2\n");
  SCOPED(program_clear) Program again = { .pid = 0 };
  PROGRAM_RUN(&again, "check", program.out);
  ck_assert_msg(again.exit_code == 0, "%s", again.err);
  const size_t n_text = (size_t)(strchr(program.out, '#') - program.out);
  ck_assert_msg(!strncmp(program.out, again.out, n_text), "%s", again.out);
}

TEST(probable_mistakes_are_warnings)
{
  static const struct {
    const char *rack, *warning;
  } rows[] = {
    { "delay 0.5",
      "# warning: delay.time=0.5 has no unit and is 0.5ms; write 0.5ms, or 0.5s for seconds\n" },
    { "compressor attack=0.005", "# warning: compressor.attack=0.005 has no unit and is 5us; write "
                                 "5us, or 0.005s for seconds\n" },
    { "highpass 80k", "# warning: highpass.frequency is 80000Hz, not below half the rate of" },
    { "add x gain", "# warning: nothing reaches out" },
    { "late dry\nchain gain -20dB", "# warning: while blocks are late out:1-2 plays the input at "
                                    "0.0 dB, and the rack makes it -20.0 dB; write: late out:1-2 "
                                    "auto\n" },
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    RUN("check", rows[r].rack);
    ck_assert_msg(program.exit_code == 0 && strstr(program.out, rows[r].warning), "%s%s",
                  program.out, program.err);
  }
  RUN("check", "late -40dB\nchain delay 0.5ms | "
               "compressor attack=0.005ms | gain -20dB");
  ck_assert_msg(program.exit_code == 0 && !strstr(program.out, "warning"), "%s", program.out);
  RUN("check", "--json", "add x gain");
  json_t* const json = json_loads(program.out, 0, NULL);
  ck_assert_uint_eq(json_array_size(json_object_get(json, "warnings")), 2);
  json_decref(json);
}

TEST(a_rack_that_run_refuses_has_the_errors_of_run_or_the_channels_it_needs)
{
  assert_refused_with(2, "out:5 does not exist: out has 2 channels", "gain | out:5");
  static const struct {
    const char *rack, *note;
  } rows[] = {
    { "add a gain\nconnect in a\nconnect a:1 out:5", "# run needs --channels 2:5\n" },
    { "gain | out:2-3", "# run needs --channels 2:3\n" },
    { "gain | out:1-2", NULL },
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    RUN_GOOD("check", rows[r].rack);
    ck_assert_msg(rows[r].note ? strstr(program.out, rows[r].note) != NULL
                               : !strstr(program.out, "--channels"),
                  "%s", program.out);
  }
  RUN_GOOD("run", "--io", "dummy", "--osc-port", "0", "--duration", "0.1", "--channels", "2:5",
           rows[0].rack);
}

TEST(json_has_the_figures)
{
  RUN_GOOD("check", "--json", "--block", "64", "--channels", "8", "gain -6dB");
  json_t* const json = json_loads(program.out, 0, NULL);
  ck_assert_msg(json, "%s", program.out);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "nodes")), 1);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "n_out")), 8);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "latency_frames")), 0);
  ck_assert_double_eq_tol(json_number_value(json_object_get(json, "period_us")), 1333.333, 0.001);
  ck_assert_double_gt(json_number_value(json_object_get(json, "needs_us")), 0.0);
  json_decref(json);
}

static const char four_fallbacks[] =
    "chain in:1 | gain -40 | out:1\nchain in:2 | gate 0dB | out:2-3\n"
    "chain in:4 | gain | out:4\nlate out:4 -20dB";

TEST(the_fallbacks_are_printed)
{
  static const char* const lines[] = {
    "\n# late out:1: the input at -40.0 dB (auto: the output's own level)\n",
    "\n# late out:2: silence (auto: its level could not be measured)\n",
    "\n# late out:3: silence (auto: its own input does not reach it)\n",
    "\n# late out:4: the input at -20.0 dB (set by the rack)\n",
    "\n# warning: while blocks are late out:2 is silent: ",
    "; write: late out:2 LEVEL",
  };
  RUN("check", "--channels", "4", four_fallbacks);
  for (size_t l = 0; l < ARRAY_LEN(lines); ++l) {
    ck_assert_msg(program.exit_code == 0 && strstr(program.out, lines[l]), "%s in %s%s", lines[l],
                  program.out, program.err);
  }
}

TEST(json_has_the_fallbacks)
{
  static const struct {
    double level_db; ///< 1: silence
    bool follows;
    const char* why;
  } outputs[] = { { -40.0, true, "level" },
                  { 1.0, false, "unknown" },
                  { 1.0, false, "no-input" },
                  { -20.0, false, "rack" } };
  RUN("check", "--json", "--channels", "4", four_fallbacks);
  json_t* const json = json_loads(program.out, 0, NULL);
  const json_t* const late = json_object_get(json, "late");
  ck_assert_msg(json_array_size(late) == ARRAY_LEN(outputs), "%s%s", program.out, program.err);
  for (size_t c = 0; c < ARRAY_LEN(outputs); ++c) {
    const json_t* const output = json_array_get(late, c);
    const json_t* const level = json_object_get(output, "level_db");
    ck_assert_int_eq(json_integer_value(json_object_get(output, "output")), (int)c + 1);
    if (outputs[c].level_db > 0.0) {
      ck_assert(json_is_null(level));
    } else {
      ck_assert_double_eq_tol(json_number_value(level), outputs[c].level_db, 1e-3);
    }
    ck_assert(json_is_boolean(json_object_get(output, "follows")));
    ck_assert_int_eq(json_is_true(json_object_get(output, "follows")), outputs[c].follows);
    ck_assert_str_eq(json_string_value(json_object_get(output, "why")), outputs[c].why);
  }
  json_decref(json);
}

TEST(wrong_racks_are_refused_with_the_place_and_a_hint)
{
  assert_refused_with(2, "rack:1:1: ", "gian 3");
  assert_refused_with(2, "gain", "gian 3");
  assert_refused_with(2, "rack:1:6: ", "gain 300");
  assert_refused_with(5, "missing.rack", "missing.rack");
}

TEST(both_sides_are_measured_where_a_device_is_asked_for)
{
  RUN("check", "--json", "--backend", "opencl", "a: gain | b: gain backend=cpu");
  if (program.exit_code != 4) { // 4: no OpenCL device; the next test expects that
    ck_assert_msg(program.exit_code == 0, "%s", program.err);
    json_t* const json = json_loads(program.out, 0, NULL);
    const json_t* const sides = json_object_get(json, "sides");
    ck_assert_uint_eq(json_array_size(sides), 2);
    static const char* const backends[] = { "cpu", "cpu+opencl" };
    for (size_t s = 0; s < 2U; ++s) {
      const json_t* const side = json_array_get(sides, s);
      ck_assert_str_eq(json_string_value(json_object_get(side, "backend")), backends[s]);
      ck_assert_double_gt(json_number_value(json_object_get(side, "needs_us")), 0.0);
    }
    ck_assert_str_eq(json_string_value(json_object_get(json, "backend")), backends[1]);
    ck_assert_double_eq(json_number_value(json_object_get(json, "needs_us")),
                        json_number_value(json_object_get(json_array_get(sides, 1), "needs_us")));
    json_decref(json);
  }
}

TEST(a_missing_backend_is_exit_code_4)
{
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  assert_refused_with(4, "OpenCL: ", "--backend", "opencl", "gain");
  unsetenv("OCL_ICD_VENDORS");
  assert_refused_with(4, "a: backend=gpu: WARPRACK_AUTO_GPU=none", "--backend", "auto",
                      "a: gain backend=gpu");
  assert_refused_with(4, "a: backend=gpu: --backend cpu", "--backend", "cpu",
                      "a: gain backend=gpu");
  assert_refused_with(2, "--gpu", "--backend", "cpu", "--gpu", "0", "gain");
}

SUITE_MAIN("check")
