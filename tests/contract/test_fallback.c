// SPDX-License-Identifier: GPL-3.0-or-later
// The fallback of each output is chosen from the rack's response to an impulse: the level of the
// output, silence if it has no input of its own or no low frequencies, or the setting of the rack
// or the option.

#include "engine/engine.h"
#include "engine/worker/fallback_choose.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE 48000.0

static Fallbacks
choose_for(const char* const text, const uint32_t n_in, const RackFallback on_late,
           const double rate_hz, const uint32_t block_frames)
{
  static EnginePrediction prediction;
  SCOPED_RACK Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  const EngineConfig config = { .n_in = n_in, .on_late = on_late, .backend = ENGINE_BACKEND_CPU };
  ck_assert_msg(!rack_parse(text, "t", NULL, &rack, &error), "%s", error.text);
  ck_assert_msg(!engine_predict(&config, rack, rate_hz, block_frames, 1, &prediction, &error), "%s",
                error.text);
  return prediction.fallbacks;
}

static Fallbacks
choose(const char* const text, const uint32_t n_in)
{
  return choose_for(text, n_in, (RackFallback){ 0 }, RATE, 64);
}

/// Expect one word and one level, in dB, of an output, counted from 1.
static void
expect(const Fallbacks* const fallbacks, const uint32_t output, const FallbackWhy why,
       const double level_db, const double tolerance_db)
{
  ck_assert_uint_le(output, fallbacks->n);
  const Fallback* const fallback = &fallbacks->of[output - 1U];
  ck_assert_msg(fallback->why == why, "out:%u: %s, not %s", output, fallback_why(fallback->why),
                fallback_why(why));
  ck_assert(fallback->follows == (why == FALLBACK_LEVEL));
  const double db = 20.0 * log10((double)fallback->level);
  ck_assert_msg(db == level_db || fabs(db - level_db) <= tolerance_db, "out:%u: %g dB, not %g",
                output, db, level_db);
}

static void
expect_silence(const Fallbacks* const fallbacks, const uint32_t output, const FallbackWhy why)
{
  expect(fallbacks, output, why, -(double)INFINITY, 0.0);
}

TEST(an_output_begins_with_the_level_of_its_response)
{
  static const struct {
    const char* rack;
    double level_db, tolerance_db;
  } rows[] = {
    { "gain 0", 0.0, 1e-4 },
    { "gain -40dB", -40.0, 1e-4 },
    { "gain 12", 0.0, 1e-4 }, // never above 0 dB
    { "invert | gain -6dB", -6.0, 1e-3 },
    { "gain -20 | limiter -1dB", -20.0, 1e-3 }, // a latency
    { "gain -20 | delay 5ms mix=100% feedback=0%", -20.0,
      1e-3 },                             // another one, that is not declared
    { "highpass 80 order=4", -1.0, 0.5 }, // a low cut: 2 of 10 octaves
    { "lowpass 120 order=4", -5.8, 0.5 }, // a woofer: 7.4 of 10
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const Fallbacks fallbacks = choose(rows[r].rack, 2);
    ck_assert_uint_eq(fallbacks.n, 2);
    for (uint32_t output = 1; output <= 2U; ++output) {
      expect(&fallbacks, output, FALLBACK_LEVEL, rows[r].level_db, rows[r].tolerance_db);
    }
  }
}

TEST(tweeters_and_mids_are_silent_and_woofers_are_not)
{
  static const char crossover[] = "chain in | lowpass 300 order=4 type=linkwitz-riley | out:1\n"
                                  "chain in | highpass 300 order=4 type=linkwitz-riley |"
                                  " lowpass 3000 order=4 type=linkwitz-riley | out:2\n"
                                  "chain in | highpass 3000 order=4 type=linkwitz-riley | out:3";
  for (uint32_t r = 0; r < 3U; ++r) {
    static const double rates[] = { 44100.0, 48000.0, 192000.0 };
    static const uint32_t blocks[] = { 1, 64, 4096 };
    const Fallbacks fallbacks = choose_for(crossover, 1, (RackFallback){ 0 }, rates[r], blocks[r]);
    ck_assert_uint_eq(fallbacks.n, 3);
    expect(&fallbacks, 1, FALLBACK_LEVEL, -3.9, 0.6);
    expect_silence(&fallbacks, 2, FALLBACK_NO_LOWS);
    expect_silence(&fallbacks, 3, FALLBACK_NO_LOWS);
  }
}

