// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A benchmark: a subcommand of `warprack bench`, one file, bench_<name>.c, that defines `const
   Bench bench_<name>` named "bench <name>", and one line in tools/bench/meson.build, from which
   the build makes the table.

   A benchmark prints its measurements as a table for people, or with --json as one JSON object on
   one line.  It does not check them against limits, because the figures of one machine are not a
   test.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_H
#define WARPRACK_TOOLS_BENCH_BENCH_H

#include "tools/commands.h"

#include <stdint.h>

#define BENCH_PREFIX "bench "

typedef Command Bench;

/// All benchmarks in alphabetical order, from the build's list.
const Bench* const* bench_table(uint32_t* n_benches);

#endif
