// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Filters on a device: within -120 dB of extended precision in the hardest cases for floats, equal
  to the CPU through every kind of change, and successive filters in one launch.

      WARPRACK_TEST_BACKEND=cuda|opencl (default opencl)
*/

#include "dsp_cpu/cascade_kernel.h"
#include "dsp_cpu/filter_design.h"
#include "dsp_cpu/rbj.h"
#include "dsp_gpu/stage_tables.h"
#include "engine/contract/backend.h"
#include "tests/support/device_pair.h"
#include "tests/support/device_suite.h"
#include "tests/support/fx_checks.h"
#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-6 // tolerance of every filter: -120 dB

static Backend* device;

/// Play a rack.  Returns its output, planar [n_out][n_frames].
static float**
play(const Backend* const backend, const char* const rack, const Format* const format,
     float** const in, const uint32_t n_frames)
{
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, backend, NULL, rack, format, NULL, 0U);
  float** const out = planar_silence(rack_rig_n_out(&rig), n_frames);
  rack_rig_run(&rig, (const float* const*)in, out, n_frames, RIG_BLOCKS, 0U);
  ck_assert_uint_eq(rig.player.counts.units_reset, 0);
  return out;
}

// ---- extended precision ----

/// A filter whose rounding errors in floats are large: it is low or narrow, or has many sections.
typedef struct Hard {
  const char* rack;
  double rate_hz;
  double sine_hz; ///< The frequency with the largest error
  double level;   ///< Level of the signals, so that the output stays near 1
  double seconds;
  FilterSpec spec; ///< Without the rate; cookbook filters use only the frequency
  Section (*rbj)(double frequency_hz, double gain_db, double q, double rate_hz); ///< Or NULL
  double gain_db, q; ///< Parameters of cookbook filters
} Hard;

#define CLASSIC(band_, type_, order_, low, high, ripple, stopband)                                 \
  .spec = { .band = BAND_##band_,                                                                  \
            .type = FILTER_##type_,                                                                \
            .order = (order_),                                                                     \
            .edge_hz = { (low), (high) },                                                          \
            .ripple_db = (ripple),                                                                 \
            .stopband_db = (stopband) }
#define COOKBOOK(function, frequency, gain, q_)                                                    \
  .spec = { .edge_hz = { (frequency) } }, .rbj = (function), .gain_db = (gain), .q = (q_)

static const Hard hard[] = {
  { "x: highpass 10Hz", 192000.0, 10.0, 1.0, 1.0,
    CLASSIC(HIGHPASS, BUTTERWORTH, 2, 10.0, 0.0, 0, 0) },
  { "x: lowpass 10Hz", 192000.0, 10.0, 1.0, 1.0,
    CLASSIC(LOWPASS, BUTTERWORTH, 2, 10.0, 0.0, 0, 0) },
  { "x: lowpass 10Hz order=16 type=chebyshev1 ripple=6", 192000.0, 9.9, 1.0, 1.0,
    CLASSIC(LOWPASS, CHEBYSHEV1, 16, 10.0, 0.0, 6.0, 0) },
  { "x: highpass 10Hz order=16 type=elliptic ripple=1 stopband=100", 192000.0, 10.0, 1.0, 1.0,
    CLASSIC(HIGHPASS, ELLIPTIC, 16, 10.0, 0.0, 1.0, 100.0) },
  { "x: bandpass 10Hz 11Hz order=8", 192000.0, 10.2, 1.0, 1.0,
    CLASSIC(BANDPASS, BUTTERWORTH, 8, 10.0, 11.0, 0, 0) },
  { "x: highpass 12kHz order=16 type=elliptic", 48000.0, 12000.0, 1.0, 4.0,
    CLASSIC(HIGHPASS, ELLIPTIC, 16, 12000.0, 0.0, 0.5, 60.0) },
  { "x: lowpass 6kHz order=15 type=chebyshev1 ripple=6", 48000.0, 6000.0, 1.0, 4.0,
    CLASSIC(LOWPASS, CHEBYSHEV1, 15, 6000.0, 0.0, 6.0, 0) },
  { "x: peaking 10Hz 12dB q=200", 192000.0, 10.0, 0.25, 12.0,
    COOKBOOK(rbj_peaking, 10.0, 12.0, 200.0) },
  { "x: peaking 10Hz -60dB q=200", 192000.0, 10.0, 1.0, 1.0,
    COOKBOOK(rbj_peaking, 10.0, -60.0, 200.0) },
  { "x: peaking 12kHz 40dB q=200", 48000.0, 12000.0, 0.01, 4.0,
    COOKBOOK(rbj_peaking, 12000.0, 40.0, 200.0) },
  { "x: peaking 10Hz 12dB q=0.05", 192000.0, 10.0, 0.25, 1.0,
    COOKBOOK(rbj_peaking, 10.0, 12.0, 0.05) },
  { "x: lowshelf 10Hz 40dB q=0.7", 192000.0, 10.0, 0.01, 1.0,
    COOKBOOK(rbj_lowshelf, 10.0, 40.0, 0.7) },
  { "x: highshelf 10Hz -60dB q=0.7", 192000.0, 10.0, 1.0, 1.0,
    COOKBOOK(rbj_highshelf, 10.0, -60.0, 0.7) },
};

