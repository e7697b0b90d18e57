// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The planner turns a rack into a plan: the steps, in order, that compute one block, with all
   memory that they need.  A plan does not change after it is made.  The state that changes while
   audio runs is in its nodes and links.

   The *active* plan is the one that the player runs.  The builder makes the next plan while the
   active plan runs.  The next plan takes over the nodes and connections of the active plan that are
   still in the rack.  Nodes and connections that the edit has removed from the rack are *dying*:
   connections fade out, nodes play on until their tail has decayed (at most TAIL_LIMIT_SECONDS),
   and a later plan leaves both out.  If a structural value of a node has changed, the plan contains
   two nodes for it: the old one is dying while the input of the new one fades in.

   All functions [builder] except where another thread is named.
*/
#ifndef WARPRACK_ENGINE_PLAN_PLAN_H
#define WARPRACK_ENGINE_PLAN_PLAN_H

#include "node.h"

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/contract/backend.h"
#include "engine/midi/midi_map.h"
#include "engine/rack/rack.h"

#include <stdatomic.h>

/// Equal-gain fade of connections; cubic, so that low notes do not click.
#define LINK_RAMP_SECONDS  0.01
#define TAIL_LIMIT_SECONDS 10.0 // longest life of a removed node
#define TAIL_LIMIT_NODES   64U  // if more nodes are dying, those of earlier edits fade out

/// Whether a node or a link is dying, and until which frame.
typedef struct Death {
  bool dying;
  bool fresh; ///< Dying begins with this plan.  Until plan_became_active(), `expires` counts from
              ///< the plan's first frame
  uint64_t expires; ///< Frame from which a later plan can leave the part out
  uint64_t tail;    ///< Frame from which it plays only tails
} Death;

typedef struct PlanNode {
  Node* node;
  uint32_t latency_in;     ///< Frames from the rack's input to this node's
  uint32_t latency_frames; ///< Of the node when the plan was made
  uint32_t rank;           ///< Longest path from the rack's input, in nodes
  PlaceReason reason;      ///< Why the node runs on its backend
  bool has_switches;       ///< The plan has a mix for Node::switches
  Death death;
} PlanNode;

typedef struct PlanLink {
  Link* link;
  Death death;
  uint64_t fades; ///< Frame at which its last fade begins, except after a tail; once the plan is
                  ///< active
} PlanLink;

/// A gain change of a link, which starts with the plan's first frame: the gain stays for
/// `hold_frames`, then ramps to `target` (linear) in `frames` frames.
typedef struct PlanAim {
  Link* link;
  float target;
  uint32_t frames, hold_frames;
  bool restarts; ///< The gain may still move to `target`, by a fade of an earlier plan: it begins
                 ///< again (mix_link_restart())
} PlanAim;

/// A living node, for the search by its uid.
typedef struct PlanUid {
  RackUid uid;
  uint32_t node_index;
} PlanUid;

/// A value of the document, for a parameter that is not structural.
typedef struct PlanValue {
  uint32_t node_index, param;
  double value;
} PlanValue;

/// A new node that replaces `from`, a node of the previous plan.  It takes over the parameter
/// values that messages have set in `from` since the document was sent.
typedef struct PlanHeir {
  Node* node;
  const Node* from;
} PlanHeir;

/// Consecutive steps that one backend runs.
typedef struct PlanStage {
  const Backend* backend;
  uint32_t first_step, n_steps;
  uint32_t* out_rows; ///< [n_out_rows] rows that later stages or the output read
  uint32_t n_out_rows;
  Stage* stage;
} PlanStage;

typedef struct Plan {
  Arena arena;
  PlanNode* nodes; ///< [n_nodes]; first the living nodes in the rack's order, then the dying ones
  uint32_t n_nodes, n_living;
  PlanUid* by_uid; ///< [n_living] sorted by uid
  PlanLink* links;
  uint32_t n_links;
  float** rows; ///< [n_rows]; rows 0..n_in-1 are the rack's input, the next n_out its output
  uint32_t n_rows, n_in, n_out;
  const Backend* out_backend; ///< The backend that mixes the rack's output
  const StageStep* steps;
  uint32_t n_steps;
  PlanStage* stages; ///< [n_stages], run in order
  uint32_t n_stages;
  uint32_t block_frames; ///< Maximum frames of a block
  PlanAim* aims;
  uint32_t n_aims;
  PlanValue* values;
  uint32_t n_values;
  PlanHeir* heirs;
  uint32_t n_heirs;
  MidiTable midi;                   ///< The MIDI map of the rack
  _Atomic(const PlanStage*) failed; ///< The stage whose device failed first; NULL: none [player]
  uint64_t stamp;    ///< Number of messages sent before the document; later ones override `values`
  uint64_t at_frame; ///< Earliest first frame
  uint64_t edit;     ///< Id of the edit, 0: none
  uint64_t planned;  ///< PlanRequest::now_frame
  bool is_first;     ///< There was no plan to continue from: all nodes are new
  uint64_t first_frame; ///< First frame, once the plan is active [builder]
  uint32_t fade_frames; ///< From its first frame until its fades have ended everywhere; 0: none
  bool fades_at_once;   ///< All fades that have not ended began with the first frame of a plan
  uint64_t settled;     ///< Frame at which all fades have ended, also of earlier plans; once active
  uint32_t latency_frames;
  uint64_t tail_frames;
  uint32_t n_ranks, n_units;
  size_t n_bytes;      ///< Memory of the plan, its nodes and links included
  size_t making_bytes; ///< Largest memory of this plan while it was made
} Plan;

