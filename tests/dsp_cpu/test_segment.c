// SPDX-License-Identifier: GPL-3.0-or-later
// One segment convolves with its part of a response, whether its transform is split into rows or
// not; it has many small units where the work is spread over time, and their costs add up.

#include "dsp_cpu/segment.h"
#include "dsp_cpu/spectrum.h"
#include "engine/contract/effect.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTS 8192U
#define N_PARTS    6U // the most; from SPECTRUM_TICKS on, rows compute several partitions together
#define N_WINDOWS  9U
#define MATRIX     4U // inputs and outputs

#define N_MANY 30U // so many that the products of a row of 2048 points are divided

static float taps[N_MANY * 2048U + 100U];
static float input[(N_WINDOWS + 1U) * MAX_POINTS + 16U];
static float sum[MAX_POINTS + 16U];

static SegmentSpec
segment_spec(const uint32_t frames, const uint32_t n_parts, const uint64_t first_tap,
             const bool at_once)
{
  static const float* const matrix[] = { taps };
  return (SegmentSpec){ .frames = frames,
                        .n_points = frames,
                        .n_parts = n_parts,
                        .n_in = 1,
                        .n_out = 1,
                        .taps = matrix,
                        .n_taps = first_tap + (uint64_t)n_parts * frames - 5U,
                        .first_tap = first_tap,
                        .at_once = at_once };
}

static Segment*
make_segment(const SegmentSpec spec)
{
  Segment* segment = NULL;
  ck_assert(segment_new(&spec, &segment, NULL) == STATUS_OK);
  return segment;
}

/// Expected output of the segment at `frame` of `input`.
static double
expected_at(const uint32_t n_taps, const uint32_t first_tap, const uint32_t frame)
{
  double y = 0.0;
  for (uint32_t k = 0; k < n_taps && k <= frame; ++k) {
    y += (double)taps[first_tap + k] * input[frame - k];
  }
  return y;
}

static void
check_segment(const uint32_t n_points, const uint32_t n_parts, const bool at_once)
{
  const uint32_t first_tap = 37;
  signal_noise(taps, ARRAY_LEN(taps), 1);
  signal_noise(input, ARRAY_LEN(input), 2);
  memset(input, 0, n_points * sizeof(float)); // silence before the first window
  const SegmentSpec spec = segment_spec(n_points, n_parts, first_tap, at_once);
  const SegmentBytes bytes = segment_measure(&spec);
  Segment* const segment = make_segment(spec);
  void* const state = aligned_alloc(64U, bytes.state);
  float* const scratch = aligned_alloc(64U, bytes.scratch_floats * sizeof(float));
  memset(state, 0, bytes.state);
  memset(scratch, 0, bytes.scratch_floats * sizeof(float));
  for (uint32_t w = 0; w < N_WINDOWS; ++w) {
    memset(sum, 0, sizeof(sum));
    const float* const early = input + (size_t)w * n_points;
    const SegmentIo io = { state, scratch, early, early + n_points, 0, sum, 0 };
    segment_step(segment, state);
    for (uint32_t unit = 0; unit < segment_n_units(segment); ++unit) {
      segment_work(segment, &io, unit);
    }
    for (uint32_t k = 0; k < n_points; k += 1U + n_points / 13U) {
      const double expected =
          expected_at(n_parts * n_points - 5U, first_tap, (w + 1U) * n_points + k);
      ck_assert_msg(fabs(sum[k] - expected) < 2e-6 * sqrt((double)n_parts * n_points),
                    "%u points, window %u, frame %u: %g, not %g", n_points, w, k, (double)sum[k],
                    expected);
    }
  }
  free(scratch);
  free(state);
  segment_free(segment);
}

TEST(a_segment_convolves_its_range_of_the_response)
{
  static const uint32_t sizes[] = { 16, 32, 63, 100, 256, 512, 1000, 2048, 8192 };
  for (size_t i = 0; i < ARRAY_LEN(sizes); ++i) {
    check_segment(sizes[i], 3, true);
    check_segment(sizes[i], 3, false);
    check_segment(sizes[i], N_PARTS, false);
  }
  check_segment(2048, N_MANY, false);
}

/// Check the costs of the units in one partition, each at most 1 / `n` of all; returns the largest.
static uint64_t
check_costs(const Segment* const segment, const void* const state, const uint32_t n)
{
  uint64_t cost = 0;
  uint64_t largest = 0;
  for (uint32_t unit = 0; unit < segment_n_units(segment); ++unit) {
    const uint64_t unit_cost = segment_unit_cost(segment, state, unit);
    cost += unit_cost;
    largest = unit_cost > largest ? unit_cost : largest;
  }
  ck_assert_uint_eq(cost, segment_cost(segment));
  ck_assert_msg(n * largest <= cost, "%llu of %llu in one unit", (unsigned long long)largest,
                (unsigned long long)cost);
  return largest;
}

static void
check_units(const SegmentSpec spec, const uint32_t n)
{
  Segment* const segment = make_segment(spec);
  void* const state = aligned_alloc(64U, segment_measure(&spec).state);
  memset(state, 0, segment_measure(&spec).state);
  const uint64_t largest = check_costs(segment, state, n);
  for (uint32_t partition = 1; partition < 2U * SPECTRUM_TICKS; ++partition) {
    segment_step(segment, state);
    ck_assert_uint_eq(check_costs(segment, state, n), largest);
  }
  free(state);
  segment_free(segment);
}

TEST(units_to_be_spread_are_small_and_sum_to_the_segment)
{
  const float* matrix[MATRIX * MATRIX];
  for (uint32_t pair = 0; pair < MATRIX * MATRIX; ++pair) {
    matrix[pair] = taps;
  }
  for (uint32_t n_points = 512; n_points <= MAX_POINTS; n_points *= 2U) {
    check_units(segment_spec(n_points, 3, 0, false), 8);
    check_units(segment_spec(n_points, N_PARTS, 0, false), 8);
  }
  check_units(segment_spec(2048, N_MANY, 0, false), 24);
  SegmentSpec wide = segment_spec(512, N_PARTS, 0, false);
  wide.n_in = wide.n_out = MATRIX;
  wide.taps = matrix;
  check_units(wide, 16);
}

SUITE_MAIN("segment")
