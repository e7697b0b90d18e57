// SPDX-License-Identifier: GPL-3.0-or-later
/// Words and numbers of one line of equaliser settings, for eq_file.c.
#ifndef WARPRACK_TOOLS_EQ_LINE_H
#define WARPRACK_TOOLS_EQ_LINE_H

#include <stdbool.h>
#include <stddef.h>

/// The rest of a line.
typedef struct EqLine {
  const char* at;
  char decimal; ///< ',' or '.': the decimal separator of the file.  The other character groups
                ///< thousands
} EqLine;

/// Clean a line in place: a no-break space becomes a blank, or nothing between digits; a minus
/// sign (U+2212) becomes "-"; trailing blanks are removed.
void eq_line_clean(char* line);

/// The decimal separator of a text: a comma if a Gain, Q or Preamp has one, else a point.
char eq_decimal(const char* text);

bool eq_is_at_end(EqLine* line);

/// Skip `word`, in any case of letters, if it is next.
bool eq_take_word(EqLine* line, const char* word);

/// Skip `word` if a number follows it, and read the number.
bool eq_take_value(EqLine* line, const char* word, double* value);

/// Read a number if it is next.
bool eq_take_number(EqLine* line, double* value);

/// Copy the next word, truncated to n_bytes including its zero.  Returns false at the end.
bool eq_take_any(EqLine* line, char* word, size_t n_bytes);

#endif