typedef struct PlanRequest {
  const Rack* rack;
  const Plan* previous; ///< The plan to continue from; NULL: none, and nothing fades
  const Plan* active;   ///< The active plan, in whose nodes messages set values; NULL: `previous`
  uint64_t now_frame;   ///< The plan leaves out dying parts that expire by this frame
  const Format* format;
  FileLoader* loader;
  Pool* pool;             ///< May be NULL
  const Backend* backend; ///< For nodes without a backend= of their own
  const Backend*
      gpu; ///< For nodes with backend=gpu.  NULL: there is no GPU; the CPU: the GPU has failed
  PlaceReason reason;  ///< Why `backend` was chosen
  const char* no_gpu;  ///< Why there is no GPU, for messages
  const Backend* lost; ///< A backend that has failed, whose nodes and links the plan does not take
                       ///< over; NULL: none
  uint64_t stamp, at_frame;
  uint64_t edit;     ///< Id of the edit that the plan completes, 0: none
  bool keeps_files;  ///< Keep the loader's cache, because another plan of the same rack follows
  bool keep_values;  ///< The rack is the same: do not set the document's values again.  A new node
                     ///< takes over the values of the node that it replaces
  bool end_tails;    ///< Fade out the nodes that are already dying now, before their tails end
  bool finds_all;    ///< If a node of a plugin cannot be made, try the others, too, before the plan
                     ///< fails: PlanFault::refused
  bool no_fusion;    ///< Let every node run by itself: the plan has no chains (StageStep)
  bool drop_silent;  ///< Leave out all parts that are already dying, and links whose gain is 0
  size_t max_bytes;  ///< Limit for the memory of all plans while this one is made; 0: no limit
  size_t held_bytes; ///< Memory of the plans that already exist
  /// Called before each node; if it returns true, plan_new() fails with STATUS_LIMIT.  May be NULL.
  bool (*is_cancelled)(void* cancel_context);
  void* cancel_context; ///< Argument of is_cancelled()
} PlanRequest;

/// The part of the rack for which plan_new() failed.
typedef struct PlanFault {
  bool is_tangled;  ///< The new connections together with those that still fade out make a cycle
  bool needs_tails; ///< The memory limit allows the plan only without the tails of the active one
  uint32_t edge;    ///< 1 + index of the connection whose channels do not fit; 0: none
  RackRefused refused; ///< Nodes of plugins that could not be made, without those that ran out of
                       ///< memory
} PlanFault;

/**
   Make a plan.  First create the nodes without their units and other large memory.  Then compute
   the size of the plan and compare it with PlanRequest::max_bytes; a larger plan fails with
   STATUS_LIMIT.  Last, allocate the large memory.

   @param[out] fault If PlanFault::is_tangled is set, the status is STATUS_BAD_RACK.  The caller
   then applies a rack without the new connections, waits until the fades have ended, and tries
   again.
*/
NODISCARD Status plan_new(const PlanRequest* request, Plan** out, PlanFault* fault, Error* error);

/// Free the stages of a plan, and make them again, when the memory region of their backends has
/// changed.  The plan must not run between the two calls.  Nodes and links keep their state.
/// [main, no player]
void plan_drop_stages(Plan* plan);
NODISCARD Status plan_make_stages(Plan* plan, Pool* pool, Error* error);

/// Free a plan and drop its references.  Accepts NULL.
void plan_free(Plan* plan);

/// Renew the nodes that wait for it (FxInfo::renew), except dying ones.  Returns the error of the
/// last one that failed, and its index. [builder, or between blocks]
Status plan_renew(const Plan* plan, uint32_t* failed, Error* error);

/// Return all nodes and links to their initial state.  Fails if FxInfo::renew fails. [while no
/// player runs]
NODISCARD Status plan_reset(const Plan* plan, Error* error);

/// Record that the plan is active from `frame` on: complete Death::expires of the parts that die
/// since this plan, and set Link::gain to the targets of the aims.
void plan_became_active(Plan* plan, uint64_t frame);

/// Count Plan::n_bytes again, after nodes have saved states, which they keep, or have freed them.
void plan_count_memory(Plan* plan);

/// Frame from which another plan with fades may begin: one change at a time passes through the
/// rack.
uint64_t plan_next_begin(const Plan* plan);

/// Call node_keep_saved() for all nodes: `rack` is the one of which the active plan was made.
void plan_keep_saved(const Plan* plan, const Rack* rack);

/// Earliest frame at which a dying part can be left out; UINT64_MAX if no part is dying.
uint64_t plan_next_expiry(const Plan* plan);

/// A living node that asks to be replaced, and whose rest has ended, as an index, or -1.
int plan_find_restart(const Plan* plan, uint64_t now_ns);

/// The index of a living node on a device with a switch that is on, for which the plan has no mix;
/// -1: none.
int plan_find_switched(const Plan* plan);

/// A living node whose latency is no longer that of the plan, as an index, or -1.
int plan_find_moved(const Plan* plan);

/// Index of a node that is not dying, or -1. [player]
REALTIME int plan_find(const Plan* plan, RackUid uid);

/// Record that the device of `stage` has failed.  Returns false if a stage of the plan had failed
/// before. [player]
REALTIME bool plan_fail(Plan* plan, const PlanStage* stage);
REALTIME bool plan_has_failed(const Plan* plan); // [any]

/// Get the error of a failed plan, and the backend that has failed.  Returns STATUS_OK if the plan
/// has not failed.
Status plan_failure(const Plan* plan, const Backend** backend, Error* error);

/// Start the fades, set the values of the document, and end the notes of dying nodes.  Call it
/// before the plan's first block.
/// [player]
REALTIME void plan_begin(Plan* plan);

/// Let the device of the first stage that has one prepare the next block; call it between blocks.
/// [player]
REALTIME void plan_rest(const Plan* plan);

/// No further block of the plan comes.  Accepts NULL. [player]
REALTIME void plan_leave(const Plan* plan);

#endif
