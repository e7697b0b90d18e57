// SPDX-License-Identifier: GPL-3.0-or-later
// Spreads the channels of a node over the instances of its plugin.

#include "host_lanes.h"

/// Audio ports of a plugin.
typedef struct Widths {
  uint32_t n_main, n_side, n_out;
} Widths;

static Widths
count_ports(const Plugin* const plugin)
{
  Widths widths = { 0 };
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (port->type == PORT_AUDIO) {
      const bool is_side = (port->flags & PORT_SIDECHAIN) != 0U;
      ++*(port->flags & PORT_OUTPUT ? &widths.n_out : is_side ? &widths.n_side : &widths.n_main);
    }
  }
  return widths;
}

static Status
no_width(const Plugin* const plugin, const uint32_t n_in, const uint32_t n_main, Error* const error)
{
  const uint32_t fewer = n_in < n_main ? 1U : n_in / n_main * n_main;
  const uint32_t more = (n_in / n_main + 1U) * n_main;
  return error_set(error, STATUS_BAD_RACK,
                   "%s: %u channels into a plugin with %u inputs; connect %u or %u",
                   plugin->fx.name, n_in, n_main, fewer, more);
}

static Status
check_widths(const Plugin* const plugin, const Widths* const widths, const uint32_t n_in,
             Error* const error)
{
  const char* const name = plugin->fx.name;
  if (!widths->n_out) {
    return error_set(error, STATUS_BAD_RACK, "%s: the plugin has no audio output", name);
  }
  if (n_in > 1U && n_in % widths->n_main) {
    return no_width(plugin, n_in, widths->n_main, error);
  }
  const uint64_t n_instances = n_in > 1U ? n_in / widths->n_main : 1U;
  if (n_instances * widths->n_out > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_BAD_RACK, "%s: would have %u outputs; a node can have %u", name,
                     (uint32_t)(n_instances * widths->n_out), FX_MAX_CHANNELS);
  }
  return STATUS_OK;
}

/// The channel of FxUnit::side for port p: after those of earlier side inputs, and of earlier ports
/// of its own.
static uint32_t
side_channel(const Plugin* const plugin, const uint32_t p)
{
  uint32_t channel = 0;
  for (uint32_t s = 0; s < plugin->side_of[p]; ++s) {
    channel += plugin->fx.sides[s].n_channels;
  }
  for (uint32_t other = 0; other < p; ++other) {
    const PluginPort* const port = &plugin->ports[other];
    channel += port->type == PORT_AUDIO && port->flags & PORT_SIDECHAIN &&
               !(port->flags & PORT_OUTPUT) && plugin->side_of[other] == plugin->side_of[p];
  }
  return channel;
}

/// Choose the channel for each audio input.
static void
choose_sources(const HostLanes* const lanes, const Plugin* const plugin)
{
  uint32_t row = 0;
  uint32_t n_main = 0;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (port->type == PORT_AUDIO && !(port->flags & PORT_OUTPUT)) {
      const bool is_side = (port->flags & PORT_SIDECHAIN) != 0U;
      const uint32_t channel = is_side ? side_channel(plugin, p) : n_main++ % lanes->n_in;
      lanes->sources[row++] = (HostSource){ is_side, channel };
    }
  }
}

void
host_lanes_pass(HostLanes* const lanes, const uint32_t n_in, const uint32_t n_out)
{
  *lanes = (HostLanes){ .n_instances = 1U, .n_in = n_in, .n_out = n_out };
}

Status
host_lanes_make(HostLanes* const lanes, const Plugin* const plugin, const uint32_t n_in,
                Arena* const arena, Error* const error)
{
  const Widths widths = count_ports(plugin);
  const Status status = check_widths(plugin, &widths, n_in, error);
  if (status) {
    return status;
  }
  lanes->n_in = n_in > 1U ? widths.n_main : n_in;
  lanes->n_instances = n_in > 1U ? n_in / widths.n_main : 1U;
  lanes->n_out = widths.n_out;
  lanes->n_rows = widths.n_main + widths.n_side;
  lanes->sources = arena_take(arena, lanes->n_rows, sizeof(HostSource));
  if (!lanes->sources) {
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", plugin->fx.name);
  }
  choose_sources(lanes, plugin);
  return STATUS_OK;
}
