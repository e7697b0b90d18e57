// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The data of a convolution for a device: the block determines the transforms, the length of the
  response one or two segments; spectra are the transforms of the taps.  The output of the kernels
  is tested in test_gpu_convolution.c.
*/

#include "dsp_cpu/partition_kernel.h"
#include "dsp_cpu/shared/partition_layout.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static PartitionKernel*
make(const PartitionKernelSpec* const spec, FxKernelShape* const shape)
{
  PartitionKernel* kernel = NULL;
  OK(partition_kernel_new(spec, &kernel, &error));
  partition_kernel_shape(kernel, shape);
  return kernel;
}

static FxKernelShape
shape_for(const uint32_t block, const uint64_t n_taps, const uint32_t n_units)
{
  const PartitionKernelSpec spec = { .n_taps = n_taps,
                                     .n_in = 1,
                                     .n_out = 1,
                                     .n_sets = n_units,
                                     .n_units = n_units,
                                     .max_block_frames = block };
  FxKernelShape shape;
  partition_kernel_free(make(&spec, &shape));
  return shape;
}

TEST(sizes_follow_the_block_and_the_length)
{
  static const struct {
    uint32_t block, points, tail_points;
    uint64_t least; ///< Least number of taps for two segments: four periods; 0: one segment
  } rows[] = {
    { 1, 32, 512, 2048 },     { 16, 32, 512, 2048 },    { 32, 32, 512, 2048 },
    { 31, 64, 1024, 3968 },   { 33, 64, 1024, 2112 },   { 48, 64, 1024, 3072 },
    { 64, 64, 1024, 4096 },   { 128, 128, 2048, 8192 }, { 200, 256, 2048, 6400 },
    { 480, 512, 2048, 7680 }, { 512, 512, 2048, 8192 }, { 513, 1024, 0, 0 },
    { 1024, 1024, 0, 0 },     { 2048, 2048, 0, 0 },     { 3000, 2048, 0, 0 },
    { 8192, 2048, 0, 0 },
  };
  for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); ++r) {
    const FxKernelShape longest = shape_for(rows[r].block, 500000, 1);
    ck_assert_str_eq(longest.sizes[0].name, "POINTS");
    ck_assert_str_eq(longest.sizes[1].name, "TAIL_POINTS");
    ck_assert_uint_eq(longest.sizes[0].value, rows[r].points);
    ck_assert_uint_eq(longest.sizes[1].value, rows[r].tail_points);
    if (rows[r].least) {
      ck_assert_uint_eq(shape_for(rows[r].block, rows[r].least - 1U, 1).sizes[1].value, 0);
      ck_assert_uint_eq(shape_for(rows[r].block, rows[r].least, 1).sizes[1].value,
                        rows[r].tail_points);
    }
  }
}

static void
check_one_launch(const FxKernelShape shape, const char* const entry)
{
  ck_assert_uint_eq(shape.n_passes, 1);
  ck_assert_str_eq(shape.passes[0].entry, entry);
  ck_assert_uint_eq(shape.passes[0].groups_per_unit, 1);
}

TEST(one_group_does_all_the_work_of_a_unit)
{
  check_one_launch(shape_for(64, 96000, 1000), "fx_convolver");
  check_one_launch(shape_for(64, 96000, 1), "fx_convolver"); // 127 KB
  check_one_launch(shape_for(1024, 1000, 1), "fx_convolver_short");
  check_one_launch(shape_for(1024, 100000, 1000),
                   "fx_convolver"); // the other units keep the device busy
}

TEST(few_units_share_their_products_among_groups)
{
  const FxKernelShape shape = shape_for(1024, 100000, 1);
  ck_assert_uint_eq(shape.n_passes, 4);
  ck_assert_str_eq(shape.passes[1].entry, "fx_convolver_products");
  ck_assert_uint_gt(shape.passes[1].groups_per_unit, 1);
}

TEST(groups_share_the_pieces_of_long_blocks)
{
  const FxKernelShape one_partition = shape_for(8192, 2048, 12);
  ck_assert_uint_eq(one_partition.n_passes, 2);
  ck_assert_str_eq(one_partition.passes[0].entry, "fx_convolver_short");
  ck_assert_uint_eq(one_partition.passes[0].groups_per_unit, 5); // of hops of 2048 frames
  ck_assert_str_eq(one_partition.passes[1].entry, "fx_convolver_end");
  const FxKernelShape two_partitions = shape_for(8192, 2049, 12);
  ck_assert_uint_eq(two_partitions.n_passes, 4);
  for (uint32_t p = 0; p < 3U; ++p) {
    ck_assert_uint_eq(two_partitions.passes[p].groups_per_unit, 5);
  }
  ck_assert_uint_eq(shape_for(8192, 2048, 4096).n_passes, 1); // the units keep the device busy
}

