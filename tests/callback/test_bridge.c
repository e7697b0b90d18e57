// SPDX-License-Identifier: GPL-3.0-or-later
// A bridge continues the signal of an output, ends at its fallback, is never louder than the louder
// of signal and fallback, and adds nothing if they are equal.  Its cost stays within its share of
// the period.

#include "engine/base/rt.h"
#include "engine/callback/bridge.h"
#include "engine/contract/effect.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RATE   48000.0
#define BLOCK  256U
#define BEFORE 1024U // frames played before the gap
#define AFTER  2048U

/// A gap of one output: the output before it, the fallback throughout, and the output during it.
typedef struct Gap {
  float before[BEFORE];
  float fallback[BEFORE + AFTER];
  float played[AFTER];
} Gap;

/// Returns a number of outputs with which the last output is the first lane of its group and has
/// this order.
static uint32_t
outputs_for_order(const uint32_t order, const uint32_t block_frames)
{
  for (uint32_t n = 1; n <= FX_MAX_CHANNELS; n += BRIDGE_LANES) {
    Bridge* bridge = NULL;
    ck_assert(!bridge_new(RATE, n, block_frames, BRIDGE_SHARE, &bridge, NULL));
    const uint32_t last = bridge_order(bridge, n - 1U);
    bridge_free(bridge);
    if (last == order) {
      return n;
    }
  }
  ck_abort_msg("no number of outputs gives order %u with blocks of %u frames", order, block_frames);
}

/// Analyse the group of output `first`, whose lane 0 has the fallback that ends at `fallback_end`.
static void
predict(Bridge* const bridge, const uint32_t first, const float* const fallback_end)
{
  static float rows[BRIDGE_LANES][BRIDGE_HISTORY];
  const uint32_t n_known = bridge_known(bridge, first);
  memcpy(rows[0], fallback_end - n_known, n_known * sizeof(float));
  bridge_predict(bridge, first, (const float(*)[BRIDGE_HISTORY])rows);
}

/// Play a gap in blocks as the last of n_outputs, the first lane of its group.  Returns the length
/// of the bridge.
static uint32_t
play_last(Gap* const gap, const uint32_t block_frames, const uint32_t n_outputs)
{
  const uint32_t c = n_outputs - 1U;
  Bridge* bridge = NULL;
  ck_assert(!bridge_new(RATE, n_outputs, block_frames, BRIDGE_SHARE, &bridge, NULL));
  for (uint32_t i = 0; i + block_frames <= BEFORE; i += block_frames) {
    bridge_record(bridge, c, gap->before + i, block_frames);
    bridge_advance(bridge, block_frames);
  }
  ck_assert(!bridge_is_open(bridge));
  bridge_begin(bridge);
  predict(bridge, c, gap->fallback + BEFORE);
  memcpy(gap->played, gap->fallback + BEFORE, sizeof(gap->played));
  uint32_t length = 0;
  for (uint32_t i = 0; i + block_frames <= AFTER; i += block_frames) {
    if (bridge_is_open(bridge)) {
      bridge_add(bridge, c, gap->played + i, block_frames);
      length = i + block_frames;
    }
    bridge_advance(bridge, block_frames);
  }
  bridge_free(bridge);
  return length;
}

static uint32_t
play(Gap* const gap, const uint32_t block_frames)
{
  return play_last(gap, block_frames, 1);
}

/// The largest magnitude; infinite if a sample is NaN.
static double
peak(const float* const samples, const uint32_t n)
{
  double largest = 0.0;
  for (uint32_t i = 0; i < n; ++i) {
    largest = isnan(samples[i]) ? INFINITY : fmax(largest, fabs((double)samples[i]));
  }
  return largest;
}

// ---- signals ----

static const uint32_t orders[] = { 0, 2, 4, 8, 16 };

typedef enum Source { TONE, PINK, CHORD, N_SOURCES } Source;

