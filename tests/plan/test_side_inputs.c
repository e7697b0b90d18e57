// SPDX-License-Identifier: GPL-3.0-or-later
// Side inputs and sources in a plan: who hears which channel, silence without a connection,
// alignment, fades, and what continues through an edit.

#include "tests/support/plan_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK   PLAN_RIG_BLOCK
#define LATENCY 10U // of the node "late"

// ---- test effects ----

// keyed: out[c] = in[c] + 100 * key[c] + 1000 * (low[0] + low[1]); a missing side input is -1.

static const FxSide keyed_sides[] = { { "key", 0 }, { "low", 2 } };

static uint32_t n_created;

static Status
keyed_create(const FxSetup* const setup, FxShape* const shape, void** const node,
             Error* const error)
{
  (void)error;
  shape->unit_in = shape->unit_out = setup->n_in % 2U ? 1U : 2U;
  shape->unit_bytes = 1;
  ++n_created;
  *node = calloc(1, sizeof(uint32_t));
  *(uint32_t*)*node = shape->unit_in;
  return STATUS_OK;
}

static void
no_init(const void* const node, void* const state, const uint32_t index)
{
  (void)node, (void)state, (void)index;
}

static void
no_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)node, (void)param, (void)value, (void)ramp_frames;
}

static float
side_sample(const FxUnit* const unit, const uint32_t channel, const uint32_t i)
{
  return unit->side && unit->side[channel] ? unit->side[channel][i] : -1.0F;
}

static void
keyed_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const uint32_t width = *(const uint32_t*)units[u].node;
    for (uint32_t c = 0; c < width; ++c) {
      for (uint32_t i = 0; i < n_frames; ++i) {
        const float low = side_sample(&units[u], width, i) + side_sample(&units[u], width + 1U, i);
        units[u].out[c][i] =
            units[u].in[c][i] + 100.0F * side_sample(&units[u], c, i) + 1000.0F * low;
      }
    }
  }
}

static const FxInfo keyed_fx = { .name = "keyed",
                                 .sides = keyed_sides,
                                 .n_sides = ARRAY_LEN(keyed_sides),
                                 .create = keyed_create,
                                 .destroy = free,
                                 .unit_init = no_init,
                                 .set = no_set,
                                 .run = keyed_run };

// source: three outputs, 1, 2 and 3.

static Status
source_create(const FxSetup* const setup, FxShape* const shape, void** const node,
              Error* const error)
{
  (void)error;
  ck_assert_uint_eq(setup->n_in, 0);
  *shape = (FxShape){ .unit_in = 0, .unit_out = 3, .tail_frames = 77 };
  *node = calloc(1, 1);
  return STATUS_OK;
}

static void
source_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    for (uint32_t c = 0; c < 3U; ++c) {
      for (uint32_t i = 0; i < n_frames; ++i) {
        units[u].out[c][i] = (float)c + 1.0F;
      }
    }
  }
}

static void
poisoned_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  source_run(units, n_units, n_frames);
  units[0].out[1][0] = NAN;
}

static Status
no_renew(void* const node, Error* const error)
{
  (void)node, (void)error;
  return STATUS_OK;
}

static const FxInfo source_fx = { .name = "source",
                                  .is_source = true,
                                  .create = source_create,
                                  .destroy = free,
                                  .unit_init = no_init,
                                  .set = no_set,
                                  .run = source_run };

static const FxInfo poisoned_fx = { .name = "poisoned",
                                    .is_source = true,
                                    .create = source_create,
                                    .destroy = free,
                                    .unit_init = no_init,
                                    .renew = no_renew,
                                    .set = no_set,
                                    .run = poisoned_run };

// late: as gain, with a latency.

static Status
late_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  (void)setup, (void)error;
  shape->latency_frames = LATENCY;
  shape->unit_bytes = LATENCY * sizeof(float);
  *node = calloc(1, 1);
  return STATUS_OK;
}

static void
late_init(const void* const node, void* const state, const uint32_t index)
{
  (void)node, (void)index;
  memset(state, 0, LATENCY * sizeof(float));
}

static void
late_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    float* const line = units[u].state;
    for (uint32_t i = 0; i < n_frames; ++i) {
      units[u].out[0][i] = i < LATENCY ? line[i] : units[u].in[0][i - LATENCY];
    }
    memcpy(line, units[u].in[0] + n_frames - LATENCY, LATENCY * sizeof(float));
  }
}

static const FxInfo late_fx = { .name = "late",
                                .create = late_create,
                                .destroy = free,
                                .unit_init = late_init,
                                .set = no_set,
                                .run = late_run };

