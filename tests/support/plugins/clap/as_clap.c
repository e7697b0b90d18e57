// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Makes a CLAP file of a table of fixtures.

  CLAP_FIXTURE="crash init" in the environment lets test.fault crash in that call, "hang init" lets
  it hang.  -DFIXTURE_MAJOR=0 makes a file for a version of CLAP before 1, -DFIXTURE_REFUSES one
  that fails to initialise.
*/

#include "clap_fixture.h"

#include <clap/entry.h>
#include <clap/ext/audio-ports.h>
#include <clap/ext/latency.h>
#include <clap/ext/note-ports.h>
#include <clap/ext/params.h>
#include <clap/ext/posix-fd-support.h>
#include <clap/ext/render.h>
#include <clap/ext/state.h>
#include <clap/ext/thread-check.h>
#include <clap/ext/timer-support.h>
#include <clap/factory/plugin-factory.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FIXTURE_REFUSES
#define IS_ACCEPTING 0
#else
#define IS_ACCEPTING 1
#endif

// How often the file was initialised: it must be once.
extern int fixture_n_inits;
__attribute__((visibility("default"))) int fixture_n_inits;

/// Crash or hang in a call, if the environment asks for it.
static void
fault(const Fixture* const fixture, const char* const call)
{
  const char* const wanted = getenv("CLAP_FIXTURE");
  if (!wanted || strcmp(fixture->kind->descriptor.id, "test.fault") != 0 ||
      strcmp(strchr(wanted, ' ') + 1, call) != 0) {
    return;
  }
  while (wanted[0] == 'h') {
    sleep(1);
  }
  abort();
}

static bool
is_main(const Fixture* const fixture)
{
  const clap_host_thread_check_t* const check =
      fixture->host->get_extension(fixture->host, CLAP_EXT_THREAD_CHECK);
  return check->is_main_thread(fixture->host) && !check->is_audio_thread(fixture->host);
}

static bool
is_audio(const Fixture* const fixture)
{
  const clap_host_thread_check_t* const check =
      fixture->host->get_extension(fixture->host, CLAP_EXT_THREAD_CHECK);
  return check->is_audio_thread(fixture->host) && !check->is_main_thread(fixture->host);
}

/// Crash, as plugins do, at a call that comes in a wrong state.
static void
require(const bool is_right)
{
  if (!is_right) {
    abort();
  }
}

/// Note if a call is not on its thread.
static void
expect(Fixture* const fixture, const bool is_right)
{
  if (!is_right) {
    fixture->is_wrong_thread = true;
  }
}

static bool
is_kind(const Fixture* const fixture, const char* const id)
{
  return !strcmp(fixture->kind->descriptor.id, id);
}

// ---- extensions ----

static uint32_t
params_count(const clap_plugin_t* const clap)
{
  const Fixture* const fixture = clap->plugin_data;
  return is_kind(fixture, "test.many") ? 10000U : fixture->kind->n_params;
}

static const Param*
find_param(const Fixture* const fixture, const clap_id id, uint32_t* const index)
{
  for (*index = 0; *index < fixture->kind->n_params; ++*index) {
    if (fixture->kind->params[*index].id == id) {
      return &fixture->kind->params[*index];
    }
  }
  return NULL;
}

static bool
params_info(const clap_plugin_t* const clap, const uint32_t index, clap_param_info_t* const info)
{
  const Fixture* const fixture = clap->plugin_data;
  if (index >= fixture->kind->n_params || !fixture->kind->params[index].name) {
    return false;
  }
  const Param* const param = &fixture->kind->params[index];
  *info = (clap_param_info_t){
    .id = param->id,
    .flags = param->flags,
    .min_value = param->min,
    .max_value = param->max,
    .default_value = param->initial,
  };
  strcpy(info->name, param->name);
  strcpy(info->module, param->module);
  return true;
}

static bool
params_value(const clap_plugin_t* const clap, const clap_id id, double* const value)
{
  const Fixture* const fixture = clap->plugin_data;
  uint32_t index = 0;
  const bool is_there = find_param(fixture, id, &index) && index < MAX_VALUES;
  *value = is_there ? fixture->values[index] : *value;
  return is_there;
}

static bool
params_text(const clap_plugin_t* const clap, const clap_id id, const double value, char* const text,
            const uint32_t n_bytes)
{
  const Fixture* const fixture = clap->plugin_data;
  uint32_t index = 0;
  const Param* const param = find_param(fixture, id, &index);
  if (param && param->labels) {
    snprintf(text, n_bytes, "%s", param->labels[(int)(value - param->min)]);
  } else if (param && param->format) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, n_bytes, param->format, value);
