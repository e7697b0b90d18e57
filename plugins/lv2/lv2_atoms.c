// SPDX-License-Identifier: GPL-3.0-or-later
// Event ports: buffers, and the messages that the host writes to them.

#define NDEBUG // forge.h asserts, but not on audio threads

#include "lv2_atoms.h"
#include "lv2_features.h"
#include "lv2_urids.h"

#include <lv2/midi/midi.h>
#include <lv2/patch/patch.h>
#include <lv2/time/time.h>
#include <math.h>
#include <string.h>

#define MIN_BYTES      32768U // of a buffer: enough for plugins that do not state a size
#define POSITION_BYTES 512U   // at most, with its header
#define PROPERTY_BYTES 128U
#define NOTE_BYTES     24U // with its header

/// URIs that audio threads write; mapped before.
static struct {
  LV2_URID position, bar, bar_beat, beat_unit, beats_per_bar, beats_per_minute, frame, speed;
  LV2_URID patch_set, patch_property, patch_value;
  LV2_URID midi_event;
} uris;

static void
map_uris(void)
{
  uris.position = urid_map(LV2_TIME__Position);
  uris.bar = urid_map(LV2_TIME__bar);
  uris.bar_beat = urid_map(LV2_TIME__barBeat);
  uris.beat_unit = urid_map(LV2_TIME__beatUnit);
  uris.beats_per_bar = urid_map(LV2_TIME__beatsPerBar);
  uris.beats_per_minute = urid_map(LV2_TIME__beatsPerMinute);
  uris.frame = urid_map(LV2_TIME__frame);
  uris.speed = urid_map(LV2_TIME__speed);
  uris.patch_set = urid_map(LV2_PATCH__Set);
  uris.patch_property = urid_map(LV2_PATCH__property);
  uris.patch_value = urid_map(LV2_PATCH__value);
  uris.midi_event = urid_map(LV2_MIDI__MidiEvent);
}

static LV2_URID
property_type(const Lv2Atoms* const atoms, const PluginPort* const port)
{
  if (port->flags & (PORT_FILE | PORT_TEXT)) {
    return port->flags & PORT_FILE ? atoms->forge.Path : atoms->forge.String;
  }
  if (port->flags & PORT_TOGGLED) {
    return atoms->forge.Bool;
  }
  if (port->flags & PORT_INTEGER) {
    return port->n_bytes == 8U ? atoms->forge.Long : atoms->forge.Int;
  }
  return port->n_bytes == 8U ? atoms->forge.Double : atoms->forge.Float;
}

/// Room for the messages of all properties, the position and the notes.
static uint32_t
message_bytes(const Lv2Atoms* const atoms, const Plugin* const plugin)
{
  uint32_t n_bytes = POSITION_BYTES + atoms->n_properties * PROPERTY_BYTES;
  for (uint32_t p = atoms->first_property; p < plugin->n_ports; ++p) {
    n_bytes += plugin->ports[p].flags & (PORT_FILE | PORT_TEXT) ? ATOMS_TEXT_BYTES : 0U;
  }
  return n_bytes + (plugin->fx.event ? FX_MAX_EVENTS * NOTE_BYTES : 0U);
}

static void
add_port(Lv2Atoms* const atoms, const PluginPort* const from, const uint32_t wanted,
         Arena* const arena)
{
  AtomPort* const port = &atoms->ports[atoms->n_ports++];
  const uint32_t least = wanted > MIN_BYTES ? wanted : MIN_BYTES;
  *port = (AtomPort){ .index = from->index, .flags = from->flags };
  port->n_bytes = ((from->n_bytes > least ? from->n_bytes : least) + 7U) & ~7U;
  if (!(from->flags & PORT_OPTIONAL) || from->flags & (PORT_EVENTS | PORT_PATCH | PORT_TIME)) {
    port->buffer = arena_take(arena, port->n_bytes, 1U);
  }
  if (!atoms->control && (from->flags & (PORT_OUTPUT | PORT_PATCH)) == PORT_PATCH) {
    atoms->control = port;
  }
  if (!atoms->midi && plugin_port_takes_notes(from)) {
    atoms->midi = port;
  }
}

/// Count the ports, and the properties, which come last.
static void
count(Lv2Atoms* const atoms, const Plugin* const plugin, uint32_t* const n_ports)
{
  atoms->first_property = plugin->n_ports;
  for (uint32_t p = plugin->n_ports; p-- > 0;) {
    *n_ports += plugin->ports[p].type == PORT_ATOM;
    if (plugin->ports[p].type == PORT_PROPERTY) {
      atoms->first_property = p;
    }
  }
  atoms->n_properties = plugin->n_ports - atoms->first_property;
}

