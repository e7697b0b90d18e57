// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The arithmetic of the reverb on 16 rows of up to 32 frames, a row for each line of its network.

   Most of it goes along the rows, eight frames of all rows in registers.  The damping depends on
   the frame before: there the 16 rows are turned into frames of 16 lines, and a step advances all
   lines.

   Mixing is by the 16 x 16 Hadamard matrix H in Sylvester's order, computed by the fast
   Walsh-Hadamard transform (rounds of sums and differences).  Its entries are +1 and -1, so it
   multiplies the energy by 16; scaled by 1/4 it is lossless.  Few channels need a part of the
   rounds: with n rows that are not zero, n a power of two, the result repeats after n rows; the
   first n results are those of the n sums of the rows with equal index modulo n.

   n_frames <= 32 is a multiple of 8 in all functions but reverb_damp(): a caller with fewer frames
   rounds up and ignores the others.
*/
#ifndef WARPRACK_DSP_CPU_REVERB_ROWS_H
#define WARPRACK_DSP_CPU_REVERB_ROWS_H

#include "dsp_cpu/shared/reverb_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef float ReverbRows[REVERB_LINES][REVERB_GRID];

/// Cosines and sines of the pairs of lines at the beginning and the end of 32 frames.
typedef struct ReverbTurn {
  float cos_from[REVERB_PAIRS], sin_from[REVERB_PAIRS];
  float cos_to[REVERB_PAIRS], sin_to[REVERB_PAIRS];
} ReverbTurn;

/// Damping of all lines: y = gain x + pole y.
typedef struct ReverbDamping {
  double gain[REVERB_LINES], pole[REVERB_LINES];
} ReverbDamping;

/// Mix a group of up to 16 channels, times `gain`, into rows `stride` floats apart: replace them,
/// or add to them.  signs: bit l inverts row l.
void reverb_spread(const float* const* channels, uint32_t n_channels, uint32_t signs,
                   const float* gain, bool add, float* rows, size_t stride, uint32_t n_frames);

/// out = mix * each channel's mix of the rows + (1 - mix) * in, for a group of up to 16 channels.
void reverb_gather(const float* const* rows, uint32_t signs, const float* const* in,
                   const float* mix, float* const* out, uint32_t n_channels, uint32_t n_frames);

/// to = H from; `to`: rows `stride` floats apart.
void reverb_scatter(const float* const* from, float* to, size_t stride, uint32_t n_frames);

/// Damp every row, then rotate each pair of rows by its current angle.  damping[n_frames] if it
/// moves, else one for all frames.  state: y of all lines.  phase: frames since the beginning of
/// `turn`.
void reverb_damp(const float* const* from, const ReverbDamping* damping, bool moves, double* state,
                 const ReverbTurn* turn, uint32_t phase, ReverbRows to, uint32_t n_frames);

/// to = H (turned / 4 + scattered); `to`: rows `stride` floats apart.
void reverb_close(ReverbRows turned, const float* const* scattered, float* to, size_t stride,
                  uint32_t n_frames);

#endif
