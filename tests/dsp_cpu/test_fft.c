// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms along rows and down columns equal the sums in the header; plans are shared and
// counted; a fast size is the next size without large factors.

#include "dsp_cpu/fft.h"
#include "engine/contract/effect.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdlib.h>

#define MAX_POINTS 2048U

static _Alignas(64) float in[2U * MAX_POINTS];
static _Alignas(64) float out[2U * MAX_POINTS];

// The linker replaces the function of FFTW by this one: --wrap in meson.build.
static uint32_t n_plans;
static uint32_t failing_plan = UINT32_MAX;

__typeof__(fftwf_plan_many_dft) __real_fftwf_plan_many_dft, __wrap_fftwf_plan_many_dft;

fftwf_plan
__wrap_fftwf_plan_many_dft(const int rank, const int* const n, const int how_many,
                           fftwf_complex* const from, const int* const in_embed,
                           const int in_stride, const int in_distance, fftwf_complex* const to,
                           const int* const out_embed, const int out_stride, const int out_distance,
                           const int sign, const unsigned flags)
{
  return n_plans++ == failing_plan
             ? NULL
             : __real_fftwf_plan_many_dft(rank, n, how_many, from, in_embed, in_stride, in_distance,
                                          to, out_embed, out_stride, out_distance, sign, flags);
}

/// Bin k of column c by the definition of the transform.
static double complex
transform_at(const uint32_t n, const uint32_t n_columns, const uint32_t c, const uint32_t k,
             const double sign)
{
  double complex sum = 0.0;
  for (uint32_t j = 0; j < n; ++j) {
    const float* const z = in + 2U * ((size_t)j * n_columns + c);
    sum += (z[0] + I * z[1]) * cexp(sign * 2.0 * M_PI * I * (double)((uint64_t)j * k % n) / n);
  }
  return sum;
}

static void
check_size(const uint32_t n, const uint32_t n_columns)
{
  Fft* fft = NULL;
  ck_assert(fft_acquire(n, n_columns, &fft, NULL) == STATUS_OK);
  signal_noise(in, 2U * (size_t)n * n_columns, n);
  for (int sign = -1; sign <= 1; sign += 2) {
    (sign < 0 ? fft_forward : fft_inverse)(fft, in, out);
    for (uint32_t k = 0; k < n; k += 1U + n / 16U) {
      const uint32_t c = k % n_columns;
      const float* const z = out + 2U * ((size_t)k * n_columns + c);
      const double error = cabs(z[0] + I * z[1] - transform_at(n, n_columns, c, k, sign));
      ck_assert_msg(error < 2e-6 * sqrt(n), "%u x %u bin %u: %g", n, n_columns, k, error);
    }
  }
  fft_release(fft);
}

TEST(transforms_equal_the_direct_sums)
{
  static const uint32_t sizes[] = { 1, 2, 3, 16, 31, 64, 100, 441, 480, 1000, 1024, 2048 };
  for (size_t i = 0; i < ARRAY_LEN(sizes); ++i) {
    check_size(sizes[i], 1);
  }
  for (uint32_t n = 2; n <= 64U; n *= 2U) {
    check_size(n, 16);
  }
}

TEST(plans_are_shared_while_they_are_used)
{
  Fft* first = NULL;
  Fft* second = NULL;
  Fft* other = NULL;
  ck_assert(fft_acquire(96, 1, &first, NULL) == STATUS_OK);
  ck_assert(fft_acquire(96, 1, &second, NULL) == STATUS_OK);
  ck_assert(fft_acquire(48, 2, &other, NULL) == STATUS_OK);
  ck_assert_ptr_eq(first, second);
  ck_assert_ptr_ne(first, other);
  fft_release(first);
  signal_noise(in, 192, 1);
  fft_forward(second, in, out); // the plan still exists
  fft_release(other);
  fft_release(second);
  fft_release(NULL);
}

TEST(a_transform_needs_the_plans_of_both_directions)
{
  for (uint32_t direction = 0; direction < 2U; ++direction) {
    Fft* fft = NULL;
    Error error = { STATUS_OK, "" };
    failing_plan = n_plans + direction;
    ck_assert_int_eq(fft_acquire(80, 1, &fft, &error), STATUS_NO_MEM);
    ck_assert_ptr_null(fft);
    assert_says(error.text, "80 x 1");
  }
  check_size(80, 1); // the failure left no plan of one direction
}

TEST(transforms_in_double_equal_the_direct_sums)
{
  for (uint32_t n = 32; n <= MAX_POINTS; n *= 4U) {
    static _Alignas(64) double from[2U * MAX_POINTS];
    static _Alignas(64) double to[2U * MAX_POINTS];
    FftDouble* fft = NULL;
    ck_assert(fft_double_new(n, &fft, NULL) == STATUS_OK);
    signal_noise(in, 2U * (size_t)n, n);
    for (uint32_t k = 0; k < 2U * n; ++k) {
      from[k] = in[k];
    }
    fft_double_forward(fft, from, to);
    for (uint32_t k = 0; k < n; k += 1U + n / 16U) {
      const double error = cabs(to[2U * k] + I * to[2U * k + 1U] - transform_at(n, 1, 0, k, -1.0));
      ck_assert_msg(error < 1e-13 * n, "%u bin %u: %g", n, k, error);
    }
    fft_double_free(fft);
  }
  fft_double_free(NULL);
}

TEST(fast_sizes_have_no_factor_above_seven)
{
  static const uint32_t pairs[][2] = { { 1, 1 },     { 11, 12 },     { 64, 64 },    { 1021, 1024 },
                                       { 441, 441 }, { 4097, 4116 }, { 8191, 8192 } };
  for (size_t i = 0; i < ARRAY_LEN(pairs); ++i) {
    ck_assert_uint_eq(fft_fast_size(pairs[i][0]), pairs[i][1]);
  }
}

SUITE_MAIN("fft")
