// SPDX-License-Identifier: GPL-3.0-or-later
// A live run from start to end.

#include "live.h"

#include "commands.h"
#include "live_private.h"
#include "live_signals.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS       (50U * NS_PER_MS)  // longest delay of requests of other threads
#define FADE_LIMIT_NS (100U * NS_PER_MS) // a stop takes no longer than this and two periods
#define FADE_STEP_NS  (2U * NS_PER_MS)
#define STATUS_NS     NS_PER_S
// Time after a signal until the process ends, although a library hangs.
#define END_LIMIT_NS (1900U * NS_PER_MS)
#define STATE_MS     1000U // time for the disk at the end

/// Prepare this process for signals.
static void
block_signals(void)
{
  live_signals_block();
  signal(SIGPIPE, SIG_IGN); // the run continues without a reader of the log
  signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is an error of write()
}

// ---- running ----

static const char* const state_names[] = {
  [IO_STATE_WAITING] = "waiting",
  [IO_STATE_RUNNING] = "running",
  [IO_STATE_ENDED] = "ended",
};

/// Log the driver's note from this poll as the event that fits the new state.
static void
log_audio(Live* const live, const IoState state)
{
  if (live->io_state == IO_STATE_RUNNING && state == IO_STATE_WAITING) {
    live_pass_on_note(live, EVENT_AUDIO_LOST);
  } else if (live->io_state == IO_STATE_WAITING && state == IO_STATE_RUNNING) {
    live_pass_on_note(live, EVENT_AUDIO_BACK);
  } else {
    live_pass_on_note(live, EVENT_AUDIO_NOTE);
  }
  live->io_state = state;
}

/// Call the driver's io_poll(), and store its state for the control thread.
static IoStatus
poll_io(Live* const live)
{
  io_poll(live->io);
  if (atomic_exchange(&live->latency_changed, false)) {
    io_latency_changed(live->io);
  }
  IoStatus io;
  io_status(live->io, &io);
  log_audio(live, io.state);
  pthread_mutex_lock(&live->audio_lock);
  ControlAudio* const audio = &live->audio;
  snprintf(audio->driver, sizeof(audio->driver), "%s", live->driver->name);
  snprintf(audio->state, sizeof(audio->state), "%s", state_names[io.state]);
  snprintf(audio->device, sizeof(audio->device), "%s", io.device);
  audio->xruns = io.xruns;
  audio->overlaps = io.overlaps;
  audio->reconnects = io.reconnects;
  audio->hang_s = io.hang_s;
  audio->freewheeling = io.freewheeling;
  audio->transport_bpm = io.transport_bpm;
  pthread_mutex_unlock(&live->audio_lock);
  return io;
}

static VitalSigns
vital_signs(const Live* const live, const IoStatus* const io, const EngineStatus* const engine)
{
  return (VitalSigns){ .has_audio = io->state == IO_STATE_RUNNING,
                       .has_worker = live_has_worker(engine),
                       .callback_blocks = engine->counts.blocks,
                       .worker_blocks = engine->worker_counts.worker_blocks,
                       .control_rounds = control_rounds(live->control) };
}

static void
log_running(Live* const live, const IoStatus* const io, const EngineStatus* const engine)
{
  live_log_running(live->log, live->driver->name, io, engine, control_port(live->control));
  if (engine->realtime_note[0]) {
    live_log_event(live->log, EVENT_REALTIME_MISSING, engine->realtime_note);
  }
}

/// Log the backends if they have changed.  A new worker has no report at first.
static void
log_backend(Live* const live, const EngineStatus* const engine)
{
  if (engine->backend_note[0] && strcmp(engine->backend_note, live->backend_note) != 0) {
    memcpy(live->backend_note, engine->backend_note, sizeof(live->backend_note));
    live_log_event(live->log, EVENT_BACKEND_CHOSEN, live->backend_note);
  }
}

