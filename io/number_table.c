// SPDX-License-Identifier: GPL-3.0-or-later
// Text files with rows of numbers: matrices, filter coefficients.

#include "audio_file_parts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES  (64L << 20U) // six million numbers
#define SEPARATORS " \t,;"

typedef struct Table {
  float* values; // [n_rows][n_columns]
  size_t n_values, capacity;
  uint32_t n_rows, n_columns;
} Table;

static bool
add_number(Table* const table, const float value)
{
  if (table->n_values == table->capacity) {
    const size_t capacity = table->capacity ? 2U * table->capacity : 1024U;
    float* const values = realloc(table->values, capacity * sizeof(float));
    if (!values) {
      return false;
    }
    table->values = values;
    table->capacity = capacity;
  }
  table->values[table->n_values++] = value;
  return true;
}

// A word of the file, cut short and without control characters, so that it can be printed.
static const char*
printable(const char* const word, char buffer[static 24])
{
  const size_t length = strcspn(word, SEPARATORS);
  size_t i = 0;
  for (; i < length && i < 20U; ++i) {
    buffer[i] = (char)(isprint((unsigned char)word[i]) ? word[i] : '?');
  }
  buffer[i] = '\0';
  return buffer;
}

static Status
add_row(Table* const table, char* const line, const unsigned line_number, Error* const error)
{
  uint32_t n = 0;
  for (char* at = line + strspn(line, SEPARATORS); *at; at += strspn(at, SEPARATORS), ++n) {
    char* end = NULL;
    char word[24];
    const float value = strtof(at, &end);
    if (end == at || (*end && !strchr(SEPARATORS, *end))) {
      return error_set(error, STATUS_FILE, "line %u: '%s' is not a number", line_number,
                       printable(at, word));
    }
    if (!isfinite(value)) {
      return error_set(error, STATUS_FILE, "line %u: %s is not finite", line_number,
                       printable(at, word));
    }
    if (!add_number(table, value)) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    at = end;
  }
  if (!n) {
    return STATUS_OK;
  }
  if (table->n_rows && n != table->n_columns) {
    return error_set(error, STATUS_FILE, "line %u: %u numbers, but %u in the rows before",
                     line_number, n, table->n_columns);
  }
  table->n_columns = n;
  ++table->n_rows;
  return STATUS_OK;
}

static Status
read_rows(FILE* const in, Table* const table, Error* const error)
{
  Status status = STATUS_OK;
  char* line = NULL;
  size_t size = 0;
  ssize_t length = 0;
  for (unsigned n = 1; !status && (length = getline(&line, &size, in)) >= 0; ++n) {
    if (strlen(line) != (size_t)length) {
      status = error_set(error, STATUS_FILE, "line %u: not text", n);
      break;
    }
    line[strcspn(line, "#\r\n")] = '\0';
    status = add_row(table, line, n, error);
  }
  if (!status && ferror(in)) {
    status = error_set(error, STATUS_FILE, "%s", strerror(errno));
  }
  if (!status && !table->n_rows) {
    status = error_set(error, STATUS_FILE, "no numbers in it");
  }
  free(line);
  return status;
}

Status
number_table_load(const int fd, const char* const name, FxFile** const file, Error* const error)
{
  FILE* const in = fdopen(fd, "r");
  if (!in) {
    close(fd);
    return error_set(error, STATUS_NO_MEM, "%s", strerror(errno));
  }
  struct stat info;
  Table table = { 0 };
  Status status = fstat(fd, &info) || info.st_size > MAX_BYTES
                      ? error_set(error, STATUS_FILE, "over 64 MiB of text")
                      : read_rows(in, &table, error);
  if (!status) {
    *file = loaded_file_new(name, table.n_rows, table.n_columns, false);
    if (*file) {
      memcpy(loaded_file_samples(*file), table.values, table.n_values * sizeof(float));
    } else {
      status = error_set(error, STATUS_NO_MEM, "out of memory");
    }
  }
  free(table.values);
  fclose(in);
  return status;
}
