// SPDX-License-Identifier: GPL-3.0-or-later
// A loop that is closed outside the rack is attenuated until it is gone, returns softly, and is
// muted if it recurs; loud music and other outputs stay unchanged.
//
// The loops run through a complete period with a worker that amplifies, so that the tests cover all
// the code that protects the loudspeakers.

#include "engine/callback/feedback.h"
#include "engine/callback/period.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CEILING_DB -0.3
#define CHANNELS   2U
#define MAX_DELAY  128U // blocks

typedef struct Loop {
  Ring* ring;
  Period* period;
  double rate_hz;
  uint32_t block_frames;
  float rack_gain;       ///< Gain of the worker
  float outer_gain;      ///< Gain from output 1 back to input 1; 0: open loop
  uint32_t delay_blocks; ///< Delay of the way back, 1..MAX_DELAY
  bool is_dry;           ///< The worker is always late
  float (*source)(uint32_t channel, uint64_t frame, double rate_hz);
  uint64_t n_blocks;
  float* memory; ///< [MAX_DELAY][block] of output 1
  float *in[CHANNELS], *out[CHANNELS];
} Loop;

static float
hiss(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  (void)rate_hz;
  uint64_t state = frame * CHANNELS + channel;
  return 1e-4F * ((float)(signal_random(&state) >> 40U) * 0x1p-23F - 1.0F);
}

/// Hiss; on channel 2, one sample in a hundred is also far above the ceiling.
static float
spikes(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  return channel == 1U && frame % 100U == 0 ? 2.0F : hiss(channel, frame, rate_hz);
}

static float
nothing(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  (void)channel;
  (void)frame;
  (void)rate_hz;
  return 0.0F;
}

static float
full_square(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  const uint64_t half = (uint64_t)(rate_hz / (200.0 * (channel + 1U)));
  return frame / half % 2U ? 1.0F : -1.0F;
}

/// A constant, as from a defective converter.
static float
constant(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  (void)channel;
  (void)frame;
  (void)rate_hz;
  return 1.0F;
}

/// White noise clipped at 0 dBFS: the densest possible music.
static float
dense(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  const float x = 4e4F * hiss(channel, frame, rate_hz);
  return x > 1.0F ? 1.0F : x < -1.0F ? -1.0F : x;
}

/// Clipped noise with a beat: 12 dB down for a fifth of every 0.43 s.
static float
beat(const uint32_t channel, const uint64_t frame, const double rate_hz)
{
  const double turn = fmod((double)frame / rate_hz, 0.43) / 0.43;
  return dense(channel, frame, rate_hz) * (turn > 0.8 ? 0.25F : 1.0F);
}

static void
loop_new(Loop* const loop, const double rate_hz, const uint32_t block_frames)
{
  *loop = (Loop){ .rate_hz = rate_hz,
                  .block_frames = block_frames,
                  .rack_gain = 1.0F,
                  .delay_blocks = 1,
                  .source = hiss };
  const RingShape shape = { CHANNELS, CHANNELS, block_frames, 4, 16, 0 };
  ck_assert(ring_new(&shape, &loop->ring, NULL) == STATUS_OK);
  const PeriodConfig config = { .ring = loop->ring,
                                .rate_hz = rate_hz,
                                .depth = 1,
                                .fallback = { .level = 1.0F },
                                .ceiling_lin = (float)pow(10.0, CEILING_DB / 20.0) };
  ck_assert(period_new(&config, &loop->period, NULL) == STATUS_OK);
  loop->memory = calloc((size_t)block_frames * (MAX_DELAY + 2U * CHANNELS), sizeof(float));
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    loop->in[c] = loop->memory + (size_t)block_frames * (MAX_DELAY + c);
    loop->out[c] = loop->memory + (size_t)block_frames * (MAX_DELAY + CHANNELS + c);
  }
}

static void
loop_free(Loop* const loop)
{
  period_free(loop->period);
  ring_free(loop->ring);
  free(loop->memory);
}

static void
serve(const Loop* const loop)
{
  uint64_t sequence = 0;
  while (!loop->is_dry && ring_take(loop->ring, 0U, &sequence)) {
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      const float* const in = ring_input(loop->ring, sequence, c);
      float* const out = ring_output(loop->ring, sequence, c);
      for (uint32_t i = 0; i < loop->block_frames; ++i) {
        out[i] = in[i] * loop->rack_gain;
      }
    }
    ring_finish(loop->ring);
  }
}

