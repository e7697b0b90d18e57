// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The state of a live run on disk: after a power failure the next run restores the rack, and after
   repeated crashes it starts with a safe rack.  One folder, used by one run at a time:

     present.rack   the active rack, once it has played for STATE_PRESENT_S
     good.rack      such a rack, after STATE_GOOD_S more without a crash
     subscribers    addresses of the subscribed clients, one per line
     starts         number of successive starts, including this one, that neither ran for
                    STATE_LIVED_S nor ended normally

   Each file is replaced as a whole (folder_replace()).  A separate thread writes the files, and
   reports and counts failures of the disk.  No other thread waits for the disk.

   The program counts starts and does not read the time of day, which may be wrong after a start.
*/
#ifndef WARPRACK_TOOLS_STATE_H
#define WARPRACK_TOOLS_STATE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define STATE_PRESENT_S 5U
#define STATE_GOOD_S    60U
#define STATE_LIVED_S   20U
#define STATE_SHAKEN_S  15U // time for which a rack must play again after the loss of a worker
#define STATE_RETRY_S   10U // pause after a failed write

typedef enum StateFile { STATE_PRESENT, STATE_GOOD, STATE_N_FILES } StateFile;

typedef struct StateCounts {
  uint64_t saved;  ///< Racks written
  uint64_t failed; ///< Writes that failed
} StateCounts;

typedef enum StateTrouble {
  STATE_UNWRITTEN, ///< A file could not be written; the thread tries again
  STATE_UNREAD     ///< A file is damaged and was ignored
} StateTrouble;

/// Receives both kinds of trouble.  It must not call functions of this header.
/// [state's thread, main]
typedef void (*StateFailed)(void* context, StateTrouble trouble, const char* text);

typedef struct State State;

/**
   Open a state folder, and count this start.  Creates the folder if its parent exists.

   @return STATUS_FILE if the folder cannot be used, STATUS_EXISTS if another run uses it. [main]
*/
NODISCARD Status state_open(const char* path, StateFailed failed, void* context, State** out,
                            Error* error);

/// Number of successive starts that crashed early, including this one: at least 1. [main]
uint32_t state_starts(const State* state);

/// The text of a file as of state_open(); NULL if there is none.  Valid until state_run(). [main]
const char* state_text(const State* state, StateFile file);

/// The origin of a state: a hash of the canonical text of the rack with which a run starts. [any]
uint64_t state_origin(const char* rack_text);

/// The origin stored with STATE_PRESENT; 0: none. [main]
uint64_t state_text_origin(const State* state);

/// Set the origin with which racks are saved from now on.  Until this call state_offer() has no
/// effect. [main]
void state_set_origin(State* state, uint64_t origin);

/// Start the thread. [main]
NODISCARD Status state_run(State* state, Error* error);

/// Record the active rack.  Takes ownership of the text; NULL (out of memory) is ignored.
/// [any, not rt]
void state_offer(State* state, char* rack_text, uint64_t now_ns);

/// The subscribers as of state_open(); NULL: none.  Valid until state_run(). [main]
const char* state_subscribers(const State* state);

/// Record the subscribers.  Takes ownership of the text. [any, not rt]
void state_offer_subscribers(State* state, char* subscribers);

/// Record the loss of a worker: the rack must play again for STATE_SHAKEN_S before it counts as
/// good. [any, not rt]
void state_shake(State* state, uint64_t now_ns);

/// Do the work that is due at `now_ns`; the thread calls it four times a second. [state's thread,
/// or another one instead of it]
void state_step(State* state, uint64_t now_ns);

StateCounts state_counts(State* state); // [any, not rt]

/// Close the folder.  If in order, save the newest rack and reset the number of starts.  Returns
/// false if the disk takes longer than timeout_ms; the thread is then abandoned.  Accepts NULL.
/// [main]
bool state_close(State* state, bool in_order, uint32_t timeout_ms);

#endif
