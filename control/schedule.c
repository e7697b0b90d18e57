// SPDX-License-Identifier: GPL-3.0-or-later
// A sorted list: it is bounded, and most batches arrive in the order of their times.

#include "schedule.h"

#include "control/net/share.h"

Status
schedule_add(Schedule* const schedule, Batch* const batch, Error* const error)
{
  const Share max = { SCHEDULE_MAX_BATCHES, SCHEDULE_MAX_BYTES };
  const Share used = { schedule->n_batches, schedule->n_bytes };
  Error full;
  if (share_check(&max, &used, schedule->first, batch, "bundles already wait for their time",
                  &full) != STATUS_OK) {
    return error_set(error, STATUS_LIMIT, "%.200s; send bundles closer to their time", full.text);
  }
  Batch** at = &schedule->first;
  while (*at && (*at)->due_ns <= batch->due_ns) {
    at = &(*at)->next;
  }
  batch->next = *at;
  *at = batch;
  batch->is_scheduled = true;
  ++schedule->n_batches;
  schedule->n_bytes += batch->n_bytes;
  return STATUS_OK;
}

void
schedule_take(Schedule* const schedule, Batch* const batch)
{
  Batch** at = &schedule->first;
  while (*at != batch) {
    at = &(*at)->next;
  }
  *at = batch->next;
  batch->next = NULL;
}

void
schedule_release(Schedule* const schedule, Batch* const batch)
{
  if (batch->is_scheduled) {
    batch->is_scheduled = false;
    --schedule->n_batches;
    schedule->n_bytes -= batch->n_bytes;
  }
}

Batch*
schedule_due(const Schedule* const schedule, const uint64_t now_ns)
{
  Batch* const batch = schedule->first;
  return batch && batch->due_ns <= now_ns ? batch : NULL;
}

Batch*
schedule_ahead(const Schedule* const schedule, const uint64_t now_ns, const ScheduleMay may,
               void* const context)
{
  for (Batch* batch = schedule->first; batch; batch = batch->next) {
    if (batch->due_ns > now_ns + SCHEDULE_LEAD_NS) {
      return NULL;
    }
    if (!batch->frame && may(context, &batch->peer)) {
      return batch;
    }
  }
  return NULL;
}

uint64_t
schedule_wake_ns(const Schedule* const schedule)
{
  uint64_t wake_ns = schedule->first ? schedule->first->due_ns : UINT64_MAX;
  for (const Batch* batch = schedule->first; batch; batch = batch->next) {
    if (!batch->frame) { // the first one that is still to be handed over
      const uint64_t ahead_ns = batch->due_ns - SCHEDULE_LEAD_NS;
      return ahead_ns < wake_ns ? ahead_ns : wake_ns;
    }
  }
  return wake_ns;
}

void
schedule_clear(Schedule* const schedule)
{
  for (Batch* batch = NULL; (batch = schedule_due(schedule, UINT64_MAX));) {
    schedule_take(schedule, batch);
    batch_free(batch);
  }
}