static void
run_block(Loop* const loop)
{
  const uint32_t n_frames = loop->block_frames;
  const float* const back =
      loop->memory + (loop->n_blocks + MAX_DELAY - loop->delay_blocks) % MAX_DELAY * n_frames;
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      const float returned = c == 0 ? loop->outer_gain * back[i] : 0.0F;
      loop->in[c][i] = loop->source(c, loop->n_blocks * n_frames + i, loop->rate_hz) + returned;
    }
  }
  serve(loop);
  period_run(loop->period, (const float* const*)loop->in, loop->out, n_frames, false);
  memcpy(loop->memory + loop->n_blocks % MAX_DELAY * n_frames, loop->out[0],
         n_frames * sizeof(float));
  ++loop->n_blocks;
}

static float
peak_of(const Loop* const loop, const uint32_t channel)
{
  float peak = 0.0F;
  for (uint32_t i = 0; i < loop->block_frames; ++i) {
    peak = fmaxf(peak, fabsf(loop->out[channel][i]));
  }
  return peak;
}

static uint32_t
attenuation(const Loop* const loop, const uint32_t channel)
{
  return period_port(loop->period, true, channel).attenuation_db;
}

/// Run until condition(loop).  Returns the seconds; fails after `limit_s`.
static double
run_until(Loop* const loop, bool (*const condition)(const Loop*), const double limit_s)
{
  const uint64_t first = loop->n_blocks;
  while (!condition(loop)) {
    run_block(loop);
    ck_assert_msg((double)((loop->n_blocks - first) * loop->block_frames) < limit_s * loop->rate_hz,
                  "not within %g s", limit_s);
  }
  return (double)((loop->n_blocks - first) * loop->block_frames) / loop->rate_hz;
}

static bool
is_pinned(const Loop* const loop)
{
  return peak_of(loop, 0) >= (float)pow(10.0, CEILING_DB / 20.0);
}

static bool
is_turned_down(const Loop* const loop)
{
  return attenuation(loop, 0) > 0;
}

static bool
is_up(const Loop* const loop)
{
  return attenuation(loop, 0) == 0;
}

static bool
is_muted(const Loop* const loop)
{
  return period_port(loop->period, true, 0).is_muted;
}

static bool
is_found(const Loop* const loop)
{
  return period_counts(loop->period).feedback > 0;
}

static void
run_seconds(Loop* const loop, const double seconds)
{
  const uint64_t n_blocks = (uint64_t)(seconds * loop->rate_hz / loop->block_frames);
  for (uint64_t k = 0; k < n_blocks; ++k) {
    run_block(loop);
  }
}

/// Check that output c is the input of `depth` blocks ago behind the guard, to the sample.
static void
expect_untouched(Loop* const loop, const uint32_t channel, const double seconds)
{
  const uint32_t n_frames = loop->block_frames;
  const GuardCurve curve = guard_curve((float)pow(10.0, CEILING_DB / 20.0));
  const uint64_t n_blocks = (uint64_t)(seconds * loop->rate_hz / n_frames);
  SCOPED_MEMORY float* const before = malloc(n_frames * sizeof(float));
  SCOPED_MEMORY float* const wanted = malloc(n_frames * sizeof(float));
  run_block(loop);
  for (uint64_t k = 0; k < n_blocks; ++k) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      before[i] = loop->in[channel][i] * loop->rack_gain;
    }
    guard_limit(wanted, before, n_frames, &curve);
    run_block(loop);
    if (memcmp(loop->out[channel], wanted, n_frames * sizeof(float)) != 0) {
      ck_abort_msg("channel %u was changed in block %llu", channel,
                   (unsigned long long)loop->n_blocks);
    }
  }
}

// ---- loops ----

