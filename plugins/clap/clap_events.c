// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_events.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NO_PLACE UINT32_MAX

static uint32_t
count_changes(const clap_input_events_t* const list)
{
  const ClapEvents* const events = list->ctx;
  return events->n_changes;
}

static const clap_event_header_t*
get_change(const clap_input_events_t* const list, const uint32_t index)
{
  const ClapEvents* const events = list->ctx;
  return index < events->n_changes ? &events->changes[index].event.header : NULL;
}

/// The port of a parameter, or NO_PLACE.
static uint32_t
find_port(const ClapEvents* const events, const clap_id id)
{
  uint32_t begin = 0;
  uint32_t end = events->n_params;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2U;
    const clap_id here = events->plugin->ports[events->by_id[middle]].index;
    if (here == id) {
      return events->by_id[middle];
    }
    begin = here < id ? middle + 1U : begin;
    end = here < id ? end : middle;
  }
  return NO_PLACE;
}

/// Keep a value that the plugin reports.  Other events have no receiver.
static bool
push(const clap_output_events_t* const list, const clap_event_header_t* const header)
{
  const ClapEvents* const events = list->ctx;
  if (header->space_id != CLAP_CORE_EVENT_SPACE_ID || header->type != CLAP_EVENT_PARAM_VALUE ||
      header->size < sizeof(clap_event_param_value_t)) {
    return true;
  }
  const clap_event_param_value_t* const event = (const void*)header;
  const uint32_t port = find_port(events, event->param_id);
  if (port != NO_PLACE && isfinite(event->value)) {
    atomic_store_explicit(&events->values[port], event->value, memory_order_relaxed);
  }
  return true;
}

/// The order of parameters by id, for qsort_r().
static int
compare_ids(const void* const left, const void* const right, void* const plugin)
{
  const Plugin* const* const of = plugin;
  const clap_id l = (*of)->ports[*(const uint32_t*)left].index;
  const clap_id r = (*of)->ports[*(const uint32_t*)right].index;
  return (l > r) - (l < r);
}

void
clap_events_init(ClapEvents* const events, const Plugin* const plugin, Arena* const arena)
{
  *events = (ClapEvents){
    .plugin = plugin,
    .in = { events, count_changes, get_change },
    .out = { events, push },
    .room = plugin->n_ports + CLAP_EVENT_ROOM,
    .places = arena_take(arena, plugin->n_ports, sizeof(uint32_t)),
    .by_id = arena_take(arena, plugin->n_ports, sizeof(uint32_t)),
    .values = arena_take(arena, plugin->n_ports, sizeof(double)),
  };
  events->changes = arena_take(arena, events->room, sizeof(ClapChange));
  for (uint32_t p = 0; !arena->failed && p < plugin->n_ports; ++p) {
    if (plugin->ports[p].type == PORT_CONTROL) {
      events->by_id[events->n_params++] = p;
    }
  }
  if (!arena->failed) {
    qsort_r(events->by_id, events->n_params, sizeof(uint32_t), compare_ids, &events->plugin);
  }
}

/// Keep the last value of each parameter, at the start of the block.
static void
shorten(ClapEvents* const events)
{
  for (uint32_t p = 0; p < events->plugin->n_ports; ++p) {
    events->places[p] = NO_PLACE;
  }
  uint32_t n = 0;
  for (uint32_t c = 0; c < events->n_changes; ++c) {
    const ClapChange* const change = &events->changes[c];
    uint32_t* const place = &events->places[change->port];
    *place = *place == NO_PLACE ? n++ : *place;
    events->changes[*place] = *change;
    events->changes[*place].event.header.time = 0;
  }
  events->n_changes = n;
}

void
clap_events_add(ClapEvents* const events, const uint32_t port, const double value,
                const uint32_t frame)
{
  if (events->n_changes == events->room) {
    shorten(events);
  }
  uint32_t place = events->n_changes++;
  for (; place > 0U && events->changes[place - 1U].event.header.time > frame; --place) {
    events->changes[place] = events->changes[place - 1U]; // CLAP requires events in order of time
  }
  events->changes[place] = (ClapChange){
    .event = {
      .header = {
        .size = sizeof(clap_event_param_value_t),
        .time = frame,
        .space_id = CLAP_CORE_EVENT_SPACE_ID,
        .type = CLAP_EVENT_PARAM_VALUE,
      },
      .param_id = events->plugin->ports[port].index,
      .note_id = -1,
      .port_index = -1,
      .channel = -1,
      .key = -1,
      .value = value,
    },
    .port = port,
  };
}
