// SPDX-License-Identifier: GPL-3.0-or-later
// Starts a live run, and connects its parts by callbacks.

#include "catalogue_file.h"
#include "first_rack.h"
#include "live_private.h"
#include "live_signals.h"
#include "plugin_lines.h"

#include "engine/base/sealed_text.h"
#include "engine/base/time.h"
#include "io/pipewire.h"
#include "plugins/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Format of the trial plan before any driver is open.
#define TRIAL_RATE_HZ 48000.0
#define TRIAL_BLOCK   256U

// ---- callbacks of the driver ----

static void
on_process(void* const context, const float* const* const in, float* const* const out,
           const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  engine_run(((const Live*)context)->engine, in, out, n_frames, wait, midi);
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

void
live_pass_on_note(Live* const live, const LiveEvent event)
{
  if (live->io_note[0]) {
    live_log_event(live->log, event, live->io_note);
  }
  live->io_note[0] = '\0';
}

/// Keep the note until the driver's state shows which event it belongs to.
static void
on_note(void* const context, const char* const text)
{
  Live* const live = context;
  live_pass_on_note(live, EVENT_AUDIO_NOTE);
  snprintf(live->io_note, sizeof(live->io_note), "%s", text);
}

// ---- callbacks of the control thread ----

static void
on_audio(void* const context, ControlAudio* const audio)
{
  Live* const live = context;
  pthread_mutex_lock(&live->audio_lock);
  *audio = live->audio;
  pthread_mutex_unlock(&live->audio_lock);
}

static void
on_program(void* const context, ControlProgram* const program)
{
  Live* const live = context;
  const LogCounts log = log_counts(live->log->log);
  const StateCounts state = live->state ? state_counts(live->state) : (StateCounts){ 0 };
  *program = (ControlProgram){ .log_lines = log.written,
                               .log_left_out = log.left_out,
                               .log_dropped = log.dropped,
                               .watchdog_fed = atomic_load(&live->watchdog_fed),
                               .state_saved = state.saved,
                               .state_failed = state.failed,
                               .starts = live->state ? state_starts(live->state) : 0U,
                               .muted = atomic_load(&live->muted) };
}

static char*
on_list_plugins(void* const context, const char* const* const words, const uint32_t n_words)
{
  (void)context;
  return plugin_lines_list(words, n_words);
}

static char*
on_list_presets(void* const context, const FxInfo* const fx)
{
  (void)context;
  return plugin_lines_presets(fx);
}

static Status
on_describe_plugin(void* const context, const char* const format, const char* const id,
                   char** const text, Error* const error)
{
  (void)context;
  return plugin_lines_print(format, id, text, error);
}

static Status
on_check(void* const context, const char* const text, Error* const error)
{
  return live_checks_want(&((Live*)context)->checks, text, error);
}

static bool
on_checked(void* const context, char** const lines, Error* const why)
{
  return live_checks_take(&((Live*)context)->checks, lines, why);
}

static void
on_scan(void* const context)
{
  live_plugins_want(&((Live*)context)->plugins);
}

static void
on_scanned(void* const context, ControlScan* const scan)
{
  Live* const live = context;
  pthread_mutex_lock(&live->audio_lock);
  *scan = live->scan;
  pthread_mutex_unlock(&live->audio_lock);
}

/// Save the active rack, marked if some of its plugins are missing.  In a project, the session
/// manager decides when it is saved.
static void
on_active_rack(void* const context, const Rack* const rack, char* const rack_text)
{
  if (((const Live*)context)->nsm->has_project) {
    live_nsm_offer(((const Live*)context)->nsm, rack_text);
    return;
  }
  char* const text = rack_text ? first_rack_mark(rack, rack_text) : NULL;
  state_offer(((const Live*)context)->state, text, time_now_ns());
}

static void
on_subscribed(void* const context, char* const subscribers)
{
  if (((const Live*)context)->nsm->has_project) {
    live_nsm_offer_subscribers(((const Live*)context)->nsm, subscribers);
    return;
  }
  state_offer_subscribers(((const Live*)context)->state, subscribers);
}

static void
on_take_ended(void* const context, const char* const file, const char* const reason)
{
  char text[512];
  snprintf(text, sizeof(text), "the take %s ends: %s", file, reason);
  live_log_event(((const Live*)context)->log, EVENT_TAKE_ENDED, text);
}

/// Log all warnings as one event, so that the limit of one event per second keeps them together.
static void
on_warned(void* const context, const char* const lines)
{
  char* const text = calloc(strlen(lines) + 1U, strlen(" / "));
  char* to = text;
  for (const char* at = lines; text && *at; at += strcspn(at, "\n") + 1U) {
    to = stpcpy(to, at == lines ? "" : " / ");
    to = mempcpy(to, at, strcspn(at, "\n"));
  }
  live_log_event(((const Live*)context)->log, EVENT_RACK_WARNING, text ? text : lines);
  free(text);
}

static void
on_latency_changed(void* const context)
{
  atomic_store(&((Live*)context)->latency_changed, true);
}

static void
on_flood(void* const context, const char* const text)
{
  live_log_event(((const Live*)context)->log, EVENT_OSC_FLOOD, text);
}

static void
on_control_note(void* const context, const char* const text)
{
  live_log_event(((const Live*)context)->log, EVENT_OSC_NOTE, text);
}

static void
on_quit(void* const context)
{
  atomic_store(&((Live*)context)->quit, true);
}

// ---- other callbacks ----

static void
on_engine_note(void* const context, const char* const text)
{
  Live* const live = context;
  live_log_event(live->log, EVENT_ENGINE_NOTE, text);
  service_slow_start(live->service, text, time_now_ns());
}

static void
on_state_failed(void* const context, const StateTrouble trouble, const char* const text)
{
  live_log_event(((const Live*)context)->log,
                 trouble == STATE_UNREAD ? EVENT_STATE_REFUSED : EVENT_STATE_UNSAVED, text);
}

// ---- start ----

/// Open the state folder.  If this fails, log the error and run without state.
static void
open_state(Live* const live)
{
  Error error;
  const char* const path = live->config->state;
  if (path && state_open(path, on_state_failed, live, &live->state, &error)) {
    live_log_event(live->log, EVENT_STATE_UNSAVED, error.text);
  }
}

void
live_set_origin(Live* const live, const RackArg* const rack)
{
  char* const text = rack_arg_print(rack);
  if (live->state && text) {
    state_set_origin(live->state, state_origin(text));
  }
  free(text);
}

/// Plan a rack before any driver is open, in the driver's probable format, so that a missing file
/// or wrong channels are reported at once.
static Status
try_rack(void* const context, const Rack* const rack, Error* const error)
{
  const Live* const live = context;
  const IoConfig* const io = &live->config->io;
  const Status status = engine_edit_wait(live->engine, rack, error);
  return status ? status
                : engine_arm(live->engine, io->rate_hz > 0.0 ? io->rate_hz : TRIAL_RATE_HZ,
                             io->block_frames ? io->block_frames : TRIAL_BLOCK, io->n_in, io->n_out,
                             error);
}

/// Copy the catalogue of plugins for the worker process, so that both processes know the same ones:
/// none, unless the first rack has searched for one.
static Status
share_plugins(int* const fd, Error* const error)
{
  size_t n_bytes = sizeof(CATALOGUE_START) - 1U;
  const Catalogue* const catalogue = catalogue_current();
  const char* const text = catalogue ? catalogue_text(catalogue, &n_bytes) : CATALOGUE_START;
  return sealed_text_new(text, n_bytes, fd, error);
}

static Status
new_engine(Live* const live, Error* const error)
{
  int plugins_fd = -1;
  if (live->config->engine.worker_argv && share_plugins(&plugins_fd, error)) {
    return error->status;
  }
  EngineConfig engine = live->config->engine;
  engine.n_in = live->config->io.n_in;
  engine.n_out = live->config->io.n_out;
  engine.files = rack_arg_files(&live->rack);
  engine.worker_root = live->rack.root;
  engine.worker_rack = live->rack.rack;
  engine.note = on_engine_note;
  engine.note_context = live;
  engine.plugins_fd = plugins_fd;
  const Status status = engine_new(&engine, &live->engine, error);
  if (plugins_fd >= 0) {
    close(plugins_fd);
  }
  if (!status) {
    catalogue_share_on_search(live_plugins_share, live->engine); // no search waits for a scan now
  }
  return status;
}

/// Let the saved racks find their plugins, which renews the catalogue if one of them has plugins.
static void
find_saved_plugins(const Live* const live)
{
  static const StateFile files[] = { STATE_PRESENT, STATE_GOOD };
  for (uint32_t f = 0; f < ARRAY_LEN(files) && live->state && !live->config->fresh; ++f) {
    const char* const text = state_text(live->state, files[f]);
    Rack* rack = NULL;
    if (text && !first_rack_parse(text, "", live->config->missing, &rack, NULL)) {
      // first_rack_choose() reports errors
      rack_free(rack);
    }
  }
}

/// Read the RACK of the command line.  Stores an error in `why`; the error ends the run unless the
/// state folder may have another rack.
static Status
read_rack(Live* const live, Error* const why, Error* const error)
{
  const char* const root = live->config->root;
  *why = (Error){ STATUS_OK, "" };
  if (live->nsm->has_project) {
    live_nsm_take_rack(live->nsm, &live->rack);
    rack_arg_hold_root(&live->rack);
    return STATUS_OK;
  }
  const RackReader read = rack_arg_reader(live->config->missing);
  if (rack_arg_try(live->config->rack, read, &live->rack, why) && !live->state) {
    *error = *why;
    return error->status;
  }
  // If the command line's rack cannot be read, the saved rack decides which files may be read.
  const char* const kept = live->state ? state_text(live->state, STATE_PRESENT) : NULL;
  if (live->rack.rack) {
    live_set_origin(live, &live->rack);
  } else if (kept && first_rack_parse(kept, "", live->config->missing, &live->rack.rack, NULL)) {
    live->rack.rack = NULL; // plan_source() will report the error
  }
  const Status status = root ? rack_arg_set_root(&live->rack, root, error) : STATUS_OK;
  rack_arg_hold_root(&live->rack); // one folder for racks and for audio files
  return status;
}

/// Start the engine before a device is opened, so that a wrong RACK is reported first.
static Status
start_engine(Live* const live, Error* const error)
{
  Error why;
  catalogue_file_renew_on_search(on_engine_note, live);
  Status status = read_rack(live, &why, error);
  find_saved_plugins(live);
  if (live_has_end_signal()) {
    return error_set(error, STATUS_WORKER, "a signal ended the program while it started");
  }
  status = status ? status : new_engine(live, error);
  if (status) {
    return status;
  }
  const FirstRack first = { .arg = &live->rack,
                            .unread = why.status ? &why : NULL,
                            .state = live->state,
                            .fresh = live->config->fresh,
                            .missing = live->config->missing,
                            .log = live->log,
                            .plan = try_rack,
                            .context = live };
  const bool is_muted = !first.fresh && first_rack_is_muted(live->state);
  atomic_store(&live->muted, is_muted);
  engine_fade(live->engine, is_muted);
  return first_rack_choose(&first, &live->first, error);
}

/// The subscribers of the run before this one, as text; NULL: none.
static const char*
last_subscribers(const Live* const live)
{
  return live->state ? state_subscribers(live->state) : live->nsm->subscribers;
}

/// True if the run makes MIDI ports, if it plays on JACK: when asked to, or because the first rack
/// has MIDI lines.
static bool
makes_midi(const Live* const live)
{
  const IoDriver* const driver = live->config->driver;
  return (!driver || driver == io_find("jack")) && (live->config->io.midi || live->first->n_midi);
}

/// Start the server.  If the port is in use, and need not be this one, take any port.
static Status
start_server(Live* const live, ControlConfig* const control, Error* const error)
{
  const Status status = control_start(control, live->first, &live->control, error);
  if (status != STATUS_NET || !live->nsm->has_project || !live->config->any_port) {
    return status;
  }
  const uint16_t wanted = control->port;
  control->port = 0;
  const Status again = control_start(control, live->first, &live->control, error);
  if (!again) {
    char text[128];
    snprintf(text, sizeof(text), "OSC port %u is in use; this rack has port %u", wanted,
             control_port(live->control));
    live_log_event(live->log, EVENT_OSC_NOTE, text);
  }
  return again;
}

/// The name of the rack file in the server's folder, which SIGHUP reads again; NULL: there is none.
/// The caller frees it.
static char*
reloaded_name(const Live* const live)
{
  return live->nsm->has_project ? strdup(PROJECT_DOCUMENT)
                                : rack_arg_name(&live->rack, live->config->rack);
}

static Status
start_control(Live* const live, Error* const error)
{
  static const ControlPlugins plugins = { on_list_plugins, on_list_presets, on_describe_plugin,
                                          on_scan, on_scanned };
  static const ControlChecks checks = { on_check, on_checked };
  const bool keeps = live->state || live->nsm->has_project;
  ControlConfig control = { .engine = live->engine,
                            .bind_address = live->config->bind_address,
                            .port = live->config->osc_port,
                            .allow = live->config->osc_allow,
                            .listeners = live->config->listeners,
                            .root = live->rack.root,
                            .context = live,
                            .audio = on_audio,
                            .program = on_program,
                            .plugins = &plugins,
                            .checks = &checks,
                            .active_rack = keeps ? on_active_rack : NULL,
                            .subscribers = last_subscribers(live),
                            .subscribed = keeps ? on_subscribed : NULL,
                            .warned = on_warned,
                            .lacks_midi = !makes_midi(live),
                            .take_ended = on_take_ended,
                            .latency_changed = on_latency_changed,
                            .quit = on_quit,
                            .flood = on_flood,
                            .note = on_control_note };
  Status status = start_server(live, &control, error);
  char* const name = status ? NULL : reloaded_name(live);
  if (name) {
    const Peer server = control_own_peer(live->control);
    const RackRequestKind kind =
        live->config->missing ? RACK_REQUEST_LOAD_BYPASS : RACK_REQUEST_LOAD;
    status = rack_request_open(&live->reload, kind, &server, name, error);
  }
  free(name);
  return status;
}

static Status
open_driver(Live* const live, const IoDriver* const driver, Error* const error)
{
  const IoEvents events = { .context = live,
                            .door = engine_door(live->engine),
                            .process = on_process,
                            .format = on_format,
                            .latency = on_latency,
                            .note = on_note };
  IoConfig config = live->config->io;
  config.midi = makes_midi(live);
  const Status status = io_open(driver, &config, &events, &live->io, error);
  live->driver = status ? NULL : driver;
  return status;
}

/// Append the error of a failed driver, if there is room.
static void
add_tried(char* const tried, const size_t n_bytes, const Error* const error)
{
  const size_t used = strlen(tried);
  snprintf(tried + used, n_bytes - used, "%s; ", error->text);
}

/// Open a driver for `--io auto`.  Refuse a silent one if PipeWire runs, which has sound.
static Status
try_driver(Live* const live, const IoDriver* const driver, Error* const error)
{
  return driver->is_silent && pipewire_runs()
             ? error_set(error, STATUS_AUDIO_IO,
                         "PipeWire runs, so --io auto does not use the driver %s, which has no "
                         "sound; --io %s does",
                         driver->name, driver->name)
             : open_driver(live, driver, error);
}

/// Open the requested driver, or the first that opens; the failed attempts are logged in one line.
static Status
start_io(Live* const live, Error* const error)
{
  if (live->config->driver) {
    return open_driver(live, live->config->driver, error);
  }
  uint32_t n = 0;
  const IoDriver* const* const drivers = io_drivers(&n);
  char tried[2048] = "";
  Status status = error_set(error, STATUS_AUDIO_IO, "this build has no audio driver");
  for (uint32_t i = 0; i < n && status == STATUS_AUDIO_IO; ++i) {
    status = try_driver(live, drivers[i], error);
    if (status == STATUS_AUDIO_IO) {
      add_tried(tried, sizeof(tried), error);
    }
  }
  if (status == STATUS_AUDIO_IO && tried[0]) {
    tried[strlen(tried) - 2U] = '\0';
    return error_set(error, status, "%s", tried);
  }
  if (!status && tried[0]) {
    char note[sizeof(tried) + 64U];
    snprintf(note, sizeof(note), "%splaying on %s", tried, live->driver->name);
    live_log_event(live->log, EVENT_AUDIO_NOTE, note);
  }
  return status;
}

Status
live_start(Live* const live, Error* const error)
{
  open_state(live);
  Status status = start_engine(live, error);
  status = status ? status : start_control(live, error);
  return status ? status : start_io(live, error);
}
