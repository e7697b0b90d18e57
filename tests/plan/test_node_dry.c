// SPDX-License-Identifier: GPL-3.0-or-later
// After a NaN, the input of a plugin's node plays in its place, in time and at the level of the
// output, until the output has the input again: no step beyond those of the signal, no dip.  Nodes
// of built-in effects are silent until then.

#include "tests/support/fake_plugin.h"
#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK     64U
#define N_BLOCKS  200U
#define FRAMES    (N_BLOCKS * BLOCK)
#define BAD       60U // block of the NaN
#define LEVEL     0.35
#define FREQUENCY 1000.0
#define TOLERANCE (0.02 * LEVEL) // of the level of the input, which follows recent peaks

static float in[2][FRAMES];
static float out[2][FRAMES];

static const uint32_t latencies[] = { 0, 1, 37, BLOCK, BLOCK + 1U, 5U * BLOCK + 13U };

// ---- a built-in effect ----

enum { LATENCY, POISON, N_PARAMS };

#define MAX_LATENCY 512U

/// An effect that delays its input, at half the level.
typedef struct LateNode {
  uint32_t latency_frames;
  bool is_poisoned;
} LateNode;

typedef struct LateState {
  uint64_t n_frames;
  float line[MAX_LATENCY];
} LateState;

static Status
late_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  (void)error;
  LateNode* const late = calloc(1, sizeof(LateNode));
  late->latency_frames = (uint32_t)setup->values[LATENCY];
  shape->latency_frames = late->latency_frames;
  shape->unit_bytes = sizeof(LateState);
  *node = late;
  return STATUS_OK;
}

static void
late_init(const void* const node, void* const state, const uint32_t index)
{
  (void)node;
  (void)index;
  memset(state, 0, sizeof(LateState));
}

static void
late_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)ramp_frames;
  LateNode* const late = node;
  late->is_poisoned = param == POISON ? value != 0.0 : late->is_poisoned;
}

static Status
late_renew(void* const node, Error* const error)
{
  (void)node;
  (void)error;
  return STATUS_OK;
}

static void
late_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const LateNode* const node = units[u].node;
    LateState* const state = units[u].state;
    for (uint32_t i = 0; i < n_frames; ++i) {
      const uint64_t frame = state->n_frames++;
      state->line[frame % MAX_LATENCY] = 0.5F * units[u].in[0][i];
      units[u].out[0][i] = frame < node->latency_frames
                               ? 0.0F
                               : state->line[(frame - node->latency_frames) % MAX_LATENCY];
    }
    if (node->is_poisoned && u == 0U) {
      units[u].out[0][n_frames / 3U] = NAN;
    }
  }
}

static const FxParam late_params[N_PARAMS] = {
  [LATENCY] = { .id = "latency",
                .kind = PARAM_INTEGER,
                .max = MAX_LATENCY,
                .structural = true,
                .help = "Frames" },
  [POISON] = { .id = "poison", .kind = PARAM_SWITCH, .max = 1, .help = "Give NaN" },
};

static const FxInfo late_fx = {
  .name = "late",
  .params = late_params,
  .n_params = N_PARAMS,
  .create = late_create,
  .destroy = free,
  .unit_init = late_init,
  .set = late_set,
  .run = late_run,
};

// ---- the rack ----

/// A rack of one node of an effect, from both channels to both.
static void
start(RackRig* const rig, const FxInfo* const fx)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = 2, .n_out = 2 };
  for (uint32_t c = 0; c < 2U; ++c) {
    signal_sine(in[c], FRAMES, FREQUENCY, 48000.0, LEVEL, c);
  }
  rack_rig_begin(rig, &backend_cpu, NULL, &format, NULL, 0U);
  Rack* const rack = rack_of("x: gain", NULL);
  RackNode* const node = &rack->nodes[0];
  node->fx = fx;
  free(node->values);
  node->values = calloc(fx->n_params, sizeof(RackValue));
  rig->rack = rack;
}

static RackValue
number(const double value)
{
  return (RackValue){ .kind = VALUE_NUMBER, .number = value };
}

/// Make a rig with a node of the built-in effect.
static void
start_late(RackRig* const rig, const FxInfo* const fx, const uint32_t latency)
{
  start(rig, fx);
  rig->rack->nodes[0].values[LATENCY] = number(latency);
  OK(rack_rig_plan(rig, rig->rack, &error));
}

static void
play(RackRig* const rig, const uint32_t first, const uint32_t n_blocks)
{
  const float* const ins[] = { in[0] + (size_t)first * BLOCK, in[1] + (size_t)first * BLOCK };
  float* const outs[] = { out[0] + (size_t)first * BLOCK, out[1] + (size_t)first * BLOCK };
  ck_assert(rack_rig_run(rig, ins, outs, (size_t)n_blocks * BLOCK, RIG_BLOCKS, 0U));
}

static void
renew(const RackRig* const rig)
{
  uint32_t failed = 0;
  OK(plan_renew(rig->player.plan, &failed, &error));
}

/// Fails the test unless the outputs are the inputs, later, at half the level.
static void
expect_delayed(const uint32_t latency, const double tolerance)
{
  for (uint32_t c = 0; c < 2U; ++c) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      const double wanted = i < latency ? 0.0 : 0.5 * (double)in[c][i - latency];
      ck_assert_msg(fabs((double)out[c][i] - wanted) <= tolerance,
                    "latency %u, channel %u, frame %u (%d blocks from the NaN): %g, not %g",
                    latency, c, i, (int)(i / BLOCK) - (int)BAD, (double)out[c][i], wanted);
    }
  }
}