enum { HARD_SIGNALS = 4 };

/// A constant, a sine, noise, and all three at once; full scale is `level`.
static float**
hard_signals(const Hard* const filter, const uint32_t n_frames)
{
  float** const in = planar_noise(HARD_SIGNALS, n_frames, 5U, filter->level);
  signal_sine(in[1], n_frames, filter->sine_hz, filter->rate_hz, filter->level, 0.0);
  for (uint32_t i = 0; i < n_frames; ++i) {
    in[0][i] = (float)filter->level;
    in[3][i] = 0.3F * in[0][i] + 0.4F * in[1][i] + 0.3F * in[2][i];
  }
  return in;
}

/// One section in direct form; a mantissa of 64 bits is enough at these frequencies.
static void
filter_extended(const Section* const section, long double* const x, const uint32_t n_frames)
{
  const long double b2 = section->b2;
  const long double b1 = section->b1;
  const long double b0 = section->b0;
  const long double a1 = section->a1;
  const long double a0 = section->a0;
  const long double scale = 1.0L / (1.0L + a1 + a0);
  long double first = 0.0L;
  long double second = 0.0L;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const long double y = (b2 + b1 + b0) * scale * x[i] + first;
    first = 2.0L * (b0 - b2) * scale * x[i] - 2.0L * (a0 - 1.0L) * scale * y + second;
    second = (b2 - b1 + b0) * scale * x[i] - (1.0L - a1 + a0) * scale * y;
    x[i] = y;
  }
}

static uint32_t
hard_sections(const Hard* const filter, Section* const sections)
{
  if (filter->rbj) {
    sections[0] = filter->rbj(filter->spec.edge_hz[0], filter->gain_db, filter->q, filter->rate_hz);
    return 1U;
  }
  FilterSpec spec = filter->spec;
  spec.rate_hz = filter->rate_hz;
  filter_design(&spec, sections);
  return filter_n_sections(spec.band, spec.type, spec.order);
}

