// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of FxInfo for plugins of all formats.

#include "host_node.h"

#include "format.h"
#include "plugin_thread.h"

#include "engine/base/hint.h"
#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "engine/contract/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Neither LADSPA nor LV2 has a way to report the tail of a plugin.
#define TAIL_SECONDS 10.0

// A latency that grows beyond this after the node was made has no room in the line of the node's
// input, so that the dry signal is early.
#define MOVED_LATENCY_SECONDS 0.5

#define ALIGNMENT 64U // bytes, of arrays in a unit

// ---- create ----

static Status
find_calls(const Plugin* const plugin, const InstanceCalls** const calls, Error* const error)
{
  const PluginFormat* const format = plugin_format_find(plugin->origin.format);
  if (!format || !format->calls) {
    return error_set(error, STATUS_NO_BACKEND, "%s: this build cannot host %s plugins",
                     plugin->fx.name, plugin->origin.format);
  }
  *calls = format->calls;
  return STATUS_OK;
}

static Status
no_preset(const Plugin* const plugin, const char* const wrong, Arena* const arena,
          Error* const error)
{
  const char** const names = arena_take(arena, plugin->n_presets, sizeof(char*));
  for (uint32_t p = 0; names && p < plugin->n_presets; ++p) {
    names[p] = plugin->presets[p].name;
  }
  char hint[HINT_BYTES];
  return error_set(error, STATUS_NOT_FOUND, "%s: no preset \"%s\"; %s", plugin->fx.name, wrong,
                   name_hint(hint, wrong, names, names ? plugin->n_presets : 0U));
}

/// The preset that the rack names, or NULL.
static Status
find_preset(HostNode* const node, const FxSetup* const setup, const PluginPreset** const preset,
            Error* const error)
{
  const Plugin* const plugin = node->plugin;
  const char* wanted = NULL;
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    wanted = plugin->param_ports[p] == PLUGIN_PRESET ? setup->texts[p] : wanted;
  }
  *preset = NULL;
  if (!wanted || !*wanted) {
    return STATUS_OK;
  }
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    if (!strcmp(plugin->presets[p].name, wanted)) {
      *preset = &plugin->presets[p];
      return STATUS_OK;
    }
  }
  return no_preset(plugin, wanted, &node->arena, error);
}

static Status
take_memory(HostNode* const node, Error* const error)
{
  node->params.list = arena_take(&node->arena, node->plugin->fx.n_params, sizeof(HostParam));
  node->instances = arena_take(&node->arena, node->lanes.n_instances, sizeof(Instance*));
  node->latencies = arena_take(&node->arena, node->lanes.n_instances, sizeof(*node->latencies));
  host_notes_init(&node->notes, node->plugin, &node->arena);
  return node->arena.failed
             ? error_set(error, STATUS_NO_MEM, "%s: out of memory", node->plugin->fx.name)
             : STATUS_OK;
}

/// Append an array to a unit, and return its place.
static size_t
append(UnitLayout* const layout, const size_t n, const size_t size)
{
  const size_t place = layout->n_bytes;
  layout->n_bytes += (n * size + ALIGNMENT - 1U) / ALIGNMENT * ALIGNMENT;
  return place;
}

static void
lay_out(HostNode* const node)
{
  UnitLayout* const layout = &node->layout;
  const uint32_t n_params = node->plugin->fx.n_params;
  append(layout, 1U, sizeof(HostUnit));
  layout->moves = append(layout, n_params, sizeof(HostMove));
  layout->moving = append(layout, n_params, sizeof(uint32_t));
  layout->rows = append(layout, node->lanes.n_rows, sizeof(float*));
  layout->out = append(layout, node->lanes.n_out, sizeof(float*));
  layout->samples = append(layout, node->lanes.n_rows, (size_t)node->row_frames * sizeof(float));
  layout->delay =
      node->delay_frames
          ? append(layout, host_delay_samples(node->delay_frames, node->lanes.n_out), sizeof(float))
          : 0U;
}

