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

typedef enum QueuedKind {
  QUEUED_GIVEN,  ///< A worker has got the event with a block, and runs it unless it ends before
  QUEUED_MISSED, ///< No worker has got the event
  QUEUED_END     ///< No event: the worker that got the events before runs no more of them
} QueuedKind;

/// An entry of the queue.
typedef struct QueuedMidi {
  uint64_t frame;  ///< Frame time; with QUEUED_GIVEN, at least that of its block
  MidiEvent event; ///< Its own frame is 0
  QueuedKind kind; ///< Of an event for a controller: QUEUED_GIVEN
} QueuedMidi;

/// Begins as zeros.
typedef struct MidiQueue {
  alignas(128) _Atomic uint64_t n_put;   ///< By the writer
  alignas(128) _Atomic uint64_t n_taken; ///< By the reader
  QueuedMidi events[MIDI_QUEUE_EVENTS];
} MidiQueue;

/// Put n entries, all or none: `false` if they do not fit. [one writer]
REALTIME bool midi_queue_put(MidiQueue* queue, const QueuedMidi* events, uint32_t n);

/// Take at most `max` entries, oldest first.  Returns their number. [one reader]
REALTIME uint32_t midi_queue_take(MidiQueue* queue, QueuedMidi* events, uint32_t max);

/// Number of entries that were put so far. [the writer]
REALTIME uint64_t midi_queue_n_put(const MidiQueue* queue);

/// Number of entries that were taken so far. [the reader]
REALTIME uint64_t midi_queue_n_taken(const MidiQueue* queue);

#endif
