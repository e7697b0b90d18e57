// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads a take (take_text.h has its lines) and plays it on an offline engine.  The whole take is
   read and checked first; error messages begin "file:line: ". [main]
*/
#ifndef WARPRACK_CONTROL_TAKE_FILE_H
#define WARPRACK_CONTROL_TAKE_FILE_H

#include "engine/base/status.h"
#include "engine/base/text_buffer.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What was applied at a frame of the take.
typedef struct TakeEvent {
  uint64_t frame;
  uint64_t number;      ///< Of a message; of a document: its stamp
  uint64_t planned;     ///< Of a document
  bool is_first_plan;   ///< Of a document: all its nodes are new
  Rack* rack;           ///< NULL: it is a message
  ParamMessage message; ///< With `frame`
} TakeEvent;

/// Begins as zeros.
typedef struct Take {
  double rate_hz;
  uint32_t block_frames;
  uint32_t depth;       ///< Blocks between input and output of the live run
  uint32_t n_in, n_out; ///< Ports of the live run
  Rack* rack;           ///< The first document
  TakeEvent* events;    ///< [n_events] in order
  size_t n_events, room;
  size_t n_played;   ///< Events that take_play() has applied
  TextBuffer notes;  ///< Spans and moments for which the samples may differ, one per line
  uint64_t n_frames; ///< Frame of the last line
  bool is_ended;     ///< The take has its last line
} Take;

/// Read a take.  `root`: the folder of the files that its racks name.  STATUS_FILE,
/// STATUS_BAD_RACK, STATUS_NO_MEM; on error `take` must be cleared, too.
NODISCARD Status take_read(const char* name, const char* root, RackReader reader, Take* take,
                           Error* error);

/// Apply what belongs to the next block of an offline engine that plays Take::rack, before the
/// block.  `context`: the take.  A RenderPlay.
NODISCARD Status take_play(void* context, Engine* engine, uint64_t frame, uint32_t n_frames,
                           Error* error);

void take_clear(Take* take);

#endif
