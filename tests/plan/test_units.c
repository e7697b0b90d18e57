// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes with units of several channels, and the calls that only plugins have: FxInfo::set_at keeps
// a batch whole, and a node with FxInfo::renew does not run from a NaN until it is renewed.

#include "engine/base/time.h"
#include "engine/contract/pool.h"
#include "engine/plan/plan.h"
#include "engine/worker/player.h"
#include "tests/support/grouped_fx.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define BLOCK    64U
#define MAX_ROWS 16U
#define REST     1000U // blocks between the renewals of a node that fails again and again

static const FxOrigin origin = { "lv2", "urn:test:grouped" };

static Pool* bench_pool; ///< Of the plans; NULL: one core

/// Plays racks block by block.  Sample i of input channel c is c + 1 + i / 64.
typedef struct Bench {
  Player player;
  FileLoader loader;
  Format format;
  Ring* messages;
  Rack* rack;
  uint64_t frame;
  float in[MAX_ROWS][BLOCK], out[MAX_ROWS][BLOCK];
} Bench;

static void
bench_init(Bench* const bench, const uint32_t n_in)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = 1, .n_slots = 4, .n_messages = 64
  };
  *bench = (Bench){ .format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = n_in } };
  OK(player_init(&bench->player, &error));
  OK(ring_new(&shape, &bench->messages, &error));
  for (uint32_t c = 0; c < MAX_ROWS; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      bench->in[c][i] = (float)c + 1.0F + (float)i / BLOCK;
    }
  }
  grouped_log();
}

static void
bench_clear(Bench* const bench)
{
  player_clear(&bench->player);
  ring_free(bench->messages);
  rack_free(bench->rack);
}

static Status
bench_try(Bench* const bench, Rack* const rack, Error* const error)
{
  const PlanRequest request = { .rack = rack,
                                .previous = bench->player.plan,
                                .now_frame = bench->frame,
                                .format = &bench->format,
                                .loader = &bench->loader,
                                .backend = &backend_cpu,
                                .pool = bench_pool,
                                .stamp = bench->player.n_received };
  Plan* plan = NULL;
  PlanFault fault;
  const Status status = plan_new(&request, &plan, &fault, error);
  if (!status) {
    player_offer(&bench->player, plan);
    player_idle(&bench->player);
    plan_became_active(plan, bench->frame);
    plan_free(player_collect(&bench->player));
  }
  rack_free(bench->rack);
  bench->rack = rack;
  return status;
}

/// Play a new rack, whose nodes "x…" have this effect and size of units.
static void
bench_start(Bench* const bench, const char* const text, const FxInfo* const fx,
            const uint32_t unit_in, const uint32_t unit_out)
{
  bench_init(bench, 8U);
  OK(bench_try(bench, grouped_rack_of(text, fx, unit_in, unit_out, NULL), &error));
}

static void
bench_play(Bench* const bench)
{
  float* in[MAX_ROWS];
  float* out[MAX_ROWS];
  for (uint32_t c = 0; c < MAX_ROWS; ++c) {
    in[c] = bench->in[c];
    out[c] = bench->out[c];
  }
  ck_assert_uint_le(bench->player.plan->n_out, MAX_ROWS);
  ck_assert(player_run(&bench->player, bench->messages, bench->frame, BLOCK, in, out));
  bench->frame += BLOCK;
}

static void
send_value(const Bench* const bench, const uint32_t index, const uint32_t param, const double value,
           const uint32_t offset)
{
  const ParamMessage message = { bench->frame + offset, bench->rack->nodes[index].uid, param,
                                 value };
  ck_assert(ring_send(bench->messages, &message, 1U));
}

/// Set a parameter of the first node at the next block.
static void
set_next(const Bench* const bench, const uint32_t param, const double value)
{
  send_value(bench, 0U, param, value, 0U);
}

/// Renew the nodes that wait for it.  Returns the error.
static Status
renew(const Plan* const plan)
{
  uint32_t failed = UINT32_MAX;
  Error error = { STATUS_OK, "" };
  const Status status = plan_renew(plan, &failed, &error);
  ck_assert(!status || (failed == 0U && !strcmp(error.text, "it cannot be renewed")));
  return status;
}

static GroupedNode*
grouped_of(const Bench* const bench, const uint32_t index)
{
  return bench->player.plan->nodes[index].node->fx_node;
}

static const NodeHealth*
health_of(const Bench* const bench)
{
  return &bench->player.plan->nodes[0].node->health;
}

