// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps copies of what the format describes.

#include "lv2_rig.h"

#include "engine/base/arena.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define MAX_PLUGINS 256U

static Arena arena;
static const Plugin* plugins[MAX_PLUGINS];
static uint32_t n_plugins;

const char*
lv2_rig_fixtures(void)
{
  const char* const path = getenv("WARPRACK_LV2_FIXTURES");
  ck_assert_msg(path != NULL, "no WARPRACK_LV2_FIXTURES: run meson test");
  return path;
}

static const void*
copy(const void* const from, const size_t n, const size_t size)
{
  void* const to = arena_take(&arena, n, size);
  ck_assert_ptr_nonnull(to);
  return n ? memcpy(to, from, n * size) : to;
}

static const char*
copy_text(const char* const text)
{
  return copy(text, strlen(text) + 1U, 1U);
}

static void
copy_port(PluginPort* const port)
{
  port->symbol = copy_text(port->symbol);
  port->name = copy_text(port->name);
  port->group = copy_text(port->group);
  port->uri = copy_text(port->uri);
  PluginPoint* const points = (PluginPoint*)copy(port->points, port->n_points, sizeof(*points));
  for (uint32_t p = 0; p < port->n_points; ++p) {
    points[p].label = copy_text(points[p].label);
  }
  port->points = points;
}

static void
copy_preset(PluginPreset* const preset)
{
  preset->name = copy_text(preset->name);
  preset->uri = copy_text(preset->uri);
  preset->ports = copy(preset->ports, preset->n_values, sizeof(*preset->ports));
  preset->values = copy(preset->values, preset->n_values, sizeof(*preset->values));
}

static void
on_found(void* const context, const Plugin* const from)
{
  (void)context;
  Plugin* const plugin = (Plugin*)copy(from, 1U, sizeof(*plugin));
  plugin->source.id = copy_text(from->source.id);
  plugin->fx.source = &plugin->source;
  const char** const texts[] = { &plugin->name,     &plugin->maker,  &plugin->licence,
                                 &plugin->category, &plugin->bundle, &plugin->binary,
                                 &plugin->fault,    &plugin->notes };
  for (size_t t = 0; t < ARRAY_LEN(texts); ++t) {
    *texts[t] = copy_text(*texts[t]);
  }
  PluginPort* const ports = (PluginPort*)copy(from->ports, from->n_ports, sizeof(*ports));
  for (uint32_t p = 0; p < from->n_ports; ++p) {
    copy_port(&ports[p]);
  }
  plugin->ports = ports;
  PluginPreset* const presets =
      (PluginPreset*)copy(from->presets, from->n_presets, sizeof(*presets));
  for (uint32_t p = 0; p < from->n_presets; ++p) {
    copy_preset(&presets[p]);
  }
  plugin->presets = presets;
  ck_assert_uint_lt(n_plugins, MAX_PLUGINS);
  plugins[n_plugins++] = plugin;
}

static void
on_announce(void* const context, const char* const bundle)
{
  (void)context;
  ck_assert_str_ne(bundle, "");
}

Status
lv2_rig_describe(const char* const* const bundles, const uint32_t n_bundles, Error* const error)
{
  n_plugins = 0;
  Status status = plugin_format_lv2.prepare(bundles, n_bundles, on_announce, NULL, error);
  for (uint32_t b = 0; b < n_bundles; ++b) {
    Error other = { STATUS_OK, "" };
    const Status failed = plugin_format_lv2.describe(bundles[b], on_found, NULL, &other);
    if (failed && !status) {
      status = error_set(error, failed, "%s", other.text);
    }
  }
  return status;
}

const Plugin*
lv2_rig_find(const char* const id)
{
  for (uint32_t p = 0; p < n_plugins; ++p) {
    if (!strcmp(plugins[p]->source.id, id)) {
      return plugins[p];
    }
  }
  return NULL;
}

uint32_t
lv2_rig_count(void)
{
  return n_plugins;
}

uint32_t
lv2_rig_place(const Plugin* const plugin, const char* const symbol)
{
  ck_assert_ptr_nonnull(plugin);
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    if (!strcmp(plugin->ports[p].symbol, symbol)) {
      return p;
    }
  }
  ck_abort_msg("%s has no port %s", plugin->source.id, symbol);
}

const PluginPort*
lv2_rig_port(const Plugin* const plugin, const char* const symbol)
{
  return &plugin->ports[lv2_rig_place(plugin, symbol)];
}

Instance*
lv2_rig_open(const char* const id, const bool offline)
{
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ,
                                .max_block_frames = LV2_RIG_BLOCK,
                                .offline = offline };
  Instance* instance = NULL;
  OK(plugin_format_lv2.calls->open(lv2_rig_find(id), &setup, &instance, &error));
  return instance;
}

void
lv2_rig_set(Instance* const instance, const char* const id, const char* const symbol,
            const double value)
{
  plugin_format_lv2.calls->set(instance, lv2_rig_place(lv2_rig_find(id), symbol), value, 0U);
}

double
lv2_rig_get(const Instance* const instance, const char* const id, const char* const symbol)
{
  return plugin_format_lv2.calls->get(instance, lv2_rig_place(lv2_rig_find(id), symbol));
}
