// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Analog lowpass prototypes.

   Butterworth and Chebyshev: R. W. Daniels, "Approximation Methods for Electronic Filter Design"
   (1974).  Elliptic: S. J. Orfanidis, "Lecture Notes on Elliptic Filter Design" (2006): the degree
   equation by nomes, the elliptic functions by Landen's transformation.  Departures: complementary
   moduli are computed together with the moduli instead of as sqrt(1 - k^2), which would lose all
   digits for k near 1; the arithmetic-geometric mean gives K'/K (NIST DLMF 19.8.5).  Bessel: a
   table made by make_bessel_poles.py.
*/

#include "prototype.h"

#include "bessel_poles.h"

#include <math.h>

#define MAX_LANDEN 16U // the modulus squares in each step: 7 are enough from k = 1 - 1e-13
#define MAX_TERMS  40U // of a theta series in q^(m^2); here q < 0.9

/// sqrt(10^(dB/10) - 1): the ripple epsilon of a family.
static double
deviation(const double attenuation_db)
{
  return sqrt(expm1(attenuation_db * M_LN10 / 10.0));
}

/// Angle of pair i of an order-n filter from the imaginary axis; the first is the nearest.
static double
pair_angle(const uint32_t i, const uint32_t order)
{
  return M_PI * (2.0 * i + 1.0) / (2.0 * order);
}

/// Poles on an ellipse with semi-axes `a` along the real and `b` along the imaginary axis.
static void
poles_on_ellipse(Prototype* const out, const uint32_t order, const double a, const double b)
{
  for (uint32_t i = 0; i < out->n_pairs; ++i) {
    const double angle = pair_angle(i, order);
    out->pole[i] = -a * sin(angle) + I * b * cos(angle);
  }
  out->real_pole = order % 2U ? a : 0.0;
}

static void
chebyshev1(Prototype* const out, const uint32_t order, const double ripple_db)
{
  const double mu = asinh(1.0 / deviation(ripple_db)) / order;
  poles_on_ellipse(out, order, sinh(mu), cosh(mu));
  out->gain = order % 2U ? 1.0 : pow(10.0, -ripple_db / 20.0);
}

/// Chebyshev 1 under s -> 1/s.
static void
chebyshev2(Prototype* const out, const uint32_t order, const double stopband_db)
{
  const double mu = asinh(deviation(stopband_db)) / order;
  poles_on_ellipse(out, order, sinh(mu), cosh(mu));
  for (uint32_t i = 0; i < out->n_pairs; ++i) {
    out->pole[i] = 1.0 / conj(out->pole[i]);
    out->zero_period[i] = cos(pair_angle(i, order));
  }
  out->real_pole = order % 2U ? 1.0 / out->real_pole : 0.0;
}

static void
bessel(Prototype* const out, const uint32_t order)
{
  const double(*const poles)[2] = bessel_poles[order - 1U];
  for (uint32_t i = 0; i < out->n_pairs; ++i) {
    out->pole[i] = poles[i][0] + I * poles[i][1];
  }
  out->real_pole = order % 2U ? -poles[out->n_pairs][0] : 0.0;
}

/// An elliptic modulus with its complement: k^2 + c^2 = 1.
typedef struct Modulus {
  double k, c;
} Modulus;

/// Descending moduli k[0] = k > k[1] > ... > k[n] = 0 of Landen's transformation.
typedef struct Landen {
  double k[MAX_LANDEN + 1U];
  uint32_t n;
} Landen;

static Landen
landen_sequence(Modulus modulus)
{
  Landen landen = { .k = { modulus.k } };
  while (landen.n < MAX_LANDEN && modulus.k > 1e-17) {
    const double ratio = modulus.k / (1.0 + modulus.c);
    modulus = (Modulus){ .k = ratio * ratio, .c = 2.0 * sqrt(modulus.c) / (1.0 + modulus.c) };
    landen.k[++landen.n] = modulus.k;
  }
  return landen;
}

