// SPDX-License-Identifier: GPL-3.0-or-later
// The steps that tools/sweep takes with a plugin, in warprack's host.

#include "sweep.h"

#include "engine/contract/package.h"
#include "tests/support/fx_rig.h"
#include "tests/support/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BLOCK 64U
#define N_SETTINGS  4U // sets of random values

static const RigArg no_args[] = { { .id = NULL } };

/// Open a node with the default values; `n_lanes` instances.
static Status
open_rig(const SweepPlay* const play, const uint32_t n_lanes, const uint32_t block_frames,
         FxRig* const rig, Error* const failure)
{
  return rig_try_fx(rig, &play->plugin->fx, SWEEP_RATE_HZ, n_lanes * play->in.n_rows, block_frames,
                    true, no_args, 0, failure);
}

/// Play the whole signal; each instance gets the same.
static void
run(FxRig* const rig, const SweepPlay* const play, const RigSplit split, SweepRows* const out)
{
  const float* in[SWEEP_MAX_ROWS];
  for (uint32_t r = 0; r < rig->n_in; ++r) {
    in[r] = play->in.rows[r % play->in.n_rows];
  }
  sweep_rows_take(out, rig->n_out, play->in.n_frames);
  rig_run(rig, in, out->rows, play->in.n_frames, split, 1);
}

static bool
is_finite(const SweepRows* const rows)
{
  for (size_t i = 0; i < (size_t)rows->n_rows * rows->n_frames; ++i) {
    if (!isfinite(rows->samples[i])) {
      return false;
    }
  }
  return true;
}

/// Whether the first rows of `b` are those of `a`, and the next ones, too.
static bool
is_same(const SweepRows* const a, const SweepRows* const b)
{
  bool is = b->n_rows % a->n_rows == 0U;
  const size_t n = (size_t)a->n_rows * a->n_frames;
  for (uint32_t r = 0; is && r < b->n_rows; r += a->n_rows) {
    is = !memcmp(a->samples, b->rows[r], n * sizeof(float));
  }
  return is;
}

static void
begin(const char* const step)
{
  fprintf(stderr, "step: %s\n", step);
}

static void
put(json_t* const result, const char* const step, const bool is_good)
{
  json_object_set_new(result, step, json_boolean(is_good));
}

/// Set every parameter that can move while the node plays to a random value.
static void
set_random_values(FxRig* const rig, uint64_t* const seed)
{
  for (uint32_t p = 0; p < rig->fx->n_params; ++p) {
    const FxParam* const param = &rig->fx->params[p];
    const double part = (double)(signal_random(seed) % 1001U) / 1000.0;
    double min = 0.0;
    double max = 0.0;
    if (param->structural || !strcmp(param->id, "bypass") || !fx_param_range(param, &min, &max)) {
      continue;
    }
    double value = min + part * (max - min);
    if (param->kind == PARAM_CHOICE) {
      uint32_t n = 0;
      while (param->choices[n]) {
        ++n;
      }
      value = fx_choice_number(param, (uint32_t)(part * (n - 1U)));
    } else if (param->kind != PARAM_NUMBER) {
      value = fmin(ceil(value), floor(max));
    }
    rig->fx->set_at(rig->node, p, value, rig->ramp_frames, 0U);
  }
}

// ---- steps ----

/// A step in a node of its own.
static Status
step_alone(const SweepPlay* const play, const uint32_t n_lanes, const uint32_t block_frames,
           const RigSplit split, SweepRows* const out, Error* const failure)
{
  FxRig rig;
  const Status status = open_rig(play, n_lanes, block_frames, &rig, failure);
  if (!status) {
    run(&rig, play, split, out);
    rig_free(&rig);
  }
  return status;
}

static void
step_values(const SweepPlay* const play, SweepRows* const out, json_t* const result,
            Error* const failure)
{
  FxRig rig;
  begin("values");
  if (open_rig(play, 1U, play->block_frames, &rig, failure)) {
    put(result, "values", false);
    return;
  }
  bool is_good = true;
  uint64_t seed = 1;
  for (uint32_t s = 0; s < N_SETTINGS && is_good; ++s) {
    set_random_values(&rig, &seed);
    run(&rig, play, RIG_BLOCKS, out);
    is_good = is_finite(out);
  }
  put(result, "values", is_good);
  rig_free(&rig);
}

// ---- the state ----

/// Save the state of a node to the file of the play, without files that the plugin has made, which
/// no rig can load.  Returns an error, or the bytes of the whole package.
static Status
save_state(const SweepPlay* const play, FxRig* const rig, unsigned char** const bytes,
           size_t* const n_bytes, Error* const failure)
{
  PackageFile files[PACKAGE_MAX_FILES];
  uint32_t n_files = 0;
  Status status = rig->fx->save(rig->node, &rig->shape, bytes, n_bytes, failure);
  status = status ? status : package_read(*bytes, *n_bytes, files, &n_files, failure);
  FILE* const file = status ? NULL : fopen(play->state, "wb");
  if (file) {
    (void)!fwrite(files[0].bytes, 1, files[0].n_bytes, file);
    fclose(file);
  }
  return status;
}

