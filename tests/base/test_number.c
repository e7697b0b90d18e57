// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers are read as strtod() reads them, to the bit, whether they are short or long; a power of
// ten is rounded together with the number; printed numbers are read back to the same double.

#include "engine/base/number.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_RANDOM 200000U

static uint32_t seed;

static uint32_t
random_below(const uint32_t n)
{
  seed = seed * 1664525U + 1013904223U;
  return (uint32_t)(((uint64_t)seed * n) >> 32U);
}

/// Fail unless a number times ten to the `shift` has the value that strtod() finds.
static void
check_value(const char* const text, const int shift)
{
  char whole[96];
  Decimal decimal;
  ck_assert_msg(number_scan(text, &decimal), "no number: %s", text);
  snprintf(whole, sizeof(whole), "%.*se%ld", (int)(decimal.mantissa - text + decimal.n_mantissa),
           text, decimal.exponent + shift);
  const double value = number_value(&decimal, shift);
  const double wanted = strtod(whole, NULL);
  ck_assert_msg(!memcmp(&value, &wanted, sizeof(value)), "%s times 10^%d: %a, not %a", text, shift,
                value, wanted);
}

static const char* const rows[] = { "0",
                                    "-0",
                                    "0.0",
                                    "-.0e9",
                                    "1",
                                    "-1",
                                    ".5",
                                    "5.",
                                    "0.1",
                                    "0.3",
                                    "2.3",
                                    "1e22",
                                    "1e23",
                                    "1e-22",
                                    "1e-23",
                                    "123456789012345",
                                    "999999999999999",
                                    "9007199254740993",
                                    "9007199254740993e22",
                                    "12345678901234.5",
                                    "0.12345678901234",
                                    "0.000000000000001",
                                    "0.0000000000000001",
                                    "4.35e-22",
                                    "9999999999999e22",
                                    "1.7976931348623157e308",
                                    "1e400",
                                    "-1e400",
                                    "4.9e-324",
                                    "1e-400",
                                    "8.5e-5",
                                    "20000",
                                    "440.00000000000001",
                                    "1e+07",
                                    "3e-07" };

TEST_ROWS(a_number_is_read_as_by_strtod, rows)
{
  for (int shift = -6; shift <= 6; ++shift) {
    check_value(rows[row], shift);
  }
}

TEST(random_numbers_are_read_as_by_strtod)
{
  for (uint32_t i = 0; i < N_RANDOM; ++i) {
    char text[64] = "-";
    size_t n = random_below(2U);
    const uint32_t n_digits = 1U + random_below(19U);
    const uint32_t point = random_below(n_digits + 4U);
    for (uint32_t d = 0; d < n_digits; ++d) {
      n += (size_t)sprintf(text + n, d == point ? ".%u" : "%u", random_below(10U));
    }
    sprintf(text + n, random_below(2U) ? "e%d" : "", (int)random_below(60U) - 30);
    check_value(text, (int)random_below(7U) - 3);
  }
}

TEST(a_printed_number_is_read_back)
{
  for (uint32_t i = 0; i < N_RANDOM / 10U; ++i) {
    char text[NUMBER_BYTES];
    const double number = ldexp(random_below(UINT32_MAX), (int)random_below(120U) - 90);
    Decimal decimal;
    ck_assert(number_scan(number_print(number, text), &decimal) && !*decimal.end);
    ck_assert_msg(number_value(&decimal, 0) == number, "%a is printed as %s", number, text);
  }
}

TEST(numbers_that_are_none_are_printed_as_words)
{
  Decimal decimal;
  char text[NUMBER_BYTES];
  ck_assert_str_eq(number_print(-INFINITY, text), "-inf");
  ck_assert(!number_scan(text, &decimal));
  ck_assert(!number_scan(number_print((double)NAN, text), &decimal));
}

SUITE_MAIN("number")