#pragma GCC diagnostic pop
  }
  return param && (param->labels || param->format);
}

static bool
params_parse(const clap_plugin_t* const clap, const clap_id id, const char* const text,
             double* const value)
{
  (void)clap;
  (void)id;
  (void)text;
  (void)value;
  return false;
}

static void
params_flush(const clap_plugin_t* const clap, const clap_input_events_t* const in,
             const clap_output_events_t* const out)
{
  (void)clap;
  (void)in;
  (void)out;
}

static const clap_plugin_params_t params_calls = { params_count, params_info,  params_value,
                                                   params_text,  params_parse, params_flush };

static uint32_t
ports_count(const clap_plugin_t* const clap, const bool is_input)
{
  const Fixture* const fixture = clap->plugin_data;
  return !fixture->kind->n_main ? 0U : is_input && fixture->kind->n_side ? 2U : 1U;
}

static bool
ports_get(const clap_plugin_t* const clap, const uint32_t index, const bool is_input,
          clap_audio_port_info_t* const info)
{
  (void)is_input;
  const Fixture* const fixture = clap->plugin_data;
  *info = (clap_audio_port_info_t){
    .id = index,
    .flags = index ? 0U : CLAP_AUDIO_PORT_IS_MAIN,
    .channel_count = index ? fixture->kind->n_side : fixture->kind->n_main,
    .in_place_pair = CLAP_INVALID_ID,
  };
  strcpy(info->name, index ? "Key" : "Main");
  return true;
}

static const clap_plugin_audio_ports_t ports_calls = { ports_count, ports_get };

static uint32_t
notes_count(const clap_plugin_t* const clap, const bool is_input)
{
  const Fixture* const fixture = clap->plugin_data;
  return is_input ? fixture->kind->n_notes : 0U;
}

static bool
notes_get(const clap_plugin_t* const clap, const uint32_t index, const bool is_input,
          clap_note_port_info_t* const info)
{
  const Fixture* const fixture = clap->plugin_data;
  const uint32_t dialect =
      is_kind(fixture, "test.midi2") ? CLAP_NOTE_DIALECT_MIDI2 : CLAP_NOTE_DIALECT_CLAP;
  *info = (clap_note_port_info_t){
    .id = index,
    .supported_dialects = dialect,
    .preferred_dialect = dialect,
  };
  return is_input;
}

static const clap_plugin_note_ports_t notes_calls = { notes_count, notes_get };

static uint32_t
latency_get(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture));
  require(fixture->is_active);
  return fixture->latency_frames;
}

static const clap_plugin_latency_t latency_calls = { latency_get };

static bool
render_set(const clap_plugin_t* const clap, const clap_plugin_render_mode mode)
{
  Fixture* const fixture = clap->plugin_data;
  fixture->is_offline = mode == CLAP_RENDER_OFFLINE;
  return true;
}

static const clap_plugin_render_t render_calls = { NULL, render_set };

// ---- the state of test.learner: the values of its parameters, and the peak ----

typedef struct Learnt {
  double values[2];
  float peak;
} Learnt;

#define LEARNT_BYTES (offsetof(Learnt, peak) + sizeof(float))

enum { GOOD, LARGE, LARGE_DEAF, CRASH, HANG, FAIL };

/// Write byte by byte, which the host may require of a plugin.
static bool
write_all(const clap_ostream_t* const stream, const void* const bytes, const size_t n_bytes)
{
  bool is_written = true;
  for (size_t b = 0; b < n_bytes && is_written; ++b) {
    is_written = stream->write(stream, (const char*)bytes + b, 1) == 1;
  }
  return is_written;
}

static bool
write_large(const clap_ostream_t* const stream, const bool is_deaf)
{
  const uint64_t n_bytes = 1U << 20U;
  char* const piece = calloc(1, n_bytes);
  bool is_written = true;
  for (uint32_t p = 0; p < 1024U && (is_deaf || is_written); ++p) {
    is_written = stream->write(stream, piece, n_bytes) == (int64_t)n_bytes;
  }
  free(piece);
  return is_deaf || is_written;
}

static bool
write_learnt(const Fixture* const fixture, const clap_ostream_t* const stream)
{
  const Learnt learnt = { { fixture->values[0], fixture->values[1] }, fixture->peak };
  return write_all(stream, &learnt, LEARNT_BYTES);
}

static bool
state_save(const clap_plugin_t* const clap, const clap_ostream_t* const stream)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture));
  const int mode = (int)fixture->values[1];
  switch (mode) {
  case LARGE:
  case LARGE_DEAF:
    return write_large(stream, mode == LARGE_DEAF);
  case CRASH:
    abort();
  case HANG:
    for (;;) {
      sleep(1);
    }
  case FAIL:
    return false;
  default:
    return write_learnt(fixture, stream);
  }
}

