// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The rack with which a live run starts, if there is a state folder:

     usually                        the rack that played last; or the RACK of the command line, if
                                    it differs from that of the last start
     3rd and 4th successive start   the last good rack, muted (state_starts() counts)
     5th and later                  the empty rack, muted

   If the program cannot read or plan a rack, it reports the reason and tries the next rack, so that
   the machine plays in spite of a damaged file or a missing impulse response.  Without a state
   folder, or with --fresh, only the RACK of the command line is tried.
*/
#ifndef WARPRACK_TOOLS_FIRST_RACK_H
#define WARPRACK_TOOLS_FIRST_RACK_H

#include "live_log.h"
#include "rack_arg.h"
#include "state.h"

#include <stdbool.h>

typedef struct FirstRack {
  const RackArg* arg;  ///< Result of rack_arg_try()
  const Error* unread; ///< Error of rack_arg_try(); NULL if it succeeded
  const State* state;  ///< NULL: no state folder
  bool fresh;          ///< Only the RACK of the command line
  uint32_t missing;    ///< Whether plugins of racks may be missing, see MISSING_OPTION
  const LiveLog* log;
  Status (*plan)(void* context, const Rack* rack, Error* error); ///< Check that the rack can be
                                                                 ///< played
  void* context;
} FirstRack;

/// True if the run must start muted, because earlier starts have crashed.
bool first_rack_is_muted(const State* state);

/// The text of a rack for the state folder, with a mark if plugins of the rack are missing: it
/// plays without them also after a restart.  Takes ownership of `text`; NULL if out of memory.
/// [any]
char* first_rack_mark(const Rack* rack, char* text);

/// Read such a text.  Without the mark, `missing` counts. [main]
NODISCARD Status first_rack_parse(const char* text, const char* place, uint32_t missing,
                                  Rack** rack, Error* error);

/// Choose a rack and plan it.  The caller frees `*rack`, which is NULL on error.  The error is that
/// of the command line's RACK. [main]
NODISCARD Status first_rack_choose(const FirstRack* first, Rack** rack, Error* error);

#endif
