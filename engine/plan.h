// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The planner turns a rack into a plan: the steps, in order, that make one block, with all memory
   that they need.  A plan is immutable once made; what changes while audio runs lives in its nodes
   and links.

   A plan is made beside the one that is heard and takes over its nodes and connections where the
   rack still has them.  What the rack no longer has is *dying*: connections fade, nodes play on
   until their tail has decayed (at most TAIL_LIMIT_SECONDS), then a later plan leaves them out.  A
   node whose structural values changed is both: the old one dies while the new one fades in at its
   input.

   All functions [builder] except where another thread is named.
*/
#ifndef WARPRACK_ENGINE_PLAN_H
#define WARPRACK_ENGINE_PLAN_H

#include "arena.h"
#include "backend.h"
#include "node.h"
#include "rack.h"
#include "status.h"

#include <stdatomic.h>

#define LINK_RAMP_SECONDS                                                                          \
  0.01 // equal-gain fade of connections; cubic, so that low notes do not click
#define TAIL_LIMIT_SECONDS    10.0 // longest life of a removed node
#define TAIL_LIMIT_NODES      64U  // when more would be dying, those that do so already end
#define LATENCY_LIMIT_SECONDS 2.0 // of a rack that is heard live; sizes the dry signal's delay line

/// The end of something that the rack no longer has.
typedef struct Death {
  bool dying;
  bool fresh;       ///< It began with this plan: `expires` counts from the plan's first frame until
                    ///< plan_heard()
  uint64_t expires; ///< Frame from which on it can be left out
} Death;

typedef struct PlanNode {
  Node* node;
  uint32_t latency_in; ///< Frames from the rack's input to this node's
  uint32_t level;      ///< Longest way from the rack's input, in nodes
  const char* why;     ///< Why it runs where it does, see EnginePlace
  Death death;
} PlanNode;

typedef struct PlanLink {
  Link* link;
  Death death;
} PlanLink;

/// What the worker does to a connection when the plan is first heard: it goes on as it is for
/// `hold` frames, then to `target` in `frames`.
typedef struct PlanAim {
  Link* link;
  float target;
  uint32_t frames, hold;
} PlanAim;

/// A value that the document gives to a parameter that is not structural.
typedef struct PlanValue {
  uint32_t node_index, param;
  double value;
} PlanValue;

/// A node that was made anew, and the one of the previous plan whose values it takes over where a
/// message set them since the document was.
typedef struct PlanHeir {
  Node* node;
  const Node* from;
} PlanHeir;

/// Neighbouring steps that one backend runs.
typedef struct PlanStage {
  const Backend* backend;
  uint32_t first_step, n_steps;
  uint32_t* out_rows; ///< [n_out_rows] read behind it
  uint32_t n_out_rows;
  Stage* stage;
} PlanStage;

typedef struct Plan {
  Arena arena;
  PlanNode* nodes; ///< [n_nodes], the living ones first, in the rack's order
  uint32_t n_nodes, n_living;
  uint32_t* by_uid; ///< [n_living] indices into nodes, sorted by uid
  PlanLink* links;
  uint32_t n_links;
  float** rows; ///< [n_rows]; rows 0..n_in-1 are the rack's input, then n_out of its output
  uint32_t n_rows, n_in, n_out;
  const Backend* out_backend; ///< What mixes the rack's output
  const StageStep* steps;
  uint32_t n_steps;
  PlanStage* stages; ///< [n_stages], run in order
  uint32_t n_stages;
  uint32_t block_frames; ///< At most
  PlanAim* aims;
  uint32_t n_aims;
  PlanValue* values;
  uint32_t n_values;
  PlanHeir* heirs;
  uint32_t n_heirs;
  _Atomic(const PlanStage*) failed; ///< The first stage whose device failed, NULL: none [worker]
  uint64_t stamp;    ///< Messages sent before the document was: newer ones win over `values`
  uint64_t at_frame; ///< Not before this frame
  uint64_t heard_at; ///< First frame, once heard [builder]
  uint32_t latency_frames;
  uint64_t tail_frames;
  uint32_t n_levels, n_units;
  size_t n_bytes;      ///< Memory that it holds, its nodes and links included
  size_t making_bytes; ///< The most that there was while it was made, other plans aside
} Plan;

typedef struct PlanRequest {
  const Rack* rack;
  const Plan* previous; ///< Heard now, or NULL: nothing is faded
  const Plan* heard;    ///< The worker's, on which messages set values meanwhile; NULL: `previous`
  uint64_t now_frame;   ///< Dying parts that expired before are left out
  const Format* format;
  FileLoader* loader;
  Pool* pool;             ///< May be NULL
  const Backend* backend; ///< Of nodes that leave the choice to the engine
  const Backend*
      gpu; ///< Of nodes that ask for a GPU, NULL when there is none, the CPU when it has failed
  const char* why_backend; ///< Of nodes that leave the choice, see EnginePlace
  const char* no_gpu;      ///< Why there is none, for messages
  const Backend* lost;     ///< Failed: nothing of `previous` that is there goes on; NULL: none
  uint64_t stamp, at_frame;
  bool keeps_files;  ///< Another plan of the rack comes next: leave the loader's cache as it is
  bool keep_values;  ///< Housekeeping: the document's values are not news; a node that is made anew
                     ///< all the same takes over those of the one that was heard
  bool end_tails;    ///< What is dying already fades now, not when its tail has ended
  bool drop_silent;  ///< What is dying already, or has no gain left, is left out whatever its time
  size_t max_bytes;  ///< Memory of all plans together while this one is made; 0: no limit
  size_t held_bytes; ///< Of those that are there already
} PlanRequest;

/**
   Make a plan.  Its nodes are designed first, without their units and whatever else is large; so
   its size is known, and compared with PlanRequest::max_bytes, before that memory is asked for:
   STATUS_LIMIT.

   @param[out] tangled Set when the new connections and those that still fade would make a cycle:
   apply a rack without the new connections first, let the fades end, then try again.  The status is
   then STATUS_BAD_RACK.
*/
NODISCARD Status plan_new(const PlanRequest* request, Plan** out, bool* tangled, Error* error);

/// Free the stages of a plan, which must not be run then, and make them again: their backends'
/// region has changed.  Nothing that is heard is lost. [main, no worker]
void plan_drop_stages(Plan* plan);
NODISCARD Status plan_make_stages(Plan* plan, Pool* pool, Error* error);

/// Free a plan and drop its references.  Accepts NULL.
void plan_free(Plan* plan);

/// Bring all nodes and connections back to the start. [worker, or while no worker runs]
void plan_reset(const Plan* plan);

/// The plan has been heard from `frame` on: its deaths have their date, its aims are the gains.
void plan_heard(Plan* plan, uint64_t frame);

/// Earliest frame at which something dying can be left out; UINT64_MAX when nothing dies.
uint64_t plan_next_expiry(const Plan* plan);

/// Index of a living node, or -1. [worker]
REALTIME int plan_find(const Plan* plan, RackUid uid);

/// Note that the device of `stage` has failed; false when the plan had failed before. [worker]
REALTIME bool plan_fail(Plan* plan, const PlanStage* stage);
REALTIME bool plan_has_failed(const Plan* plan); // [any]

/// Why the plan has failed, and on which backend; STATUS_OK when it has not.
Status plan_failure(const Plan* plan, const Backend** backend, Error* error);

/// Start the fades and set the values of the document; the first thing a plan does when it is
/// heard. [worker]
REALTIME void plan_begin(Plan* plan);

#endif
