// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Detects feedback from an output of the rack to one of its inputs, attenuates the output, and
   mutes it at last.

   Racks have no cycles, so the loop is closed outside: by a patch, a mixer, or loudspeaker and
   microphone.  A loop with a gain above 1 grows until the guard of the output limits it to the
   ceiling, and stays there.  Loud music may be at the ceiling, too; the difference is that in a loop
   an input follows when the output is attenuated.  The detector tests that for each output
   separately, in windows of 100 ms:

     pinned  At least a quarter of the window's samples were at the ceiling: GuardCounts.full, 0.47
             dB above it or more before the guard; for the default, above 0.17 dBFS.
     watch   After 5 pinned windows in a row: attenuate by 6 dB, and probe.
     probe   6 windows later, did some input follow?  Its peak, at least -60 dBFS, must be 3 dB
             lower in each of the last 3 windows than in each of the 3 before the step.
        no   No loop: restore the gain; exempt until the output was not pinned for 10 s.
        yes  If the output is no longer pinned, hold; if it is, attenuate by 6 dB more and probe
             again; a second yes means mute.
     mute    6 dB less in each window, after -42 dB silence, and hold.
     hold    1 s, twice as long after each recurrence, at most 64 s; then watch again, while the
             gain rises by 6 dB every second.  A yes within 10 s after that counts as a second one.

   This finds loops with a delay of up to 200 ms.  Every change of gain takes a window, without a
   corner.  An output that is not pinned passes to the bit, and so does a pinned one until the fifth
   window.

   Howling suppressors also probe a signal by a change of the gain, and confirm a howl by a notch
   (van Waterschoot and Moonen, "Fifty Years of Acoustic Feedback Control: State of the Art and
   Future Challenges", Proc. IEEE 99(2), 2011, section IV); here the whole output is attenuated,
   because a clipped signal is not a single tone.
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

/// A detector for n_in inputs and n_out outputs, in blocks of at most `block_frames`.  Free with
/// feedback_free(). [main]
NODISCARD Status feedback_new(double rate_hz, uint32_t n_in, uint32_t n_out, uint32_t block_frames,
                              Feedback** out, Error* error);

/// Free a detector.  Accepts NULL. [main]
void feedback_free(Feedback* feedback);

/// Record the guard counts of an input for this block. [rt]
REALTIME void feedback_hear(Feedback* feedback, uint32_t channel, const GuardCounts* met);

/// Record the guard counts of an output for this block, and attenuate its guarded samples `out` if
/// required. [rt]
REALTIME void feedback_play(Feedback* feedback, uint32_t channel, const GuardCounts* met,
                            float* out, uint32_t n_frames);

/// End a block of `n_frames`, after all channels.  Returns the number of outputs that were newly
/// found to feed back. [rt]
REALTIME uint32_t feedback_advance(Feedback* feedback, uint32_t n_frames);

/// Attenuation of an output in steps of FEEDBACK_STEP_DB; FEEDBACK_MUTE: silence. [any]
uint32_t feedback_steps(const Feedback* feedback, uint32_t channel);

#endif
