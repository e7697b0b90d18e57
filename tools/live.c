// SPDX-License-Identifier: GPL-3.0-or-later
// A live run from start to end.

#include "live.h"

#include "live_log.h"
#include "rack_arg.h"
#include "reload.h"

#include "../control/control.h"
#include "../engine/rt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S      1000000000ULL
#define POLL_NS       50000000ULL  // what is asked for by other threads is done within 50 ms
#define FADE_LIMIT_NS 100000000ULL // a stop takes no longer than this and two periods
#define FADE_STEP_NS  2000000ULL
#define STATUS_NS     NS_PER_S

// For the trial before any driver is open.
#define TRIAL_RATE_HZ 48000.0
#define TRIAL_BLOCK   256U

typedef struct Live {
  const LiveConfig* config;
  LiveLog log;
  sigset_t signals; ///< Taken by sigtimedwait() in the main loop only
  RackArg rack;
  Engine* engine;
  Control* control;
  const IoDriver* driver;
  Io* io;
  Reload reload;               ///< Open when the rack came from a file
  atomic_bool quit;            ///< [control] writes, [main] reads
  atomic_bool latency_changed; ///< [any] sets, [main] clears
  pthread_mutex_t audio_lock;  ///< Guards `audio`: [main] writes, [control] reads
  ControlAudio audio;
  char backend_note[640]; ///< As it was said last
} Live;

// ---- what the driver calls ----

static void
on_process(void* const context, const float* const* const in, float* const* const out,
           const uint32_t n_frames, const bool wait)
{
  engine_process(((Live*)context)->engine, in, out, n_frames, wait);
}

static Status
on_format(void* const context, const double rate_hz, const uint32_t block_frames,
          Error* const error)
{
  const Live* const live = context;
  return engine_arm(live->engine, rate_hz, block_frames, live->config->io.n_in,
                    live->config->io.n_out, error);
}

static uint32_t
on_latency(void* const context)
{
  return engine_latency(((const Live*)context)->engine);
}

static void
on_note(void* const context, const char* const text)
{
  live_log_note(&((Live*)context)->log, text);
}

// ---- what the control calls ----

static void
on_audio(void* const context, ControlAudio* const audio)
{
  Live* const live = context;
  pthread_mutex_lock(&live->audio_lock);
  *audio = live->audio;
  pthread_mutex_unlock(&live->audio_lock);
}

static void
on_latency_changed(void* const context)
{
  atomic_store(&((Live*)context)->latency_changed, true);
}

static void
on_quit(void* const context)
{
  atomic_store(&((Live*)context)->quit, true);
}

// ---- start ----

/// From here on the signals wait until the main loop takes them; threads inherit that.
static void
block_signals(Live* const live)
{
  sigemptyset(&live->signals);
  sigaddset(&live->signals, SIGHUP);
  sigaddset(&live->signals, SIGINT);
  sigaddset(&live->signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &live->signals, NULL);
  signal(SIGPIPE, SIG_IGN); // who reads our lines may go away, the sound does not
}

/// Plan the rack before any driver is open, in the format that the driver is likely to have: a file
/// that is missing or channels that do not fit are said at once.
static Status
try_rack(const Live* const live, Error* const error)
{
  const IoConfig* const io = &live->config->io;
  const Status status = engine_edit_wait(live->engine, live->rack.rack, error);
  return status ? status
                : engine_arm(live->engine, io->rate_hz > 0.0 ? io->rate_hz : TRIAL_RATE_HZ,
                             io->block_frames ? io->block_frames : TRIAL_BLOCK, io->n_in, io->n_out,
                             error);
}

static Status
start_engine(Live* const live, Error* const error)
{
  EngineConfig engine = live->config->engine;
  engine.n_in = live->config->io.n_in;
  engine.n_out = live->config->io.n_out;
  engine.load_file = rack_arg_load_file;
  engine.free_file = rack_arg_free_file;
  engine.file_context = &live->rack;
  const Status status = engine_new(&engine, &live->engine, error);
  return status ? status : try_rack(live, error);
}

