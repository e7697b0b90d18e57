// SPDX-License-Identifier: GPL-3.0-or-later
// Runs one node of one effect without the engine.

#include "fx_rig.h"

#include "signals.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static double
choice_index(const FxParam* const param, const char* const name)
{
  for (uint32_t i = 0; param->choices[i]; ++i) {
    if (!strcmp(param->choices[i], name)) {
      return i;
    }
  }
  ck_abort_msg("no choice %s of %s", name, param->id);
  return 0.0;
}

Status
rig_try(FxRig* const rig, const char* const effect, const double rate_hz, const uint32_t n_in,
        const uint32_t max_block, const bool offline, const RigArg* const args,
        const uint32_t n_args, Error* const error)
{
  const FxInfo* const fx = fx_find(effect);
  ck_assert_msg(fx, "no effect %s", effect);
  return rig_try_fx(rig, fx, rate_hz, n_in, max_block, offline, args, n_args, error);
}

Status
rig_try_fx(FxRig* const rig, const FxInfo* const fx, const double rate_hz, const uint32_t n_in,
           const uint32_t max_block, const bool offline, const RigArg* const args,
           const uint32_t n_args, Error* const error)
{
  double* const values = calloc(fx->n_params + 1U, sizeof(double));
  bool* const given = calloc(fx->n_params + 1U, sizeof(bool));
  const char** const texts = calloc(fx->n_params + 1U, sizeof(char*));
  const FxFile** const files = calloc(fx->n_params + 1U, sizeof(FxFile*));
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    values[p] = fx->params[p].initial;
    texts[p] = fx->params[p].initial_text;
  }
  for (uint32_t a = 0; a < n_args; ++a) {
    const int p = fx_param_find(fx, args[a].id);
    ck_assert_msg(p >= 0, "%s has no parameter %s", fx->name, args[a].id);
    given[p] = true;
    if (fx->params[p].kind == PARAM_CHOICE && args[a].text) {
      values[p] = choice_index(&fx->params[p], args[a].text);
    } else if (args[a].text || args[a].file) {
      texts[p] = args[a].text;
      files[p] = args[a].file;
    } else {
      values[p] = args[a].number;
    }
  }

  *rig = (FxRig){
    .fx = fx, .n_in = n_in, .max_block = max_block, .ramp_frames = fx_ramp_frames(rate_hz)
  };
  rig->shape = (FxShape){ .unit_in = 1U, .unit_out = 1U };
  const FxSetup setup = { .fx = fx,
                          .rate_hz = rate_hz,
                          .max_block_frames = max_block,
                          .n_in = n_in,
                          .values = values,
                          .given = given,
                          .texts = texts,
                          .paths = texts,
                          .files = files,
                          .offline = offline };
  const Status status = fx_make(fx, &setup, &rig->shape, &rig->node, error);
  free(values);
  free(given);
  free(texts);
  free(files);
  if (status) {
    return status;
  }

  ck_assert_uint_eq(fx->is_source ? n_in : n_in % rig->shape.unit_in, 0U);
  rig->n_units = fx->is_source ? 1U : n_in / rig->shape.unit_in;
  rig->n_out = rig->n_units * rig->shape.unit_out;
  rig->states = calloc(rig->n_units, sizeof(void*));
  rig->input_line = dry_rig_new(&rig->shape, fx->is_source ? 0U : n_in, max_block);
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    const size_t bytes = (rig->shape.unit_bytes + 63U) & ~(size_t)63U;
    rig->states[u] = bytes ? aligned_alloc(64U, bytes) : NULL;
    if (bytes) {
      memset(rig->states[u], 0xA5, bytes); // the engine does not promise zeros to unit_init
    }
  }
  rig_reset(rig);
  return STATUS_OK;
}

void
rig_free(FxRig* const rig)
{
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    free(rig->states[u]);
  }
  free(rig->states);
  free(rig->input_line.samples);
  if (rig->fx) {
    rig->fx->destroy(rig->node);
  }
  *rig = (FxRig){ 0 };
}

void
rig_reset(FxRig* const rig)
{
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    rig->fx->unit_init(rig->node, rig->states[u], u);
  }
  const size_t n_kept = rig->input_line.samples ? (size_t)rig->n_in * rig->input_line.n_frames : 0U;
  for (size_t i = 0; i < n_kept; ++i) {
    rig->input_line.samples[i] = 0.0F;
  }
}

void
rig_set(FxRig* const rig, const char* const id, const double value)
{
  const int p = fx_param_find(rig->fx, id);
  ck_assert_int_ge(p, 0);
  if (rig->fx->set_at) {
    rig->fx->set_at(rig->node, (uint32_t)p, value, rig->ramp_frames, 0U);
  } else {
    rig->fx->set(rig->node, (uint32_t)p, value, rig->ramp_frames);
  }
}

static uint32_t
next_length(const RigSplit split, const uint32_t max_block, uint64_t* const state)
{
  switch (split) {
  case RIG_RANDOM:
    return 1U + (uint32_t)(signal_random(state) % max_block);
  case RIG_SINGLE:
    return 1U;
  default:
    return max_block;
  }
}

void
rig_run(FxRig* const rig, const float* const* const in, float* const* const out,
        const size_t n_frames, const RigSplit split, const uint64_t seed)
{
  const uint32_t n_out = rig->n_out;
  const float** const in_now = calloc(rig->n_in + rig->n_side + 1U, sizeof(float*));
  const float** const side_now = in_now + rig->n_in;
  const uint32_t n_unit_side = rig->n_side / rig->n_units;
  float** const out_now = calloc(n_out, sizeof(float*));
  FxUnit* const units = calloc(rig->n_units, sizeof(FxUnit));
  uint64_t state = seed;
  for (size_t done = 0; done < n_frames;) {
    const uint32_t length = next_length(split, rig->max_block, &state);
    const uint32_t n = n_frames - done < length ? (uint32_t)(n_frames - done) : length;
    for (uint32_t c = 0; c < rig->n_in; ++c) {
      in_now[c] = in[c] + done;
    }
    for (uint32_t c = 0; c < rig->n_side; ++c) {
      side_now[c] = rig->side[c] ? rig->side[c] + done : NULL;
    }
    for (uint32_t c = 0; c < n_out; ++c) {
      out_now[c] = out[c] + done;
    }
    dry_rig_put(&rig->input_line, rig->fx, rig->node, in_now, rig->n_in, n);
    for (uint32_t u = 0; u < rig->n_units; ++u) {
      units[u] = (FxUnit){ .node = rig->node,
                           .state = rig->states[u],
                           .in = in_now + u * rig->shape.unit_in,
                           .out = out_now + u * rig->shape.unit_out,
                           .side = rig->n_side ? side_now + u * n_unit_side : NULL,
                           .dry = dry_rig_unit(&rig->input_line, &rig->shape, u) };
    }
    rig->fx->run(units, rig->n_units, n);
    dry_rig_advance(&rig->input_line, n);
    done += n;
  }
  free(units);
  free(out_now);
  free(in_now);
}
