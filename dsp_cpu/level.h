// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One level of a partitioned convolution: a stretch of the impulse response cut into equal
   partitions, each of them a spectrum, against a delay line of spectra of the input.  Many inputs
   and outputs: a matrix of responses, input spectra shared.

   Every `frames` samples the level is due: it takes the last two partitions of input and makes one
   partition of output.  The work comes in many small *units* so that the caller can spread it
   evenly over time:

       columns in (n_in x n_batches)  ->  rows (n_rows)  ->  columns out (n_out x n_batches)

   Method
   - Overlap-save in the *right-angle* form of the Fourier transform: the two halves of a real
     signal of 2n points fold into n complex points, (early - i late) exp(-i pi k / 2n), whose
     transform convolves negacyclically.  Half the size of the plain transform, no untangling of real
     spectra, and the late half of the result, the one that is right in overlap-save, is the
     imaginary part.  Crandall and Pomerance, "Prime Numbers", 2nd ed. 2005, algorithm 9.5.16 (after
     Crandall and Fagin 1994).
   - The transform of n = rows x cols points is done in four steps, columns, twiddles, rows; Bailey,
     "FFTs in External or Hierarchical Memory", 1990.  Transposed order does as well as any for
     products.  The fold's weights are a constant per row times part of the twiddles: no extra pass.
   - Rows are transformed, multiplied and transformed back one at a time, in the first-level cache.
*/
#ifndef WARPRACK_DSP_CPU_LEVEL_H
#define WARPRACK_DSP_CPU_LEVEL_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Level Level;

/// What a level is made of.
typedef struct LevelSpec {
  uint32_t frames;          ///< Of one partition
  uint32_t n_points;        ///< Complex points per transform, >= frames, = rows x cols
  uint32_t n_parts;         ///< Partitions, at least 1
  uint32_t n_in, n_out;     ///< Of the matrix
  const float* const* taps; ///< [n_in * n_out] responses, in * n_out + out; borrowed
  uint64_t n_taps;          ///< The responses are taken as silent from here on
  uint64_t first_tap;       ///< Where in the responses the first partition begins
  bool at_once;             ///< All units will be done in one go: none need be small
} LevelSpec;

/// Memory that one run of units works on.  Planes are in_stride and sum_stride floats apart.
typedef struct LevelIo {
  void* state;        ///< level_state_bytes()
  float* scratch;     ///< level_scratch_floats(), 64-byte aligned; holds nothing between units
  const float* early; ///< [n_in][n_points] samples: the window's first half
  const float* late;  ///< [n_in][n_points] samples: its second half; the newest frame is last.
                      ///< Both are read up to the next multiple of SPECTRUM_CELL
  size_t in_stride;
  float* sum; ///< [n_out][n_points] samples (rounded up likewise) to which the output is added;
              ///< the last `frames` of them are right
  size_t sum_stride;
} LevelIo;

/// Memory of a level, known before it is made.
typedef struct LevelBytes {
  size_t constant;       ///< Of the level
  size_t design;         ///< Beside it, while it is made
  size_t state;          ///< level_state_bytes()
  size_t scratch_floats; ///< level_scratch_floats()
} LevelBytes;

LevelBytes level_measure(const LevelSpec* spec); ///< LevelSpec::taps is not read [any]

NODISCARD Status level_new(const LevelSpec* spec, Level** level, Error* error); // [builder]
void level_free(Level* level); ///< Accepts NULL. [builder]

size_t level_state_bytes(const Level* level);    ///< A multiple of 64
size_t level_scratch_floats(const Level* level); ///< A multiple of 16
void level_rest(void* state); ///< Back to the start, where all of a state's samples are zero. [rt]

uint32_t level_n_units(const Level* level);
/// The sum of all units' costs. [any]
uint64_t level_cost(const Level* level);
/// A rough cost of a unit, the same measure for all units of all levels. [any]
uint32_t level_unit_cost(const Level* level, uint32_t unit);
/// Begin the next partition: the next row units fill a new slot of the delay line. [rt]
void level_step(const Level* level, void* state);
/// Do one unit.  The units of a partition are done in ascending order. [rt]
void level_work(const Level* level, const LevelIo* io, uint32_t unit);

#endif
