// SPDX-License-Identifier: GPL-3.0-or-later
// Under the real-time trap, the player makes no call for a node of a group that an audio thread
// must not make, beside one futex wake per group and block: while the process answers, and when
// it is gone.

#include "tests/support/group_rig.h"
#include "tests/support/rt_trap.h"
#include "tests/support/suite.h"

#include "engine/base/rt.h"

#include <stdio.h>

static const char* const plugins[] = { "effects/gain", "faults/exit_run" };

TEST_ROWS(a_node_of_a_group_makes_no_forbidden_call, plugins)
{
  group_rig_start();
  fx_wait(FX_WAIT_THREAD, false);
  const GroupRigSetup setup = {
    .group = "fx", .n_in = GROUP_RIG_CHANNELS, .has_after = true, .after = 5.0
  };
  GroupRig* const node = group_rig_open(group_rig_ladspa(plugins[row]), &setup);
  rt_trap_reset();
  for (uint32_t b = 0; b < GROUP_RIG_BLOCKS; ++b) {
    rt_section_enter();
    if (row == 0) {
      group_rig_set(node, "gain", b % 2U ? -20.0 : 0.0);
    }
    group_rig_play(node, GROUP_RIG_BLOCK);
    rt_section_leave();
    time_sleep(NS_PER_MS);
  }
  rt_trap_report(stdout);
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.sections, GROUP_RIG_BLOCKS);
  ck_assert_uint_eq(counts.violations, 0U);
  ck_assert_uint_eq(counts.waits, 0U);
  ck_assert_uint_le(counts.most_wakes, 1U);
  group_rig_close(node);
}

/// Whatever the order of the nodes in a batch.
TEST(each_group_takes_one_wake)
{
  group_rig_start();
  fx_wait(FX_WAIT_THREAD, false);
  const Plugin* const plugin = group_rig_ladspa("effects/gain");
  GroupRigSetup setup = { .group = "a", .n_in = GROUP_RIG_CHANNELS };
  GroupRig* const a = group_rig_open(plugin, &setup);
  setup.group = "b";
  GroupRig* const b = group_rig_open(plugin, &setup);
  const float* in[2U * GROUP_RIG_CHANNELS];
  float* out[2U * GROUP_RIG_CHANNELS];
  FxUnit units[2U * GROUP_RIG_CHANNELS];
  for (uint32_t u = 0; u < ARRAY_LEN(units); ++u) {
    GroupRig* const rig = u % 2U ? b : a;
    in[u] = rig->in[u / 2U];
    out[u] = rig->out[u / 2U];
    units[u] =
        (FxUnit){ .node = rig->node, .state = rig->states[u / 2U], .in = &in[u], .out = &out[u] };
  }
  rt_trap_reset();
  for (uint32_t k = 0; k < GROUP_RIG_BLOCKS; ++k) {
    rt_section_enter();
    a->fx->run(units, ARRAY_LEN(units), GROUP_RIG_BLOCK);
    rt_section_leave();
    time_sleep(NS_PER_MS);
  }
  const RtTrapCounts counts = rt_trap_counts();
  ck_assert_uint_eq(counts.violations, 0U);
  ck_assert_uint_ge(counts.most_wakes, 1U);
  ck_assert_uint_le(counts.most_wakes, 2U);
  group_rig_close(a);
  group_rig_close(b);
}

SUITE_MAIN("groups_rt_trap")