/// 1 kHz; noise that falls by 3 dB per octave (P. Kellet's filter with three poles); six tones.
static void
make(const Source source, const uint64_t seed, float* const out, const uint32_t n)
{
  static const double chord[] = { 220.0, 277.18, 329.63, 440.0, 554.37, 659.26 };
  double poles[3] = { 0.0 };
  uint64_t random = seed;
  for (uint32_t i = 0; i < n; ++i) {
    const double t = (i + 131.0 * (double)seed) / RATE;
    const double white = (double)(signal_random(&random) >> 11U) * 0x1p-52 - 1.0;
    poles[0] = 0.99765 * poles[0] + white * 0.0990460;
    poles[1] = 0.96300 * poles[1] + white * 0.2965164;
    poles[2] = 0.57000 * poles[2] + white * 1.0526913;
    double sum = source == PINK ? 0.1 * (poles[0] + poles[1] + poles[2] + white * 0.1848) : 0.0;
    sum += source == TONE ? 0.5 * sin(2.0 * M_PI * 1000.0 * t) : 0.0;
    for (uint32_t k = 0; source == CHORD && k < ARRAY_LEN(chord); ++k) {
      sum += 0.12 * sin(2.0 * M_PI * chord[k] * t + k);
    }
    out[i] = (float)sum;
  }
}

/// Make a gap whose output is one passage of a source and whose fallback is another, times `gain`.
static void
make_gap(Gap* const gap, const Source source, const uint64_t seed, const float gain)
{
  make(source, seed, gap->before, BEFORE);
  make(source, seed + 1000U, gap->fallback, BEFORE + AFTER);
  for (uint32_t i = 0; i < BEFORE + AFTER; ++i) {
    gap->fallback[i] *= gain;
  }
}

// ---- tests ----

TEST(a_bridge_is_three_blocks_long_and_20_ms_at_most)
{
  static const struct {
    uint32_t block_frames, length;
  } rows[] = { { 1, 3 },     { 16, 48 },   { 64, 192 },  { 256, 768 },
               { 320, 960 }, { 512, 960 }, { 1024, 960 } };
  static Gap gap;
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const uint32_t length = rows[r].length;
    make_gap(&gap, TONE, r, 0.0F);
    play(&gap, rows[r].block_frames);
    ck_assert_double_gt(peak(gap.played, length), 1e-6);
    ck_assert(peak(gap.played + length - 1U, AFTER - length) < 1e-9); // the fallback
  }
}

TEST(an_output_that_was_its_fallback_gets_no_bridge)
{
  static Gap gap;
  for (uint32_t k = 0; k < ARRAY_LEN(orders); ++k) {
    const uint32_t n_outputs = outputs_for_order(orders[k], 16);
    for (uint32_t source = TONE; source < N_SOURCES; ++source) {
      make_gap(&gap, (Source)source, 1, 1.0F);
      memcpy(gap.before, gap.fallback, sizeof(gap.before));
      play_last(&gap, 16, n_outputs);
      ck_assert(!memcmp(gap.played, gap.fallback + BEFORE, sizeof(gap.played)));
    }
  }
}

/// The loudest of many passages, in dB over the peak of the last block before the gap.
static double
worst_peak(const Source source, const float gain, const uint32_t block_frames,
           const uint32_t n_outputs, const uint64_t n_passages)
{
  static Gap gap;
  double worst = -1e3;
  for (uint64_t seed = 1; seed <= n_passages; ++seed) {
    make_gap(&gap, source, seed, gain);
    const uint32_t length = play_last(&gap, block_frames, n_outputs);
    const double last = peak(gap.before + BEFORE - BRIDGE_HISTORY, BRIDGE_HISTORY);
    const double bound = fmax(last, peak(gap.fallback + BEFORE, length));
    worst = fmax(worst, 20.0 * log10(peak(gap.played, length) / bound));
  }
  return worst;
}

static void
check_peaks(const uint32_t block_frames, const uint32_t n_outputs, const uint64_t n_passages)
{
  static const float gains[] = { 0.0F, 0.01F, 0.3F, 1.0F, -1.0F };
  for (uint32_t source = TONE; source < N_SOURCES; ++source) {
    for (uint32_t g = 0; g < ARRAY_LEN(gains); ++g) {
      const double worst =
          worst_peak((Source)source, gains[g], block_frames, n_outputs, n_passages);
      ck_assert_msg(worst <= 0.5, "source %u, fallback times %g, %u outputs: %.2f dB", source,
                    (double)gains[g], n_outputs, worst);
    }
  }
}