/// Play one filter and print its error.
static void
check_hard(const Hard* const filter, const uint32_t block_frames, const double most_seconds)
{
  const uint32_t n_frames = (uint32_t)(fmin(filter->seconds, most_seconds) * filter->rate_hz);
  const Format format = { .rate_hz = filter->rate_hz,
                          .block_frames = block_frames,
                          .n_in = HARD_SIGNALS };
  SCOPED_MEMORY float** const in = hard_signals(filter, n_frames);
  SCOPED_MEMORY float** const out = play(device, filter->rack, &format, in, n_frames);
  SCOPED_MEMORY float** const cpu = play(&backend_cpu, filter->rack, &format, in, n_frames);
  long double* const exact = calloc(n_frames, sizeof(long double));
  ck_assert_ptr_nonnull(exact);
  Section sections[CASCADE_MAX_SECTIONS];
  const uint32_t n_sections = hard_sections(filter, sections);
  double worst = 0.0;
  double worst_cpu = 0.0;
  double peak = 0.0;
  for (uint32_t c = 0; c < HARD_SIGNALS; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      exact[i] = in[c][i];
    }
    for (uint32_t s = 0; s < n_sections; ++s) {
      filter_extended(&sections[s], exact, n_frames);
    }
    for (uint32_t i = 0; i < n_frames; ++i) {
      worst = fmax(worst, fabs((double)(out[c][i] - exact[i])));
      peak = fmax(peak, fabs((double)exact[i]));
    }
    worst_cpu = fmax(worst_cpu, max_difference(out[c], cpu[c], n_frames, NULL));
  }
  printf("%-62s peak %.3f, off by %.1f dB, from the CPU %.1f dB\n", filter->rack, peak,
         decibels(worst), decibels(worst_cpu));
  fflush(stdout);
  ck_assert_double_le(worst, TOLERANCE * fmax(1.0, peak));
  ck_assert_double_le(worst_cpu, TOLERANCE * fmax(1.0, peak));
  free(exact);
}

TEST(the_hardest_filters_stay_within_120_db_of_extended_precision)
{
  for (size_t f = 0; f < ARRAY_LEN(hard); ++f) {
    check_hard(&hard[f], 240U, INFINITY); // a thread for each section
    check_hard(&hard[f], 1024U, 1.0);     // segments side by side
  }
}

// ---- changes ----

/// Play noise, and a sine of 1 kHz, through a rack on both backends while `x` is set repeatedly;
/// returns the largest difference.
static double
play_changes(const char* const rack, const char* const param, const double* const values,
             const uint32_t n_values, const uint32_t step_frames)
{
  const uint32_t block_frames = step_frames % 2U ? 96U : 512U; // each form of the kernel
  enum { CHANNELS = 3, FRAMES = 24000 };
  const Format format = { .rate_hz = 48000.0, .block_frames = block_frames, .n_in = CHANNELS };
  float** const in = planar_noise(CHANNELS, FRAMES, 3U, 0.25);
  signal_sine(in[1], FRAMES, 1000.0, 48000.0, 0.25, 0.0);
  SCOPED(device_pair_free)
  DevicePair pair = device_pair_new(device, rack, &format, in, FRAMES);
  for (uint32_t v = 0; v < n_values; ++v) {
    device_pair_set(&pair, "x", param, values[v], 1000U + v * step_frames);
  }
  device_pair_play(&pair, 0U, FRAMES, RIG_RANDOM, 8U);
  const double worst = device_pair_difference(&pair);
  printf("%-52s %s every %u frames: %.1f dB from the CPU\n", rack, param, step_frames,
         decibels(worst));
  fflush(stdout);
  return worst;
}

TEST(changes_during_a_fade_match_the_cpu)
{
  const double notes[] = { 300.0, 4000.0, 90.0, 91.0, 12000.0, 40.0, 40.5, 1000.0 };
  const double near[] = { 1003.0, 998.0, 1004.0, 1000.0, 996.0, 1001.0, 1005.0, 999.0 };
  const double qs[] = { 200.0, 0.05, 190.0, 10.0, 0.5, 0.7, 100.0, 1.0 };
  const double gains[] = { -12.0, 12.0, 0.0, -60.0, 11.0, 12.0, 11.5, 3.0 };
  const uint32_t steps[] = { 7, 100, 333, 1201, 2500 }; // a fade takes 960 frames, or up to 1920
  for (size_t s = 0; s < ARRAY_LEN(steps); ++s) {
    ck_assert_double_le(
        play_changes("x: highpass 100Hz order=7 type=elliptic", "frequency", notes, 8, steps[s]),
        TOLERANCE);
    ck_assert_double_le(play_changes("x: peaking 500Hz 6dB q=200", "frequency", notes, 8, steps[s]),
                        TOLERANCE);
    ck_assert_double_le(play_changes("x: peaking 1kHz 12dB q=200", "frequency", near, 8, steps[s]),
                        TOLERANCE);
    ck_assert_double_le(play_changes("x: peaking 440Hz 6dB q=20", "q", qs, 8, steps[s]), TOLERANCE);
    ck_assert_double_le(play_changes("x: peaking 440Hz 6dB q=20", "gain", gains, 8, steps[s]),
                        TOLERANCE);
  }
}