/// Play a block; fails the test unless these were the calls of the effect.
static void
expect_calls(Bench* const bench, const char* const calls)
{
  grouped_log();
  bench_play(bench);
  ck_assert_str_eq(grouped_log(), calls);
}

/// Fails the test unless output 0 is a mix of input 0 (dry) and of twice that (wet), which goes in
/// a straight line over the block.
static void
expect_fade(const Bench* const bench, const float dry_before, const float dry_after,
            const float gain)
{
  for (uint32_t i = 0; i < BLOCK; ++i) {
    const float dry = dry_before + (dry_after - dry_before) * (float)(i + 1U) / BLOCK;
    const float wanted = (dry + (1.0F - dry) * gain) * bench->in[0][i];
    ck_assert_msg(fabsf(bench->out[0][i] - wanted) < 1e-5F, "frame %u: %g, not %g", i,
                  (double)bench->out[0][i], (double)wanted);
  }
}

// ---- units of several channels ----

TEST(each_unit_has_its_own_group_of_channels)
{
  static const struct {
    uint32_t unit_in, unit_out;
  } sizes[] = { { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 2 }, { 4, 3 }, { 8, 2 } };
  for (uint32_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    const uint32_t unit_in = sizes[s].unit_in;
    const uint32_t unit_out = sizes[s].unit_out;
    SCOPED(bench_clear) Bench bench;
    bench_start(&bench, "x: gain", &grouped_fx, unit_in, unit_out);
    const Plan* const plan = bench.player.plan;
    ck_assert_uint_eq(plan->n_units, 8U / unit_in);
    ck_assert_uint_eq(plan->n_out, 8U / unit_in * unit_out);
    bench_play(&bench);
    for (uint32_t c = 0; c < plan->n_out; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        float sum = 0.0F;
        for (uint32_t k = 0; k < unit_in; ++k) {
          sum += bench.in[c / unit_out * unit_in + k][i];
        }
        ck_assert_float_eq(bench.out[c][i], sum * (float)(c % unit_out + 1U));
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

/// Play the rack of bench_start() again, with this gain in its text.
static void
change_gain(Bench* const bench, const FxInfo* const fx, const RackValue gain)
{
  Rack* const rack = grouped_rack_of("x: gain", fx, 1U, 1U, bench->rack);
  rack->nodes[0].values[GROUPED_GAIN] = gain;
  OK(bench_try(bench, rack, &error));
}

TEST(a_value_that_the_rack_no_longer_states_is_the_nodes_own)
{
  FxInfo fx = grouped_fx;
  fx.initial = initial_is_3;
  SCOPED(bench_clear) Bench bench;
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  bench_play(&bench);
  grouped_log();
  change_gain(&bench, &fx, (RackValue){ .kind = VALUE_INITIAL });
  ck_assert_str_eq(grouped_log(), "set 0=3 ");
  change_gain(&bench, &fx, (RackValue){ .kind = VALUE_NUMBER, .number = 1.0 });
  ck_assert_str_eq(grouped_log(), "set 0=1 ");
  change_gain(&bench, &fx, (RackValue){ .kind = VALUE_NUMBER, .number = 3.0 });
  change_gain(&bench, &fx, (RackValue){ .kind = VALUE_INITIAL });
  ck_assert_str_eq(grouped_log(), "set 0=3 ");
}

TEST(a_new_node_begins_with_its_own_values)
{
  FxInfo fx = grouped_fx;
  fx.initial = initial_is_3;
  SCOPED(bench_clear) Bench bench;
  bench_init(&bench, 8U);
  Rack* const rack = grouped_rack_of("x: gain", &fx, 1U, 1U, NULL);
  rack->nodes[0].values[GROUPED_GAIN].kind = VALUE_INITIAL;
  OK(bench_try(&bench, rack, &error));
  ck_assert_str_eq(grouped_log(), "");
  ck_assert_double_eq(bench.player.plan->nodes[0].node->targets[GROUPED_GAIN], 3.0);
}

// ---- plans ----

TEST(a_chain_widens_and_narrows)
{
  SCOPED(bench_clear) Bench bench;
  bench_start(&bench, "x: gain | g: gain 0dB", &grouped_fx, 1U, 2U);
  ck_assert_uint_eq(bench.player.plan->n_out, 16U);
  bench_play(&bench);
  ck_assert_float_eq(bench.out[15][0], 2.0F * bench.in[7][0]);
  SCOPED(bench_clear) Bench other;
  bench_start(&other, "x: gain | g: gain 0dB", &grouped_fx, 4U, 1U);
  ck_assert_uint_eq(other.player.plan->n_out, 2U);
  bench_play(&other);
  ck_assert_float_eq(other.out[1][0], 5.0F + 6.0F + 7.0F + 8.0F);
}

TEST(a_node_with_too_many_outputs_is_refused)
{
  SCOPED(bench_clear) Bench bench;
  bench_init(&bench, FX_MAX_CHANNELS);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(bench_try(&bench, grouped_rack_of("x: gain", &grouped_fx, 1U, 2U, NULL), &error),
                   STATUS_BAD_RACK);
  ck_assert_str_eq(error.text, "x would have 2048 output channels; a node can have 1024");
}

TEST(a_plugin_on_the_gpu_is_refused)
{
  SCOPED(bench_clear) Bench bench;
  bench_init(&bench, 8U);
  FxInfo plugin = grouped_fx;
  plugin.origin = &origin;
  Rack* const rack = grouped_rack_of("x: gain", &plugin, 1U, 1U, NULL);
  rack->nodes[0].backend = RACK_BACKEND_GPU;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(bench_try(&bench, rack, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "x: backend=gpu: a plugin runs on the CPU only");
}

TEST(plugins_of_one_name_are_separate_batches)
{
  SCOPED(bench_clear) Bench bench;
  bench_init(&bench, 8U);
  static FxInfo other;
  other = grouped_fx;
  Rack* const rack =
      grouped_rack_of("x1: gain + x2: gain + x3: gain + x4: gain", &grouped_fx, 1U, 1U, NULL);
  rack->nodes[0].fx = rack->nodes[2].fx = &other;
  OK(bench_try(&bench, rack, &error));
  expect_calls(&bench, "run 16x64 run 16x64 ");
  ck_assert_float_eq(bench.out[0][0], 4.0F * bench.in[0][0]);
}

// ---- changes within a block ----

static const char two_nodes[] = "add x1 gain\nadd x2 gain\nconnect in x1\nconnect in x2\n"
                                "connect x1 out:1-8\nconnect x2 out:9-16";

TEST(without_set_at_a_change_splits_the_run_of_its_node)
{
  SCOPED(bench_clear) Bench bench;
  bench_start(&bench, two_nodes, &grouped_fx, 2U, 2U);
  send_value(&bench, 1U, GROUPED_GAIN, 3.0, 16U);
  expect_calls(&bench, "run 4x64 run 4x16 set 0=3 run 4x48 ");
  ck_assert_float_eq(bench.out[8][15], bench.in[0][15] + bench.in[1][15]);
  ck_assert_float_eq(bench.out[8][16], 3.0F * (bench.in[0][16] + bench.in[1][16]));
  ck_assert_float_eq(bench.out[0][63], bench.in[0][63] + bench.in[1][63]);
}

TEST(with_set_at_changes_come_before_the_whole_run)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  bench_start(&bench, two_nodes, &fx, 2U, 2U);
  send_value(&bench, 1U, GROUPED_GAIN, 3.0, 16U);
  send_value(&bench, 0U, GROUPED_GAIN, 5.0, 40U);
  send_value(&bench, 0U, GROUPED_GAIN, 4.0, 8U);
  send_value(&bench, 1U, GROUPED_GAIN, 2.0, 16U);
  expect_calls(&bench, "set 0=4@8 set 0=5@40 set 0=3@16 set 0=2@16 run 8x64 ");
  expect_calls(&bench, "run 8x64 ");
}

TEST(with_set_at_and_cuts_a_change_splits_the_run_of_its_node)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.cut_at_events = true;
  bench_start(&bench, two_nodes, &fx, 2U, 2U);
  send_value(&bench, 1U, GROUPED_GAIN, 3.0, 16U);
  send_value(&bench, 1U, GROUPED_GAIN, 2.0, 16U);
  expect_calls(&bench, "run 4x64 run 4x16 set 0=3@0 set 0=2@0 run 4x48 ");
  ck_assert_float_eq(bench.out[8][15], bench.in[0][15] + bench.in[1][15]);
  ck_assert_float_eq(bench.out[8][16], 2.0F * (bench.in[0][16] + bench.in[1][16]));
}

TEST(changes_after_the_last_cut_of_a_block_come_at_once)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.cut_at_events = true;
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  for (uint32_t f = 1; f < FX_MAX_CUTS + 8U; ++f) {
    send_value(&bench, 0U, GROUPED_GAIN, f % 7U, f);
  }
  bench_play(&bench);
  for (uint32_t f = 1; f < BLOCK; ++f) {
    const uint32_t gain = (f < FX_MAX_CUTS ? f : FX_MAX_CUTS + 7U) % 7U;
    ck_assert_float_eq(bench.out[0][f], (float)gain * bench.in[0][f]);
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
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = grouped_fx;
  fx.latency = grouped_latency;
  bench_start(&bench, given->rack, &fx, 1U, 1U);
  bench.format.offline = true;
  atomic_store(&grouped_of(&bench, 0U)->latency_frames, given->first);
  atomic_store(&grouped_of(&bench, 1U)->latency_frames, given->second);
  Error error = { STATUS_OK, "" };
  Rack* const again = grouped_rack_of(given->rack, &fx, 1U, 1U, bench.rack);
  ck_assert_int_eq(bench_try(&bench, again, &error), STATUS_LIMIT);
  ck_assert_msg(strstr(error.text, "at most 1398 s"), "%s", error.text);
}

// ---- renewal ----

static FxInfo
renewed_fx(void)
{
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.renew = grouped_renew;
  return fx;
}

TEST(after_a_nan_a_node_does_not_run_until_it_is_renewed)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, two_nodes, &fx, 1U, 1U);
  const Plan* const plan = bench.player.plan;
  renew(plan); // no node waits for it
  ck_assert_str_eq(grouped_log(), "");
  set_next(&bench, GROUPED_GAIN, 2.0);
  bench_play(&bench);
  expect_fade(&bench, 0.0F, 0.0F, 2.0F);

  set_next(&bench, GROUPED_POISON, 1.0); // its last unit
  expect_calls(&bench, "set 1=1@0 run 16x64 ");
  expect_fade(&bench, 0.0F, 1.0F, 2.0F); // all units of the node
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ck_assert_float_eq(bench.out[7][i], bench.in[7][i]);  // at once
    ck_assert_float_eq(bench.out[15][i], bench.in[7][i]); // the other node
  }
  ck_assert_uint_eq(bench.player.counts.units_reset, 1U);
  for (uint32_t b = 0; b < 200U; ++b) {
    send_value(&bench, 0U, GROUPED_GAIN, b + 1.0, 7U);
    expect_calls(&bench, "run 8x64 ");
    expect_fade(&bench, 1.0F, 1.0F, 0.0F);
  }
  ck_assert(!atomic_load(&health_of(&bench)->is_bypassed)); // no report: it is for a moment

  set_next(&bench, GROUPED_GAIN, 2.0);
  set_next(&bench, GROUPED_POISON, 0.0);
  bench_play(&bench);
  renew(plan);
  renew(plan);
  ck_assert_str_eq(grouped_log(), "run 8x64 renew ");
  expect_calls(&bench, "set 0=2 set 1=0 run 16x64 ");
  expect_fade(&bench, 1.0F, 0.0F, 2.0F);
  expect_calls(&bench, "run 16x64 ");
  expect_fade(&bench, 0.0F, 0.0F, 2.0F);
  ck_assert(!atomic_load(&health_of(&bench)->is_bypassed));
  ck_assert_uint_eq(bench.player.counts.units_reset, 1U);
}

