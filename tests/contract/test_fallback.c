// SPDX-License-Identifier: GPL-3.0-or-later
// The fallback of each output is set by the rack or the option, or is chosen from the rack's
// response to a test signal: silence if the output has no input of its own or no low frequencies,
// otherwise the level of the output.

#include "engine/engine.h"
#include "engine/worker/fallback_choose.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE 48000.0

static Fallbacks
choose_for(const char* const text, const uint32_t n_in, const RackFallback on_late,
           const double rate_hz, const uint32_t block_frames)
{
  static EnginePrediction prediction;
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  const EngineConfig config = { .n_in = n_in, .on_late = on_late, .backend = ENGINE_BACKEND_CPU };
  OK(engine_predict(&config, rack, rate_hz, block_frames, 1, &prediction, &error));
  return prediction.facts.fallbacks;
}

static Fallbacks
choose(const char* const text, const uint32_t n_in)
{
  return choose_for(text, n_in, (RackFallback){ 0 }, RATE, 64);
}

/// Check the reason and the level in dB of the fallback of an output; outputs count from 1.
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

/// Check the reason of the first output's fallback of a mono rack.  Returns the fallback.
static Fallback
expect_choice(const char* const rack, const FallbackWhy why)
{
  const Fallbacks fallbacks = choose(rack, 1);
  ck_assert_msg(fallbacks.of[0].why == why, "%s: %s", rack, fallback_why(fallbacks.of[0].why));
  return fallbacks.of[0];
}

