// SPDX-License-Identifier: GPL-3.0-or-later
// Under the real-time trap, the CLAP host makes no call in set() and run() that an audio thread
// must not make.

#include "engine/base/rt.h"
#include "tests/support/plugins/clap/clap_rig.h"
#include "tests/support/rt_trap.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define N_BLOCKS 200U

static const struct {
  const char* id;
  const char* symbol; ///< Set before every block, more often than a list has room for
  double value;
} rows[] = {
  { "test.gain", "gain", 2.0 },    { "test.params", "low_gain", 2.0 }, { "test.main", "gain", 2.0 },
  { "test.failing", "gain", 0.0 }, { "test.restless", "gain", 2.0 },
};

TEST_ROWS(a_run_makes_no_forbidden_call, rows)
{
  clap_rig_open_plugin(rows[row].id);
  const uint32_t port = clap_rig_port_of(rows[row].symbol);
  rt_trap_reset();
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    rt_section_enter();
    for (uint32_t i = 0; i < 600U; ++i) {
      clap_rig_calls()->set(clap_rig.instance, port, rows[row].value, 0);
    }
    clap_rig_run(CLAP_RIG_BLOCK);
    rt_section_leave();
  }
  rt_trap_report(stdout);
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.sections, N_BLOCKS);
  ck_assert_uint_eq(counts.violations, 0);
}

SUITE_MAIN_WITH("clap_rt_trap", clap_rig_begin, clap_rig_end)
