// SPDX-License-Identifier: GPL-3.0-or-later
// Crashes counted, rests doubled.

#include "remote_blame.h"

void
blame_new_rack(Blame* const blame, const uint32_t n_crashes, const uint64_t now_ns)
{
  blame->n_crashes = n_crashes;
  blame->heard_ns = now_ns;
}

void
blame_heard(Blame* const blame, const uint64_t now_ns)
{
  blame->heard_ns = now_ns;
}

Verdict
blame_loss(Blame* const blame, const Loss* const loss, EditLosses* const edit,
           const uint64_t now_ns)
{
  const bool has_stood = blame->heard_ns && now_ns - blame->heard_ns >= BLAME_TRIAL_NS;
  blame->heard_ns = 0;
  if (has_stood) {
    blame->n_crashes = 0;
  }
  if (loss->had_edit) {
    // The kernel, out of memory, kills from outside, too.
    edit->n_losses++;
    edit->n_crashes += !loss->from_outside;
    return edit->n_crashes >= BLAME_CRASHES || edit->n_losses >= BLAME_LOSSES ? VERDICT_EDIT
                                                                              : VERDICT_NONE;
  }
  if (loss->from_outside || !loss->had_rack) {
    return VERDICT_NONE;
  }
  if (has_stood || ++blame->n_crashes < BLAME_CRASHES) {
    return VERDICT_NONE;
  }
  blame->n_crashes = 0;
  return VERDICT_RACK;
}

uint64_t
blame_rest(Blame* const blame, const Loss* const loss, const bool cured)
{
  const uint64_t longest_ns = loss->from_outside ? BLAME_OUTSIDE_REST_NS : BLAME_LONGEST_REST_NS;
  if (loss->was_healthy || cured) {
    blame->rest_ns = 0;
  }
  const uint64_t rest_ns = blame->rest_ns < longest_ns ? blame->rest_ns : longest_ns;
  const uint64_t next_ns = rest_ns ? 2U * rest_ns : BLAME_FIRST_REST_NS;
  blame->rest_ns = next_ns < longest_ns ? next_ns : longest_ns;
  return rest_ns;
}