TEST_ROWS(a_built_in_node_is_silent_while_it_is_cold, latencies)
{
  const uint32_t latency = latencies[row];
  SCOPED(rack_rig_free) RackRig rig;
  start_late(&rig, &late_fx, latency);
  play(&rig, 0U, BAD);
  rack_rig_set(&rig, "x", "poison", 1.0, 0U);
  play(&rig, BAD, 1U);
  rack_rig_set(&rig, "x", "poison", 0.0, 0U);
  play(&rig, BAD + 1U, N_BLOCKS - BAD - 1U);
  ck_assert_uint_eq(rig.player.counts.units_reset, 1U);
  for (uint32_t i = BAD * BLOCK; i < (BAD + 1U) * BLOCK + latency; ++i) {
    ck_assert_float_eq(out[0][i], 0.0F);
    out[0][i] = i < latency ? 0.0F : 0.5F * in[0][i - latency];
  }
  expect_delayed(latency, 0.0);
}

TEST_ROWS(the_input_of_a_renewed_node_plays_until_it_is_warm, latencies)
{
  const uint32_t latency = latencies[row];
  SCOPED(rack_rig_free) RackRig rig;
  FxInfo fx = late_fx;
  fx.renew = late_renew;
  start_late(&rig, &fx, latency);
  play(&rig, 0U, BAD);
  rack_rig_set(&rig, "x", "poison", 1.0, 0U);
  play(&rig, BAD, 1U);
  rack_rig_set(&rig, "x", "poison", 0.0, 0U);
  play(&rig, BAD + 1U, 9U); // the builder comes later
  renew(&rig);
  play(&rig, BAD + 10U, N_BLOCKS - BAD - 10U);
  ck_assert_uint_eq(rig.player.counts.units_reset, 1U);
  expect_delayed(latency, TOLERANCE);
  ck_assert_float_eq(out[0][FRAMES - 1U], 0.5F * in[0][FRAMES - 1U - latency]);
}

TEST_ROWS(the_input_of_a_plugin_plays_until_it_is_warm, latencies)
{
  static FakePlugin fake;
  const uint32_t latency = latencies[row];
  fake_plugin_init(&fake, 1U, 0U, 1U);
  fake.latency_frames = latency;
  SCOPED(rack_rig_free) RackRig rig;
  start(&rig, &fake.plugin.fx);
  rig.rack->nodes[0].values[GAIN] = number(0.5);
  OK(rack_rig_plan(&rig, rig.rack, &error));
  ck_assert_uint_eq(rig.player.plan->latency_frames, latency);
  play(&rig, 0U, BAD);
  fake.gives_nan = true;
  play(&rig, BAD, 1U);
  fake.gives_nan = false;
  play(&rig, BAD + 1U, 9U);
  ck_assert_uint_eq(rig.player.counts.units_reset, 2U);
  const uint32_t n_before = fake.n_renewed;
  renew(&rig);
  ck_assert_uint_eq(fake.n_renewed, n_before + 2U);
  play(&rig, BAD + 10U, N_BLOCKS - BAD - 10U);
  expect_delayed(latency, TOLERANCE);
  ck_assert_float_eq(out[0][FRAMES - 1U], 0.5F * in[0][FRAMES - 1U - latency]);
}

TEST(the_input_ends_also_after_a_latency_of_many_blocks)
{
  static FakePlugin fake;
  fake_plugin_init(&fake, 1U, 0U, 1U);
  fake.latency_frames = 110U * BLOCK; // the record of the NaN is cleared before
  SCOPED(rack_rig_free) RackRig rig;
  start(&rig, &fake.plugin.fx);
  OK(rack_rig_plan(&rig, rig.rack, &error));
  const Node* const node = rig.player.plan->nodes[0].node;
  play(&rig, 0U, 1U);
  fake.gives_nan = true;
  play(&rig, 1U, 1U);
  fake.gives_nan = false;
  renew(&rig);
  play(&rig, 2U, 100U);
  ck_assert(node->health.plays_input);
  play(&rig, 102U, N_BLOCKS - 102U);
  ck_assert(!node->health.plays_input);
}

TEST(a_latency_that_has_moved_is_that_of_the_input)
{
  static FakePlugin fake;
  fake_plugin_init(&fake, 1U, 0U, 1U);
  fake.latency_follows = true; // "whole"
  SCOPED(rack_rig_free) RackRig rig;
  start(&rig, &fake.plugin.fx);
  rig.rack->nodes[0].values[GAIN] = number(0.5);
  rig.rack->nodes[0].values[WHOLE] = number(2.0);
  OK(rack_rig_plan(&rig, rig.rack, &error));
  play(&rig, 0U, 20U);
  rack_rig_set(&rig, "x", "whole", 7.0, 0U);
  play(&rig, 20U, BAD - 20U);
  const float* const dry = rig.player.plan->nodes[0].node->input_line.samples;
  ck_assert_ptr_nonnull(dry);
  ck_assert_uint_eq(rig.player.plan->nodes[0].node->input_line.delay_frames, 7U);
}

/// Without the effect's block, which the allocator may make larger than asked.
static size_t
own_memory(const Node* const node)
{
  return node_memory(node) - malloc_usable_size(node->fx_node);
}

TEST(nodes_without_latency_and_sources_keep_no_input)
{
  SCOPED(rack_rig_free) RackRig rig;
  start_late(&rig, &late_fx, 0U);
  const Node* const node = rig.player.plan->nodes[0].node;
  ck_assert_ptr_null(node->input_line.samples);
  const size_t n_without = own_memory(node);
  rig.rack->nodes[0].values[LATENCY] = number(100.0);
  OK(rack_rig_plan(&rig, rig.rack, &error));
  const Node* const late = rig.player.plan->nodes[0].node;
  ck_assert_uint_eq(own_memory(late), n_without + 2U * (100U + BLOCK) * sizeof(float));
}

SUITE_MAIN("node dry")
