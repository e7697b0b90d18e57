// SPDX-License-Identifier: GPL-3.0-or-later
/// The MIDI of one period of the audio driver, which the driver passes to the callback: the events
/// that have come, and room for those that leave.
#ifndef WARPRACK_ENGINE_BASE_MIDI_PERIOD_H
#define WARPRACK_ENGINE_BASE_MIDI_PERIOD_H

#include "macros.h"
#include "midi_event.h"

#include <stddef.h>

#define MIDI_MAX_EVENTS 256U // in a period, each way

typedef struct MidiList {
  uint32_t n;
  MidiEvent events[MIDI_MAX_EVENTS]; ///< [n] in the order of their frames
} MidiList;

typedef struct MidiPeriod {
  MidiList in;
  uint32_t n_lost;    ///< Events that found no room in `in`
  uint32_t n_skipped; ///< Messages that are no MidiEvent: system exclusive and system common
  MidiList out;       ///< Filled in by the callback
  uint32_t n_unsent;  ///< Events of the last `out` that the driver had no room for
} MidiPeriod;

/// Begin a period, without events. [rt]
REALTIME void midi_period_begin(MidiPeriod* midi);

/**
   Add a message that has come.  Active sensing, which has no data, is dropped.

   @param frame In the period, not before that of the message before.
   @param bytes [n_bytes] one message with its status byte.
   @return False if there is no more room: the caller counts this and all further messages of the
   period in MidiPeriod::n_lost.
   [rt]
*/
REALTIME bool
midi_period_add(MidiPeriod* midi, uint32_t frame, const uint8_t* bytes, size_t n_bytes);

#endif
