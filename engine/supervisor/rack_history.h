// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The documents that the supervisor keeps: a new worker gets them, so that nothing is lost with the
   old one.

       pending ──heard──▶ heard ──▶ before
          └──refused──▶ gone  └──quarantined──▶ banned, for a while

   One edit is pending at a time.  Values that are set meanwhile are written into the playing rack
   and into the pending one.  No threads: the supervisor's lock guards it.
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
  Rack* before;             ///< NULL: none, or none that is good
  RackHistoryEdit* pending; ///< NULL: none
  RackHistoryBan banned[RACK_HISTORY_MAX_BANNED];
} RackHistory;

/// With the empty rack as what is heard.
NODISCARD Status rack_history_init(RackHistory* history);
void rack_history_clear(RackHistory* history);

/// Take up an edit; `rack` is copied.  An edit of a banned rack is pending as refused.
/// STATUS_LIMIT while another edit is pending, STATUS_NO_MEM.
NODISCARD Status rack_history_add(RackHistory* history, uint64_t id, const Rack* rack,
                                  uint64_t at_frame, uint64_t now_ns);

/// Write values into the documents.  What no document knows is left out.
void rack_history_note(RackHistory* history, const ParamMessage* messages, uint32_t n);

/// The pending edit is heard.
void rack_history_pending_heard(RackHistory* history);

/// The pending edit leaves.
void rack_history_drop_pending(RackHistory* history);

/// Refuse the pending edit, if there is one that is not refused yet.
void rack_history_refuse(RackHistory* history, const char* why);

/// Take back what is heard: the rack before it is heard again, or the empty one; it is banned until
/// RACK_HISTORY_BAN_NS from now.  False when out of memory: then nothing has changed.
bool rack_history_quarantine(RackHistory* history, const char* why, uint64_t now_ns);

#endif
