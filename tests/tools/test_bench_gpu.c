// SPDX-License-Identifier: GPL-3.0-or-later
// The GPU benchmarks, on any OpenCL device: the format of their output (JSON and CSV), and their
// exit codes when they cannot run.  The measured figures are not tested.

#include "dsp_gpu/gpu.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tools/bench/bench_report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_TRANSFERS 8U // transfer sizes, 256 bytes to 4 MiB

static char*
read_text(const char* const path)
{
  FILE* const file = fopen(path, "r");
  ck_assert_msg(file, "cannot open %s", path);
  char* text = NULL;
  size_t size = 0;
  ck_assert(getdelim(&text, &size, '\0', file) >= 0);
  fclose(file);
  return text;
}

/// Number of fields of a CSV line; sets *line to the next line.
static uint32_t
n_fields(const char** const line)
{
  uint32_t n = 1;
  bool is_quoted = false;
  for (; **line && **line != '\n'; ++*line) {
    is_quoted ^= **line == '"';
    n += **line == ',' && !is_quoted;
  }
  *line += **line == '\n';
  return n;
}

static void
check_csv(const char* const path, const char* const columns, const size_t n_rows)
{
  SCOPED_MEMORY char* const text = read_text(path);
  const char* line = text;
  assert_says(text, "bench,api,gpu,device,driver,");
  assert_says(text, columns);
  const uint32_t n = n_fields(&line);
  size_t n_lines = 0;
  for (; *line; ++n_lines) {
    ck_assert_uint_eq(n_fields(&line), n);
  }
  ck_assert_uint_eq(n_lines, n_rows);
}

static double
number(const json_t* const object, const char* const key)
{
  const json_t* const value = json_object_get(object, key);
  ck_assert_msg(json_is_number(value), "no number %s", key);
  return json_number_value(value);
}

static void
check_times(const json_t* const row)
{
  ck_assert_double_gt(number(row, "us_p50"), 0.0);
  ck_assert_double_le(number(row, "us_p50"), number(row, "us_p99"));
  ck_assert_double_le(number(row, "us_p99"), number(row, "us_p999"));
  ck_assert_double_le(number(row, "us_p999"), number(row, "us_max"));
  ck_assert_double_le(number(row, "us_mean"), number(row, "us_max"));
  ck_assert_double_eq(number(row, "blocks"), 50.0);
  ck_assert_double_le(number(row, "late"), 50.0);
}

static uint32_t
n_rows_with(const json_t* const rows, const char* const key, const char* const text)
{
  uint32_t n = 0;
  size_t i;
  const json_t* row;
  json_array_foreach(rows, i, row)
  {
    n += !strcmp(json_string_value(json_object_get(row, key)), text);
  }
  return n;
}

#define TIME_COLUMNS "blocks,late,us_p50,us_p99,us_p999,us_max\n"

/// Run a benchmark on OpenCL with up to four more arguments.  Checks that its CSV has these columns
/// and as many rows as its JSON, and returns the JSON.
static json_t*
run_bench(const char* const name, const char* const columns, const char* const words[4])
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const csv = scratch_path(&scratch, "rows.csv");
  RUN_GOOD("bench", name, "--quick", "--json", "--csv", csv, "--backend", "opencl", words[0],
           words[1], words[2], words[3]);
  json_error_t why;
  json_t* const report = json_loads(program.out, 0, &why);
  ck_assert_msg(report != NULL, "%s in: %s", why.text, program.out);
  ck_assert_str_eq(json_string_value(json_object_get(report, "bench")), name);
  check_csv(csv, columns, json_array_size(json_object_get(report, "rows")));
  return report;
}

