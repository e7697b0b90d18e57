// SPDX-License-Identifier: GPL-3.0-or-later
/// What is wrong or well again, from counters and states of the engine: an event for each change.
/// [main]
#ifndef WARPRACK_TOOLS_LIVE_WATCH_H
#define WARPRACK_TOOLS_LIVE_WATCH_H

#include "live_log.h"

#define LIVE_WATCH_MAX 8U

typedef struct LiveWatch {
  uint64_t told[LIVE_WATCH_MAX]; ///< Counters as they were when they were last looked at
  uint64_t worker_restarts, quarantined;
  bool had_worker; ///< Since the worker was lost that was told last
  char worker_note[sizeof(((EngineStatus*)NULL)->worker_note)]; ///< That was told last
} LiveWatch;

/// True while there is a worker that takes blocks, in this process or another.
bool live_has_worker(const EngineStatus* engine);

/// Tell what has changed; true when a worker has been lost since the last look.
bool live_watch_look(LiveWatch* watch, const LiveLog* log, const EngineStatus* engine);

#endif
