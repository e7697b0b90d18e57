// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Parameters by address: which ones a message means, setting them in a document all or none, and
   reading them.
*/
#ifndef WARPRACK_CONTROL_VALUES_H
#define WARPRACK_CONTROL_VALUES_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

/// Parameters that one change may set, and names that it may compare: the bound on its work.
#define VALUES_MAX         4096U
#define VALUES_MAX_COMPARE 65536U

/// One parameter, with its value before and after a change.
typedef struct Change {
  RackUid uid;
  uint32_t param;
  RackValue before, after; ///< Numbers only
} Change;

/// A growing list; zeroed is empty.
typedef struct Changes {
  Change* items;
  uint32_t n, capacity;
  uint32_t n_compared;
} Changes;

void changes_clear(Changes* changes);

typedef enum ValuesKind {
  VALUES_LIVE,       ///< All can be changed while they are heard
  VALUES_STRUCTURAL, ///< At least one makes a new plan
  VALUES_MISSING     ///< At least one is not in this rack
} ValuesKind;

/// Find the parameters that a message's address (or, for /rack/set, its first argument) means, and
/// append them; `before` is their present value.  STATUS_NOT_FOUND names the nearest.  A pattern is
/// a step at a time: Message::is_unfinished says that there is another one.
NODISCARD Status values_read(const Rack* rack, Message* message, Changes* found, Error* error);

/// What setting a batch of COMMAND_SET messages would be. [any]
ValuesKind values_kind(const Rack* rack, const Batch* batch);

/// True when a batch of COMMAND_SET means the same nodes and parameters in both racks. [any]
bool values_agree(const Rack* a, const Rack* b, const Batch* batch);

/**
   Set the parameters of every message of a batch (all of them COMMAND_SET), all or none.

   @param[out] changes What was changed, in order.
   @param[out] failing The message that could not be done; set only on error, with the rack as it
   was.
*/
NODISCARD Status values_set(Rack* rack, const Batch* batch, Changes* changes,
                            const Message** failing, Error* error);

/// Set the parameters of one message, structural ones too.  On error the rack may be half changed.
NODISCARD Status values_set_any(Rack* rack, const Message* message, Error* error);

/// Put the old values back, the last first; nodes that have gone are passed over.
void values_revert(Rack* rack, const Changes* changes);

/// Put the new values into another rack; false, and nothing done, when it lacks one of the nodes.
bool values_repeat(Rack* rack, const Changes* changes);

/// Append a parameter's value to a message as the same type that sets it.
void values_append(lo_message* arguments, const RackNode* node, uint32_t param, double rate_hz);

#endif
