// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Bundles that wait for their time, in the order of their times; bundles with equal times in order
   of arrival.

   Changes are passed to the engine SCHEDULE_LEAD_NS before their time, with their frame, so that
   they apply at the exact frame even if this thread wakes up late.  The document changes when the
   time has come.
*/
#ifndef WARPRACK_CONTROL_SCHEDULE_H
#define WARPRACK_CONTROL_SCHEDULE_H

#include "control/net/message.h"
#include "engine/base/time.h"

#include <stdint.h>

#define SCHEDULE_LEAD_NS     (100U * NS_PER_MS) // longer than any delay of this thread
#define SCHEDULE_MAX_BUNDLES 2048U              // at most 1,024 of one sender, see share.h
#define SCHEDULE_MAX_BYTES   (4U << 20U)

typedef struct Schedule {
  Bundle* first;
  uint32_t n_bundles; ///< Bundles that wait for their time, or after it for their sender's turn
  size_t n_bytes;     ///< Memory of these bundles
} Schedule;

/// Keep a bundle until its due_ns, and take ownership of it.  STATUS_LIMIT, without taking
/// ownership, if share_check() fails.
NODISCARD Status schedule_add(Schedule* schedule, Bundle* bundle, Error* error);

/// The first bundle that is due by `now_ns`, or NULL.  It stays in the schedule.
Bundle* schedule_due(const Schedule* schedule, uint64_t now_ns);

/// True if the caller may do work for a peer now.
typedef bool (*ScheduleMay)(void* context, const Peer* peer);

/// The first bundle that is due within SCHEDULE_LEAD_NS of `now_ns`, whose `frame` is not set yet,
/// and for whose sender `may` returns true; or NULL.  It stays in the schedule.
Bundle* schedule_ahead(const Schedule* schedule, uint64_t now_ns, ScheduleMay may, void* context);

/// Time of the next check; UINT64_MAX: never.
uint64_t schedule_wake_ns(const Schedule* schedule);

/// Remove a bundle that schedule_due() or schedule_ahead() returned, and pass it to the caller.  It
/// counts against the limits until schedule_release().
void schedule_take(Schedule* schedule, Bundle* bundle);

/// Stop counting a bundle, because it runs.  Does nothing for a bundle that is not counted.
void schedule_release(Schedule* schedule, Bundle* bundle);

void schedule_clear(Schedule* schedule);

#endif