/// Describe the node, whose instances are open, unless it is in quarantine.
static void
describe(HostNode* const node, const FxSetup* const setup, const uint32_t latency_frames,
         FxShape* const shape)
{
  const uint32_t row_frames = ALIGNMENT / sizeof(float);
  node->has_latency = !node->is_quarantined && node->calls->has_latency(node->instances[0]);
  node->row_frames = (setup->max_block_frames + row_frames - 1U) / row_frames * row_frames;
  node->bypass = (BypassShape){
    .n_in = node->lanes.n_in,
    .n_out = node->lanes.n_out,
    .fade_frames = (uint32_t)lrint(BYPASS_SECONDS * setup->rate_hz),
  };
  node->latency_limit = latency_limit(setup->rate_hz, setup->offline);
  for (uint32_t i = 0; i < node->lanes.n_instances; ++i) {
    atomic_init(&node->latencies[i], latency_frames);
  }
  lay_out(node);
  shape->unit_in = node->lanes.n_in;
  shape->unit_out = node->lanes.n_out;
  shape->latency_frames = latency_frames;
  shape->max_latency_frames =
      node->has_latency ? (uint32_t)(MOVED_LATENCY_SECONDS * setup->rate_hz) : 0U;
  const double tail_s = setup->fx->is_missing ? 0.0 : TAIL_SECONDS;
  shape->tail_frames = (uint64_t)(tail_s * setup->rate_hz);
  shape->unit_bytes = node->layout.n_bytes;
  shape->data_bytes = node->arena.n_bytes + node->opened_bytes + state_file_bytes(&node->state);
}

static void
host_destroy(void* const node)
{
  HostNode* const host = node;
  host_close(host);
  state_file_clear(&host->state);
  state_file_clear(&host->saved);
  host_paths_clear(&host->paths);
  arena_clear(&host->arena);
  free(host);
}

/// Find the process of the instances.
static Status
find_group(HostNode* const node, const FxSetup* const setup, Error* const error)
{
  const Status status = host_find_group(setup, &node->group, error);
  if (status || !node->group) {
    return status;
  }
  node->delay_frames = setup->max_block_frames;
  node->remote = setup->offline ? NULL : host_remote();
  node->calls = node->remote ? node->remote->calls(node->calls) : node->calls;
  return STATUS_OK;
}

/// Spread the channels over the instances.  The ports of a missing plugin are not known.
static Status
make_lanes(HostNode* const node, const FxSetup* const setup, Error* const error)
{
  if (setup->fx->is_missing) {
    host_lanes_pass(&node->lanes, setup->n_in, setup->n_out);
    return STATUS_OK;
  }
  const Status status = find_calls(node->plugin, &node->calls, error);
  return status ? status
                : host_lanes_make(&node->lanes, node->plugin, setup->n_in, &node->arena, error);
}

static Status
prepare(HostNode* const node, const FxSetup* const setup, FxShape* const shape, Error* const error)
{
  const PluginPreset* preset = NULL;
  uint32_t latency_frames = 0;
  Status status = make_lanes(node, setup, error);
  if (!status && !node->is_quarantined) {
    status = find_group(node, setup, error);
    status = status ? status : find_preset(node, setup, &preset, error);
    status = status ? status : host_read_state(node, setup, error);
  }
  status = status ? status : take_memory(node, error);
  if (!status) {
    host_params_init(&node->params, setup, preset);
    latency_frames = setup->dry_frames;
    status =
        node->is_quarantined ? STATUS_OK : host_open(node, setup, preset, &latency_frames, error);
  }
  node->group = NULL; // belongs to the set-up, which ends now
  if (!status) {
    describe(node, setup, latency_frames, shape);
  }
  return status;
}

static Status
host_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  HostNode* const host = rt_memory(sizeof(HostNode));
  if (!host) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", setup->fx->name);
  }
  host->plugin = host->params.plugin = plugin_of(setup->fx);
  host->params.is_cut = setup->fx->cut_at_events;
  host->uid = setup->uid;
  host->is_quarantined = setup->is_quarantined;
  const Status status = prepare(host, setup, shape, error);
  if (status) {
    host_destroy(host);
    return status;
  }
  *node = host;
  return STATUS_OK;
}

