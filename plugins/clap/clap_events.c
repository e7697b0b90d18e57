// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_events.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NO_PLACE UINT32_MAX

static uint32_t
count_events(const clap_input_events_t* const list)
{
  const ClapEvents* const events = list->ctx;
  return events->n_listed;
}

static const clap_event_header_t*
get_event(const clap_input_events_t* const list, const uint32_t index)
{
  const ClapEvents* const events = list->ctx;
  return index < events->n_listed ? events->list[index] : NULL;
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
    .in = { events, count_events, get_event },
    .out = { events, push },
    .room = plugin->n_ports + CLAP_EVENT_ROOM,
    .places = arena_take(arena, plugin->n_ports, sizeof(uint32_t)),
    .by_id = arena_take(arena, plugin->n_ports, sizeof(uint32_t)),
    .values = arena_take(arena, plugin->n_ports, sizeof(double)),
  };
  const uint32_t note_room = plugin->fx.event ? FX_MAX_EVENTS : 0U;
  events->changes = arena_take(arena, events->room, sizeof(ClapChange));
  events->notes = arena_take(arena, note_room, sizeof(ClapNote));
  events->list = arena_take(arena, events->room + note_room, sizeof(*events->list));
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

void
clap_events_add_note(ClapEvents* const events, const FxEvent* const event, const uint32_t frame)
{
  const bool has_room = events->n_notes < FX_MAX_EVENTS; // always, if the plugin runs
  if (has_room && events->note_port.dialect) {
    events->notes[events->n_notes++] = clap_note(&events->note_port, event, frame);
  }
}

void
clap_events_begin(ClapEvents* const events)
{
  uint32_t n = 0;
  uint32_t note = 0;
  for (uint32_t c = 0; c < events->n_changes; ++c) {
    const clap_event_header_t* const change = &events->changes[c].event.header;
    for (; note < events->n_notes && events->notes[note].header.time < change->time; ++note) {
      events->list[n++] = &events->notes[note].header;
    }
    events->list[n++] = change; // before the notes of its frame
  }
  for (; note < events->n_notes; ++note) {
    events->list[n++] = &events->notes[note].header;
  }
  events->n_listed = n;
}

void
clap_events_end(ClapEvents* const events)
{
  events->n_changes = 0;
  events->n_notes = 0;
  events->n_listed = 0;
}
