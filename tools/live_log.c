// SPDX-License-Identifier: GPL-3.0-or-later
// The log of a live run, as text or as JSON lines.

#include "live_log.h"

#include "commands.h"
#include "engine_args.h"

#include "engine/base/time.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <unistd.h>

#define CLOSE_MS  500U // wait for a reader that takes no lines
#define ONCE_S    1U
#define SELDOM_S  10U // for conditions that may last for hours
#define N_CLASSES (N_LIVE_EVENTS + 1U)
#define FAILED    N_LIVE_EVENTS // the class of the last line

static const struct {
  const char* name;
  int level;
  uint64_t interval_s;
} events[N_CLASSES] = {
  [EVENT_AUDIO_BACK] = { "audio.back", LOG_NOTICE, ONCE_S },
  [EVENT_AUDIO_LOST] = { "audio.lost", LOG_WARNING, ONCE_S },
  [EVENT_AUDIO_NOTE] = { "audio.note", LOG_NOTICE, ONCE_S },
  [EVENT_BACKEND_CHOSEN] = { "backend.chosen", LOG_NOTICE, ONCE_S },
  [EVENT_BLOCKS_LATE] = { "blocks.late", LOG_WARNING, SELDOM_S },
  [EVENT_ENGINE_FAULT] = { "engine.fault", LOG_ERR, SELDOM_S },
  [EVENT_ENGINE_NOTE] = { "engine.note", LOG_INFO, ONCE_S },
  [EVENT_INPUT_BAD] = { "input.bad", LOG_WARNING, SELDOM_S },
  [EVENT_LOG_DROPPED] = { "log.dropped", LOG_WARNING, SELDOM_S },
  [EVENT_NODE_BYPASSED] = { "node.bypassed", LOG_ERR, SELDOM_S },
  [EVENT_NODE_QUARANTINED] = { "node.quarantined", LOG_ERR, ONCE_S },
  [EVENT_NODE_RESET] = { "node.reset", LOG_WARNING, SELDOM_S },
  [EVENT_NSM_LOST] = { "nsm.lost", LOG_WARNING, ONCE_S },
  [EVENT_NSM_NOTE] = { "nsm.note", LOG_NOTICE, 0 }, // one for each file, at the start
  [EVENT_NSM_REFUSED] = { "nsm.refused", LOG_WARNING, ONCE_S },
  [EVENT_OSC_FLOOD] = { "osc.flood", LOG_WARNING, ONCE_S },
  [EVENT_OSC_NOTE] = { "osc.note", LOG_WARNING, ONCE_S },
  [EVENT_OUTPUT_FEEDBACK] = { "output.feedback", LOG_WARNING, SELDOM_S },
  [EVENT_PLUGINS_FAILED] = { "plugins.failed", LOG_WARNING, ONCE_S },
  [EVENT_PLUGINS_SCANNED] = { "plugins.scanned", LOG_NOTICE, ONCE_S },
  [EVENT_RACK_QUARANTINED] = { "rack.quarantined", LOG_ERR, ONCE_S },
  [EVENT_RACK_REFUSED] = { "rack.refused", LOG_WARNING, ONCE_S },
  [EVENT_RACK_RELOADED] = { "rack.reloaded", LOG_NOTICE, ONCE_S },
  [EVENT_RACK_WARNING] = { "rack.warning", LOG_WARNING, ONCE_S },
  [EVENT_REALTIME_MISSING] = { "realtime.missing", LOG_WARNING, ONCE_S },
  [EVENT_RUNNING] = { "running", LOG_INFO, ONCE_S },
  [EVENT_SERVICE_LOST] = { "service.lost", LOG_WARNING, ONCE_S },
  [EVENT_STATE_LOOP] = { "state.loop", LOG_ERR, ONCE_S },
  [EVENT_STATE_NOTE] = { "state.note", LOG_NOTICE, ONCE_S },
  [EVENT_STATE_REFUSED] = { "state.refused", LOG_WARNING, 0 }, // one for each file, at the start
  [EVENT_STATE_RESTORED] = { "state.restored", LOG_NOTICE, ONCE_S },
  [EVENT_STATE_UNSAVED] = { "state.unsaved", LOG_ERR, SELDOM_S },
  [EVENT_STATUS] = { "status", LOG_INFO, 0 },
  [EVENT_STOPPED] = { "stopped", LOG_INFO, ONCE_S },
  [EVENT_TAKE_ENDED] = { "take.ended", LOG_WARNING, ONCE_S },
  [EVENT_WORKER_BACK] = { "worker.back", LOG_NOTICE, ONCE_S },
  [EVENT_WORKER_LOST] = { "worker.lost", LOG_ERR, ONCE_S },
  [EVENT_WORKER_NOTE] = { "worker.note", LOG_WARNING, ONCE_S },
  [FAILED] = { "failed", LOG_ERR, ONCE_S },
};

