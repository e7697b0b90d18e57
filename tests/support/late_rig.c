// SPDX-License-Identifier: GPL-3.0-or-later

#include "late_rig.h"

#include "set_by_name.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const FxParam late_params[] = {
  [LATE_POISON] = { .id = "poison", .kind = PARAM_SWITCH, .max = 1, .help = "Give NaN" },
  [LATE_SHAPE] = { .id = "shape",
                   .kind = PARAM_INTEGER,
                   .min = 0,
                   .max = LATE_SHAPES - 1U,
                   .structural = true,
                   .help = "Latency" },
};

typedef struct LateNode {
  bool poison;
  uint32_t latency_frames;
} LateNode;

static Status
late_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  (void)error;
  const uint32_t latency_frames = (1U + (uint32_t)setup->values[LATE_SHAPE]) * LATE;
  shape->latency_frames = latency_frames;
  shape->tail_frames = LATE_TAIL;
  shape->unit_bytes = sizeof(LateState);
  *node = calloc(1, sizeof(LateNode));
  *(LateNode*)*node = (LateNode){ setup->values[LATE_POISON] != 0.0, latency_frames };
  return STATUS_OK;
}

static void
late_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)node;
  (void)channel;
  memset(state, 0, sizeof(LateState));
}

static void
late_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)ramp_frames;
  (void)param;
  ((LateNode*)node)->poison = value != 0.0;
}

static void
late_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    LateState* const state = units[u].state;
    const LateNode* const node = units[u].node;
    for (uint32_t i = 0; i < n_frames; ++i) {
      float* const sample = &state->line[state->n_frames++ % node->latency_frames];
      const float in = units[u].in[0][i];
      units[u].out[0][i] = node->poison ? NAN : *sample;
      *sample = in;
    }
  }
}

const FxInfo late_fx = {
  .name = "late",
  .params = late_params,
  .n_params = ARRAY_LEN(late_params),
  .create = late_create,
  .destroy = free,
  .unit_init = late_init,
  .set = late_set,
  .run = late_run,
};

static const char* const names[] = { "a", "g", "h", "late", "late2" };
static const char* const kinds[] = { "late_%u", "path_%u", "plain_%u" };

#define MAX_NODES  64U
#define MAX_NUMBER 100U // in names

/// Give nodes of the same name the same uid in every rack.
static RackUid
uid_of(const char* const name)
{
  for (uint32_t i = 0; i < ARRAY_LEN(names); ++i) {
    if (!strcmp(names[i], name)) {
      return RACK_UID_FIRST + i;
    }
  }
  for (uint32_t k = 0; k < ARRAY_LEN(kinds); ++k) {
    unsigned number = 0;
    if (sscanf(name, kinds[k], &number) == 1) {
      return RACK_UID_FIRST + (RackUid)ARRAY_LEN(names) + k * MAX_NUMBER + number;
    }
  }
  ck_abort_msg("unknown name %s", name);
}

Rack*
late_rack_of(const char* const text)
{
  Rack* const rack = rack_of(text, NULL);
  RackUid uids[MAX_NODES];
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    RackNode* const node = &rack->nodes[n];
    uids[n] = uid_of(node->name);
    if (strstr(node->name, "late")) {
      node->fx = &late_fx;
      free(node->values);
      node->values = calloc(late_fx.n_params, sizeof(RackValue));
    }
  }
  const RackUid next = RACK_UID_FIRST + (RackUid)(ARRAY_LEN(names) + ARRAY_LEN(kinds) * MAX_NUMBER);
  OK(rack_set_uids(rack, uids, rack->n_nodes, next, &error));
  return rack;
}

void
late_rig_begin(RackRig* const rig)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = LATE_BLOCK, .n_in = 1, .n_out = 1 };
  rack_rig_begin(rig, &backend_cpu, NULL, &format, NULL, 0U);
}

const Plan*
late_rig_plan(RackRig* const rig)
{
  OK(rack_rig_plan(rig, rig->rack, &error));
  return rig->player.plan;
}

const Plan*
late_rig_edit(RackRig* const rig, const char* const text)
{
  OK(rack_rig_plan(rig, late_rack_of(text), &error));
  return rig->player.plan;
}

void
late_rig_play(RackRig* const rig, const float* const in, float* const out, const size_t n_frames)
{
  ck_assert(rack_rig_run(rig, &in, &out, n_frames, RIG_BLOCKS, 0U));
}
