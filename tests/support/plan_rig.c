// SPDX-License-Identifier: GPL-3.0-or-later

#include "plan_rig.h"

#include "engine/contract/pool.h"
#include "suite.h"

#include "engine/contract/pool.h"

#define N_IN 8U // of plan_rig_start()

void
plan_rig_init(PlanRig* const rig, const uint32_t n_in, const float slope)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = PLAN_RIG_BLOCK, .n_in = n_in };
  rack_rig_begin(&rig->base, &backend_cpu, NULL, &format, NULL, 0U);
  for (uint32_t c = 0; c < PLAN_RIG_ROWS; ++c) {
    for (uint32_t i = 0; i < PLAN_RIG_BLOCK; ++i) {
      rig->in[c][i] = (float)c + 1.0F + slope * (float)i / PLAN_RIG_BLOCK;
    }
  }
  grouped_log();
}

void
plan_rig_clear(PlanRig* const rig)
{
  rack_rig_free(&rig->base);
  pool_free(rig->base.pool);
}

const Plan*
plan_rig_plan(const PlanRig* const rig)
{
  return rig->base.player.plan;
}

void
plan_rig_play(PlanRig* const rig)
{
  const float* in[PLAN_RIG_ROWS];
  float* out[PLAN_RIG_ROWS];
  for (uint32_t c = 0; c < PLAN_RIG_ROWS; ++c) {
    in[c] = rig->in[c];
    out[c] = rig->out[c];
  }
  ck_assert_uint_le(plan_rig_plan(rig)->n_out, PLAN_RIG_ROWS);
  ck_assert(rack_rig_run(&rig->base, in, out, PLAN_RIG_BLOCK, RIG_BLOCKS, 0U));
}

void
plan_rig_start(PlanRig* const rig, const char* const text, const FxInfo* const fx,
               const uint32_t unit_in, const uint32_t unit_out)
{
  plan_rig_init(rig, N_IN, 1.0F);
  OK(rack_rig_plan(&rig->base, grouped_rack_of(text, fx, unit_in, unit_out, NULL), &error));
}

void
plan_rig_send(const PlanRig* const rig, const uint32_t index, const uint32_t param,
              const double value, const uint32_t offset)
{
  const ParamMessage message = { .frame = rig->base.frame + offset,
                                 .uid = rig->base.rack->nodes[index].uid,
                                 .param = param,
                                 .value = value };
  ck_assert(ring_send(rig->base.messages, &message, 1U));
}

void
plan_rig_set(const PlanRig* const rig, const uint32_t param, const double value)
{
  plan_rig_send(rig, 0U, param, value, 0U);
}

GroupedNode*
plan_rig_node(const PlanRig* const rig, const uint32_t index)
{
  return plan_rig_plan(rig)->nodes[index].node->fx_node;
}

void
plan_rig_expect(PlanRig* const rig, const char* const calls)
{
  grouped_log();
  plan_rig_play(rig);
  ck_assert_str_eq(grouped_log(), calls);
}
