// SPDX-License-Identifier: GPL-3.0-or-later
// The side inputs of a plugin's effect, made from its audio inputs.

#include "plugin.h"
#include "plugin_names.h"

#include <string.h>

/// The name of the only side input of a plugin, and of the ports without a group.
#define PLAIN_NAME "sidechain"

/// Side inputs as far as they are found.
typedef struct Sides {
  FxSide* list;             ///< [n]
  const PluginPort** first; ///< [n] the first port of each
  uint32_t n;
} Sides;

static bool
is_side(const PluginPort* const port)
{
  return port->type == PORT_AUDIO && port->flags & PORT_SIDECHAIN && !(port->flags & PORT_OUTPUT);
}

static bool
is_main(const PluginPort* const port)
{
  return port->type == PORT_AUDIO && !(port->flags & (PORT_SIDECHAIN | PORT_OUTPUT));
}

/// The side input of a port: that of an earlier port of its group, or a new one.  Ports without a
/// group form one, too.
static uint32_t
find_side(Sides* const sides, const PluginPort* const port)
{
  uint32_t s = 0;
  while (s < sides->n && strcmp(sides->first[s]->group, port->group) != 0) {
    ++s;
  }
  if (s == sides->n) {
    sides->first[sides->n++] = port;
  }
  return s;
}

static const char*
make_name(NameSet* const names, const char* const group)
{
  char* const name = arena_take(names->arena, 1, PLUGIN_ID_BYTES);
  if (!name) {
    return NULL;
  }
  plugin_param_id(*group ? group : PLAIN_NAME, name);
  return names_add(names, name, '_');
}

static void
name_sides(const Sides* const sides, Arena* const arena)
{
  NameSet names = names_begin(arena, sides->n);
  for (uint32_t s = 0; s < sides->n; ++s) {
    sides->list[s].name = make_name(&names, sides->n > 1U ? sides->first[s]->group : "");
  }
}

Status
plugin_make_sides(Plugin* const plugin, Arena* const arena, Error* const error)
{
  uint32_t* const side_of = arena_take(arena, plugin->n_ports, sizeof(uint32_t));
  Sides sides = { .list = arena_take(arena, plugin->n_ports, sizeof(FxSide)),
                  .first = arena_take(arena, plugin->n_ports, sizeof(PluginPort*)) };
  bool has_main = false;
  for (uint32_t p = 0; p < plugin->n_ports && !arena->failed; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (is_side(port)) {
      side_of[p] = find_side(&sides, port);
      ++sides.list[side_of[p]].n_channels;
    }
    has_main = has_main || is_main(port);
  }
  if (!arena->failed) {
    name_sides(&sides, arena);
  }
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  plugin->side_of = side_of;
  plugin->fx.sides = sides.list;
  plugin->fx.n_sides = sides.n;
  plugin->fx.is_source = !has_main;
  return STATUS_OK;
}

uint32_t
plugin_count_audio(const Plugin* const plugin, const bool is_output)
{
  uint32_t n = 0;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    n += port->type == PORT_AUDIO && !(port->flags & PORT_OUTPUT) == !is_output;
  }
  return n;
}
