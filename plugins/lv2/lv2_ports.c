// SPDX-License-Identifier: GPL-3.0-or-later
// Ports of a plugin, and its properties (patch:writable), which the host treats as ports.

#include "lv2_description.h"

#include <ctype.h>
#include <lv2/atom/atom.h>
#include <lv2/midi/midi.h>
#include <lv2/patch/patch.h>
#include <lv2/port-groups/port-groups.h>
#include <lv2/port-props/port-props.h>
#include <lv2/resize-port/resize-port.h>
#include <lv2/time/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_RDF  "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define NS_RDFS "http://www.w3.org/2000/01/rdf-schema#"

/// The flag of a port that a URI stands for.
typedef struct UriFlag {
  const char* uri;
  uint32_t flag;
} UriFlag;

static const UriFlag property_flags[] = {
  { LV2_CORE__connectionOptional, PORT_OPTIONAL },
  { LV2_CORE__enumeration, PORT_CHOICE },
  { LV2_CORE__integer, PORT_INTEGER },
  { LV2_CORE_PREFIX "isSideChain", PORT_SIDECHAIN },
  { LV2_CORE__reportsLatency, PORT_LATENCY },
  { LV2_CORE__sampleRate, PORT_RATE },
  { LV2_CORE__toggled, PORT_TOGGLED },
  { LV2_PORT_PROPS__causesArtifacts, PORT_STEPPED },
  { LV2_PORT_PROPS__expensive, PORT_STEPPED },
  { LV2_PORT_PROPS__logarithmic, PORT_LOGARITHMIC },
  { LV2_PORT_PROPS__notAutomatic, PORT_STEPPED },
  { LV2_PORT_PROPS__notOnGUI, PORT_HIDDEN },
  { LV2_PORT_PROPS__trigger, PORT_TRIGGER },
};

static const UriFlag designation_flags[] = {
  { LV2_CORE__enabled, PORT_ENABLED | PORT_TOGGLED },
  { LV2_CORE__freeWheeling, PORT_OFFLINE },
  { LV2_CORE__latency, PORT_LATENCY },
};

/// Types of ports; input and output are flags, too.
enum {
  IS_INPUT = 1U << 0U,
  IS_OUTPUT = 1U << 1U,
  IS_CONTROL = 1U << 2U,
  IS_AUDIO = 1U << 3U,
  IS_CV = 1U << 4U,
  IS_ATOM = 1U << 5U
};

static const UriFlag port_types[] = {
  { LV2_CORE__InputPort, IS_INPUT },     { LV2_CORE__OutputPort, IS_OUTPUT },
  { LV2_CORE__ControlPort, IS_CONTROL }, { LV2_CORE__AudioPort, IS_AUDIO },
  { LV2_CORE__CVPort, IS_CV },           { LV2_ATOM__AtomPort, IS_ATOM },
};

static const UriFlag event_flags[] = {
  { LV2_MIDI__MidiEvent, PORT_EVENTS },
  { LV2_PATCH__Message, PORT_PATCH },
  { LV2_TIME__Position, PORT_TIME },
};

/// The type of a property.  `n_bytes` is the size of its number.
static const struct {
  const char* uri;
  uint32_t flag, n_bytes;
} ranges[] = {
  { LV2_ATOM__Bool, PORT_TOGGLED, 4U },   { LV2_ATOM__Double, PORT_NO_FLAGS, 8U },
  { LV2_ATOM__Float, PORT_NO_FLAGS, 4U }, { LV2_ATOM__Int, PORT_INTEGER, 4U },
  { LV2_ATOM__Long, PORT_INTEGER, 8U },   { LV2_ATOM__Path, PORT_FILE, 0U },
  { LV2_ATOM__String, PORT_TEXT, 0U },
};

