// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Works around faults of PortAudio's JACK host API (pa_jack.c of PortAudio 19.6 and 19.7).  When
   its server dies, it hangs and then ends the process:

   - Stopping a stream waits up to ten minutes for an answer of JACK's audio thread (RealStop,
     WaitCondition).  That thread has ended, and the shutdown callback has signalled the condition
     before the wait began.  Therefore pa_jack_wake() calls the callback again during the wait.
   - PortAudio asserts that calls that end streams and clients succeed (ASSERT_CALL).  Without a
     server they fail, and Debian builds with assertions.  Therefore this file makes them report
     success.

   When a stream is closed, it unregisters its ports while the client is active.  libjack (1.9.21)
   then changes the client's list of ports without a lock, while its notification thread may walk
   that list to compute latencies: SIGSEGV.  Therefore jack_port_unregister() does nothing here: the
   ports end with the client, in Pa_Terminate(), which must follow Pa_CloseStream().

   This file defines four functions of libjack.  PortAudio calls them, on the thread of its caller,
   in place of libjack's own, which all but jack_port_unregister() call in turn.
*/
#ifndef WARPRACK_IO_QUIRKS_PA_JACK_H
#define WARPRACK_IO_QUIRKS_PA_JACK_H

#include <stdbool.h>

/// True if the JACK server of the last Pa_Initialize() has ended since. [any]
bool pa_jack_is_down(void);

/// If pa_jack_is_down(), end PortAudio's current wait for the server.  Call it only while a stream
/// is being stopped, not before its start or while it is closed. [async call]
void pa_jack_wake(void);

#endif
