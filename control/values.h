// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Parameters by address: finds the parameters of a message, sets all of them or none in a document,
   and reads them.
*/
#ifndef WARPRACK_CONTROL_VALUES_H
#define WARPRACK_CONTROL_VALUES_H

#include "changes.h"

#include <lo/lo.h>
#include <stdbool.h>

/// The parameters that a bundle of COMMAND_SET messages sets in one rack; a zeroed struct is empty.
typedef struct Targets {
  Changes changes;        ///< In the order of the messages, up to `missing`
  bool is_structural;     ///< At least one parameter is structural
  const Message* missing; ///< The first message whose parameters are not in the rack; NULL: none
  Error error;            ///< The error for `missing`
} Targets;

/// Find the parameters that a message's address (for /rack/set, its first argument) names, and
/// append them with their current value as `before`.  With STATUS_NOT_FOUND, `error` suggests the
/// nearest name.  A pattern takes several calls: Message::is_unfinished is set while another one is
/// needed.
NODISCARD Status values_read(const Rack* rack, Message* message, Changes* found, Error* error);

/// Find the parameters of a bundle of COMMAND_SET messages (CommandInfo::find).  They are valid
/// until the nodes of the rack change.  Free them with changes_clear(&targets->changes). [any]
void values_find(const Rack* rack, const Bundle* bundle, Targets* targets);

/// True if the bundle sets the same parameters of the same nodes in this rack as in the rack of
/// `targets`, scenes to the same values. [any]
bool values_agree(const Rack* rack, const Bundle* bundle, const Targets* targets);

/**
   Set the parameters that values_find() has found in this rack, all or none.  If one is structural,
   another one must be missing; then the call fails.

   @param[in,out] targets Receives the values before and after each change.
   @param[out] failing The first message that failed; set only on error.  The rack is then
   unchanged.
*/
NODISCARD Status values_set(Rack* rack, Targets* targets, const Message** failing, Error* error);

/// Find and set the parameters of one message, also structural ones.  On error the rack may be
/// partly changed.
NODISCARD Status values_set_any(Rack* rack, const Message* message, Error* error);

/// Restore the old values, the last change first.  Changes of nodes that are no longer in the rack
/// are skipped.
void values_revert(Rack* rack, const Changes* changes);

/// Set the new values in another rack.  Returns false, without any change, if a node is missing
/// there.
bool values_repeat(Rack* rack, const Changes* changes);

/// True for /norm/<node>/<param>, whose value is a position from 0 to 1, see fx_param_from_norm().
bool values_is_norm(const Message* message);

/// Append a parameter's value to a message as the same type that sets it.
void values_append(lo_message* arguments, const RackNode* node, uint32_t param, double rate_hz);

/// Append the position of a parameter's value, which is no text.
void
values_append_norm(lo_message* arguments, const RackNode* node, uint32_t param, double rate_hz);

#endif
