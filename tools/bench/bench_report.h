// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Results of a benchmark as rows.  One description of the columns serves all outputs: a text table
   that grows while the benchmark runs, or JSON; in addition CSV in a file.

   The header has the values that all rows share (device, driver, date, settings).  In JSON they are
   members of the object around `rows`; in CSV they are columns that repeat, so that files of
   several machines can be concatenated.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_REPORT_H
#define WARPRACK_TOOLS_BENCH_BENCH_REPORT_H

#include "bench.h"

#include "engine/base/percentiles.h"

#include <stdio.h>

typedef struct BenchColumn {
  const char* key;   ///< Member of a row
  const char* title; ///< In the table
  int width;         ///< Characters; negative: text, aligned to the left
} BenchColumn;

/// The times that bench_row_times() puts into a row.
typedef struct BenchTimes {
  Percentiles ns;
  int64_t n;      ///< Timed blocks
  int64_t n_late; ///< Timed blocks that took longer than their period
} BenchTimes;

/// The last columns of a table of times.
#define BENCH_TIME_COLUMNS                                                                         \
  { "blocks", "blocks", 7 }, { "late", "late", 6 }, { "us_p50", "p50 us", 10 },                    \
      { "us_p99", "p99 us", 10 }, { "us_p999", "p99.9 us", 10 },                                   \
  {                                                                                                \
    "us_max", "max us", 10                                                                         \
  }

/// A report that has not begun has only its `bench`.
typedef struct BenchReport {
  const Bench* bench;
  const BenchColumn* columns;
  uint32_t n_columns;
  json_t* head;
  json_t* rows;
  FILE* csv; ///< NULL: no file
  bool json;
  uint32_t n_left_out; ///< Rows left out because --minutes had passed
} BenchReport;

/**
   Begin a report: print the table's titles unless the output is JSON, and open the CSV file.

   @param columns Kept, shape [n_columns].
   @param head The values that all rows share, an object of texts, numbers and booleans; the report
   takes ownership.
   @param csv_path NULL: no file.
   @return #STATUS_FILE if the file cannot be written.
*/
NODISCARD Status // [main]
bench_report_begin(BenchReport* report, const BenchColumn* columns, uint32_t n_columns,
                   json_t* head, bool json, const char* csv_path, Error* error);

/// Add the members of BENCH_TIME_COLUMNS and "us_mean" to a row.
void bench_row_times(json_t* row, const BenchTimes* times);

/// Print a row and store it.  Takes ownership of `row`.
void bench_report_row(BenchReport* report, json_t* row);

/**
   End a report, also one that has not begun: print JSON, or the number of rows left out, and close
   the CSV file.  After a failure print only its message.

   @param status Of the benchmark, with its `error`.
   @param more Members beside `rows` in JSON, or NULL; the report takes ownership.
   @return Exit code of the benchmark: that of its failure; 5 if stdout or the file could not be
   written completely.
*/
int bench_report_finish(BenchReport* report, Status status, const Error* error, json_t* more);

#endif
