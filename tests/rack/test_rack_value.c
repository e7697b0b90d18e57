// SPDX-License-Identifier: GPL-3.0-or-later
// Values are read with their units to the nearest double and printed so that they read back to the
// same double; an invalid value is refused with the valid ones.

#include "engine/rack/rack_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Rack* rack;
static Error error;

/// A rack with one node "n" of this effect.
static const RackNode*
node_of(const char* const effect)
{
  rack_free(rack);
  rack = rack_new();
  ck_assert_int_eq(rack_add(rack, "n", effect, &error), STATUS_OK);
  return rack_find(rack, "n");
}

/// Effect, parameter, text, and the number that it stands for.
static const struct {
  const char *effect, *param, *text;
  double number;
  const char* printed;
} good_numbers[] = {
  { "highpass", "frequency", "80", 80.0, "80Hz" },
  { "highpass", "frequency", "80Hz", 80.0, "80Hz" },
  { "highpass", "frequency", "2.3kHz", 2300.0, "2300Hz" }, // 2.3 * 1000 is not 2300 in doubles
  { "highpass", "frequency", "+1e3HZ", 1000.0, "1000Hz" },
  { "highpass", "frequency", "20 kHz", 20000.0, "20000Hz" },
  { "highpass", "frequency", ".02e3khz", 20000.0, "20000Hz" },
  { "highpass", "frequency", "8k", 8000.0, "8000Hz" },
  { "highpass", "frequency", "2.3K", 2300.0, "2300Hz" },
  { "highpass", "order", "16", 16.0, "16" },
  { "highpass", "order", "1.6e1", 16.0, "16" },
  { "highpass", "type", "elliptic", 2.0, "elliptic" },
  { "gain", "gain", "-6", -6.0, "-6dB" },
  { "gain", "gain",
    "\xE2\x88\x92"
    "6dB",
    -6.0, "-6dB" }, // minus sign, U+2212
  { "gain", "gain",
    "\xE2\x80\x93"
    "0.5",
    -0.5, "-0.5dB" }, // en dash, U+2013
  { "gain", "gain", "+3dB", 3.0, "3dB" },
  { "gain", "gain", "-0", 0.0, "0dB" },
  { "gain", "gain", "0.1dB", 0.1, "0.1dB" },
  { "gain", "gain", "1e-320", 1e-320, "1e-320dB" },
  { "gain", "gain", "-0.00002", -0.00002, "-0.00002dB" },
  { "delay", "time", "250", 250.0, "250ms" },
  { "delay", "time", "0.25s", 250.0, "250ms" },
  { "delay", "time", "1.1s", 1100.0, "1100ms" },
  { "delay", "time", "1500us", 1.5, "1.5ms" },
  { "delay", "feedback", "50%", 0.5, "0.5" },
  { "convolver", "mix", "1:1", 1.0, "1" }, // a ratio n:1 is n
  { "delay", "feedback", "7%", 0.07, "0.07" },
  { "delay", "pingpong", "on", 1.0, "on" },
  { "delay", "pingpong", "yes", 1.0, "on" },
  { "delay", "pingpong", "true", 1.0, "on" },
  { "delay", "pingpong", "1", 1.0, "on" },
  { "delay", "pingpong", "off", 0.0, "off" },
  { "delay", "pingpong", "no", 0.0, "off" },
  { "delay", "pingpong", "false", 0.0, "off" },
  { "delay", "pingpong", "0", 0.0, "off" },
  { "phaser", "angle", "-90deg", -90.0, "-90deg" },
  { "phaser", "tempo", "93.5bpm", 93.5, "93.5bpm" },
};

