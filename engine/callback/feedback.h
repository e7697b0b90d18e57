// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Detects feedback from an output of the rack to one of its inputs, attenuates the output, and
   finally mutes it.

   Racks have no cycles, so the loop closes outside of the program: through a connection, a mixer,
   or loudspeaker and microphone.  The signal in a loop with a gain above 1 grows until the output's
   guard limits it to the ceiling, and stays there.  Loud music may be at the ceiling, too.  The
   difference is that in a loop an input becomes quieter when the output is attenuated.  The
   detector tests this for each output separately, in windows of 100 ms:

     pinned  At least a quarter of the window's samples were at the ceiling: GuardCounts.full, at
             least 0.47 dB above it before the guard; for the default ceiling, above 0.17 dBFS.
     watch   After 5 pinned windows in a row: attenuate by 6 dB, and probe.
     probe   6 windows later, has an input followed?  Its peak, at least -60 dBFS before, must be
             3 dB lower in each of the last 3 windows than in each of the 3 before the step.
        no   No loop: restore the gain; exempt until the output was not pinned for 10 s.
        yes  If the output is no longer pinned, hold.  Otherwise attenuate by another 6 dB and
             probe again; after a second yes, mute.
     mute    Attenuate by 6 dB in each window, to silence after -42 dB; then hold.
     hold    Keep the gain for 1 s, twice as long after each recurrence, at most 64 s.  Then watch
             again, while the gain rises by 6 dB every second.  A yes within 10 s after that counts
             as a second yes.

   The detector finds loops with a delay of up to 200 ms.  Each change of gain is a smooth ramp over
   one window.  The samples of an output do not change while it is not pinned, nor in the first five
   pinned windows.

   Other howling suppressors also change the gain to probe a signal, and confirm a howl with a notch
   filter (van Waterschoot and Moonen, "Fifty Years of Acoustic Feedback Control: State of the Art
   and Future Challenges", Proc. IEEE 99(2), 2011, section IV); this detector attenuates all
   frequencies, because a clipped signal is not a single tone.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_FEEDBACK_H
#define WARPRACK_ENGINE_CALLBACK_FEEDBACK_H

#include "engine/base/status.h"
#include "engine/contract/guard.h"

#include <stdbool.h>
#include <stdint.h>

#define FEEDBACK_STEP_DB 6U
#define FEEDBACK_MUTE    8U // steps: silence

typedef struct Feedback Feedback;

/// Make a detector for n_in inputs and n_out outputs, for calls with at most `block_frames` frames.
/// Free with feedback_free(). [main]
NODISCARD Status feedback_new(double rate_hz, uint32_t n_in, uint32_t n_out, uint32_t block_frames,
                              Feedback** out, Error* error);

/// Free a detector.  Accepts NULL. [main]
void feedback_free(Feedback* feedback);

/// Record the guard counts of an input for this block. [rt]
REALTIME void feedback_record(Feedback* feedback, uint32_t channel, const GuardCounts* met);

/// Record the guard counts of an output for this block, and attenuate its guarded samples `out` if
/// required.  Returns true if they were attenuated. [rt]
REALTIME bool feedback_play(Feedback* feedback, uint32_t channel, const GuardCounts* met,
                            float* out, uint32_t n_frames);

/// End a block of `n_frames`, after all channels.  Returns the number of outputs that were newly
/// found to feed back. [rt]
REALTIME uint32_t feedback_advance(Feedback* feedback, uint32_t n_frames);

/// Attenuation of an output in steps of FEEDBACK_STEP_DB; FEEDBACK_MUTE: silence. [any]
uint32_t feedback_steps(const Feedback* feedback, uint32_t channel);

#endif
