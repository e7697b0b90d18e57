// SPDX-License-Identifier: GPL-3.0-or-later
/// Counters that only move when something is wrong: an event when one has moved. [main]
#ifndef WARPRACK_TOOLS_LIVE_WATCH_H
#define WARPRACK_TOOLS_LIVE_WATCH_H

#include "live_log.h"

#define LIVE_WATCH_MAX 8U

typedef struct LiveWatch {
  uint64_t told[LIVE_WATCH_MAX]; ///< As they were when they were last looked at
} LiveWatch;

void live_watch_look(LiveWatch* watch, const LiveLog* log, const EngineStatus* engine);

#endif
