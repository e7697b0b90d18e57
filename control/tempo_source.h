// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The sources of the rack's tempo: the timebase master of JACK, and MIDI clock.  A tempo that
   differs from that of the rack by more than a dead band becomes the tempo of the rack.
*/
#ifndef WARPRACK_CONTROL_TEMPO_SOURCE_H
#define WARPRACK_CONTROL_TEMPO_SOURCE_H

#include "engine/engine.h"

struct Control;

/// Take a MIDI event: pulses and starts of the clock.
void tempo_pulse(struct Control* control, const QueuedMidi* came);

/// Set the tempo of the rack to that of its source.
void tempo_follow(struct Control* control);

/// Time of the next tempo_follow(), unless a MIDI event comes; UINT64_MAX: none.
uint64_t tempo_wake_ns(const struct Control* control);

#endif