// ---- units ----

static void
host_unit_init(const void* const node, void* const state, const uint32_t index)
{
  const HostNode* const host = node;
  HostUnit* const unit = state;
  uint8_t* const memory = state;
  float* const samples = (float*)(void*)(memory + host->layout.samples);
  unit->instance = host->instances[index];
  unit->index = index;
  unit->n_runs = 0;
  unit->moves.list = (HostMove*)(void*)(memory + host->layout.moves);
  unit->moves.moving = (uint32_t*)(void*)(memory + host->layout.moving);
  unit->rows = (float**)(void*)(memory + host->layout.rows);
  unit->out = (float**)(void*)(memory + host->layout.out);
  unit->bypass = bypass_at(host->is_quarantined || host->params.is_bypassed);
  unit->is_behind = false;
  unit->delay = host->delay_frames ? host_delay_at(host->delay_frames, host->lanes.n_out,
                                                   (float*)(void*)(memory + host->layout.delay))
                                   : (HostDelay){ 0 };
  if (host->remote) {
    host->remote->drop(unit->instance);
  }
  for (uint32_t r = 0; r < host->lanes.n_rows; ++r) {
    unit->rows[r] = samples + (size_t)r * host->row_frames;
  }
  host_moves_rest(&unit->moves, &host->params);
  unit->n_notes = host->notes.n;
  if (!host->is_quarantined) {
    host_params_send(&host->params, host->calls, unit->instance);
  }
}

static double
host_initial(const void* const node, const uint32_t param)
{
  return ((const HostNode*)node)->params.list[param].initial;
}

static Status
host_renew_node(void* const node, Error* const error)
{
  return host_renew(node, error);
}

/// The longest latency of the instances, which usually have the same.
static uint32_t
host_latency(const void* const node)
{
  const HostNode* const host = node;
  uint32_t longest = 0;
  for (uint32_t i = 0; i < host->lanes.n_instances; ++i) {
    const uint32_t latency = atomic_load_explicit(&host->latencies[i], memory_order_relaxed);
    longest = latency > longest ? latency : longest;
  }
  return longest;
}

// ---- outside of audio ----

static bool
host_wants_restart(const void* const node)
{
  const HostNode* const host = node;
  bool wants = false;
  for (uint32_t i = 0; i < host->n_open && host->calls->wants_restart; ++i) {
    wants = wants || host->calls->wants_restart(host->instances[i]);
  }
  return wants;
}

static bool
host_is_lost(const void* const node)
{
  const HostNode* const host = node;
  bool is_lost = false;
  for (uint32_t i = 0; i < host->n_open && host->calls->is_lost; ++i) {
    is_lost = is_lost || host->calls->is_lost(host->instances[i]);
  }
  return is_lost;
}

static void
idle_here(void* const context)
{
  (void)context;
  uint32_t n_formats = 0;
  const PluginFormat* const* const formats = plugin_formats(&n_formats);
  for (uint32_t f = 0; f < n_formats; ++f) {
    if (formats[f]->calls->idle) {
      formats[f]->calls->idle();
    }
  }
  if (host_remote()) {
    host_remote()->idle();
  }
}

void
fx_idle(void)
{
  if (plugin_thread_exists()) { // there was a plugin
    plugin_thread_run(idle_here, NULL);
  }
}

// ---- run ----

static void
host_set_at(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames,
            const uint32_t frame)
{
  host_params_set(&((HostNode*)node)->params, param, value, ramp_frames, frame);
}

static void
host_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  HostParams* const params = &((HostNode*)node)->params;
  if (params->list[param].motion != MOTION_TRIGGER) { // the engine repeats values
    host_params_set(params, param, value, ramp_frames, 0U);
  }
}

static void
host_event(void* const node, const FxEvent* const event, const uint32_t frame)
{
  host_notes_add(&((HostNode*)node)->notes, event, frame);
}

