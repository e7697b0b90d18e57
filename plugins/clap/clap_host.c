// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Runs CLAP plugins.

  Changes of parameters and notes go to the plugin with their frame, so no block is split for them.
  A plugin is started by the thread that first runs it, and stopped by the builder.
*/

#include "clap_host.h"

#include "clap_events.h"
#include "clap_library.h"
#include "clap_presets.h"
#include "clap_state.h"
#include "clap_threads.h"
#include "engine/base/recorder.h"
#include "plugins/process_state.h"

#include <clap/ext/audio-ports.h>
#include <clap/ext/latency.h>
#include <clap/ext/params.h>
#include <clap/ext/render.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// The audio ports of one direction.
typedef struct Buffers {
  clap_audio_buffer_t* ports; ///< [n_ports]
  float** rows;               ///< [n_rows] for the plugin; `ports` point into it
  uint32_t n_ports, n_rows;
} Buffers;

struct Instance {
  const Plugin* plugin;
  InstanceSetup setup;
  uint32_t node; ///< The node that it plays for, for the flight recorder
  ClapHost host;
  const clap_plugin_t* clap;
  ClapEvents events;
  Buffers in, out;
  const clap_plugin_latency_t* latency_calls; ///< NULL: it has no latency
  _Atomic uint32_t latency_frames;            ///< When the plugin was last asked
  bool is_active, is_processing;
  Arena arena; ///< All memory but this structure
  Instance* next;
};

/// All instances, for idle(); belongs to the main thread of plugins.
static Instance* instances;

// ---- memory ----

static Status
take_memory(Instance* const instance, Error* const error)
{
  Arena* const arena = &instance->arena;
  instance->in.n_rows = plugin_count_audio(instance->plugin, false);
  instance->out.n_rows = plugin_count_audio(instance->plugin, true);
  instance->in.rows = arena_take(arena, instance->in.n_rows, sizeof(float*));
  instance->out.rows = arena_take(arena, instance->out.n_rows, sizeof(float*));
  clap_events_init(&instance->events, instance->plugin, instance->setup.rate_hz, arena);
  return !arena->failed ? STATUS_OK
                        : error_set(error, STATUS_NO_MEM, "no memory for clap %s",
                                    instance->plugin->origin.id);
}

// ---- the plugin ----

static Status
create_plugin(Instance* const instance, Error* const error)
{
  const char* const id = instance->plugin->origin.id;
  ClapFactories file = { 0 };
  const Status status = clap_library_open(instance->plugin->binary, &file, error);
  if (status) {
    return status;
  }
  instance->clap = file.plugins->create_plugin(file.plugins, &instance->host.clap, id);
  if (!instance->clap) {
    return host_changed(instance->plugin, error);
  }
  instance->host.plugin = instance->clap;
  return instance->clap->init(instance->clap)
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT, "clap %s makes no instance", id);
}

/// Point the ports to rows: the plugin may write to those of the inputs, too.
static void
point_buffers(Buffers* const buffers, const void* const rows)
{
  memcpy(buffers->rows, rows, buffers->n_rows * sizeof(float*));
  uint32_t row = 0;
  for (uint32_t p = 0; p < buffers->n_ports; ++p) {
    clap_audio_buffer_t* const port = &buffers->ports[p];
    *port = (clap_audio_buffer_t){
      .data32 = &buffers->rows[row],
      .channel_count = port->channel_count,
    };
    row += port->channel_count;
  }
}

/// Read the number of channels of each port.  The channels must be those of the description.
static Status
find_ports(Instance* const instance, const bool is_input, Buffers* const buffers,
           Error* const error)
{
  const clap_plugin_t* const clap = instance->clap;
  const clap_plugin_audio_ports_t* const calls = clap->get_extension(clap, CLAP_EXT_AUDIO_PORTS);
  const uint32_t n_ports = calls ? calls->count(clap, is_input) : 0U;
  if (n_ports > PLUGIN_MAX_PORTS) {
    return host_changed(instance->plugin, error);
  }
  buffers->ports = arena_take(&instance->arena, n_ports, sizeof(clap_audio_buffer_t));
  if (!buffers->ports) {
    return error_set(error, STATUS_NO_MEM, "no memory for clap %s", instance->plugin->origin.id);
  }
  uint64_t n_rows = 0;
  for (uint32_t p = 0; p < n_ports; ++p) {
    clap_audio_port_info_t info = { 0 };
    if (!calls->get(clap, p, is_input, &info)) {
      return host_changed(instance->plugin, error);
    }
    buffers->ports[p].channel_count = info.channel_count;
    n_rows += info.channel_count;
  }
  buffers->n_ports = n_ports;
  return n_rows == buffers->n_rows ? STATUS_OK : host_changed(instance->plugin, error);
}

static void
set_render_mode(const Instance* const instance)
{
  const clap_plugin_t* const clap = instance->clap;
  const clap_plugin_render_t* const calls = clap->get_extension(clap, CLAP_EXT_RENDER);
  if (calls && calls->set && instance->setup.offline) {
    calls->set(clap, CLAP_RENDER_OFFLINE);
  }
}

