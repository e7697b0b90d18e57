// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Results of a benchmark as rows, and one description of their columns for all that reads them: a
   table for people that grows while the benchmark runs, or JSON, and CSV in a file beside either.

   The head says once what every row shares (device, driver, date, settings).  In JSON it is the
   members of the object around `rows`; in CSV, columns that repeat, so that files of several
   machines can be put together.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_REPORT_H
#define WARPRACK_TOOLS_BENCH_BENCH_REPORT_H

#include "bench.h"

#include "engine/base/percentiles.h"

#include <stdio.h>

typedef struct BenchColumn {
  const char* key;   ///< Member of a row
  const char* title; ///< In the table
  int width;         ///< Characters; negative: text, to the left
} BenchColumn;

/// What bench_row_times() puts into a row.
typedef struct BenchTimes {
  Percentiles ns;
  int64_t n;      ///< Blocks that were timed
  int64_t n_late; ///< Of them, that took longer than their period
} BenchTimes;

/// The last columns of a table of times.
#define BENCH_TIME_COLUMNS                                                                         \
  { "blocks", "blocks", 7 }, { "late", "late", 6 }, { "us_p50", "p50 us", 10 },                    \
      { "us_p99", "p99 us", 10 }, { "us_p999", "p99.9 us", 10 },                                   \
  {                                                                                                \
    "us_max", "max us", 10                                                                         \
  }

typedef struct BenchReport {
  const Bench* bench;
  const BenchColumn* columns;
  uint32_t n_columns;
  json_t* head; ///< NULL before bench_report_begin() and after bench_report_end()
  json_t* rows;
  FILE* csv; ///< NULL: none is written
  bool json;
  uint32_t n_left_out; ///< Rows, for want of time
} BenchReport;

/**
   Begin: print the table's titles, or keep quiet for JSON, and open the CSV file.

   @param columns Kept, shape [n_columns].
   @param head What all rows share, an object of texts, numbers and truths; given away.
   @param csv_path NULL for no file.
   @return #STATUS_FILE when it cannot be written.
*/
NODISCARD Status // [main]
bench_report_begin(BenchReport* report, const Bench* bench, const BenchColumn* columns,
                   uint32_t n_columns, json_t* head, bool json, const char* csv_path, Error* error);

/// Add the members of BENCH_TIME_COLUMNS and "us_mean" to a row.
void bench_row_times(json_t* row, const BenchTimes* times);

/// Print a row and keep it; given away.
void bench_report_row(BenchReport* report, json_t* row);

/**
   End: print JSON, or how many rows were left out, and close the CSV file.

   @param more Members beside `rows` in JSON, given away; NULL for none.
   @return Exit code: 5 when stdout or the file could not take everything.
*/
int bench_report_end(BenchReport* report, json_t* more);

/// Free a report that did not come to its end.  Accepts one that was zeroed, or that ended.
void bench_report_clear(BenchReport* report);

#endif