/// 8 bytes per tap for spectra, as much for the delay lines of each unit, and a small remainder.
TEST(memory_is_sixteen_bytes_for_each_tap)
{
  for (uint32_t block = 64; block <= 2048U; block *= 2U) {
    const FxKernelShape shape = shape_for(block, 96000, 1000);
    ck_assert_uint_lt(4U * shape.data_words / 1000U, 8U * 96000U * 103U / 100U);
    ck_assert_uint_lt(4U * shape.state_words, 8U * 96000U * 112U / 100U);
  }
}

static float
float_of(const uint32_t word)
{
  float value = 0.0F;
  memcpy(&value, &word, sizeof(value));
  return value;
}

/// Check that bin `bin` of n is the transform of n_taps taps, folded and scaled, with each part
/// rounded once.
static void
check_bin(const uint32_t* const words, const float* const taps, const uint64_t n_taps,
          const uint32_t n, const uint32_t bin)
{
  double re = 0.0;
  double im = 0.0;
  for (uint64_t k = 0; k < n_taps; ++k) {
    const double angle = -M_PI * (double)k / n * (0.5 + 2.0 * bin);
    re += taps[k] * cos(angle) / n;
    im += taps[k] * sin(angle) / n;
  }
  const double limit = ldexp(1.0, -24) * hypot(re, im) + 1e-15;
  ck_assert_double_eq_tol(float_of(words[0]), re, limit);
  ck_assert_double_eq_tol(float_of(words[1]), im, limit);
}

TEST(spectra_are_the_transforms_of_the_taps)
{
  enum { BLOCK = 32, PERIOD = 512, TAPS = 2500, IN = 2, OUT = 3, HEAD = 32, TAIL = 3 };
  SCOPED_MEMORY float* const taps = calloc((size_t)IN * OUT * TAPS, sizeof(float));
  ck_assert_ptr_nonnull(taps);
  signal_noise(taps, (size_t)IN * OUT * TAPS, 1);
  const PartitionKernelSpec spec = { taps, TAPS, IN, OUT, 1, 1, BLOCK };
  FxKernelShape shape;
  PartitionKernel* const kernel = make(&spec, &shape);
  uint32_t* const words = calloc(shape.data_words, sizeof(uint32_t));
  ck_assert_ptr_nonnull(words);
  partition_kernel_data(kernel, words);
  ck_assert_uint_eq(words[PARTITION_HOP], BLOCK);
  ck_assert_uint_eq(words[PARTITION_N_PARTS], HEAD);
  ck_assert_uint_eq(words[PARTITION_TAIL_PARTS], TAIL);
  ck_assert_uint_eq(words[PARTITION_TAIL_HOPS], PERIOD / BLOCK);
  uint64_t random = 1;
  for (uint32_t i = 0; i < 300U; ++i) {
    const uint32_t in = (uint32_t)(signal_random(&random) % IN);
    const uint32_t out = (uint32_t)(signal_random(&random) % OUT);
    const float* const response = taps + ((size_t)in * OUT + out) * TAPS;
    uint32_t part = (uint32_t)(signal_random(&random) % HEAD);
    uint32_t bin = (uint32_t)(signal_random(&random) % BLOCK);
    const uint32_t* const head = words + words[PARTITION_FILTERS];
    const uint32_t row = (out * IN + in) * HEAD + part;
    check_bin(head + 2U * (row * BLOCK + bin), response + (size_t)part * BLOCK, BLOCK, BLOCK, bin);

    part = (uint32_t)(signal_random(&random) % TAIL);
    bin = (uint32_t)(signal_random(&random) % PERIOD);
    const uint32_t* const tail = words + words[PARTITION_TAIL];
    const uint32_t line = out * (PERIOD / BLOCK) + bin / BLOCK;
    const uint32_t tail_row = (line * IN + in) * TAIL + part;
    const uint32_t first = 2U * PERIOD + part * PERIOD;
    check_bin(tail + 2U * (tail_row * BLOCK + bin % BLOCK), response + first,
              TAPS - first < PERIOD ? TAPS - first : PERIOD, PERIOD, bin);
  }
  free(words);
  partition_kernel_free(kernel);
}

TEST(sizes_beyond_32_bits_are_refused)
{
  PartitionKernelSpec spec = { NULL, UINT64_MAX, 1, 1, 1, 1, 64 };
  PartitionKernel* kernel = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(partition_kernel_new(&spec, &kernel, &error), STATUS_LIMIT);
  assert_says(error.text, "too long");
  spec.n_taps = 1U << 24U;
  spec.n_in = 1024;
  ck_assert_int_eq(partition_kernel_new(&spec, &kernel, &error), STATUS_LIMIT);
  assert_says(error.text, "1024 responses");
  ck_assert_ptr_null(kernel);
}

SUITE_MAIN("partition_kernel")
