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
  uint32_t param;          ///< The effect's n_params for "backend"
  const Message* message;  ///< That sets it, while its bundle lives
  RackValue before, after; ///< Numbers only
} Change;

/// A growing list; zeroed is empty.
typedef struct Changes {
  Change* items;
  uint32_t n, capacity;
  uint32_t n_compared;
} Changes;

void changes_clear(Changes* changes);

/// The parameters that a bundle of COMMAND_SET messages sets in one rack; zeroed is empty.
typedef struct Targets {
  Changes changes;        ///< In the order of the messages, up to the missing one
  bool is_structural;     ///< At least one of them makes a new plan
  const Message* missing; ///< The first message whose parameters are not in the rack; NULL: none
  Error error;            ///< The missing part
} Targets;

/// Find the parameters that a message's address (or, for /rack/set, its first argument) means, and
/// append them; `before` is their present value.  STATUS_NOT_FOUND names the nearest.  A pattern is
/// a step at a time: Message::is_unfinished says that there is another one.
NODISCARD Status values_read(const Rack* rack, Message* message, Changes* found, Error* error);

/// Find the parameters of a bundle of COMMAND_SET messages.  They are valid until the rack gets
/// other nodes.  Free them with changes_clear(&targets->changes). [any]
void values_find(const Rack* rack, const Bundle* bundle, Targets* targets);

/// True when the bundle sets the same parameters of the same nodes in this rack as in the one where
/// `targets` were found. [any]
bool values_agree(const Rack* rack, const Bundle* bundle, const Targets* targets);

/**
   Set the parameters that values_find() has found in this rack, all or none.  Where one is
   structural another one must be missing, and nothing is set.

   @param[in,out] targets The changes get their values before and after.
   @param[out] failing The first message that failed; set only on error, with the rack as it was.
*/
NODISCARD Status values_set(Rack* rack, Targets* targets, const Message** failing, Error* error);

/// Find and set the parameters of one message, structural ones too.  On error the rack may be half
/// changed.
NODISCARD Status values_set_any(Rack* rack, const Message* message, Error* error);

/// Put the old values back, the last first; nodes that have gone are passed over.
void values_revert(Rack* rack, const Changes* changes);

/// Put the new values into another rack; false, and nothing done, when it lacks one of the nodes.
bool values_repeat(Rack* rack, const Changes* changes);

/// Append a parameter's value to a message as the same type that sets it.
void values_append(lo_message* arguments, const RackNode* node, uint32_t param, double rate_hz);

#endif