/// A run of some units of nodes with the same plugin, one after the other.
typedef struct HostRun {
  const HostNode* node; ///< The present one
  float** rows; ///< As HostUnit; those of the first unit serve all, so that they stay in the cache
  float** out;
  uint64_t float_mode;
} HostRun;

/// Copy the inputs for the instance: a plugin may write to its inputs, which other nodes read.
static void
copy_inputs(const HostLanes* const lanes, float* const* const rows, const FxUnit* const io,
            const uint32_t first, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < lanes->n_rows; ++r) {
    const HostSource* const source = &lanes->sources[r];
    const float* const* const from = source->is_side ? io->side : io->in;
    if (from && from[source->channel]) {
      memcpy(rows[r], from[source->channel] + first, n_frames * sizeof(float));
    } else {
      memset(rows[r], 0, n_frames * sizeof(float)); // a side input without connections
    }
  }
}

/// Take over a latency that has changed, unless it is too long, or the dry signal sounds: then,
/// after the bypass.
static void
follow_latency(const HostNode* const node, HostUnit* const unit)
{
  if (unit->n_runs < HOST_FIRST_RUNS) {
    ++unit->n_runs; // not reported yet
    return;
  }
  const uint32_t now = host_whole_latency(node, node->calls->latency(unit->instance));
  _Atomic uint32_t* const latency = &node->latencies[unit->index];
  if (now <= node->latency_limit && now != atomic_load_explicit(latency, memory_order_relaxed) &&
      !bypass_is_heard(&unit->bypass)) {
    atomic_store_explicit(latency, now, memory_order_relaxed);
  }
}

/// Run the instance of a unit for a part of the block, or let the process of the group run it.
static void
run_instance(const HostRun* const run, HostUnit* const unit, const FxUnit* const io,
             const uint32_t first, const uint32_t n_frames)
{
  const HostNode* const node = run->node;
  copy_inputs(&node->lanes, run->rows, io, first, n_frames);
  if (node->remote) {
    node->remote->run(unit->instance, (const float* const*)run->rows, first, n_frames);
    return;
  }
  for (uint32_t o = 0; o < node->lanes.n_out; ++o) {
    run->out[o] = io->out[o] + first;
  }
  node->calls->run(unit->instance, (const float* const*)run->rows, run->out, n_frames);
}

/// Run all parts of the block.
static void
run_parts(const HostRun* const run, HostUnit* const unit, const FxUnit* const io,
          const uint32_t n_frames)
{
  const HostNode* const node = run->node;
  for (uint32_t done = 0; done < n_frames;) {
    const uint32_t n_left = n_frames - done;
    const uint32_t n =
        host_moves_are_at_rest(&unit->moves, &node->params)
            ? n_left
            : host_moves_run(&unit->moves, &node->params, node->calls, unit->instance, n_left);
    if (unit->n_notes != node->notes.n) {
      host_notes_send(&node->notes, &unit->n_notes, node->calls, unit->instance, done, n);
    }
    run_instance(run, unit, io, done, n);
    done += n;
  }
}

/// Send all values again, after blocks that the process of the group did not get.
static void
catch_up(const HostNode* const node, HostUnit* const unit)
{
  host_moves_rest(&unit->moves, &node->params);
  host_params_send(&node->params, node->calls, unit->instance);
  unit->n_notes = host_notes_oldest(&node->notes, unit->n_notes);
  unit->is_behind = false;
}

/// Give the block to the process of the group, and take what it has finished.
static void
exchange(const HostRun* const run, HostUnit* const unit, const FxUnit* const io,
         const uint32_t n_frames)
{
  const HostNode* const node = run->node;
  const HostRemote* const remote = node->remote;
  HostDelay* const delay = &unit->delay;
  if (remote->begin(unit->instance)) {
    if (unit->is_behind) {
      catch_up(node, unit);
    }
    run_parts(run, unit, io, n_frames);
    unit->is_behind = !remote->submit(unit->instance, delay->next, n_frames);
  } else {
    unit->is_behind = true;
  }
  const bool waits = host_waits();
  HostAnswer answer;
  while (remote->take(unit->instance, waits && !host_delay_knows(delay, n_frames), &answer)) {
    if (answer.has_sound) {
      host_delay_put(delay, answer.frame, answer.rows, answer.n_frames);
    }
  }
}