/// Open a node with the state in the file, play it, and save its state.
static Status
play_state(const SweepPlay* const play, SweepRows* const out, unsigned char** const bytes,
           size_t* const n_bytes, Error* const failure)
{
  const FxInfo* const fx = &play->plugin->fx;
  const RigArg state = { .id = fx->params[fx->state_param].id, .text = play->state };
  FxRig rig;
  Status status = rig_try_fx(&rig, fx, SWEEP_RATE_HZ, play->in.n_rows, play->block_frames, true,
                             &state, 1U, failure);
  if (!status) {
    run(&rig, play, RIG_BLOCKS, out);
    status = save_state(play, &rig, bytes, n_bytes, failure);
    rig_free(&rig);
  }
  return status;
}

/// Save the state of a node that has played, and make another node with it, which plays and saves
/// its own.  Plugins without states have no such step.
static void
step_state(const SweepPlay* const play, SweepRows* const out, json_t* const result)
{
  unsigned char* states[2] = { NULL, NULL };
  size_t n_bytes[2] = { 0, 0 };
  Error failure = { STATUS_OK, "" };
  FxRig rig;
  if (!play->plugin->fx.save) {
    return;
  }
  begin("state");
  Status status = open_rig(play, 1U, play->block_frames, &rig, &failure);
  if (!status) {
    run(&rig, play, RIG_BLOCKS, out);
    status = save_state(play, &rig, &states[0], &n_bytes[0], &failure);
    rig_free(&rig);
  }
  status = status ? status : play_state(play, out, &states[1], &n_bytes[1], &failure);
  put(result, "state", !status && is_finite(out));
  put(result, "state_same",
      !status && n_bytes[0] == n_bytes[1] && !memcmp(states[0], states[1], n_bytes[0]));
  json_object_set_new(result, "state_reason", json_string(failure.text));
  free(states[0]);
  free(states[1]);
}

/// The steps of the first node: two runs with a renewal between them.
static Status
step_run(const SweepPlay* const play, SweepRows* const first, SweepRows* const out,
         json_t* const result, Error* const failure)
{
  FxRig rig;
  begin("run");
  Status status = open_rig(play, 1U, play->block_frames, &rig, failure);
  if (status) {
    return status;
  }
  json_object_set_new(result, "latency", json_integer(rig.shape.latency_frames));
  run(&rig, play, RIG_BLOCKS, first);
  put(result, "run", is_finite(first));
  begin("renew");
  status = rig.fx->renew(rig.node, failure);
  if (!status) {
    rig_reset(&rig);
    run(&rig, play, RIG_BLOCKS, out);
    put(result, "renew", is_same(first, out));
  }
  begin("close");
  rig_free(&rig);
  return status;
}

json_t*
sweep_steps(const SweepPlay* const play, SweepRows* const first)
{
  static const struct {
    const char* name;
    uint32_t n_lanes, block_frames; ///< 0: as the first run
    RigSplit split;
    bool is_compared; ///< Else the samples may differ, but are finite
  } steps[] = {
    { "twice", 1, 0, RIG_BLOCKS, true },
    { "two", 2, 0, RIG_BLOCKS, true },
    { "small", 1, SMALL_BLOCK, RIG_BLOCKS, false },
    { "odd", 1, 0, RIG_RANDOM, false },
  };
  json_t* const result = json_object();
  SweepRows out = { 0 };
  Error failure = { STATUS_OK, "" };
  Status status = step_run(play, first, &out, result, &failure);
  for (size_t s = 0; !status && s < ARRAY_LEN(steps); ++s) {
    begin(steps[s].name);
    const uint32_t block = steps[s].block_frames ? steps[s].block_frames : play->block_frames;
    status = step_alone(play, steps[s].n_lanes, block, steps[s].split, &out, &failure);
    const bool is_same_here = !status && is_same(first, &out);
    put(result, steps[s].name, steps[s].is_compared ? is_same_here : !status && is_finite(&out));
    if (!steps[s].is_compared) {
      char key[32];
      snprintf(key, sizeof(key), "%s_same", steps[s].name);
      put(result, key, is_same_here);
    }
  }
  if (!status) {
    step_values(play, &out, result, &failure);
    step_state(play, &out, result);
  }
  begin("end");
  put(result, "plays", !status);
  json_object_set_new(result, "reason", json_string(failure.text));
  return result;
}
