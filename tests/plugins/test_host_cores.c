// SPDX-License-Identifier: GPL-3.0-or-later
// The units of nodes with the same plugin may run on any cores, several at the same time, others in
// each block.  A plugin that writes to its inputs changes neither them nor those of another unit.

#include "tests/support/fake_plugin.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <string.h>

#define N_UNITS 6U
#define BLOCK   64U
#define FRAMES  2048U

static FakePlugin fake;
static FxRig rig;
static FxRig second; // its units follow those of `rig`
static float in[N_UNITS][FRAMES];
static float out[N_UNITS][FRAMES];
static uint32_t frame; // the first one of the current block

static void
set_up(void)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fake.writes_inputs = true;
  for (uint32_t u = 0; u < N_UNITS; ++u) {
    signal_noise(in[u], FRAMES, u + 1U);
  }
}

/// Run units [first, end) as one core does with its share of them.
static void
run_share(const uint32_t first, const uint32_t end)
{
  const float* in_now[N_UNITS];
  float* out_now[N_UNITS];
  FxUnit units[N_UNITS];
  for (uint32_t u = first; u < end; ++u) {
    in_now[u] = in[u] + frame;
    out_now[u] = out[u] + frame;
    const bool is_second = u >= rig.n_units;
    units[u] = (FxUnit){ .node = is_second ? second.node : rig.node,
                         .state = is_second ? second.states[u - rig.n_units] : rig.states[u],
                         .in = &in_now[u],
                         .out = &out_now[u] };
  }
  rig.fx->run(units + first, end - first, BLOCK);
}

static void
run_second_share(void)
{
  run_share(N_UNITS / 2U, N_UNITS);
}

TEST(units_change_cores_from_block_to_block)
{
  static float before[N_UNITS][FRAMES];
  memcpy(before, in, sizeof(before));
  fake_rig(&rig, &fake, N_UNITS, BLOCK);
  for (frame = 0; frame < FRAMES; frame += BLOCK) {
    const uint32_t n_shares = 1U + frame / BLOCK % N_UNITS;
    for (uint32_t s = n_shares; s-- > 0U;) {
      run_share(N_UNITS * s / n_shares, N_UNITS * (s + 1U) / n_shares);
    }
  }
  ck_assert(memcmp(before, in, sizeof(before)) == 0);
  ck_assert(memcmp(before, out, sizeof(before)) == 0);
  rig_free(&rig);
}

TEST(units_that_run_at_the_same_time_have_inputs_of_their_own)
{
  fake_rig(&rig, &fake, N_UNITS, BLOCK);
  for (frame = 0; frame < FRAMES; frame += BLOCK) {
    fake.meanwhile = run_second_share;
    run_share(0U, N_UNITS / 2U);
  }
  ck_assert(memcmp(in, out, N_UNITS * sizeof(in[0])) == 0);
  rig_free(&rig);
}

TEST(units_of_several_nodes_run_one_after_the_other)
{
  static float before[N_UNITS][FRAMES];
  memcpy(before, in, sizeof(before));
  fake_rig(&rig, &fake, 1U, BLOCK);
  fake_rig(&second, &fake, N_UNITS - 1U, BLOCK);
  for (frame = 0; frame < FRAMES; frame += BLOCK) {
    run_share(0U, N_UNITS);
  }
  ck_assert(memcmp(before, in, sizeof(before)) == 0);
  ck_assert(memcmp(before, out, sizeof(before)) == 0);
  rig_free(&second);
  rig_free(&rig);
}

SUITE_MAIN_WITH("host_cores", set_up, NULL)
