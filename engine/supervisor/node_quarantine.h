// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Nodes that crash workers, and nodes of plugins that a new worker cannot make.  A node in
   quarantine plays its input, delayed by its latency, instead of executing the code of its plugin
   or effect.

   Nodes of one built-in effect run together, on SIMD lanes, and so do filters, gains and inverts in
   series (FxInfo::linear).  If such a run crashes a worker, it is not known which node did it: the
   nodes of the effect, or of all effects with FxInfo::linear, then run apart (RackNode::is_apart),
   and the crash counts for the first of them that crashes on its own.

   The quarantine is no part of a document: it is written into the copy of a rack that a worker gets
   (RackNode::is_quarantined).  It ends after NODE_QUARANTINE_NS, with the next rack that is sent to
   a worker, as soon as an edit removes the node or changes what it is made of, or when plugins have
   new code.  After each scan for plugins, the quarantine of nodes that could not be made is
   *lifted*: the worker tries to make them again, and those that fail go back into quarantine.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_NODE_QUARANTINE_H
#define WARPRACK_ENGINE_SUPERVISOR_NODE_QUARANTINE_H

#include "engine/base/time.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define NODE_QUARANTINE_MAX 1024U
#define NODE_QUARANTINE_NS  (600U * NS_PER_S) // ten minutes

/// A node that has crashed a worker, or that a worker could not make.
typedef struct NodeCase {
  RackUid uid;      ///< RACK_UID_NONE: free
  const FxInfo* fx; ///< Its effect
  uint32_t n_crashes;
  uint32_t latency_frames; ///< When it last played; 0: it has not played
  uint64_t changed_ns;     ///< Time of the last crash
  uint64_t until_ns;       ///< End of its quarantine; 0: never in quarantine
  bool is_refused;         ///< In quarantine because it could not be made
  bool is_guess;           ///< Another node may have caused one of its crashes
} NodeCase;

#define NODE_QUARANTINE_EFFECTS 8U

/// A built-in effect of which nodes that ran together have crashed a worker.  One with
/// FxInfo::linear stands for all that have it.
typedef struct EffectCase {
  const FxInfo* fx;   ///< NULL: free
  uint32_t n_crashes; ///< Of unknown nodes
  uint64_t until_ns;  ///< Until then its nodes run apart
} EffectCase;

typedef struct NodeQuarantine {
  NodeCase cases[NODE_QUARANTINE_MAX];
  EffectCase effects[NODE_QUARANTINE_EFFECTS];
} NodeQuarantine;

/// The case of a node, which is made if there is none; if there are too many, it replaces the
/// oldest.
NodeCase* node_quarantine_case(NodeQuarantine* quarantine, const RackNode* node, uint64_t now_ns);

/// Let the nodes of an effect, and of those that run with it, run apart, because a run of several
/// of them has crashed a worker.  Returns false if they already do.
bool node_quarantine_part(NodeQuarantine* quarantine, const FxInfo* fx, uint64_t now_ns);

/// Forget the nodes of `before` that `after` has not, or that it makes again.
void node_quarantine_follow(NodeQuarantine* quarantine, const Rack* before, const Rack* after);

/// True if the node is in quarantine, or was until it ended.
bool node_quarantine_has(const NodeQuarantine* quarantine, const RackNode* node);

/// Lift the quarantine of the nodes that could not be made.  Returns true if there is one.
bool node_quarantine_lift(NodeQuarantine* quarantine, uint64_t now_ns);

/// Put the nodes whose quarantine was lifted back into it.  Returns true if there is one.
bool node_quarantine_put_back(NodeQuarantine* quarantine, uint64_t now_ns);

/// Plugins have new code, which perhaps does not crash: forget all cases, but lift those of nodes
/// that could not be made.
void node_quarantine_new_code(NodeQuarantine* quarantine, uint64_t now_ns);

/// Forget the nodes that could not be made, but have been made of a rack that was sent at
/// `given_ns`, when their quarantine had ended.
void node_quarantine_forget(NodeQuarantine* quarantine, uint64_t given_ns);

/// Write the quarantine into `rack`, a copy for a worker.  `active`: the active rack, of which
/// `rack` is a copy or to which it is an edit.  A node that the edit changes is not in quarantine.
void node_quarantine_apply(const NodeQuarantine* quarantine, const Rack* active, Rack* rack,
                           uint64_t now_ns);

#endif
