// SPDX-License-Identifier: GPL-3.0-or-later
/// Words and numbers of one line of equaliser settings, for eq_file.c.
#ifndef WARPRACK_TOOLS_EQ_LINE_H
#define WARPRACK_TOOLS_EQ_LINE_H

#include <stdbool.h>
#include <stddef.h>

/// What is left of a line.
typedef struct EqLine {
  const char* at;
  char decimal; ///< ',' or '.': what the numbers of the file have; the other one groups thousands
} EqLine;

/// Rewrite a line in place: no-break spaces become blanks, or nothing between digits, a minus sign
/// (U+2212) becomes "-", and blanks at the end go.
void eq_line_clean(char* line);

/// The decimal separator of a text: a comma when a Gain, Q or Preamp has one.
char eq_decimal(const char* text);

bool eq_is_at_end(EqLine* line);

/// Pass over `word`, in any case of letters, when it is the next one.
bool eq_take_word(EqLine* line, const char* word);

/// Pass over `word` when a number follows it, and read the number.
bool eq_take_value(EqLine* line, const char* word, double* value);

/// Read a number, when it is next.
bool eq_take_number(EqLine* line, double* value);

/// Copy the next word, cut to n_bytes with its zero; false at the end.
bool eq_take_any(EqLine* line, char* word, size_t n_bytes);

#endif
