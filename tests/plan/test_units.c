// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes with units of several channels, and changes within a block: FxInfo::set_at keeps a batch
// whole.

#include "engine/contract/pool.h"
#include "tests/support/plan_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define BLOCK PLAN_RIG_BLOCK

static const FxOrigin origin = { "lv2", "urn:test:grouped" };

// ---- units of several channels ----

TEST(each_unit_has_its_own_group_of_channels)
{
  static const struct {
    uint32_t unit_in, unit_out;
  } sizes[] = { { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 2 }, { 4, 3 }, { 8, 2 } };
  for (uint32_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    const uint32_t unit_in = sizes[s].unit_in;
    const uint32_t unit_out = sizes[s].unit_out;
    SCOPED(plan_rig_clear) PlanRig rig;
    plan_rig_start(&rig, "x: gain", &grouped_fx, unit_in, unit_out);
    const Plan* const plan = plan_rig_plan(&rig);
    ck_assert_uint_eq(plan->n_units, 8U / unit_in);
    ck_assert_uint_eq(plan->n_out, 8U / unit_in * unit_out);
    plan_rig_play(&rig);
    for (uint32_t c = 0; c < plan->n_out; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        float sum = 0.0F;
        for (uint32_t k = 0; k < unit_in; ++k) {
          sum += rig.in[c / unit_out * unit_in + k][i];
        }
        ck_assert_float_eq(rig.out[c][i], sum * (float)(c % unit_out + 1U));
      }
    }
  }
}

// ---- values that the rack does not state ----

static double
initial_is_3(const void* const node, const uint32_t param)
{
  ck_assert_ptr_nonnull(node);
  return param == GROUPED_GAIN ? 3.0 : 0.0;
}

/// Play the rack of plan_rig_start() again, with this gain in its text.
static void
change_gain(PlanRig* const rig, const FxInfo* const fx, const RackValue gain)
{
  Rack* const rack = grouped_rack_of("x: gain", fx, 1U, 1U, rig->base.rack);
  rack->nodes[0].values[GROUPED_GAIN] = gain;
  OK(rack_rig_plan(&rig->base, rack, &error));
}

TEST(a_value_that_the_rack_no_longer_states_is_the_nodes_own)
{
  FxInfo fx = grouped_fx;
  fx.initial = initial_is_3;
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_start(&rig, "x: gain", &fx, 1U, 1U);
  plan_rig_play(&rig);
  grouped_log();
  change_gain(&rig, &fx, (RackValue){ .kind = VALUE_INITIAL });
  ck_assert_str_eq(grouped_log(), "set 0=3 ");
  change_gain(&rig, &fx, (RackValue){ .kind = VALUE_NUMBER, .number = 1.0 });
  ck_assert_str_eq(grouped_log(), "set 0=1 ");
  change_gain(&rig, &fx, (RackValue){ .kind = VALUE_NUMBER, .number = 3.0 });
  change_gain(&rig, &fx, (RackValue){ .kind = VALUE_INITIAL });
  ck_assert_str_eq(grouped_log(), "set 0=3 ");
}

TEST(a_new_node_begins_with_its_own_values)
{
  FxInfo fx = grouped_fx;
  fx.initial = initial_is_3;
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 8U, 1.0F);
  Rack* const rack = grouped_rack_of("x: gain", &fx, 1U, 1U, NULL);
  rack->nodes[0].values[GROUPED_GAIN].kind = VALUE_INITIAL;
  OK(rack_rig_plan(&rig.base, rack, &error));
  ck_assert_str_eq(grouped_log(), "");
  ck_assert_double_eq(plan_rig_plan(&rig)->nodes[0].node->targets[GROUPED_GAIN], 3.0);
}

// ---- plans ----

TEST(a_chain_widens_and_narrows)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_start(&rig, "x: gain | g: gain 0dB", &grouped_fx, 1U, 2U);
  ck_assert_uint_eq(plan_rig_plan(&rig)->n_out, 16U);
  plan_rig_play(&rig);
  ck_assert_float_eq(rig.out[15][0], 2.0F * rig.in[7][0]);
  SCOPED(plan_rig_clear) PlanRig other;
  plan_rig_start(&other, "x: gain | g: gain 0dB", &grouped_fx, 4U, 1U);
  ck_assert_uint_eq(plan_rig_plan(&other)->n_out, 2U);
  plan_rig_play(&other);
  ck_assert_float_eq(other.out[1][0], 5.0F + 6.0F + 7.0F + 8.0F);
}

