// SPDX-License-Identifier: GPL-3.0-or-later
// Makes CLAP plugins of the fixtures that all formats share: of their inputs, outputs and controls.
// A scan initialises and destroys every plugin, so that phases are those of activated ones.

#include "tests/support/plugins/fixture.h"

#include <clap/entry.h>
#include <clap/ext/audio-ports.h>
#include <clap/ext/note-ports.h>
#include <clap/ext/params.h>
#include <clap/factory/plugin-factory.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLUGINS 64U
#define MAX_PORTS   320U
#define ID_BYTES    128U
#define MAX_NOTES   4096U

typedef struct Instance {
  clap_plugin_t clap;
  const Fixture* fixture;
  float* ports[MAX_PORTS];
  float values[MAX_PORTS]; ///< Of controls
  double rate_hz;          ///< 0 before it is activated
  void* state;
  FixtureNote notes[MAX_NOTES]; ///< Of a block
  uint32_t n_notes;
} Instance;

static clap_plugin_descriptor_t descriptors[MAX_PLUGINS];
static char ids[MAX_PLUGINS][ID_BYTES];

static uint32_t
count_ports(const Fixture* const fixture, const FixtureKind kind)
{
  uint32_t n = 0;
  for (uint32_t p = 0; p < fixture->n_ports; ++p) {
    n += fixture->ports[p].kind == kind;
  }
  return n;
}

static FixtureCall
call_of(Instance* const instance, const uint32_t n_frames)
{
  return (FixtureCall){ instance->ports, instance->state, instance->rate_hz,
                        n_frames,        instance->notes, instance->n_notes };
}

// ---- parameters: their ids are places in the fixture's ports ----

static uint32_t
params_count(const clap_plugin_t* const clap)
{
  return count_ports(((const Instance*)clap->plugin_data)->fixture, FIXTURE_CONTROL);
}

static bool
params_info(const clap_plugin_t* const clap, const uint32_t index, clap_param_info_t* const info)
{
  const Fixture* const fixture = ((const Instance*)clap->plugin_data)->fixture;
  uint32_t n_before = 0;
  for (uint32_t p = 0; p < fixture->n_ports; ++p) {
    const FixturePort* const port = &fixture->ports[p];
    if (port->kind == FIXTURE_CONTROL && n_before++ == index) {
      const bool is_stepped = port->hints & (FIXTURE_INTEGER | FIXTURE_TOGGLED);
      *info = (clap_param_info_t){
        .id = p,
        .flags = CLAP_PARAM_IS_AUTOMATABLE | (is_stepped ? CLAP_PARAM_IS_STEPPED : 0U),
        .min_value = is_stepped ? ceil((double)port->min) : (double)port->min,
        .max_value = is_stepped ? floor((double)port->max) : (double)port->max,
        .default_value = (double)fixture_initial(port),
      };
      strcpy(info->name, port->name);
      return true;
    }
  }
  return false;
}

static bool
params_value(const clap_plugin_t* const clap, const clap_id id, double* const value)
{
  const Instance* const instance = clap->plugin_data;
  *value = (double)instance->values[id];
  return true;
}

static bool
params_text(const clap_plugin_t* const clap, const clap_id id, const double value, char* const text,
            const uint32_t n_bytes)
{
  (void)clap;
  (void)id;
  snprintf(text, n_bytes, "%g", value);
  return true;
}

static bool
params_parse(const clap_plugin_t* const clap, const clap_id id, const char* const text,
             double* const value)
{
  (void)clap;
  (void)id;
  (void)text;
  (void)value;
  return false;
}

/// The place of the port for notes; n_ports: none.
static uint32_t
notes_port(const Fixture* const fixture)
{
  uint32_t p = 0;
  while (p < fixture->n_ports && fixture->ports[p].kind != FIXTURE_NOTES) {
    ++p;
  }
  return p;
}

static bool
takes_midi(const Fixture* const fixture)
{
  return fixture->ports[notes_port(fixture)].hints & FIXTURE_MIDI;
}

/// Keep a note, which must come in the dialect of the port.
static void
take_note(Instance* const instance, const clap_event_header_t* const header)
{
  const clap_event_note_t* const note = (const void*)header;
  const clap_event_midi_t* const midi = (const void*)header;
  const bool is_midi = header->type == CLAP_EVENT_MIDI;
  const bool is_on = is_midi ? midi->data[0] == 0x90U : header->type == CLAP_EVENT_NOTE_ON;
  if (notes_port(instance->fixture) == instance->fixture->n_ports ||
      is_midi != takes_midi(instance->fixture) || instance->n_notes == MAX_NOTES) {
    abort();
  }
  instance->notes[instance->n_notes++] = (FixtureNote){
    .frame = header->time,
    .key = is_midi ? midi->data[1] : (uint32_t)note->key,
    .velocity = !is_on    ? 0.0F
                : is_midi ? (float)midi->data[2] / 127.0F
                          : (float)note->velocity,
  };
}