void
atoms_init(Lv2Atoms* const atoms, const Plugin* const plugin, const double rate_hz,
           Arena* const arena)
{
  uint32_t n_ports = 0;
  *atoms = (Lv2Atoms){ .n_ports = 0, .clock = host_clock(rate_hz) };
  map_uris();
  lv2_atom_forge_init(&atoms->forge, features_urid_map());
  count(atoms, plugin, &n_ports);
  atoms->ports = arena_take(arena, n_ports, sizeof(*atoms->ports));
  atoms->properties = arena_take(arena, atoms->n_properties, sizeof(*atoms->properties));
  atoms->notes = arena_take(arena, plugin->fx.event ? FX_MAX_EVENTS : 0U, sizeof(*atoms->notes));
  if (!atoms->ports || !atoms->properties || !atoms->notes) {
    return;
  }
  const uint32_t wanted = message_bytes(atoms, plugin);
  for (uint32_t p = 0; p < atoms->first_property; ++p) {
    if (plugin->ports[p].type == PORT_ATOM) {
      add_port(atoms, &plugin->ports[p], wanted, arena);
    }
  }
  for (uint32_t p = 0; p < atoms->n_properties; ++p) {
    const PluginPort* const port = &plugin->ports[atoms->first_property + p];
    atoms->properties[p].key = urid_map(port->uri);
    atoms->properties[p].type = property_type(atoms, port);
  }
}

uint32_t
atoms_sequence_bytes(const Lv2Atoms* const atoms)
{
  uint32_t n_bytes = atoms->n_ports ? UINT32_MAX : MIN_BYTES;
  for (uint32_t p = 0; p < atoms->n_ports; ++p) {
    n_bytes = atoms->ports[p].n_bytes < n_bytes ? atoms->ports[p].n_bytes : n_bytes;
  }
  return n_bytes;
}

void
atoms_connect(Lv2Atoms* const atoms, const LV2_Descriptor* const descriptor,
              const LV2_Handle handle)
{
  for (uint32_t p = 0; p < atoms->n_ports; ++p) {
    descriptor->connect_port(handle, atoms->ports[p].index, atoms->ports[p].buffer);
  }
  for (uint32_t p = 0; p < atoms->n_properties; ++p) {
    atoms->properties[p].is_pending = atoms->properties[p].is_set;
  }
  atoms->n_notes = 0;
  host_clock_restart(&atoms->clock);
  atoms->has_position = false;
  atoms->is_pending = true;
}

void
atoms_set_tempo(Lv2Atoms* const atoms, const double bpm)
{
  if (host_clock_set(&atoms->clock, bpm, 0U)) {
    atoms->has_position = false;
    atoms->is_pending = true;
  }
}

void
atoms_set(Lv2Atoms* const atoms, const uint32_t property, const double value)
{
  AtomProperty* const to = &atoms->properties[property];
  to->value = value;
  to->is_set = true;
  to->is_pending = true;
  atoms->is_pending = true;
}

void
atoms_add_event(Lv2Atoms* const atoms, const FxEvent* const event, const uint32_t frame)
{
  const bool is_on = event->kind == FX_NOTE_ON;
  const long velocity = lrintf(event->velocity * 127.0F);
  if (atoms->n_notes == FX_MAX_EVENTS) {
    return; // the plugin does not run, because it could not be renewed
  }
  atoms->notes[atoms->n_notes++] = (AtomNote){
    .frame = frame,
    .bytes = {
      is_on ? LV2_MIDI_MSG_NOTE_ON : LV2_MIDI_MSG_NOTE_OFF,
      (uint8_t)event->key,
      (uint8_t)(is_on && velocity < 1 ? 1 : velocity), // 0 would end the note
    },
  };
  atoms->is_pending = true;
}

Status
atoms_set_text(Lv2Atoms* const atoms, const uint32_t property, const char* const text,
               Arena* const arena, Error* const error)
{
  AtomProperty* const to = &atoms->properties[property];
  const size_t n_bytes = strlen(text) + 1U;
  if (n_bytes > ATOMS_TEXT_BYTES) {
    return error_set(error, STATUS_LIMIT, "a text has %zu bytes; at most %u", n_bytes - 1U,
                     ATOMS_TEXT_BYTES - 1U);
  }
  char* const copy = arena_take(arena, n_bytes, 1U);
  if (!copy) {
    return error_set(error, STATUS_NO_MEM, "out of memory for a text");
  }
  to->text = memcpy(copy, text, n_bytes);
  to->n_text_bytes = (uint32_t)(n_bytes - 1U);
  to->is_set = true;
  return STATUS_OK;
}

bool
atoms_have_texts(const Lv2Atoms* const atoms)
{
  bool have = false;
  for (uint32_t p = 0; p < atoms->n_properties; ++p) {
    have = have || atoms->properties[p].text;
  }
  return have;
}

// ---- messages ----

