// SPDX-License-Identifier: GPL-3.0-or-later
// Instances of LV2 plugins.

#include "lv2_host.h"
#include "lv2_atoms.h"
#include "lv2_binary.h"
#include "lv2_features.h"
#include "lv2_state.h"
#include "lv2_worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETTLE_RUNS 4 // blocks that a plugin may need to load its files, each with work

/// A port with samples.
typedef struct SamplePort {
  uint32_t index;       ///< Of the plugin's port
  float* samples;       ///< [max_block_frames]; NULL: not of the instance
  const float* connect; ///< Where the port is connected
} SamplePort;

struct Instance {
  // First what each run reads: a rack of many instances is slow because of the cache.
  LV2_Handle handle; ///< NULL: renew() has failed
  Lv2Binary binary;
  Lv2Worker* worker; ///< NULL: the plugin has none
  uint32_t n_in, n_out, n_cv;
  SamplePort* in;  ///< [n_in] without samples: connected to the rows of run()
  SamplePort* out; ///< [n_out] as `in`
  SamplePort* cv;  ///< [n_cv] silent inputs, and outputs that nobody reads
  Lv2Atoms atoms;
  const Plugin* plugin;
  double rate_hz;
  const PluginPreset* preset; ///< With a state; NULL: none
  const StateFile* state;     ///< As InstanceSetup
  uint32_t index;
  HostPaths* paths;
  const char* folder; ///< Of the bundle, with a slash at its end
  Lv2Features features;
  HostMade made;        ///< The files that the plugin makes
  bool is_stuck;        ///< Its work does not end
  float* controls;      ///< [n_ports] of control ports
  const float* latency; ///< The one that reports the latency; NULL: none does
  float** silence;      ///< [n_in + n_out] rows for settle(); NULL: not needed
  uint32_t max_block_frames;
  Arena arena; ///< All memory of the instance
};

// ---- memory ----

static void
add_samples(SamplePort* const ports, uint32_t* const n_ports, const uint32_t index,
            const uint32_t n_frames, Arena* const arena)
{
  ports[*n_ports].index = index;
  ports[(*n_ports)++].samples = n_frames ? arena_take(arena, n_frames, sizeof(float)) : NULL;
}

static void
add_port(Instance* const instance, const uint32_t place, const uint32_t n_frames)
{
  const PluginPort* const port = &instance->plugin->ports[place];
  Arena* const arena = &instance->arena;
  if (port->type == PORT_CONTROL) {
    instance->controls[place] =
        (float)(port->flags & PORT_RATE ? port->initial * instance->rate_hz : port->initial);
    if (port->flags & PORT_LATENCY) {
      instance->latency = &instance->controls[place];
    }
  } else if (port->type == PORT_AUDIO && port->flags & PORT_OUTPUT) {
    add_samples(instance->out, &instance->n_out, port->index, 0U, arena);
  } else if (port->type == PORT_AUDIO) {
    add_samples(instance->in, &instance->n_in, port->index, 0U, arena);
  } else if (port->type == PORT_CV) {
    add_samples(instance->cv, &instance->n_cv, port->index,
                port->flags & PORT_OPTIONAL ? 0U : n_frames, arena);
  }
}

/// Rows of silence.
static void
add_silence(Instance* const instance)
{
  const uint32_t n_rows = instance->n_in + instance->n_out;
  instance->silence = arena_take(&instance->arena, n_rows + 1U, sizeof(float*));
  for (uint32_t r = 0; instance->silence && r < n_rows; ++r) {
    instance->silence[r] = arena_take(&instance->arena, instance->max_block_frames, sizeof(float));
  }
}

static const char*
folder_of(const Plugin* const plugin, Arena* const arena)
{
  const size_t n_bytes = strlen(plugin->bundle);
  char* const folder = arena_take(arena, n_bytes + 2U, 1U);
  if (folder) {
    memcpy(folder, plugin->bundle, n_bytes);
    folder[n_bytes] = n_bytes && plugin->bundle[n_bytes - 1U] == '/' ? '\0' : '/';
  }
  return folder;
}