TEST(a_stopped_node_passes_its_input_on_whatever_its_rows_contain)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, two_nodes, &fx, 1U, 1U);
  bench_play(&bench); // its level is known
  const Plan* const plan = bench.player.plan;
  set_next(&bench, GROUPED_POISON, 1.0);
  bench_play(&bench);
  for (uint32_t r = plan->n_in + plan->n_out; r < plan->n_rows; ++r) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      plan->rows[r][i] = NAN;
    }
  }
  bench_play(&bench);
  expect_fade(&bench, 1.0F, 1.0F, 0.0F);
}

TEST(the_player_leaves_the_units_of_a_stopped_node_to_the_builder)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  const Node* const node = bench.player.plan->nodes[0].node;
  uint32_t* const last = (uint32_t*)(void*)(node->states + 7U * node->state_stride);
  ck_assert_uint_eq(*last, 7U);
  *last = 99U;
  set_next(&bench, GROUPED_POISON, 1.0);
  bench_play(&bench);
  ck_assert_uint_eq(*last, 99U);
  renew(bench.player.plan);
  ck_assert_uint_eq(*last, 7U);
}

TEST(a_document_does_not_touch_a_node_that_is_renewed)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  bench_play(&bench); // its level is known
  set_next(&bench, GROUPED_POISON, 1.0);
  bench_play(&bench);
  Rack* const rack = grouped_rack_of("x: gain", &fx, 1U, 1U, bench.rack);
  ck_assert_uint_eq(rack->nodes[0].uid, bench.rack->nodes[0].uid);
  rack->nodes[0].values[GROUPED_GAIN].number = 2.0;
  grouped_log();
  OK(bench_try(&bench, rack, &error));
  ck_assert_str_eq(grouped_log(), "");
  renew(bench.player.plan);
  expect_calls(&bench, "set 0=2 set 1=0 run 8x64 ");
  expect_fade(&bench, 1.0F, 0.0F, 2.0F);
}