static void
find_latency(Instance* const instance)
{
  const clap_plugin_t* const clap = instance->clap;
  const clap_plugin_latency_t* const calls = clap->get_extension(clap, CLAP_EXT_LATENCY);
  instance->latency_calls = calls && calls->get ? calls : NULL;
}

/// The state that a user has saved; NULL: none.
static const StatePart*
saved_state(const Instance* const instance)
{
  const InstanceSetup* const setup = &instance->setup;
  return setup->state ? state_file_part(setup->state, setup->index) : NULL;
}

/// Load the preset, and then the state: what it has counts.
static Status
load_past(const Instance* const instance, Error* const error)
{
  const PluginPreset* const preset = instance->setup.preset;
  const StatePart* const part = saved_state(instance);
  const Status status =
      preset ? clap_preset_load(instance->clap, instance->plugin, preset, error) : STATUS_OK;
  return status || !part ? status : clap_state_load(instance->clap, part, error);
}

/// Set each parameter that has another value to its initial value, which is a decimal number.
/// After a preset or a state, keep the values, for clap_get().
static void
set_initial_values(Instance* const instance)
{
  const clap_plugin_t* const clap = instance->clap;
  const clap_plugin_params_t* const calls = clap->get_extension(clap, CLAP_EXT_PARAMS);
  const bool keeps_values = instance->setup.preset || saved_state(instance);
  for (uint32_t p = 0; calls && calls->get_value && p < instance->plugin->n_ports; ++p) {
    const PluginPort* const port = &instance->plugin->ports[p];
    double value = port->initial;
    if (port->type != PORT_CONTROL) {
      continue;
    }
    const bool is_known = calls->get_value(clap, port->index, &value) && isfinite(value);
    if (port->flags & PORT_OUTPUT || keeps_values) {
      atomic_init(&instance->events.values[p], is_known ? value : port->initial);
    } else if (is_known && (float)value != (float)port->initial) {
      clap_events_add(&instance->events, p, port->initial, 0);
    }
  }
}

/// Ask for the latency, which only an active plugin tells.  [main thread of plugins]
static void
read_latency(Instance* const instance)
{
  if (instance->latency_calls && instance->is_active) {
    atomic_store_explicit(&instance->latency_frames, instance->latency_calls->get(instance->clap),
                          memory_order_relaxed);
  }
}

/// Activate the plugin.  This also does the restart that the plugin may have requested.
static Status
activate(Instance* const instance, Error* const error)
{
  const clap_plugin_t* const clap = instance->clap;
  const InstanceSetup* const setup = &instance->setup;
  atomic_store(&instance->host.n_reports[CLAP_REPORT_RESTART], 0);
  if (!clap->activate(clap, setup->rate_hz, 1, setup->max_block_frames)) {
    return error_set(error, STATUS_LIMIT, "clap %s does not run at %.0f Hz in blocks of %u frames",
                     instance->plugin->origin.id, setup->rate_hz, setup->max_block_frames);
  }
  instance->is_active = true;
  clap_events_restart(&instance->events);
  read_latency(instance);
  return STATUS_OK;
}

/// The player does not run the instance, so that this thread may stop it.
static void
deactivate(Instance* const instance)
{
  const clap_plugin_t* const clap = instance->clap;
  if (instance->is_processing) {
    const ClapThread before = clap_thread_change(CLAP_THREAD_AUDIO);
    clap->stop_processing(clap);
    clap_thread_change(before);
  }
  if (instance->is_active) {
    clap->deactivate(clap);
  }
  instance->is_processing = false;
  instance->is_active = false;
}

static void
free_instance(Instance* const instance)
{
  if (instance->clap) {
    deactivate(instance);
    instance->clap->destroy(instance->clap);
    clap_host_print(&instance->host);
  }
  arena_clear(&instance->arena);
  free(instance);
}

static Status
start_instance(Instance* const instance, Error* const error)
{
  Status status = take_memory(instance, error);
  status = status ? status : create_plugin(instance, error);
  status = status ? status : find_ports(instance, true, &instance->in, error);
  status = status ? status : find_ports(instance, false, &instance->out, error);
  if (!status) {
    set_render_mode(instance);
    find_latency(instance);
    instance->events.note_port = clap_note_port(instance->clap);
    status = load_past(instance, error);
    status = status ? status : activate(instance, error);
  }
  if (!status) {
    set_initial_values(instance);
  }
  return status;
}

static Status
clap_open(const Plugin* const plugin, const InstanceSetup* const setup, Instance** const out,
          Error* const error)
{
  Instance* const instance = calloc(1, sizeof(*instance));
  if (!instance) {
    return error_set(error, STATUS_NO_MEM, "no memory for clap %s", plugin->origin.id);
  }
  instance->plugin = plugin;
  instance->setup = *setup;
  instance->node = recorder_node(); // which is being made
  const ClapThread caller = clap_thread_change(CLAP_THREAD_MAIN);
  clap_host_init(&instance->host, plugin->origin.id);
  const Status status = start_instance(instance, error);
  if (status) {
    free_instance(instance);
  } else {
    instance->next = instances;
    instances = instance;
    *out = instance;
  }
  clap_thread_change(caller);
  return status;
}