/// Log problems with the fallbacks if they have changed.
static void
log_late(Live* const live, const EngineStatus* const engine)
{
  if (engine->late_note[0] && strcmp(engine->late_note, live->late_note) != 0) {
    memcpy(live->late_note, engine->late_note, sizeof(live->late_note));
    live_log_event(live->log, EVENT_RACK_WARNING, live->late_note);
  }
}

static void
log_service(Live* const live)
{
  Error why;
  if (service_is_lost(live->service, &why)) {
    live_log_event(live->log, EVENT_SERVICE_LOST, why.text);
  }
}

/// Run the checks that are due at least four times a second.
static void
check_all(Live* const live, const IoStatus* const io, const uint64_t now_ns)
{
  EngineStatus engine;
  engine_status(live->engine, &engine);
  log_backend(live, &engine);
  log_late(live, &engine);
  const bool has_lost_worker = live_watch_poll(&live->watch, live->log, &engine);
  if (has_lost_worker && live->state) {
    state_shake(live->state, now_ns);
  }
  if (has_lost_worker && live_plugins_are_used(live->engine)) {
    live_plugins_want(&live->plugins); // the next worker loads them as they are now
  }
  const VitalSigns signs = vital_signs(live, io, &engine);
  service_poll(live->service, &signs, live->driver->name, io, &engine, now_ns);
  atomic_store(&live->watchdog_fed, live->service->n_fed);
  log_service(live);
  if (atomic_load(&live->muted) && now_ns >= live->muted_until_ns) {
    atomic_store(&live->muted, false);
    engine_fade(live->engine, false);
    live_log_event(live->log, EVENT_STATE_NOTE,
                   "the rack has run long enough; the output is no longer muted");
  }
}

static void
log_status(Live* const live, const IoStatus* const io)
{
  EngineStatus engine;
  engine_status(live->engine, &engine);
  live_log_status(live->log, io, &engine);
}

/// Wait for a signal; 0 after the timeout.
static int
wait_for_signal(const uint64_t timeout_ns)
{
  const struct timespec timeout = time_spec(timeout_ns);
  const sigset_t signals = live_signals();
  const int taken = sigtimedwait(&signals, NULL, &timeout);
  return taken > 0 ? taken : 0;
}

/// SIGHUP: find the plugins again, then read the rack file, which may name new ones.
static void
request_reload(Live* const live, const uint64_t now_ns)
{
  const bool has_file = live->reload.name[0];
  live_plugins_want_for_reload(&live->plugins);
  if (!has_file) {
    live_log_event(live->log, EVENT_RACK_REFUSED,
                   "SIGHUP: there is no rack file in the server's folder to read");
    return;
  }
  if (!rack_request_is_open(&live->reload)) {
    service_reloading(live->service, now_ns);
  }
  rack_request_want(&live->reload);
}

static void
poll_checks(Live* const live, const uint64_t now_ns)
{
  if (!live_checks_are_busy(&live->checks)) {
    return;
  }
  EngineStatus status;
  EngineConfig engine = live->config->engine;
  engine_status(live->engine, &status);
  engine.n_in = live->config->io.n_in;
  engine.n_out = live->config->io.n_out;
  const CheckRequest request = { .root = live->rack.root,
                                 .engine = &engine,
                                 .rate_hz = status.rate_hz,
                                 .block_frames = status.block_frames };
  live_checks_poll(&live->checks, &request, now_ns);
}

static void
poll_plugins(Live* const live, const uint64_t now_ns)
{
  PluginsNews news;
  if (live_plugins_poll(&live->plugins, live->engine, now_ns, &news)) {
    pthread_mutex_lock(&live->audio_lock);
    live->scan = (ControlScan){ .n_ended = live->scan.n_ended + 1U,
                                .n_plugins = news.n_plugins,
                                .n_unusable = news.n_unusable,
                                .n_failed = news.n_failed };
    snprintf(live->scan.text, sizeof(live->scan.text), "%s", news.text);
    pthread_mutex_unlock(&live->audio_lock);
    live_log_event(live->log, news.has_failed ? EVENT_PLUGINS_FAILED : EVENT_PLUGINS_SCANNED,
                   news.text);
  }
}

