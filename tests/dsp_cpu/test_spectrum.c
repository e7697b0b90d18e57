// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of every instruction set follow the formulas of the header, at unaligned addresses, and
// write nothing else.

#include "dsp_cpu/spectrum.h"
#include "engine/contract/effect.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N      48U // points per row: three cells
#define ROWS   3U
#define STRIDE 56U
#define GUARD  123.0F

static float a[4096];
static float b[4096];
static float t[4096];
static float out[4096];

/// An address that is aligned only for floats.
#define ODD(buffer) ((buffer) + 1)

static double complex
point(const float* const interleaved, const size_t k)
{
  return interleaved[2U * k] + I * interleaved[2U * k + 1U];
}

static double complex
in_cell(const float* const cells, const size_t k)
{
  const float* const cell = cells + k / SPECTRUM_CELL * SPECTRUM_CELL_FLOATS;
  return cell[k % SPECTRUM_CELL] + I * cell[k % SPECTRUM_CELL + SPECTRUM_CELL];
}

static void
assert_close(const char* const what, const double complex got, const double complex expected)
{
  ck_assert_msg(cabs(got - expected) < 4e-6, "%s: %g%+gi, not %g%+gi", what, creal(got), cimag(got),
                creal(expected), cimag(expected));
}

static void
fill(void)
{
  signal_noise(a, ARRAY_LEN(a), 1);
  signal_noise(b, ARRAY_LEN(b), 2);
  signal_noise(t, ARRAY_LEN(t), 3);
  for (size_t i = 0; i < ARRAY_LEN(out); ++i) {
    out[i] = GUARD;
  }
}

static void
check_fold(const SpectrumOps* const ops)
{
  fill();
  ops->fold(ODD(a), ODD(b), STRIDE, ODD(t), ROWS, N, ODD(out));
  for (uint32_t r = 0; r < ROWS; ++r) {
    for (uint32_t k = 0; k < N; ++k) {
      const double complex z = ODD(a)[r * STRIDE + k] - I * ODD(b)[r * STRIDE + k];
      assert_close("fold", point(ODD(out), r * N + k), z * point(ODD(t), r));
    }
  }
  ck_assert(out[0] == GUARD && ODD(out)[2U * ROWS * N] == GUARD);

  fill();
  ops->unfold(ODD(a), ODD(t), ROWS, N, STRIDE, ODD(out));
  for (uint32_t r = 0; r < ROWS; ++r) {
    for (uint32_t k = 0; k < STRIDE; ++k) {
      const double late = k < N ? -cimag(point(ODD(a), r * N + k) * conj(point(ODD(t), r))) : 0.0;
      ck_assert_double_eq_tol(ODD(out)[r * STRIDE + k], (double)GUARD + late, 2e-5);
    }
  }
}

static void
check_twist(const SpectrumOps* const ops)
{
  for (int in_place = 0; in_place < 2; ++in_place) {
    fill();
    float* const to = in_place ? ODD(a) : ODD(out);
    float from[ARRAY_LEN(a)];
    memcpy(from, a, sizeof(a));
    ops->twist(ODD(a), STRIDE, ODD(t), ROWS, N, to, STRIDE);
    for (uint32_t r = 0; r < ROWS; ++r) {
      for (uint32_t k = 0; k < N; ++k) {
        assert_close("twist", point(to, r * STRIDE + k),
                     point(ODD(from), r * STRIDE + k) * in_cell(ODD(t), r * N + k));
      }
    }
  }
  fill();
  ops->untwist(ODD(a), STRIDE, ODD(t), ROWS, N, ODD(out), N);
  for (uint32_t r = 0; r < ROWS; ++r) {
    for (uint32_t k = 0; k < N; ++k) {
      assert_close("untwist", point(ODD(out), r * N + k),
                   point(ODD(a), r * STRIDE + k) * conj(in_cell(ODD(t), r * N + k)));
    }
  }
  ck_assert(ODD(out)[2U * ROWS * N] == GUARD);
}

static void
check_pack(const SpectrumOps* const ops)
{
  fill();
  ops->pack(ODD(a), N, ODD(out), 80);
  for (uint32_t k = 0; k < N; ++k) {
    const float* const cell = ODD(out) + k / SPECTRUM_CELL * 80U;
    assert_close("pack", in_cell(cell, k % SPECTRUM_CELL), point(ODD(a), k));
  }
  ck_assert(ODD(out)[SPECTRUM_CELL_FLOATS] == GUARD &&
            ODD(out)[80 + SPECTRUM_CELL_FLOATS] == GUARD);
}