/// The effect of a node by the first letter of its name; NULL: as in the text.
static const FxInfo*
effect_of(const char* const name)
{
  static const struct {
    char letter;
    const FxInfo* fx;
  } rows[] = { { 'x', &keyed_fx }, { 's', &source_fx }, { 'p', &poisoned_fx }, { 'l', &late_fx } };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (rows[r].letter == name[0]) {
      return rows[r].fx;
    }
  }
  return NULL;
}

// ---- racks ----

/// Parse a rack without connections, change the effects of its nodes, apply the statements.
static Rack*
make_rack(const char* const nodes, const char* const statements)
{
  Rack* const rack = rack_of(nodes, NULL);
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const FxInfo* const fx = effect_of(rack->nodes[n].name);
    if (fx) {
      rack->nodes[n].fx = fx;
    }
  }
  RackUid uids[8];
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    uids[n] = RACK_UID_FIRST + n;
  }
  OK(rack_set_uids(rack, uids, rack->n_nodes, RACK_UID_FIRST + rack->n_nodes, &error));
  OK(rack_apply(rack, statements, "t", &error));
  return rack;
}

static void
play_rack(PlanRig* const rig, const char* const nodes, const char* const statements)
{
  OK(rack_rig_plan(&rig->base, make_rack(nodes, statements), &error));
}

// ---- channels ----

#define NONE   (-100.0F - 2000.0F) // of the keys that are missing
#define NO_LOW (-2000.0F)

static const struct {
  const char* statements;
  uint32_t n_in, n_out;
  float out[8];
} racks[] = {
  // nothing connected
  { "connect in:1-2 x\nconnect x out", 4, 2, { 1.0F + NONE, 2.0F + NONE } },
  // one channel for all, of one unit and of four
  { "connect in:1-2 x\nconnect in:3 x.key\nconnect x out",
    4,
    2,
    { 301.0F + NO_LOW, 302.0F + NO_LOW } },
  { "connect in:1-8 x\nconnect in:3 x.key\nconnect x out",
    8,
    8,
    { 301.0F + NO_LOW, 302.0F + NO_LOW, 303.0F + NO_LOW, 304.0F + NO_LOW, 305.0F + NO_LOW,
      306.0F + NO_LOW, 307.0F + NO_LOW, 308.0F + NO_LOW } },
  // each its own
  { "connect in:1-4 x\nconnect in:5-8 x.key\nconnect x out",
    8,
    4,
    { 501.0F + NO_LOW, 602.0F + NO_LOW, 703.0F + NO_LOW, 804.0F + NO_LOW } },
  { "connect in:1-3 x\nconnect in:5-7 x.key\nconnect x out",
    8,
    3, // units of one channel
    { 501.0F + NO_LOW, 602.0F + NO_LOW, 703.0F + NO_LOW } },
  // the second side input has two channels for each unit
  { "connect in:1-4 x\nconnect in:5-8 x.low\nconnect x out",
    8,
    4,
    { 11001.0F - 100.0F, 11002.0F - 100.0F, 15003.0F - 100.0F, 15004.0F - 100.0F } },
  { "connect in:1-4 x\nconnect in:1 x.low gain=6.0205999132796239dB\nconnect x out",
    8,
    4,
    { 4001.0F - 100.0F, 4002.0F - 100.0F, 4003.0F - 100.0F, 4004.0F - 100.0F } },
  // both, summed from several connections
  { "connect in:1-2 x\nconnect in:3 x.key\nconnect in:4 x.key\nconnect in:1-2 x.low\n"
    "connect x out",
    4,
    2,
    { 701.0F + 3000.0F, 702.0F + 3000.0F } },
  // channels of a side input: the others are silent, not missing
  { "connect in:1-2 x\nconnect in:3 x.key:2\nconnect x out",
    4,
    2,
    { 1.0F + NO_LOW, 302.0F + NO_LOW } },
};

TEST_ROWS(each_unit_gets_its_side_channels, racks)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, racks[row].n_in, 0.0F);
  play_rack(&rig, "add x gain", racks[row].statements);
  ck_assert_uint_eq(plan_rig_plan(&rig)->n_out, racks[row].n_out);
  for (uint32_t b = 0; b < 2U; ++b) {
    plan_rig_play(&rig);
    for (uint32_t c = 0; c < racks[row].n_out; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        ck_assert_msg(fabsf(rig.out[c][i] - racks[row].out[c]) < 0.01F, "output %u: %g, not %g", c,
                      (double)rig.out[c][i], (double)racks[row].out[c]);
      }
    }
  }
}

static const struct {
  const char *statements, *message;
} wrong[] = {
  { "connect in:1-4 x\nconnect in:1-2 x.key",
    "in:1-2 gives 2 channels and x.key takes 4; pick some, as in connect in:1-2 x.key:1-2" },
  { "connect in:1-2 x\nconnect in:1-4 x.low",
    "in:1-4 gives 4 channels and x.low takes 2; pick some, as in connect in:1-2 x.low" },
  { "connect in:1-2 x\nconnect in:1 x.low:3", "x.low:3 does not exist: x.low has 2 channels" },
};

