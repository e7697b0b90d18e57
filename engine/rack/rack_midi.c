// SPDX-License-Identifier: GPL-3.0-or-later
// What a rack and its copies share of the MIDI map: lines never change, and the last owner frees
// them.

#include "rack_private.h"

#include <stdlib.h>
#include <string.h>

RackMidi*
rack_midi_hold(RackMidi* const map)
{
  atomic_fetch_add_explicit(&map->n_owners, 1U, memory_order_relaxed);
  return map;
}

void
rack_midi_drop(RackMidi* const map)
{
  if (atomic_fetch_sub_explicit(&map->n_owners, 1U, memory_order_acq_rel) == 1U) {
    free(map);
  }
}

bool
rack_copy_midi(Rack* const to, const Rack* const from)
{
  to->midi = from->n_midi ? malloc(from->n_midi * sizeof(RackMidi*)) : NULL;
  for (uint32_t m = 0; to->midi && m < from->n_midi; ++m) {
    to->midi[m] = rack_midi_hold(from->midi[m]);
  }
  to->n_midi = to->midi ? from->n_midi : 0U;
  return to->n_midi == from->n_midi;
}

void
rack_clear_midi(Rack* const rack)
{
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    rack_midi_drop(rack->midi[m]);
  }
  free(rack->midi);
}

bool
rack_equal_midi(const Rack* const a, const Rack* const b, const bool sounds)
{
  bool are_equal = true;
  for (uint32_t m = 0; are_equal && (m < a->n_midi || m < b->n_midi); ++m) {
    const RackMidi* const x = m < a->n_midi ? a->midi[m] : NULL;
    const RackMidi* const y = m < b->n_midi ? b->midi[m] : NULL;
    const bool is_program = (!x || x->source.kind == MIDI_PROGRAM) &&
                            (!y || y->source.kind == MIDI_PROGRAM); // the last lines
    are_equal = x == y || (sounds && is_program) || (x && y && !strcmp(x->line, y->line));
  }
  return are_equal;
}

void
rack_print_midi(const Rack* const rack, const bool programs, TextBuffer* const text)
{
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    if ((rack->midi[m]->source.kind == MIDI_PROGRAM) == programs) {
      text_buffer_add(text, rack->midi[m]->line);
    }
  }
}
