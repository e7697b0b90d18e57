// SPDX-License-Identifier: GPL-3.0-or-later
/// A queue of MIDI events without locks, between the callback and one other thread.  The writer
/// puts events or, if there is no room, does not.
#ifndef WARPRACK_ENGINE_CALLBACK_MIDI_QUEUE_H
#define WARPRACK_ENGINE_CALLBACK_MIDI_QUEUE_H

#include "engine/base/macros.h"
#include "engine/base/midi_event.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MIDI_QUEUE_EVENTS 2048U // a power of two

/// An event with its frame time.
typedef struct MidiHeard {
  uint64_t frame;
  MidiEvent event; ///< Its own frame is 0.  Without bytes: a worker has ended, and had not run
                   ///< its events from `frame` on
  bool is_missed;  ///< No worker got the event
} MidiHeard;

/// Begins as zeros.
typedef struct MidiQueue {
  alignas(128) _Atomic uint64_t n_put;   ///< By the writer
  alignas(128) _Atomic uint64_t n_taken; ///< By the reader
  MidiHeard events[MIDI_QUEUE_EVENTS];
} MidiQueue;

/// Put n events, all or none: `false` if they do not fit. [one writer]
REALTIME bool midi_queue_put(MidiQueue* queue, const MidiHeard* events, uint32_t n);

/// Take at most `max` events, oldest first.  Returns their number. [one reader]
REALTIME uint32_t midi_queue_take(MidiQueue* queue, MidiHeard* events, uint32_t max);

#endif
