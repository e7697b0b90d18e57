// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Complex Fourier transforms by FFTW: only the functions that convolution needs.  In float32,
   except those of constants, which are computed in double precision and rounded once.

   Plans of float32 are shared by all nodes of the process.  All plans are made and freed under one
   lock because FFTW's planner is not thread-safe, and executed without a lock from any thread.
   FFTW plans them by estimate, never by timing: a timed plan may differ from run to run, and with
   it the last bits of the output.  Estimates cost little: out of place, rows of 64 to 2048 points
   and columns of up to 64 points take at most 25 % longer than with timed plans; segment.h builds
   longer transforms from these.
*/
#ifndef WARPRACK_DSP_CPU_FFT_H
#define WARPRACK_DSP_CPU_FFT_H

#include "engine/base/status.h"

#include <stdint.h>

typedef struct Fft Fft;
typedef struct FftDouble FftDouble;

/**
   Get the plan for transforms of n_points interleaved complex points, n_columns of them at once:
   point k of column c is at index k * n_columns + c.  n_columns = 1 is one contiguous transform.

   @return #STATUS_NO_MEM or #STATUS_OK.
*/
NODISCARD Status fft_acquire(uint32_t n_points, uint32_t n_columns, Fft** fft,
                             Error* error); // [builder]

/// Release a plan; the last release frees it.  Accepts NULL. [builder]
void fft_release(Fft* fft);

/// out[k] = sum over j of in[j] exp(-2 pi i j k / n).  Buffers are 64-byte aligned and distinct;
/// `in` is not written. [any]
void fft_forward(const Fft* fft, const float* in, float* out);

/// out[j] = sum over k of in[k] exp(2 pi i j k / n): not scaled. [any]
void fft_inverse(const Fft* fft, const float* in, float* out);

/// Make a plan for one contiguous transform in double precision. #STATUS_NO_MEM or #STATUS_OK.
/// [builder]
NODISCARD Status fft_double_new(uint32_t n_points, FftDouble** fft, Error* error);
void fft_double_free(FftDouble* fft); ///< Accepts NULL. [builder]

/// As fft_forward(). [any]
void fft_double_forward(const FftDouble* fft, const double* in, double* out);

/// The smallest number >= n without prime factors above 7: a size that FFTW transforms fast. [any]
uint32_t fft_fast_size(uint32_t n);

#endif
