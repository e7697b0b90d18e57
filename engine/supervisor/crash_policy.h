// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decides after the loss of a worker whether an edit or the rack caused it, and how long to wait
   before the next start.  The functions read no clock and are not thread-safe.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_CRASH_POLICY_H
#define WARPRACK_ENGINE_SUPERVISOR_CRASH_POLICY_H

#include "engine/base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define CRASH_POLICY_FIRST_REST_NS   NS_PER_S
#define CRASH_POLICY_LONGEST_REST_NS (60U * NS_PER_S)
#define CRASH_POLICY_OUTSIDE_REST_NS NS_PER_S // longest wait after a kill from outside
#define CRASH_POLICY_CRASHES         2U
// Limit for workers lost with the same edit, crashes and kills together.
#define CRASH_POLICY_LOSSES 3U
// A rack that has played for longer is not held to be the cause.
#define CRASH_POLICY_TRIAL_NS (10U * NS_PER_S)

/// How a worker was lost.
typedef struct Loss {
  bool from_outside; ///< Killed by a signal from outside
  bool was_healthy;  ///< It had played
  bool had_edit;     ///< It had received an edit without a reply yet
  bool had_rack;     ///< It had received the rack
} Loss;

typedef enum Verdict { VERDICT_NONE, VERDICT_EDIT, VERDICT_RACK } Verdict;

/// Losses caused by an edit so far.
typedef struct EditLosses {
  uint32_t n_losses;  ///< Workers lost while they planned the edit
  uint32_t n_crashes; ///< Of these, crashes
} EditLosses;

typedef struct CrashPolicy {
  uint64_t rest_ns;        ///< Wait before the next start if the current worker fails, too
  uint64_t plays_since_ns; ///< When the rack first played in the current worker; 0: not yet
  uint32_t n_crashes;      ///< Crashes in a row of workers with the current rack
} CrashPolicy;

/// Reset the policy for a new active rack.  `n_crashes`: crashes that it caused as an edit.
void crash_policy_new_rack(CrashPolicy* policy, uint32_t n_crashes, uint64_t now_ns);

/// Record that a worker has begun to play at `now_ns`.
void crash_policy_began_to_play(CrashPolicy* policy, uint64_t now_ns);

/// Record a loss.  `edit` counts the losses of the edit in progress.  Returns VERDICT_EDIT or
/// VERDICT_RACK if that one has now caused too many.
Verdict crash_policy_loss(CrashPolicy* policy, const Loss* loss, EditLosses* edit, uint64_t now_ns);

/// Record that the worker has stopped to play, for a reason of a node.
void crash_policy_stopped_to_play(CrashPolicy* policy);

/// True if the rack has played in the current worker for CRASH_POLICY_TRIAL_NS.
bool crash_policy_has_stood(const CrashPolicy* policy, uint64_t now_ns);

/// Record a loss that a node caused.  `n_crashes`: of the node, so far.  `has_stood`: of the rack.
/// Returns true, and resets the count, if the node has now caused too many.
bool crash_policy_node_loss(uint32_t* n_crashes, bool has_stood);

/// The wait before the next start, ns.  `cured`: the edit or rack that caused the loss has been
/// removed.
uint64_t crash_policy_rest(CrashPolicy* policy, const Loss* loss, bool cured);

#endif
