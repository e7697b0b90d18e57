// SPDX-License-Identifier: GPL-3.0-or-later
/**
   PortAudio's JACK part after its server's death, where it would hang and then end the process
   (pa_jack.c of PortAudio 19.6 and 19.7):

   - Stopping a stream waits, up to ten minutes, until JACK's audio thread has heard of it
     (RealStop, WaitCondition).  That thread is gone, and the signal that the shutdown callback
     gives came before anybody waited.  So that callback is made again while somebody waits.
   - What ends streams and clients is expected to succeed (ASSERT_CALL), which nothing does beside a
     dead server, and Debian builds with assertions.  So it is said to succeed.

   For that a few functions of libjack are defined here, which PortAudio finds before libjack's own
   and which call those.
*/
#ifndef WARPRACK_IO_QUIRKS_PA_JACK_H
#define WARPRACK_IO_QUIRKS_PA_JACK_H

#include <stdbool.h>

/// Whether the JACK server of the last Pa_Initialize() has died since. [any]
bool pa_jack_is_down(void);

/// When it has, end PortAudio's present wait for it.  To be called only while a stream is being
/// stopped: not before it was started, nor while it is closed. [async call]
void pa_jack_wake(void);

#endif
