// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The inner loops of convolution, compiled for several instruction sets; one set is chosen when a
   node is made.

   Two layouts of complex numbers:
   - *interleaved*, re im re im ...: the format of the FFT library;
   - *cells*: the format of the products.  A cell holds SPECTRUM_CELL bins, first their real parts
     and then their imaginary parts, so that a product needs no shuffles at any vector width.

   All counts of points are multiples of SPECTRUM_CELL; all pointers may be unaligned.
*/
#ifndef WARPRACK_DSP_CPU_SPECTRUM_H
#define WARPRACK_DSP_CPU_SPECTRUM_H

#include <stdint.h>

#define SPECTRUM_CELL        16U // bins: one AVX-512 vector of real parts, one cache line
#define SPECTRUM_CELL_FLOATS (2U * SPECTRUM_CELL)
#define SPECTRUM_TICKS       4U // partitions of output that one pass over the lines can serve

/// Sums of products over the partitions of one delay line: the filter's spectra, newest partition
/// first, times a ring of spectra of the input whose newest slot is `newest`.
typedef struct SpectrumMac {
  const float* delays;    ///< Cells [n_cells][n_in][n_parts]
  const float* filters;   ///< Cells, for cell c at filters + c * filter_stride: [n_in][n_parts]
  uint32_t filter_stride; ///< Floats
  uint32_t n_cells;
  uint32_t n_in;
  uint32_t n_parts;
  uint32_t newest; ///< Slot in [0, n_parts); older ones follow, wrapping around
} SpectrumMac;

typedef struct SpectrumOps {
  const char* name; ///< Name of the instruction set

  /// out[r][k] = (early[r * stride + k] - i late[r * stride + k]) * weight[r], for k < n_points:
  /// packs two real halves into one complex signal. out is interleaved, rows of n_points.
  void (*fold)(const float* early, const float* late, uint32_t stride, const float* weight,
               uint32_t n_rows, uint32_t n_points, float* out);
  /// sum[r * stride + k] -= imag(in[r][k] * conj(weight[r])): unpacks the late half after the
  /// inverse transform.
  void (*unfold)(const float* in, const float* weight, uint32_t n_rows, uint32_t n_points,
                 uint32_t stride, float* sum);
  /// out[r][k] = in[r][k] * twiddle[r][k]; in_stride and out_stride in points.  twiddle is cells.
  /// out may be in.
  void (*twist)(const float* in, uint32_t in_stride, const float* twiddle, uint32_t n_rows,
                uint32_t n_points, float* out, uint32_t out_stride);
  /// As twist(), with the conjugate of the twiddles.
  void (*untwist)(const float* in, uint32_t in_stride, const float* twiddle, uint32_t n_rows,
                  uint32_t n_points, float* out, uint32_t out_stride);
  /// Convert interleaved points to cells, cell_stride floats apart.
  void (*pack)(const float* in, uint32_t n_points, float* cells, uint32_t cell_stride);
  /// The sums of products of a row, interleaved.  `ticks` is 1 or SPECTRUM_TICKS, and at most
  /// n_parts.  out[0]: the complete sum of this partition.  out[t]: of the sum t partitions later,
  /// the products whose input is there: those of slot newest + k with part k + t of the filter.
  void (*mac)(const SpectrumMac* row, uint32_t ticks, float* const* out);
  /// out = sums + the products of the n_terms <= n_parts newest slots.
  void (*mac_newest)(const SpectrumMac* row, uint32_t n_terms, const float* sums, float* out);
  /// out[i] = sum over k of taps[k] * in[i - k], each in the same order: short filters in the time
  /// domain.  in has n_taps + 2 samples before its first.
  void (*fir)(const float* in, const float* taps, uint32_t n_taps, uint32_t n_frames, float* out);
} SpectrumOps;

/// The fastest set that this CPU supports. [any]
const SpectrumOps* spectrum_ops(void);

/// Every set that this CPU supports, slowest first, for tests. [any]
const SpectrumOps* const* spectrum_all_ops(uint32_t* n_ops);

#endif
