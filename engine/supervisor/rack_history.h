// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The documents that the supervisor stores and sends to each new worker, so that no edit is lost
   with the old one.

       pending ──accepted──▶ active ──▶ before
          └──refused──▶ freed   └──quarantined──▶ banned, for a while

   One edit is pending at a time.  Values that are set meanwhile are stored in the active rack and
   in the pending one.  The supervisor's lock guards a RackHistory.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_RACK_HISTORY_H
#define WARPRACK_ENGINE_SUPERVISOR_RACK_HISTORY_H

#include "crash_policy.h"
#include "node_quarantine.h"

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
  bool is_overtaken; ///< A command that makes the rack smaller waits: one loss is too many
  Error refusal;     ///< STATUS_OK: not refused
} RackHistoryEdit;

typedef struct RackHistoryBan {
  Rack* rack; ///< NULL: free
  uint64_t until_ns;
  char why[RACK_HISTORY_WHY_BYTES];
} RackHistoryBan;

typedef struct RackHistory {
  Rack* active;
  Rack* before;             ///< NULL: none, or it was quarantined
  RackHistoryEdit* pending; ///< NULL: none
  RackHistoryBan banned[RACK_HISTORY_MAX_BANNED];
  NodeQuarantine nodes; ///< Of the active rack
} RackHistory;

/// Initialise with the empty rack as the active one.
NODISCARD Status rack_history_init(RackHistory* history);
void rack_history_clear(RackHistory* history);

/// Store an edit; `rack` is copied.  An edit with a banned rack is stored as refused.
/// STATUS_LIMIT while another edit is pending, STATUS_NO_MEM.
NODISCARD Status rack_history_add(RackHistory* history, uint64_t id, const Rack* rack,
                                  uint64_t at_frame, uint64_t now_ns);

/// Store values in the documents; values for unknown nodes are ignored.
void rack_history_note(RackHistory* history, const ParamMessage* messages, uint32_t n);

/// The copy of the active or pending rack that a worker gets, with the quarantine of its nodes; for
/// rack_free().  NULL if out of memory.
Rack* rack_history_for_worker(const RackHistory* history, const Rack* rack, uint64_t now_ns);

/// Make the pending edit's rack the active one.
void rack_history_activate_pending(RackHistory* history);

/// Remove the pending edit.
void rack_history_drop_pending(RackHistory* history);

/// Refuse the pending edit with the reason `why`, if there is one and it is not yet refused.
void rack_history_refuse(RackHistory* history, const char* why);

/// Ban the active rack for RACK_HISTORY_BAN_NS, and revert to the rack before it, or to the empty
/// one.  Returns false, and changes nothing, if out of memory.
bool rack_history_quarantine(RackHistory* history, const char* why, uint64_t now_ns);

#endif