TEST(no_gap_is_louder_than_the_audio_before_and_after_it)
{
  check_peaks(BLOCK, 1, 100);
  for (uint32_t k = 0; k < ARRAY_LEN(orders); ++k) {
    check_peaks(16, outputs_for_order(orders[k], 16), 20);
  }
}

TEST(a_tone_goes_on_in_step_and_fades)
{
  static Gap gap;
  static float tone[BEFORE + AFTER];
  for (uint64_t seed = 1; seed <= 40U; ++seed) {
    make_gap(&gap, TONE, seed, 0.0F);
    make(TONE, seed, tone, BEFORE + AFTER);
    play(&gap, BLOCK);
    for (uint32_t i = 0; i < 3U * BLOCK; ++i) {
      const double way = (i + 1.0) / (3.0 * BLOCK);
      const double wanted = (double)tone[BEFORE + i] * (1.0 - way * way * (3.0 - 2.0 * way));
      ck_assert_double_eq_tol(gap.played[i], wanted, 0.025);
    }
  }
}

static void
check_first_step(const uint32_t block_frames, const uint32_t n_outputs)
{
  static Gap gap;
  for (uint32_t source = TONE; source < N_SOURCES; ++source) {
    double step = 0.0;
    double own = 0.0; // step of the source between two frames
    for (uint64_t seed = 1; seed <= 100U; ++seed) {
      make_gap(&gap, (Source)source, seed, 0.0F);
      play_last(&gap, block_frames, n_outputs);
      step += pow((double)gap.played[0] - (double)gap.before[BEFORE - 1U], 2.0);
      own += pow((double)gap.before[BEFORE - 1U] - (double)gap.before[BEFORE - 2U], 2.0);
    }
    ck_assert_msg(step <= 1.5 * own, "source %u, %u outputs: %g, not %g", source, n_outputs,
                  sqrt(step), sqrt(own));
  }
}

TEST(a_gap_begins_without_a_step)
{
  check_first_step(BLOCK, 1);
  for (uint32_t k = 0; k < ARRAY_LEN(orders); ++k) {
    check_first_step(16, outputs_for_order(orders[k], 16));
  }
}

TEST(the_split_into_blocks_does_not_matter)
{
  static Gap whole;
  static Gap split;
  Bridge* bridges[2] = { NULL };
  make_gap(&whole, CHORD, 3, 0.5F);
  split = whole;
  for (uint32_t b = 0; b < 2U; ++b) {
    Gap* const gap = b ? &split : &whole;
    ck_assert(!bridge_new(RATE, 1, BLOCK, BRIDGE_SHARE, &bridges[b], NULL));
    bridge_record(bridges[b], 0, gap->before, BEFORE); // longer than its history
    bridge_advance(bridges[b], BEFORE);
    bridge_begin(bridges[b]);
    predict(bridges[b], 0, gap->fallback + BEFORE);
    memcpy(gap->played, gap->fallback + BEFORE, sizeof(gap->played));
    for (uint32_t i = 0; i < 3U * BLOCK;) {
      const uint32_t n = b ? 1U + i % 7U : 3U * BLOCK;
      bridge_add(bridges[b], 0, gap->played + i, n < 3U * BLOCK - i ? n : 3U * BLOCK - i);
      bridge_advance(bridges[b], n);
      i += n;
    }
    bridge_free(bridges[b]);
  }
  ck_assert(!memcmp(whole.played, split.played, 3U * BLOCK * sizeof(float)));
}

TEST(silence_before_and_after_the_gap_stays_silence)
{
  static Gap gap;
  for (uint32_t k = 0; k < ARRAY_LEN(orders); ++k) {
    make_gap(&gap, TONE, 1, 100.0F); // in the fallback only, which was not played
    memset(gap.before, 0, sizeof(gap.before));
    memset(gap.fallback + BEFORE, 0, AFTER * sizeof(float));
    play_last(&gap, 16, outputs_for_order(orders[k], 16));
    ck_assert_double_le(peak(gap.played, AFTER), 1e-30);
  }
}