/// Play `n` blocks, with a renewal after each.  Returns the number of renewals.
static uint32_t
play_and_renew(Bench* const bench, const uint32_t n)
{
  const uint32_t before = grouped_of(bench, 0U)->n_renewed;
  for (uint32_t b = 0; b < n; ++b) {
    bench_play(bench);
    renew(bench->player.plan);
  }
  return grouped_of(bench, 0U)->n_renewed - before;
}

TEST(a_node_that_fails_again_and_again_is_renewed_rarely_until_it_has_recovered)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  bench_play(&bench); // its level is known
  set_next(&bench, GROUPED_POISON, 1.0);
  ck_assert_uint_eq(play_and_renew(&bench, 7U), 7U);
  ck_assert(!atomic_load(&health_of(&bench)->is_bypassed));
  ck_assert_uint_eq(play_and_renew(&bench, 1U), 0U);
  ck_assert(atomic_load(&health_of(&bench)->is_bypassed));
  ck_assert_uint_eq(play_and_renew(&bench, REST - 1U), 0U);
  expect_fade(&bench, 1.0F, 1.0F, 0.0F);
  ck_assert_uint_eq(play_and_renew(&bench, 1U), 1U);
  ck_assert_uint_eq(play_and_renew(&bench, REST), 0U);
  set_next(&bench, GROUPED_POISON, 0.0);
  ck_assert_uint_eq(play_and_renew(&bench, 1U), 1U);
  for (uint32_t b = 1; b < 100U; ++b) { // it runs, but is not heard
    expect_calls(&bench, b == 1U ? "set 0=1 set 1=0 run 8x64 " : "run 8x64 ");
    expect_fade(&bench, 1.0F, 1.0F, 0.0F);
  }
  ck_assert(atomic_load(&health_of(&bench)->is_bypassed));
  bench_play(&bench);
  expect_fade(&bench, 1.0F, 0.0F, 1.0F);
  ck_assert(!atomic_load(&health_of(&bench)->is_bypassed));
  set_next(&bench, GROUPED_POISON, 1.0);
  ck_assert_uint_eq(play_and_renew(&bench, 1U), 1U); // its record is clear
}

