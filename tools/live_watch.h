// SPDX-License-Identifier: GPL-3.0-or-later
/// Logs an event for each new problem and each recovery that the engine's counters and states show.
/// [main]
#ifndef WARPRACK_TOOLS_LIVE_WATCH_H
#define WARPRACK_TOOLS_LIVE_WATCH_H

#include "live_log.h"

#define LIVE_WATCH_MAX 8U

typedef struct LiveWatch {
  uint64_t logged[LIVE_WATCH_MAX]; ///< Counters at the last poll
  uint64_t worker_restarts, worker_renewals, quarantined, nodes_quarantined;
  bool had_worker; ///< A worker was there since the last report of a lost worker
  char worker_note[sizeof(((EngineStatus*)NULL)->worker_note)]; ///< Note of the last report
} LiveWatch;

/// True while a worker accepts blocks, in this process or another.
bool live_has_worker(const EngineStatus* engine);

/// Log the changes.  Returns true if a worker was lost since the last call.
bool live_watch_poll(LiveWatch* watch, const LiveLog* log, const EngineStatus* engine);

#endif