/// Replace the outputs by those of the block before.  Returns false if the input has to play.
static bool
play_delayed(const HostNode* const node, HostUnit* const unit, const FxUnit* const io,
             const uint32_t n_frames)
{
  HostDelay* const delay = &unit->delay;
  if (!node->remote) {
    host_delay_put(delay, delay->next, (const float* const*)io->out, n_frames);
  }
  const bool is_there = host_delay_get(delay, bypass_is_dry(&unit->bypass), io->out, n_frames);
  if (!is_there) {
    host_count_missed();
  }
  return is_there;
}

static void
run_unit(const HostRun* const run, const FxUnit* const io, const uint32_t n_frames)
{
  const HostNode* const node = run->node;
  HostUnit* const unit = io->state;
  if (node->remote) {
    exchange(run, unit, io, n_frames);
  } else {
    run_parts(run, unit, io, n_frames);
  }
  rt_keep_float_mode(run->float_mode);
  const bool is_there = !node->delay_frames || play_delayed(node, unit, io, n_frames);
  const bool is_bypassed = node->params.is_bypassed || !is_there;
  if (!bypass_is_idle(&unit->bypass, is_bypassed)) {
    const BypassHold hold = { unit->delay.begins, unit->delay.held };
    bypass_run(&unit->bypass, &node->bypass, is_bypassed, is_there ? NULL : &hold, io, n_frames);
  }
  if (node->has_latency) {
    follow_latency(node, unit);
  }
}

static void
run_quarantined(const HostNode* const node, const FxUnit* const io, const uint32_t n_frames)
{
  HostUnit* const unit = io->state;
  bypass_run(&unit->bypass, &node->bypass, true, NULL, io, n_frames);
}

/// Run the first of some units and those after it that are of the same node.  Returns how many.
static uint32_t
run_node(const HostRun* const run, const FxUnit* const units, const uint32_t n_units,
         const uint32_t n_frames)
{
  const HostNode* const node = run->node;
  if (node->is_quarantined) {
    run_quarantined(node, units, n_frames);
    return 1U;
  }
  uint32_t n = 0;
  const uint64_t before = recorder_enter(node->uid, RECORDER_RUN);
  for (; n < n_units && units[n].node == node; ++n) {
    run_unit(run, &units[n], n_frames);
  }
  recorder_leave(before);
  return n;
}

/// Wake the processes of groups, each once for all units.
static void
wake_groups(const FxUnit* const units, const uint32_t n_units)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const HostNode* const node = units[u].node;
    if (node->remote && !node->is_quarantined) {
      node->remote->wake(((const HostUnit*)units[u].state)->instance);
    }
  }
}

static void
host_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  const HostUnit* const first = units->state;
  HostRun run = { .rows = first->rows, .out = first->out, .float_mode = rt_float_mode() };
  bool any_remote = false;
  for (uint32_t u = 0; u < n_units;) {
    run.node = units[u].node;
    any_remote = any_remote || run.node->remote;
    u += run_node(&run, units + u, n_units - u, n_frames);
  }
  if (any_remote) {
    wake_groups(units, n_units);
  }
}

const FxInfo host_functions = {
  .tolerance_reason = "the output of many plugins depends on the lengths of the blocks",
  .create = host_create,
  .initial = host_initial,
  .destroy = host_destroy,
  .unit_init = host_unit_init,
  .renew = host_renew_node,
  .set = host_set,
  .set_at = host_set_at,
  .event = host_event,
  .run = host_run,
  .latency = host_latency,
  .wants_restart = host_wants_restart,
  .is_lost = host_is_lost,
  .save = host_save,
  .end_save = host_end_save,
};
