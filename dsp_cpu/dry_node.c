// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of a built-in effect in quarantine: each output plays the node's input, delayed by
// the node's latency.  Of the effect itself only `create` and `destroy` are executed, for the
// channels and the latency.

#include "delay_line.h"

#include "engine/contract/effect.h"

#include <stdlib.h>

typedef struct DryNode {
  uint32_t n_in, n_out; ///< Of one unit
  uint32_t latency_frames;
  uint32_t line_frames;
} DryNode;

/// One unit: the state of its lines, then [n_in][line_frames] samples.
typedef struct DryUnit {
  DelayLine line;
} DryUnit;

static float*
line_of(const DryNode* const node, DryUnit* const unit, const uint32_t channel)
{
  return (float*)(void*)(unit + 1) + (size_t)channel * node->line_frames;
}

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
  dry->latency_frames = shape->latency_frames;
  dry->line_frames = shape->latency_frames + setup->max_block_frames;
  shape->tail_frames = shape->latency_frames;
  shape->unit_bytes = sizeof(DryUnit) + (size_t)dry->n_in * dry->line_frames * sizeof(float);
  shape->data_bytes = 0;
  *node = dry;
  return STATUS_OK;
}

static void
dry_unit_init(const void* const node, void* const state, const uint32_t index)
{
  (void)index;
  ((DryUnit*)state)->line = delay_line_at_start(((const DryNode*)node)->line_frames);
}

static void
dry_set(void* const node, const uint32_t param, const double value)
{
  (void)node;
  (void)param;
  (void)value;
}

static void
run_unit(const FxUnit* const io, const uint32_t n_frames)
{
  const DryNode* const node = io->node;
  DryUnit* const unit = io->state;
  for (uint32_t c = 0; c < node->n_in; ++c) {
    delay_line_put(&unit->line, line_of(node, unit, c), io->in[c], n_frames);
  }
  delay_line_advance(&unit->line, n_frames);
  for (uint32_t c = 0; c < node->n_out; ++c) {
    const uint32_t from = c < node->n_in ? c : node->n_in - 1U;
    delay_line_get(&unit->line, line_of(node, unit, from), node->latency_frames + n_frames,
                   io->out[c], n_frames);
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
  dry.kernel = NULL;
  return dry;
}