static Status
make_memory(Instance* const instance, const InstanceSetup* const setup, Error* const error)
{
  Arena* const arena = &instance->arena;
  const uint32_t n_ports = instance->plugin->n_ports;
  instance->folder = folder_of(instance->plugin, arena);
  instance->controls = arena_take(arena, n_ports, sizeof(float));
  instance->in = arena_take(arena, n_ports, sizeof(SamplePort));
  instance->out = arena_take(arena, n_ports, sizeof(SamplePort));
  instance->cv = arena_take(arena, n_ports, sizeof(SamplePort));
  for (uint32_t p = 0; !arena->failed && p < n_ports; ++p) {
    add_port(instance, p, setup->max_block_frames);
  }
  atoms_init(&instance->atoms, instance->plugin, instance->rate_hz, arena);
  if (instance->plugin->takes_state || instance->atoms.n_properties) {
    add_silence(instance);
  }
  return arena->failed ? error_set(error, STATUS_NO_MEM, "out of memory for an instance of lv2 %s",
                                   instance->plugin->origin.id)
                       : STATUS_OK;
}

// ---- the plugin ----

static const void*
extension(const Instance* const instance, const char* const uri)
{
  const LV2_Descriptor* const descriptor = instance->binary.descriptor;
  return descriptor->extension_data ? descriptor->extension_data(uri) : NULL;
}

static void
connect_samples(const Instance* const instance, SamplePort* const port, const float* const samples)
{
  port->connect = samples;
  instance->binary.descriptor->connect_port(instance->handle, port->index, (void*)samples);
}

static void
connect_ports(Instance* const instance)
{
  for (uint32_t p = 0; p < instance->plugin->n_ports; ++p) {
    const PluginPort* const port = &instance->plugin->ports[p];
    if (port->type == PORT_CONTROL) {
      instance->binary.descriptor->connect_port(instance->handle, port->index,
                                                &instance->controls[p]);
    }
  }
  for (uint32_t i = 0; i < instance->n_in; ++i) {
    instance->in[i].connect = NULL; // by run(), as the outputs
  }
  for (uint32_t o = 0; o < instance->n_out; ++o) {
    instance->out[o].connect = NULL;
  }
  for (uint32_t c = 0; c < instance->n_cv; ++c) {
    connect_samples(instance, &instance->cv[c], instance->cv[c].samples);
  }
  atoms_connect(&instance->atoms, instance->binary.descriptor, instance->handle);
}

/// The state that a user has saved; NULL: none.
static const StatePart*
saved_state(const Instance* const instance)
{
  return instance->state ? state_file_part(instance->state, instance->index) : NULL;
}

static bool
has_state(const Instance* const instance)
{
  return instance->preset || (instance->plugin->state && *instance->plugin->state) ||
         saved_state(instance);
}

static Lv2Stateful
stateful(Instance* const instance)
{
  return (Lv2Stateful){ .plugin = instance->plugin,
                        .calls = extension(instance, LV2_STATE__interface),
                        .handle = instance->handle,
                        .features = instance->features.for_state,
                        .made = &instance->made };
}

/// Restore the state that the plugin begins with, that of the preset, and that of the user.
static Status
load_states(Instance* const instance, Error* const error)
{
  const Plugin* const plugin = instance->plugin;
  const PluginPreset* const preset = instance->preset;
  const StatePart* const saved = saved_state(instance);
  const Lv2Stateful to = stateful(instance);
  Status status = plugin->state && *plugin->state
                      ? lv2_state_load(&to, plugin->origin.id, plugin->state, error)
                      : STATUS_OK;
  status = status || !preset ? status : lv2_state_load(&to, preset->uri, preset->state, error);
  return status || !saved ? status : lv2_state_restore(&to, instance->paths, saved, error);
}

// ---- run ----

static void
connect_row(const Instance* const instance, SamplePort* const port, const float* const row)
{
  if (port->connect != row) {
    connect_samples(instance, port, row);
  }
}

