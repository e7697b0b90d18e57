// SPDX-License-Identifier: GPL-3.0-or-later
/**
   MIDI in the callback.  Each event of a period goes two ways: with the block of its frame to the
   worker, and with its frame time to the control thread, which sets the parameters of events that
   no worker has run.  What the control thread sends leaves with the next period.

       driver ─ MidiPeriod::in ─┬─▶ slot of the block ─▶ worker
                                └─▶ received ─────────▶ control thread
       driver ◀─ MidiPeriod::out ── sent ◀──────────── control thread

   Each event of a controller counts once, in the worker or in the control thread, and in order.
   When a worker has ended, or could not get an event, further events of controllers are diverted:
   they go to the control thread only.  It waits until the worker has reported the events that it
   ran, sets the parameters of the others, and sends the values to the current worker.  When it has
   done so for all queued events, the worker gets events again.  The values are in its ring before
   that, so it receives them first.  Other events, such as notes, are not diverted.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_PERIOD_MIDI_H
#define WARPRACK_ENGINE_CALLBACK_PERIOD_MIDI_H

#include "midi_queue.h"

#include "engine/base/macros.h"
#include "engine/base/midi_period.h"
#include "engine/contract/counters.h"

/// Begins as zeros, and with period_midi_end_ring().
typedef struct PeriodMidi {
  MidiPeriod* now;        ///< [rt] Of this period; NULL: none
  uint32_t next;          ///< [rt] The first event that has not been given to a block
  uint64_t first_frame;   ///< [rt] Frame time of the period
  bool is_diverted;       ///< [rt] Events of controllers go to the control thread only
  bool is_over;           ///< [rt] The worker of the ring runs no further block
  bool is_end_due;        ///< [rt] QUEUED_END is not in the queue yet: it had no room
  _Atomic bool has_out;   ///< Periods have MIDI: what is sent leaves
  _Atomic uint64_t n_set; ///< [control] Entries of `received` that it has taken and set
  MidiQueue received, sent;
} PeriodMidi;

/// Begin a period whose first frame has this frame time. [rt]
REALTIME void period_midi_begin(PeriodMidi* midi, uint64_t frame, PeriodCounters* counters);

/// Give the events of n_frames frames from `first` on, and those before that were given to no
/// block, to a block.
///
/// @param to [max] the events of the block; NULL: no worker takes it, and its events are missed.
/// @return Number of events in `to`.
/// [rt]
REALTIME uint32_t period_midi_give(PeriodMidi* midi, uint32_t first, uint32_t n_frames,
                                   MidiEvent* to, uint32_t max, PeriodCounters* counters);

/// The worker of the ring runs no further block.  Later calls for the same ring do nothing. [rt]
REALTIME void period_midi_end_ring(PeriodMidi* midi);

/// The next blocks go to another ring, whose worker knows nothing of controllers. [rt]
REALTIME void period_midi_change_ring(PeriodMidi* midi);

/// End the period: the events that are left are missed. [rt]
REALTIME void period_midi_end(PeriodMidi* midi, PeriodCounters* counters);

#endif