/// The flags of all objects of a predicate.
static uint32_t
read_flags(const LilvNode* const node, const char* const predicate, const UriFlag* const table,
           const size_t n_rows)
{
  uint32_t flags = PORT_NO_FLAGS;
  LilvNodes* const objects = turtle_objects(node, predicate);
  LILV_FOREACH(nodes, i, objects)
  {
    const char* const uri = lilv_node_as_string(lilv_nodes_get(objects, i));
    for (size_t r = 0; r < n_rows; ++r) {
      flags |= strcmp(uri, table[r].uri) ? PORT_NO_FLAGS : table[r].flag;
    }
  }
  lilv_nodes_free(objects);
  return flags;
}

// ---- names ----

/// A symbol that no other port has: `wanted`, its invalid characters replaced, and a number after
/// it if it is taken.
static const char*
make_symbol(Lv2Description* const description, const char* const wanted)
{
  const size_t room = strlen(wanted) + 2U;
  char* const symbol = arena_take(&description->common.arena, room, 1U);
  if (!symbol) {
    return "";
  }
  snprintf(symbol, room, "%s%s", isdigit((unsigned char)*wanted) ? "_" : "", wanted);
  for (char* at = symbol; *at; ++at) {
    *at = isalnum((unsigned char)*at) ? *at : '_';
  }
  const char* const added = names_add(&description->symbols, symbol, '_');
  return added ? added : "";
}

static void
read_symbol(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  char numbered[24];
  snprintf(numbered, sizeof(numbered), "port_%u", port->index);
  const char* const written = turtle_text(&description->common.arena, node, LV2_CORE__symbol);
  port->symbol = make_symbol(description, *written ? written : numbered);
  if (strcmp(written, port->symbol) != 0) {
    description_mend(&description->common, *written ? "invalid or double symbol" : "no symbol",
                     port->symbol);
  }
  port->name = turtle_text(&description->common.arena, node, LV2_CORE__name);
  port->name = *port->name ? port->name : port->symbol;
}

// ---- ports ----

/// Audio and CV ports: the group's name, and if it is a side chain.
static void
read_group(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  LilvNode* const group = turtle_object(node, LV2_PORT_GROUPS__group);
  if (turtle_has(node, LV2_PORT_GROUPS__sideChainOf, NULL) ||
      (group && turtle_has(group, LV2_PORT_GROUPS__sideChainOf, NULL))) {
    port->flags |= PORT_SIDECHAIN;
  }
  static const char* const names[] = { LV2_CORE__name, NS_RDFS "label", LV2_CORE__symbol };
  for (size_t n = 0; group && n < ARRAY_LEN(names) && !*port->group; ++n) {
    port->group = turtle_text(&description->common.arena, group, names[n]);
  }
  lilv_node_free(group);
}

static void
read_atom(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  double n_bytes = 0.0;
  port->flags |= read_flags(node, LV2_ATOM__supports, event_flags, ARRAY_LEN(event_flags));
  if (turtle_number(node, LV2_RESIZE_PORT__minimumSize, &n_bytes) && n_bytes > 0.0) {
    port->n_bytes = (uint32_t)(n_bytes < PLUGIN_MAX_BUFFER ? n_bytes : PLUGIN_MAX_BUFFER);
    if (n_bytes > PLUGIN_MAX_BUFFER) {
      description_fault(&description->common, "port %s needs a buffer of %.0f bytes", port->symbol,
                        n_bytes);
    }
  }
}

static void
read_control(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  const uint32_t of_outputs = PORT_LATENCY;
  const uint32_t of_inputs = PORT_ENABLED | PORT_BYPASS | PORT_OFFLINE | PORT_TRIGGER;
  if (port->flags & PORT_TOGGLED && !(port->flags & PORT_ENABLED) &&
      !strcasecmp(port->symbol, "bypass")) {
    port->flags |= PORT_BYPASS;
  }
  port->flags &= ~(port->flags & PORT_OUTPUT ? of_inputs : of_outputs);
  lv2_read_numbers(description, node, port);
}