static void
prepare_samples(Instance* const instance, const float* const* const in, float* const* const out,
                const uint32_t n_frames)
{
  for (uint32_t i = 0; i < instance->n_in; ++i) {
    connect_row(instance, &instance->in[i], in[i]);
  }
  for (uint32_t o = 0; o < instance->n_out; ++o) {
    connect_row(instance, &instance->out[o], out[o]);
  }
  for (uint32_t c = 0; c < instance->n_cv; ++c) {
    if (instance->cv[c].samples) {
      memset(instance->cv[c].samples, 0, n_frames * sizeof(float));
    }
  }
}

static void
instance_run(Instance* const instance, const float* const* const in, float* const* const out,
             const uint32_t n_frames)
{
  if (!instance->handle) {
    for (uint32_t o = 0; o < instance->n_out; ++o) {
      memset(out[o], 0, n_frames * sizeof(float));
    }
    return;
  }
  prepare_samples(instance, in, out, n_frames);
  atoms_begin_run(&instance->atoms, n_frames);
  features_enter_run();
  instance->binary.descriptor->run(instance->handle, n_frames);
  if (instance->worker) {
    lv2_worker_end_run(instance->worker);
  }
  features_leave_run();
}

// ---- start and stop ----

/// Deactivate and free the plugin.  Fails if its work does not end: then nothing can be freed.
static Status
stop(Instance* const instance, Error* const error)
{
  const LV2_Descriptor* const descriptor = instance->binary.descriptor;
  if (!instance->handle) {
    return STATUS_OK;
  }
  instance->is_stuck =
      instance->is_stuck || (instance->worker && !lv2_worker_stop(instance->worker));
  if (instance->is_stuck) {
    return error_set(error, STATUS_LIMIT, "lv2 %s: its work does not end",
                     instance->plugin->origin.id);
  }
  if (descriptor->deactivate) {
    descriptor->deactivate(instance->handle);
  }
  descriptor->cleanup(instance->handle);
  instance->handle = NULL;
  return STATUS_OK;
}

static void
run_silence(Instance* const instance)
{
  const uint32_t n_rows = instance->n_in + instance->n_out;
  for (uint32_t r = 0; r < n_rows; ++r) {
    memset(instance->silence[r], 0, instance->max_block_frames * sizeof(float));
  }
  instance_run(instance, (const float* const*)instance->silence, instance->silence + instance->n_in,
               instance->max_block_frames);
}

/// Run blocks of silence in which the plugin gets its files and the responses of its work, so that
/// it plays from its first block.  The work is done between the blocks: some plugins refuse it
/// within run().
static void
settle(Instance* const instance)
{
  if (instance->worker) {
    (void)lv2_worker_work(instance->worker);
  }
  run_silence(instance);
  for (int r = 0; instance->worker && r < MAX_SETTLE_RUNS; ++r) {
    if (!lv2_worker_work(instance->worker)) {
      return;
    }
    run_silence(instance);
  }
}

/// Make and activate the plugin.
static Status
start(Instance* const instance, Error* const error)
{
  const LV2_Descriptor* const descriptor = instance->binary.descriptor;
  if (instance->worker) {
    lv2_worker_forget(instance->worker);
  }
  instance->handle = descriptor->instantiate(descriptor, instance->rate_hz, instance->folder,
                                             instance->features.list);
  if (!instance->handle) {
    return error_set(error, STATUS_LIMIT, "lv2 %s makes no instance at %.0f Hz",
                     instance->plugin->origin.id, instance->rate_hz);
  }
  connect_ports(instance);
  if (instance->worker) {
    lv2_worker_start(instance->worker, extension(instance, LV2_WORKER__interface),
                     instance->handle);
  }
  Status status = load_states(instance, error);
  if (descriptor->activate) {
    descriptor->activate(instance->handle);
  }
  if (!status && (has_state(instance) || atoms_have_texts(&instance->atoms))) {
    settle(instance);
  }
  if (!status && instance->worker) {
    status = lv2_worker_release(instance->worker, error);
  }
  if (status) {
    Error ignored = { STATUS_OK, "" };
    (void)!stop(instance, &ignored);
  }
  return status;
}

// ---- the calls ----

