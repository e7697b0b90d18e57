// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Runs LADSPA plugins.

  Control ports are connected to `values`, audio ports to the rows of run(), again whenever these
  move.  An instance is renewed by a new one: of Debian's plugins every fifth keeps state when it is
  deactivated and activated.
*/

#include "ladspa_host.h"

#include "ladspa_library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct Instance {
  const Plugin* plugin;
  const LADSPA_Descriptor* ladspa;
  LADSPA_Handle handle;
  double rate_hz;
  uint32_t n_in, n_out;
  uint32_t* audio_ports; ///< [n_in + n_out] inputs, then outputs
  const float** rows;    ///< [n_in + n_out] what they are connected to
  float* spare;          ///< [max_block_frames] what they are connected to outside of run()
  float* values;         ///< [n_ports] of control ports
  const float* latency;  ///< The value that reports the latency; NULL: none does
  Arena arena;           ///< All memory of the instance
};

// ---- the plugin ----

/// True if the plugin has the ports that were described.
static bool
has_ports(const LADSPA_Descriptor* const ladspa, const Plugin* const plugin)
{
  bool is_same = ladspa->PortCount == plugin->n_ports;
  for (uint32_t p = 0; is_same && p < plugin->n_ports; ++p) {
    const LADSPA_PortDescriptor kind = ladspa->PortDescriptors[p];
    const PluginPort* const port = &plugin->ports[p];
    is_same = !LADSPA_IS_PORT_OUTPUT(kind) == !(port->flags & PORT_OUTPUT) &&
              !LADSPA_IS_PORT_AUDIO(kind) == (port->type != PORT_AUDIO);
  }
  return is_same;
}

static Status
find_plugin(const Plugin* const plugin, const LADSPA_Descriptor** const ladspa, Error* const error)
{
  LADSPA_Descriptor_Function list = NULL;
  const Status status = ladspa_library_open(plugin->binary, &list, error);
  if (status) {
    return status;
  }
  const char* const label = strchr(plugin->origin.id, '/');
  *ladspa = label ? ladspa_library_find(list, label + 1) : NULL;
  return *ladspa && has_ports(*ladspa, plugin) ? STATUS_OK : host_changed(plugin, error);
}

static void
connect_audio(const Instance* const instance, const LADSPA_Handle handle, const uint32_t a,
              const float* const row)
{
  instance->rows[a] = row;
  instance->ladspa->connect_port(handle, instance->audio_ports[a], (float*)row);
}

static void
connect_spare(const Instance* const instance, const LADSPA_Handle handle)
{
  for (uint32_t a = 0; a < instance->n_in + instance->n_out; ++a) {
    connect_audio(instance, handle, a, instance->spare);
  }
}

/// Make and activate an instance of the plugin, with all ports connected.
static Status
make_handle(const Instance* const instance, LADSPA_Handle* const handle, Error* const error)
{
  const LADSPA_Descriptor* const ladspa = instance->ladspa;
  *handle = ladspa->instantiate(ladspa, (unsigned long)lrint(instance->rate_hz));
  if (!*handle) {
    return error_set(error, STATUS_LIMIT, "ladspa %s makes no instance at %.0f Hz",
                     instance->plugin->origin.id, instance->rate_hz);
  }
  for (uint32_t p = 0; p < instance->plugin->n_ports; ++p) {
    if (instance->plugin->ports[p].type != PORT_AUDIO) {
      ladspa->connect_port(*handle, p, &instance->values[p]);
    }
  }
  connect_spare(instance, *handle);
  if (ladspa->activate) {
    ladspa->activate(*handle);
  }
  return STATUS_OK;
}

static void
free_handle(const Instance* const instance, const LADSPA_Handle handle)
{
  const LADSPA_Descriptor* const ladspa = instance->ladspa;
  connect_spare(instance, handle); // the rows of the last run may be gone
  if (ladspa->deactivate) {
    ladspa->deactivate(handle);
  }
  if (ladspa->cleanup) {
    ladspa->cleanup(handle);
  }
}

// ---- memory ----

