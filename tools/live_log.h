// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The log of a live run.  Each line is an event with a stable name: as text ("warprack run:
   audio.lost: …" on stderr) or, with --json, as an object on stdout.  No function in this header
   waits for the reader of the log; see log.h.
*/
#ifndef WARPRACK_TOOLS_LIVE_LOG_H
#define WARPRACK_TOOLS_LIVE_LOG_H

#include "log.h"

#include "engine/engine.h"
#include "io/io.h"

#include <stdbool.h>
#include <stdint.h>

/// The names are in live_log.c, their meaning in control/OPERATING.md.
typedef enum LiveEvent {
  EVENT_AUDIO_BACK,
  EVENT_AUDIO_LOST,
  EVENT_AUDIO_NOTE,
  EVENT_BACKEND_CHOSEN,
  EVENT_BLOCKS_LATE,
  EVENT_ENGINE_FAULT,
  EVENT_ENGINE_NOTE,
  EVENT_INPUT_BAD,
  EVENT_LOG_DROPPED,
  EVENT_NODE_BYPASSED,
  EVENT_NODE_QUARANTINED,
  EVENT_NODE_RESET,
  EVENT_NSM_LOST,
  EVENT_NSM_NOTE,
  EVENT_NSM_REFUSED,
  EVENT_OSC_FLOOD,
  EVENT_OSC_NOTE,
  EVENT_OUTPUT_FEEDBACK,
  EVENT_PLUGINS_FAILED,
  EVENT_PLUGINS_SCANNED,
  EVENT_RACK_QUARANTINED,
  EVENT_RACK_REFUSED,
  EVENT_RACK_RELOADED,
  EVENT_RACK_WARNING,
  EVENT_REALTIME_MISSING,
  EVENT_RUNNING,
  EVENT_SERVICE_LOST,
  EVENT_STATE_LOOP,
  EVENT_STATE_NOTE,
  EVENT_STATE_REFUSED,
  EVENT_STATE_RESTORED,
  EVENT_STATE_UNSAVED,
  EVENT_STATUS,
  EVENT_STOPPED,
  EVENT_TAKE_ENDED,
  EVENT_WORKER_BACK,
  EVENT_WORKER_LOST,
  EVENT_WORKER_NOTE,
  N_LIVE_EVENTS
} LiveEvent;

/// Receives each event with a text. [any, not rt]
typedef void (*LiveLogTee)(void* context, LiveEvent event, const char* text);

typedef struct LiveLog {
  Log* log;
  LiveLogTee tee; ///< NULL: none
  void* tee_context;
  bool json;
  bool verbose;     ///< A status line every second
  bool on_terminal; ///< stderr is a terminal: the status line is rewritten in place
  uint64_t began_ns;
} LiveLog;

/// The name of an event, the text of its level, and the minimum interval of its lines in s.
typedef struct LiveEventInfo {
  const char* name;
  const char* level;
  uint64_t interval_s;
} LiveEventInfo;

LiveEventInfo live_event_info(LiveEvent event); // [any]

/// Begin to log to stdout and stderr. [main]
NODISCARD Status live_log_open(LiveLog* log, bool json, bool verbose, Error* error);

/// Pass events on, besides logging them; NULL: no longer.  No other thread may log meanwhile.
/// [main]
void live_log_tee(LiveLog* log, LiveLogTee tee, void* context);

/// Write the queued lines, for at most half a second. [main]
void live_log_close(LiveLog* log);

/// Log the configuration in one line: driver, device, rate, block, latency, channels, OSC port.
/// [main]
void live_log_running(const LiveLog* log, const char* driver, const IoStatus* io,
                      const EngineStatus* engine, uint16_t osc_port);

/// Log an event, for example a lost server or a missing privilege. [any, not rt]
void live_log_event(const LiveLog* log, LiveEvent event, const char* text);

/// Log the current counters and load. [main]
void live_log_status(const LiveLog* log, const IoStatus* io, const EngineStatus* engine);

/// Log the end and its reason, with the counters of the whole run. [main]
void live_log_stopped(const LiveLog* log, const char* why, const IoStatus* io,
                      const EngineStatus* engine);

/// Log the error of a failed run; with --json also to stderr. [main]
void live_log_failed(const LiveLog* log, const Error* error);

#endif