TEST(lows_that_are_17_db_lower_play_and_24_db_do_not)
{
  const Fallbacks shelf = choose("lowshelf 600 gain=-17", 1);
  ck_assert_int_eq(shelf.of[0].why, FALLBACK_LEVEL);
  const Fallbacks steep = choose("lowshelf 600 gain=-24", 1);
  expect_silence(&steep, 1, FALLBACK_NO_LOWS);
}

TEST(an_output_without_an_input_of_its_own_is_silent)
{
  const Fallbacks wide = choose("chain in:1 | gain | out:1\nchain in:2 | gain | out:2-4", 2);
  expect(&wide, 1, FALLBACK_LEVEL, 0.0, 1e-4);
  expect(&wide, 2, FALLBACK_LEVEL, 0.0, 1e-4);
  expect_silence(&wide, 3, FALLBACK_NO_INPUT);
  expect_silence(&wide, 4, FALLBACK_NO_INPUT);
  const Fallbacks mono = choose("chain in | gain | out:1-4", 1);
  for (uint32_t output = 1; output <= 4U; ++output) {
    expect(&mono, output, FALLBACK_LEVEL, 0.0, 1e-4); // the only input is everybody's
  }
  const Fallbacks other = choose("chain in:1 | gain | out:1-2", 2); // input 2 leads nowhere
  expect(&other, 1, FALLBACK_LEVEL, 0.0, 1e-4);
  expect_silence(&other, 2, FALLBACK_NO_INPUT);
  const Fallbacks crossed = choose("chain in:1 | gain | out:2\nchain in:2 | gain | out:1", 2);
  expect_silence(&crossed, 1, FALLBACK_NO_INPUT);
  expect_silence(&crossed, 2, FALLBACK_NO_INPUT);
  const Fallbacks nothing = choose("disconnect in out", 2);
  expect_silence(&nothing, 1, FALLBACK_NO_INPUT);
}

TEST(inputs_that_are_mixed_do_not_cancel)
{
  const Fallbacks side =
      choose("chain in:1 | gain -6 | out:1\nchain in:2 | invert | gain -6 | out:1", 2);
  expect(&side, 1, FALLBACK_LEVEL, -3.0, 1.0);
}

TEST(an_output_later_than_the_measurement_starts_with_silence)
{
  const Fallbacks late = choose("delay 500ms mix=100% feedback=0%", 1);
  expect(&late, 1, FALLBACK_LEVEL, -(double)INFINITY, 0.0);
}

TEST(the_rack_s_statement_precedes_the_option)
{
  static const char rack[] =
      "chain gain -12\nlate out:2 silence\nlate out:3 -20dB\nlate out:4 auto";
  const RackFallback option = { true, -30.0 };
  const Fallbacks fallbacks = choose_for(rack, 4, option, RATE, 64);
  expect(&fallbacks, 1, FALLBACK_OPTION, -30.0, 1e-4);
  expect_silence(&fallbacks, 2, FALLBACK_RACK);
  expect(&fallbacks, 3, FALLBACK_RACK, -20.0, 1e-4);
  expect(&fallbacks, 4, FALLBACK_LEVEL, -12.0, 1e-3);
  for (uint32_t c = 0; c < 4U; ++c) {
    ck_assert_double_eq_tol(20.0 * log10((double)fallbacks.of[c].response), -12.0, 1e-3);
  }
}

