// SPDX-License-Identifier: GPL-3.0-or-later
// Turns changes of the engine's status into events.

#include "live_watch.h"

#include <stdio.h>
#include <string.h>

static void
log_growth(uint64_t* const logged, const LiveLog* const log, const LiveEvent event,
           const uint64_t count, const char* const what)
{
  if (count > *logged) {
    char text[128];
    snprintf(text, sizeof(text), "%llu %s, %llu in all", (unsigned long long)(count - *logged),
             what, (unsigned long long)count);
    live_log_event(log, event, text);
  }
  *logged = count;
}

bool
live_has_worker(const EngineStatus* const engine)
{
  return engine->worker == WORKER_IN_PROCESS || engine->worker == WORKER_RUNNING;
}

/// Log the loss or return of a worker.  A worker may be lost and replaced between two polls, which
/// the counter shows; one that is replaced because plugins have new code is not lost.  If the note
/// is still the old one, wait for the new one.
static bool
log_worker(LiveWatch* const watch, const LiveLog* const log, const EngineStatus* const engine)
{
  const bool is_there = live_has_worker(engine);
  const bool is_another = engine->worker_restarts > watch->worker_restarts;
  const bool is_renewed = engine->worker_renewals > watch->worker_renewals;
  const bool is_new =
      engine->worker_note[0] && strcmp(engine->worker_note, watch->worker_note) != 0;
  const bool is_lost = watch->had_worker && (!is_there || (is_another && !is_renewed)) && is_new;
  if (is_new) {
    live_log_event(log, is_lost ? EVENT_WORKER_LOST : EVENT_WORKER_NOTE, engine->worker_note);
    memcpy(watch->worker_note, engine->worker_note, sizeof(watch->worker_note));
  }
  if (is_lost) {
    watch->had_worker = false;
  }
  if (is_there && is_another) {
    char text[64];
    snprintf(text, sizeof(text), "process %d has taken over", (int)engine->worker_pid);
    live_log_event(log, EVENT_WORKER_BACK, text);
    watch->worker_restarts = engine->worker_restarts;
    watch->worker_renewals = engine->worker_renewals;
  }
  watch->had_worker = watch->had_worker || is_there;
  if (engine->nodes_quarantined > watch->nodes_quarantined) {
    live_log_event(log, EVENT_NODE_QUARANTINED, engine->quarantine_note);
    watch->nodes_quarantined = engine->nodes_quarantined;
  }
  if (engine->quarantined > watch->quarantined) {
    live_log_event(log, EVENT_RACK_QUARANTINED, engine->quarantine_note);
    watch->quarantined = engine->quarantined;
  }
  return is_lost;
}

bool
live_watch_poll(LiveWatch* const watch, const LiveLog* const log, const EngineStatus* const engine)
{
  const PeriodCounts* const counts = &engine->counts;
  const struct {
    LiveEvent event;
    uint64_t count;
    const char* what;
  } rows[] = {
    { EVENT_BLOCKS_LATE, counts->late + counts->dropped, "blocks late or not submitted" },
    { EVENT_ENGINE_FAULT, counts->faults, "counters of the worker out of range" },
    { EVENT_INPUT_BAD, counts->bad_in, "input samples were NaN or infinite" },
    { EVENT_LOG_DROPPED, log_counts(log->log).dropped, "lines could not be written" },
    { EVENT_NODE_BYPASSED, engine->n_bypassed,
      "nodes repeatedly produce NaN or infinity and are bypassed" },
    { EVENT_NODE_RESET, engine->worker_counts.units_reset,
      "units produced NaN or infinity and were reset" },
    { EVENT_OUTPUT_FEEDBACK, counts->feedback,
      "outputs fed back to an input and were turned down" },
  };
  _Static_assert(ARRAY_LEN(rows) <= LIVE_WATCH_MAX, "one place per row");
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    log_growth(&watch->logged[r], log, rows[r].event, rows[r].count, rows[r].what);
  }
  return log_worker(watch, log, engine);
}