/// Expect silence in both outputs of each stereo rack.
static void
expect_silent_racks(const char* const* const racks, const uint32_t n_racks, const FallbackWhy why)
{
  for (uint32_t r = 0; r < n_racks; ++r) {
    const Fallbacks fallbacks = choose(racks[r], 2);
    expect_silence(&fallbacks, 1, why);
    expect_silence(&fallbacks, 2, why);
  }
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
    { "gain -20 | limiter -1dB", -20.0, 1e-3 },                   // declared latency
    { "gain -20 | delay 5ms mix=100% feedback=0%", -20.0, 1e-3 }, // undeclared latency
    { "highpass 80 order=4", -1.0, 0.5 },                         // a low cut: 2 of 10 octaves
    { "lowpass 120 order=4", -5.8, 0.5 },                         // a woofer: 7.4 of 10
    { "gain -3 | gate -90dB", -3.0, 0.2 },                        // opens, but not at once
    { "gate -30dB attack=10ms | gain -20", -20.0, 1.0 },
    { "compressor -30dB ratio=10 attack=1ms knee=0dB", -15.5, 1.5 }, // of a signal at -6 dB
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

TEST(an_effect_whose_gain_changes_treats_lows_and_highs_alike)
{
  static const char* const full[] = {
    "gain 12 | compressor -30dB ratio=4 attack=20ms",
    "compressor -40dB ratio=10 attack=10ms",
    "compressor -30dB ratio=8 attack=15ms | highshelf 8000 gain=4dB",
    "compressor -24dB ratio=4 attack=15ms | compressor -24dB ratio=4 attack=15ms",
    "compressor -60dB ratio=100 attack=100ms",
  };
  static const char* const high[] = {
    "gate -30dB attack=50ms | highpass 3000 order=1",
    "gate -30dB attack=1s | highpass 3000 order=1",
    "gate -30dB attack=50ms | highpass 500 order=2",
    "compressor -40dB ratio=10 attack=10ms | highpass 3000 order=4",
  };
  for (uint32_t r = 0; r < ARRAY_LEN(full); ++r) {
    expect_choice(full[r], FALLBACK_LEVEL);
  }
  expect_silent_racks(high, ARRAY_LEN(high), FALLBACK_NO_LOWS);
}

TEST(an_early_quiet_part_does_not_hide_the_response)
{
  static const char* const racks[] = {
    "delay 150ms mix=95% feedback=0%",
    "chain (b: gain -30dB + d: delay 140ms mix=100% feedback=0%)",
    "chain (b: gain -60dB + d: delay 950ms mix=100% feedback=0%)",
    "reverb mix=97% predelay=150ms decay=1s",
  };
  for (uint32_t r = 0; r < ARRAY_LEN(racks); ++r) {
    const Fallback fallback = expect_choice(racks[r], FALLBACK_LEVEL);
    ck_assert_msg(fallback.level > 0.2F, "%s: %g", racks[r], (double)fallback.level);
  }
}

TEST(lows_20_db_below_the_rest_count_as_missing)
{
  static const struct {
    const char* rack;
    FallbackWhy why;
  } rows[] = {
    { "lowshelf 1200 gain=-19.5", FALLBACK_LEVEL },
    { "lowshelf 1200 gain=-20.5", FALLBACK_NO_LOWS },
    { "highpass 179 order=8", FALLBACK_LEVEL },   // -16 dB at 142 Hz, -24 dB at 127 Hz
    { "highpass 201 order=8", FALLBACK_NO_LOWS }, // -24 dB at 142 Hz, -16 dB at 160 Hz
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    expect_choice(rows[r].rack, rows[r].why);
  }
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
    expect(&mono, output, FALLBACK_LEVEL, 0.0, 1e-4); // all outputs share the only input
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
  expect(&side, 1, FALLBACK_LEVEL, -2.99, 0.01);
}

#define LATER(time) "delay " time " mix=100% feedback=0% | "

TEST(a_response_is_measured_from_its_beginning)
{
  static const struct {
    const char *late, *prompt;
  } rows[] = {
    { LATER("90ms") "lowpass 60 order=4", "lowpass 60 order=4" },
    { LATER("150ms") "gain -20", "gain -20" },
    { LATER("990ms") "gain -20", "gain -20" },
    { "limiter -1dB | " LATER("999ms") "gain -20", "gain -20" }, // after the rack's latency
    { LATER("95ms") "highpass 3000 order=4", "highpass 3000 order=4" },
    { LATER("150ms") "highpass 3000 order=4", "highpass 3000 order=4" },
    { LATER("150ms") "compressor | highpass 3000 order=4", "compressor | highpass 3000 order=4" },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const Fallbacks late = choose(rows[r].late, 2);
    const Fallbacks prompt = choose(rows[r].prompt, 2);
    for (uint32_t output = 1; output <= 2U; ++output) {
      const Fallback* const fallback = &prompt.of[output - 1U];
      expect(&late, output, fallback->why, 20.0 * log10((double)fallback->level), 0.01);
    }
  }
}

TEST(an_output_without_a_response_is_silent)
{
  static const char* const racks[] = {
    LATER("1010ms") "highpass 3000 order=4",
    LATER("1010ms") "gain",
    "gate -1dB | highpass 3000 order=4",
    "gate 0dB attack=100ms | highpass 3000 order=4",
    "gate 0dB",
  };
  expect_silent_racks(racks, ARRAY_LEN(racks), FALLBACK_UNKNOWN);
  const Fallbacks half = choose("chain in:1 | gain -12 | out:1\nchain in:2 | gate 0dB | out:2", 2);
  expect(&half, 1, FALLBACK_LEVEL, -12.0, 1e-3);
  expect_silence(&half, 2, FALLBACK_UNKNOWN);
  SCOPED_MEMORY char* const warnings = fallback_warnings(&half);
  ck_assert_str_eq(warnings, "while blocks are late out:2 is silent: its level could not be "
                             "measured, because it did not respond to a test signal of -6 dB "
                             "within 1 s, or because there was no memory for a copy of the "
                             "rack; write: late "
                             "out:2 LEVEL, or allow more --memory\n");
}

TEST(tweeters_are_silent_behind_a_slow_gate)
{
  static const char* const racks[] = {
    "gate attack=100ms | highpass 3000 order=4",
    "gate attack=1s | highpass 3000 order=4",
    "highpass 3000 order=4 | gate attack=100ms",
    "gate -1dB range=-60dB | highpass 3000 order=4",
  };
  expect_silent_racks(racks, ARRAY_LEN(racks), FALLBACK_NO_LOWS);
}

TEST(equal_channels_have_equal_choices)
{
  static const char* const racks[] = {
    "highpass 80 order=4 | gate -50dB range=-20dB | peaking 300 gain=-3dB | "
    "compressor -24dB ratio=3 makeup=6dB | limiter -1dB", // a voice chain
    "compressor -30dB ratio=10",                          // linked
    "compressor -30dB ratio=10 link=off",
    "gate attack=20ms",
    "limiter -20dB",
  };
  for (uint32_t r = 0; r < ARRAY_LEN(racks); ++r) {
    for (uint32_t n = 1; n <= 8U; n *= 2U) {
      const Fallbacks mono = choose(racks[r], 1);
      const Fallbacks fallbacks = choose(racks[r], n);
      for (uint32_t output = 1; output <= n; ++output) {
        expect(&fallbacks, output, FALLBACK_LEVEL, 20.0 * log10((double)mono.of[0].level), 1e-3);
        ck_assert_float_eq(fallbacks.of[output - 1U].level, fallbacks.of[0].level);
      }
    }
  }
}

/// Number of frames for which the copy of a rack runs during the measurement.
static uint64_t
measured_frames(const char* const text, const uint32_t n_in)
{
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  const Format format = { .rate_hz = RATE, .block_frames = 1, .n_in = n_in };
  FileLoader loader = { 0 };
  const PlanRequest request = { .rack = rack, .format = &format, .loader = &loader };
  FallbackProbe* probe = NULL;
  uint64_t n_frames = 1;
  OK(fallback_probe_new(&request, &probe, &error));
  while (!fallback_probe_run(probe)) {
    ++n_frames;
  }
  fallback_probe_free(probe);
  return n_frames;
}

TEST(the_copy_runs_no_longer_than_the_responses_need)
{
  static const struct {
    const char* rack;
    uint32_t n_in;
    uint64_t n_frames;
  } rows[] = {
    { "gain", 64, 9600 }, // independent channels: measured in one run
    { "highpass 100", 2, 9600 },
    { "disconnect in out", 2, 9600 },
    { "compressor", 2, 2U * 9600U }, // linked channels: one run for each
    { "chain in:1-2 | compressor | out:1-2\nchain in:3 | gain | out:3", 3, 2U * 9600U },
    { "add a gain\nadd b gain\nadd c gain\nconnect in:1 a\nconnect in:4 a\n"
      "connect in:2 b\nconnect in:3 b\nconnect in:3 c\nconnect in:4 c\n"
      "connect a out:1\nconnect b out:2\nconnect c out:3",
      4, 4U * 9600U }, // inputs 1 and 2 are linked through inputs 3 and 4
    { "limiter", 2, 2U * (72U + 9600U) },
    { "compressor", 9, 8U * (167U + 9600U) }, // at most eight runs
    { LATER("150ms") "gain", 2, 7200 + 9600 },
    { LATER("990ms") "compressor", 2, 2U * (47520U + 9600U) },
    { "gate 0dB link=off", 2, 48000 },
    { "gain -70", 1, 48000 }, // faint: a louder response may follow
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const uint64_t n_frames = measured_frames(rows[r].rack, rows[r].n_in);
    ck_assert_msg(n_frames == rows[r].n_frames, "%s: %" PRIu64, rows[r].rack, n_frames);
  }
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
    "chain gain -40\nlate out:1-4 auto", // without the other statements
  };
  const RackFallback option = { true, -30.0 };
  Fallbacks measured = choose("chain in:1 | gain -12 | out:1\nchain in:2 | gain -12 | out:2-4", 2);
  Fallbacks fallbacks[ARRAY_LEN(racks)];
  bool is_any_auto[ARRAY_LEN(racks)];
  fallback_outdate(4U, &measured);
  for (uint32_t r = 0; r < ARRAY_LEN(racks); ++r) {
    SCOPED_RACK Rack* const rack = rack_of(racks[r], NULL);
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
  SCOPED_RACK Rack* const rack = rack_of("chain gain -40\nlate out:2 -20dB", NULL);
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

TEST(a_measurement_ends_when_its_median_is_known)
{
  static EnginePrediction prediction;
  SCOPED_RACK Rack* const rack = rack_of("reverb", NULL);
  const EngineConfig config = { .n_in = 1, .backend = ENGINE_BACKEND_CPU };
  OK(engine_predict(&config, rack, RATE, 8192, 20000, &prediction, &error)); // a minute
  ck_assert_uint_ge(prediction.n_blocks, 128U);
  ck_assert_uint_lt(prediction.n_blocks, 20000U);
  ck_assert(prediction.block_ns_p50 > 0.0 && prediction.block_ns_p99 >= prediction.block_ns_p50);
  OK(engine_predict(&config, rack, RATE, 64, 3, &prediction, &error));
  ck_assert_uint_eq(prediction.n_blocks, 3U);
}

SUITE_MAIN("fallback")