static const char* const level_words[] = {
  [LOG_ERR] = "error", [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice", [LOG_INFO] = "info"
};

LiveEventInfo
live_event_info(const LiveEvent event)
{
  return (LiveEventInfo){ events[event].name, level_words[events[event].level],
                          events[event].interval_s };
}

Status
live_log_open(LiveLog* const log, const bool json, const bool verbose, Error* const error)
{
  *log = (LiveLog){ .json = json,
                    .verbose = verbose,
                    .on_terminal = isatty(STDERR_FILENO) == 1,
                    .began_ns = time_now_ns() };
  return log_open(STDOUT_FILENO, STDERR_FILENO, &log->log, error);
}

void
live_log_tee(LiveLog* const log, const LiveLogTee tee, void* const context)
{
  log->tee = tee;
  log->tee_context = context;
}

void
live_log_close(LiveLog* const log)
{
  log_close(log->log, CLOSE_MS);
  log->log = NULL;
}

// ---- lines ----

static void
write_event(const LiveLog* const log, const uint32_t event, const LogForm form, const bool to_err,
            char* const text)
{
  const LogClass class = { event, events[event].level, events[event].interval_s * NS_PER_S };
  log_say(log->log, &class, form, to_err, text);
}

/// Log a line of text.
static void
    PRINTF_LIKE(5, 6) say_text(const LiveLog* const log, const uint32_t event, const LogForm form,
                               const bool to_err, const char* const format, ...)
{
  char* text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) {
    text = NULL; // counts as dropped
  }
  va_end(args);
  write_event(log, event, form, to_err, text);
}

/// Log an event as JSON: the members of every event, then the members of `more`.  Takes ownership
/// of `more`.
static void
write_json(const LiveLog* const log, const uint32_t event, json_t* const more)
{
  const uint64_t uptime_ms = (time_now_ns() - log->began_ns) / NS_PER_MS;
  json_t* const object =
      json_pack("{ss ss sf}", "event", events[event].name, "level",
                level_words[events[event].level], "uptime_s", (double)uptime_ms * 1e-3);
  const bool is_whole = object && more && !json_object_update(object, more);
  write_event(log, event, LOG_JSON, false,
              is_whole ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL);
  json_decref(object);
  json_decref(more);
}

// ---- events ----

#define COUNTER_WORDS_BYTES 256U

/// The counters for both status lines, with the names of /server/status.
static const char*
counter_words(const IoStatus* const io, const EngineStatus* const engine,
              char words[const COUNTER_WORDS_BYTES])
{
  const PeriodCounts* const counts = &engine->counts;
  snprintf(words, COUNTER_WORDS_BYTES,
           "load %.1f %% (p99 %.1f, max %.1f), late %llu, dropped %llu, dry %llu, xruns %llu, "
           "clipped %llu",
           100.0 * engine->load_p50, 100.0 * engine->load_p99, 100.0 * engine->load_max,
           (unsigned long long)counts->late, (unsigned long long)counts->dropped,
           (unsigned long long)counts->dry, (unsigned long long)io->xruns,
           (unsigned long long)counts->clipped);
  return words;
}

static void
put_counters(json_t* const json, const CounterInfo* const infos, const size_t n,
             const uint64_t* const counts)
{
  for (size_t i = 0; i < n; ++i) {
    if (infos[i].in_log) {
      json_object_set_new(json, infos[i].name, json_integer((json_int_t)counts[i]));
    }
  }
}

