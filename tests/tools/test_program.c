// SPDX-License-Identifier: GPL-3.0-or-later
// The whole program: every subcommand has help; mistakes are refused with exit code 2 and the
// nearest name; text and JSON have the same facts.

#include "dsp_gpu/gpu.h"
#include "engine/base/text.h"
#include "engine/contract/effect.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tools/bench/bench.h"
#include "tools/commands.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/// Run the program; its stdout must be one line with a JSON document.
#define RUN_JSON(json, ...)                                                                        \
  do {                                                                                             \
    RUN_GOOD(__VA_ARGS__);                                                                         \
    json_error_t why_;                                                                             \
    (json) = json_loads(program.out, 0, &why_);                                                    \
    ck_assert_msg((json) != NULL, "%s in: %s", why_.text, program.out);                            \
  } while (0)

TEST(help_lists_every_subcommand)
{
  RUN_GOOD("--help");
  uint32_t n = 0;
  const Command* const* const commands = program_commands(&n);
  for (uint32_t i = 0; i < n; ++i) {
    assert_says(program.out, commands[i]->name);
    assert_says(program.out, commands[i]->summary);
    ck_assert_msg(i == 0 || strcmp(commands[i - 1]->name, commands[i]->name) < 0, "%s",
                  commands[i]->name);
  }
}

TEST(every_subcommand_and_benchmark_has_help)
{
  uint32_t n = 0;
  const Command* const* const commands = program_commands(&n);
  for (uint32_t i = 0; i < n; ++i) {
    RUN(commands[i]->name, "--help");
    ck_assert_msg(program.exit_code == 0, "%s: %s", commands[i]->name, program.err);
    assert_says(program.out, commands[i]->usage);
  }
  const Bench* const* const benches = bench_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    ck_assert_msg(!strncmp(benches[i]->name, BENCH_PREFIX, strlen(BENCH_PREFIX)), "%s",
                  benches[i]->name);
    RUN("bench", benches[i]->name + strlen(BENCH_PREFIX), "--help");
    ck_assert_msg(program.exit_code == 0, "%s: %s", benches[i]->name, program.err);
    assert_says(program.out, benches[i]->name);
  }
}

TEST(mistakes_are_refused_with_the_nearest_name)
{
  RUN("lits");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_str_eq(program.out, "");
  assert_says(program.err, "unknown command 'lits'; did you mean \"list\"?");

  RUN("list", "efects");
  ck_assert_int_eq(program.exit_code, 2);
  assert_says(program.err, "did you mean \"effects\"?");

  RUN("info", "gian");
  ck_assert_int_eq(program.exit_code, 2);
  assert_says(program.err, "did you mean \"gain\"?");
}

/// The arguments have bytes that would move the cursor, set a title or reverse a line.
TEST(no_argument_returns_terminal_control_characters)
{
  static const char hostile[] = "x\x1B[2J\x07\xC2\x9B\xE2\x80\xAE\xE2\x81\xA6\xFF\n.wav";
  static const char chain[] = "gain \x1B[2J\xC2\x9B\xE2\x80\xAE";
  static const char file[] = "convolver \"x\xC2\x9B\xE2\x80\xAE.wav\"";
  static const char* const lines[][5] = {
    { hostile },
    { "info", hostile },
    { "list", hostile },
    { "bench", hostile },
    { "check", hostile },
    { "check", chain },
    { "check", file },
    { "check", "--rate", hostile, "gain" },
    { "render", "gain", hostile, "out.wav" },
    { "render", "--format", hostile, "gain", "in.wav" },
    { "run", "--io", hostile },
    { "import", hostile },
    { "send", hostile },
  };
  for (unsigned l = 0; l < ARRAY_LEN(lines); ++l) {
    const char* words[6] = { NULL };
    memcpy(words, lines[l], sizeof(lines[l]));
    program_start(&program, words);
    program_wait(&program);
    ck_assert_int_ne(program.exit_code, 0);
    char* const end = strchr(program.err, '\n');
    ck_assert_msg(end && !end[1], "not exactly one line: %s", program.err);
    *end = '\0';
    ck_assert_msg(text_is_printable(program.err), "%u: %s", l, program.err);
  }
}