TEST_ROWS(other_widths_are_refused_with_the_name_of_the_side_input, wrong)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 8, 0.0F);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rack_rig_plan(&rig.base, make_rack("add x gain", wrong[row].statements), &error),
                   STATUS_BAD_RACK);
  ck_assert_str_eq(error.text, wrong[row].message);
}

// ---- latency and edits ----

TEST(a_side_input_is_aligned_with_the_main_one)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 2, 0.0F);
  play_rack(&rig, "add l gain\nadd x gain",
            "connect in:1 l\nconnect l x\nconnect in:2 x.key\nconnect x out");
  ck_assert_uint_eq(plan_rig_plan(&rig)->latency_frames, LATENCY);
  memset(rig.in, 0, sizeof(rig.in));
  rig.in[0][20] = rig.in[1][20] = 1.0F;
  plan_rig_play(&rig);
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ck_assert_float_eq(rig.out[0][i], (i == 20U + LATENCY ? 101.0F : 0.0F) + NO_LOW);
  }
}

TEST(a_side_input_can_be_the_later_one)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 2, 0.0F);
  play_rack(&rig, "add l gain\nadd x gain",
            "connect in:1 x\nconnect in:2 l\nconnect l x.key\nconnect x out");
  ck_assert_uint_eq(plan_rig_plan(&rig)->latency_frames, LATENCY);
}

TEST(a_node_continues_when_its_side_input_is_connected_and_disconnected)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 3, 0.0F);
  play_rack(&rig, "add x gain", "connect in:1-2 x\nconnect x out");
  plan_rig_play(&rig);
  n_created = 0;
  play_rack(&rig, "add x gain", "connect in:1-2 x\nconnect x out\nconnect in:3 x.key");
  ck_assert_uint_eq(n_created, 0);
  float last = NO_LOW + 1.0F; // connected, and still silent
  for (uint32_t b = 0; b < 10U; ++b) {
    plan_rig_play(&rig);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      ck_assert_float_ge(rig.out[0][i], last);
      ck_assert_float_le(rig.out[0][i] - last, 300.0F * 3.0F / 480.0F); // the fade in 480 frames
      last = rig.out[0][i];
    }
  }
  ck_assert_float_eq(last, 301.0F + NO_LOW);
  play_rack(&rig, "add x gain", "connect in:1-2 x\nconnect x out");
  ck_assert_uint_eq(n_created, 0);
  for (uint32_t b = 0; b < 10U; ++b) {
    plan_rig_play(&rig);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      ck_assert_float_le(rig.out[0][i], last);
      ck_assert_float_le(last - rig.out[0][i], 300.0F * 3.0F / 480.0F);
      last = rig.out[0][i];
    }
  }
  ck_assert_float_eq(last, 1.0F + NO_LOW); // silent until the builder leaves the connection out
  play_rack(&rig, "add x gain", "connect in:1-2 x\nconnect x out");
  plan_rig_play(&rig);
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 1.0F + NONE);
}

// ---- sources ----

TEST(a_source_has_the_width_of_its_outputs)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 2, 0.0F);
  play_rack(&rig, "add s gain", "connect s out");
  const Plan* const plan = plan_rig_plan(&rig);
  ck_assert_uint_eq(plan->n_out, 3);
  ck_assert_uint_eq(plan->n_units, 1);
  ck_assert_uint_eq(plan->tail_frames, 77);
  plan_rig_play(&rig);
  ck_assert_float_eq(rig.out[0][0], 1.0F);
  ck_assert_float_eq(rig.out[2][BLOCK - 1U], 3.0F);
}

TEST(a_source_joins_the_signal_and_plays_with_several_inputs_of_the_rack)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 3, 0.0F);
  play_rack(&rig, "add s gain\nadd x gain",
            "connect in x\nconnect s x\nconnect s:2 x.key\n"
            "connect x out");
  plan_rig_play(&rig);
  ck_assert_float_eq(rig.out[0][5], 1.0F + 1.0F + 200.0F + NO_LOW);
  ck_assert_float_eq(rig.out[2][5], 3.0F + 3.0F + 200.0F + NO_LOW);
}

TEST(a_source_that_makes_nan_is_silent)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  plan_rig_init(&rig, 3, 0.0F);
  play_rack(&rig, "add p gain", "connect p out");
  for (uint32_t b = 0; b < 20U; ++b) {
    plan_rig_play(&rig);
    for (uint32_t c = 0; c < 3U; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        ck_assert_float_eq(rig.out[c][i], 0.0F);
      }
    }
    uint32_t failed = 0;
    OK(plan_renew(plan_rig_plan(&rig), &failed, &error));
  }
}

SUITE_MAIN("side_inputs")