TEST(a_loop_is_found_attenuated_and_muted_when_it_recurs)
{
  static const struct {
    double rate_hz;
    uint32_t block_frames, delay_blocks;
    float rack_gain, outer_gain;
    bool is_dry;
  } cases[] = {
    { 48000.0, 256, 1, 1.0F, 1.5F, false },   { 48000.0, 256, 1, 1.5F, 1.0F, false },
    { 48000.0, 256, 1, 1.0F, 1.5F, true },    { 44100.0, 17, 40, 30.0F, 0.05F, false },
    { 192000.0, 64, 100, 1.0F, 1.1F, false }, { 48000.0, 8192, 1, 1.0F, 1.5F, false },
    { 48000.0, 1024, 6, 1.0F, 1.3F, false }, // 150 ms per round
  };
  for (uint32_t k = 0; k < ARRAY_LEN(cases); ++k) {
    SCOPED(loop_free) Loop loop;
    loop_new(&loop, cases[k].rate_hz, cases[k].block_frames);
    loop.rack_gain = cases[k].rack_gain;
    loop.outer_gain = cases[k].outer_gain;
    loop.delay_blocks = cases[k].delay_blocks;
    loop.is_dry = cases[k].is_dry;
    run_until(&loop, is_pinned, 60.0); // the loop grows from the hiss
    const double noticed_s = run_until(&loop, is_turned_down, 60.0);
    const double found_s = run_until(&loop, is_found, 3.0);
    // A window of 8192 frames is 170 ms long.
    const double window_s = fmax(0.11, cases[k].block_frames / cases[k].rate_hz);
    ck_assert_double_ge(noticed_s, 0.4);
    ck_assert_double_le(found_s, 13.0 * window_s);
    run_seconds(&loop, 0.7);
    ck_assert_uint_eq(attenuation(&loop, 0), 6); // 6 dB stop these loops until the gain is back
    run_until(&loop, is_muted, 60.0);            // it recurs, at each gain
    ck_assert_uint_ge(period_counts(loop.period).feedback, 1);
    run_seconds(&loop, 3.0 * window_s);
    ck_assert(peak_of(&loop, 0) == 0.0F);
    loop.outer_gain = 0.0F; // the loop is opened
    const double recovered_s = run_until(&loop, is_up, 40.0);
    ck_assert_double_ge(recovered_s, 7.0);
    loop.source = dense;
    loop.rack_gain = loop.is_dry ? 1.0F : loop.rack_gain;
    run_seconds(&loop, 1.5 * window_s); // the last step is a ramp
    if (loop.rack_gain == 1.0F) {
      expect_untouched(&loop, 0, 2.0);
    }
  }
}

TEST(a_loop_never_passes_the_ceiling_and_is_loud_for_a_small_part_of_the_time)
{
  SCOPED(loop_free) Loop loop;
  loop_new(&loop, 48000.0, 256);
  loop.outer_gain = 1.5F;
  const float ceiling = (float)pow(10.0, CEILING_DB / 20.0);
  uint64_t n_loud = 0;
  uint64_t n_blocks = 0;
  uint64_t n_mutes = 0;
  uint64_t last_mute = 0;
  uint64_t mute = 0;                                    // blocks of this mute so far
  for (; n_blocks < 120U * 48000U / 256U; ++n_blocks) { // two minutes without an intervention
    run_block(&loop);
    ck_assert(peak_of(&loop, 0) <= ceiling);
    n_loud += peak_of(&loop, 0) > 0.5F * ceiling;
    if (is_muted(&loop)) {
      ++mute;
    } else if (mute) { // each mute is twice as long as the last
      ck_assert_uint_gt(2U * mute, 3U * last_mute);
      last_mute = mute;
      mute = 0;
      ++n_mutes;
    }
  }
  ck_assert_uint_gt(n_loud, 0);
  ck_assert_uint_ge(n_mutes, 3);
  ck_assert_uint_lt(n_loud, n_blocks / 10U); // measured: 6 %
}

TEST(a_violent_loop_is_muted_within_seconds)
{
  SCOPED(loop_free) Loop loop;
  loop_new(&loop, 48000.0, 128);
  loop.rack_gain = 300.0F;
  loop.outer_gain = 1.0F;
  run_until(&loop, is_pinned, 1.0);
  run_until(&loop, is_muted, 3.0);
  ck_assert_uint_eq(period_counts(loop.period).feedback, 1);
}

