// SPDX-License-Identifier: GPL-3.0-or-later
// placement_predict() adds up the costs of a rack's parts.  placement_decide() chooses the faster
// side, and does not alternate between the sides.

#include "engine/contract/effect.h"
#include "engine/worker/placement.h"
#include "tests/support/suite.h"

#include <math.h>

enum { LIGHT, HEAVY, TAPPED, CPU_ONLY };

static PlacementCosts costs;

static void
set_up(void)
{
  PlacementCost* const cpu = costs.effects[PLACEMENT_CPU];
  PlacementCost* const gpu = costs.effects[PLACEMENT_GPU];
  costs.stage[PLACEMENT_CPU] = (PlacementCost){ true, .base = 100.0, .per_sample = 0.5 };
  costs.stage[PLACEMENT_GPU] = (PlacementCost){ true, .base = 10000.0, .per_sample = 0.25 };
  cpu[LIGHT] = (PlacementCost){ true, .base = 50.0, .per_sample = 1.0 };
  cpu[HEAVY] = (PlacementCost){ true, .base = 100.0, .per_sample = 40.0 };
  cpu[TAPPED] = (PlacementCost){ true, 100.0, 7.0, 2.0, 3.0, 0.5, 0.01 };
  cpu[CPU_ONLY] = (PlacementCost){ true, .base = 200.0, .per_sample = 1.0 };
  gpu[LIGHT] = (PlacementCost){ true, .base = 1000.0, .per_sample = 0.001 };
  gpu[HEAVY] = (PlacementCost){ true, .base = 2000.0, .per_frame = 10.0, .per_sample = 0.02 };
  gpu[TAPPED] = (PlacementCost){ true, .base = 3000.0, .per_sample = 0.1, .per_tap = 0.002 };
}

static const PlacementShape small = { .block_frames = 64, .n_channels = 2, .n_cores = 1 };

static void
assert_ns(const double ns, const double expected)
{
  ck_assert_msg(fabs(ns - expected) < 1e-6 * expected, "%.9g ns, not %.9g", ns, expected);
}

TEST(an_empty_rack_is_one_stage)
{
  assert_ns(placement_predict(&costs, &small, NULL, 0, PLACEMENT_CPU), 100.0 + 64 * 2 * 0.5);
  assert_ns(placement_predict(&costs, &small, NULL, 0, PLACEMENT_GPU), 10000.0 + 64 * 2 * 0.25);
}

TEST(nodes_of_one_effect_and_level_are_one_batch)
{
  PlacementNode nodes[] = { { LIGHT, 0, 2, 0, true, PLACEMENT_CPU, 0.0 },
                            { HEAVY, 1, 2, 0, true, PLACEMENT_CPU, 0.0 },
                            { LIGHT, 0, 3, 0, true, PLACEMENT_CPU, 0.0 } };
  const double stage = 100.0 + 64 * 2 * 0.5;
  assert_ns(placement_predict(&costs, &small, nodes, 3, PLACEMENT_CPU),
            stage + 50.0 + 64 * 5 * 1.0 + 100.0 + 64 * 2 * 40.0);
  nodes[0].rank = 2; // not the rank of nodes[2]: two batches
  const double two_batches = placement_predict(&costs, &small, nodes, 3, PLACEMENT_CPU);
  assert_ns(two_batches, stage + 2 * 50.0 + 64 * 5 * 1.0 + 100.0 + 64 * 2 * 40.0);
}

TEST(taps_cost_per_channel_and_per_frame)
{
  PlacementNode nodes[] = { { TAPPED, 0, 2, 1000, true, PLACEMENT_CPU, 0.0 } };
  assert_ns(placement_predict(&costs, &small, nodes, 1, PLACEMENT_CPU),
            100.0 + 64 * 2 * 0.5 + 100.0 + 2 * 7.0 + 64 * (2.0 + 2 * 3.0) +
                2000 * (0.5 + 64 * 0.01));
  assert_ns(placement_predict(&costs, &small, nodes, 1, PLACEMENT_GPU),
            10000.0 + 64 * 2 * 0.25 + 3000.0 + 64 * 2 * 0.1 + 2000 * 0.002);
}

TEST(every_change_of_sides_is_another_stage)
{
  PlacementNode nodes[] = { { LIGHT, 0, 2, 0, true, PLACEMENT_CPU, 0.0 },
                            { CPU_ONLY, 1, 2, 0, false, PLACEMENT_CPU, 0.0 },
                            { LIGHT, 2, 2, 0, true, PLACEMENT_CPU, 0.0 } };
  const double gpu_stage = 10000.0 + 64 * 2 * 0.25;
  const double cpu_stage = 100.0 + 64 * 2 * 0.5;
  assert_ns(placement_predict(&costs, &small, nodes, 3, PLACEMENT_GPU),
            2 * gpu_stage + cpu_stage + 2 * (1000.0 + 64 * 2 * 0.001) + 200.0 + 64 * 2 * 1.0);
}