static Status
start_control(Live* const live, Error* const error)
{
  const ControlConfig control = { .engine = live->engine,
                                  .bind_address = live->config->bind_address,
                                  .port = live->config->osc_port,
                                  .allow = live->config->osc_allow,
                                  .root = live->rack.root,
                                  .context = live,
                                  .audio = on_audio,
                                  .latency_changed = on_latency_changed,
                                  .quit = on_quit };
  Status status = control_start(&control, live->rack.rack, &live->control, error);
  char* const name = status ? NULL : rack_arg_name(&live->rack, live->config->rack);
  if (name) {
    status = reload_open(&live->reload, live->config->bind_address, control_port(live->control),
                         name, error);
  }
  free(name);
  return status;
}

static Status
open_driver(Live* const live, const IoDriver* const driver, Error* const error)
{
  const IoEvents events = { .context = live,
                            .process = on_process,
                            .format = on_format,
                            .latency = on_latency,
                            .note = on_note };
  const Status status = io_open(driver, &live->config->io, &events, &live->io, error);
  live->driver = status ? NULL : driver;
  return status;
}

/// The driver asked for, or the first that opens; what was tried in vain is said.
static Status
start_io(Live* const live, Error* const error)
{
  if (live->config->driver) {
    return open_driver(live, live->config->driver, error);
  }
  uint32_t n = 0;
  const IoDriver* const* const drivers = io_drivers(&n);
  Status status = error_set(error, STATUS_AUDIO_IO, "this build has no audio driver");
  for (uint32_t i = 0; i < n; ++i) {
    status = open_driver(live, drivers[i], error);
    if (status != STATUS_AUDIO_IO) {
      return status;
    }
    if (i + 1U < n) {
      char note[sizeof(error->text) + 64U];
      snprintf(note, sizeof(note), "%s; trying %s", error->text, drivers[i + 1U]->name);
      live_log_note(&live->log, note);
    }
  }
  return status;
}

/// The engine first, so that a bad rack opens nothing; then the port, so that a busy one opens no
/// audio.
static Status
start(Live* const live, Error* const error)
{
  Status status = start_engine(live, error);
  if (!status) {
    status = start_control(live, error);
  }
  return status ? status : start_io(live, error);
}

// ---- running ----

static const char* const state_names[] = {
  [IO_STATE_WAITING] = "waiting",
  [IO_STATE_RUNNING] = "running",
  [IO_STATE_ENDED] = "ended",
};

/// Let the driver do its main-thread work, and keep its state for the control's answers.
static IoStatus
poll_io(Live* const live)
{
  io_poll(live->io);
  if (atomic_exchange(&live->latency_changed, false)) {
    io_latency_changed(live->io);
  }
  IoStatus io;
  io_status(live->io, &io);
  pthread_mutex_lock(&live->audio_lock);
  ControlAudio* const audio = &live->audio;
  snprintf(audio->driver, sizeof(audio->driver), "%s", live->driver->name);
  snprintf(audio->state, sizeof(audio->state), "%s", state_names[io.state]);
  snprintf(audio->device, sizeof(audio->device), "%s", io.device);
  audio->xruns = io.xruns;
  audio->reconnects = io.reconnects;
  audio->freewheeling = io.freewheeling;
  pthread_mutex_unlock(&live->audio_lock);
  return io;
}

static void
say_running(Live* const live, const IoStatus* const io)
{
  EngineStatus engine;
  engine_status(live->engine, &engine);
  live_log_running(&live->log, live->driver->name, io, &engine, control_port(live->control));
  if (engine.realtime_note[0]) {
    live_log_note(&live->log, engine.realtime_note);
  }
}

/// What runs the effects, when there is something new to say about it.
static void
say_backend(Live* const live)
{
  EngineStatus engine;
  engine_status(live->engine, &engine);
  if (strcmp(engine.backend_note, live->backend_note) != 0) {
    memcpy(live->backend_note, engine.backend_note, sizeof(live->backend_note));
    live_log_note(&live->log, live->backend_note);
  }
}

