// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One segment of a partitioned convolution: a range of the taps of an impulse response, cut into
   equal partitions.  The spectrum of each partition is multiplied by a spectrum from a delay line
   of the input.  A segment can have many inputs and outputs: a matrix of responses, in which all
   responses of an input share its spectra.

   Every `frames` frames, the segment takes the last two partitions of input and computes one
   partition of output.  The work is divided into many small *units*, so that the caller can spread
   it evenly over time:

       columns in (n_in x n_batches)  ->  rows (n_rows x n_out x pieces)
                                      ->  columns out (n_out x n_batches)

   Method
   - Overlap-save in the *right-angle* form of the Fourier transform: the two halves of a real
     signal of 2n points fold into n complex points, (early - i late) exp(-i pi k / 2n), whose
     transform convolves negacyclically.  The transform has half the size of the plain complex one,
     needs no separation of real spectra, and the imaginary part of its result is the late half, the
     valid one in overlap-save.  Crandall and Pomerance, "Prime Numbers", 2nd ed. 2005, algorithm
     9.5.16 (after Crandall and Fagin 1994).
   - The transform of n = rows x cols points has four steps, with twiddles between columns and rows;
     Bailey, "FFTs in External or Hierarchical Memory", 1990.  The products work in any order of
     bins, so the result stays transposed.  The weights of the fold are a constant per row times a
     part of the twiddles, so they need no separate pass.
   - Rows are transformed, multiplied and transformed back one at a time, in the first-level cache;
     the unit of a row's first output transforms the row of all inputs, too.
   - Reading the spectra takes most of the time of the products.  Where a transform has enough rows,
     a row reads them once for SPECTRUM_TICKS partitions of output: at the first of these it
     computes all products whose input is complete, and keeps the sums of the later partitions; at
     each later one it adds only the products of the input since then.  The rows take turns to
     read, so each partition takes the same time.  The products of a row that reads long lines are
     divided into several units, of some cells each.
*/
#ifndef WARPRACK_DSP_CPU_SEGMENT_H
#define WARPRACK_DSP_CPU_SEGMENT_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Segment Segment;

/// The range of taps, the matrix and the sizes of a segment.
typedef struct SegmentSpec {
  uint32_t frames;      ///< Frames of one partition
  uint32_t n_points;    ///< Complex points per transform, >= frames, = rows x cols
  uint32_t n_parts;     ///< Partitions, at least 1
  uint32_t n_in, n_out; ///< Size of the matrix
  const float* const*
      taps; ///< [n_in * n_out] responses, from input i to output o at i * n_out + o; borrowed
  uint64_t n_taps;    ///< Taps from here on count as 0
  uint64_t first_tap; ///< First tap of the first partition
  uint32_t n_states;  ///< As in PartitionSize
  bool at_once;       ///< The caller runs all units of a partition together: units may be large
} SegmentSpec;

/// Memory of one run of units.  Planes are in_stride and sum_stride floats apart.
typedef struct SegmentIo {
  void* state;    ///< SegmentBytes::state
  float* scratch; ///< SegmentBytes::scratch_floats, 64-byte aligned; holds nothing between units
  const float* early; ///< [n_in][n_points] samples: the window's first half
  const float* late;  ///< [n_in][n_points] samples: its second half; the newest frame is last.
                      ///< Both are read up to the next multiple of SPECTRUM_CELL
  size_t in_stride;
  float* sum; ///< [n_out][n_points] samples (rounded up likewise); the output is added, and only
              ///< the last `frames` of them are valid
  size_t sum_stride;
} SegmentIo;

/// Memory of a segment, computed from its spec.
typedef struct SegmentBytes {
  size_t constant;       ///< Bytes of the segment
  size_t design;         ///< Bytes that segment_new() needs temporarily
  size_t state;          ///< Bytes of a state, a multiple of 64
  size_t scratch_floats; ///< Floats of SegmentIo::scratch, a multiple of 16
} SegmentBytes;

SegmentBytes segment_measure(const SegmentSpec* spec); ///< Does not read SegmentSpec::taps [any]

NODISCARD Status segment_new(const SegmentSpec* spec, Segment** segment, Error* error); // [builder]
void segment_free(Segment* segment); ///< Accepts NULL. [builder]

void segment_rest(void* state); ///< Reset a state to silence. [rt]

uint32_t segment_n_units(const Segment* segment);
/// The sum of all units' costs, which is the same for each partition. [any]
uint64_t segment_cost(const Segment* segment);
/// An approximate cost of a unit in the current partition, in the same measure for all units of all
/// segments. [any]
uint64_t segment_unit_cost(const Segment* segment, const void* state, uint32_t unit);
/// Begin the next partition: its row units fill a new slot of the delay line. [rt]
void segment_step(const Segment* segment, void* state);
/// Begin to load the memory of the first unit with work from `next` on; no result depends on it.
/// [rt]
void segment_prefetch(const Segment* segment, const SegmentIo* io, uint32_t next);
/// Run one unit.  The units of a partition must run in ascending order. [rt]
void segment_work(const Segment* segment, const SegmentIo* io, uint32_t unit);

#endif