TEST(a_rack_that_cannot_be_planned_is_refused_at_the_start)
{
  RUN("run", "--io", "dummy", "--osc-port", "0", "--duration", "1", "convolver nowhere.wav");
  ck_assert_int_eq(program.exit_code, 5);
  assert_says(program.err, "nowhere.wav");
}

// The output outgrows the limit of a file's size in the tail.
TEST(a_render_that_exceeds_a_file_size_limit_fails_and_leaves_nothing)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  static const float half[] = { 0.5F };
  const float* const samples[] = { half };
  scratch_write_wav(&scratch, "in.wav", samples, 1, 1, 48000);
  char line[512];
  snprintf(line, sizeof(line),
           "cd %s && ulimit -f 64 && "
           "exec $WARPRACK_PROGRAM render -q 'delay 300ms feedback=90%%' in.wav out.wav 2>says",
           scratch.directory);
  const int status = system(line);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 5, "%x", (unsigned)status);
  ck_assert_uint_eq(scratch_count(&scratch), 2U); // in.wav and `says`
}

/// With few descriptors a command succeeds or ends with code 6.  With even fewer the system cannot
/// load the program, and the shell ends with code 127.
TEST(too_few_open_files_end_with_6)
{
  static const char* const commands[] = {
    "check 'convolver in.wav'",
    "check made.rack",
    "render -q gain in.wav out.wav",
    "run --io dummy --fast -t 0.01 -p 0 gain",
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  static const float half[] = { 0.5F };
  const float* const samples[] = { half };
  scratch_write_wav(&scratch, "in.wav", samples, 1, 1, 48000);
  scratch_write(&scratch, "made.rack", "chain gain\n", 11);
  unsigned n_short = 0;
  for (unsigned c = 0; c < ARRAY_LEN(commands); ++c) {
    for (unsigned n = 4; n < 14U; ++n) {
      char line[512];
      snprintf(line, sizeof(line),
               "cd %s && exec >/dev/null 2>&1 && ulimit -n %u && exec $WARPRACK_PROGRAM %s",
               scratch.directory, n, commands[c]);
      const int status = system(line);
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      ck_assert_msg(code == 0 || code == 6 || code == 127, "%s with %u descriptors ends with %d",
                    commands[c], n, code);
      n_short += code == 6;
    }
  }
  ck_assert_uint_ge(n_short, ARRAY_LEN(commands));
}

TEST(list_effects_is_the_table)
{
  json_t* list;
  RUN_JSON(list, "list", "effects", "--json");
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  ck_assert_uint_eq(json_array_size(list), n);
  for (uint32_t i = 0; i < n; ++i) {
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, i), "name")),
                     table[i]->name);
  }
  json_decref(list);
}

TEST(info_describes_every_parameter)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    json_t* info;
    RUN_JSON(info, "info", table[i]->name, "--json");
    const json_t* const params = json_object_get(info, "params");
    ck_assert_uint_eq(json_array_size(params), table[i]->n_params);
    for (uint32_t p = 0; p < table[i]->n_params; ++p) {
      const json_t* const param = json_array_get(params, p);
      ck_assert_str_eq(json_string_value(json_object_get(param, "id")), table[i]->params[p].id);
      if (table[i]->params[p].kind == PARAM_NUMBER) {
        ck_assert_double_eq(json_number_value(json_object_get(param, "max")),
                            table[i]->params[p].max);
      }
    }
    json_decref(info);
  }
}

TEST(info_reads_well)
{
  RUN_GOOD("info", "gain");
  assert_says(program.out, "-120 to 40 dB");
  assert_says(program.out, "default 0");
}

