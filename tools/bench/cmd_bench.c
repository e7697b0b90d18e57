// SPDX-License-Identifier: GPL-3.0-or-later
// warprack bench: lists the benchmarks, or runs one.

#include "bench.h"

#include "engine/base/hint.h"
#include "tools/commands.h"
#include "tools/options.h"

#include <stdio.h>
#include <string.h>

#define MAX_BENCHES 64U // limit for the list of names to suggest from

static int bench_run(int argc, char** argv);

const Command cmd_bench = {
  .name = "bench",
  .usage = "[options] [NAME [its options]]",
  .summary = "List the benchmarks, or run one",
  .run = bench_run,
};

/// The word after "warprack bench".
static const char*
bench_word(const Bench* const bench)
{
  return bench->name + strlen(BENCH_PREFIX);
}

static int
list_benches(const bool json)
{
  uint32_t n = 0;
  const Bench* const* const benches = bench_table(&n);
  json_t* const array = json ? json_array() : NULL;
  for (uint32_t i = 0; i < n; ++i) {
    if (json) {
      json_array_append_new(array, json_pack("{ss ss}", "name", bench_word(benches[i]), "summary",
                                             benches[i]->summary));
    } else {
      printf("%-12s %s\n", bench_word(benches[i]), benches[i]->summary);
    }
  }
  return json ? command_print_json(&cmd_bench, array) : 0;
}

/// Find a benchmark's name among the words, and remove it from argv.  NULL if there is none.
static const Bench*
take_bench(int* const argc, char** const argv)
{
  uint32_t n = 0;
  const Bench* const* const benches = bench_table(&n);
  for (int w = 1; w < *argc; ++w) {
    for (uint32_t i = 0; argv[w] && i < n; ++i) {
      if (!strcmp(bench_word(benches[i]), argv[w])) {
        memmove(&argv[1], &argv[0], (size_t)w * sizeof(argv[0]));
        --*argc;
        return benches[i];
      }
    }
  }
  return NULL;
}

static int
refuse(const char* const name)
{
  uint32_t n = 0;
  const Bench* const* const benches = bench_table(&n);
  const char* names[MAX_BENCHES];
  for (uint32_t i = 0; i < n && i < MAX_BENCHES; ++i) {
    names[i] = bench_word(benches[i]);
  }
  char hint[HINT_BYTES];
  return command_misused(&cmd_bench, "no benchmark '%s'; %s", name,
                         name_hint(hint, name, names, n));
}

static int
bench_run(int argc, char** const argv)
{
  const Bench* const bench = take_bench(&argc, argv);
  if (bench) {
    return bench->run(argc, argv + 1); // the benchmark parses its own options
  }
  bool json = false;
  // clang-format off
  const Option table[] = {
    { "json", 'j', OPTION_FLAG, .to.flag = &json, .help = "List as JSON" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_bench, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  return operands.n ? refuse(operands.words[0]) : list_benches(json);
}
