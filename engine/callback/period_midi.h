// SPDX-License-Identifier: GPL-3.0-or-later
/**
   MIDI in the callback.  Each event of a period goes two ways: with the block of its frame to the
   worker, and with its frame time to the control thread, which sets what a worker has missed.  What
   the control thread sends leaves with the next period.

       driver ─ MidiPeriod::in ─┬─▶ slot of the block ─▶ worker
                                └─▶ heard ────────────▶ control thread
       driver ◀─ MidiPeriod::out ── sent ◀──────────── control thread

   When a worker has ended, the control thread learns which events were in blocks that the worker
   had not begun.  Of those that it has begun, it has reported the values.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_PERIOD_MIDI_H
#define WARPRACK_ENGINE_CALLBACK_PERIOD_MIDI_H

#include "midi_queue.h"

#include "engine/base/macros.h"
#include "engine/base/midi_period.h"
#include "engine/contract/counters.h"

#define PERIOD_MIDI_BLOCKS 64U // at least RingShape::n_slots; a power of two

/// The events that a block of the ring got.
typedef struct GivenMidi {
  uint64_t sequence, frame; ///< Of the block
  uint32_t n;               ///< 0: none
} GivenMidi;

typedef struct PeriodMidi {
  GivenMidi given[PERIOD_MIDI_BLOCKS]; ///< [rt] By the sequence number
  MidiPeriod* now;                     ///< [rt] Of this period; NULL: none
  uint32_t next;                       ///< [rt] The first event that has not been given to a block
  uint64_t first_frame;                ///< [rt] Frame time of the period
  _Atomic bool has_out;                ///< Periods have MIDI: what is sent leaves
  MidiQueue heard, sent;
} PeriodMidi;

/// Begin a period whose first frame has this frame time. [rt]
REALTIME void period_midi_begin(PeriodMidi* midi, uint64_t frame, PeriodCounters* counters);

/// Give the events of n_frames frames from `first` on, and those before that were given to no
/// block, to a block.
///
/// @param to [max] the events of the block; NULL: no worker takes it, and its events are lost.
/// @return Number of events in `to`.
/// [rt]
REALTIME uint32_t period_midi_give(PeriodMidi* midi, uint32_t first, uint32_t n_frames,
                                   MidiEvent* to, uint32_t max, PeriodCounters* counters);

/// Note that a block of the ring, which begins at a frame, got n events. [rt]
REALTIME void period_midi_gave(PeriodMidi* midi, uint64_t sequence, uint64_t frame, uint32_t n);

/// No worker will run the blocks of the ring from a sequence number on: their events are lost.
/// Later calls for the same ring do nothing. [rt]
REALTIME void period_midi_lose(PeriodMidi* midi, uint64_t first, PeriodCounters* counters);

/// End the period: the events that are left are lost. [rt]
REALTIME void period_midi_end(PeriodMidi* midi, PeriodCounters* counters);

#endif
