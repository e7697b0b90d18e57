// SPDX-License-Identifier: GPL-3.0-or-later
// Shared plans of FFTW (Frigo and Johnson, "The Design and Implementation of FFTW3", Proc. IEEE
// 93(2), 2005), executed by its new-array interface.

#include "fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

struct Fft {
  uint32_t n_points, n_columns;
  fftwf_plan forward, inverse;
  uint32_t n_users;
  Fft* next;
};

struct FftDouble {
  fftw_plan forward;
};

static pthread_mutex_t plans_lock = PTHREAD_MUTEX_INITIALIZER; // guards planners and list
static Fft* plans;

static fftwf_plan
plan_direction(const Fft* const fft, fftwf_complex* const in, fftwf_complex* const out,
               const int sign)
{
  const int n_points = (int)fft->n_points;
  const int n_columns = (int)fft->n_columns;
  return fftwf_plan_many_dft(1, &n_points, n_columns, in, NULL, n_columns, 1, out, NULL, n_columns,
                             1, sign, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
}

static void
free_plan(Fft* const fft)
{
  if (fft->forward) {
    fftwf_destroy_plan(fft->forward);
  }
  if (fft->inverse) {
    fftwf_destroy_plan(fft->inverse);
  }
  free(fft);
}

static Fft*
make_plan(const uint32_t n_points, const uint32_t n_columns)
{
  // The planner looks only at the alignment of the buffers; it does not run the transform.
  const size_t n_bytes =
      ((size_t)n_points * n_columns * sizeof(fftwf_complex) + 63U) & ~(size_t)63U;
  Fft* const fft = calloc(1, sizeof(Fft));
  fftwf_complex* const in = aligned_alloc(64U, n_bytes);
  fftwf_complex* const out = aligned_alloc(64U, n_bytes);
  if (fft && in && out) {
    *fft = (Fft){ .n_points = n_points, .n_columns = n_columns };
    fft->forward = plan_direction(fft, in, out, FFTW_FORWARD);
    fft->inverse = plan_direction(fft, in, out, FFTW_BACKWARD);
  }
  free(out);
  free(in);
  if (fft && (!fft->forward || !fft->inverse)) {
    free_plan(fft);
    return NULL;
  }
  return fft;
}

static Fft*
find_plan(const uint32_t n_points, const uint32_t n_columns)
{
  for (Fft* fft = plans; fft; fft = fft->next) {
    if (fft->n_points == n_points && fft->n_columns == n_columns) {
      return fft;
    }
  }
  Fft* const fft = make_plan(n_points, n_columns);
  if (fft) {
    fft->next = plans;
    plans = fft;
  }
  return fft;
}

Status
fft_acquire(const uint32_t n_points, const uint32_t n_columns, Fft** const fft, Error* const error)
{
  pthread_mutex_lock(&plans_lock);
  Fft* const found = find_plan(n_points, n_columns);
  if (found) {
    ++found->n_users;
  }
  pthread_mutex_unlock(&plans_lock);
  if (!found) {
    return error_set(error, STATUS_NO_MEM, "no memory for a Fourier transform of %u x %u points",
                     n_points, n_columns);
  }
  *fft = found;
  return STATUS_OK;
}

void
fft_release(Fft* const fft)
{
  if (!fft) {
    return;
  }
  pthread_mutex_lock(&plans_lock);
  if (--fft->n_users == 0) {
    Fft** link = &plans;
    while (*link != fft) {
      link = &(*link)->next;
    }
    *link = fft->next;
    free_plan(fft);
  }
  pthread_mutex_unlock(&plans_lock);
}

void
fft_forward(const Fft* const fft, const float* const in, float* const out)
{
  fftwf_execute_dft(fft->forward, (fftwf_complex*)in, (fftwf_complex*)out);
}

void
fft_inverse(const Fft* const fft, const float* const in, float* const out)
{
  fftwf_execute_dft(fft->inverse, (fftwf_complex*)in, (fftwf_complex*)out);
}

static fftw_plan
plan_double(const uint32_t n_points)
{
  const size_t n_bytes = ((size_t)n_points * sizeof(fftw_complex) + 63U) & ~(size_t)63U;
  fftw_complex* const in = aligned_alloc(64U, n_bytes);
  fftw_complex* const out = aligned_alloc(64U, n_bytes);
  fftw_plan plan = NULL;
  if (in && out) {
    pthread_mutex_lock(&plans_lock);
    plan =
        fftw_plan_dft_1d((int)n_points, in, out, FFTW_FORWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    pthread_mutex_unlock(&plans_lock);
  }
  free(out);
  free(in);
  return plan;
}

Status
fft_double_new(const uint32_t n_points, FftDouble** const fft, Error* const error)
{
  FftDouble* const made = calloc(1, sizeof(FftDouble));
  if (made) {
    made->forward = plan_double(n_points);
  }
  if (!made || !made->forward) {
    free(made);
    return error_set(error, STATUS_NO_MEM, "no memory for a Fourier transform of %u points",
                     n_points);
  }
  *fft = made;
  return STATUS_OK;
}

void
fft_double_free(FftDouble* const fft)
{
  if (fft) {
    pthread_mutex_lock(&plans_lock);
    fftw_destroy_plan(fft->forward);
    pthread_mutex_unlock(&plans_lock);
    free(fft);
  }
}

void
fft_double_forward(const FftDouble* const fft, const double* const in, double* const out)
{
  fftw_execute_dft(fft->forward, (fftw_complex*)in, (fftw_complex*)out);
}

uint32_t
fft_fast_size(const uint32_t n)
{
  for (uint32_t size = n;; ++size) {
    uint32_t rest = size;
    for (uint32_t factor = 2; factor <= 7U; ++factor) {
      while (rest % factor == 0) {
        rest /= factor;
      }
    }
    if (rest == 1U) {
      return size;
    }
  }
}
