// SPDX-License-Identifier: GPL-3.0-or-later
// The response of designed filters, short and long, equals their taps; latency is declared as
// requested; files give coefficients; invalid designs are refused with advice; silence, denormals,
// NaN.

#include "dsp_cpu/fir_design.h"
#include "dsp_cpu/shared/fir_layout.h"
#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 6000U

static double
direct_sum(const double* const taps, const uint32_t n_taps, const float* const in,
           const size_t frame)
{
  double sum = 0.0;
  for (size_t k = 0; k < n_taps && k <= frame; ++k) {
    sum += taps[k] * in[frame - k];
  }
  return sum;
}

TEST(a_designed_filter_is_its_taps_short_or_long)
{
  static const uint32_t lengths[] = { 3, 63, 127, 129, 2001 }; // direct and partitioned
  static const uint32_t blocks[] = { 1, 64, 100, 1024 };
  static double taps[2001];
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(1, FRAMES);
  for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    const FirDesign design = { FIR_BANDPASS, 500.0 / 24000.0, 3000.0 / 24000.0,
                               lengths[l],   FIR_BLACKMAN,    0.0 };
    fir_design(&design, taps);
    for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
      SCOPED(rig_free) FxRig rig;
      rig_new(&rig, "fir", RATE, 1, blocks[b], { .id = "band", .text = "bandpass" },
              SET("frequency", 500.0), SET("high", 3000.0), SET("taps", lengths[l]),
              { .id = "window", .text = "blackman" });
      ck_assert_uint_eq(rig.shape.latency_frames, (lengths[l] - 1U) / 2U);
      ck_assert_uint_eq(rig.shape.tail_frames, lengths[l] - 1U);
      rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
      for (size_t frame = 0; frame < FRAMES; frame += 89U) {
        ck_assert_double_eq_tol(out[0][frame], direct_sum(taps, lengths[l], in[0], frame),
                                rig.fx->tolerance);
      }
    }
  }
}

TEST(latency_is_declared_for_designs_unless_compensation_is_off)
{
  static const float taps[] = { 0.25F, 0.5F, 0.25F };
  const FxFile file = { "taps.txt", 1, 3, taps, false, 0 };
  FxRig rig;
  rig_new(&rig, "fir", RATE, 1, 64, SET("taps", 101));
  ck_assert_uint_eq(rig.shape.latency_frames, 50);
  rig_free(&rig);
  rig_new(&rig, "fir", RATE, 1, 64, SET("taps", 100), SET("compensate", 0.0));
  ck_assert_uint_eq(rig.shape.latency_frames, 0);
  rig_free(&rig);
  rig_new(&rig, "fir", RATE, 1, 64, { .id = "file", .text = "taps.txt", .file = &file });
  ck_assert_uint_eq(rig.shape.latency_frames, 0);
  rig_free(&rig);
}

TEST(coefficients_come_from_a_file_for_all_or_for_each_channel)
{
  enum { ROWS = 2, TAPS = 300 };
  static float rows[ROWS * TAPS];
  static double exact[ROWS][TAPS];
  signal_noise(rows, ARRAY_LEN(rows), 3);
  for (uint32_t i = 0; i < ARRAY_LEN(rows); ++i) {
    rows[i] *= 0.1F;
    exact[i / TAPS][i % TAPS] = rows[i];
  }
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  for (uint32_t n_rows = 1; n_rows <= ROWS; ++n_rows) {
    for (uint32_t n_taps = 20; n_taps <= TAPS; n_taps += TAPS - 20U) {
      float packed[ROWS * TAPS];
      for (uint32_t r = 0; r < n_rows; ++r) {
        memcpy(packed + r * n_taps, rows + r * TAPS, n_taps * sizeof(float));
      }
      const FxFile file = { "taps.txt", n_rows, n_taps, packed, false, 0 };
      SCOPED(rig_free) FxRig rig;
      rig_new(&rig, "fir", RATE, 2, 64, { .id = "file", .text = "taps.txt", .file = &file });
      rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_RANDOM, 5);
      for (uint32_t c = 0; c < 2U; ++c) {
        for (size_t frame = 0; frame < FRAMES; frame += 83U) {
          const double expected = direct_sum(exact[n_rows > 1U ? c : 0U], n_taps, in[c], frame);
          ck_assert_double_eq_tol(out[c][frame], expected, 2.0 * rig.fx->tolerance);
        }
      }
    }
  }
}

TEST(one_number_per_line_is_one_filter_for_all_channels)
{
  static const float taps[] = { 0.5F, 0.0F, -0.25F };
  const FxFile file = { "taps.txt", 3, 1, taps, false, 0 };
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "fir", RATE, 2, 64, { .id = "file", .text = "taps.txt", .file = &file });
  rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_RANDOM, 5);
  for (uint32_t c = 0; c < 2U; ++c) {
    for (uint32_t i = 2; i < FRAMES; ++i) {
      ck_assert_double_eq_tol(out[c][i], 0.5 * in[c][i] - 0.25 * in[c][i - 2U],
                              2.0 * rig.fx->tolerance);
    }
  }
}

