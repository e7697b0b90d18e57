// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a live run says: readable lines (results on stdout, notes and the status line on stderr), or
   with --json one object per line on stdout, each with its "event".  [main] only.
*/
#ifndef WARPRACK_TOOLS_LIVE_LOG_H
#define WARPRACK_TOOLS_LIVE_LOG_H

#include "../engine/engine.h"
#include "../io/io.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct LiveLog {
  bool json;
  bool verbose;     ///< A status line every second
  bool on_terminal; ///< stderr is one: the status line is rewritten in place
  bool line_open;   ///< ... and is there now
} LiveLog;

LiveLog live_log_new(bool json, bool verbose);

/// The one line that says what runs: driver, device, rate, block, latency, channels, OSC port.
void live_log_running(LiveLog* log, const char* driver, const IoStatus* io,
                      const EngineStatus* engine, uint16_t osc_port);

/// Something happened: a server lost, a driver tried, a privilege missing.
void live_log_note(LiveLog* log, const char* text);

/// Counters and load, now.
void live_log_status(LiveLog* log, const IoStatus* io, const EngineStatus* engine);

/// The end and why, with the counters of the whole run.
void
live_log_stopped(LiveLog* log, const char* why, const IoStatus* io, const EngineStatus* engine);

#endif
