// SPDX-License-Identifier: GPL-3.0-or-later
// Presets of a plugin, which may be in any bundle.

#include "lv2_description.h"

#include <lv2/presets/presets.h>
#include <lv2/state/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_RDFS "http://www.w3.org/2000/01/rdf-schema#"

/// The place of the control input with this symbol; n_ports if there is none.
static uint32_t
find_port(const Plugin* const plugin, const PluginPort* const ports, const char* const symbol)
{
  uint32_t p = 0;
  while (p < plugin->n_ports && (ports[p].type != PORT_CONTROL || ports[p].flags & PORT_OUTPUT ||
                                 strcmp(ports[p].symbol, symbol) != 0)) {
    ++p;
  }
  return p;
}

/// The valid number of a port that is nearest to that of a preset, which has no multiples of the
/// sample rate.
static double
port_number(const PluginPort* const port, const double value)
{
  const double number = description_shortest((float)value);
  return port->flags & PORT_RATE ? number : lv2_port_nearest(port, number);
}

/// The number of a preset for a control input.
typedef struct PresetValue {
  uint32_t port; ///< Place in Plugin::ports
  double value;
} PresetValue;

/// Read one value of a preset.  False if it has no number, or the plugin has no such port.
static bool
read_value(const Lv2Description* const description, const LilvNode* const from,
           PresetValue* const out)
{
  const Plugin* const plugin = &description->common.plugin;
  const PluginPort* const ports = description->common.ports;
  LilvNode* const symbol = turtle_object(from, LV2_CORE__symbol);
  out->port = symbol ? find_port(plugin, ports, lilv_node_as_string(symbol)) : plugin->n_ports;
  lilv_node_free(symbol);
  if (out->port == plugin->n_ports || !turtle_number(from, LV2_PRESETS__value, &out->value)) {
    return false;
  }
  out->value = port_number(ports + out->port, out->value);
  return true;
}

static int
compare_values(const void* const a, const void* const b)
{
  const PresetValue* const of_a = a;
  const PresetValue* const of_b = b;
  return of_a->port != of_b->port     ? (of_a->port < of_b->port ? -1 : 1)
         : of_a->value != of_b->value ? (of_a->value < of_b->value ? -1 : 1)
                                      : 0;
}

/// Sort values, because lilv's order is not the same in every process, and give a preset one per
/// port: lilv repeats the values of a file that it has read several times.
static void
set_values(Arena* const arena, PresetValue* const read, const uint32_t n,
           PluginPreset* const preset)
{
  uint32_t* const ports = arena_take(arena, n, sizeof(*ports));
  double* const values = arena_take(arena, n, sizeof(*values));
  preset->ports = ports;
  preset->values = values;
  if (!ports || !values || !n) {
    return;
  }
  qsort(read, n, sizeof(*read), compare_values);
  for (uint32_t v = 0; v < n; ++v) {
    if (!v || read[v].port != read[v - 1U].port) {
      ports[preset->n_values] = read[v].port;
      values[preset->n_values++] = read[v].value;
    }
  }
}

static void
read_values(Lv2Description* const description, const LilvNode* const node,
            PluginPreset* const preset)
{
  LilvNodes* const written = turtle_objects(node, LV2_CORE__port);
  PresetValue* const read =
      arena_take(&description->common.arena, lilv_nodes_size(written), sizeof(*read));
  uint32_t n = 0;
  LILV_FOREACH(nodes, i, written)
  {
    n += read && read_value(description, lilv_nodes_get(written, i), read + n);
  }
  lilv_nodes_free(written);
  set_values(&description->common.arena, read, n, preset);
}

/// The path of a file if it has the state of a subject; else NULL.
static char*
path_with_state(const char* const file_uri, const LilvNode* const subject)
{
  return !strncmp(file_uri, "file:", 5) && turtle_file_has(file_uri, subject, LV2_STATE__state)
             ? lilv_file_uri_parse(file_uri, NULL)
             : NULL;
}

const char*
lv2_state_file(Lv2Description* const description, const LilvNode* const subject)
{
  LilvNode* const bundle = turtle_bundle_uri(description->common.plugin.bundle);
  LilvNodes* const others = turtle_objects(subject, NS_RDFS "seeAlso");
  char* manifest = NULL;
  char* path = NULL;
  if (asprintf(&manifest, "%smanifest.ttl", lilv_node_as_string(bundle)) >= 0) {
    path = path_with_state(manifest, subject);
    free(manifest);
  }
  LILV_FOREACH(nodes, i, others)
  {
    path = path ? path : path_with_state(lilv_node_as_string(lilv_nodes_get(others, i)), subject);
  }
  const char* const copy = turtle_copy(&description->common.arena, path);
  if (!path) {
    description_mend(&description->common, "a state in a file that nothing names",
                     lilv_node_as_string(subject));
  }
  lilv_free(path);
  lilv_nodes_free(others);
  lilv_node_free(bundle);
  return copy;
}

/// The file with the state of a preset; "" if it has only values, or the plugin takes no state.
static const char*
state_of(Lv2Description* const description, const LilvNode* const node, const char* const uri)
{
  if (!turtle_has(node, LV2_STATE__state, NULL)) {
    return "";
  }
  if (!description->common.plugin.takes_state) {
    description_mend(&description->common, "a state for a plugin that takes none", uri);
    return "";
  }
  return lv2_state_file(description, node);
}

static void
read_preset(Lv2Description* const description, const LilvNode* const node,
            PluginPreset* const preset)
{
  lilv_world_load_resource(turtle_world(), node);
  preset->uri = turtle_copy(&description->common.arena, lilv_node_as_string(node));
  preset->name = turtle_text(&description->common.arena, node, NS_RDFS "label");
  preset->name = *preset->name ? preset->name : preset->uri;
  preset->state = state_of(description, node, preset->uri);
  read_values(description, node, preset);
}

/// Sort nodes by their URIs.  NULL without memory.
static const LilvNode**
sorted(Arena* const arena, const LilvNodes* const nodes)
{
  const LilvNode** const list = arena_take(arena, lilv_nodes_size(nodes), sizeof(*list));
  uint32_t n = 0;
  LILV_FOREACH(nodes, i, nodes)
  {
    if (list) {
      list[n++] = lilv_nodes_get(nodes, i);
    }
  }
  if (n) {
    qsort(list, n, sizeof(*list), turtle_compare);
  }
  return list;
}

void
lv2_read_presets(Lv2Description* const description)
{
  Arena* const arena = &description->common.arena;
  LilvNode* const type = lilv_new_uri(turtle_world(), LV2_PRESETS__Preset);
  const LilvPlugin* const lilv =
      lilv_plugins_get_by_uri(lilv_world_get_all_plugins(turtle_world()), description->node);
  LilvNodes* const nodes = lilv_plugin_get_related(lilv, type);
  const uint32_t n_nodes = lilv_nodes_size(nodes);
  const uint32_t n_presets = n_nodes < PLUGIN_MAX_PRESETS ? n_nodes : PLUGIN_MAX_PRESETS;
  const LilvNode** const list = sorted(arena, nodes);
  PluginPreset* const presets = arena_take(arena, n_presets, sizeof(*presets));
  uint32_t n = 0;
  while (list && presets && n < n_presets) {
    read_preset(description, list[n], presets + n);
    ++n;
  }
  description->common.plugin.presets = presets;
  description->common.plugin.n_presets = n;
  lilv_nodes_free(nodes);
  lilv_node_free(type);
}