TEST(a_renewal_that_fails_is_tried_again_later)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  bench_play(&bench); // its level is known
  set_next(&bench, GROUPED_POISON, 1.0);
  grouped_of(&bench, 0U)->cannot_renew = true;
  bench_play(&bench);
  grouped_log();
  ck_assert_int_eq(renew(bench.player.plan), STATUS_NO_MEM);
  ck_assert_str_eq(grouped_log(), "renew ");
  for (uint32_t b = 0; b < REST; ++b) {
    renew(bench.player.plan);
    ck_assert_str_eq(grouped_log(), "");
    bench_play(&bench);
    ck_assert_str_eq(grouped_log(), "");
    ck_assert(atomic_load(&health_of(&bench)->is_bypassed));
  }
  grouped_of(&bench, 0U)->cannot_renew = false;
  set_next(&bench, GROUPED_POISON, 0.0);
  bench_play(&bench);
  renew(bench.player.plan);
  expect_calls(&bench, "set 0=1 set 1=0 run 8x64 ");
  expect_fade(&bench, 1.0F, 0.0F, 1.0F);
}

TEST(the_input_of_a_stopped_node_plays_at_the_level_of_its_output)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  grouped_of(&bench, 0U)->gain = 0.25;
  bench_play(&bench);
  set_next(&bench, GROUPED_POISON, 1.0);
  bench_play(&bench);
  expect_fade(&bench, 0.25F, 0.25F, 0.0F);
  bench_play(&bench);
  expect_fade(&bench, 0.25F, 0.25F, 0.0F);
}

TEST(a_node_without_a_good_block_is_silent_while_it_is_stopped)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  set_next(&bench, GROUPED_POISON, 1.0);
  bench_play(&bench);
  ck_assert_float_eq(bench.out[7][0], 0.0F); // the unit itself; the others fade
  bench_play(&bench);
  expect_fade(&bench, 0.0F, 0.0F, 0.0F);
}