/// Set the file's new content as the origin of the state after a reload, so that a restart resumes
/// the saved rack and not the file.
static void
renew_origin(Live* const live)
{
  RackArg again;
  if (live->state &&
      !rack_arg_read(live->config->rack, rack_arg_reader(live->config->missing), &again, NULL)) {
    live_set_origin(live, &again);
    rack_arg_clear(&again);
  }
}

static void
poll_reload(Live* const live, const uint64_t now_ns)
{
  char text[1024];
  if (live_plugins_delay_reload(&live->plugins)) {
    return; // the rack may name plugins that the scan finds
  }
  const RackRequestNews news = rack_request_poll(&live->reload, now_ns, text, sizeof(text));
  if (news == RACK_REQUEST_NOTHING) {
    return;
  }
  live_log_event(live->log, news == RACK_REQUEST_DONE ? EVENT_RACK_RELOADED : EVENT_RACK_REFUSED,
                 text);
  if (news == RACK_REQUEST_DONE) {
    renew_origin(live);
  }
  if (!rack_request_is_open(&live->reload)) {
    service_reloaded(live->service);
  }
}

/// Run until the end.  Returns the reason.
static const char*
main_loop(Live* const live)
{
  const uint64_t began_ns = time_now_ns();
  const double duration_s = live->config->io.duration_s;
  uint64_t status_ns = began_ns + STATUS_NS;
  for (;;) {
    const int taken = wait_for_signal(POLL_NS);
    if (taken == SIGINT || taken == SIGTERM) {
      return taken == SIGINT ? "interrupted" : "terminated";
    }
    const uint64_t now_ns = time_now_ns();
    if (taken == SIGHUP) {
      request_reload(live, now_ns);
    }
    poll_plugins(live, now_ns);
    poll_checks(live, now_ns);
    poll_reload(live, now_ns);
    const IoStatus io = poll_io(live);
    check_all(live, &io, now_ns);
    if (atomic_load(&live->quit)) {
      return "asked by /server/quit";
    }
    if (live_nsm_poll(live->nsm, now_ns)) {
      return "another project is being opened";
    }
    const bool is_over = !live->config->io.fast && duration_s > 0.0 &&
                         (double)(now_ns - began_ns) >= duration_s * (double)NS_PER_S;
    if (io.state == IO_STATE_ENDED || is_over) {
      return "duration is over";
    }
    if (now_ns >= status_ns) {
      status_ns = now_ns + STATUS_NS;
      log_status(live, &io);
    }
  }
}

// ---- end ----