/// Compute sn or cd from sin or cos at the same fraction of a quarter period, in ascending Landen
/// steps.
static double complex
landen_ascend(const Landen* const landen, double complex w)
{
  for (uint32_t i = landen->n; i > 0U; --i) {
    w = (1.0 + landen->k[i]) * w / (1.0 + landen->k[i] * w * w);
  }
  return w;
}

/// v with sn(j v 2K/pi, k) = j y, for y > 0.
static double
inverse_sn_imaginary(const Landen* const landen, double y)
{
  for (uint32_t i = 1; i <= landen->n; ++i) {
    const double k = landen->k[i - 1U];
    y = 2.0 * y / ((1.0 + landen->k[i]) * (1.0 + sqrt(1.0 + k * k * y * y)));
  }
  return asinh(y);
}

static double
agm(double a, double b)
{
  for (uint32_t i = 0; i < MAX_LANDEN && a - b > 1e-16 * a; ++i) {
    const double mean = 0.5 * (a + b);
    b = sqrt(a * b);
    a = mean;
  }
  return a;
}

/// The modulus k for an elliptic rational function of order n with the discrimination k1: the nome
/// of k is the n-th root of the nome of k1.
static Modulus
solve_degree(const uint32_t order, const Modulus k1)
{
  const double q = exp(-M_PI * agm(1.0, k1.c) / agm(1.0, k1.k) / order);
  double theta2 = 1.0; // / (2 q^(1/4))
  double theta3 = 1.0;
  double theta4 = 1.0;
  for (uint32_t m = 1; m < MAX_TERMS; ++m) {
    const double term = pow(q, (double)m * m);
    theta2 += term * pow(q, m);
    theta3 += 2.0 * term;
    theta4 += m % 2U ? -2.0 * term : 2.0 * term;
  }
  const double root_k = 2.0 * sqrt(sqrt(q)) * theta2 / theta3;
  const double root_c = theta4 / theta3;
  return (Modulus){ .k = root_k * root_k, .c = root_c * root_c };
}

static void
elliptic(Prototype* const out, const uint32_t order, const double ripple_db,
         const double stopband_db)
{
  const double k1 = deviation(ripple_db) / deviation(stopband_db);
  const Modulus discrimination = { .k = k1, .c = sqrt((1.0 - k1) * (1.0 + k1)) };
  const Modulus selectivity = solve_degree(order, discrimination);
  const Landen outer = landen_sequence(discrimination);
  const Landen inner = landen_sequence(selectivity);
  const double v = inverse_sn_imaginary(&outer, 1.0 / deviation(ripple_db)) / order;

  for (uint32_t i = 0; i < out->n_pairs; ++i) {
    const double angle = pair_angle(i, order);
    out->pole[i] = I * landen_ascend(&inner, ccos(angle - I * v));
    out->zero_period[i] = selectivity.k * creal(landen_ascend(&inner, cos(angle)));
  }
  out->real_pole = order % 2U ? cimag(landen_ascend(&inner, I * sinh(v))) : 0.0;
  out->gain = order % 2U ? 1.0 : pow(10.0, -ripple_db / 20.0);
}

void
prototype_make(const FilterType type, const uint32_t order, const double ripple_db,
               const double stopband_db, Prototype* const out)
{
  *out = (Prototype){ .n_pairs = order / 2U, .gain = 1.0 };
  switch (type) {
  case FILTER_BUTTERWORTH:
  case FILTER_LINKWITZ_RILEY:
    poles_on_ellipse(out, order, 1.0, 1.0);
    break;
  case FILTER_CHEBYSHEV1:
    chebyshev1(out, order, ripple_db);
    break;
  case FILTER_CHEBYSHEV2:
    chebyshev2(out, order, stopband_db);
    break;
  case FILTER_ELLIPTIC:
    elliptic(out, order, ripple_db, stopband_db);
    break;
  case FILTER_BESSEL:
    bessel(out, order);
    break;
  }
}