/// Renew the node, which has missed a change, and change its gain twice in the same block.
static void
change_during_renewal(Bench* const bench, const FxInfo* const fx, const char* const calls)
{
  bench_start(bench, "x: gain", fx, 1U, 1U);
  set_next(bench, GROUPED_POISON, 1.0);
  bench_play(bench);
  set_next(bench, GROUPED_POISON, 0.0);
  bench_play(bench);
  renew(bench->player.plan);
  send_value(bench, 0U, GROUPED_GAIN, 3.0, 10U);
  send_value(bench, 0U, GROUPED_GAIN, 4.0, 30U);
  expect_calls(bench, calls);
}

TEST(changes_in_the_block_of_a_renewal_come_after_those_that_were_missed)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  change_during_renewal(&bench, &fx, "set 1=0 set 0=3@10 set 0=4@30 run 8x64 ");
}

TEST(changes_in_the_block_of_a_renewal_keep_their_frames)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = renewed_fx();
  fx.cut_at_events = true;
  change_during_renewal(&bench, &fx, "set 1=0 run 8x10 set 0=3@0 run 8x20 set 0=4@0 run 8x34 ");
}

// ---- time and cores ----

/// As grouped_fx, but each unit takes 50 us.
static void
run_slowly(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  const uint64_t until_ns = time_now_ns() + (uint64_t)n_units * 50U * NS_PER_US;
  grouped_fx.run(units, n_units, n_frames);
  while (time_now_ns() < until_ns) {
  }
}

TEST(a_stopped_node_leaves_the_others_of_its_batch_on_all_cores)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = renewed_fx();
  fx.run = run_slowly;
  OK(pool_new(1U, false, 0, &bench_pool, &error));
  bench_start(&bench, two_nodes, &fx, 1U, 1U);
  bench_play(&bench);
  expect_calls(&bench, "run 8x64 run 8x64 "); // once its time is known
  set_next(&bench, GROUPED_POISON, 1.0);
  bench_play(&bench);
  expect_calls(&bench, "run 4x64 run 4x64 ");
  bench_clear(&bench);
  bench = (Bench){ 0 };
  pool_free(bench_pool);
  bench_pool = NULL;
}

TEST(the_parts_of_a_block_with_changes_are_shared_among_the_cores)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.cut_at_events = true;
  fx.run = run_slowly;
  OK(pool_new(1U, false, 0, &bench_pool, &error));
  bench_start(&bench, "x: gain", &fx, 1U, 1U);
  send_value(&bench, 0U, GROUPED_GAIN, 2.0, 32U);
  expect_calls(&bench, "run 8x32 set 0=2@0 run 8x32 "); // this block is measured
  send_value(&bench, 0U, GROUPED_GAIN, 3.0, 32U);
  expect_calls(&bench, "run 4x32 run 4x32 set 0=3@0 run 4x32 run 4x32 ");
  bench_clear(&bench);
  bench = (Bench){ 0 };
  pool_free(bench_pool);
  bench_pool = NULL;
}

TEST(the_time_of_a_plugin_is_measured_without_other_units)
{
  SCOPED(bench_clear) Bench bench;
  FxInfo fx = grouped_fx;
  fx.origin = &origin;
  fx.run = run_slowly;
  bench_start(&bench, "x: gain", &fx, 8U, 1U);
  bench_play(&bench);
  ck_assert_uint_ge(atomic_load(&bench.player.plan->nodes[0].node->block_ns), 50000U);
}

TEST(a_reset_renews_all_nodes)
{
  SCOPED(bench_clear) Bench bench;
  const FxInfo fx = renewed_fx();
  bench_start(&bench, two_nodes, &fx, 1U, 1U);
  grouped_of(&bench, 0U)->is_poisoned = true;
  bench_play(&bench);
  grouped_of(&bench, 0U)->is_poisoned = false;
  grouped_log();
  OK(plan_reset(bench.player.plan, &error));
  ck_assert_str_eq(grouped_log(), "renew renew ");
  ck_assert(!health_of(&bench)->plays_input);
  expect_calls(&bench, "run 16x64 ");
  grouped_of(&bench, 1U)->cannot_renew = true;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(plan_reset(bench.player.plan, &error), STATUS_NO_MEM);
  ck_assert_str_eq(error.text, "it cannot be renewed");
}

SUITE_MAIN("units")
