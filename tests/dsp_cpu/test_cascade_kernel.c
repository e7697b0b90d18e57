// SPDX-License-Identifier: GPL-3.0-or-later
// Every kernel of the filters gives the bits of the serial form, for any number of signals, any
// split into calls and any ends of nodes, with denormals flushed or not; it stays near the form in
// long double, and tails end in exact silence.

#include "dsp_cpu/cascade_kernel.h"
#include "engine/base/rt.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FRAMES   600U // more than the frames between two checks for small states
#define MAX_JOBS 20U

static float in[MAX_JOBS][FRAMES];
static float out[MAX_JOBS][FRAMES];
static float reference[FRAMES];

static CascadeRow rows[MAX_JOBS][CASCADE_MAX_SECTIONS];

typedef enum Input { NOISE, FAINT_NOISE, IMPULSE, N_INPUTS } Input;

/// A resonant section; frequency in radians per frame.
static CascadeRow
row_at(const double frequency)
{
  const double radius = 1.0 - 0.2 * frequency;
  const double a1 = -2.0 * radius * cos(frequency);
  return (CascadeRow){
    .s = 1.0 + a1 + radius * radius, .r = -1.0 - a1, .b0 = 0.3, .cv = -0.03, .cd = 0.1
  };
}

static void
make_input(const Input input)
{
  for (uint32_t j = 0; j < MAX_JOBS; ++j) {
    signal_noise(in[j], FRAMES, j);
    for (uint32_t i = 0; i < FRAMES; ++i) {
      in[j][i] *= input == NOISE ? 1.0F : input == FAINT_NOISE ? 1e-37F : i == 0U ? 1.0F : 0.0F;
    }
  }
}

/// Sections of some signals, with states of zero.  After an impulse, their states become smaller
/// than any that the kernels keep.
static void
make_rows(CascadeRow (*const to)[CASCADE_MAX_SECTIONS], const uint32_t n_jobs, const Input input)
{
  for (uint32_t j = 0; j < n_jobs; ++j) {
    for (uint32_t s = 0; s < CASCADE_MAX_SECTIONS; ++s) {
      to[j][s] =
          row_at(input == IMPULSE ? 2.2 + 0.01 * (j + s) : 0.01 * (j % 8U + 1.0) * (s + 1.0));
    }
  }
}

/// The kernel's arithmetic for one signal, with fused multiply-adds or without.
static void
run_serial(CascadeRow* const sections, const float* const from, float* const to,
           const CascadeForm form, const bool is_fused)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    double x = from[i];
    for (uint32_t s = 0; s < form.n_sections; ++s) {
      CascadeRow* const row = &sections[s];
      const double v = row->v;
      const double d = row->d;
      double y = row->cd * d;
      if (is_fused) {
        y = fma(row->b0, x, fma(row->cv, v, y));
        row->d = fma(row->r, d, fma(-row->s, v, x));
      } else {
        y = row->b0 * x + (row->cv * v + y);
        row->d = row->r * d + (x - row->s * v);
      }
      row->v = v + d;
      x = form.node_ends >> s & 1U ? (double)(float)y : y;
    }
    to[i] = (float)x + 0.0F;
  }
}

/// Run signals in calls of `length` frames.
static void
run_split(const CascadeKernel* const kernel, const uint32_t n_jobs, const CascadeForm form,
          const uint32_t length)
{
  CascadeRow* pointers[MAX_JOBS][CASCADE_MAX_SECTIONS];
  CascadeJob jobs[MAX_JOBS] = { 0 };
  for (uint32_t j = 0; j < n_jobs; ++j) {
    for (uint32_t s = 0; s < form.n_sections; ++s) {
      pointers[j][s] = &rows[j][s];
    }
    jobs[j] = (CascadeJob){ pointers[j], in[j], out[j] };
  }
  for (uint32_t done = 0; done < FRAMES; done += length) {
    kernel->run(jobs, n_jobs, form, FRAMES - done < length ? FRAMES - done : length);
    for (uint32_t j = 0; j < n_jobs; ++j) {
      jobs[j].in += length;
      jobs[j].out += length;
    }
  }
}

