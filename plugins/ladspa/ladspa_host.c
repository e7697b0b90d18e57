// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Runs LADSPA plugins.

  Every port is connected once, to memory of the instance: control ports to `values`, audio ports to
  buffers, because LADSPA lets a plugin write to its inputs, and to its outputs at any time.  An
  instance is renewed by a new one: many plugins keep state when they are deactivated and activated,
  and many have neither function.
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
  float** in;    ///< [n_in][max_block_frames]
  float** out;   ///< [n_out][max_block_frames]
  float* values; ///< [n_ports] of control ports
  Arena arena;   ///< All memory of the instance
};

// ---- the plugin ----

/// A number of a port's description, as the plugin gets it.
static float
scaled(const Instance* const instance, const PluginPort* const port, const double number)
{
  return (float)(port->flags & PORT_RATE ? number * instance->rate_hz : number);
}

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
  const char* const label = strchr(plugin->source.id, '/');
  *ladspa = label ? ladspa_library_find(list, label + 1) : NULL;
  return *ladspa && has_ports(*ladspa, plugin)
             ? STATUS_OK
             : error_set(error, STATUS_FILE, "%s has changed: run warprack scan", plugin->binary);
}

static void
connect_ports(const Instance* const instance, const LADSPA_Handle handle)
{
  uint32_t n_in = 0;
  uint32_t n_out = 0;
  for (uint32_t p = 0; p < instance->plugin->n_ports; ++p) {
    const PluginPort* const port = &instance->plugin->ports[p];
    instance->ladspa->connect_port(handle, p,
                                   port->type != PORT_AUDIO    ? &instance->values[p]
                                   : port->flags & PORT_OUTPUT ? instance->out[n_out++]
                                                               : instance->in[n_in++]);
  }
}

/// Make and activate an instance, with the ports connected.
static Status
make_handle(const Instance* const instance, LADSPA_Handle* const handle, Error* const error)
{
  const LADSPA_Descriptor* const ladspa = instance->ladspa;
  *handle = ladspa->instantiate(ladspa, (unsigned long)lrint(instance->rate_hz));
  if (!*handle) {
    return error_set(error, STATUS_LIMIT, "ladspa %s makes no instance at %.0f Hz",
                     instance->plugin->source.id, instance->rate_hz);
  }
  connect_ports(instance, *handle);
  if (ladspa->activate) {
    ladspa->activate(*handle);
  }
  return STATUS_OK;
}

static void
free_handle(const Instance* const instance)
{
  const LADSPA_Descriptor* const ladspa = instance->ladspa;
  if (ladspa->deactivate) {
    ladspa->deactivate(instance->handle);
  }
  if (ladspa->cleanup) {
    ladspa->cleanup(instance->handle);
  }
}

// ---- memory ----

static void
count_audio(const Plugin* const plugin, uint32_t* const n_in, uint32_t* const n_out)
{
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const bool is_output = plugin->ports[p].flags & PORT_OUTPUT;
    *n_in += plugin->ports[p].type == PORT_AUDIO && !is_output;
    *n_out += plugin->ports[p].type == PORT_AUDIO && is_output;
  }
}

static float**
take_buffers(Arena* const arena, const uint32_t n, const uint32_t n_frames)
{
  float** const buffers = arena_take(arena, n, sizeof(float*));
  for (uint32_t b = 0; buffers && b < n; ++b) {
    buffers[b] = arena_take(arena, n_frames, sizeof(float));
  }
  return buffers;
}

static Status
take_memory(Instance* const instance, const uint32_t max_block_frames, Error* const error)
{
  const Plugin* const plugin = instance->plugin;
  Arena* const arena = &instance->arena;
  count_audio(plugin, &instance->n_in, &instance->n_out);
  instance->in = take_buffers(arena, instance->n_in, max_block_frames);
  instance->out = take_buffers(arena, instance->n_out, max_block_frames);
  instance->values = arena_take(arena, plugin->n_ports, sizeof(float));
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "no memory for ladspa %s", plugin->source.id);
  }
  return STATUS_OK;
}

static void
ladspa_set(Instance* const instance, const uint32_t p, const double value, const uint32_t frame)
{
  (void)frame;
  const PluginPort* const port = &instance->plugin->ports[p];
  instance->values[p] = fminf(fmaxf((float)value, scaled(instance, port, port->min)),
                              scaled(instance, port, port->max));
}

static void
set_values(Instance* const instance, const double* const values)
{
  for (uint32_t p = 0; p < instance->plugin->n_ports; ++p) {
    const PluginPort* const port = &instance->plugin->ports[p];
    if (values && !(port->flags & PORT_OUTPUT)) {
      ladspa_set(instance, p, values[p], 0);
    } else {
      instance->values[p] = scaled(instance, port, port->initial);
    }
  }
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
    return error_set(error, STATUS_NO_MEM, "no memory for ladspa %s", plugin->source.id);
  }
  instance->plugin = plugin;
  instance->ladspa = ladspa;
  instance->rate_hz = setup->rate_hz;
  status = take_memory(instance, setup->max_block_frames, error);
  if (!status) {
    set_values(instance, setup->values);
    status = make_handle(instance, &instance->handle, error);
  }
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
  free_handle(instance);
  free_memory(instance);
}

static Status
ladspa_renew(Instance* const instance, Error* const error)
{
  LADSPA_Handle handle = NULL;
  const Status status = make_handle(instance, &handle, error);
  if (!status) {
    free_handle(instance);
    instance->handle = handle;
  }
  return status;
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
  for (uint32_t i = 0; i < instance->n_in; ++i) {
    memcpy(instance->in[i], in[i], n_frames * sizeof(float));
  }
  instance->ladspa->run(instance->handle, n_frames);
  for (uint32_t o = 0; o < instance->n_out; ++o) {
    memcpy(out[o], instance->out[o], n_frames * sizeof(float));
  }
}

static uint32_t
ladspa_latency(const Instance* const instance)
{
  float frames = 0.0F;
  for (uint32_t p = 0; p < instance->plugin->n_ports; ++p) {
    frames = instance->plugin->ports[p].flags & PORT_LATENCY ? instance->values[p] : frames;
  }
  return frames > 0.0F && frames < (float)INT32_MAX ? (uint32_t)lrintf(frames) : 0U;
}

const InstanceCalls ladspa_calls = {
  .open = ladspa_open,
  .close = ladspa_close,
  .renew = ladspa_renew,
  .set = ladspa_set,
  .get = ladspa_get,
  .run = ladspa_run,
  .latency = ladspa_latency,
};
