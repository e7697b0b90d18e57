// SPDX-License-Identifier: GPL-3.0-or-later
// Every kernel of the filters gives the bits of the serial form, for any number of signals, any
// split into calls and any ends of nodes, and tails end in exact silence.

#include "dsp_cpu/cascade_kernel.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FRAMES   700U
#define MAX_JOBS 20U

static float in[MAX_JOBS][FRAMES];
static float out[MAX_JOBS][FRAMES];
static float reference[FRAMES];

/// A resonant section; frequency in radians per frame.
static CascadeRow
row_at(const double frequency)
{
  const double radius = 1.0 - 0.2 * frequency;
  const double a1 = -2.0 * radius * cos(frequency);
  return (CascadeRow){ .s = 1.0 + a1 + radius * radius, .r = -1.0 - a1, .b0 = 0.3, .cd = 0.1 };
}

/// Sections of some signals, with states of zero.
static void
make_rows(CascadeRow (*const rows)[CASCADE_MAX_SECTIONS], const uint32_t n_jobs)
{
  for (uint32_t j = 0; j < n_jobs; ++j) {
    for (uint32_t s = 0; s < CASCADE_MAX_SECTIONS; ++s) {
      rows[j][s] = row_at(0.01 * (j % 8U + 1.0) * (s + 1.0));
    }
  }
}

/// The kernel's arithmetic for one signal, with fused multiply-adds or without.
static void
run_serial(CascadeRow* const rows, const float* const from, float* const to, const CascadeForm form,
           const uint32_t n_frames, const bool is_fused)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    double x = from[i];
    for (uint32_t s = 0; s < form.n_sections; ++s) {
      CascadeRow* const row = &rows[s];
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
    to[i] = (float)x;
  }
}

/// Run a signal in calls of `length` frames.
static void
run_split(const CascadeKernel* const kernel, const CascadeJob* const all, const uint32_t n_jobs,
          const CascadeForm form, const uint32_t length)
{
  CascadeJob jobs[MAX_JOBS];
  memcpy(jobs, all, n_jobs * sizeof(CascadeJob));
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
           const uint32_t length)
{
  static CascadeRow rows[MAX_JOBS][CASCADE_MAX_SECTIONS];
  static CascadeRow expected_rows[MAX_JOBS][CASCADE_MAX_SECTIONS];
  CascadeRow* pointers[MAX_JOBS][CASCADE_MAX_SECTIONS];
  CascadeJob jobs[MAX_JOBS];
  make_rows(rows, n_jobs);
  make_rows(expected_rows, n_jobs);
  for (uint32_t j = 0; j < n_jobs; ++j) {
    for (uint32_t s = 0; s < CASCADE_MAX_SECTIONS; ++s) {
      pointers[j][s] = &rows[j][s];
    }
    jobs[j] = (CascadeJob){ pointers[j], in[j], out[j] };
  }
  run_split(kernel, jobs, n_jobs, form, length);
  for (uint32_t j = 0; j < n_jobs; ++j) {
    run_serial(expected_rows[j], in[j], reference, form, FRAMES, strcmp(kernel->name, "base") != 0);
    ck_assert_msg(!memcmp(out[j], reference, sizeof(reference)) &&
                      !memcmp(rows[j], expected_rows[j], sizeof(rows[j])),
                  "%s: signal %u of %u, %u sections, ends %#x, calls of %u frames: differs by %g",
                  kernel->name, j, n_jobs, form.n_sections, form.node_ends, length,
                  max_difference(out[j], reference, FRAMES, NULL));
  }
}

TEST(every_kernel_gives_the_bits_of_the_serial_form)
{
  const uint32_t lengths[] = { 1, 16, 64, 100, FRAMES };
  for (uint32_t j = 0; j < MAX_JOBS; ++j) {
    signal_noise(in[j], FRAMES, j);
  }
  uint32_t n_kernels = 0;
  const CascadeKernel* const* const kernels = cascade_kernels(&n_kernels);
  uint64_t seed = 1;
  for (uint32_t k = 0; k < n_kernels; ++k) {
    for (uint32_t n_sections = 1; n_sections <= CASCADE_MAX_SECTIONS; ++n_sections) {
      for (uint32_t n_jobs = 1; n_jobs <= MAX_JOBS; ++n_jobs) {
        const uint64_t random = signal_random(&seed);
        const CascadeForm form = { n_sections, (uint32_t)random & 0xffffU };
        check_bits(kernels[k], n_jobs, form, lengths[(random >> 32U) % ARRAY_LEN(lengths)]);
      }
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
    CascadeRow* const rows[] = { &row };
    row.v = 1.0;
    for (uint32_t done = 0; row.v != 0.0 || row.d != 0.0; done += 256U) {
      ck_assert_uint_lt(done, 48000);
      ck_assert(fabs(row.v) > DBL_MIN || row.v == 0.0);
      ck_assert(fabs(row.d) > DBL_MIN || row.d == 0.0);
      kernels[k]->run(&(CascadeJob){ rows, in[0], out[0] }, 1, (CascadeForm){ 1, 0 }, 256);
    }
  }
}

SUITE_MAIN("cascade_kernel")