/// Take the events of a block, which must be in order.
static void
take_events(Instance* const instance, const clap_input_events_t* const events)
{
  uint32_t last = 0;
  instance->n_notes = 0;
  for (uint32_t e = 0; e < events->size(events); ++e) {
    const clap_event_param_value_t* const event = (const void*)events->get(events, e);
    if (event->header.time < last) {
      abort();
    }
    last = event->header.time;
    if (event->header.type == CLAP_EVENT_PARAM_VALUE) {
      instance->values[event->param_id] = (float)event->value;
    } else {
      take_note(instance, &event->header);
    }
  }
}

static void
params_flush(const clap_plugin_t* const clap, const clap_input_events_t* const in,
             const clap_output_events_t* const out)
{
  (void)out;
  take_events(clap->plugin_data, in);
}

// ---- notes ----

static uint32_t
notes_count(const clap_plugin_t* const clap, const bool is_input)
{
  const Fixture* const fixture = ((const Instance*)clap->plugin_data)->fixture;
  return is_input && notes_port(fixture) < fixture->n_ports;
}

static bool
notes_get(const clap_plugin_t* const clap, const uint32_t index, const bool is_input,
          clap_note_port_info_t* const info)
{
  const Fixture* const fixture = ((const Instance*)clap->plugin_data)->fixture;
  const uint32_t midi = CLAP_NOTE_DIALECT_MIDI | CLAP_NOTE_DIALECT_MIDI2;
  *info = (clap_note_port_info_t){
    .id = index,
    .supported_dialects = takes_midi(fixture) ? midi : CLAP_NOTE_DIALECT_CLAP | midi,
    .preferred_dialect = takes_midi(fixture) ? CLAP_NOTE_DIALECT_MIDI2 : CLAP_NOTE_DIALECT_CLAP,
  };
  return is_input;
}

// ---- audio ports: one for all inputs, one for all outputs ----

static uint32_t
ports_count(const clap_plugin_t* const clap, const bool is_input)
{
  const Fixture* const fixture = ((const Instance*)clap->plugin_data)->fixture;
  return count_ports(fixture, is_input ? FIXTURE_INPUT : FIXTURE_OUTPUT) > 0U;
}

static bool
ports_get(const clap_plugin_t* const clap, const uint32_t index, const bool is_input,
          clap_audio_port_info_t* const info)
{
  const Instance* const instance = clap->plugin_data;
  *info = (clap_audio_port_info_t){
    .id = index,
    .flags = CLAP_AUDIO_PORT_IS_MAIN,
    .channel_count = count_ports(instance->fixture, is_input ? FIXTURE_INPUT : FIXTURE_OUTPUT),
    .in_place_pair = CLAP_INVALID_ID,
  };
  strcpy(info->name, "Main");
  return true;
}

// ---- the plugin ----

static bool
plugin_init(const clap_plugin_t* const clap)
{
  (void)clap;
  return true;
}

static void
plugin_destroy(const clap_plugin_t* const clap)
{
  Instance* const instance = clap->plugin_data;
  if (instance->rate_hz > 0.0) {
    fixture_enter(FIXTURE_CLEANUP, instance->fixture);
  }
  free(instance->state);
  free(instance);
}

static bool
plugin_activate(const clap_plugin_t* const clap, const double rate_hz, const uint32_t min_frames,
                const uint32_t max_frames)
{
  (void)min_frames;
  (void)max_frames;
  Instance* const instance = clap->plugin_data;
  if (!(instance->rate_hz > 0.0)) {
    fixture_enter(FIXTURE_INSTANTIATE, instance->fixture);
  }
  instance->rate_hz = rate_hz;
  fixture_enter(FIXTURE_ACTIVATE, instance->fixture);
  if (instance->fixture->activate) {
    const FixtureCall call = call_of(instance, 0);
    instance->fixture->activate(&call);
  }
  return true;
}

static void
do_nothing(const clap_plugin_t* const clap)
{
  (void)clap;
}

static bool
plugin_start(const clap_plugin_t* const clap)
{
  (void)clap;
  return true;
}

static void
plugin_reset(const clap_plugin_t* const clap)
{
  const Instance* const instance = clap->plugin_data;
  memset(instance->state, 0, instance->fixture->state_bytes);
}

