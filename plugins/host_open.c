// SPDX-License-Identifier: GPL-3.0-or-later
// Opens, renews and closes the instances of a node.  A plugin may change the floating-point mode,
// the locale or the handlers of signals, so that every call here puts them back.

#include "host_node.h"

#include "plugin_thread.h"
#include "process_memory.h"
#include "process_state.h"

#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "engine/contract/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Before each call for a new instance: fails if the time for the nodes of an edit is over.
static Status
check_time(const HostNode* const node, const uint32_t n_made, Error* const error)
{
  if (!host_is_late()) {
    return STATUS_OK;
  }
  return error_set(error, STATUS_LIMIT,
                   "%s: the plugins take too long to start: %u of %u instances of this node were "
                   "ready in time",
                   node->plugin->fx.name, n_made, node->lanes.n_instances);
}

/// Rows for runs of silence.
typedef struct Silence {
  float** in;
  float** out;
  float* samples; ///< [n_in + n_out][max_block_frames]
  size_t n_bytes; ///< Of the samples
} Silence;

static Status
silence_new(const HostLanes* const lanes, const uint32_t n_frames, Silence* const silence)
{
  const uint32_t n_rows = lanes->n_rows + lanes->n_out;
  silence->n_bytes = (size_t)n_rows * n_frames * sizeof(float);
  silence->in = calloc(n_rows, sizeof(float*));
  silence->samples = rt_memory(silence->n_bytes);
  if (!silence->in || !silence->samples) {
    return STATUS_NO_MEM;
  }
  silence->out = silence->in + lanes->n_rows;
  for (uint32_t r = 0; r < n_rows; ++r) {
    silence->in[r] = silence->samples + (size_t)r * n_frames;
  }
  return STATUS_OK;
}

static void
silence_free(Silence* const silence)
{
  free(silence->in);
  free(silence->samples);
}

Status
host_changed(const Plugin* const plugin, Error* const error)
{
  return error_set(error, STATUS_FILE,
                   "%s: %s has changed since the last scan; run `warprack scan`, and restart the "
                   "program if it runs with --in-process",
                   plugin->fx.name, plugin->binary);
}

static Status
check_binary(const Plugin* const plugin, Error* const error)
{
  FileKey key;
  const Status status = file_key(plugin->binary, &key, error);
  const bool is_same = status || !memcmp(&key, &plugin->binary_key, sizeof(key));
  return is_same ? status : host_changed(plugin, error);
}

/// Set the properties that are texts or files.
static Status
send_texts(const HostNode* const node, const FxSetup* const setup, Instance* const instance,
           Error* const error)
{
  const Plugin* const plugin = node->plugin;
  Status status = STATUS_OK;
  for (uint32_t p = 0; !status && p < plugin->fx.n_params; ++p) {
    const FxParam* const param = &plugin->fx.params[p];
    const char* const text = param->kind == PARAM_PATH ? setup->paths[p] : setup->texts[p];
    if (plugin->param_ports[p] >= 0 && fx_param_is_text(param) && text) {
      status = node->calls->set_text(instance, (uint32_t)plugin->param_ports[p], text, error);
    }
  }
  return status;
}

/// Send all control inputs of an instance that differ from their initial values.
static void
send_values(const HostNode* const node, const FxSetup* const setup,
            const PluginPreset* const preset, Instance* const instance)
{
  const Plugin* const plugin = node->plugin;
  for (uint32_t v = 0; preset && v < preset->n_values; ++v) { // of ports without a parameter, too
    const PluginPort* const port = &plugin->ports[preset->ports[v]];
    node->calls->set(instance, preset->ports[v],
                     host_port_clip(port, setup->rate_hz, preset->values[v]), 0U);
  }
  host_params_send(&node->params, node->calls, instance);
  host_send_modes(plugin, node->calls, instance, setup->offline);
}

static bool
has_state(const PluginPreset* const preset)
{
  return preset && preset->state && *preset->state;
}