// ---- chains ----

/// Number of launches of the only stage of a rack, without those of its begin and end.
static uint32_t
count_launches(const char* const rack, const uint32_t n_channels)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = 64U, .n_in = n_channels };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, device, NULL, rack, &format, NULL, 0U);
  const Plan* const plan = rig.player.plan;
  ck_assert_uint_eq(plan->n_stages, 1);
  const StageSpec spec = { .max_block_frames = 64U,
                           .steps = plan->steps,
                           .n_steps = plan->n_steps,
                           .rows = plan->rows,
                           .n_rows = plan->n_rows,
                           .n_in = plan->n_in,
                           .n_out = plan->n_out,
                           .out_rows = plan->stages[0].out_rows,
                           .n_out_rows = plan->stages[0].n_out_rows,
                           .n_nodes = plan->n_nodes };
  SCOPED(stage_tables_clear) StageTables tables;
  OK(stage_tables_new(&spec, &tables, &error));
  const uint32_t n_launches = tables.n_launches - 1U;
  return n_launches;
}

#define STRIP                                                                                      \
  "a: highpass 40Hz | b: peaking 100Hz 3dB | c: peaking 200Hz -4dB | d: peaking 400Hz 5dB | "      \
  "e: peaking 800Hz -6dB q=4 | f: notch 1kHz | g: peaking 3kHz 2dB | h: lowshelf 150Hz 3dB | "     \
  "i: highshelf 8kHz -3dB | j: lowpass 16kHz order=4"

/// A series of n filters.
static char*
row_of_filters(const uint32_t n)
{
  char* text = NULL;
  size_t size = 0;
  FILE* const stream = open_memstream(&text, &size);
  ck_assert_ptr_nonnull(stream);
  for (uint32_t f = 0; f < n; ++f) {
    fprintf(stream, "%sf%u: peaking %u 1dB", f ? " | " : "", f, 100U + 50U * f);
  }
  fclose(stream);
  return text;
}

TEST(filters_in_a_row_are_one_launch)
{
  ck_assert_uint_eq(count_launches(STRIP, 1U), 1);
  ck_assert_uint_eq(count_launches(STRIP, 70U), 1);
  // A node with two readers or two inputs starts a new launch: a, the two branches (one effect),
  // d.
  ck_assert_uint_eq(count_launches("a: lowpass | (b: peaking + c: peaking) | d: highpass", 2U), 3);
  // A gain between filters has its own kernel.
  ck_assert_uint_eq(count_launches("a: lowpass | b: peaking | g: gain | c: notch | d: peaking", 2U),
                    3);
  SCOPED_MEMORY char* const longest = row_of_filters(40U);
  ck_assert_uint_eq(count_launches(longest, 2U), 2); // 32 and 8
}

enum { CHAIN_FRAMES = 6400 };

static DevicePair
chained(const char* const rack, const uint32_t n_channels, const uint32_t block)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = block, .n_in = n_channels };
  float** const in = planar_noise(n_channels, CHAIN_FRAMES, 11U, 0.25);
  return device_pair_new(device, rack, &format, in, CHAIN_FRAMES);
}

// Device and CPU also round between two filters: 10 times 2^-24 each, for numbers below 2.
#define STRIP_TOLERANCE (TOLERANCE + 1.2e-6)

TEST(a_strip_with_changes_sounds_like_the_cpu)
{
  const uint32_t widths[] = { 1, 32, 33, 70 };
  const uint32_t blocks[] = { 64, 100, 600, 5000 };
  for (size_t w = 0; w < ARRAY_LEN(widths); ++w) {
    for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
      SCOPED(device_pair_free) DevicePair pair = chained(STRIP, widths[w], blocks[b]);
      device_pair_set(&pair, "d", "gain", -5.0, 700U);
      device_pair_set(&pair, "a", "frequency", 80.0, 1000U);
      device_pair_set(&pair, "j", "frequency", 9000.0, 1001U);
      device_pair_play(&pair, 0U, CHAIN_FRAMES, b ? RIG_RANDOM : RIG_BLOCKS, 4U);
      ck_assert_double_le(device_pair_difference(&pair), STRIP_TOLERANCE);
    }
  }
}

