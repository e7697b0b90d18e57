// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The state of a live run on disk: after a power failure the next run restores the rack, and after
   repeated crashes it starts with a safe rack.  One folder, used by one run at a time:

     present.rack   the rack that plays, once it has lived for STATE_PRESENT_S good.rack      such
     a rack, after the run has lived for STATE_GOOD_S more subscribers    addresses of the clients
     that subscribe, one a line starts         how many starts in a row, the current one included,
     have not lived for STATE_LIVED_S nor ended in order

   Each file is replaced as a whole (folder_replace()).  A separate thread writes the files; it
   reports and counts a disk that is slow, full or hangs, and no other thread waits for the disk.

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
#define STATE_SHAKEN_S  15U // time that a rack must play again after it lost a worker
#define STATE_RETRY_S   10U // until a failed write is retried

typedef enum StateFile { STATE_PRESENT, STATE_GOOD, STATE_N_FILES } StateFile;

typedef struct StateCounts {
  uint64_t saved;  ///< Racks written
  uint64_t failed; ///< Writes that failed
} StateCounts;

typedef enum StateTrouble {
  STATE_UNWRITTEN, ///< A file could not be written; the thread tries again
  STATE_UNREAD     ///< A file is damaged, and is ignored
} StateTrouble;

/// Called for both kinds of trouble; must not call functions of this header. [state's thread,
/// main]
typedef void (*StateFailed)(void* context, StateTrouble trouble, const char* text);

typedef struct State State;

/**
   Use a folder, which is created if its parent exists, and count this start.

   @return STATUS_FILE if it cannot be used, STATUS_EXISTS if another run uses it. [main]
*/
NODISCARD Status state_open(const char* path, StateFailed failed, void* context, State** out,
                            Error* error);

/// Starts in a row that crashed early, including this one: at least 1. [main]
uint32_t state_starts(const State* state);

/// The text of a file as of state_open(), NULL if there is none.  Valid until state_run(). [main]
const char* state_text(const State* state, StateFile file);

/// The origin of a state: a hash of the canonical text of the rack with which a run starts. [any]
uint64_t state_origin(const char* rack_text);

/// The origin stored with STATE_PRESENT; 0: none. [main]
uint64_t state_text_origin(const State* state);

/// From now on racks are saved with this origin, and state_offer() has an effect. [main]
void state_set_origin(State* state, uint64_t origin);

/// Start the thread. [main]
NODISCARD Status state_run(State* state, Error* error);

/// This rack plays from now on.  Takes ownership of the text; NULL (out of memory) is ignored.
/// [any, not rt]
void state_offer(State* state, char* rack_text, uint64_t now_ns);

/// The subscribers as of state_open(); NULL: none.  Valid until state_run(). [main]
const char* state_subscribers(const State* state);

/// Store the subscribers from now on.  Takes ownership of the text. [any, not rt]
void state_offer_subscribers(State* state, char* subscribers);

/// A worker was lost: its rack must play again for STATE_SHAKEN_S before it counts as good. [any,
/// not rt]
void state_shake(State* state, uint64_t now_ns);

/// Do the work that is due at `now_ns`; the thread calls it four times a second. [state's thread,
/// or another one instead of it]
void state_step(State* state, uint64_t now_ns);

StateCounts state_counts(State* state); // [any, not rt]

/// End.  If in order, save the newest rack and reset the count of starts.  False if the disk takes
/// longer than timeout_ms: then the thread is abandoned.  Accepts NULL. [main]
bool state_close(State* state, bool in_order, uint32_t timeout_ms);

#endif