/// The first type other than input and output, or NULL; the caller frees it.
static LilvNode*
other_type(const LilvNode* const node)
{
  LilvNode* other = NULL;
  LilvNodes* const types = turtle_objects(node, NS_RDF "type");
  LILV_FOREACH(nodes, i, types)
  {
    const LilvNode* const type = lilv_nodes_get(types, i);
    const char* const uri = lilv_node_as_string(type);
    if (!other && strcmp(uri, LV2_CORE__InputPort) != 0 && strcmp(uri, LV2_CORE__OutputPort) != 0 &&
        strcmp(uri, LV2_CORE__Port) != 0) {
      other = lilv_node_duplicate(type);
    }
  }
  lilv_nodes_free(types);
  return other;
}

/// A port of unknown type is connected to nothing, if it may be: as an atom port without events.
static void
read_unknown(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  LilvNode* const type = other_type(node);
  port->type = PORT_ATOM;
  if (!(port->flags & PORT_OPTIONAL)) {
    description_fault(&description->common, "port %s has %s%s", port->symbol,
                      type ? "the unknown type " : "no type",
                      type ? lilv_node_as_string(type) : "");
  }
  lilv_node_free(type);
}

static void
read_port_of_type(Lv2Description* const description, const LilvNode* const node,
                  const uint32_t type, PluginPort* const port)
{
  if (type & IS_CONTROL) {
    port->type = PORT_CONTROL;
    read_control(description, node, port);
  } else if (type & IS_AUDIO) {
    port->type = PORT_AUDIO;
    read_group(description, node, port);
  } else if (type & IS_CV) {
    port->type = PORT_CV;
    read_group(description, node, port);
  } else if (type & IS_ATOM) {
    port->type = PORT_ATOM;
    read_atom(description, node, port);
  } else {
    read_unknown(description, node, port);
  }
}

static void
read_port(Lv2Description* const description, const LilvNode* const node, PluginPort* const port)
{
  const uint32_t type = read_flags(node, NS_RDF "type", port_types, ARRAY_LEN(port_types));
  const bool is_input = type & IS_INPUT;
  const bool is_output = type & IS_OUTPUT;
  read_symbol(description, node, port);
  port->group = "";
  port->uri = "";
  port->flags =
      (is_output ? PORT_OUTPUT : PORT_NO_FLAGS) |
      read_flags(node, LV2_CORE__portProperty, property_flags, ARRAY_LEN(property_flags)) |
      read_flags(node, LV2_CORE__designation, designation_flags, ARRAY_LEN(designation_flags));
  if (is_input == is_output) {
    description_fault(&description->common, "port %s is %s", port->symbol,
                      is_input ? "input and output" : "neither input nor output");
  }
  read_port_of_type(description, node, type, port);
}

/// Put the node of a port at its index, which must be new and below the number of ports.
static void
place_port(Lv2Description* const description, const LilvNode* const node,
           const LilvNode** const places)
{
  double index = -1.0;
  const uint32_t n_ports = description->common.plugin.n_ports;
  if (!turtle_number(node, LV2_CORE__index, &index)) {
    description_fault(&description->common, "a port has no index");
  } else if (index < 0.0 || index >= n_ports || index > (uint32_t)index) {
    description_fault(&description->common, "a port has the index %g, but there are %u ports",
                      index, n_ports);
  } else if (places[(uint32_t)index]) {
    description_fault(&description->common, "two ports have the index %u", (uint32_t)index);
  } else {
    places[(uint32_t)index] = node;
  }
}

static void
read_ports(Lv2Description* const description, const LilvNodes* const nodes)
{
  const uint32_t n_ports = description->common.plugin.n_ports;
  const LilvNode** const places = arena_take(&description->common.arena, n_ports, sizeof(*places));
  LILV_FOREACH(nodes, i, nodes)
  {
    if (places) {
      place_port(description, lilv_nodes_get(nodes, i), places);
    }
  }
  for (uint32_t p = 0; p < n_ports && places && places[p]; ++p) {
    description->common.ports[p].index = p;
    read_port(description, places[p], &description->common.ports[p]);
  }
}

// ---- properties ----

