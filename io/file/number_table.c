// SPDX-License-Identifier: GPL-3.0-or-later
// Text files with rows of numbers: matrices, filter coefficients, impulse responses.
//
// Lines that begin with "*", "#" or ";" are comments, and "#" begins a comment within a line.  A
// text export of Room EQ Wizard (REW) begins with a line that identifies it; older versions write
// header text without "*", and values followed by "//" and a name, one of which is the sample
// interval.  In any other place "//" is refused, because the number before it may be a sample.

#include "audio_file_private.h"

#include "engine/base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES   (64L << 20U) // about six million numbers
#define MIN_RATE_HZ 1e3
#define MAX_RATE_HZ 1e7
#define SEPARATORS  " \t,;"
#define REW_BEGINS  "Impulse Response data saved by REW"

typedef struct Table {
  NumberTable read;
  size_t n_values, capacity;
  bool is_rew; // Text before the numbers is REW's header
  NumberCommas commas;
} Table;

static bool
add_number(Table* const table, const float value)
{
  if (table->n_values == table->capacity) {
    const size_t capacity = table->capacity ? 2U * table->capacity : 1024U;
    float* const values = realloc(table->read.values, capacity * sizeof(float));
    if (!values) {
      return false;
    }
    table->read.values = values;
    table->capacity = capacity;
  }
  table->read.values[table->n_values++] = value;
  return true;
}

// Error texts do not quote the content, because a rack from the network may name any file below the
// root.
static Status
refuse_number(const char* const line, const char* const at, const char* const why,
              Error* const error)
{
  return error_set(error, STATUS_FILE, "%s at column %zu", why, (size_t)(at - line) + 1U);
}

static Status
add_row(Table* const table, const char* const line, Error* const error)
{
  uint32_t n = 0;
  number_commas_look(&table->commas, line);
  for (const char* at = line + strspn(line, SEPARATORS); *at; at += strspn(at, SEPARATORS), ++n) {
    char* end = NULL;
    const float value = strtof(at, &end);
    if (end == at || (*end && !strchr(SEPARATORS, *end))) {
      return refuse_number(line, at, "no number", error);
    }
    if (!isfinite(value)) {
      return refuse_number(line, at, "a number that is not finite", error);
    }
    if (!add_number(table, value)) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    at = end;
  }
  if (!n) {
    return STATUS_OK;
  }
  if (table->read.n_rows && n != table->read.n_columns) {
    return error_set(error, STATUS_FILE, "%u numbers, but %u in the rows before", n,
                     table->read.n_columns);
  }
  table->read.n_columns = n;
  ++table->read.n_rows;
  return STATUS_OK;
}

static bool
is_interval(const char* const name)
{
  return strstr(name, "Sample interval");
}

// Read a line of REW's header with a value and its name: "2.0833333333333333E-5 // Sample interval
// (seconds)".
static Status
read_header_value(Table* const table, const char* const line, const char* const name,
                  Error* const error)
{
  if (!is_interval(name)) {
    return STATUS_OK;
  }
  table->read.rate_hz = nearbyint(1.0 / strtod(line, NULL));
  return table->read.rate_hz >= MIN_RATE_HZ && table->read.rate_hz <= MAX_RATE_HZ
             ? STATUS_OK
             : error_set(error, STATUS_FILE, "the sample interval is not %g to %g seconds",
                         1.0 / MAX_RATE_HZ, 1.0 / MIN_RATE_HZ);
}

static bool
begins_with_number(const char* const line)
{
  char* end = NULL;
  (void)strtof(line, &end);
  return end != line;
}

static Status
read_line(Table* const table, char* const line, const bool is_first, Error* const error)
{
  size_t length = strlen(line);
  while (length && strchr("\r\n", line[length - 1U])) {
    line[--length] = '\0';
  }
  const char* const text = line + strspn(line, " \t");
  const char* const name = strstr(text, "//");
  table->is_rew |= is_first && strstr(text, REW_BEGINS);
  if (*text == '*' || *text == ';') {
    return STATUS_OK;
  }
  if (name && !table->read.n_rows && (table->is_rew || is_interval(name))) {
    return read_header_value(table, text, name, error);
  }
  if (table->is_rew && !table->read.n_rows && !begins_with_number(text)) {
    return STATUS_OK;
  }
  line[strcspn(line, "#")] = '\0';
  return add_row(table, line, error);
}

static Status
read_rows(FILE* const in, Table* const table, Error* const error)
{
  static const char mark[] = "\xEF\xBB\xBF"; // UTF-8's byte order mark
  Status status = STATUS_OK;
  char* line = NULL;
  size_t size = 0;
  ssize_t length = 0;
  for (unsigned n = 1; !status && (length = getline(&line, &size, in)) >= 0; ++n) {
    Error wrong = { STATUS_OK, "" };
    const bool has_mark = n == 1U && !strncmp(line, mark, strlen(mark));
    if (strlen(line) != (size_t)length) {
      status = error_set(&wrong, STATUS_FILE, "not text");
    } else {
      status = read_line(table, line + (has_mark ? strlen(mark) : 0U), n == 1U, &wrong);
    }
    if (status) {
      error_set(error, status, "line %u: %.200s", n, wrong.text);
    }
  }
  if (!status && ferror(in)) {
    status = error_set(error, STATUS_FILE, "%s", strerror(errno));
  }
  if (!status && !table->read.n_rows) {
    status = error_set(error, STATUS_FILE, "no numbers in it");
  }
  if (!status && number_commas_are_decimal(&table->commas, true)) {
    status = error_set(error, STATUS_FILE, NUMBER_COMMAS_HINT);
  }
  free(line);
  return status;
}

Status
number_table_load(const int fd, NumberTable* const out, Error* const error)
{
  FILE* const in = fdopen(fd, "r");
  if (!in) {
    close(fd);
    return error_set(error, STATUS_NO_MEM, "%s", strerror(errno));
  }
  struct stat info;
  Table table = { .n_values = 0 };
  const Status status = fstat(fd, &info) || info.st_size > MAX_BYTES
                            ? error_set(error, STATUS_FILE, "over 64 MiB of text")
                            : read_rows(in, &table, error);
  fclose(in);
  if (status) {
    free(table.read.values);
    return status;
  }
  *out = table.read;
  float* const fitting = realloc(out->values, table.n_values * sizeof(float));
  out->values = fitting ? fitting : out->values;
  return STATUS_OK;
}