static json_t*
counters_json(const IoStatus* const io, const EngineStatus* const engine)
{
  json_t* const json = json_pack(
      "{sI sI sI sI sf sf sf ss}", "xruns", (json_int_t)io->xruns, "overlaps",
      (json_int_t)io->overlaps, "reconnects", (json_int_t)io->reconnects, "worker_restarts",
      (json_int_t)engine->worker_restarts, "load_p50", engine->load_p50, "load_p99",
      engine->load_p99, "load_max", engine->load_max, "backend", engine->backend);
  put_counters(json, period_counters, N_PERIOD_COUNTERS, engine->counts.of);
  put_counters(json, worker_counters, N_WORKER_COUNTERS, engine->worker_counts.of);
  return json;
}

void
live_log_running(const LiveLog* const log, const char* const driver, const IoStatus* const io,
                 const EngineStatus* const engine, const uint16_t osc_port)
{
  if (log->json) {
    write_json(log, EVENT_RUNNING,
               json_pack("{ss so ss sf si si si si si ss ss si}", "driver", driver, "device",
                         command_json_text(io->device), "state",
                         io->state == IO_STATE_WAITING ? "waiting" : "running", "rate_hz",
                         io->rate_hz, "block_frames", (int)io->block_frames, "depth",
                         (int)engine->depth, "latency_frames", (int)engine->latency_frames,
                         "inputs", (int)engine->n_in, "outputs", (int)engine->n_out, "backend",
                         engine->backend, "gpu", engine->device, "osc_port", (int)osc_port));
    return;
  }
  char words[BACKEND_WORDS_BYTES];
  if (io->state == IO_STATE_WAITING) {
    say_text(log, EVENT_RUNNING, LOG_TEXT, false,
             "running, and waiting for %s: %u in, %u out, effects on %s, OSC port %u", driver,
             engine->n_in, engine->n_out, backend_words(engine->backend, engine->device, words),
             osc_port);
    return;
  }
  say_text(log, EVENT_RUNNING, LOG_TEXT, false,
           "running on %s (%s): %.0f Hz, blocks of %u frames, %u in, %u out, "
           "latency %u frames (%.2f ms), effects on %s, OSC port %u",
           driver, io->device, io->rate_hz, io->block_frames, engine->n_in, engine->n_out,
           engine->latency_frames, 1e3 * engine->latency_frames / io->rate_hz,
           backend_words(engine->backend, engine->device, words), osc_port);
}

void
live_log_event(const LiveLog* const log, const LiveEvent event, const char* const text)
{
  if (log->json) {
    write_json(log, event, json_pack("{so}", "text", command_json_text(text)));
  } else {
    say_text(log, event, LOG_TEXT, true, PROGRAM_NAME " run: %s: %s", events[event].name, text);
  }
  if (log->tee) {
    log->tee(log->tee_context, event, text);
  }
}

void
live_log_status(const LiveLog* const log, const IoStatus* const io,
                const EngineStatus* const engine)
{
  if (log->json) {
    write_json(log, EVENT_STATUS, counters_json(io, engine));
    return;
  }
  if (!log->verbose) {
    return;
  }
  const char* const state = io->state == IO_STATE_RUNNING ? "" : "waiting for audio; ";
  char counters[COUNTER_WORDS_BYTES];
  char words[BACKEND_WORDS_BYTES];
  say_text(log, EVENT_STATUS, log->on_terminal ? LOG_REWRITE : LOG_TEXT, true,
           "%s%s, %u nodes on %s, plan %llu", state, counter_words(io, engine, counters),
           engine->n_nodes, backend_words(engine->backend, "", words),
           (unsigned long long)engine->worker_counts.plans);
}

void
live_log_stopped(const LiveLog* const log, const char* const why, const IoStatus* const io,
                 const EngineStatus* const engine)
{
  if (log->json) {
    json_t* const members = counters_json(io, engine);
    if (members) {
      json_object_set_new(members, "why", json_string(why));
    }
    write_json(log, EVENT_STOPPED, members);
    return;
  }
  char counters[COUNTER_WORDS_BYTES];
  say_text(log, EVENT_STOPPED, LOG_TEXT, false, "stopped (%s): blocks %llu, %s", why,
           (unsigned long long)engine->counts.blocks, counter_words(io, engine, counters));
}

void
live_log_failed(const LiveLog* const log, const Error* const error)
{
  say_text(log, FAILED, LOG_TEXT, true, PROGRAM_NAME " run: %s",
           error->text[0] ? error->text : status_text(error->status));
}