// Up to 512 segments of several tiles: 128 frames, and two ends of a block in a segment.
TEST(segments_play_as_one)
{
  const char* const racks[] = { STRIP, "x: lowpass 10Hz order=16 type=chebyshev1 ripple=6",
                                "x: peaking 10Hz 12dB q=200" };
  enum { FRAMES = 70000 };
  const Format whole = { .rate_hz = 48000.0, .block_frames = 50000U, .n_in = 2U };
  const Format parts = { .rate_hz = 48000.0, .block_frames = 480U, .n_in = 2U };
  SCOPED_MEMORY float** const in = planar_noise(2U, FRAMES, 7U, 0.25);
  for (size_t r = 0; r < ARRAY_LEN(racks); ++r) {
    SCOPED_MEMORY float** const out = play(device, racks[r], &whole, in, FRAMES);
    SCOPED_MEMORY float** const cpu = play(&backend_cpu, racks[r], &parts, in, FRAMES);
    for (uint32_t c = 0; c < 2U; ++c) {
      ck_assert_double_le(max_difference(out[c], cpu[c], FRAMES, NULL), STRIP_TOLERANCE);
    }
  }
}

// The two parts of the state of a high-pass after a constant are far larger than their sum.
TEST(segments_leave_no_part_of_a_constant_behind_a_high_pass)
{
  enum { FRAMES = 48000, LAST = 4800 };
  const Format format = { .rate_hz = 48000.0, .block_frames = 1024U, .n_in = 1U };
  const char* const rack = "highpass 80Hz order=4 | lowshelf 300Hz 12dB | peaking 60Hz 12dB q=4";
  SCOPED_MEMORY float** const in = planar_silence(1U, FRAMES);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = 1.0F;
  }
  SCOPED_MEMORY float** const out = play(device, rack, &format, in, FRAMES);
  SCOPED_MEMORY float** const cpu = play(&backend_cpu, rack, &format, in, FRAMES);
  const uint32_t first = FRAMES - LAST;
  ck_assert_double_le(max_difference(out[0] + first, cpu[0] + first, LAST, NULL), 1e-12);
}

// A round has 16 sections: 13, then a filter of 5 that does not fit, and 9; then one.
TEST(a_chain_takes_several_rounds)
{
  SCOPED_MEMORY char* const before = row_of_filters(13U);
  SCOPED_MEMORY char* rack = NULL;
  ck_assert_int_gt(asprintf(&rack,
                            "%s | l: lowpass 9kHz order=10 | %s | n: notch 90Hz | o: notch "
                            "95Hz",
                            before, strchr(STRIP, 'b')),
                   0);
  const uint32_t blocks[] = { 64, 100 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    SCOPED(device_pair_free) DevicePair pair = chained(rack, 9U, blocks[b]);
    pair.in[3][2000] = NAN;
    device_pair_set(&pair, "l", "frequency", 8000.0, 700U);
    device_pair_set(&pair, "d", "gain", -5.0, 3000U);
    device_pair_play(&pair, 0U, CHAIN_FRAMES, b ? RIG_RANDOM : RIG_BLOCKS, 4U);
    ck_assert_double_le(device_pair_difference(&pair), 2.0 * STRIP_TOLERANCE);
  }
}

TEST(a_chain_beside_other_nodes_has_rows_of_its_own)
{
  const char* const rack =
      "(a: highpass 40Hz | b: peaking 100Hz 6dB | c: lowpass 5kHz | d: notch) + "
      "(e: gain -1dB | f: gain -2dB | g: gain -3dB | h: gain -4dB)";
  SCOPED(device_pair_free) DevicePair pair = chained(rack, 5U, 64U);
  device_pair_play(&pair, 0U, CHAIN_FRAMES, RIG_BLOCKS, 0U);
  ck_assert_double_le(device_pair_difference(&pair), STRIP_TOLERANCE);
}

