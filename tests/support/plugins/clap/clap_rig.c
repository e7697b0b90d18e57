// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_rig.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

ClapRig clap_rig;

static const PluginFormat*
format(void)
{
  return plugin_format_find("clap");
}

const InstanceCalls*
clap_rig_calls(void)
{
  return format()->calls;
}

static const char*
copy_text(const char* const text)
{
  char* const copy = arena_take(&clap_rig.arena, strlen(text) + 1U, 1);
  return strcpy(copy, text);
}

static void
copy_port(PluginPort* const port)
{
  PluginPoint* const points = arena_take(&clap_rig.arena, port->n_points, sizeof(PluginPoint));
  for (uint32_t i = 0; i < port->n_points; ++i) {
    points[i] = (PluginPoint){ port->points[i].value, copy_text(port->points[i].label) };
  }
  port->points = points;
  port->symbol = copy_text(port->symbol);
  port->name = copy_text(port->name);
  port->group = copy_text(port->group);
  port->uri = copy_text(port->uri);
}

void
clap_rig_keep(void* const context, const Plugin* const plugin)
{
  (void)context;
  ck_assert_uint_lt(clap_rig.n_plugins, CLAP_RIG_PLUGINS);
  ck_assert_ptr_eq(plugin->fx.source, &plugin->source);
  Plugin* const copy = &clap_rig.plugins[clap_rig.n_plugins++];
  PluginPort* const ports = arena_take(&clap_rig.arena, plugin->n_ports, sizeof(PluginPort));
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    ports[p] = plugin->ports[p];
    copy_port(&ports[p]);
  }
  *copy = *plugin;
  copy->ports = ports;
  copy->source = (FxSource){ copy_text(plugin->source.format), copy_text(plugin->source.id) };
  copy->name = copy_text(plugin->name);
  copy->maker = copy_text(plugin->maker);
  copy->licence = copy_text(plugin->licence);
  copy->category = copy_text(plugin->category);
  copy->fault = copy_text(plugin->fault);
  copy->notes = copy_text(plugin->notes);
  copy->bundle = copy_text(plugin->bundle);
  copy->binary = copy_text(plugin->binary);
}

Status
clap_rig_describe(const char* const path, Error* const error)
{
  snprintf(clap_rig.path, sizeof(clap_rig.path), "%s", path);
  return format()->describe(clap_rig.path, clap_rig_keep, NULL, error);
}

Status
clap_rig_describe_fixture(const char* const name, Error* const error)
{
  char path[CLAP_RIG_PATH];
  snprintf(path, sizeof(path), "%s/%s.clap", getenv("WARPRACK_CLAP_FIXTURES"), name);
  return clap_rig_describe(path, error);
}

const Plugin*
clap_rig_find_plugin(const char* const id)
{
  for (uint32_t p = 0; p < clap_rig.n_plugins; ++p) {
    if (!strcmp(clap_rig.plugins[p].source.id, id)) {
      return &clap_rig.plugins[p];
    }
  }
  ck_abort_msg("no plugin %s", id);
}

uint32_t
clap_rig_port_of(const char* const symbol)
{
  for (uint32_t p = 0; p < clap_rig.plugin->n_ports; ++p) {
    if (clap_rig.plugin->ports[p].type == PORT_CONTROL &&
        !strcmp(clap_rig.plugin->ports[p].symbol, symbol)) {
      return p;
    }
  }
  ck_abort_msg("no parameter %s", symbol);
}

Status
clap_rig_try_open(const char* const id, const InstanceSetup* const setup, Error* const error)
{
  ck_assert_int_eq(clap_rig_describe_fixture("fixtures", error), STATUS_OK);
  clap_rig.plugin = clap_rig_find_plugin(id);
  return clap_rig_calls()->open(clap_rig.plugin, setup, &clap_rig.instance, error);
}

void
clap_rig_open_plugin(const char* const id)
{
  const InstanceSetup setup = { .rate_hz = CLAP_RIG_RATE_HZ, .max_block_frames = CLAP_RIG_BLOCK };
  OK(clap_rig_try_open(id, &setup, &error));
}

void
clap_rig_set(const char* const symbol, const double value, const uint32_t frame)
{
  clap_rig_calls()->set(clap_rig.instance, clap_rig_port_of(symbol), value, frame);
}

double
clap_rig_get(const char* const symbol)
{
  return clap_rig_calls()->get(clap_rig.instance, clap_rig_port_of(symbol));
}

void
clap_rig_run(const uint32_t n_frames)
{
  const float* in[CLAP_RIG_ROWS];
  float* out[CLAP_RIG_ROWS];
  for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
    in[r] = clap_rig.in[r];
    out[r] = clap_rig.out[r];
  }
  clap_rig_calls()->run(clap_rig.instance, in, out, n_frames);
}

uint32_t
clap_rig_n_reports(const ClapReport report)
{
  return clap_instance_host(clap_rig.instance)->n_reports[report];
}

void
clap_rig_begin(void)
{
  for (uint32_t r = 0; r < CLAP_RIG_ROWS; ++r) {
    for (uint32_t f = 0; f < CLAP_RIG_BLOCK; ++f) {
      clap_rig.in[r][f] = (float)(r + 1U);
    }
  }
}

void
clap_rig_end(void)
{
  if (clap_rig.instance) {
    clap_rig_calls()->close(clap_rig.instance);
  }
  arena_clear(&clap_rig.arena);
}