static void
instance_close(Instance* const instance)
{
  Error error = { STATUS_OK, "" };
  if (stop(instance, &error)) {
    fprintf(stderr, "plugin: %s; its memory is left to it\n", error.text);
    return;
  }
  lv2_worker_free(instance->worker);
  binary_close(&instance->binary);
  host_made_clear(&instance->made);
  arena_clear(&instance->arena);
  free(instance);
}

static Status
open_binary(Instance* const instance, const InstanceSetup* const setup, Error* const error)
{
  const uint32_t sequence_bytes = atoms_sequence_bytes(&instance->atoms);
  features_init(&instance->features, setup, NULL, &instance->made, sequence_bytes);
  const Status status = binary_open(&instance->binary, instance->plugin, instance->folder,
                                    instance->features.list, error);
  if (status || !extension(instance, LV2_WORKER__interface)) {
    return status;
  }
  const Status made = lv2_worker_new(setup->offline, &instance->worker, error);
  if (!made) {
    features_init(&instance->features, setup, lv2_worker_schedule(instance->worker),
                  &instance->made, sequence_bytes);
  }
  return made;
}

static Status
instance_open(const Plugin* const plugin, const InstanceSetup* const setup, Instance** const out,
              Error* const error)
{
  Instance* const instance = calloc(1, sizeof(*instance));
  if (!instance) {
    return error_set(error, STATUS_NO_MEM, "out of memory for an instance");
  }
  host_made_init(&instance->made);
  instance->plugin = plugin;
  instance->rate_hz = setup->rate_hz;
  instance->max_block_frames = setup->max_block_frames;
  instance->preset = setup->preset;
  instance->state = setup->state;
  instance->index = setup->index;
  instance->paths = setup->paths;
  Status status = make_memory(instance, setup, error);
  status = status ? status : open_binary(instance, setup, error);
  status = status ? status : start(instance, error);
  if (status) {
    instance_close(instance);
    return status;
  }
  *out = instance;
  return STATUS_OK;
}

/// A new instance in place of the old one: activate() of many plugins does not clear everything.
static Status
instance_renew(Instance* const instance, Error* const error)
{
  const Status status = stop(instance, error);
  return status ? status : start(instance, error);
}

static void
instance_set(Instance* const instance, const uint32_t port, const double value,
             const uint32_t frame)
{
  (void)frame;
  if (port == instance->plugin->n_ports) {
    atoms_set_tempo(&instance->atoms, value);
  } else if (instance->plugin->ports[port].type == PORT_PROPERTY) {
    atoms_set(&instance->atoms, port - instance->atoms.first_property, value);
  } else {
    instance->controls[port] = (float)value;
  }
}

static void
instance_event(Instance* const instance, const FxEvent* const event, const uint32_t frame)
{
  atoms_add_event(&instance->atoms, event, frame);
}

static Status
instance_set_text(Instance* const instance, const uint32_t port, const char* const text,
                  Error* const error)
{
  return atoms_set_text(&instance->atoms, port - instance->atoms.first_property, text,
                        &instance->arena, error);
}

/// LV2 lets save() run beside run() and the plugin's work.
static Status
instance_save(Instance* const instance, TextBuffer* const part, Error* const error)
{
  const Lv2Stateful from = stateful(instance);
  return instance->handle ? lv2_state_save(&from, instance->paths, part, error)
                          : error_set(error, STATUS_LIMIT, "the plugin does not run");
}

static double
instance_get(const Instance* const instance, const uint32_t port)
{
  return (double)instance->controls[port];
}

static uint32_t
instance_latency(const Instance* const instance)
{
  const float frames = instance->latency ? *instance->latency : 0.0F;
  return frames > 0.0F && frames < (float)INT32_MAX ? (uint32_t)lrintf(frames) : 0U;
}

static bool
instance_has_latency(const Instance* const instance)
{
  return instance->latency;
}

const InstanceCalls lv2_calls = {
  .open = instance_open,
  .close = instance_close,
  .renew = instance_renew,
  .set = instance_set,
  .set_text = instance_set_text,
  .event = instance_event,
  .save = instance_save,
  .find_files = lv2_state_find_files,
  .get = instance_get,
  .run = instance_run,
  .latency = instance_latency,
  .has_latency = instance_has_latency,
};