static void
write_position(Lv2Atoms* const atoms)
{
  LV2_Atom_Forge* const forge = &atoms->forge;
  LV2_Atom_Forge_Frame frame;
  const double beats = host_clock_beats(&atoms->clock, 0U);
  const double bar = floor(beats / HOST_CLOCK_BEATS_PER_BAR);
  lv2_atom_forge_frame_time(forge, 0);
  lv2_atom_forge_object(forge, &frame, 0, uris.position);
  lv2_atom_forge_key(forge, uris.frame);
  lv2_atom_forge_long(forge, (int64_t)atoms->clock.n_frames);
  lv2_atom_forge_key(forge, uris.speed);
  lv2_atom_forge_float(forge, 1.0F);
  lv2_atom_forge_key(forge, uris.bar);
  lv2_atom_forge_long(forge, (int64_t)bar);
  lv2_atom_forge_key(forge, uris.bar_beat);
  lv2_atom_forge_float(forge, (float)(beats - bar * HOST_CLOCK_BEATS_PER_BAR));
  lv2_atom_forge_key(forge, uris.beat_unit);
  lv2_atom_forge_int(forge, HOST_CLOCK_BEAT_UNIT);
  lv2_atom_forge_key(forge, uris.beats_per_bar);
  lv2_atom_forge_float(forge, (float)HOST_CLOCK_BEATS_PER_BAR);
  lv2_atom_forge_key(forge, uris.beats_per_minute);
  lv2_atom_forge_float(forge, (float)atoms->clock.bpm);
  lv2_atom_forge_pop(forge, &frame);
}

static void
write_value(LV2_Atom_Forge* const forge, const AtomProperty* const property)
{
  if (property->type == forge->Path) {
    lv2_atom_forge_path(forge, property->text, property->n_text_bytes);
  } else if (property->type == forge->String) {
    lv2_atom_forge_string(forge, property->text, property->n_text_bytes);
  } else if (property->type == forge->Bool) {
    lv2_atom_forge_bool(forge, property->value > 0.0);
  } else if (property->type == forge->Int) {
    lv2_atom_forge_int(forge, (int32_t)lrint(property->value));
  } else if (property->type == forge->Long) {
    lv2_atom_forge_long(forge, llrint(property->value));
  } else if (property->type == forge->Double) {
    lv2_atom_forge_double(forge, property->value);
  } else {
    lv2_atom_forge_float(forge, (float)property->value);
  }
}

static void
write_property(LV2_Atom_Forge* const forge, const AtomProperty* const property)
{
  LV2_Atom_Forge_Frame frame;
  lv2_atom_forge_frame_time(forge, 0);
  lv2_atom_forge_object(forge, &frame, 0, uris.patch_set);
  lv2_atom_forge_key(forge, uris.patch_property);
  lv2_atom_forge_urid(forge, property->key);
  lv2_atom_forge_key(forge, uris.patch_value);
  write_value(forge, property);
  lv2_atom_forge_pop(forge, &frame);
}

static void
write_note(LV2_Atom_Forge* const forge, const AtomNote* const note)
{
  lv2_atom_forge_frame_time(forge, note->frame);
  lv2_atom_forge_atom(forge, sizeof(note->bytes), uris.midi_event);
  lv2_atom_forge_write(forge, note->bytes, sizeof(note->bytes));
}

/// Write all pending messages for a port after the empty sequence in its buffer.
static void
write_pending(Lv2Atoms* const atoms, const AtomPort* const port)
{
  LV2_Atom_Forge* const forge = &atoms->forge;
  LV2_Atom_Forge_Frame frame;
  lv2_atom_forge_set_buffer(forge, (uint8_t*)port->buffer, port->n_bytes);
  lv2_atom_forge_sequence_head(forge, &frame, 0);
  if (port->flags & PORT_TIME && !atoms->has_position) {
    write_position(atoms);
  }
  for (uint32_t p = 0; port == atoms->control && p < atoms->n_properties; ++p) {
    if (atoms->properties[p].is_pending) {
      write_property(forge, &atoms->properties[p]);
      atoms->properties[p].is_pending = false;
    }
  }
  for (uint32_t n = 0; port == atoms->midi && n < atoms->n_notes; ++n) {
    write_note(forge, &atoms->notes[n]);
  }
  lv2_atom_forge_pop(forge, &frame);
}

static void
begin_port(Lv2Atoms* const atoms, const AtomPort* const port)
{
  if (port->flags & PORT_OUTPUT) {
    port->buffer->atom.type = atoms->forge.Chunk;
    port->buffer->atom.size = port->n_bytes - (uint32_t)sizeof(LV2_Atom);
  } else if (atoms->is_pending) {
    write_pending(atoms, port);
  } else {
    port->buffer->atom.type = atoms->forge.Sequence;
    port->buffer->atom.size = sizeof(LV2_Atom_Sequence_Body);
    port->buffer->body = (LV2_Atom_Sequence_Body){ .unit = 0 };
  }
}

void
atoms_begin_run(Lv2Atoms* const atoms, const uint32_t n_frames)
{
  for (uint32_t p = 0; p < atoms->n_ports; ++p) {
    if (atoms->ports[p].buffer) {
      begin_port(atoms, &atoms->ports[p]);
    }
  }
  atoms->n_notes = 0;
  atoms->has_position = true;
  atoms->is_pending = false;
  host_clock_advance(&atoms->clock, n_frames);
}