TEST(long_batches_of_the_cpu_are_spread_over_its_cores)
{
  PlacementNode nodes[] = { { HEAVY, 0, 256, 0, true, PLACEMENT_CPU, 0.0 } };
  PlacementShape shape = small;
  const double alone = placement_predict(&costs, &shape, nodes, 1, PLACEMENT_CPU);
  shape.n_cores = 4;
  const double spread = placement_predict(&costs, &shape, nodes, 1, PLACEMENT_CPU);
  const double stage = 100.0 + 64 * 2 * 0.5;
  assert_ns(spread - stage, (alone - stage) / 4.0);
  nodes[0].n_channels = 2; // 5 us: too short to share with helpers
  shape.n_cores = 1;
  const double light = placement_predict(&costs, &shape, nodes, 1, PLACEMENT_CPU);
  shape.n_cores = 4;
  assert_ns(placement_predict(&costs, &shape, nodes, 1, PLACEMENT_CPU), light);
}

TEST(a_plugin_costs_its_measured_time_on_the_cpu)
{
  PlacementNode nodes[] = {
    { LIGHT, 0, 2, 0, true, PLACEMENT_CPU, 0.0 },
    { PLACEMENT_PLUGIN, 1, 2, 0, false, PLACEMENT_CPU, 700.0 },
    { PLACEMENT_PLUGIN, 1, 2, 0, false, PLACEMENT_CPU, 300.0 },
  };
  const double gpu_stage = 10000.0 + 64 * 2 * 0.25;
  const double cpu_stage = 100.0 + 64 * 2 * 0.5;
  assert_ns(placement_predict(&costs, &small, nodes, 3, PLACEMENT_CPU),
            cpu_stage + 50.0 + 64 * 2 * 1.0 + 1000.0);
  assert_ns(placement_predict(&costs, &small, nodes, 3, PLACEMENT_GPU),
            gpu_stage + 1000.0 + 64 * 2 * 0.001 + cpu_stage + 1000.0);
}

TEST(an_unknown_cost_is_infinite_and_chooses_nothing)
{
  PlacementNode nodes[] = { { LIGHT, 0, 2, 0, true, PLACEMENT_CPU, 0.0 } };
  costs.effects[PLACEMENT_GPU][LIGHT].is_known = false;
  const double gpu = placement_predict(&costs, &small, nodes, 1, PLACEMENT_GPU);
  ck_assert(isinf(gpu));
  ck_assert_int_eq(placement_decide(false, PLACEMENT_CPU, 1e9, gpu), PLACEMENT_CPU);
  ck_assert_int_eq(placement_decide(false, PLACEMENT_CPU, INFINITY, 1.0), PLACEMENT_CPU);
  ck_assert_int_eq(placement_decide(true, PLACEMENT_GPU, 1.0, INFINITY), PLACEMENT_GPU);
}

TEST(small_work_stays_and_large_work_goes)
{
  PlacementNode nodes[] = { { HEAVY, 0, 2, 0, true, PLACEMENT_CPU, 0.0 } };
  PlacementShape shape = small;
  for (uint32_t n_channels = 1; n_channels <= 1024U; n_channels *= 2U) {
    nodes[0].n_channels = shape.n_channels = n_channels;
    const double cpu = placement_predict(&costs, &shape, nodes, 1, PLACEMENT_CPU);
    const double gpu = placement_predict(&costs, &shape, nodes, 1, PLACEMENT_GPU);
    // CPU: 2.6 us per channel.  GPU: 12.6 us, and almost nothing per channel.
    ck_assert_int_eq(placement_decide(false, PLACEMENT_CPU, cpu, gpu),
                     n_channels >= 8U ? PLACEMENT_GPU : PLACEMENT_CPU);
  }
}

TEST(a_rack_that_plays_changes_sides_for_twice_the_speed_only)
{
  ck_assert_int_eq(placement_decide(false, PLACEMENT_CPU, 100.0, 81.0), PLACEMENT_CPU);
  ck_assert_int_eq(placement_decide(false, PLACEMENT_CPU, 100.0, 79.0), PLACEMENT_GPU);
  ck_assert_int_eq(placement_decide(true, PLACEMENT_CPU, 100.0, 51.0), PLACEMENT_CPU);
  ck_assert_int_eq(placement_decide(true, PLACEMENT_CPU, 100.0, 49.0), PLACEMENT_GPU);
  ck_assert_int_eq(placement_decide(true, PLACEMENT_GPU, 51.0, 100.0), PLACEMENT_GPU);
  ck_assert_int_eq(placement_decide(true, PLACEMENT_GPU, 49.0, 100.0), PLACEMENT_CPU);
  for (double gpu = 10.0; gpu < 1000.0; gpu *= 1.1) { // a second decision agrees with the first
    for (uint32_t start = 0; start < PLACEMENT_SIDES; ++start) {
      const PlacementSide first = placement_decide(true, (PlacementSide)start, 100.0, gpu);
      ck_assert_int_eq(placement_decide(true, first, 100.0, gpu), first);
    }
  }
}

TEST(the_table_of_effects_fits)
{
  uint32_t n = 0;
  fx_table(&n);
  ck_assert_uint_le(n, PLACEMENT_MAX_EFFECTS);
}

int
main(void)
{
  set_up();
  return suite_run("placement");
}
