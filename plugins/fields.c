// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of fields: written as printable text, and checked when they are read.

#include "fields.h"

#include "engine/base/number.h"
#include "engine/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- write ----

static void
write_escaped(TextBuffer* const text, const char* value)
{
  const bool is_printable = text_is_printable(value);
  char* const start = text_buffer_reserve(text, 4U * strlen(value) + 1U);
  if (!start) {
    return;
  }
  char* to = start;
  *to++ = '\t';
  for (; *value; ++value) {
    if (*value == '\\' || (!is_printable && (*value < ' ' || *value > '~'))) {
      to += sprintf(to, "\\x%02X", (unsigned char)*value);
    } else {
      *to++ = *value;
    }
  }
  *to = '\0';
  text->n += (size_t)(to - start);
}

void
fields_write_text(TextBuffer* const text, const char* const value)
{
  char* const printable = text_printable_copy(value);
  if (printable) {
    write_escaped(text, printable);
  }
  text->failed = text->failed || !printable;
  free(printable);
}

void
fields_write_path(TextBuffer* const text, const char* const path)
{
  write_escaped(text, path);
}

void
fields_write_number(TextBuffer* const text, const double number)
{
  char digits[NUMBER_BYTES];
  text_buffer_add(text, "\t");
  text_buffer_add(text, isfinite(number) ? number_print(number, digits) : "nan");
}

void
fields_write_count(TextBuffer* const text, const uint64_t count)
{
  text_buffer_print(text, "\t%" PRIu64, count);
}

void
fields_write_flags(TextBuffer* const text, const uint32_t flags, const char* const* const names,
                   const uint32_t n_names)
{
  const char* before = "\t";
  for (uint32_t f = 0; f < n_names; ++f) {
    if (flags & 1U << f) {
      text_buffer_add(text, before);
      text_buffer_add(text, names[f]);
      before = ",";
    }
  }
  text_buffer_add(text, flags ? "" : before);
}

// ---- read ----

char*
fields_next_line(char** const text)
{
  char* const line = *text;
  if (!*line) {
    return NULL;
  }
  char* const end = strchrnul(line, '\n');
  *text = end + (*end == '\n');
  *end = '\0';
  return line;
}

FieldLine
fields_of(char* const line, const uint32_t number, Error* const error)
{
  char* const tab = strchr(line, '\t');
  return (FieldLine){ .rest = tab ? tab + 1 : NULL, .number = number, .error = error };
}

void
fields_fail(FieldLine* const line, const Status status, const char* const format, ...)
{
  if (line->status) {
    return;
  }
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  line->status = error_set(line->error, status, "line %u: %s", line->number, text);
}

/// Replace each \xHH by its byte.  False for another escape and for a zero.
static bool
decode(char* const field)
{
  char* to = strchrnul(field, '\\');
  for (const char* at = to; *at; ++at, ++to) {
    *to = *at;
    if (*at == '\\') {
      if (at[1] != 'x' || !isxdigit((unsigned char)at[2]) || !isxdigit((unsigned char)at[3])) {
        return false;
      }
      const char digits[] = { at[2], at[3], '\0' };
      *to = (char)strtoul(digits, NULL, 16);
      at += 3;
      if (!*to) {
        return false;
      }
    }
  }
  *to = '\0';
  return true;
}

/// The next field; NULL if the line has failed.
static char*
next_field(FieldLine* const line, const char* const what)
{
  if (!line->rest) {
    fields_fail(line, STATUS_FILE, "the %s is missing", what);
  }
  if (line->status) {
    return NULL;
  }
  char* const field = line->rest;
  char* const end = strchrnul(field, '\t');
  line->rest = *end ? end + 1 : NULL;
  *end = '\0';
  if (!decode(field)) {
    fields_fail(line, STATUS_FILE, "the %s has a wrong escape; only \\xHH is one", what);
    return NULL;
  }
  return field;
}

const char*
fields_text(FieldLine* const line, const char* const what)
{
  const char* const field = next_field(line, what);
  if (field && !text_is_printable(field)) {
    fields_fail(line, STATUS_FILE, "the %s is not printable UTF-8", what);
  }
  return line->status ? "" : field;
}

const char*
fields_path(FieldLine* const line, const char* const what)
{
  const char* const field = next_field(line, what);
  return field ? field : "";
}

double
fields_number(FieldLine* const line, const char* const what)
{
  const char* const field = next_field(line, what);
  Decimal decimal;
  if (!field) {
    return 0.0;
  }
  const double number =
      number_scan(field, &decimal) && !*decimal.end ? number_value(&decimal, 0) : NAN;
  if (!isfinite(number)) {
    fields_fail(line, STATUS_FILE, "the %s is not a finite number: \"%.40s\"", what, field);
    return 0.0;
  }
  return number;
}

uint64_t
fields_count(FieldLine* const line, const char* const what, const uint64_t max)
{
  const char* const field = next_field(line, what);
  if (!field) {
    return 0;
  }
  const size_t n_digits = strspn(field, "0123456789");
  errno = 0;
  const uint64_t count = strtoull(field, NULL, 10);
  if (!n_digits || field[n_digits] || errno || count > max) {
    fields_fail(line, STATUS_FILE, "the %s is not a whole number from 0 to %" PRIu64 ": \"%.40s\"",
                what, max, field);
    return 0;
  }
  return count;
}

uint32_t
fields_choice(FieldLine* const line, const char* const what, const char* const* const names,
              const uint32_t n_names)
{
  const char* const field = next_field(line, what);
  for (uint32_t n = 0; field && n < n_names; ++n) {
    if (!strcmp(field, names[n])) {
      return n;
    }
  }
  fields_fail(line, STATUS_FILE, "the %s is unknown: \"%.40s\"", what, field ? field : "");
  return 0;
}

uint32_t
fields_flags(FieldLine* const line, const char* const* const names, const uint32_t n_names)
{
  uint32_t flags = 0;
  for (const char* at = fields_text(line, "list of flags"); *at && !line->status;) {
    const size_t n = strcspn(at, ",");
    uint32_t f = 0;
    while (f < n_names && (strlen(names[f]) != n || strncmp(names[f], at, n) != 0)) {
      ++f;
    }
    if (f == n_names) {
      fields_fail(line, STATUS_FILE, "unknown flag \"%.40s\"", at);
    }
    flags |= f < n_names ? 1U << f : 0U;
    at += n + (at[n] == ',');
  }
  return flags;
}

uint32_t
fields_left(const FieldLine* const line)
{
  uint32_t n = line->rest != NULL;
  for (const char* at = line->rest; at && (at = strchr(at, '\t')); ++at) {
    ++n;
  }
  return n;
}

void
fields_end(FieldLine* const line)
{
  if (line->rest) {
    fields_fail(line, STATUS_FILE, "too many fields");
  }
}
