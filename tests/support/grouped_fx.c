// SPDX-License-Identifier: GPL-3.0-or-later

#include "grouped_fx.h"

#include "set_by_name.h"
#include "suite.h"

#include "engine/base/time.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 8U

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; // builder and player write
static char calls[4096];
static size_t n_calls;

static void PRINTF_LIKE(1, 2) record(const char* const format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&log_lock);
  const int n = vsnprintf(calls + n_calls, sizeof(calls) - n_calls, format, arguments);
  n_calls += n_calls + (size_t)n < sizeof(calls) ? (size_t)n : 0U;
  pthread_mutex_unlock(&log_lock);
  va_end(arguments);
}

const char*
grouped_log(void)
{
  static char copy[sizeof(calls)];
  pthread_mutex_lock(&log_lock);
  memcpy(copy, calls, n_calls);
  copy[n_calls] = '\0';
  n_calls = 0;
  pthread_mutex_unlock(&log_lock);
  return copy;
}

static const FxParam params[GROUPED_N_PARAMS] = {
  [GROUPED_GAIN] = { .id = "gain", .max = 10.0, .initial = 1.0, .help = "Factor" },
  [GROUPED_POISON] = { .id = "poison", .kind = PARAM_SWITCH, .max = 1.0, .help = "Give NaN" },
  [GROUPED_IN] = { .id = "in", .kind = PARAM_INTEGER, .max = 8.0, .structural = true, .help = "" },
  [GROUPED_OUT] = { .id = "out",
                    .kind = PARAM_INTEGER,
                    .max = 8.0,
                    .structural = true,
                    .help = "" },
};

static Status
create(const FxSetup* const setup, FxShape* const shape, void** const out, Error* const error)
{
  GroupedNode* const node = calloc(1, sizeof(GroupedNode));
  if (!node) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *node = (GroupedNode){ .unit_in = (uint32_t)setup->values[GROUPED_IN],
                         .unit_out = (uint32_t)setup->values[GROUPED_OUT],
                         .gain = setup->values[GROUPED_GAIN],
                         .is_poisoned = setup->values[GROUPED_POISON] != 0.0 };
  shape->unit_in = node->unit_in;
  shape->unit_out = node->unit_out;
  shape->unit_bytes = sizeof(uint32_t);
  *out = node;
  return STATUS_OK;
}

/// A unit's state is its index.
static void
unit_init(const void* const node, void* const state, const uint32_t index)
{
  (void)node;
  *(uint32_t*)state = index;
}

static void
apply(GroupedNode* const node, const uint32_t param, const double value)
{
  if (param == GROUPED_GAIN) {
    node->gain = value;
  } else {
    node->is_poisoned = value != 0.0;
  }
}

static void
set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)ramp_frames;
  record("set %u=%g ", param, value);
  apply(node, param, value);
}

void
grouped_set_at(void* const node, const uint32_t param, const double value,
               const uint32_t ramp_frames, const uint32_t frame)
{
  (void)ramp_frames;
  record("set %u=%g@%u ", param, value, frame);
  apply(node, param, value);
}

uint32_t
grouped_latency(const void* const node)
{
  return atomic_load(&((const GroupedNode*)node)->latency_frames);
}

Status
grouped_renew(void* const node, Error* const error)
{
  GroupedNode* const grouped = node;
  record("renew ");
  if (grouped->cannot_renew) {
    return error_set(error, STATUS_NO_MEM, "it cannot be renewed");
  }
  ++grouped->n_renewed;
  return STATUS_OK;
}

static void
run_unit(const FxUnit* const unit, const uint32_t n_frames)
{
  const GroupedNode* const node = unit->node;
  for (uint32_t i = 0; i < n_frames; ++i) {
    double sum = 0.0;
    for (uint32_t c = 0; c < node->unit_in; ++c) {
      sum += (double)unit->in[c][i];
    }
    for (uint32_t c = 0; c < node->unit_out; ++c) {
      unit->out[c][i] = (float)(sum * node->gain * (c + 1.0));
    }
  }
}

static void
run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  record("run %ux%u ", n_units, n_frames);
  for (uint32_t u = 0; u < n_units; ++u) {
    const GroupedNode* const node = units[u].node;
    run_unit(&units[u], n_frames);
    if (node->is_poisoned && (u + 1U == n_units || units[u + 1U].node != node)) {
      units[u].out[node->unit_out - 1U][n_frames / 2U] = NAN;
    }
  }
}

void
grouped_run_slowly(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  const uint64_t until_ns = time_now_ns() + (uint64_t)n_units * 50U * NS_PER_US;
  run(units, n_units, n_frames);
  while (time_now_ns() < until_ns) {
  }
}

const FxInfo grouped_fx = {
  .name = "grouped",
  .params = params,
  .n_params = ARRAY_LEN(params),
  .create = create,
  .destroy = free,
  .unit_init = unit_init,
  .set = set,
  .run = run,
};

Rack*
grouped_rack_of(const char* const text, const FxInfo* const fx, const uint32_t unit_in,
                const uint32_t unit_out, const Rack* const previous)
{
  Rack* const rack = rack_of(text, NULL);
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    RackNode* const node = &rack->nodes[n];
    if (node->name[0] == 'x') {
      node->fx = fx;
      free(node->values);
      node->values = calloc(GROUPED_N_PARAMS, sizeof(RackValue));
      node->values[GROUPED_GAIN] = (RackValue){ .kind = VALUE_NUMBER, .number = 1.0 };
      node->values[GROUPED_IN] = (RackValue){ .kind = VALUE_NUMBER, .number = unit_in };
      node->values[GROUPED_OUT] = (RackValue){ .kind = VALUE_NUMBER, .number = unit_out };
    }
  }
  if (previous) {
    RackUid uids[MAX_NODES];
    ck_assert_uint_le(rack->n_nodes, MAX_NODES);
    for (uint32_t n = 0; n < rack->n_nodes; ++n) {
      uids[n] = previous->nodes[n].uid;
    }
    OK(rack_set_uids(rack, uids, rack->n_nodes, previous->next_uid, &error));
  }
  return rack;
}