static void
say_status(Live* const live, const IoStatus* const io)
{
  EngineStatus engine;
  engine_status(live->engine, &engine);
  live_log_status(&live->log, io, &engine);
}

/// A signal, or 0 after the time.
static int
wait_for_signal(const Live* const live, const uint64_t timeout_ns)
{
  const struct timespec timeout = { .tv_nsec = (long)timeout_ns };
  const int taken = sigtimedwait(&live->signals, NULL, &timeout);
  return taken > 0 ? taken : 0;
}

static void
reload_rack(Live* const live)
{
  Error error;
  if (live->reload.socket < 0) {
    live_log_note(&live->log, "SIGHUP: there is no rack file in the server's folder to read");
  } else if (reload_ask(&live->reload, &error)) {
    live_log_note(&live->log, error.text);
  }
}

static void
hear_reload(Live* const live)
{
  char text[1024];
  if (reload_answer(&live->reload, text, sizeof(text))) {
    live_log_note(&live->log, text);
  }
}

/// Until something ends the run; returns what, in words.
static const char*
main_loop(Live* const live)
{
  const uint64_t began_ns = rt_now_ns();
  const double duration_s = live->config->io.duration_s;
  uint64_t status_ns = began_ns + STATUS_NS;
  for (;;) {
    const int taken = wait_for_signal(live, POLL_NS);
    if (taken == SIGINT || taken == SIGTERM) {
      return taken == SIGINT ? "interrupted" : "terminated";
    }
    if (taken == SIGHUP) {
      reload_rack(live);
    }
    hear_reload(live);
    const IoStatus io = poll_io(live);
    say_backend(live);
    if (atomic_load(&live->quit)) {
      return "asked by /server/quit";
    }
    const uint64_t now_ns = rt_now_ns();
    const bool is_over = !live->config->io.fast && duration_s > 0.0 &&
                         (double)(now_ns - began_ns) >= duration_s * (double)NS_PER_S;
    if (io.state == IO_STATE_ENDED || is_over) {
      return "duration is over";
    }
    if (now_ns >= status_ns) {
      status_ns = now_ns + STATUS_NS;
      say_status(live, &io);
    }
  }
}

// ---- end ----

/// A second signal ends the process at once, by its default action.
static void
release_signals(const Live* const live)
{
  pthread_sigmask(SIG_UNBLOCK, &live->signals, NULL);
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
  const uint64_t began_ns = rt_now_ns();
  engine_fade(live->engine, true);
  while (!engine_is_silent(live->engine) && rt_now_ns() - began_ns < limit_ns) {
    nanosleep(&(struct timespec){ .tv_nsec = (long)FADE_STEP_NS }, NULL);
  }
}

static void
run(Live* const live)
{
  const IoStatus io = poll_io(live);
  say_running(live, &io);
  say_backend(live);
  const char* const why = main_loop(live);
  release_signals(live);
  fade_out(live);
  IoStatus last;
  io_status(live->io, &last);
  EngineStatus engine;
  engine_status(live->engine, &engine);
  live_log_stopped(&live->log, why, &last, &engine);
}

Status
live_run(const LiveConfig* const config, Error* const error)
{
  Live live = { .config = config,
                .log = live_log_new(config->json, config->verbose),
                .reload = { .socket = -1 },
                .audio_lock = PTHREAD_MUTEX_INITIALIZER,
                .audio.state = "opening" };
  Status status = rack_arg_read(config->rack, &live.rack, error);
  if (!status && config->root) {
    status = rack_arg_set_root(&live.rack, config->root, error);
  }
  if (status) {
    rack_arg_clear(&live.rack);
    return status;
  }
  block_signals(&live);
  status = start(&live, error);
  if (!status) {
    run(&live);
  }
  const Status closed = io_close(live.io);
  if (closed && !status) { // a note said why
    status = error_set(error, closed, "the recording is not complete");
  }
  reload_close(&live.reload);
  control_stop(live.control);
  engine_free(live.engine);
  rack_arg_clear(&live.rack);
  return status;
}