TEST(a_node_with_too_many_outputs_is_refused)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, FX_MAX_CHANNELS, 1.0F);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(
      rack_rig_plan(&rig.base, grouped_rack_of("x: gain", &grouped_fx, 1U, 2U, NULL), &error),
      STATUS_BAD_RACK);
  ck_assert_str_eq(error.text, "x would have 2048 output channels; a node can have 1024");
}

TEST(a_plugin_on_the_gpu_is_refused)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 8U, 1.0F);
  FxInfo plugin = grouped_fx;
  plugin.origin = &origin;
  Rack* const rack = grouped_rack_of("x: gain", &plugin, 1U, 1U, NULL);
  rack->nodes[0].backend = RACK_BACKEND_GPU;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rack_rig_plan(&rig.base, rack, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "x: backend=gpu: a plugin runs on the CPU only");
}

TEST(plugins_of_one_name_are_separate_batches)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 8U, 1.0F);
  static FxInfo other;
  other = grouped_fx;
  Rack* const rack =
      grouped_rack_of("x1: gain + x2: gain + x3: gain + x4: gain", &grouped_fx, 1U, 1U, NULL);
  rack->nodes[0].fx = rack->nodes[2].fx = &other;
  OK(rack_rig_plan(&rig.base, rack, &error));
  plan_rig_expect(&rig, "run 16x64 run 16x64 ");
  ck_assert_float_eq(rig.out[0][0], 4.0F * rig.in[0][0]);
}

// ---- changes within a block ----

TEST(without_set_at_a_change_splits_the_run_of_its_node)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_start(&rig, PLAN_RIG_TWO_NODES, &grouped_fx, 2U, 2U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 3.0, 16U);
  plan_rig_expect(&rig, "run 4x64 run 4x16 set 0=3 run 4x48 ");
  ck_assert_float_eq(rig.out[8][15], rig.in[0][15] + rig.in[1][15]);
  ck_assert_float_eq(rig.out[8][16], 3.0F * (rig.in[0][16] + rig.in[1][16]));
  ck_assert_float_eq(rig.out[0][63], rig.in[0][63] + rig.in[1][63]);
}

TEST(a_change_at_the_first_frame_leaves_the_run_whole)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_start(&rig, PLAN_RIG_TWO_NODES, &grouped_fx, 2U, 2U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 3.0, 0U);
  plan_rig_send(&rig, 0U, GROUPED_GAIN, 2.0, 0U);
  plan_rig_expect(&rig, "set 0=2 set 0=3 run 8x64 ");
  ck_assert_float_eq(rig.out[0][0], 2.0F * (rig.in[0][0] + rig.in[1][0]));
  ck_assert_float_eq(rig.out[8][0], 3.0F * (rig.in[0][0] + rig.in[1][0]));
  plan_rig_send(&rig, 0U, GROUPED_GAIN, 1.0, 0U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 1.0, 0U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 4.0, 63U);
  plan_rig_expect(&rig, "set 0=1 run 4x64 set 0=1 run 4x63 set 0=4 run 4x1 ");
  ck_assert_float_eq(rig.out[8][63], 4.0F * (rig.in[0][63] + rig.in[1][63]));
}

TEST(with_set_at_changes_come_before_the_whole_run)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  plan_rig_start(&rig, PLAN_RIG_TWO_NODES, &fx, 2U, 2U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 3.0, 16U);
  plan_rig_send(&rig, 0U, GROUPED_GAIN, 5.0, 40U);
  plan_rig_send(&rig, 0U, GROUPED_GAIN, 4.0, 8U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 2.0, 16U);
  plan_rig_expect(&rig, "set 0=4@8 set 0=5@40 set 0=3@16 set 0=2@16 run 8x64 ");
  plan_rig_expect(&rig, "run 8x64 ");
}