/// The bits of `n_jobs` signals, in calls of `length` frames, are those of the serial form.
static void
check_bits(const CascadeKernel* const kernel, const uint32_t n_jobs, const CascadeForm form,
           const uint32_t length, const Input input)
{
  static CascadeRow serial[MAX_JOBS][CASCADE_MAX_SECTIONS];
  make_rows(rows, n_jobs, input);
  make_rows(serial, n_jobs, input);
  run_split(kernel, n_jobs, form, length);
  for (uint32_t j = 0; j < n_jobs; ++j) {
    run_serial(serial[j], in[j], reference, form, strcmp(kernel->name, "base") != 0);
    const bool same_states = !memcmp(rows[j], serial[j], sizeof(rows[j]));
    ck_assert_msg(!memcmp(out[j], reference, sizeof(reference)) &&
                      (same_states || input == IMPULSE),
                  "%s: signal %u of %u, %u sections, ends %#x, calls of %u frames: differs by %g",
                  kernel->name, j, n_jobs, form.n_sections, form.node_ends, length,
                  max_difference(out[j], reference, FRAMES, NULL));
  }
}

/// Compare every kernel with the serial form, with a random form and length of calls.
static void
check_kernels(const Input input, const uint32_t n_jobs, uint64_t* const seed)
{
  const uint32_t lengths[] = { 1, 16, 64, 100, FRAMES };
  uint32_t n_kernels = 0;
  const CascadeKernel* const* const kernels = cascade_kernels(&n_kernels);
  const uint64_t random = signal_random(seed);
  const CascadeForm form = { 1U + (uint32_t)(random >> 40U) % CASCADE_MAX_SECTIONS,
                             (uint32_t)random & 0xffffU };
  for (uint32_t k = 0; k < n_kernels; ++k) {
    check_bits(kernels[k], n_jobs, form, lengths[(random >> 32U) % ARRAY_LEN(lengths)], input);
  }
}

static const bool flushes_denormals[] = { false, true };

TEST_ROWS(every_kernel_gives_the_bits_of_the_serial_form, flushes_denormals)
{
  if (flushes_denormals[row]) {
    rt_flush_denormals();
  }
  uint64_t seed = 1;
  for (Input input = NOISE; input < N_INPUTS; ++input) {
    make_input(input);
    for (uint32_t n_jobs = 1; n_jobs <= MAX_JOBS; ++n_jobs) {
      check_kernels(input, n_jobs, &seed);
    }
    for (uint32_t i = 0; i < 80U; ++i) {
      check_kernels(input, 1U + i % 4U, &seed);
    }
  }
}

/// A filter that is hard for rounding: a low frequency, against the rate, or a narrow resonance.
typedef struct Hard {
  double frequency_hz, rate_hz, q, gain; ///< Gain at the frequency; 1 elsewhere
} Hard;

static const Hard hard[] = { { 10.0, 192000.0, 0.7, 4.0 },     { 10.0, 192000.0, 10.0, 0.1 },
                             { 20.0, 96000.0, 40.0, 8.0 },     { 117.0, 192000.0, 0.5, 0.01 },
                             { 1000.0, 48000.0, 100.0, 15.0 }, { 23900.0, 48000.0, 5.0, 8.0 },
                             { 15000.0, 48000.0, 0.1, 0.0 } };

/// A bell, as R. Bristow-Johnson's peaking EQ, in the kernel's terms.
static CascadeRow
hard_row(const Hard* const filter)
{
  const long double w = 2.0L * acosl(-1.0L) * filter->frequency_hz / filter->rate_hz;
  const long double alpha = sinl(w) / (2.0L * filter->q);
  const long double scale = 1.0L / (1.0L + alpha);
  const long double a1 = -2.0L * cosl(w) * scale;
  const long double a2 = (1.0L - alpha) * scale;
  const long double b0 = (1.0L + alpha * filter->gain) * scale;
  const long double b2 = (1.0L - alpha * filter->gain) * scale;
  return (CascadeRow){ .s = (double)(1.0L + a1 + a2),
                       .r = (double)(-1.0L - a1),
                       .b0 = (double)b0,
                       .cv = (double)(a1 + b2 - b0 * (a1 + a2)),
                       .cd = (double)(a1 - b0 * a1) };
}

