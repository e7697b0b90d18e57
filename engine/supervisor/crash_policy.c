// SPDX-License-Identifier: GPL-3.0-or-later
// Counts crashes and computes the wait before the next start.

#include "crash_policy.h"

#include "engine/base/backoff.h"

void
crash_policy_new_rack(CrashPolicy* const policy, const uint32_t n_crashes, const uint64_t now_ns)
{
  policy->n_crashes = n_crashes;
  policy->plays_since_ns = now_ns;
}

void
crash_policy_began_to_play(CrashPolicy* const policy, const uint64_t now_ns)
{
  policy->plays_since_ns = now_ns;
}

void
crash_policy_stopped_to_play(CrashPolicy* const policy)
{
  policy->plays_since_ns = 0;
}

bool
crash_policy_has_stood(const CrashPolicy* const policy, const uint64_t now_ns)
{
  return policy->plays_since_ns && now_ns - policy->plays_since_ns >= CRASH_POLICY_TRIAL_NS;
}

bool
crash_policy_node_loss(uint32_t* const n_crashes, const bool has_stood)
{
  *n_crashes = has_stood ? 1U : *n_crashes + 1U;
  if (*n_crashes < CRASH_POLICY_CRASHES) {
    return false;
  }
  *n_crashes = 0;
  return true;
}

Verdict
crash_policy_loss(CrashPolicy* const policy, const Loss* const loss, EditLosses* const edit,
                  const uint64_t now_ns)
{
  const bool has_stood = crash_policy_has_stood(policy, now_ns);
  policy->plays_since_ns = 0;
  if (has_stood) {
    policy->n_crashes = 0;
  }
  if (loss->had_edit) {
    // Losses count as well as crashes, because a kill by the kernel for lack of memory counts as
    // one from outside.
    edit->n_losses++;
    edit->n_crashes += !loss->from_outside;
    return edit->n_crashes >= CRASH_POLICY_CRASHES || edit->n_losses >= CRASH_POLICY_LOSSES
               ? VERDICT_EDIT
               : VERDICT_NONE;
  }
  if (loss->from_outside || !loss->had_rack) {
    return VERDICT_NONE;
  }
  if (has_stood || ++policy->n_crashes < CRASH_POLICY_CRASHES) {
    return VERDICT_NONE;
  }
  policy->n_crashes = 0;
  return VERDICT_RACK;
}

uint64_t
crash_policy_rest(CrashPolicy* const policy, const Loss* const loss, const bool cured)
{
  const uint64_t longest_ns =
      loss->from_outside ? CRASH_POLICY_OUTSIDE_REST_NS : CRASH_POLICY_LONGEST_REST_NS;
  if (loss->was_healthy || cured) {
    policy->rest_ns = 0;
  }
  const uint64_t rest_ns = policy->rest_ns < longest_ns ? policy->rest_ns : longest_ns;
  policy->rest_ns = backoff_next(rest_ns, CRASH_POLICY_FIRST_REST_NS, longest_ns);
  return rest_ns;
}