enum { MAC_IN = 2, MAC_PARTS = 5, MAC_LINE = MAC_PARTS * SPECTRUM_CELL_FLOATS };

/// The products of the n_terms newest slots with the filter from part `first` on, for bin k.
static double complex
products(const uint32_t newest, const uint32_t n_terms, const uint32_t first, const uint32_t k)
{
  const uint32_t c = k / SPECTRUM_CELL;
  double complex sum = 0.0;
  for (uint32_t i = 0; i < MAC_IN; ++i) {
    for (uint32_t p = 0; p < n_terms; ++p) {
      const uint32_t slot = (newest + p) % MAC_PARTS;
      sum += in_cell(ODD(a) + (c * MAC_IN + i) * MAC_LINE + slot * SPECTRUM_CELL_FLOATS,
                     k % SPECTRUM_CELL) *
             in_cell(ODD(b) + c * (MAC_IN * MAC_LINE + 64U) + i * MAC_LINE +
                         (first + p) * SPECTRUM_CELL_FLOATS,
                     k % SPECTRUM_CELL);
    }
  }
  return sum;
}

static void
check_mac_at(const SpectrumOps* const ops, const uint32_t newest, const uint32_t ticks)
{
  fill();
  const SpectrumMac mac = { .delays = ODD(a),
                            .filters = ODD(b),
                            .filter_stride = MAC_IN * MAC_LINE + 64U,
                            .n_cells = N / SPECTRUM_CELL,
                            .n_in = MAC_IN,
                            .n_parts = MAC_PARTS,
                            .newest = newest };
  float* sums[SPECTRUM_TICKS];
  for (uint32_t tick = 0; tick < ticks; ++tick) {
    sums[tick] = ODD(out) + (size_t)tick * (2U * N + 4U);
  }
  ops->mac(&mac, ticks, sums);
  for (uint32_t tick = 0; tick < ticks; ++tick) {
    for (uint32_t k = 0; k < N; ++k) {
      assert_close("mac", point(sums[tick], k), products(newest, MAC_PARTS - tick, tick, k));
    }
    ck_assert(sums[tick][2U * N] == GUARD);
  }
  float* const newer = ODD(out) + (size_t)SPECTRUM_TICKS * (2U * N + 4U);
  ops->mac_newest(&mac, ticks, sums[0], newer);
  for (uint32_t k = 0; k < N; ++k) {
    assert_close("mac_newest", point(newer, k),
                 products(newest, MAC_PARTS, 0, k) + products(newest, ticks, 0, k));
  }
  ck_assert(newer[2U * N] == GUARD);
}

static void
check_mac(const SpectrumOps* const ops)
{
  for (uint32_t newest = 0; newest < MAC_PARTS; ++newest) {
    check_mac_at(ops, newest, 1);
    check_mac_at(ops, newest, SPECTRUM_TICKS);
  }
}

static void
check_fir(const SpectrumOps* const ops)
{
  for (uint32_t n_frames = 1; n_frames < 600U; n_frames += 7U) {
    const uint32_t n_taps = 1U + n_frames % 64U;
    const float* const in = ODD(a) + n_taps + 2U;
    fill();
    ops->fir(in, ODD(b), n_taps, n_frames, ODD(out));
    for (uint32_t i = 0; i < n_frames; ++i) {
      double sum = 0.0;
      for (uint32_t k = 0; k < n_taps; ++k) {
        sum += (double)ODD(b)[k] * in[(ptrdiff_t)i - k];
      }
      assert_close("fir", ODD(out)[i], sum);
    }
    ck_assert(ODD(out)[n_frames] == GUARD);
    for (uint32_t i = 0; i < n_frames; i += 1U + i % 5U) { // the same bits in any division
      float one = GUARD;
      ops->fir(in + i, ODD(b), n_taps, 1, &one);
      ck_assert(one == ODD(out)[i]);
    }
  }
}

TEST(every_instruction_set_follows_the_formulas)
{
  uint32_t n_ops = 0;
  const SpectrumOps* const* const all = spectrum_all_ops(&n_ops);
  ck_assert_uint_ge(n_ops, 1);
  ck_assert_ptr_eq(spectrum_ops(), all[n_ops - 1U]);
  for (uint32_t i = 0; i < n_ops; ++i) {
    check_fold(all[i]);
    check_twist(all[i]);
    check_pack(all[i]);
    check_mac(all[i]);
    check_fir(all[i]);
  }
}

SUITE_MAIN("spectrum")