TEST(the_bridge_of_an_output_does_not_depend_on_other_outputs)
{
  enum { N = 2U * BRIDGE_LANES + 1U };
  static Gap gaps[N];
  static Gap alone;
  Bridge* bridge = NULL;
  ck_assert(!bridge_new(RATE, N, BLOCK, BRIDGE_SHARE, &bridge, NULL));
  for (uint32_t c = 0; c < N; ++c) {
    make_gap(&gaps[c], (Source)(c % N_SOURCES), c, 0.2F);
    bridge_record(bridge, c, gaps[c].before, BEFORE);
  }
  bridge_advance(bridge, BEFORE);
  bridge_begin(bridge);
  for (uint32_t first = 0; first < N; first += BRIDGE_LANES) {
    float before[BRIDGE_LANES][BRIDGE_HISTORY] = { { 0.0F } };
    for (uint32_t l = 0; l < BRIDGE_LANES && first + l < N; ++l) {
      memcpy(before[l], gaps[first + l].fallback + BEFORE - BRIDGE_HISTORY, sizeof(before[l]));
    }
    bridge_predict(bridge, first, (const float(*)[BRIDGE_HISTORY])before);
  }
  for (uint32_t c = 0; c < N; ++c) {
    alone = gaps[c];
    play(&alone, BLOCK);
    bridge_add(bridge, c, gaps[c].fallback + BEFORE, BLOCK);
    ck_assert(!memcmp(gaps[c].fallback + BEFORE, alone.played, BLOCK * sizeof(float)));
  }
  bridge_free(bridge);
}

TEST(any_history_gives_finite_samples_within_the_bound)
{
  static const float levels[] = { 1e-42F, 1e-30F, 1.0F, 1e20F, 3e38F };
  static Gap gap;
  for (uint32_t l = 0; l < ARRAY_LEN(levels); ++l) {
    for (uint32_t shape = 0; shape < 5U; ++shape) {
      memset(&gap, 0, sizeof(gap));
      for (uint32_t i = 0; i < BEFORE; ++i) {
        const float alternating = i % 2U ? 1.0F : -1.0F;
        const float values[] = { 1.0F, alternating, i + 1U == BEFORE, (float)i / BEFORE,
                                 (float)exp(0.05 * ((double)i - BEFORE)) };
        gap.before[i] = levels[l] * values[shape];
      }
      play(&gap, BLOCK);
      ck_assert_msg(peak(gap.played, AFTER) <= (double)levels[l] * 1.0500001,
                    "level %g, shape %u: %g", (double)levels[l], shape, peak(gap.played, AFTER));
    }
  }
}

// ---- cost ----

/// Check the orders and the cost of n outputs.  True if all have the highest order.  Outputs for
/// which even order 0 is too costly have order 0.
static bool
check_cost(const uint32_t n, const uint32_t block_frames, const double share)
{
  const double period_s = block_frames / RATE;
  Bridge* bridge = NULL;
  ck_assert(!bridge_new(RATE, n, block_frames, share, &bridge, NULL));
  ck_assert_msg(bridge_cost(bridge) <= share * period_s ||
                    (share < BRIDGE_SHARE && bridge_order(bridge, 0) == 0),
                "%u outputs of %u frames: cost %g, limit %g", n, block_frames, bridge_cost(bridge),
                period_s);
  for (uint32_t c = 1; c < n; ++c) {
    if (bridge_order(bridge, c) > bridge_order(bridge, c - 1U)) {
      ck_abort_msg("output %u of %u has a higher order than the one before", c, n);
    }
  }
  const bool is_highest = bridge_order(bridge, n - 1U) == BRIDGE_MAX_ORDER;
  bridge_free(bridge);
  return is_highest;
}

TEST(the_cost_stays_within_its_share_of_the_period)
{
  static const struct {
    uint32_t block_frames, n_highest; // least number of outputs with the highest order
  } rows[] = {
    { 16, 24 },   { 24, 32 },   { 32, 48 },   { 48, 64 },   { 64, 96 },    { 96, 128 },
    { 128, 192 }, { 240, 256 }, { 256, 256 }, { 441, 512 }, { 1024, 768 }, { 4096, 1024 }
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    for (uint32_t n = 1; n < FX_MAX_CHANNELS; n += 1U + n / 4U) {
      const bool is_highest = check_cost(n, rows[r].block_frames, BRIDGE_SHARE);
      ck_assert_msg(is_highest || n > rows[r].n_highest, "%u outputs of %u frames", n,
                    rows[r].block_frames);
    }
    check_cost(FX_MAX_CHANNELS, rows[r].block_frames, BRIDGE_SHARE);
    for (uint32_t n = 1; n <= FX_MAX_CHANNELS; n *= 2U) {
      (void)check_cost(n, rows[r].block_frames, 0.125);
    }
  }
}

