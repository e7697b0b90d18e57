// SPDX-License-Identifier: GPL-3.0-or-later
// A sorted list.  This is fast enough, because its length is limited and most bundles arrive in the
// order of their times.

#include "schedule.h"

#include "control/net/share.h"

Status
schedule_add(Schedule* const schedule, Bundle* const bundle, Error* const error)
{
  const Share max = { SCHEDULE_MAX_BUNDLES, SCHEDULE_MAX_BYTES };
  const Share used = { schedule->n_bundles, schedule->n_bytes };
  Error full;
  if (share_check(&max, &used, schedule->first, bundle, "bundles already wait for their time",
                  &full) != STATUS_OK) {
    return error_set(error, STATUS_LIMIT, "%.200s; send bundles closer to their time", full.text);
  }
  Bundle** at = &schedule->first;
  while (*at && (*at)->due_ns <= bundle->due_ns) {
    at = &(*at)->next;
  }
  bundle->next = *at;
  *at = bundle;
  bundle->is_scheduled = true;
  ++schedule->n_bundles;
  schedule->n_bytes += bundle->n_bytes;
  return STATUS_OK;
}

void
schedule_take(Schedule* const schedule, Bundle* const bundle)
{
  Bundle** at = &schedule->first;
  while (*at != bundle) {
    at = &(*at)->next;
  }
  *at = bundle->next;
  bundle->next = NULL;
}

void
schedule_release(Schedule* const schedule, Bundle* const bundle)
{
  if (bundle->is_scheduled) {
    bundle->is_scheduled = false;
    --schedule->n_bundles;
    schedule->n_bytes -= bundle->n_bytes;
  }
}

Bundle*
schedule_due(const Schedule* const schedule, const uint64_t now_ns)
{
  Bundle* const bundle = schedule->first;
  return bundle && bundle->due_ns <= now_ns ? bundle : NULL;
}

Bundle*
schedule_ahead(const Schedule* const schedule, const uint64_t now_ns, const ScheduleMay may,
               void* const context)
{
  for (Bundle* bundle = schedule->first; bundle; bundle = bundle->next) {
    if (bundle->due_ns > now_ns + SCHEDULE_LEAD_NS) {
      return NULL;
    }
    if (!bundle->frame && may(context, &bundle->peer)) {
      return bundle;
    }
  }
  return NULL;
}

uint64_t
schedule_wake_ns(const Schedule* const schedule)
{
  uint64_t wake_ns = schedule->first ? schedule->first->due_ns : UINT64_MAX;
  for (const Bundle* bundle = schedule->first; bundle; bundle = bundle->next) {
    if (!bundle->frame) { // the first bundle that schedule_ahead() will return
      const uint64_t ahead_ns = bundle->due_ns - SCHEDULE_LEAD_NS;
      return ahead_ns < wake_ns ? ahead_ns : wake_ns;
    }
  }
  return wake_ns;
}

void
schedule_clear(Schedule* const schedule)
{
  for (Bundle* bundle = NULL; (bundle = schedule_due(schedule, UINT64_MAX));) {
    schedule_take(schedule, bundle);
    bundle_free(bundle);
  }
}