/// Let a second SIGINT end the process at once by its default action, and ignore SIGTERM and
/// SIGHUP.
static void
release_signals(void)
{
  const sigset_t signals = live_signals();
  signal(SIGHUP, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

static void*
end_at_last(void* const context)
{
  (void)context;
  time_sleep(END_LIMIT_NS);
  _exit(EXIT_SUCCESS);
}

/// Limit the time of the end, because audio servers, disks and drivers may hang when they are
/// closed.  A run that records has no limit.
static void
limit_end(const Live* const live)
{
  pthread_t thread;
  if (!live->config->io.record && !rt_thread_start("end", end_at_last, NULL, &thread, NULL)) {
    pthread_detach(thread);
  }
}

static void
fade_out(const Live* const live)
{
  IoStatus io;
  io_status(live->io, &io);
  if (io.state != IO_STATE_RUNNING) {
    return;
  }
  const uint64_t limit_ns =
      FADE_LIMIT_NS + (uint64_t)(2.0 * (double)NS_PER_S * io.block_frames / io.rate_hz);
  const uint64_t began_ns = time_now_ns();
  engine_fade(live->engine, true);
  while (!engine_is_silent(live->engine) && time_now_ns() - began_ns < limit_ns) {
    time_sleep(FADE_STEP_NS);
  }
}

static void
run(Live* const live)
{
  IoStatus io;
  io_status(live->io, &io);
  live->io_state = io.state; // not a change to log
  io = poll_io(live);
  EngineStatus engine;
  engine_status(live->engine, &engine);
  const uint64_t now_ns = time_now_ns();
  live->muted_until_ns = now_ns + STATE_LIVED_S * NS_PER_S;
  log_running(live, &io, &engine);
  const VitalSigns signs = vital_signs(live, &io, &engine);
  service_ready(live->service, &signs, now_ns);
  const char* const why = main_loop(live);
  if (!live->nsm->is_switching) {
    release_signals();
    limit_end(live);
    service_stopping(live->service, why);
  }
  fade_out(live);
  IoStatus last;
  io_status(live->io, &last);
  engine_status(live->engine, &engine);
  live_log_stopped(live->log, why, &last, &engine);
}

static Status
start_and_run(Live* const live, Error* const error)
{
  Status status = live_start(live, error);
  if (!status && live->state) {
    status = state_run(live->state, error);
  }
  status = status ? status : live_nsm_started(live->nsm, live->control, error);
  if (!status) {
    run(live);
  }
  // Save racks first, then close the parts that may hang.
  live_plugins_stop(&live->plugins);
  rack_request_close(&live->reload);
  control_stop(live->control);
  live_checks_stop(&live->checks);
  // A bad rack or file ended the run.
  const bool in_order = status != STATUS_BAD_RACK && status != STATUS_FILE;
  state_close(live->state, in_order, STATE_MS);
  const Status closed = io_close(live->io);
  if (closed && !status) { // a note had the reason
    status = error_set(error, closed, "the recording is not complete");
  }
  live_pass_on_note(live, EVENT_AUDIO_NOTE);
  catalogue_share_on_search(NULL, NULL);
  engine_free(live->engine);
  rack_free(live->first);
  rack_arg_clear(&live->rack);
  return status;
}

/// One run: from the start until it ends, or until another project follows.
static Status
run_once(const LiveConfig* const given, LiveLog* const log, Service* const service,
         LiveNsm* const nsm, Error* const error)
{
  LiveConfig config = *given;
  if (nsm->has_project) {
    config.io.client_name = nsm->at.client;
    config.state = NULL;
  }
  if (nsm->port) {
    config.osc_port = nsm->port;
  }
  Live live = { .config = &config,
                .log = log,
                .service = service,
                .nsm = nsm,
                .reload = { .socket = -1 },
                .audio_lock = PTHREAD_MUTEX_INITIALIZER,
                .audio.state = "opening" };
  live_checks_init(&live.checks);
  const Status status = start_and_run(&live, error);
  pthread_mutex_destroy(&live.audio_lock);
  return status;
}

/// Run one project after the other; without a session manager, there is one run.
static Status
run_all(const LiveConfig* const config, LiveLog* const log, Error* const error)
{
  Service service;
  LiveNsm nsm;
  Status status = STATUS_OK;
  if (service_open(&service, error)) {
    live_log_event(log, EVENT_SERVICE_LOST, error->text);
  }
  live_nsm_begin(&nsm, config->nsm_url, config->rack, config->missing, log);
  do {
    status = run_once(config, log, &service, &nsm, error);
  } while (live_nsm_ended(&nsm, status, error));
  live_nsm_end(&nsm);
  service_close(&service);
  return status;
}

Status
live_run(const LiveConfig* const config)
{
  LiveLog log;
  Error error;
  block_signals();
  if (config->engine.worker_argv) {
    rt_limit_stacks();
  }
  if (live_log_open(&log, config->json, config->verbose, &error)) {
    fprintf(stderr, PROGRAM_NAME " run: %s\n", error.text);
    return error.status;
  }
  Status status = run_all(config, &log, &error);
  if (status && live_has_end_signal()) {
    live_log_event(&log, EVENT_ENGINE_NOTE,
                   "a signal ended the program before the start was complete");
    status = STATUS_OK;
  } else if (status) {
    live_log_failed(&log, &error);
  }
  live_log_close(&log);
  return status;
}