/// The largest difference of `out[0]` from a cascade of `n` equal sections in long double, against
/// the largest output.
static double
error_of(const CascadeRow* const row, const uint32_t n)
{
  long double v[CASCADE_MAX_SECTIONS] = { 0 };
  long double d[CASCADE_MAX_SECTIONS] = { 0 };
  long double worst = 0.0L;
  long double peak = 0.0L;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    long double x = in[0][i];
    for (uint32_t s = 0; s < n; ++s) {
      const long double y = row->b0 * x + (row->cv * v[s] + row->cd * d[s]);
      const long double next = row->r * d[s] + (x - row->s * v[s]);
      v[s] += d[s];
      d[s] = next;
      x = y;
    }
    worst = fmaxl(worst, fabsl(x - out[0][i]));
    peak = fmaxl(peak, fabsl(x));
  }
  return (double)(worst / peak);
}

TEST_ROWS(every_kernel_is_near_the_form_in_long_double, hard)
{
  make_input(NOISE);
  uint32_t n_kernels = 0;
  const CascadeKernel* const* const kernels = cascade_kernels(&n_kernels);
  const CascadeRow section = hard_row(&hard[row]);
  for (uint32_t k = 0; k < n_kernels; ++k) {
    for (uint32_t n_jobs = 1; n_jobs <= 8U; n_jobs += n_jobs) {
      for (uint32_t i = 0; i < n_jobs * CASCADE_MAX_SECTIONS; ++i) {
        rows[i / CASCADE_MAX_SECTIONS][i % CASCADE_MAX_SECTIONS] = section;
      }
      run_split(kernels[k], n_jobs, (CascadeForm){ 5U, 0U }, FRAMES);
      const double error = error_of(&section, 5U);
      ck_assert_msg(error <= 1e-7, "%s, %u signals: %g", kernels[k]->name, n_jobs, error);
    }
  }
}

TEST(the_fastest_instruction_set_of_this_machine_comes_first)
{
  uint32_t n_kernels = 0;
  const CascadeKernel* const* const kernels = cascade_kernels(&n_kernels);
  const char* expected[] = { "base", "base", "base" };
  uint32_t n_expected = 0;
#ifdef __x86_64__
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    expected[n_expected++] = "avx512";
  }
  if (has_avx2) {
    expected[n_expected++] = "avx2";
  }
#endif
  ck_assert_uint_eq(n_kernels, n_expected + 1U);
  for (uint32_t k = 0; k < n_kernels; ++k) {
    ck_assert_str_eq(kernels[k]->name, expected[k]);
  }
}

TEST(a_tail_ends_in_exact_zero_before_it_is_denormal)
{
  uint32_t n_kernels = 0;
  const CascadeKernel* const* const kernels = cascade_kernels(&n_kernels);
  memset(in[0], 0, sizeof(in[0]));
  for (uint32_t k = 0; k < n_kernels; ++k) {
    CascadeRow row = row_at(0.1);
    CascadeRow* const pointer = &row;
    row.v = 1.0;
    for (uint32_t done = 0; row.v != 0.0 || row.d != 0.0; done += 256U) {
      ck_assert_uint_lt(done, 48000);
      ck_assert(fabs(row.v) > DBL_MIN || row.v == 0.0);
      ck_assert(fabs(row.d) > DBL_MIN || row.d == 0.0);
      kernels[k]->run(&(CascadeJob){ &pointer, in[0], out[0] }, 1, (CascadeForm){ 1, 0 }, 256);
    }
  }
}

SUITE_MAIN("cascade_kernel")
