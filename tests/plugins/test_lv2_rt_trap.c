// SPDX-License-Identifier: GPL-3.0-or-later
// Under the real-time trap, the LV2 host makes no call in run() that an audio thread must not make,
// except to wake the thread that works for plugins, once in a run.

#include "engine/base/rt.h"
#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/rt_trap.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define N_BLOCKS 200U

static const struct {
  const char* id;
  const char* symbol; ///< Set before every block
  double value;
  bool offline;
  uint64_t wakes; ///< Per block
} rows[] = {
  { "urn:warprack:gain", "gain", 3.0, false, 0 },
  { "urn:warprack:ducker", "on", 1.0, false, 0 },
  { "urn:warprack:properties", "double", 2.0, false, 0 },
  { "urn:warprack:clock", NULL, 0.0, false, 0 },
  { "urn:warprack:optional", NULL, 0.0, false, 0 },
  { "urn:warprack:echo", "ask", 2.0, false, 1 },
  { "urn:warprack:echo", "ask", 2.0, true, 0 },
};

TEST_ROWS(a_run_makes_no_forbidden_call, rows)
{
  lv2_rig_begin();
  Instance* const instance = lv2_rig_open(rows[row].id, rows[row].offline);
  static float samples[6][LV2_RIG_BLOCK];
  const float* const in[] = { samples[0], samples[1], samples[2], samples[3] };
  float* const out[] = { samples[4], samples[5] };
  const bool sets = rows[row].symbol;
  const uint32_t port = sets ? lv2_rig_place(lv2_rig_find(rows[row].id), rows[row].symbol) : 0U;
  rt_trap_reset();
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    rt_section_enter();
    if (sets) {
      plugin_format_lv2.calls->set(instance, port, rows[row].value, 0U);
    }
    plugin_format_lv2.calls->run(instance, in, out, LV2_RIG_BLOCK);
    rt_section_leave();
  }
  rt_trap_report(stdout);
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.sections, N_BLOCKS);
  ck_assert_uint_eq(counts.violations, 0);
  ck_assert_uint_eq(counts.wakes, N_BLOCKS * rows[row].wakes);
  plugin_format_lv2.calls->close(instance);
}

SUITE_MAIN("lv2_rt_trap")