/// Run the benchmark gpu-fixed and check all rows.
static json_t*
run_fixed(const char* const part)
{
  json_t* const report = run_bench("gpu-fixed", ",part,what,bytes,side,pace," TIME_COLUMNS,
                                   (const char* [4]){ "--rate", "192000", "--part", part });
  size_t i;
  const json_t* row;
  json_array_foreach(json_object_get(report, "rows"), i, row)
  {
    check_times(row);
    ck_assert_double_ge(number(row, "bytes"), 0.0);
  }
  return report;
}

TEST(fixed_costs_have_a_row_for_each_case_and_pace)
{
  json_t* const report = run_fixed("all");
  ck_assert_str_eq(json_string_value(json_object_get(report, "api")), "opencl");
  static const char* const texts[] = { "device", "driver", "cpu", "date" };
  for (size_t t = 0; t < ARRAY_LEN(texts); ++t) {
    ck_assert_msg(json_is_string(json_object_get(report, texts[t])), "no %s", texts[t]);
  }
  ck_assert_double_eq_tol(number(report, "period_us"), 64e6 / 192000.0, 1e-6);
  ck_assert_double_eq(number(report, "left_out"), 0.0);

  const bool reaches_host = json_is_true(json_object_get(report, "reaches_host"));
  const json_t* const rows = json_object_get(report, "rows");
  ck_assert_uint_eq(n_rows_with(rows, "part", "kernels"), 2U * (4U + 3U));
  ck_assert_uint_eq(n_rows_with(rows, "what", "copies"), 2U * N_TRANSFERS);
  ck_assert_uint_eq(n_rows_with(rows, "what", "mapped"), reaches_host ? 2U * N_TRANSFERS : 0U);
  ck_assert_uint_eq(n_rows_with(rows, "what", "memcpy"), 2U * N_TRANSFERS);
  ck_assert_uint_eq(n_rows_with(rows, "part", "completion"), 2U * 2U);
  ck_assert_uint_eq(n_rows_with(rows, "pace", "paced"), json_array_size(rows) / 2U);
  ck_assert_ptr_nonnull(json_object_get(report, "switch_bytes_paced"));
  ck_assert_ptr_nonnull(json_object_get(report, "switch_bytes_back_to_back"));
  json_decref(report);
}

TEST(a_device_that_takes_copies_only_has_no_rows_of_mapped_memory)
{
  setenv("WARPRACK_OPENCL_MEMORY", "own", 1);
  json_t* const report = run_fixed("transfers");
  unsetenv("WARPRACK_OPENCL_MEMORY");
  const json_t* const rows = json_object_get(report, "rows");
  ck_assert(json_is_false(json_object_get(report, "reaches_host")));
  ck_assert_uint_eq(json_array_size(rows), 2U * 2U * N_TRANSFERS);
  ck_assert_uint_eq(n_rows_with(rows, "what", "mapped"), 0);
  ck_assert_double_eq(number(report, "switch_bytes_paced"), 256.0);
  json_decref(report);
}

TEST(people_get_the_device_and_a_table)
{
  RUN_GOOD("bench", "gpu-fixed", "--quick", "--backend", "opencl", "--part", "completion");
  assert_says(program.out, "opencl 0: ");
  assert_says(program.out, "64 frames at 48000 Hz: a period is 1333.3 us");
  assert_says(program.out, "p99.9 us");
  assert_says(program.out, "finish()");
}

TEST(a_block_goes_through_a_device_and_the_cpu)
{
  json_t* const report =
      run_bench("gpu-loop", ",rack,channels,frames,side,rows,pace,device_us," TIME_COLUMNS,
                (const char* [4]){ "--block", "32", "--channels", "5" });
  const bool reaches_host = json_is_true(json_object_get(report, "reaches_host"));
  const json_t* const rows = json_object_get(report, "rows");
  ck_assert_uint_eq(json_array_size(rows), 2U * 2U * 2U); // racks, sides, paces
  ck_assert_uint_eq(n_rows_with(rows, "rack", "strip"), 2U * 2U);
  ck_assert_uint_eq(n_rows_with(rows, "side", "gpu"), 2U * 2U);
  ck_assert_uint_eq(n_rows_with(rows, "pace", "paced"), 2U * 2U);
  ck_assert_uint_eq(n_rows_with(rows, "rows", reaches_host ? "attached" : "copied"), 2U * 2U);
  size_t i;
  const json_t* row;
  json_array_foreach(rows, i, row)
  {
    check_times(row);
    ck_assert_double_eq(number(row, "channels"), 5.0);
    ck_assert_double_eq(number(row, "frames"), 32.0);
    ck_assert_ptr_null(json_object_get(row, "device_us")); // OpenCL has no clock for kernels
  }
  json_decref(report);
}

