// SPDX-License-Identifier: GPL-3.0-or-later
/**
   When a worker is lost: who is to blame, and how long to wait before the next one.  Plain
   arithmetic on times that are given; no threads.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_CRASH_POLICY_H
#define WARPRACK_ENGINE_SUPERVISOR_CRASH_POLICY_H

#include "engine/base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define CRASH_POLICY_FIRST_REST_NS   NS_PER_S
#define CRASH_POLICY_LONGEST_REST_NS (60U * NS_PER_S)
#define CRASH_POLICY_OUTSIDE_REST_NS NS_PER_S // the longest after a kill from outside
#define CRASH_POLICY_CRASHES         2U
#define CRASH_POLICY_LOSSES          3U // of workers with the same edit, crashes and kills together
#define CRASH_POLICY_TRIAL_NS        (10U * NS_PER_S) // heard for longer, a rack is not to blame

/// How a worker was lost.
typedef struct Loss {
  bool from_outside; ///< By somebody's signal
  bool was_healthy;  ///< It had played
  bool had_edit;     ///< An edit was on its way
  bool had_rack;     ///< It had been given the rack
} Loss;

typedef enum Verdict { VERDICT_NONE, VERDICT_EDIT, VERDICT_RACK } Verdict;

/// What an edit has cost so far.
typedef struct EditLosses {
  uint32_t n_losses;  ///< Workers that were lost while they planned it
  uint32_t n_crashes; ///< Of these, by their own doing
} EditLosses;

typedef struct CrashPolicy {
  uint64_t rest_ns;   ///< Before the next start, when this one fails as well
  uint64_t heard_ns;  ///< When the rack was first heard of the present worker; 0: not yet
  uint32_t n_crashes; ///< Of workers that had the present rack, in a row
} CrashPolicy;

/// Another rack is heard, which has crashed so many workers as an edit.
void crash_policy_new_rack(CrashPolicy* policy, uint32_t n_crashes, uint64_t now_ns);

/// A worker has begun to be heard.
void crash_policy_heard(CrashPolicy* policy, uint64_t now_ns);

/// A worker is lost.  `edit` counts those of the edit on its way.  Returns whether that was once
/// too often for the edit or for the rack.
Verdict crash_policy_loss(CrashPolicy* policy, const Loss* loss, EditLosses* edit, uint64_t now_ns);

/// For how long to wait before the next start. `cured`: what was to blame has been taken away.
uint64_t crash_policy_rest(CrashPolicy* policy, const Loss* loss, bool cured);

#endif