static clap_process_status
plugin_process(const clap_plugin_t* const clap, const clap_process_t* const block)
{
  Instance* const instance = clap->plugin_data;
  uint32_t n_in = 0;
  uint32_t n_out = 0;
  take_events(instance, block->in_events);
  for (uint32_t p = 0; p < instance->fixture->n_ports; ++p) {
    const FixtureKind kind = instance->fixture->ports[p].kind;
    instance->ports[p] = kind == FIXTURE_INPUT    ? block->audio_inputs[0].data32[n_in++]
                         : kind == FIXTURE_OUTPUT ? block->audio_outputs[0].data32[n_out++]
                                                  : &instance->values[p];
  }
  const FixtureCall call = call_of(instance, block->frames_count);
  instance->fixture->run(instance->fixture, &call);
  return CLAP_PROCESS_CONTINUE;
}

static const void*
plugin_extension(const clap_plugin_t* const clap, const char* const id)
{
  static const clap_plugin_params_t params = { params_count, params_info,  params_value,
                                               params_text,  params_parse, params_flush };
  static const clap_plugin_audio_ports_t ports = { ports_count, ports_get };
  static const clap_plugin_note_ports_t notes = { notes_count, notes_get };
  (void)clap;
  return !strcmp(id, CLAP_EXT_PARAMS)        ? (const void*)&params
         : !strcmp(id, CLAP_EXT_AUDIO_PORTS) ? (const void*)&ports
         : !strcmp(id, CLAP_EXT_NOTE_PORTS)  ? (const void*)&notes
                                             : NULL;
}

// ---- the file ----

static uint32_t
factory_count(const clap_plugin_factory_t* const factory)
{
  (void)factory;
  fixture_enter(FIXTURE_DESCRIPTOR, NULL);
  return n_fixtures < MAX_PLUGINS ? n_fixtures : MAX_PLUGINS;
}

static const clap_plugin_descriptor_t*
factory_descriptor(const clap_plugin_factory_t* const factory, const uint32_t index)
{
  static const char* const features[] = { CLAP_PLUGIN_FEATURE_AUDIO_EFFECT, NULL };
  (void)factory;
  snprintf(ids[index], ID_BYTES, FIXTURE_ID "%s", fixtures[index].label);
  descriptors[index] = (clap_plugin_descriptor_t){ .clap_version = CLAP_VERSION_INIT,
                                                   .id = ids[index],
                                                   .name = fixtures[index].label,
                                                   .features = features };
  return &descriptors[index];
}

static const clap_plugin_t*
factory_create(const clap_plugin_factory_t* const factory, const clap_host_t* const host,
               const char* const id)
{
  (void)host;
  uint32_t f = 0;
  while (f < factory_count(factory) && strcmp(factory_descriptor(factory, f)->id, id) != 0) {
    ++f;
  }
  if (f == factory_count(factory) || fixtures[f].n_ports > MAX_PORTS) {
    return NULL;
  }
  Instance* const instance = calloc(1, sizeof(*instance));
  void* const state = calloc(1, fixtures[f].state_bytes + 1U);
  if (!instance || !state) {
    abort();
  }
  *instance = (Instance){
    .clap = {
      .desc = &descriptors[f],
      .plugin_data = instance,
      .init = plugin_init,
      .destroy = plugin_destroy,
      .activate = plugin_activate,
      .deactivate = do_nothing,
      .start_processing = plugin_start,
      .stop_processing = do_nothing,
      .reset = plugin_reset,
      .process = plugin_process,
      .get_extension = plugin_extension,
      .on_main_thread = do_nothing,
    },
    .fixture = &fixtures[f],
    .state = state,
  };
  for (uint32_t p = 0; p < fixtures[f].n_ports; ++p) {
    instance->values[p] = fixture_initial(&fixtures[f].ports[p]);
  }
  return &instance->clap;
}

static bool
entry_init(const char* const path)
{
  (void)path;
  return true;
}

static void
entry_deinit(void)
{
}

static const void*
entry_factory(const char* const id)
{
  static const clap_plugin_factory_t factory = { factory_count, factory_descriptor,
                                                 factory_create };
  return !strcmp(id, CLAP_PLUGIN_FACTORY_ID) ? &factory : NULL;
}

__attribute__((constructor)) static void
construct(void)
{
  fixture_enter(FIXTURE_CONSTRUCTOR, NULL);
}

CLAP_EXPORT const clap_plugin_entry_t clap_entry = { CLAP_VERSION_INIT, entry_init, entry_deinit,
                                                     entry_factory };
