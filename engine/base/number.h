// SPDX-License-Identifier: GPL-3.0-or-later
/// Decimal numbers as text, read and written as in the C locale, independent of the program's
/// locale.
#ifndef WARPRACK_ENGINE_BASE_NUMBER_H
#define WARPRACK_ENGINE_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A decimal number in parts, so that number and power of ten of the unit are rounded to double
/// only once: "2.3 kHz" gives exactly 2300 Hz, while the double 2.3 times 1000 does not.
typedef struct Decimal {
  bool is_negative;
  const char* mantissa; ///< First character after the sign
  size_t n_mantissa;
  long exponent;
  const char* end; ///< First character after the number
} Decimal;

/// Find the number at the start of `text`: sign, digits with a point, exponent.  A minus may be
/// the mathematical one or a dash, as word processors write it.  No infinities, NaN or
/// hexadecimal.  False if there is none. [any]
bool number_scan(const char* text, Decimal* decimal);

/// The number's value times ten to the `shift`, rounded once; infinite if too large. [any]
double number_value(const Decimal* decimal, int shift);

/// How a text with rows of numbers uses commas.
typedef struct NumberCommas {
  bool has_pairs;  ///< "0,5": one comma, between two digits
  bool has_others; ///< Another comma, which separates numbers, or a number with a point
  bool is_mixed;   ///< A row has such a pair, and spaces separate its numbers
} NumberCommas;

/// Look at a row: numbers, separated by spaces, tabs, semicolons or commas. [any]
void number_commas_look(NumberCommas* commas, const char* row);

/// True if the commas in all rows seem to be those of decimals.  `pairs_suffice`: also if all rows
/// are "0,5", which may be two numbers. [any]
bool number_commas_are_decimal(const NumberCommas* commas, bool pairs_suffice);

/// Why such a text is refused.
#define NUMBER_COMMAS_HINT                                                                         \
  "commas seem to be those of decimals; write 0.5, and 0, 5 for two numbers"

/// The shortest text that number_value() reads back to the same double; "nan", "inf" and "-inf",
/// which number_scan() refuses, of the others.  Returns `text`. [any]
#define NUMBER_BYTES 40U // room for any number and a short unit after it
const char* number_print(double number, char text[NUMBER_BYTES]);

#endif