static Status
open_instance(HostNode* const node, const FxSetup* const setup, const PluginPreset* const preset,
              Error* const error)
{
  const InstanceSetup instance_setup = { .rate_hz = setup->rate_hz,
                                         .max_block_frames = setup->max_block_frames,
                                         .offline = setup->offline,
                                         .preset = has_state(preset) ? preset : NULL,
                                         .state = &node->state,
                                         .index = node->n_open,
                                         .uid = node->uid,
                                         .group = node->group,
                                         .paths = &node->paths };
  Instance** const instance = &node->instances[node->n_open];
  ProcessState state;
  process_state_save(&state);
  const Status status = node->calls->open(node->plugin, &instance_setup, instance, error);
  process_state_restore(&state);
  if (!status) {
    ++node->n_open;
    if (node->calls->state_has_values && (node->state.n_parts || has_state(preset))) {
      host_params_take(&node->params, setup->given, node->calls, *instance);
    }
    send_values(node, setup, preset, *instance);
  }
  return status ? status : send_texts(node, setup, *instance, error);
}

static Status
renew_instance(const HostNode* const node, Instance* const instance, Error* const error)
{
  ProcessState state;
  process_state_save(&state);
  const uint64_t before = recorder_enter(node->uid, RECORDER_RENEW);
  const Status status = node->calls->renew(instance, error);
  recorder_leave(before);
  process_state_restore(&state);
  return status;
}

/// Let an instance run silence.
static Status
run_silence(const HostNode* const node, Instance* const instance, const Silence* const silence,
            const uint32_t n_frames, Error* const error)
{
  if (node->remote) {
    return node->remote->silence(instance, n_frames, error);
  }
  memset(silence->samples, 0, silence->n_bytes); // the plugin may have written to its inputs
  node->calls->run(instance, (const float* const*)silence->in, silence->out, n_frames);
  return STATUS_OK;
}

/// Run silence, renew the instance, and find its latency.  The latency port has it after a run;
/// CLAP plugins may change it when they are activated.
static Status
find_latency(const HostNode* const node, const uint32_t i, const Silence* const silence,
             const FxSetup* const setup, uint32_t* const latency_frames, Error* const error)
{
  Instance* const instance = node->instances[i];
  Status status = STATUS_OK;
  ProcessState state;
  process_state_save(&state);
  for (uint32_t r = 0; !status && r < HOST_FIRST_RUNS; ++r) {
    status = check_time(node, i, error);
    status = status ? status : run_silence(node, instance, silence, setup->max_block_frames, error);
  }
  process_state_restore(&state);
  const uint32_t after_run = node->calls->latency(instance);
  status = status ? status : check_time(node, i, error);
  status = status ? status : renew_instance(node, instance, error);
  const uint32_t renewed = status ? 0U : node->calls->latency(instance);
  *latency_frames = renewed ? renewed : after_run;
  return status;
}

static Status
check_latency(const HostNode* const node, const FxSetup* const setup, const uint32_t first,
              const uint32_t other, Error* const error)
{
  const char* const name = node->plugin->fx.name;
  if (first != other) {
    return error_set(error, STATUS_LIMIT,
                     "%s: the instances have different latencies, %u and %u frames", name, first,
                     other);
  }
  const uint32_t limit = latency_limit(setup->rate_hz, setup->offline);
  if (first > limit) {
    return error_set(error, STATUS_LIMIT,
                     "%s: the plugin has a latency of %u frames (%.3g s); at most %.4g s", name,
                     first, first / setup->rate_hz, limit / setup->rate_hz);
  }
  return STATUS_OK;
}

