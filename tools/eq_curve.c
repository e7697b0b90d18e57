// SPDX-License-Identifier: GPL-3.0-or-later
// Fits a cascade of filters to a curve; see eq_curve.h.

#include "eq_curve.h"

#include "dsp_cpu/rbj.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define N           EQ_CURVE_FILTERS
#define N_FIT       (4U * N)
#define N_JUDGED    400U // frequencies at which the result is evaluated
#define LOWEST_HZ   20.0
#define HIGHEST_HZ  20000.0
#define TOP_HZ      16000.0
#define PEAK_Q      1.5 // wide enough to avoid ripple between filters (tried: 1.5 to 4.3)
#define SHELF_Q     0.7
#define ROUNDS      8U
#define MAX_GAIN_DB 30.0
#define DAMPING     1e-3 // of the normal equations, whose diagonal is about 10
#define STEP_DB     0.5  // in both directions, for derivatives

static double
spread(const uint32_t i, const uint32_t n)
{
  return LOWEST_HZ * pow(HIGHEST_HZ / LOWEST_HZ, (double)i / (n - 1U));
}

static double
wanted_db(const EqPoint* const points, const uint32_t n_points, const double frequency_hz)
{
  uint32_t i = 0;
  while (i < n_points && points[i].frequency_hz < frequency_hz) {
    ++i;
  }
  if (!i || i == n_points) {
    return points[i ? n_points - 1U : 0U].gain_db;
  }
  const EqPoint* const from = &points[i - 1U];
  const double part =
      log(frequency_hz / from->frequency_hz) / log(points[i].frequency_hz / from->frequency_hz);
  return from->gain_db + part * (points[i].gain_db - from->gain_db);
}

static double
filter_db(const EqCurve* const curve, const uint32_t filter, const double gain_db,
          const double frequency_hz)
{
  const double f = curve->frequency_hz[filter];
  const double q = curve->q[filter];
  const Section h = filter == 0U       ? rbj_lowshelf(f, gain_db, q, EQ_CURVE_RATE_HZ)
                    : filter == N - 1U ? rbj_highshelf(f, gain_db, q, EQ_CURVE_RATE_HZ)
                                       : rbj_peaking(f, gain_db, q, EQ_CURVE_RATE_HZ);
  const double complex s = I * section_warp(frequency_hz, EQ_CURVE_RATE_HZ);
  return 20.0 * log10(cabs(((h.b2 * s + h.b1) * s + h.b0) / ((s + h.a1) * s + h.a0)));
}

static double
cascade_db(const EqCurve* const curve, const double frequency_hz)
{
  double sum = curve->gain_db;
  for (uint32_t k = 0; k < N; ++k) {
    sum += filter_db(curve, k, curve->gains_db[k], frequency_hz);
  }
  return sum;
}

/// Place the filters.  Peaks get the width of analog ones, although the bilinear transform narrows
/// them.
static void
place_filters(EqCurve* const curve)
{
  const double octaves = 2.0 * asinh(0.5 / PEAK_Q) / M_LN2;
  for (uint32_t k = 0; k < N; ++k) {
    const double f = TOP_HZ * pow(2.0, -(double)(N - 1U - k) / 3.0);
    const double w = 2.0 * M_PI * f / EQ_CURVE_RATE_HZ;
    const bool is_shelf = k == 0U || k == N - 1U;
    curve->frequency_hz[k] = f;
    curve->q[k] = is_shelf ? SHELF_Q : 0.5 / sinh(M_LN2 / 2.0 * octaves * w / sin(w));
  }
}

static void
judge(const EqPoint* const points, const uint32_t n_points, EqCurve* const curve)
{
  curve->worst_db = 0.0;
  for (uint32_t i = 0; i < N_JUDGED; ++i) {
    const double f = spread(i, N_JUDGED);
    const double difference = fabs(cascade_db(curve, f) - wanted_db(points, n_points, f));
    if (difference > curve->worst_db) {
      curve->worst_db = difference;
      curve->worst_at_hz = f;
    }
  }
}

/// Solve a x = b for a symmetric, positive definite `a`: Cholesky's method, in place.
static void
solve(double a[N][N], double b[N])
{
  for (uint32_t i = 0; i < N; ++i) {
    for (uint32_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (uint32_t k = 0; k < j; ++k) {
        sum -= a[i][k] * a[j][k];
      }
      a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
    }
  }
  for (uint32_t i = 0; i < N; ++i) {
    for (uint32_t k = 0; k < i; ++k) {
      b[i] -= a[i][k] * b[k];
    }
    b[i] /= a[i][i];
  }
  for (uint32_t i = N; i-- > 0U;) {
    for (uint32_t k = i + 1U; k < N; ++k) {
      b[i] -= a[k][i] * b[k];
    }
    b[i] /= a[i][i];
  }
}

/// Move all gains one step towards the curve.
static void
improve(const EqPoint* const points, const uint32_t n_points, EqCurve* const curve)
{
  double normal[N][N] = { { 0.0 } };
  double step[N] = { 0.0 };
  for (uint32_t i = 0; i < N_FIT; ++i) {
    const double f = spread(i, N_FIT);
    const double missing = wanted_db(points, n_points, f) - cascade_db(curve, f);
    double slopes[N];
    for (uint32_t k = 0; k < N; ++k) {
      const double gain = curve->gains_db[k];
      slopes[k] =
          (filter_db(curve, k, gain + STEP_DB, f) - filter_db(curve, k, gain - STEP_DB, f)) /
          (2.0 * STEP_DB);
      step[k] += slopes[k] * missing;
      for (uint32_t j = 0; j <= k; ++j) {
        normal[k][j] += slopes[k] * slopes[j];
      }
    }
  }
  for (uint32_t k = 0; k < N; ++k) {
    normal[k][k] += DAMPING;
  }
  solve(normal, step);
  for (uint32_t k = 0; k < N; ++k) {
    curve->gains_db[k] = fmax(-MAX_GAIN_DB, fmin(MAX_GAIN_DB, curve->gains_db[k] + step[k]));
  }
}

void
eq_curve_fit(const EqPoint* const points, const uint32_t n_points, EqCurve* const curve)
{
  EqCurve tried = { 0 };
  place_filters(&tried);
  for (uint32_t i = 0; i < N_FIT; ++i) {
    tried.gain_db += wanted_db(points, n_points, spread(i, N_FIT)) / N_FIT;
  }
  judge(points, n_points, &tried);
  *curve = tried;
  for (uint32_t round = 0; round < ROUNDS; ++round) {
    improve(points, n_points, &tried);
    judge(points, n_points, &tried);
    if (tried.worst_db < curve->worst_db) {
      *curve = tried;
    }
  }
}
