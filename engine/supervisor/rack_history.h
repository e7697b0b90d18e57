// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The documents that the supervisor keeps: a new worker gets them, so that nothing is lost with the
   old one.

       pending, in order ──heard──▶ heard ──▶ before
                └──refused──▶ gone    └──quarantined──▶ banned, for a while

   Values that are set meanwhile are noted in all documents that came before them, as the sound has
   them.  No threads: the supervisor's lock guards it.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_RACK_HISTORY_H
#define WARPRACK_ENGINE_SUPERVISOR_RACK_HISTORY_H

#include "crash_policy.h"

#include "engine/base/time.h"
#include "engine/rack/rack.h"
#include "engine/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

#define RACK_HISTORY_MAX_BANNED 8U
#define RACK_HISTORY_BAN_NS     (600U * NS_PER_S) // ten minutes
#define RACK_HISTORY_WHY_BYTES  320U

/// An edit without a reply yet.
typedef struct RackHistoryEdit {
  struct RackHistoryEdit* next;
  uint64_t id;
  uint64_t at_frame;
  Rack* rack;
  EditLosses losses;
  Error refusal; ///< STATUS_OK: it is to be tried
} RackHistoryEdit;

typedef struct RackHistoryBan {
  Rack* rack; ///< NULL: free
  uint64_t until_ns;
  char why[RACK_HISTORY_WHY_BYTES];
} RackHistoryBan;

typedef struct RackHistory {
  Rack* heard;
  Rack* before; ///< NULL: none, or none that is good
  RackHistoryEdit* first;
  RackHistoryEdit** last; ///< Where the next one is hooked in
  RackHistoryBan banned[RACK_HISTORY_MAX_BANNED];
} RackHistory;

/// With the empty rack as what is heard.
NODISCARD Status rack_history_init(RackHistory* history);
void rack_history_clear(RackHistory* history);

/// Take up an edit; `rack` is copied.  One that is banned is in the history as refused.
NODISCARD Status rack_history_add(RackHistory* history, uint64_t id, const Rack* rack,
                                  uint64_t at_frame, uint64_t now_ns);

/// Write values into the documents.  What no document knows is left out.
void rack_history_note(RackHistory* history, const ParamMessage* messages, uint32_t n);

/// The first edit is heard.
void rack_history_first_heard(RackHistory* history);

/// The first edit leaves.
void rack_history_drop_first(RackHistory* history);

/// Refuse all edits: they were made from a rack that is not heard any more.
void rack_history_refuse_all(RackHistory* history, const char* why);

/// Where a worker was lost with the first edit, and one behind it takes away something of what that
/// one has: refuse the first one and all up to that one.
void rack_history_overtake(RackHistory* history, const char* why);

/// The first edit is refused: refuse with it those right behind it that have all the nodes with
/// which it adds to what is heard.
void rack_history_refuse_followers(RackHistory* history, const char* why);

/// Take back what is heard: the rack before it is heard again, or the empty one; it is banned until
/// RACK_HISTORY_BAN_NS from now.  False when out of memory: then nothing has changed.
bool rack_history_quarantine(RackHistory* history, const char* why, uint64_t now_ns);

#endif
