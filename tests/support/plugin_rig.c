// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugin_rig.h"

#include "plugin_sample.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_PLUGINS 1024U
#define MAX_ROWS    64U

static Arena arena;
static const Plugin* plugins[MAX_PLUGINS];
static uint32_t n_plugins;

void*
plugin_rig_take(const size_t n, const size_t size)
{
  void* const memory = arena_take(&arena, n, size);
  ck_assert_ptr_nonnull(memory);
  return memory;
}

// ---- descriptions ----

void
plugin_rig_clear(void)
{
  n_plugins = 0;
}

void
plugin_rig_keep(void* const context, const Plugin* const plugin)
{
  (void)context;
  char* const text = plugin_sample_text(plugin);
  Plugin* kept = NULL;
  OK(plugin_sample_read(text, &arena, &kept, &error));
  free(text);
  ck_assert_uint_lt(n_plugins, MAX_PLUGINS);
  plugins[n_plugins++] = kept;
}

Status
plugin_rig_try_describe(const char* const format, const char* const bundle, Error* const error)
{
  plugin_rig_clear();
  return plugin_format_find(format)->describe(bundle, plugin_rig_keep, NULL, error);
}

void
plugin_rig_describe(const char* const format, const char* const bundle)
{
  OK(plugin_rig_try_describe(format, bundle, &error));
}

const Plugin* const*
plugin_rig_plugins(uint32_t* const n)
{
  *n = n_plugins;
  return plugins;
}

const Plugin*
plugin_rig_find(const char* const id)
{
  for (uint32_t i = 0; i < n_plugins; ++i) {
    if (!strcmp(plugins[i]->origin.id, id)) {
      return plugins[i];
    }
  }
  ck_abort_msg("no plugin %s", id);
}

uint32_t
plugin_rig_port(const Plugin* const plugin, const char* const name)
{
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (!strcmp(plugin->ports[p].name, name)) {
      return p;
    }
  }
  ck_abort_msg("%s has no port %s", plugin->origin.id, name);
}

bool
plugin_rig_is_input(const PluginPort* const port, const PortType type)
{
  return port->type == type && !(port->flags & PORT_OUTPUT);
}

bool
plugin_rig_is_output(const PluginPort* const port, const PortType type)
{
  return port->type == type && port->flags & PORT_OUTPUT;
}

const char*
plugin_rig_ladspa_path(const char* const library)
{
  static char path[512];
  snprintf(path, sizeof(path), "%s/%s.so", getenv("WARPRACK_LADSPA_FIXTURES"), library);
  return path;
}

const Plugin*
plugin_rig_ladspa(const char* const id)
{
  char library[64];
  snprintf(library, sizeof(library), "%.*s", (int)strcspn(id, "/"), id);
  plugin_rig_describe("ladspa", plugin_rig_ladspa_path(library));
  return plugin_rig_find(id);
}

// ---- instances ----

static float**
take_rows(const uint32_t n)
{
  float** const rows = plugin_rig_take(n, sizeof(float*));
  ck_assert_uint_le(n, MAX_ROWS);
  for (uint32_t r = 0; r < n; ++r) {
    rows[r] = plugin_rig_take(PLUGIN_RIG_FRAMES, sizeof(float));
  }
  return rows;
}

static void
fill(const PluginRig* const rig)
{
  uint32_t seed = 1;
  for (uint32_t i = 0; i < rig->n_in; ++i) {
    for (uint32_t f = 0; f < PLUGIN_RIG_FRAMES; ++f) {
      seed = seed * 1664525U + 1013904223U;
      rig->in[i][f] = (float)(int32_t)seed / 4294967296.0F;
    }
  }
}

Status
plugin_rig_try(PluginRig* const rig, const Plugin* const plugin, const uint32_t max_block_frames,
               Error* const error)
{
  const InstanceSetup setup = { .rate_hz = PLUGIN_RIG_RATE, .max_block_frames = max_block_frames };
  const PluginFormat* const format = plugin_format_find(plugin->origin.format);
  *rig = (PluginRig){ .plugin = plugin, .calls = format->calls };
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    rig->n_in += plugin_rig_is_input(&plugin->ports[p], PORT_AUDIO);
    rig->n_out += plugin_rig_is_output(&plugin->ports[p], PORT_AUDIO);
  }
  rig->in = take_rows(rig->n_in);
  rig->rows = take_rows(rig->n_in);
  rig->out = take_rows(rig->n_out);
  fill(rig);
  return rig->calls->open(plugin, &setup, &rig->instance, error);
}

PluginRig
plugin_rig_open(const Plugin* const plugin, const uint32_t max_block_frames)
{
  PluginRig rig;
  OK(plugin_rig_try(&rig, plugin, max_block_frames, &error));
  return rig;
}

void
plugin_rig_close(const PluginRig* const rig)
{
  rig->calls->close(rig->instance);
}

void
plugin_rig_set(const PluginRig* const rig, const char* const name, const double value)
{
  rig->calls->set(rig->instance, plugin_rig_port(rig->plugin, name), value, 0);
}

void
plugin_rig_renew(const PluginRig* const rig)
{
  OK(rig->calls->renew(rig->instance, &error));
}

void
plugin_rig_play(const PluginRig* const rig, const uint32_t n_frames, const uint32_t block_frames)
{
  float* out[MAX_ROWS];
  for (uint32_t at = 0; at < n_frames; at += block_frames) {
    for (uint32_t i = 0; i < rig->n_in; ++i) {
      memcpy(rig->rows[i], rig->in[i] + at, block_frames * sizeof(float));
    }
    for (uint32_t o = 0; o < rig->n_out; ++o) {
      out[o] = rig->out[o] + at;
    }
    rig->calls->run(rig->instance, (const float* const*)rig->rows, out, block_frames);
  }
}