static void
clap_close(Instance* const instance)
{
  const ClapThread caller = clap_thread_change(CLAP_THREAD_MAIN);
  Instance** at = &instances;
  while (*at != instance) {
    at = &(*at)->next;
  }
  *at = instance->next;
  free_instance(instance);
  clap_thread_change(caller);
}

/// Not all plugins forget their past when they are activated, so they are reset, too.
static Status
clap_renew(Instance* const instance, Error* const error)
{
  const ClapThread caller = clap_thread_change(CLAP_THREAD_MAIN);
  deactivate(instance);
  instance->events.n_notes = 0; // those of a block that the plugin did not run
  const Status status = activate(instance, error);
  if (!status) {
    const ClapThread before = clap_thread_change(CLAP_THREAD_AUDIO);
    instance->clap->reset(instance->clap);
    clap_thread_change(before);
  }
  clap_thread_change(caller);
  return status;
}

static Status
clap_save(Instance* const instance, TextBuffer* const part, Error* const error)
{
  const ClapThread caller = clap_thread_change(CLAP_THREAD_MAIN);
  const Status status = clap_state_save(instance->clap, part, error);
  clap_thread_change(caller);
  return status;
}

// ---- real time ----

static void
clap_set(Instance* const instance, const uint32_t p, const double value, const uint32_t frame)
{
  if (p < instance->plugin->n_ports) {
    clap_events_add(&instance->events, p, value, frame);
  } else {
    clap_events_set_tempo(&instance->events, value, frame);
  }
}

static void
clap_event(Instance* const instance, const FxEvent* const event, const uint32_t frame)
{
  clap_events_add_note(&instance->events, event, frame);
}

static double
clap_get(const Instance* const instance, const uint32_t p)
{
  return atomic_load_explicit(&instance->events.values[p], memory_order_relaxed);
}

static bool
start_processing(Instance* const instance)
{
  const clap_plugin_t* const clap = instance->clap;
  instance->is_processing =
      instance->is_processing || (instance->is_active && clap->start_processing(clap));
  return instance->is_processing;
}

static clap_process_status
process(Instance* const instance, const uint32_t n_frames)
{
  const clap_process_t block = {
    .steady_time = (int64_t)instance->events.clock.n_frames,
    .frames_count = n_frames,
    .transport = &instance->events.transport,
    .audio_inputs = instance->in.ports,
    .audio_outputs = instance->out.ports,
    .audio_inputs_count = instance->in.n_ports,
    .audio_outputs_count = instance->out.n_ports,
    .in_events = &instance->events.in,
    .out_events = &instance->events.out,
  };
  clap_events_begin(&instance->events);
  const clap_process_status status = instance->clap->process(instance->clap, &block);
  clap_events_end(&instance->events, n_frames);
  return status;
}

/// A block that fails is like one that is not finite: the node is renewed.
static void
fill_with_nan(const Instance* const instance, float* const* const out, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < instance->out.n_rows; ++r) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      out[r][i] = NAN;
    }
  }
}

static void
clap_run(Instance* const instance, const float* const* const in, float* const* const out,
         const uint32_t n_frames)
{
  const ClapThread before = clap_thread_change(CLAP_THREAD_AUDIO);
  point_buffers(&instance->in, in);
  point_buffers(&instance->out, out);
  if (!start_processing(instance) || process(instance, n_frames) == CLAP_PROCESS_ERROR) {
    clap_host_report(&instance->host, CLAP_REPORT_FAILED);
    fill_with_nan(instance, out, n_frames);
  }
  clap_thread_change(before);
}

static uint32_t
clap_latency(const Instance* const instance)
{
  return atomic_load_explicit(&instance->latency_frames, memory_order_relaxed);
}

static bool
clap_has_latency(const Instance* const instance)
{
  return instance->latency_calls;
}

static bool
clap_wants_restart(const Instance* const instance)
{
  return atomic_load(&instance->host.n_reports[CLAP_REPORT_RESTART]) != 0U;
}

static void
clap_idle(void)
{
  const ClapThread caller = clap_thread_change(CLAP_THREAD_MAIN);
  if (instances) {
    ProcessState state;
    process_state_save(&state);
    for (Instance* instance = instances; instance; instance = instance->next) {
      const uint64_t before = recorder_enter(instance->node, RECORDER_WORK);
      clap_host_idle(&instance->host);
      recorder_leave(before);
      clap_host_print(&instance->host);
      read_latency(instance);
    }
    process_state_restore(&state);
  }
  clap_thread_change(caller);
}

ClapHost*
clap_instance_host(Instance* const instance)
{
  return &instance->host;
}

const InstanceCalls clap_calls = {
  .open = clap_open,
  .close = clap_close,
  .renew = clap_renew,
  .save = clap_save,
  .state_has_values = true,
  .set = clap_set,
  .event = clap_event,
  .get = clap_get,
  .run = clap_run,
  .latency = clap_latency,
  .has_latency = clap_has_latency,
  .wants_restart = clap_wants_restart,
  .idle = clap_idle,
};
