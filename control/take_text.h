// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The lines of a take: what was applied, as text, one OSC message per line, as `oscdump` writes it:

     SSSSSSSS.FFFFFFFF /path types arguments

   The time is in seconds from the start of the take: whole ones and parts of 2^-32, in hexadecimal,
   which tell the frames apart at any rate.  Numbers are the shortest that read back to the same
   double.  Texts are in quotes; in them \" \\ and \n stand for a quote, a backslash and a new line.
   [control, main]
*/
#ifndef WARPRACK_CONTROL_TAKE_TEXT_H
#define WARPRACK_CONTROL_TAKE_TEXT_H

#include "engine/base/text_buffer.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdint.h>

// Addresses that only takes have.
#define TAKE_BEGIN  "/take/begin"  // version, rate, block, depth, inputs, outputs, frame time
#define TAKE_RACK   "/take/rack"   // document, stamp, planned, next uid, uids
#define TAKE_NUMBER "/take/number" // number of the next message; without it one more than the last
#define TAKE_DRY    "/take/dry"    // first frame, frames
#define TAKE_GAP    "/take/gap"    // reason
#define TAKE_END    "/take/end"    // reason

#define TAKE_FIRST_PLAN (-1) // `planned` of a document whose nodes are all new

/// The time of a frame in units of 2^-32 s, and back.  take_frame(take_time(f)) is f at each rate
/// up to FORMAT_MAX_RATE_HZ.
uint64_t take_time(uint64_t frame, double rate_hz);
uint64_t take_frame(uint64_t time, double rate_hz);

/// The start of a line, up to the types.
void
take_line(TextBuffer* text, uint64_t frame, double rate_hz, const char* path, const char* types);

/// Append an argument.
void take_add_number(TextBuffer* text, double number);
void take_add_whole(TextBuffer* text, int64_t number);
void take_add_text(TextBuffer* text, const char* word);

/// Append the line of a document that plays from `frame` on.
void take_add_rack(TextBuffer* text, uint64_t frame, double rate_hz, const Rack* rack,
                   uint64_t stamp, int64_t planned);

/// Append the line of a value or a note of a node; `message->frame` counts.
void take_add_message(TextBuffer* text, uint64_t frame, double rate_hz, const RackNode* node,
                      const ParamMessage* message);

#endif
