// SPDX-License-Identifier: GPL-3.0-or-later
/// The take that is recorded; see takes.h.
#ifndef WARPRACK_CONTROL_TAKE_STATE_H
#define WARPRACK_CONTROL_TAKE_STATE_H

#include "engine/base/text_buffer.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define TAKES_NAME_BYTES 256U

/// The input of a take.
typedef struct TakeAudio {
  bool is_on, has_begun;
  bool is_writing;     ///< The rack store has a part of it
  bool is_cut;         ///< Samples that waited for the disk were discarded, and no more are read
  uint32_t n_in;       ///< Channels
  uint64_t start;      ///< engine_listen_start() of the frames that come
  uint64_t next_frame; ///< Frame time of the next one in the file
  uint64_t n_early;    ///< Frames to come that are before it
  TextBuffer bytes;    ///< That the store does not have yet
} TakeAudio;

typedef struct Takes {
  bool is_on;                  ///< A take is recorded
  uint64_t n;                  ///< Takes so far: the number of this one
  bool is_writing;             ///< The rack store has a part of it
  char name[TAKES_NAME_BYTES]; ///< Of its file
  char reason[256];            ///< "" or why the last take ended without /take/stop
  TextBuffer text;             ///< Lines that the store does not have yet
  double rate_hz;              ///< Of the take
  uint32_t block_frames;       ///< Likewise
  uint64_t first_frame;        ///< Frame time of its beginning
  uint64_t frame;              ///< Frame time of the last line
  TakeAudio audio;
  Rack* rack;                ///< The document that the worker plays, as of the last line
  Rack* next;                ///< The document of the edit in flight; NULL: none
  uint64_t number;           ///< Of the last message
  uint64_t ring;             ///< EngineReports::ring; 0: no worker yet
  uint64_t check_ns;         ///< Time of the next check of the engine
  uint64_t dry_frame;        ///< Frame time up to which spans played dry are recorded
  uint64_t n_dropped, n_odd; ///< Counters `dropped`, `odd_periods` at the last check
  uint64_t n_lost;           ///< Reports lost, in all takes
} Takes;

#endif
