// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Lines of fields, the syntax of the catalogue: a word, then fields, each after a tab.  In a field,
   a backslash and a byte that must not stand in it are written \xHH.

   A text that is written becomes printable, because plugins declare any bytes.  A path keeps its
   bytes.  What is read is checked: the first fault of a line is kept, and all later fields of the
   line are empty or 0, so that a caller checks once.
*/
#ifndef WARPRACK_PLUGINS_FIELDS_H
#define WARPRACK_PLUGINS_FIELDS_H

#include "engine/base/status.h"
#include "engine/base/text_buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/// A line that is read, field by field.
typedef struct FieldLine {
  char* rest;      ///< The fields that are not read yet, which reading changes; NULL: none
  uint32_t number; ///< Of the line, from 1
  Status status;   ///< The first fault
  Error* error;    ///< Gets its sentence
} FieldLine;

void fields_write_text(TextBuffer* text, const char* value);
void fields_write_path(TextBuffer* text, const char* path);
void fields_write_number(TextBuffer* text, double number);
void fields_write_count(TextBuffer* text, uint64_t count);

/// Write the names of the bits that are set, with commas between them.
void
fields_write_flags(TextBuffer* text, uint32_t flags, const char* const* names, uint32_t n_names);

/// Return the line at `*text`, which this call terminates, and move `*text` behind it; NULL at the
/// end of the text. [any]
char* fields_next_line(char** text);

/// True if the first field of a line, which may end at a line feed, is this word of two letters or
/// more. [any]
static inline bool
fields_begin_with(const char* const line, const char* const word)
{
  const size_t n = strlen(word);
  return line[0] == word[0] && line[1] == word[1] && !strncmp(line, word, n) &&
         (line[n] == '\t' || line[n] == '\n' || line[n] == '\0');
}

/// Begin to read a line behind its first field. [any]
FieldLine fields_of(char* line, uint32_t number, Error* error);

/// Fail with "line N: " and this sentence, unless the line has failed before. [any]
void fields_fail(FieldLine* line, Status status, const char* format, ...) PRINTF_LIKE(3, 4);

// The next field; `what` names it in the error.  [any]

const char* fields_text(FieldLine* line, const char* what); ///< Valid UTF-8 and printable
const char* fields_path(FieldLine* line, const char* what);
double fields_number(FieldLine* line, const char* what);                ///< Finite
uint64_t fields_count(FieldLine* line, const char* what, uint64_t max); ///< 0 to `max`

/// The place of the field among n names. [any]
uint32_t
fields_choice(FieldLine* line, const char* what, const char* const* names, uint32_t n_names);

/// The flags that the field names. [any]
uint32_t fields_flags(FieldLine* line, const char* const* names, uint32_t n_names);

/// Number of fields that are not read yet. [any]
uint32_t fields_left(const FieldLine* line);

/// Fail if fields are left. [any]
void fields_end(FieldLine* line);

#endif