TEST(gains_within_a_chain_move)
{
  const char* const racks[] = {
    "add a highpass 40Hz\nadd b lowpass 5kHz\nconnect in a\nconnect a b\nconnect b out",
    "add a highpass 40Hz\nadd b lowpass 5kHz\nconnect in a\nconnect a b gain=-20dB\nconnect b out",
  };
  SCOPED(device_pair_free) DevicePair pair = chained(racks[0], 3U, 100U);
  device_pair_play(&pair, 0U, 1000U, RIG_BLOCKS, 0U);
  device_pair_edit(&pair, racks[1]);
  device_pair_play(&pair, 1000U, CHAIN_FRAMES - 1000U, RIG_RANDOM, 4U);
  ck_assert_double_le(device_pair_difference(&pair), STRIP_TOLERANCE);
}

TEST(a_chain_that_is_edited_keeps_its_state)
{
  SCOPED(device_pair_free)
  DevicePair pair = chained("a: highpass 40Hz | b: peaking 100Hz 6dB | c: lowpass 5kHz", 3U, 64U);
  const char* const edits[] = {
    "a: highpass 40Hz | n: notch 700Hz | b: peaking 100Hz 6dB | c: lowpass 5kHz", // adds a filter
    // Removes two filters.
    "a: highpass 40Hz | c: lowpass 5kHz",
    "add a highpass 40Hz\nadd c lowpass 5kHz\nconnect in a\nconnect a c gain=-6dB\nconnect c out",
    "a: highpass 40Hz | (b: peaking 2kHz + d: gain -3dB) | c: lowpass 5kHz",
  };
  device_pair_play(&pair, 0U, 1280U, RIG_BLOCKS, 0U);
  for (uint32_t e = 0; e < ARRAY_LEN(edits); ++e) {
    device_pair_edit(&pair, edits[e]);
    device_pair_play(&pair, 1280U * (e + 1U), 1280U, RIG_BLOCKS, 0U);
  }
  ck_assert_double_le(device_pair_difference(&pair), STRIP_TOLERANCE);
}

TEST(a_chain_silences_and_counts_the_filter_that_failed)
{
  SCOPED(device_pair_free) DevicePair pair = chained(STRIP, 40U, 64U);
  pair.in[5][1000] = NAN;
  pair.in[36][2000] = INFINITY;
  device_pair_play(&pair, 0U, CHAIN_FRAMES, RIG_BLOCKS, 0U);
  for (uint32_t r = 0; r < 2U; ++r) {
    ck_assert_uint_eq(pair.rigs[r].player.counts.units_reset, 2);
  }
  ck_assert_double_le(device_pair_difference(&pair), STRIP_TOLERANCE);
}

// A block of three tiles in each form of the kernel, with a NaN in two of them.
TEST(a_filter_that_failed_is_silent_to_the_end_of_its_block)
{
  const uint32_t blocks[] = { 192, 5000 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    SCOPED(device_pair_free) DevicePair pair = chained("a: peaking 100Hz 3dB", 2U, blocks[b]);
    pair.in[1][100] = pair.in[1][blocks[b] - 1U] = NAN;
    device_pair_play(&pair, 0U, CHAIN_FRAMES, RIG_BLOCKS, 0U);
    ck_assert_uint_eq(pair.rigs[0].player.counts.units_reset, 1);
    for (uint32_t i = 100; i < blocks[b]; ++i) {
      ck_assert(pair.outs[0][1][i] == 0.0F);
    }
    memcpy(pair.outs[1][1], pair.outs[0][1], 100U * sizeof(float)); // silent on the CPU
    ck_assert_double_le(device_pair_difference(&pair), TOLERANCE);
  }
}

int
main(void)
{
  return device_suite_run("gpu_cascade", ENGINE_BACKEND_AUTO, &device);
}
