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

// ---- the clock ----

static int64_t
to_fixed(const double number, const int64_t factor)
{
  return llrint(number * (double)factor);
}

/// The transport at a frame of the next block.
static clap_event_transport_t
transport_at(const HostClock* const clock, const uint32_t frame)
{
  const double beats = host_clock_beats(clock, frame);
  const double bar = floor(beats / HOST_CLOCK_BEATS_PER_BAR);
  return (clap_event_transport_t){
    .header = {
      .size = sizeof(clap_event_transport_t),
      .time = frame,
      .space_id = CLAP_CORE_EVENT_SPACE_ID,
      .type = CLAP_EVENT_TRANSPORT,
    },
    .flags = CLAP_TRANSPORT_HAS_TEMPO | CLAP_TRANSPORT_HAS_BEATS_TIMELINE |
             CLAP_TRANSPORT_HAS_SECONDS_TIMELINE | CLAP_TRANSPORT_HAS_TIME_SIGNATURE |
             CLAP_TRANSPORT_IS_PLAYING,
    .song_pos_beats = to_fixed(beats, CLAP_BEATTIME_FACTOR),
    .song_pos_seconds =
        to_fixed((double)(clock->n_frames + frame) / clock->rate_hz, CLAP_SECTIME_FACTOR),
    .tempo = clock->bpm,
    .bar_start = to_fixed(bar * HOST_CLOCK_BEATS_PER_BAR, CLAP_BEATTIME_FACTOR),
    .bar_number = (int32_t)bar,
    .tsig_num = HOST_CLOCK_BEATS_PER_BAR,
    .tsig_denom = HOST_CLOCK_BEAT_UNIT,
  };
}

void
clap_events_restart(ClapEvents* const events)
{
  host_clock_restart(&events->clock);
  events->transport = transport_at(&events->clock, 0U);
}

// ---- changes and notes ----

void
clap_events_init(ClapEvents* const events, const Plugin* const plugin, const double rate_hz,
                 Arena* const arena)
{
  *events = (ClapEvents){
    .plugin = plugin,
    .clock = host_clock(rate_hz),
    .in = { events, count_events, get_event },
    .out = { events, push },
    .room = plugin->n_ports + CLAP_EVENT_ROOM,
    .places = arena_take(arena, plugin->n_ports + 1U, sizeof(uint32_t)),
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

/// Keep the last value of each parameter and the last tempo, at the start of the block.
static void
shorten(ClapEvents* const events)
{
  for (uint32_t p = 0; p <= events->plugin->n_ports; ++p) {
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

/// Add a change to the list, which CLAP requires in order of time.
static void
add(ClapEvents* const events, const ClapChange* const change)
{
  if (events->n_changes == events->room) {
    shorten(events);
  }
  uint32_t place = events->n_changes++;
  for (; place > 0U && events->changes[place - 1U].event.header.time > change->event.header.time;
       --place) {
    events->changes[place] = events->changes[place - 1U];
  }
  events->changes[place] = *change;
}

void
clap_events_add(ClapEvents* const events, const uint32_t port, const double value,
                const uint32_t frame)
{
  const ClapChange change = {
    .event.value = {
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
  add(events, &change);
}

void
clap_events_set_tempo(ClapEvents* const events, const double bpm, const uint32_t frame)
{
  if (!host_clock_set(&events->clock, bpm, frame)) {
    return;
  }
  const clap_event_transport_t transport = transport_at(&events->clock, frame);
  if (frame) {
    const ClapChange change = { .event.transport = transport, .port = events->plugin->n_ports };
    add(events, &change);
  } else {
    events->transport = transport;
  }
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
clap_events_end(ClapEvents* const events, const uint32_t n_frames)
{
  host_clock_advance(&events->clock, n_frames);
  events->transport = transport_at(&events->clock, 0U);
  events->n_changes = 0;
  events->n_notes = 0;
  events->n_listed = 0;
}