TEST(convolutions_report_channels_and_bytes)
{
  json_t* const report =
      run_bench("gpu-conv",
                ",frames,ir_seconds,channels,what,side,pace,mb_read,gb_s,copy_share," TIME_COLUMNS,
                (const char* [4]){ NULL });
  ck_assert_double_gt(number(report, "copy_gb_s"), 0.0);
  const json_t* const rows = json_object_get(report, "rows");
  ck_assert_uint_eq(n_rows_with(rows, "what", "given"), 2U);
  ck_assert_uint_ge(n_rows_with(rows, "what", "most"), 2U); // one row if no channels fit
  size_t i;
  const json_t* row;
  json_array_foreach(rows, i, row)
  {
    const bool is_given = !strcmp(json_string_value(json_object_get(row, "what")), "given");
    const bool is_gpu = !strcmp(json_string_value(json_object_get(row, "side")), "gpu");
    const double n_channels = number(row, "channels");
    ck_assert_double_eq(number(row, "frames"), 64.0);
    ck_assert(!is_given || (is_gpu && n_channels == 8.0));
    if (n_channels > 0.0) {
      check_times(row);
    }
    if (n_channels > 0.0 && is_gpu) {
      // 4800 taps: 32 partitions of 64 frames, and 3 of 1024 frames, of which each block reads one
      // sixteenth.  Factor 2: spectra of the response and of the input, 8 bytes per number.
      const double mb = n_channels * 2.0 * (32.0 + 3.0) * 64.0 * 8.0 / 1e6;
      ck_assert_double_eq_tol(number(row, "mb_read"), mb, 1e-9);
      ck_assert_double_eq_tol(number(row, "gb_s"), 1e3 * mb / number(row, "us_p50"), 1e-6);
    }
  }
  json_decref(report);
}

TEST(long_signals_go_three_ways_on_a_device_and_one_on_the_cpu)
{
  json_t* const report = run_bench("gpu-offline",
                                   ",grid,seconds,channels,side,way,pieces,block_frames,rounds,ms_"
                                   "first,ms_p50,ms_min,ms_max,times_real\n",
                                   (const char* [4]){ "--grid", "fir", "--block", "4000" });
  const json_t* const rows = json_object_get(report, "rows");
  static const char* const ways[] = { "worker", "resident", "end to end",
                                      "worker", "resident", "end to end" };
  ck_assert_uint_eq(json_array_size(rows), ARRAY_LEN(ways));
  size_t i;
  const json_t* row;
  json_array_foreach(rows, i, row)
  {
    ck_assert_str_eq(json_string_value(json_object_get(row, "side")), i ? "gpu" : "cpu");
    ck_assert_str_eq(json_string_value(json_object_get(row, "way")), ways[i]);
    ck_assert_double_eq(number(row, "pieces"), i < 4U ? 1.0 : 5.0); // pieces of 8 run-ins or more
    ck_assert_double_eq(number(row, "rounds"), 2.0);
    ck_assert_double_eq(number(row, "seconds"), 0.5);
    ck_assert_double_gt(number(row, "ms_min"), 0.0);
    ck_assert_double_le(number(row, "ms_min"), number(row, "ms_p50"));
    ck_assert_double_le(number(row, "ms_p50"), number(row, "ms_max"));
    ck_assert_double_gt(number(row, "ms_first"), 0.0);
    ck_assert_double_eq_tol(number(row, "times_real"), 500.0 / number(row, "ms_p50"), 1e-6);
  }
  json_decref(report);
}

