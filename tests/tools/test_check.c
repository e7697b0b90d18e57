// SPDX-License-Identifier: GPL-3.0-or-later
// warprack check prints a rack again, with its latency and cost, and refuses a wrong one.

#include "engine/base/status.h"
#include "tests/support/program.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static Program program;

/// Run it with the words, and expect a refusal.
#define assert_refused_with(code, said, ...)                                                       \
  do {                                                                                             \
    PROGRAM_RUN(&program, "check", __VA_ARGS__);                                                   \
    program_expect_end(&program, code, "", said);                                                  \
  } while (0)

TEST(the_output_is_a_valid_rack)
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
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    PROGRAM_RUN(&program, "check", rows[r].rack);
    ck_assert_msg(program.exit_code == 0 && strstr(program.out, rows[r].warning), "%s%s",
                  program.out, program.err);
    program_clear(&program);
  }
  PROGRAM_RUN(&program, "check", "delay 0.5ms | compressor attack=0.005ms");
  ck_assert_msg(program.exit_code == 0 && !strstr(program.out, "warning"), "%s", program.out);
  program_clear(&program);
  PROGRAM_RUN(&program, "check", "--json", "add x gain");
  json_t* const json = json_loads(program.out, 0, NULL);
  ck_assert_uint_eq(json_array_size(json_object_get(json, "warnings")), 2);
  json_decref(json);
  program_clear(&program);
}

TEST(json_has_the_figures)
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

TEST(wrong_racks_are_refused_with_the_place_and_a_hint)
{
  assert_refused_with(2, "rack:1:1: ", "gian 3");
  assert_refused_with(2, "gain", "gian 3");
  assert_refused_with(2, "rack:1:6: ", "gain 300");
  assert_refused_with(5, "missing.rack", "missing.rack");
}

TEST(both_sides_are_measured_where_a_device_is_asked_for)
{
  PROGRAM_RUN(&program, "check", "--json", "--backend", "opencl", "a: gain | b: gain backend=cpu");
  if (program.exit_code != 4) { // no OpenCL here: the next test
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
  program_clear(&program);
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