static void
fill_tables(Instance* const instance)
{
  uint32_t n_in = 0;
  uint32_t n_out = instance->n_in;
  for (uint32_t p = 0; p < instance->plugin->n_ports; ++p) {
    const PluginPort* const port = &instance->plugin->ports[p];
    if (port->type == PORT_AUDIO) {
      instance->audio_ports[port->flags & PORT_OUTPUT ? n_out++ : n_in++] = p;
    } else {
      const double scale = port->flags & PORT_RATE ? instance->rate_hz : 1.0;
      instance->values[p] = (float)(port->initial * scale);
      instance->latency = port->flags & PORT_LATENCY ? &instance->values[p] : instance->latency;
    }
  }
}

static Status
take_memory(Instance* const instance, const uint32_t max_block_frames, Error* const error)
{
  const Plugin* const plugin = instance->plugin;
  Arena* const arena = &instance->arena;
  instance->n_in = plugin_count_audio(plugin, false);
  instance->n_out = plugin_count_audio(plugin, true);
  const uint32_t n_audio = instance->n_in + instance->n_out;
  instance->audio_ports = arena_take(arena, n_audio, sizeof(uint32_t));
  instance->rows = arena_take(arena, n_audio, sizeof(float*));
  instance->spare = arena_take(arena, max_block_frames, sizeof(float));
  instance->values = arena_take(arena, plugin->n_ports, sizeof(float));
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "no memory for ladspa %s", plugin->origin.id);
  }
  fill_tables(instance);
  return STATUS_OK;
}

static void
free_memory(Instance* const instance)
{
  arena_clear(&instance->arena);
  free(instance);
}

// ---- the calls ----

static Status
ladspa_open(const Plugin* const plugin, const InstanceSetup* const setup, Instance** const out,
            Error* const error)
{
  const LADSPA_Descriptor* ladspa = NULL;
  Status status = find_plugin(plugin, &ladspa, error);
  if (status) {
    return status;
  }
  Instance* const instance = calloc(1, sizeof(Instance));
  if (!instance) {
    return error_set(error, STATUS_NO_MEM, "no memory for ladspa %s", plugin->origin.id);
  }
  instance->plugin = plugin;
  instance->ladspa = ladspa;
  instance->rate_hz = setup->rate_hz;
  status = take_memory(instance, setup->max_block_frames, error);
  status = status ? status : make_handle(instance, &instance->handle, error);
  if (status) {
    free_memory(instance);
    return status;
  }
  *out = instance;
  return STATUS_OK;
}

static void
ladspa_close(Instance* const instance)
{
  free_handle(instance, instance->handle);
  free_memory(instance);
}

static Status
ladspa_renew(Instance* const instance, Error* const error)
{
  LADSPA_Handle handle = NULL;
  const Status status = make_handle(instance, &handle, error);
  if (!status) {
    free_handle(instance, instance->handle);
    instance->handle = handle;
  }
  return status;
}

static void
ladspa_set(Instance* const instance, const uint32_t port, const double value, const uint32_t frame)
{
  (void)frame;
  instance->values[port] = (float)value;
}

static double
ladspa_get(const Instance* const instance, const uint32_t p)
{
  return instance->values[p];
}

static void
ladspa_run(Instance* const instance, const float* const* const in, float* const* const out,
           const uint32_t n_frames)
{
  for (uint32_t a = 0; a < instance->n_in + instance->n_out; ++a) {
    const float* const row = a < instance->n_in ? in[a] : out[a - instance->n_in];
    if (row != instance->rows[a]) {
      connect_audio(instance, instance->handle, a, row);
    }
  }
  instance->ladspa->run(instance->handle, n_frames);
}

static uint32_t
ladspa_latency(const Instance* const instance)
{
  const float frames = instance->latency ? *instance->latency : 0.0F;
  return frames > 0.0F && frames < (float)INT32_MAX ? (uint32_t)lrintf(frames) : 0U;
}

static bool
ladspa_has_latency(const Instance* const instance)
{
  return instance->latency;
}

const InstanceCalls ladspa_calls = {
  .open = ladspa_open,
  .close = ladspa_close,
  .renew = ladspa_renew,
  .set = ladspa_set,
  .get = ladspa_get,
  .run = ladspa_run,
  .latency = ladspa_latency,
  .has_latency = ladspa_has_latency,
};
