// SPDX-License-Identifier: GPL-3.0-or-later
// The fallbacks of the active rack: chosen from the responses of a copy of the rack, which is
// measured before the rack first plays, and after edits.

#include "fallback_choose.h"
#include "worker_private.h"

#include "engine/base/time.h"

#define FIRST_NS    NS_PER_S // limit of a measurement before the rack first plays
#define POSTPONED_S 0.5      // of audio: limit for postponing measurements
#define OVERDUE_NS  NS_PER_S // longest wait of an edit for an overdue measurement

/// True if the copy of a rack that is measured would open plugins.
static bool
has_plugins(const Rack* const rack)
{
  bool has = false;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    has = has || rack->nodes[n].fx->origin;
  }
  return has;
}

bool
worker_outdate_fallbacks(Worker* const worker, const Rack* const rack, const uint32_t n_out)
{
  fallback_outdate(n_out, &worker->measured);
  if (!worker->must_measure) {
    worker->outdated_at = atomic_load(&worker->player.next_frame);
  }
  const bool is_any_auto =
      fallback_choose(rack, worker->config.on_late, &worker->measured, &worker->fallbacks);
  worker->must_measure = is_any_auto || !has_plugins(rack);
  return is_any_auto;
}

/// Measure a rack, and choose the fallbacks of its outputs.  If the request is given up, there is
/// no result, and `must_measure` stays set. [planning_lock held]
static void
choose_fallbacks(Worker* const worker, const PlanRequest* const request)
{
  FallbackProbe* probe = NULL;
  Error error = { STATUS_OK, "" };
  if (fallback_probe_new(request, &probe, &error)) {
    // The `auto` outputs are silent, and EngineStatus::late_note reports it.
  }
  bool is_measured = false;
  fx_wait(FX_WAIT_THREAD, true);
  while (!is_measured &&
         !(request->is_cancelled && request->is_cancelled(request->cancel_context))) {
    is_measured = !probe || fallback_probe_run(probe);
  }
  fx_wait(FX_WAIT_THREAD, false);
  if (is_measured) {
    fallback_measure(probe, request->format->n_out, &worker->measured);
    (void)fallback_choose(request->rack, worker->config.on_late, &worker->measured,
                          &worker->fallbacks);
    worker->must_measure = false;
  }
  fallback_probe_free(probe);
}

static bool
is_past(void* const until_ns)
{
  return time_now_ns() >= *(const uint64_t*)until_ns;
}

void
worker_choose_first_fallbacks(Worker* const worker, const PlanRequest* const request)
{
  const Format* const format = request->format;
  if (format->offline) {
    return;
  }
  if (worker_outdate_fallbacks(worker, request->rack, format->n_out)) {
    uint64_t until_ns = time_now_ns() + FIRST_NS;
    PlanRequest limited = *request;
    limited.is_cancelled = is_past;
    limited.cancel_context = &until_ns;
    choose_fallbacks(worker, &limited);
  }
}

bool
worker_measurement_is_overdue(const Worker* const worker)
{
  const uint64_t n_frames = atomic_load(&worker->player.next_frame) - worker->outdated_at;
  return worker->must_measure && !worker->takes_long &&
         (double)n_frames >= POSTPONED_S * worker->format.rate_hz;
}

typedef struct Measurement {
  Worker* worker;
  uint64_t gives_way_ns; ///< From this time on, an edit ends the measurement
} Measurement;

/// PlanRequest::is_cancelled of a measurement: true while a call that arms, disarms or ends the
/// worker waits, or from gives_way_ns on, while an edit waits.  Meanwhile nodes are renewed.
/// [planning_lock held]
static bool
ends_measurement(void* const cancel_context)
{
  const Measurement* const measurement = cancel_context;
  Worker* const worker = measurement->worker;
  worker_renew_nodes(worker, worker->player.plan);
  pthread_mutex_lock(&worker->edits_lock);
  const bool has_edit = worker->edit != NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return (has_edit && time_now_ns() >= measurement->gives_way_ns) || atomic_load(&worker->n_ending);
}

void
worker_measure_fallbacks(Worker* const worker)
{
  const bool was_overdue = worker_measurement_is_overdue(worker);
  Measurement measurement = { worker, was_overdue ? time_now_ns() + OVERDUE_NS : 0U };
  PlanRequest request = worker_request(worker, worker->rack);
  request.is_cancelled = ends_measurement;
  request.cancel_context = &measurement;
  choose_fallbacks(worker, &request);
  const bool gave_way = was_overdue && time_now_ns() >= measurement.gives_way_ns;
  worker->takes_long = worker->must_measure && (worker->takes_long || gave_way);
  file_cache_clear(&worker->loader);
  if (!worker->must_measure) {
    worker_publish_facts(worker);
  }
}