TEST(rows_end_at_a_limit_and_are_left_out_when_time_is_up)
{
  // Without a limit, a paced row of 100000 blocks takes two minutes.  The warm-up of a row takes
  // 27 ms, so not all rows fit into 0.001 minutes.
  RUN_GOOD("bench", "gpu-fixed", "--json", "--backend", "opencl", "--part", "kernels", "--limit",
           "0.01", "--minutes", "0.001");
  json_t* const report = json_loads(program.out, 0, NULL);
  ck_assert_ptr_nonnull(report);
  const json_t* const rows = json_object_get(report, "rows");
  ck_assert_uint_lt(json_array_size(rows), 2U * (4U + 3U));
  ck_assert_double_eq(number(report, "left_out"), 14.0 - (double)json_array_size(rows));
  size_t i;
  const json_t* row;
  json_array_foreach(rows, i, row)
  {
    ck_assert_double_lt(number(row, "blocks"), 100000.0);
    ck_assert_double_ge(number(row, "blocks"), 1.0);
  }
  json_decref(report);
}

TEST(errors_have_a_message_and_an_exit_code)
{
  const struct {
    const char* option;
    const char* value;
    int exit_code;
    const char* message;
  } cases[] = {
    { "--gpu", "63", 2, "opencl has no device 63" },
    { "--csv", "/nowhere/rows.csv", 5, "cannot write /nowhere/rows.csv: No such file" },
    { "--part", "kernel", 2, "kernels" },
  };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    RUN("bench", "gpu-fixed", "--quick", "--json", "--backend", "opencl", cases[i].option,
        cases[i].value);
    ck_assert_int_eq(program.exit_code, cases[i].exit_code);
    ck_assert_str_eq(program.out, "");
    assert_says(program.err, cases[i].message);
  }
}

TEST(a_missing_backend_is_exit_code_4_with_the_driver_s_message)
{
  Error error = { STATUS_OK, "cuda is not in this build" };
  const GpuApi* const cuda = gpu_api_find(ENGINE_BACKEND_CUDA);
  if (cuda && !cuda->load(&error)) {
    return; // CUDA is available: there is no error to test
  }
  RUN("bench", "gpu-fixed", "--quick", "--backend", "cuda");
  ck_assert_int_eq(program.exit_code, 4);
  ck_assert_str_eq(program.out, "");
  assert_says(program.err, error.text);
}

TEST(csv_keeps_commas_and_quotes_in_texts)
{
  static const Bench bench = { .name = "bench test" };
  static const BenchColumn columns[] = { { "what", "what", -4 }, { "us_p50", "p50", 6 } };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const char* const path = scratch_path(&scratch, "rows.csv");
  BenchReport report = { .bench = &bench };
  OK(bench_report_begin(&report, columns, ARRAY_LEN(columns),
                        json_pack("{ss sb}", "device", "a \"b\", c", "is_gpu", 1), false, path,
                        &error));
  json_t* const row = json_pack("{ss}", "what", "x");
  bench_row_times(row, &(BenchTimes){ .ns = { .p50 = 1500.0 } });
  bench_report_row(&report, row);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(bench_report_finish(&report, STATUS_OK, &error, NULL), 0);
  SCOPED_MEMORY char* const text = read_text(path);
  ck_assert_str_eq(text, "device,is_gpu,what,us_p50\n\"a \"\"b\"\", c\",true,\"x\",1.5\n");
}

int
main(void)
{
  Error error = { STATUS_OK, "" };
  if (gpu_opencl.load(&error) || !gpu_opencl.n_devices()) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  return suite_run("benchmarks of GPUs");
}
