// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of a built-in effect in quarantine: each output plays the node's input, delayed by
// the node's latency.  Of the effect itself only `create` and `destroy` are executed, for the
// channels and the latency.

#include "engine/contract/input_line.h"

#include <stdlib.h>
#include <string.h>

typedef struct DryNode {
  uint32_t n_in, n_out; ///< Of one unit
} DryNode;

static Status
dry_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  void* effect = NULL;
  DryNode* const dry = calloc(1, sizeof(DryNode));
  Status status = dry ? setup->fx->create(setup, shape, &effect, error)
                      : error_set(error, STATUS_NO_MEM, "%s: out of memory", setup->fx->name);
  if (status) {
    free(dry);
    return status;
  }
  setup->fx->destroy(effect);
  dry->n_in = shape->unit_in;
  dry->n_out = shape->unit_out;
  shape->tail_frames = shape->latency_frames;
  shape->unit_bytes = 0;
  shape->data_bytes = 0;
  *node = dry;
  return STATUS_OK;
}

static void
dry_unit_init(const void* const node, void* const state, const uint32_t index)
{
  (void)node; // the engine has the delayed input
  (void)state;
  (void)index;
}

static void
dry_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)node;
  (void)param;
  (void)value;
  (void)ramp_frames;
}

static void
run_unit(const FxUnit* const io, const uint32_t n_frames)
{
  float delayed[FX_MAX_BLOCK];
  const DryNode* const node = io->node;
  for (uint32_t c = 0; c < node->n_out; ++c) {
    const uint32_t from = c < node->n_in ? c : node->n_in - 1U;
    memcpy(io->out[c], fx_dry_row(io, from, delayed, n_frames), n_frames * sizeof(float));
  }
}

static void
dry_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    run_unit(&units[u], n_frames);
  }
}

FxInfo
fx_dry(const FxInfo* const fx)
{
  FxInfo dry = *fx;
  dry.create = dry_create;
  dry.initial = NULL;
  dry.load = NULL;
  dry.destroy = free;
  dry.unit_init = dry_unit_init;
  dry.renew = NULL;
  dry.set = dry_set;
  dry.set_at = NULL;
  dry.run = dry_run;
  dry.tail = NULL;
  dry.latency = NULL;
  dry.finish_pass = NULL;
  dry.linear = NULL;
  dry.kernel = NULL;
  return dry;
}
