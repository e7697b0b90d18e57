// SPDX-License-Identifier: GPL-3.0-or-later
/**
   MIDI in the server: learns a controller for a client, recalls scenes by programs, and sends
   feedback to controllers.  The worker moves the parameters.

   The control thread sets the parameters of events that no worker has run.  Events wait in a line,
   in their order.  An event leaves the line when a worker reports that it has run the event; or
   when no worker got it, or its worker ended before it ran it: then the control thread sets its
   parameters.  So each event counts once, and in order.  When the line is empty, the current worker
   gets all values, and what controllers have sent, and then the next events
   (engine_return_midi()).

   Feedback compares the document with what controllers show, at most once in MIDI_FEED_NS.  So all
   changes reach the controllers: by clients, scenes, undo, other controllers.  A controller that
   has moved within MIDI_HOLD_NS gets none, so that no motor works against a hand.  Of several
   targets of a source, the first one in the rack is shown.
*/
#ifndef WARPRACK_CONTROL_MIDI_H
#define WARPRACK_CONTROL_MIDI_H

#include "engine/base/time.h"

#include <stdint.h>

struct Control;

#define MIDI_POLL_NS (5U * NS_PER_MS)
#define MIDI_TURN_NS (1U * NS_PER_MS) // the same while the worker gets no events
#define MIDI_FEED_NS (20U * NS_PER_MS)
#define MIDI_HOLD_NS (250U * NS_PER_MS)

/// One round: take what has come, and send feedback.
void midi_run(struct Control* control);

/// Time of the next round; UINT64_MAX: the driver has no MIDI.
uint64_t midi_wake_ns(const struct Control* control);

/// Free the table. [main]
void midi_clear(struct Control* control);

#endif