static Status
open_all(HostNode* const node, const FxSetup* const setup, const PluginPreset* const preset,
         const Silence* const silence, uint32_t* const latency_frames, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t i = 0; !status && i < node->lanes.n_instances; ++i) {
    uint32_t latency = 0;
    if (!node->remote && host_remote()) {
      host_remote()->idle(); // an edit delays fx_idle()
    }
    const uint64_t before = recorder_enter(node->uid, RECORDER_INSTANTIATE);
    status = check_time(node, i, error);
    status = status ? status : open_instance(node, setup, preset, error);
    status = status ? status : find_latency(node, i, silence, setup, &latency, error);
    recorder_leave(before);
    latency = host_whole_latency(node, latency);
    *latency_frames = i ? *latency_frames : latency;
    status = status ? status : check_latency(node, setup, *latency_frames, latency, error);
  }
  return status;
}

/// A call for the thread of plugins.
typedef struct HostCall {
  HostNode* node;
  const FxSetup* setup;
  const PluginPreset* preset;
  uint32_t latency_frames;
  Status status;
  Error* error;
} HostCall;

/// The memory by which the process of the instances has grown.
static uint64_t
find_growth(const HostNode* const node, const ProcessMemory* const before)
{
  return node->remote && node->n_open ? node->remote->growth(node->instances[0])
                                      : process_memory_growth(before);
}

/// The memory of the rings to another process.
static size_t
ring_bytes(const HostNode* const node)
{
  size_t n_bytes = 0;
  for (uint32_t i = 0; node->remote && i < node->n_open; ++i) {
    n_bytes += node->remote->ring_bytes(node->instances[i]);
  }
  return n_bytes;
}

/// The memory of the instances: that of their process has grown by `growth_bytes`, less if they use
/// memory that closed ones have left.
static size_t
instance_bytes(const HostNode* const node, const uint64_t growth_bytes)
{
  const PluginReport* const report = node->plugin->report;
  const uint64_t reported_bytes = report ? node->n_open * report->n_bytes : 0U;
  return growth_bytes > reported_bytes ? growth_bytes : reported_bytes;
}

static void
open_here(void* const context)
{
  HostCall* const call = context;
  HostNode* const node = call->node;
  Silence silence = { 0 };
  if (silence_new(&node->lanes, call->setup->max_block_frames, &silence)) {
    call->status =
        error_set(call->error, STATUS_NO_MEM, "%s: out of memory", node->plugin->fx.name);
  } else {
    const ProcessMemory before = process_memory();
    call->status =
        open_all(node, call->setup, call->preset, &silence, &call->latency_frames, call->error);
    node->opened_bytes = instance_bytes(node, find_growth(node, &before)) + ring_bytes(node);
  }
  silence_free(&silence);
}

Status
host_open(HostNode* const node, const FxSetup* const setup, const PluginPreset* const preset,
          uint32_t* const latency_frames, Error* const error)
{
  HostCall call = { .node = node, .setup = setup, .preset = preset, .error = error };
  Status status = check_binary(node->plugin, error);
  status = status ? status : plugin_thread_start(error);
  if (!status) {
    plugin_thread_run(open_here, &call);
    status = call.status;
    *latency_frames = call.latency_frames;
  }
  return status;
}

static void
close_here(void* const context)
{
  HostNode* const node = context;
  while (node->n_open) {
    ProcessState state;
    process_state_save(&state);
    const uint64_t before = recorder_enter(node->uid, RECORDER_CLOSE);
    node->calls->close(node->instances[--node->n_open]);
    recorder_leave(before);
    process_state_restore(&state);
  }
}

void
host_close(HostNode* const node)
{
  if (node->n_open) {
    plugin_thread_run(close_here, node);
  }
}

static void
renew_here(void* const context)
{
  HostCall* const call = context;
  for (uint32_t i = 0; !call->status && i < call->node->n_open; ++i) {
    call->status = renew_instance(call->node, call->node->instances[i], call->error);
  }
}

Status
host_renew(HostNode* const node, Error* const error)
{
  HostCall call = { .node = node, .error = error };
  if (node->n_open) {
    plugin_thread_run(renew_here, &call);
  }
  return call.status;
}
