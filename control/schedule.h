// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Bundles that wait for their time, in the order of their times; equal times in order of arrival.

   What changes sound is handed to the engine SCHEDULE_LEAD_NS ahead, stamped with its frame, so
   that it is exact however late this thread wakes; the document follows when the time has come.
*/
#ifndef WARPRACK_CONTROL_SCHEDULE_H
#define WARPRACK_CONTROL_SCHEDULE_H

#include "control/net/message.h"
#include "engine/base/time.h"

#include <stdint.h>

#define SCHEDULE_LEAD_NS     (100U * NS_PER_MS) // longer than a thread is ever kept waiting
#define SCHEDULE_MAX_BUNDLES 2048U // of one sender as many as there is room left: 1,024 alone
#define SCHEDULE_MAX_BYTES   (4U << 20U)

typedef struct Schedule {
  Bundle* first;
  uint32_t n_bundles; ///< Bundles that wait for their time, or after it for their sender's turn
  size_t n_bytes;     ///< Memory of these bundles
} Schedule;

/// Keep a bundle until its due_ns.  STATUS_LIMIT when too much waits, or as much of its sender as
/// there is room left; the caller keeps it then.
NODISCARD Status schedule_add(Schedule* schedule, Bundle* bundle, Error* error);

/// The first bundle that is due by `now_ns`, or NULL.  It stays in the schedule.
Bundle* schedule_due(const Schedule* schedule, uint64_t now_ns);

/// Whether something may be done for a peer now.
typedef bool (*ScheduleMay)(void* context, const Peer* peer);

/// The first bundle within the lead of `now_ns` whose `frame` is not set yet and whose sender
/// `may`, or NULL.  It stays in the schedule.
Bundle* schedule_ahead(const Schedule* schedule, uint64_t now_ns, ScheduleMay may, void* context);

/// When to look again; UINT64_MAX: never.
uint64_t schedule_wake_ns(const Schedule* schedule);

/// Remove a bundle that schedule_due() or schedule_ahead() returned.  It counts in n_bundles and
/// n_bytes, and so against their limits, until schedule_release().
void schedule_take(Schedule* schedule, Bundle* bundle);

/// Stop counting a bundle, because it runs.  Does nothing for a bundle that is not counted.
void schedule_release(Schedule* schedule, Bundle* bundle);

void schedule_clear(Schedule* schedule);

#endif
