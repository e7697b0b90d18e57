// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Batches that wait for their time, in the order of their times; equal times in order of arrival.

   What changes sound is handed to the engine SCHEDULE_LEAD_NS ahead, stamped with its frame, so
   that it is exact however late this thread wakes; the document follows when the time has come.
*/
#ifndef WARPRACK_CONTROL_SCHEDULE_H
#define WARPRACK_CONTROL_SCHEDULE_H

#include "control/net/message.h"
#include "engine/base/time.h"

#include <stdint.h>

#define SCHEDULE_LEAD_NS     (100U * NS_PER_MS) // longer than a thread is ever kept waiting
#define SCHEDULE_MAX_BATCHES 2048U // of one sender as many as there is room left: 1,024 alone
#define SCHEDULE_MAX_BYTES   (4U << 20U)

typedef struct Schedule {
  Batch* first;
  uint32_t n_batches; ///< Batches that wait for their time, or after it for their sender's turn
  size_t n_bytes;     ///< Memory of these batches
} Schedule;

/// Keep a batch until its due_ns.  STATUS_LIMIT when too much waits, or as much of its sender as
/// there is room left; the caller keeps it then.
NODISCARD Status schedule_add(Schedule* schedule, Batch* batch, Error* error);

/// The first batch that is due by `now_ns`, or NULL.  It stays in the schedule.
Batch* schedule_due(const Schedule* schedule, uint64_t now_ns);

/// Whether something may be done for a peer now.
typedef bool (*ScheduleMay)(void* context, const Peer* peer);

/// The first batch within the lead of `now_ns` whose `frame` is not set yet and whose sender `may`,
/// or NULL.  It stays in the schedule.
Batch* schedule_ahead(const Schedule* schedule, uint64_t now_ns, ScheduleMay may, void* context);

/// When to look again; UINT64_MAX: never.
uint64_t schedule_wake_ns(const Schedule* schedule);

/// Remove a batch that schedule_due() or schedule_ahead() returned.  It counts in n_batches and
/// n_bytes, and so against their limits, until schedule_release().
void schedule_take(Schedule* schedule, Batch* batch);

/// Stop counting a batch, because it runs.  Does nothing for a batch that is not counted.
void schedule_release(Schedule* schedule, Batch* batch);

void schedule_clear(Schedule* schedule);

#endif
