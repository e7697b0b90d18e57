// SPDX-License-Identifier: GPL-3.0-or-later
// Prints rows of results as a table, JSON and CSV.

#include "bench_report.h"

#include <errno.h>
#include <string.h>

// ---- the table ----

static void
print_titles(const BenchReport* const report)
{
  for (uint32_t c = 0; c < report->n_columns; ++c) {
    printf("%s%*s", c ? "  " : "", report->columns[c].width, report->columns[c].title);
  }
  putchar('\n');
}

static void
print_cell(const json_t* const value, const int width)
{
  if (json_is_integer(value)) {
    printf("%*lld", width, (long long)json_integer_value(value));
  } else if (json_is_real(value)) {
    printf("%*.2f", width, json_real_value(value));
  } else {
    printf("%*s", width, json_is_string(value) ? json_string_value(value) : "");
  }
}

static void
print_row(const BenchReport* const report, const json_t* const row)
{
  for (uint32_t c = 0; c < report->n_columns; ++c) {
    fputs(c ? "  " : "", stdout);
    print_cell(json_object_get(row, report->columns[c].key), report->columns[c].width);
  }
  putchar('\n');
  fflush(stdout); // show each row at once
}

// ---- CSV: RFC 4180, with \n as the line end ----

static void
put_text(FILE* const file, const char* text)
{
  fputc('"', file);
  for (; *text; ++text) {
    fputs(*text == '"' ? "\"\"" : (char[]){ *text, '\0' }, file);
  }
  fputc('"', file);
}

static void
put_value(FILE* const file, const json_t* const value)
{
  if (json_is_string(value)) {
    put_text(file, json_string_value(value));
  } else if (json_is_number(value)) {
    fprintf(file, "%.10g", json_number_value(value));
  } else if (json_is_boolean(value)) {
    fputs(json_is_true(value) ? "true" : "false", file);
  }
}

static void
put_titles(const BenchReport* const report)
{
  const char* key;
  json_t* value;
  json_object_foreach(report->head, key, value) fprintf(report->csv, "%s,", key);
  for (uint32_t c = 0; c < report->n_columns; ++c) {
    fprintf(report->csv, "%s%c", report->columns[c].key, c + 1U < report->n_columns ? ',' : '\n');
  }
  fflush(report->csv);
}

static void
put_row(const BenchReport* const report, const json_t* const row)
{
  const char* key;
  json_t* value;
  json_object_foreach(report->head, key, value)
  {
    put_value(report->csv, value);
    fputc(',', report->csv);
  }
  for (uint32_t c = 0; c < report->n_columns; ++c) {
    put_value(report->csv, json_object_get(row, report->columns[c].key));
    fputc(c + 1U < report->n_columns ? ',' : '\n', report->csv);
  }
  fflush(report->csv); // an interrupted run keeps its measurements
}

// ---- the report ----

Status
bench_report_begin(BenchReport* const report, const BenchColumn* const columns,
                   const uint32_t n_columns, json_t* const head, const bool json,
                   const char* const csv_path, Error* const error)
{
  *report = (BenchReport){ .bench = report->bench,
                           .columns = columns,
                           .n_columns = n_columns,
                           .head = head,
                           .rows = json_array(),
                           .json = json };
  if (csv_path) {
    report->csv = fopen(csv_path, "w");
    if (!report->csv) {
      return error_set(error, STATUS_FILE, "cannot write %s: %s", csv_path, strerror(errno));
    }
    put_titles(report);
  }
  if (!json) {
    print_titles(report);
  }
  return STATUS_OK;
}

void
bench_row_times(json_t* const row, const BenchTimes* const times)
{
  const Percentiles* const ns = &times->ns;
  json_object_set_new(row, "blocks", json_integer(times->n));
  json_object_set_new(row, "late", json_integer(times->n_late));
  json_object_set_new(row, "us_p50", json_real(ns->p50 / 1e3));
  json_object_set_new(row, "us_p99", json_real(ns->p99 / 1e3));
  json_object_set_new(row, "us_p999", json_real(ns->p999 / 1e3));
  json_object_set_new(row, "us_max", json_real(ns->max / 1e3));
  json_object_set_new(row, "us_mean", json_real(ns->mean / 1e3));
}

void
bench_report_row(BenchReport* const report, json_t* const row)
{
  if (!report->json) {
    print_row(report, row);
  }
  if (report->csv) {
    put_row(report, row);
  }
  json_array_append_new(report->rows, row);
}

/// Print the end of a report without a failure.  Returns the exit code.
static int
print_end(const BenchReport* const report, json_t* const more)
{
  if (!report->json) {
    if (report->n_left_out) {
      printf("\n%u rows left out: the time of --minutes was up\n", report->n_left_out);
    }
    return 0;
  }
  json_object_set(report->head, "rows", report->rows);
  json_object_set_new(report->head, "left_out", json_integer(report->n_left_out));
  json_object_update(report->head, more);
  return command_print_json(report->bench, json_incref(report->head));
}

int
bench_report_finish(BenchReport* const report, const Status status, const Error* const error,
                    json_t* const more)
{
  int exit_code = status ? command_fail(report->bench, error) : print_end(report, more);
  const bool is_bad = report->csv && ferror(report->csv);
  if (report->csv && (fclose(report->csv) || is_bad) && !status) {
    Error csv_error;
    error_set(&csv_error, STATUS_FILE, "the CSV file could not be written: %s", strerror(errno));
    exit_code = command_fail(report->bench, &csv_error);
  }
  json_decref(more);
  json_decref(report->head);
  json_decref(report->rows);
  *report = (BenchReport){ .bench = report->bench };
  return exit_code;
}