TEST(numbers_are_read_with_units_and_printed_in_the_tables_unit)
{
  for (size_t i = 0; i < ARRAY_LEN(good_numbers); ++i) {
    const RackNode* const node = node_of(good_numbers[i].effect);
    const int p = fx_param_find(node->fx, good_numbers[i].param);
    ck_assert_msg(!set_text_by_name(rack, "n", good_numbers[i].param, good_numbers[i].text, &error),
                  "%s: %s", good_numbers[i].text, error.text);
    ck_assert_msg(rack_number(node, (uint32_t)p, 48000.0) == good_numbers[i].number, "%s is %.17g",
                  good_numbers[i].text, rack_number(node, (uint32_t)p, 48000.0));
    char text[64];
    ck_assert_str_eq(rack_print_value(node, (uint32_t)p, text, sizeof(text)),
                     good_numbers[i].printed);
  }
  rack_free(rack);
  rack = NULL;
}

static const struct {
  const char *effect, *param, *text;
  Status status;
  const char* message;
} bad_values[] = {
  { "highpass", "frequency", "9.9", STATUS_BAD_RACK,
    "frequency 9.9Hz is out of range; 10Hz to 20000Hz" },
  { "highpass", "frequency", "20.001kHz", STATUS_BAD_RACK, "20001Hz is out of range" },
  { "highpass", "frequency", "-80", STATUS_BAD_RACK, "out of range" },
  { "highpass", "frequency", "80dB", STATUS_BAD_RACK,
    "frequency takes a number in Hz or kHz, not \"80dB\"" },
  { "highpass", "frequency", "80%", STATUS_BAD_RACK, "not \"80%\"" },
  { "highpass", "frequency", "80x", STATUS_BAD_RACK, "not \"80x\"" },
  { "highpass", "frequency", "80Hz80", STATUS_BAD_RACK, "not \"80Hz80\"" },
  { "highpass", "frequency", "8e1e1", STATUS_BAD_RACK, "not \"8e1e1\"" },
  { "highpass", "frequency", "0x50", STATUS_BAD_RACK, "not \"0x50\"" },
  { "highpass", "frequency", "1,5", STATUS_BAD_RACK, "takes a point in its number: 1.5" },
  { "highpass", "frequency", "", STATUS_BAD_RACK, "takes a number in Hz or kHz, not \"\"" },
  { "highpass", "frequency", "-", STATUS_BAD_RACK, "takes a number" },
  { "highpass", "frequency", ".", STATUS_BAD_RACK, "takes a number" },
  { "highpass", "frequency", "e5", STATUS_BAD_RACK, "takes a number" },
  { "highpass", "frequency", "--5", STATUS_BAD_RACK, "takes a number" },
  { "highpass", "frequency", "high", STATUS_BAD_RACK, "takes a number in Hz or kHz, not \"high\"" },
  { "highpass", "frequency", "nan", STATUS_BAD_RACK, "finite number; 10Hz to 20000Hz" },
  { "highpass", "frequency", "-inf", STATUS_BAD_RACK, "finite number; 10Hz to 20000Hz" },
  { "highpass", "frequency", "Infinity", STATUS_BAD_RACK, "finite" },
  { "highpass", "frequency", "1e999", STATUS_BAD_RACK, "finite" },
  { "highpass", "frequency", "1e99999999999999999999", STATUS_BAD_RACK, "finite" },
  { "highpass", "order", "2.5", STATUS_BAD_RACK, "order takes a whole number, not 2.5" },
  { "highpass", "order", "17", STATUS_BAD_RACK, "order 17 is out of range; 1 to 16" },
  { "highpass", "order", "2Hz", STATUS_BAD_RACK, "a whole number, not \"2Hz\"" },
  { "highpass", "order", "50%", STATUS_BAD_RACK, "order takes a whole number, not \"50%\"" },
  { "highpass", "order", "4:1", STATUS_BAD_RACK, "order takes a whole number, not \"4:1\"" },
  { "highpass", "type", "eliptic", STATUS_BAD_RACK, "did you mean \"elliptic\"?" },
  { "highpass", "type", "cheb", STATUS_BAD_RACK, "did you mean \"chebyshev1\"?" },
  { "highpass", "type", "2", STATUS_BAD_RACK, "one of butterworth, chebyshev1, elliptic" },
  { "highpass", "typ", "elliptic", STATUS_NOT_FOUND, "did you mean \"type\"?" },
  { "highpass", "ripple", "1", STATUS_NOT_FOUND, "one of frequency, order, type, backend" },
  { "highpass", "backend", "cuda", STATUS_BAD_RACK, "one of auto, cpu, gpu" },
  { "delay", "pingpong", "maybe", STATUS_BAD_RACK, "one of off, on" },
  { "delay", "time", "0frames", STATUS_BAD_RACK, "out of range; 1ms to 5000ms" },
  { "delay", "time", "-1frames", STATUS_BAD_RACK, "out of range" },
  { "delay", "time", "1e999frames", STATUS_BAD_RACK, "finite" },
  { "delay", "time", "1min", STATUS_BAD_RACK, "a number in ms, s or frames, not \"1min\"" },
  { "delay", "feedback", "10frames", STATUS_BAD_RACK,
    "a number or a percentage, not \"10frames\"" },
  { "delay", "feedback", "4:2", STATUS_BAD_RACK, "not \"4:2\"" },
  { "matrix", "rows", "1 0\n0 1", STATUS_BAD_RACK, "control character" },
};

