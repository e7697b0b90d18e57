// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The 16 x 16 Hadamard matrix in Sylvester's order, times sixteen rows of samples, by the fast
   Walsh-Hadamard transform (four rounds of sums and differences).  The entries are +1 and -1, so
   the transform multiplies the energy by 16; scaled by 1/4 it is lossless.
*/
#ifndef WARPRACK_DSP_CPU_HADAMARD_H
#define WARPRACK_DSP_CPU_HADAMARD_H

#include <stdint.h>

#define HADAMARD_ROWS  16U
#define HADAMARD_CHUNK 32U // columns: sixteen rows of them are 2 kB

typedef float HadamardRows[HADAMARD_ROWS][HADAMARD_CHUNK];

/// rows = H rows, for the first n_frames columns.
static inline void
hadamard(HadamardRows rows, const uint32_t n_frames)
{
  for (uint32_t half = 1; half < HADAMARD_ROWS; half *= 2U) {
    for (uint32_t r = 0; r < HADAMARD_ROWS; ++r) {
      if (r & half) {
        continue;
      }
      float* const restrict a = rows[r];
      float* const restrict b = rows[r + half];
      for (uint32_t i = 0; i < n_frames; ++i) {
        const float sum = a[i] + b[i];
        b[i] = a[i] - b[i];
        a[i] = sum;
      }
    }
  }
}

#endif