TEST(with_set_at_and_cuts_a_change_splits_the_run_of_its_node)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.cut_at_events = true;
  plan_rig_start(&rig, PLAN_RIG_TWO_NODES, &fx, 2U, 2U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 3.0, 16U);
  plan_rig_send(&rig, 1U, GROUPED_GAIN, 2.0, 16U);
  plan_rig_expect(&rig, "run 4x64 run 4x16 set 0=3@0 set 0=2@0 run 4x48 ");
  ck_assert_float_eq(rig.out[8][15], rig.in[0][15] + rig.in[1][15]);
  ck_assert_float_eq(rig.out[8][16], 2.0F * (rig.in[0][16] + rig.in[1][16]));
}

TEST(changes_after_the_last_cut_of_a_block_come_at_once)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.cut_at_events = true;
  plan_rig_start(&rig, "x: gain", &fx, 1U, 1U);
  for (uint32_t f = 1; f < FX_MAX_CUTS + 8U; ++f) {
    plan_rig_send(&rig, 0U, GROUPED_GAIN, f % 7U, f);
  }
  plan_rig_play(&rig);
  for (uint32_t f = 1; f < BLOCK; ++f) {
    const uint32_t gain = (f < FX_MAX_CUTS ? f : FX_MAX_CUTS + 7U) % 7U;
    ck_assert_float_eq(rig.out[0][f], (float)gain * rig.in[0][f]);
  }
}

// ---- absurd latencies ----

typedef struct LatencyRow {
  const char* rack;
  uint32_t first, second; ///< Latencies of x1 and x2
} LatencyRow;

static const LatencyRow absurd_latencies[] = {
  { "x1: gain + x2: gain", UINT32_MAX, 0U },
  { "x1: gain + x2: gain", 3000000000U, 0U },
  { "x1: gain + x2: gain", LATENCY_MAX_FRAMES + 1U, 0U },
  { "x1: gain | x2: gain", 1U << 31U, 1U << 31U }, // the sum of 32 bits is 0
  { "x1: gain | x2: gain", LATENCY_MAX_FRAMES, 1U },
};

TEST_ROWS(a_rack_whose_latency_is_absurd_is_refused_offline, absurd_latencies)
{
  const LatencyRow* const given = &absurd_latencies[row];
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = grouped_fx;
  fx.latency = grouped_latency;
  plan_rig_start(&rig, given->rack, &fx, 1U, 1U);
  rig.base.format.offline = true;
  atomic_store(&plan_rig_node(&rig, 0U)->latency_frames, given->first);
  atomic_store(&plan_rig_node(&rig, 1U)->latency_frames, given->second);
  Error error = { STATUS_OK, "" };
  Rack* const again = grouped_rack_of(given->rack, &fx, 1U, 1U, rig.base.rack);
  ck_assert_int_eq(rack_rig_plan(&rig.base, again, &error), STATUS_LIMIT);
  ck_assert_msg(strstr(error.text, "at most 1398 s"), "%s", error.text);
}

// ---- time and cores ----

TEST(the_parts_of_a_block_with_changes_are_shared_among_the_cores)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.cut_at_events = true;
  fx.run = grouped_run_slowly;
  plan_rig_init(&rig, 8U, 1.0F);
  OK(pool_new(1U, false, 0, &rig.base.pool, &error));
  OK(rack_rig_plan(&rig.base, grouped_rack_of("x: gain", &fx, 1U, 1U, NULL), &error));
  plan_rig_send(&rig, 0U, GROUPED_GAIN, 2.0, 32U);
  plan_rig_expect(&rig, "run 8x32 set 0=2@0 run 8x32 "); // this block is measured
  plan_rig_send(&rig, 0U, GROUPED_GAIN, 3.0, 32U);
  plan_rig_expect(&rig, "run 4x32 run 4x32 set 0=3@0 run 4x32 run 4x32 ");
}

TEST(the_time_of_a_plugin_is_measured_without_other_units)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = grouped_fx;
  fx.origin = &origin;
  fx.run = grouped_run_slowly;
  plan_rig_start(&rig, "x: gain", &fx, 8U, 1U);
  plan_rig_play(&rig);
  ck_assert_uint_ge(atomic_load(&plan_rig_plan(&rig)->nodes[0].node->block_ns), 50000U);
}

SUITE_MAIN("units")