/// CPU time of a bridge in the first block of a gap, in seconds.
static double
time_first_block(Bridge* const bridge, const uint32_t n_outputs, const uint32_t block_frames)
{
  static float row[FX_MAX_BLOCK];
  static float rows[BRIDGE_LANES][BRIDGE_HISTORY];
  struct timespec began;
  struct timespec ended;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
  bridge_begin(bridge);
  for (uint32_t c = 0; c < n_outputs; c += BRIDGE_LANES) {
    bridge_predict(bridge, c, (const float(*)[BRIDGE_HISTORY])rows);
  }
  for (uint32_t c = 0; c < n_outputs; ++c) {
    bridge_add(bridge, c, row, block_frames);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
  return (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
}

/// The model against the machine: the least of many measured times, divided by the modelled time,
/// is nearly the same for all shapes.  Their blocks are measured in turn, so that other load and
/// the clock of the processor affect all shapes alike.
TEST(the_time_follows_the_model)
{
  static const struct {
    uint32_t n_outputs, block_frames;
  } rows[] = { { 1024, 16 }, { 256, 16 }, { 64, 16 }, { 256, 64 }, { 1024, 64 }, { 16, 1024 } };
  static float noise[BRIDGE_HISTORY + FX_MAX_CHANNELS];
  Bridge* bridges[ARRAY_LEN(rows)] = { NULL };
  double times_s[ARRAY_LEN(rows)];
  rt_flush_denormals();
  make(PINK, 1, noise, ARRAY_LEN(noise));
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    times_s[r] = INFINITY;
    ck_assert(!bridge_new(RATE, rows[r].n_outputs, rows[r].block_frames, BRIDGE_SHARE, &bridges[r],
                          NULL));
    for (uint32_t c = 0; c < rows[r].n_outputs; ++c) {
      bridge_record(bridges[r], c, noise + c, BRIDGE_HISTORY);
    }
    bridge_advance(bridges[r], BRIDGE_HISTORY);
  }
  for (uint32_t k = 0; k < 100U; ++k) {
    for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
      times_s[r] =
          fmin(times_s[r], time_first_block(bridges[r], rows[r].n_outputs, rows[r].block_frames));
    }
  }
  double least = INFINITY;
  double largest = 0.0;
  char text[ARRAY_LEN(rows) * 64U] = "";
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const double model_s = bridge_cost(bridges[r]);
    least = fmin(least, times_s[r] / model_s);
    largest = fmax(largest, times_s[r] / model_s);
    const size_t n = strlen(text);
    snprintf(text + n, sizeof(text) - n, "\n%u outputs of %u frames: %.1f us, modelled %.1f",
             rows[r].n_outputs, rows[r].block_frames, 1e6 * times_s[r], 1e6 * model_s);
    bridge_free(bridges[r]);
  }
  ck_assert_msg(largest <= 2.5 * least, "%s", text);
}

TEST(the_lowest_order_holds_the_last_sample)
{
  const uint32_t n = outputs_for_order(0, 16);
  static float silence[BEFORE];
  float row[16] = { 0.0F };
  Bridge* bridge = NULL;
  ck_assert(!bridge_new(RATE, n, 16, BRIDGE_SHARE, &bridge, NULL));
  bridge_record(bridge, n - 1U, (float[]){ 0.25F, 0.5F }, 2);
  bridge_advance(bridge, 2);
  bridge_begin(bridge);
  predict(bridge, n - 1U, silence + BEFORE);
  bridge_add(bridge, n - 1U, row, 16);
  for (uint32_t i = 0; i < 16U; ++i) {
    const double way = (i + 1.0) / 48.0;
    ck_assert_double_eq_tol(row[i], 0.5 * (1.0 - way * way * (3.0 - 2.0 * way)), 1e-6);
  }
  bridge_free(bridge);
  bridge_free(NULL);
}

SUITE_MAIN("bridge")