TEST(invalid_values_are_refused_with_the_valid_range_and_change_nothing)
{
  for (size_t i = 0; i < ARRAY_LEN(bad_values); ++i) {
    node_of(bad_values[i].effect);
    SCOPED_RACK Rack* const before = rack_copy(rack);
    const Status status =
        set_text_by_name(rack, "n", bad_values[i].param, bad_values[i].text, &error);
    ck_assert_msg(status == bad_values[i].status && strstr(error.text, bad_values[i].message),
                  "%s: %s", bad_values[i].text, error.text);
    ck_assert(rack_equal(before, rack));
  }
  rack_free(rack);
  rack = NULL;
}

TEST(numbers_from_programs_are_held_to_the_same_ranges)
{
  const struct {
    const char *effect, *param;
    double number;
    bool good;
  } cases[] = {
    { "highpass", "frequency", 10.0, true }, { "highpass", "frequency", 9.999, false },
    { "highpass", "frequency", NAN, false }, { "highpass", "frequency", INFINITY, false },
    { "highpass", "order", 3.0, true },      { "highpass", "order", 3.5, false },
    { "highpass", "type", 2.0, true },       { "highpass", "type", 3.0, false },
    { "highpass", "type", -1.0, false },     { "highpass", "type", 0.5, false },
    { "highpass", "backend", 1.0, false },   { "delay", "pingpong", 1.0, true },
    { "delay", "pingpong", 2.0, false },     { "delay", "pingpong", 0.5, false },
    { "delay", "note", 4.0, false },         { "convolver", "ir", 1.0, false },
  };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    const RackNode* const node = node_of(cases[i].effect);
    const Status status = set_number_by_name(rack, "n", cases[i].param, cases[i].number, &error);
    ck_assert_msg((status == STATUS_OK) == cases[i].good, "%s %g", cases[i].param, cases[i].number);
    if (cases[i].good) {
      const int p = fx_param_find(node->fx, cases[i].param);
      ck_assert(rack_number(node, (uint32_t)p, 48000.0) == cases[i].number);
    }
  }
  rack_free(rack);
  rack = NULL;
}