TEST(before_a_measurement_statements_apply_and_auto_keeps_its_last_choice)
{
  static const char* const racks[] = {
    "chain gain -40\nlate out:2 silence\nlate out:3 -20dB\nlate out:4 auto",
    "chain gain -40\nlate out:2 silence\nlate out:3 -20dB",
    "chain gain -40\nlate out:1-4 auto", // the other statements are gone
  };
  const RackFallback option = { true, -30.0 };
  Fallbacks measured = choose("chain in:1 | gain -12 | out:1\nchain in:2 | gain -12 | out:2-4", 2);
  Fallbacks fallbacks[ARRAY_LEN(racks)];
  bool is_any_auto[ARRAY_LEN(racks)];
  fallback_outdate(4U, &measured);
  for (uint32_t r = 0; r < ARRAY_LEN(racks); ++r) {
    SCOPED_RACK Rack* const rack = driver_rack(racks[r]);
    is_any_auto[r] = fallback_choose(rack, option, &measured, &fallbacks[r]);
    for (uint32_t c = 0; c < 4U; ++c) {
      ck_assert_float_eq(fallbacks[r].of[c].response, 0.0F); // no warning before the measurement
    }
  }
  ck_assert(is_any_auto[0] && !is_any_auto[1] && is_any_auto[2]);
  for (uint32_t r = 0; r < 2U; ++r) {
    expect(&fallbacks[r], 1, FALLBACK_OPTION, -30.0, 1e-4);
    expect_silence(&fallbacks[r], 2, FALLBACK_RACK);
    expect(&fallbacks[r], 3, FALLBACK_RACK, -20.0, 1e-4);
  }
  expect_silence(&fallbacks[0], 4, FALLBACK_NO_INPUT);
  expect(&fallbacks[1], 4, FALLBACK_OPTION, -30.0, 1e-4);
  for (uint32_t output = 1; output <= 4U; ++output) {
    const bool is_level = output <= 2U;
    expect(&fallbacks[2], output, is_level ? FALLBACK_LEVEL : FALLBACK_NO_INPUT,
           is_level ? -12.0 : -(double)INFINITY, 1e-3);
  }
}

TEST(without_a_measurement_auto_starts_with_silence_and_follows)
{
  SCOPED_RACK Rack* const rack = driver_rack("chain gain -40\nlate out:2 -20dB");
  Fallbacks measured = { .n = 0U };
  Fallbacks fallbacks;
  fallback_outdate(2U, &measured);
  ck_assert(fallback_choose(rack, (RackFallback){ 0 }, &measured, &fallbacks));
  expect_silence(&fallbacks, 1, FALLBACK_LEVEL);
  expect(&fallbacks, 2, FALLBACK_RACK, -20.0, 1e-4);
}

TEST(fallbacks_are_described_by_ranges_of_outputs)
{
  const Fallbacks fallbacks =
      choose("chain in | gain -40 | out\nlate out:1-2 dry\nlate out:3 -35dB", 4);
  static const char* const texts[] = {
    "out:1-2: the input at 0.0 dB (set by the rack)",
    "out:3: the input at -35.0 dB (set by the rack)",
    "out:4: the input at -40.0 dB (auto: the output's own level)",
  };
  char text[FALLBACK_TEXT_BYTES];
  uint32_t next = 0;
  for (uint32_t t = 0; t < ARRAY_LEN(texts); ++t) {
    next = fallback_describe(&fallbacks, next, text);
    ck_assert_str_eq(text, texts[t]);
  }
  ck_assert_uint_eq(next, 4);
  SCOPED_MEMORY char* const warnings = fallback_warnings(&fallbacks);
  ck_assert_str_eq(warnings,
                   "while blocks are late out:1-2 plays the input at 0.0 dB, and the rack "
                   "makes it -40.0 dB; write: late out:1-2 auto\n");
}

SUITE_MAIN("fallback")
