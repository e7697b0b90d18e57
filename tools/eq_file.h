// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Converts equaliser settings of other programs to a rack: AutoEq's ParametricEQ.txt,
   FixedBandEQ.txt and GraphicEQ.txt, the filters that Room EQ Wizard (REW) exports as text, and the
   commands of Equalizer APO's configuration that effects can reproduce.

   Each line has one statement.  A statement that is unknown, or that the effects cannot reproduce,
   is an error with its line number; if the sound does not depend on it, it is a note.

       Preamp: -6.2 dB
       Filter 1: ON PK Fc 105 Hz Gain 5.5 dB Q 0.70
       Filter 2: OFF ...                             left out, like "None"
       Channel: L 2                                  for the lines below, until "Channel: all"
       Delay: 2.5 ms
       GraphicEQ: 20 -1.5; 25 -1.4; ...              fitted by filters (eq_curve.h)
       Convolution: room.wav

   Types of filters, from Equalizer APO's configuration reference and its BiQuadFilterFactory.cpp
   (1.3), whose shelves follow the description of REW's shelves by REW's author ("Generic/DCX2496
   shelving filters center frequency", Home Theater Shack forum, 2013).  Sections are those of the
   cookbook (dsp_cpu/rbj.h).

     PK PEQ Modal      peak: Gain and Q, or BW Oct (octaves between points of half the gain)
     LP HP             second order, Q 0.7071; LPQ HPQ ("LP Q"): with Q; LP1 HP1: first order
     BP                band-pass of 0 dB at Fc, Q 0.7071 unless given
     NO Notch          Q 30 unless given; "Notch Q": with Q
     AP "All pass"     with Q
     LSC HSC           shelf, Fc is its middle; Q, or a slope in dB (12 is S = 1), else S = 0.9
     LS HS             as LSC HSC; but with a Q or a slope ("LS 6dB") Fc is the shelf's corner:
                       the middle is 10^(|gain| / (80 S)) times as high (HS: as low)

   A section with a Q that no effect offers becomes two equivalent sections: a low-pass with Q is a
   low-pass with Q 0.7071, and a peak of 20 log10(sqrt(2) Q) dB with Q sqrt(Q / sqrt(2)) at the same
   frequency.
*/
#ifndef WARPRACK_TOOLS_EQ_FILE_H
#define WARPRACK_TOOLS_EQ_FILE_H

#include "engine/base/status.h"

/// Receives a note for the user, which is not an error; `text` has file and line.
typedef void EqNote(void* context, const char* text);

/// Convert the settings in `text` to a rack in the rack language; the caller frees it.  `name`:
/// the file's name in messages.  STATUS_FILE with line and reason. [main]
NODISCARD Status eq_file_to_rack(const char* text, const char* name, EqNote* note, void* context,
                                 char** rack, Error* error);

#endif
