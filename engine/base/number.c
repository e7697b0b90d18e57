// SPDX-License-Identifier: GPL-3.0-or-later
// Decimal numbers as text, the same in every locale.

#include "number.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MANTISSA     400U // characters to read; more than any program prints
#define MAX_PRINT_DIGITS 17   // enough to distinguish any two doubles
#define EXACT_DIGITS     15U  // whole numbers of so many digits are doubles, ...
#define EXACT_POWER      22   // ... and so are powers of ten up to this one

/// Make the C locale the locale of this thread while it reads or writes a number.  The locale of
/// the process stays unchanged, because other code uses it.
static locale_t
c_locale_enter(locale_t* const c_locale)
{
  *c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return uselocale(*c_locale);
}

static void
c_locale_leave(const locale_t c_locale, const locale_t before)
{
  uselocale(before);
  if (c_locale) {
    freelocale(c_locale);
  }
}

/// Bytes of the sign at the start of `text`.
static size_t
scan_sign(const char* const text, bool* const is_negative)
{
  static const char* const minus[] = { "-", "\xE2\x88\x92", "\xE2\x80\x93" }; // U+2212, U+2013
  *is_negative = false;
  for (size_t m = 0; m < sizeof(minus) / sizeof(minus[0]); ++m) {
    if (!strncmp(text, minus[m], strlen(minus[m]))) {
      *is_negative = true;
      return strlen(minus[m]);
    }
  }
  return *text == '+';
}

bool
number_scan(const char* const text, Decimal* const decimal)
{
  bool is_negative = false;
  const char* const mantissa = text + scan_sign(text, &is_negative);
  const char* at = mantissa;
  size_t n_digits = 0;
  for (bool point = false; isdigit((unsigned char)*at) || (*at == '.' && !point); ++at) {
    point = point || *at == '.';
    n_digits += *at != '.';
  }
  *decimal = (Decimal){ .is_negative = is_negative,
                        .mantissa = mantissa,
                        .n_mantissa = (size_t)(at - mantissa),
                        .end = at };
  if (*at == 'e' || *at == 'E') {
    const char* const digits = at + 1 + (at[1] == '-' || at[1] == '+');
    if (isdigit((unsigned char)*digits)) {
      char* end = NULL;
      decimal->exponent = strtol(at + 1, &end, 10);
      decimal->end = end;
    }
  }
  return n_digits > 0 && decimal->n_mantissa <= MAX_MANTISSA;
}

/// The value of a short number, by one operation on two exact doubles, which rounds once: the fast
/// case of W. D. Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990.  False if the
/// number is too long or its exponent too large.
static bool
short_value(const Decimal* const decimal, long exponent, double* const value)
{
  static const double powers[EXACT_POWER + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
  uint64_t digits = 0;
  bool point = false;
  for (size_t m = 0; m < decimal->n_mantissa && m < EXACT_DIGITS; ++m) {
    const char at = decimal->mantissa[m];
    digits = at == '.' ? digits : 10U * digits + (uint64_t)(at - '0');
    exponent -= point;
    point = point || at == '.';
  }
  if (decimal->n_mantissa > EXACT_DIGITS || exponent < -EXACT_POWER || exponent > EXACT_POWER) {
    return false;
  }
  const double whole = decimal->is_negative ? -(double)digits : (double)digits;
  *value = exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent];
  return true;
}

double
number_value(const Decimal* const decimal, const int shift)
{
  const long bound = 100000; // far outside the range of double; the sums below do not overflow
  long exponent = decimal->exponent < -bound ? -bound : decimal->exponent;
  exponent = exponent > bound ? bound : exponent;
  double exact = 0.0;
  if (short_value(decimal, exponent + shift, &exact)) {
    return exact;
  }
  char text[MAX_MANTISSA + 16U];
  snprintf(text, sizeof(text), "%s%.*se%ld", decimal->is_negative ? "-" : "",
           (int)decimal->n_mantissa, decimal->mantissa, exponent + shift);
  locale_t c_locale;
  const locale_t before = c_locale_enter(&c_locale);
  const double value = strtod(text, NULL);
  c_locale_leave(c_locale, before);
  return value;
}

void
number_commas_look(NumberCommas* const commas, const char* const row)
{
  static const char spaces[] = " \t;";
  uint32_t n_groups = 0;
  bool has_pair = false;
  for (const char* at = row + strspn(row, spaces); *at; ++n_groups, at += strspn(at, spaces)) {
    const char* const end = at + strcspn(at, spaces);
    uint32_t n_commas = 0;
    bool is_pair = true;
    bool has_point = false;
    for (; at < end; ++at) {
      const bool is_comma = *at == ',';
      n_commas += is_comma;
      has_point = has_point || *at == '.';
      is_pair = is_pair && (!is_comma || (at > row && isdigit((unsigned char)at[-1]) &&
                                          isdigit((unsigned char)at[1])));
    }
    is_pair = is_pair && n_commas == 1U && !has_point;
    commas->has_others = commas->has_others || has_point || (n_commas && !is_pair);
    has_pair = has_pair || is_pair;
  }
  commas->has_pairs = commas->has_pairs || has_pair;
  commas->is_mixed = commas->is_mixed || (has_pair && n_groups > 1U);
}

bool
number_commas_are_decimal(const NumberCommas* const commas, const bool pairs_suffice)
{
  return commas->has_pairs && !commas->has_others && (commas->is_mixed || pairs_suffice);
}

const char*
number_print(const double number, char text[const NUMBER_BYTES])
{
  if (!isfinite(number)) { // has no exponent
    snprintf(text, NUMBER_BYTES, "%g", number);
    return text;
  }
  locale_t c_locale;
  const locale_t before = c_locale_enter(&c_locale);
  int digits = 0;
  do {
    ++digits;
    snprintf(text, NUMBER_BYTES, "%.*e", digits - 1, number);
  } while (digits < MAX_PRINT_DIGITS && strtod(text, NULL) != number);
  char* const e = strchr(text, 'e');
  const int exponent = atoi(e + 1);
  if (exponent >= -5 && exponent < 15) { // 20000 and 0.0005 are easier to read than 2e4, 5e-4
    const int decimals = digits - 1 - exponent;
    snprintf(text, NUMBER_BYTES, "%.*f", decimals > 0 ? decimals : 0, number);
  } else {
    sprintf(e + 1, "%d", exponent);
  }
  c_locale_leave(c_locale, before);
  return text;
}