/// Read in pieces of three bytes at most.
static bool
read_all(const clap_istream_t* const stream, void* const bytes, const size_t n_bytes)
{
  size_t n_read = 0;
  int64_t n = 1;
  while (n_read < n_bytes && n > 0) {
    n = stream->read(stream, (char*)bytes + n_read, n_bytes - n_read < 3U ? n_bytes - n_read : 3U);
    n_read += n > 0 ? (size_t)n : 0U;
  }
  return n_read == n_bytes;
}

static bool
state_load(const clap_plugin_t* const clap, const clap_istream_t* const stream)
{
  Fixture* const fixture = clap->plugin_data;
  char rest = 0;
  Learnt learnt = { { 0.0, 0.0 }, 0.0F };
  expect(fixture, is_main(fixture) && !fixture->is_active);
  if (!read_all(stream, &learnt, LEARNT_BYTES)) {
    return false;
  }
  fixture->values[0] = learnt.values[0];
  fixture->values[1] = learnt.values[1];
  fixture->peak = learnt.peak;
  return !stream->read(stream, &rest, 1);
}

static const clap_plugin_state_t state_calls = { state_save, state_load };

static void
on_timer(const clap_plugin_t* const clap, const clap_id timer)
{
  (void)timer;
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture));
  ++fixture->n_timers;
}

static const clap_plugin_timer_support_t timer_calls = { on_timer };

static void
on_fd(const clap_plugin_t* const clap, const int fd, const clap_posix_fd_flags_t flags)
{
  Fixture* const fixture = clap->plugin_data;
  char byte = 0;
  expect(fixture, is_main(fixture) && flags == CLAP_POSIX_FD_READ && read(fd, &byte, 1) == 1);
  ++fixture->n_fds;
}

static const clap_plugin_posix_fd_support_t fd_calls = { on_fd };

// ---- the plugin ----

/// Register a timer and a descriptor that has something to read.
static void
begin_main(Fixture* const fixture)
{
  const clap_host_t* const host = fixture->host;
  const clap_host_timer_support_t* const timers = host->get_extension(host, CLAP_EXT_TIMER_SUPPORT);
  const clap_host_posix_fd_support_t* const fds =
      host->get_extension(host, CLAP_EXT_POSIX_FD_SUPPORT);
  clap_id first = 0;
  clap_id second = 0;
  const bool is_ready = timers->register_timer(host, 60000, &first) &&
                        timers->register_timer(host, 1, &second) && first != second &&
                        timers->unregister_timer(host, first) &&
                        !timers->unregister_timer(host, first) && !pipe(fixture->pipe) &&
                        fds->register_fd(host, fixture->pipe[0], CLAP_POSIX_FD_READ) &&
                        !fds->register_fd(host, fixture->pipe[0], CLAP_POSIX_FD_READ) &&
                        write(fixture->pipe[1], "x", 1) == 1;
  expect(fixture, is_ready);
}

static bool
plugin_init(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  fault(fixture, "init");
  expect(fixture, is_main(fixture));
  if (is_kind(fixture, "test.main")) {
    begin_main(fixture);
  }
  return !is_kind(fixture, "test.uninitialised");
}

static void
plugin_destroy(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  fault(fixture, "destroy");
  if (is_kind(fixture, "test.main")) {
    close(fixture->pipe[0]);
    close(fixture->pipe[1]);
  }
  free(fixture);
}

static bool
plugin_activate(const clap_plugin_t* const clap, const double rate_hz, const uint32_t min_frames,
                const uint32_t max_frames)
{
  Fixture* const fixture = clap->plugin_data;
  fault(fixture, "activate");
  expect(fixture, is_main(fixture));
  fixture->latency_frames = is_kind(fixture, "test.delay") ? DELAY_FRAMES : 0U;
  fixture->is_active = min_frames && min_frames <= max_frames &&
                       (rate_hz == 48000.0 || !is_kind(fixture, "test.refusing")) &&
                       (!fixture->n_activations++ || !is_kind(fixture, "test.once"));
  return fixture->is_active;
}

static void
plugin_deactivate(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture) && !fixture->is_processing);
  require(fixture->is_active);
  fixture->is_active = false;
}

static bool
plugin_start(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_audio(fixture) && !fixture->is_processing);
  require(fixture->is_active);
  fixture->is_processing = true;
  return true;
}

static void
plugin_stop(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_audio(fixture) && fixture->is_processing);
  fixture->is_processing = false;
}