/// Exit code of the program, run by a shell, so that `words` may contain redirections.
static int
exit_code_of(const char* const words)
{
  char line[1024];
  snprintf(line, sizeof(line), "'%s' %s 2>/dev/null", getenv("WARPRACK_PROGRAM"), words);
  const int status = system(line);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_failed_print_is_an_error_but_never_ends_playback)
{
  static const char* const words[] = { "--help",        "--version",           "list effects",
                                       "info gain",     "info gain --json",    "check gain",
                                       "render --help", "list effects --json", "scan",
                                       "scan --json" };
  for (size_t i = 0; i < ARRAY_LEN(words); ++i) {
    char line[128];
    snprintf(line, sizeof(line), "%s >/dev/full", words[i]);
    ck_assert_msg(exit_code_of(line) == 5, "%s", line);
  }
  ck_assert_int_eq(exit_code_of("run --io dummy --fast -p 0 -t 1 gain >/dev/full"), 0);
  ck_assert_int_eq(exit_code_of("run --io dummy --fast -p 0 -t 1 --json gain >/dev/full"), 0);
}

TEST(json_is_json_whatever_a_file_is_called)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "ta\xffps.txt", "1 0.5\n", 6);
  char rack[256];
  snprintf(rack, sizeof(rack), "fir file=\"%s\"", scratch_path(&scratch, "ta\xffps.txt"));
  json_t* report;
  RUN_JSON(report, "check", "--json", rack);
  assert_says(json_string_value(json_object_get(report, "rack")), "ta?ps.txt");
  json_decref(report);
}

/// Number of devices of an API; 0 if it has no driver or is not in this build.
static uint32_t
n_devices_of(const EngineBackend kind)
{
  const GpuApi* const api = gpu_api_find(kind);
  return api && !api->load(NULL) ? api->n_devices() : 0U;
}

TEST(a_backend_is_available_where_it_has_a_device)
{
  json_t* list;
  RUN_JSON(list, "list", "backends", "--json");
  ck_assert_uint_eq(json_array_size(list), 3);
  for (uint32_t i = 0; i < 3; ++i) {
    const EngineBackend kind = (EngineBackend)(ENGINE_BACKEND_CPU + i);
    const json_t* const row = json_array_get(list, i);
    const char* const name = json_string_value(json_object_get(row, "name"));
    const bool is_there = kind == ENGINE_BACKEND_CPU || n_devices_of(kind) > 0;
    ck_assert_str_eq(name, engine_backend_names[kind]);
    ck_assert_msg(json_is_true(json_object_get(row, "available")) == is_there, "%s", name);
    ck_assert(json_string_length(json_object_get(row, "summary")) > 0);
  }
  json_decref(list);
}

TEST(devices_are_listed_with_their_properties)
{
  json_t* list;
  RUN_JSON(list, "list", "devices", "--json", "--measure");
  uint32_t n_missing = n_devices_of(ENGINE_BACKEND_CUDA) + n_devices_of(ENGINE_BACKEND_OPENCL);
  size_t i;
  const json_t* row;
  json_array_foreach(list, i, row)
  {
    const char* const kind = json_string_value(json_object_get(row, "kind"));
    ck_assert(kind && json_string_length(json_object_get(row, "name")) > 0);
    ck_assert(!strcmp(kind, "audio") || !strcmp(kind, "compute"));
    if (!strcmp(kind, "compute")) {
      --n_missing;
      ck_assert(json_string_length(json_object_get(row, "driver")) > 0);
      ck_assert(json_integer_value(json_object_get(row, "memory_bytes")) > 0);
      ck_assert(json_is_boolean(json_object_get(row, "is_gpu")));
      const double p50 = json_number_value(json_object_get(row, "submission_us_p50"));
      ck_assert_double_gt(p50, 0.0);
      ck_assert_double_ge(json_number_value(json_object_get(row, "submission_us_p99")), p50);
      const double stalled = json_number_value(json_object_get(row, "stalled_share"));
      ck_assert(stalled >= 0.0 && stalled <= 1.0);
      ck_assert(json_is_boolean(json_object_get(row, "ends_kernels")));
    }
  }
  ck_assert_uint_eq(n_missing, 0);
  json_decref(list);
}

SUITE_MAIN("program")
