// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Works around PortAudio's JACK host API, which hangs and then ends the process when its server
   dies (pa_jack.c of PortAudio 19.6 and 19.7):

   - Stopping a stream waits up to ten minutes for an answer of JACK's audio thread (RealStop,
     WaitCondition).  That thread has ended, and the shutdown callback signalled the condition
     before the wait began.  So pa_jack_wake() calls the callback again during the wait.
   - Calls that end streams and clients are asserted to succeed (ASSERT_CALL), but fail without a
     server, and Debian builds with assertions.  So here they report success.

   This file defines a few functions of libjack, which PortAudio finds before libjack's own and
   which call those.
*/
#ifndef WARPRACK_IO_QUIRKS_PA_JACK_H
#define WARPRACK_IO_QUIRKS_PA_JACK_H

#include <stdbool.h>

/// True if the JACK server of the last Pa_Initialize() has died since. [any]
bool pa_jack_is_down(void);

/// If so, end PortAudio's current wait for it.  Call it only while a stream is being stopped: not
/// before its start, nor while it is closed. [async call]
void pa_jack_wake(void);

#endif
