// SPDX-License-Identifier: GPL-3.0-or-later
// Makes LV2 plugins of fixtures, whose descriptions write_turtle.c writes.

#include "tests/support/plugins/instance.h"

#include <lv2/atom/util.h>
#include <lv2/core/lv2.h>
#include <lv2/midi/midi.h>
#include <lv2/urid/urid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URI_BYTES 128U
#define MAX_NOTES 4096U // of a run

static LV2_Descriptor descriptors[FIXTURE_MAX_PLUGINS];
static char uris[FIXTURE_MAX_PLUGINS][URI_BYTES];

static LV2_URID midi_event; // the same in all instances

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate_hz, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)folder;
  for (uint32_t f = 0; features[f]; ++f) {
    const LV2_URID_Map* const map = features[f]->data;
    if (!strcmp(features[f]->URI, LV2_URID__map)) {
      midi_event = map->map(map->handle, LV2_MIDI__MidiEvent);
    }
  }
  return fixture_instantiate(&fixtures[descriptor - descriptors], rate_hz);
}

/// Read the notes of a sequence, whose events must be in order, within the run, and well formed.
static uint32_t
read_notes(const LV2_Atom_Sequence* const sequence, const uint32_t n_frames,
           FixtureNote* const notes)
{
  uint32_t n = 0;
  int64_t last = 0;
  LV2_ATOM_SEQUENCE_FOREACH(sequence, event)
  {
    const uint8_t* const bytes = (const uint8_t*)(event + 1);
    const bool is_on = bytes[0] == LV2_MIDI_MSG_NOTE_ON;
    if (event->body.type != midi_event || event->body.size != 3U || n == MAX_NOTES ||
        event->time.frames < last || event->time.frames >= (int64_t)n_frames || bytes[1] > 127U ||
        bytes[2] > 127U || (!is_on && bytes[0] != LV2_MIDI_MSG_NOTE_OFF)) {
      abort();
    }
    last = event->time.frames;
    notes[n++] = (FixtureNote){ (uint32_t)last, bytes[1], is_on ? (float)bytes[2] / 127.0F : 0.0F };
  }
  return n;
}

static void
run(const LV2_Handle handle, const uint32_t n_frames)
{
  FixtureNote notes[MAX_NOTES];
  const LV2_Atom_Sequence* const sequence = fixture_notes_port(handle);
  const uint32_t n_notes = sequence ? read_notes(sequence, n_frames, notes) : 0U;
  fixture_run_notes(handle, n_frames, notes, n_notes);
}

LV2_SYMBOL_EXPORT const LV2_Descriptor*
lv2_descriptor(const uint32_t index)
{
  const Fixture* const fixture = fixture_at(index);
  if (!fixture) {
    return NULL;
  }
  snprintf(uris[index], URI_BYTES, FIXTURE_URI "%s", fixture->label);
  descriptors[index] = (LV2_Descriptor){
    .URI = uris[index],
    .instantiate = instantiate,
    .connect_port = fixture_connect,
    .activate = fixture_activate,
    .run = run,
    .cleanup = fixture_cleanup,
  };
  return &descriptors[index];
}