TEST(frames_become_milliseconds_once_the_rate_is_known)
{
  const RackNode* const node = node_of("delay");
  ck_assert_int_eq(set_text_by_name(rack, "n", "time", "480frames", &error), STATUS_OK);
  ck_assert(rack_number(node, 0, 48000.0) == 10.0);
  ck_assert(rack_number(node, 0, 96000.0) == 5.0);
  char text[32];
  ck_assert_str_eq(rack_print_value(node, 0, text, sizeof(text)), "480frames");
  ck_assert_int_eq(rack_check_rate(rack, 48000.0, &error), STATUS_OK);
  ck_assert_int_eq(rack_check_rate(rack, 480000.0, &error), STATUS_OK);
  ck_assert_int_eq(rack_check_rate(rack, 480001.0, &error), STATUS_BAD_RACK);
  assert_says(error.text, "n.time");
  ck_assert_int_eq(rack_check_rate(rack, 95.0, &error), STATUS_BAD_RACK);
  // A caller that ignores the error gets a number in range.
  ck_assert(rack_number(node, 0, 480001.0) == 1.0);
  ck_assert(rack_number(node, 0, 95.0) == 5000.0);
  ck_assert(rack_number(node, 0, 0.0) == 5000.0);
  rack_free(rack);
  rack = NULL;
}

TEST(texts_have_defaults_and_an_empty_text_means_the_default)
{
  const RackNode* node = node_of("delay");
  ck_assert_str_eq(rack_text(node, 3), "1/4");
  ck_assert_int_eq(set_text_by_name(rack, "n", "note", "1/8 dotted", &error), STATUS_OK);
  ck_assert_str_eq(rack_text(node, 3), "1/8 dotted");
  ck_assert(rack_number(node, 3, 48000.0) == 0.0);
  char text[32];
  ck_assert_str_eq(rack_print_value(node, 3, text, sizeof(text)), "\"1/8 dotted\"");
  ck_assert_int_eq(set_text_by_name(rack, "n", "note", "", &error), STATUS_OK);
  ck_assert_str_eq(rack_text(node, 3), "1/4");
  node = node_of("convolver");
  ck_assert_ptr_null(rack_text(node, 0));
  ck_assert_str_eq(rack_print_value(node, 0, text, sizeof(text)), "\"\"");
  rack_free(rack);
  rack = NULL;
}

TEST(a_printed_value_is_cut_at_the_end_of_its_buffer)
{
  const RackNode* const node = node_of("matrix");
  ck_assert_int_eq(set_text_by_name(rack, "n", "rows", "1 0 0 1 0 0", &error), STATUS_OK);
  char text[8] = "xxxxxxx";
  rack_print_value(node, 0, text, 5);
  ck_assert_str_eq(text, "1 0 ");
  ck_assert_int_eq(text[5], 'x');
  rack_free(rack);
  rack = NULL;
}

TEST(any_double_prints_to_text_that_reads_back_to_it)
{
  const FxParam any = { .id = "any", .min = -INFINITY, .max = INFINITY, .initial = 0.125 };
  uint64_t state = 5;
  for (uint32_t i = 0; i < 20000U; ++i) {
    const uint64_t bits = signal_random(&state);
    double number = 0.0;
    memcpy(&number, &bits, sizeof(number));
    if (i % 2U) { // and numbers with few digits
      number = rint(ldexp((double)(bits >> 40U), -4)) / pow(10.0, (double)(bits % 8U));
    }
    if (!isfinite(number) || number == any.initial) {
      continue;
    }
    char text[NUMBER_BYTES];
    RackValue value;
    if (rack_value_from_text(&any, number_print(number, text), &value, &error) ||
        value.number != number) {
      ck_abort_msg("%s is not %.17g", text, number);
    }
  }
}

TEST(numbers_are_printed_the_way_people_write_them)
{
  const struct {
    double number;
    const char* text;
  } cases[] = {
    { 0.0, "0" },         { 20000.0, "20000" },
    { 0.1, "0.1" },       { 1.0 / 3.0, "0.3333333333333333" },
    { 1e15, "1e15" },     { 1e14, "100000000000000" },
    { 1.5e-7, "1.5e-7" }, { 0.00001, "0.00001" },
    { -2.5, "-2.5" },     { 1e300, "1e300" },
    { 5e-324, "5e-324" }, { 1.7976931348623157e308, "1.7976931348623157e308" },
  };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    char text[NUMBER_BYTES];
    ck_assert_str_eq(number_print(cases[i].number, text), cases[i].text);
  }
}

SUITE_MAIN("rack_value")