static void
plugin_reset(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_audio(fixture));
  fixture->memory = 0.0F;
  memset(fixture->delay, 0, sizeof(fixture->delay));
}

static clap_process_status
plugin_process(const clap_plugin_t* const clap, const clap_process_t* const block)
{
  Fixture* const fixture = clap->plugin_data;
  fault(fixture, "process");
  expect(fixture, is_audio(fixture) && fixture->is_processing);
  fixture->kind->process(fixture, block);
  if (is_kind(fixture, "test.restless")) {
    fixture->host->request_restart(fixture->host);
  }
  return is_kind(fixture, "test.failing") && fixture->values[0] == 0.0 ? CLAP_PROCESS_ERROR
                                                                       : CLAP_PROCESS_CONTINUE;
}

static const void*
plugin_extension(const clap_plugin_t* const clap, const char* const id)
{
  static const struct {
    const char* id;
    const void* calls;
  } rows[] = {
    { CLAP_EXT_AUDIO_PORTS, &ports_calls },   { CLAP_EXT_LATENCY, &latency_calls },
    { CLAP_EXT_NOTE_PORTS, &notes_calls },    { CLAP_EXT_PARAMS, &params_calls },
    { CLAP_EXT_POSIX_FD_SUPPORT, &fd_calls }, { CLAP_EXT_RENDER, &render_calls },
    { CLAP_EXT_TIMER_SUPPORT, &timer_calls },
  };
  if (is_kind(clap->plugin_data, "test.learner")) {
    const void* const calls = !strcmp(id, CLAP_EXT_STATE) ? &state_calls : fixture_preset_load(id);
    if (calls) {
      return calls;
    }
  }
  for (uint32_t r = 0; r < N(rows); ++r) {
    if (!strcmp(rows[r].id, id)) {
      return rows[r].calls;
    }
  }
  return NULL;
}

static void
plugin_on_main_thread(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture));
  ++fixture->n_callbacks;
}

// ---- the file ----

static uint32_t
factory_count(const clap_plugin_factory_t* const factory)
{
  (void)factory;
  return fixture_n_kinds + 1U;
}

/// The last descriptor is missing.
static const clap_plugin_descriptor_t*
factory_descriptor(const clap_plugin_factory_t* const factory, const uint32_t index)
{
  (void)factory;
  return index < fixture_n_kinds ? &fixture_kinds[index].descriptor : NULL;
}

static const Kind*
find_kind(const char* const id)
{
  for (uint32_t k = 0; k < fixture_n_kinds; ++k) {
    if (fixture_kinds[k].descriptor.id && !strcmp(fixture_kinds[k].descriptor.id, id)) {
      return &fixture_kinds[k];
    }
  }
  return NULL;
}

static const clap_plugin_t*
factory_create(const clap_plugin_factory_t* const factory, const clap_host_t* const host,
               const char* const id)
{
  (void)factory;
  const Kind* const kind = find_kind(id);
  Fixture* const fixture = calloc(1, sizeof(*fixture));
  if (!kind || !fixture || !strcmp(id, "test.unmade")) {
    free(fixture);
    return NULL;
  }
  *fixture = (Fixture){
    .clap = {
      .desc = &kind->descriptor,
      .plugin_data = fixture,
      .init = plugin_init,
      .destroy = plugin_destroy,
      .activate = plugin_activate,
      .deactivate = plugin_deactivate,
      .start_processing = plugin_start,
      .stop_processing = plugin_stop,
      .reset = plugin_reset,
      .process = plugin_process,
      .get_extension = plugin_extension,
      .on_main_thread = plugin_on_main_thread,
    },
    .kind = kind,
    .host = host,
  };
  for (uint32_t p = 0; p < kind->n_params && p < MAX_VALUES; ++p) {
    fixture->values[p] = kind->params[p].initial;
  }
  if (!strcmp(id, "test.initial")) {
    fixture->values[0] = 3.0;
  }
  return &fixture->clap;
}

static const clap_plugin_factory_t factory_calls = { factory_count, factory_descriptor,
                                                     factory_create };

static bool
entry_init(const char* const path)
{
  ++fixture_n_inits;
  return IS_ACCEPTING && path[0];
}

static void
entry_deinit(void)
{
}

static const void*
entry_factory(const char* const id)
{
  return !strcmp(id, CLAP_PLUGIN_FACTORY_ID) ? &factory_calls : fixture_preset_factory(id);
}

CLAP_EXPORT const clap_plugin_entry_t clap_entry = { VERSION, entry_init, entry_deinit,
                                                     entry_factory };