/// The name of a property in its URI, after the last '#', '/' or ':'.
static const char*
uri_tail(const char* const uri)
{
  const char* tail = uri;
  for (const char* at = uri; *at; ++at) {
    tail = strchr("#/:", *at) && at[1] ? at + 1 : tail;
  }
  return tail;
}

/// Flags and size of a property's type.  False if a rack cannot have its values.
static bool
read_range(const LilvNode* const node, PluginPort* const port)
{
  bool is_known = false;
  LilvNode* const range = turtle_object(node, NS_RDFS "range");
  for (size_t r = 0; range && r < ARRAY_LEN(ranges); ++r) {
    if (!strcmp(lilv_node_as_string(range), ranges[r].uri)) {
      port->flags |= ranges[r].flag;
      port->n_bytes = ranges[r].n_bytes;
      is_known = true;
    }
  }
  lilv_node_free(range);
  return is_known;
}

static void
read_property(Lv2Description* const description, const LilvNode* const node)
{
  const uint32_t place = description->common.plugin.n_ports;
  PluginPort* const port = &description->common.ports[place];
  port->uri = turtle_copy(&description->common.arena, lilv_node_as_string(node));
  if (!read_range(node, port)) {
    description_mend(&description->common, "property whose type cannot be set", port->uri);
    return;
  }
  port->index = place;
  port->type = PORT_PROPERTY;
  port->group = "";
  port->symbol = make_symbol(description, uri_tail(port->uri));
  port->name = turtle_text(&description->common.arena, node, NS_RDFS "label");
  port->name = *port->name ? port->name : port->symbol;
  if (port->n_bytes) {
    port->flags |= PORT_STEPPED;
    lv2_read_numbers(description, node, port);
  }
  ++description->common.plugin.n_ports;
}

static bool
accepts_messages(const Lv2Description* const description)
{
  for (uint32_t p = 0; p < description->common.plugin.n_ports; ++p) {
    const PluginPort* const port = description->common.ports + p;
    if (port->type == PORT_ATOM && (port->flags & (PORT_OUTPUT | PORT_PATCH)) == PORT_PATCH) {
      return true;
    }
  }
  return false;
}

static void
read_properties(Lv2Description* const description, const LilvNodes* const nodes)
{
  const uint32_t n_nodes = accepts_messages(description) ? lilv_nodes_size(nodes) : 0U;
  const LilvNode** const sorted = arena_take(&description->common.arena, n_nodes, sizeof(*sorted));
  uint32_t n = 0;
  LILV_FOREACH(nodes, i, nodes)
  {
    if (sorted && n < n_nodes) {
      sorted[n++] = lilv_nodes_get(nodes, i);
    }
  }
  qsort(sorted, n, sizeof(*sorted), turtle_compare);
  for (uint32_t p = 0; p < n; ++p) {
    read_property(description, sorted[p]);
  }
}

void
lv2_read_ports(Lv2Description* const description)
{
  Arena* const arena = &description->common.arena;
  LilvNodes* const ports = turtle_objects(description->node, LV2_CORE__port);
  LilvNodes* const properties = turtle_objects(description->node, LV2_PATCH__writable);
  const uint32_t n_ports = lilv_nodes_size(ports);
  const uint32_t n_places = n_ports + lilv_nodes_size(properties);
  if (n_places > PLUGIN_MAX_PORTS) {
    description_fault(&description->common, "has %u ports; at most %u are possible", n_places,
                      PLUGIN_MAX_PORTS);
  }
  description->common.ports = arena_take(arena, n_places, sizeof(PluginPort));
  description->common.plugin.ports = description->common.ports;
  description->symbols = names_begin(arena, n_places);
  if (!arena->failed && !description->common.fault[0]) {
    description->common.plugin.n_ports = n_ports;
    read_ports(description, ports);
    read_properties(description, properties);
  }
  if (description->common.fault[0]) {
    description->common.plugin.n_ports = 0; // they may be incomplete
  }
  lilv_nodes_free(properties);
  lilv_nodes_free(ports);
}
