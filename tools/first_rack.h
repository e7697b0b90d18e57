// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Which rack a live run begins with, when there is a state folder:

     usually                        what played last; but the RACK of the command line when that is
                                    another one than last time
     3rd start that has not lived   the last good one, muted
     5th start and later            the empty one, muted

   What cannot be read or planned is said, and the next best takes its place, so that a damaged file
   or a missing impulse response does not keep a machine silent.  Without a state folder, or with
   --fresh, it is the RACK of the command line or nothing.
*/
#ifndef WARPRACK_TOOLS_FIRST_RACK_H
#define WARPRACK_TOOLS_FIRST_RACK_H

#include "live_log.h"
#include "rack_arg.h"
#include "state.h"

#include <stdbool.h>

typedef struct FirstRack {
  const RackArg* arg;  ///< As rack_arg_try() left it
  const Error* unread; ///< Why, when that failed, else NULL
  const State* state;  ///< NULL: none
  bool fresh;          ///< Only the RACK of the command line
  const LiveLog* log;
  Status (*plan)(void* context, const Rack* rack, Error* error); ///< Try whether it can be played
  void* context;
} FirstRack;

/// True when the run is to begin muted: it crashes again and again.
bool first_rack_is_muted(const State* state);

/// Choose and plan; the caller frees `*rack`, NULL on error.  The error is that of the command
/// line's RACK. [main]
NODISCARD Status first_rack_choose(const FirstRack* first, Rack** rack, Error* error);

#endif