/// Check that an error names the problem and the solution.
#define assert_refused(n_in, first, second, ...)                                                   \
  do {                                                                                             \
    const RigArg args[] = { __VA_ARGS__ };                                                         \
    FxRig rig;                                                                                     \
    Error error = { STATUS_OK, "" };                                                               \
    ck_assert(rig_try(&rig, "fir", RATE, n_in, 64, false, args, ARRAY_LEN(args), &error) !=        \
              STATUS_OK);                                                                          \
    assert_says(error.text, first);                                                                \
    assert_says(error.text, second);                                                               \
  } while (0)

TEST(invalid_designs_are_refused_with_advice)
{
  static const float numbers[9] = { 1.0F };
  const FxFile three = { "taps.txt", 3, 3, numbers, false, 0 };
  const FxFile empty = { "taps.txt", 1, 0, numbers, false, 0 };
  assert_refused(1, "frequency=24000", "half the rate", SET("frequency", 24000.0));
  assert_refused(1, "frequency=5000", "high=4000", SET("frequency", 5000.0),
                 { .id = "band", .text = "bandpass" });
  assert_refused(1, "high=30000", "half the rate", SET("high", 30000.0),
                 { .id = "band", .text = "bandstop" });
  for (uint32_t compensate = 0; compensate < 2U; ++compensate) {
    assert_refused(1, "a highpass of 100 taps", "101", SET("taps", 100.0),
                   { .id = "band", .text = "highpass" }, SET("compensate", compensate));
    assert_refused(1, "a bandstop of 100 taps", "101", SET("taps", 100.0),
                   { .id = "band", .text = "bandstop" }, SET("compensate", compensate));
  }
  assert_refused(1, "100 taps", "compensate=off", SET("taps", 100.0));
  assert_refused(2, "3 rows", "2 channels", { .id = "file", .text = "taps.txt", .file = &three });
  assert_refused(2, "taps.txt", "empty", { .id = "file", .text = "taps.txt", .file = &empty });
}

TEST(short_filters_give_the_same_bits_for_any_division_into_runs)
{
  SCOPED_MEMORY float** const in = planar_noise(1, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const first = planar_silence(1, FRAMES);
  SCOPED_MEMORY float** const other = planar_silence(1, FRAMES);
  static const double lengths[] = { 101.0, 128.0 }; // up to the longest direct filter
  for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
      SCOPED(rig_free) FxRig rig;
      rig_new(&rig, "fir", RATE, 1, 200, SET("taps", lengths[l]), SET("compensate", 0.0));
      rig_run(&rig, (const float* const*)in, split == RIG_BLOCKS ? first : other, FRAMES,
              (RigSplit)split, 5);
      if (split != RIG_BLOCKS) {
        ck_assert(max_difference(first[0], other[0], FRAMES, NULL) == 0.0);
      }
    }
  }
}

/// Name of the first kernel that a device runs for a filter.
static const char*
kernel_of(const uint32_t n_taps)
{
  enum { MOST_PARAMS = 16 };
  static float taps[FIR_MAX_DIRECT_TAPS + 1] = { 1.0F };
  const FxInfo* const fx = fx_find("fir");
  const FxFile content = { "taps.txt", 1, n_taps, taps, false, 0 };
  double values[MOST_PARAMS];
  const char* texts[MOST_PARAMS] = { NULL };
  const FxFile* files[MOST_PARAMS] = { NULL };
  ck_assert_uint_le(fx->n_params, MOST_PARAMS);
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    values[p] = fx->params[p].initial;
  }
  const int file = fx_param_find(fx, "file");
  texts[file] = content.name;
  files[file] = &content;
  const FxSetup setup = { .rate_hz = RATE,
                          .max_block_frames = 64,
                          .n_in = 1,
                          .values = values,
                          .texts = texts,
                          .files = files,
                          .for_kernel = true };
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  FxKernelShape kernel;
  void* node = NULL;
  OK(fx_make(fx, &setup, &shape, &node, &error));
  fx->kernel->shape(node, &kernel);
  fx->destroy(node);
  return kernel.passes[0].entry;
}

TEST(a_device_uses_partitions_when_its_direct_kernel_has_no_room)
{
  ck_assert_str_eq(kernel_of(1), "fx_fir");
  ck_assert_str_eq(kernel_of(FIR_MAX_DIRECT_TAPS), "fx_fir");
  ck_assert_str_ne(kernel_of(FIR_MAX_DIRECT_TAPS + 1), "fx_fir");
}

TEST(silence_denormals_and_faults)
{
  static const double lengths[] = { 101.0, 1001.0 };
  for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    const RigArg arg = SET("taps", lengths[l]);
    const FxCase fx_case = { "fir", RATE, 2, &arg, 1 };
    check_silence_and_denormals(&fx_case);
    check_recovers(&fx_case);
  }
}

SUITE_MAIN("fir")