TEST(a_loop_with_a_gain_below_1_is_no_feedback)
{
  SCOPED(loop_free) Loop loop;
  loop_new(&loop, 48000.0, 256);
  loop.outer_gain = 0.95F;
  expect_untouched(&loop, 0, 20.0);
  ck_assert_uint_eq(period_counts(loop.period).feedback, 0);
}

TEST(other_outputs_are_left_alone)
{
  SCOPED(loop_free) Loop loop;
  loop_new(&loop, 48000.0, 256);
  loop.source = nothing;
  loop.outer_gain = 1.5F;
  run_block(&loop);
  loop.memory[0] = 0.01F; // a click starts the loop
  loop.source = spikes;
  expect_untouched(&loop, 1U, 10.0);
  ck_assert_uint_gt(attenuation(&loop, 0), 0);
  ck_assert_uint_eq(attenuation(&loop, 1U), 0);
}

// ---- music ----

TEST(loud_music_is_left_alone)
{
  float (*const sources[])(uint32_t, uint64_t, double) = { full_square, constant, dense, beat };
  for (uint32_t s = 0; s < ARRAY_LEN(sources); ++s) {
    SCOPED(loop_free) Loop loop;
    loop_new(&loop, 48000.0, 256);
    loop.source = sources[s];
    expect_untouched(&loop, 0, 30.0);
    ck_assert_uint_eq(period_counts(loop.period).feedback, 0);
    ck_assert_uint_gt(period_counts(loop.period).clipped, 0);
  }
}

TEST(an_overdriven_rack_is_tried_once_and_then_left_alone)
{
  float (*const sources[])(uint32_t, uint64_t, double) = { full_square, constant, dense, beat };
  for (uint32_t s = 0; s < ARRAY_LEN(sources); ++s) {
    SCOPED(loop_free) Loop loop;
    loop_new(&loop, 48000.0, 256);
    loop.rack_gain = 4.0F;
    loop.source = sources[s];
    uint64_t n_down = 0;
    uint32_t most = 0;
    for (uint64_t k = 0; k < 60U * 48000U / 256U; ++k) {
      run_block(&loop);
      n_down += is_turned_down(&loop);
      most = attenuation(&loop, 0) > most ? attenuation(&loop, 0) : most;
    }
    ck_assert_uint_eq(period_counts(loop.period).feedback, 0);
    if (s < 3U) {
      ck_assert_uint_gt(n_down, 0); // the detector did attenuate it once
    }
    ck_assert_uint_le(most, 6);
    ck_assert_double_le((double)n_down * 256.0 / 48000.0, 0.8);
    expect_untouched(&loop, 0, 5.0);
  }
}

TEST(a_change_of_gain_has_no_corner)
{
  SCOPED(loop_free) Loop loop;
  loop_new(&loop, 48000.0, 64);
  loop.rack_gain = 4.0F;
  loop.source = full_square;
  const double window_frames = 4800.0;
  float last[2] = { 0.0F, 0.0F };
  double largest = 0.0;
  for (uint64_t k = 0; k < 3U * 48000U / 64U; ++k) {
    run_block(&loop);
    for (uint32_t i = 0; i < 64U && k > 1U; ++i) {
      const float now = fabsf(loop.out[0][i]); // ceiling times gain
      if (k > 2U) {
        largest = fmax(largest, fabs((double)now - 2.0 * (double)last[1] + (double)last[0]));
      }
      last[0] = last[1];
      last[1] = now;
    }
  }
  // The second difference of a cubic ramp over half the range is at most 0.5 * 6 / length²; the
  // rounding of a float adds 1e-7.
  ck_assert_double_le(largest, 6.0 * 0.5 / (window_frames * window_frames) + 4e-7);
  ck_assert_double_gt(largest, 1e-8);
}

TEST(without_a_ceiling_nothing_is_found)
{
  SCOPED(loop_free) Loop loop;
  loop_new(&loop, 48000.0, 256);
  period_free(loop.period);
  const PeriodConfig config = { .ring = loop.ring, .rate_hz = 48000.0, .depth = 1 };
  ck_assert(period_new(&config, &loop.period, NULL) == STATUS_OK);
  loop.outer_gain = 1.1F;
  run_seconds(&loop, 2.0);
  ck_assert_uint_eq(attenuation(&loop, 0), 0);
}

SUITE_MAIN("feedback")
