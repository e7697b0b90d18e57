// SPDX-License-Identifier: GPL-3.0-or-later
/*
  CLAP plugins for the tests, in several files made from this source:

  - fixtures.clap, without a definition: plugins that keep the rules, or break one that the host
    sees.  CLAP_FIXTURE="crash init" in the environment lets test.fault crash in that call, "hang
    init" lets it hang;
  - broken.clap, -DFIXTURE_BROKEN: wrong descriptors and parameters;
  - draft.clap, -DFIXTURE_MAJOR=0: made for a version of CLAP before 1;
  - refusing.clap, -DFIXTURE_REFUSES: its initialisation fails.
*/

#include <clap/entry.h>
#include <clap/ext/audio-ports.h>
#include <clap/ext/latency.h>
#include <clap/ext/log.h>
#include <clap/ext/note-ports.h>
#include <clap/ext/params.h>
#include <clap/ext/posix-fd-support.h>
#include <clap/ext/render.h>
#include <clap/ext/thread-check.h>
#include <clap/ext/timer-support.h>
#include <clap/factory/plugin-factory.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FIXTURE_MAJOR
#define FIXTURE_MAJOR 1
#endif
#ifdef FIXTURE_REFUSES
#define IS_ACCEPTING 0
#else
#define IS_ACCEPTING 1
#endif

#define MAX_VALUES   16U
#define DELAY_FRAMES 64U
#define N(array)     ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define VERSION                                                                                    \
  {                                                                                                \
    FIXTURE_MAJOR, 2, 0                                                                            \
  }

typedef struct Fixture Fixture;

typedef struct Param {
  clap_id id;
  uint32_t flags;
  const char *module, *name;
  double min, max, initial;
  const char* format;        // of value_to_text, with the number
  const char* const* labels; // of the values from `min`
} Param;

typedef struct Kind {
  clap_plugin_descriptor_t descriptor;
  uint32_t n_main, n_side; // channels: of main input and output, of the side chain
  uint32_t n_notes;
  const Param* params;
  uint32_t n_params;
  void (*process)(Fixture* fixture, const clap_process_t* block);
} Kind;

struct Fixture {
  clap_plugin_t clap;
  const Kind* kind;
  const clap_host_t* host;
  double values[MAX_VALUES];
  bool is_offline, is_processing, is_wrong_thread;
  float delay[DELAY_FRAMES];
  uint32_t at, latency_frames;
  float memory;
  int pipe[2];
  uint32_t n_timers, n_fds, n_callbacks;
};

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

/// Note if a call is not on its thread.
static void
expect(Fixture* const fixture, const bool is_right)
{
  fixture->is_wrong_thread = fixture->is_wrong_thread || !is_right;
}

static void
report(const clap_process_t* const block, const clap_id id, const double value)
{
  const clap_event_param_value_t event = {
    .header = { sizeof(event), 0, CLAP_CORE_EVENT_SPACE_ID, CLAP_EVENT_PARAM_VALUE, 0 },
    .param_id = id,
    .note_id = -1,
    .port_index = -1,
    .channel = -1,
    .key = -1,
    .value = value,
  };
  block->out_events->try_push(block->out_events, &event.header);
}

// ---- sounds ----

static void
apply(Fixture* const fixture, const clap_event_header_t* const header)
{
  const clap_event_param_value_t* const event = (const void*)header;
  for (uint32_t p = 0; p < fixture->kind->n_params && p < MAX_VALUES; ++p) {
    if (fixture->kind->params[p].id == event->param_id) {
      fixture->values[p] = event->value;
    }
  }
}

/// Multiply by the first parameter, exactly from the frame of each change.
static void
run_gain(Fixture* const fixture, const clap_process_t* const block)
{
  const clap_input_events_t* const events = block->in_events;
  const uint32_t n_events = events->size(events);
  uint32_t next = 0;
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    for (; next < n_events && events->get(events, next)->time <= f; ++next) {
      apply(fixture, events->get(events, next));
    }
    for (uint32_t c = 0; c < fixture->kind->n_main; ++c) {
      block->audio_outputs[0].data32[c][f] =
          block->audio_inputs[0].data32[c][f] * (float)fixture->values[0];
    }
  }
}

/// Gain and half of the side chain; reports the level of the last frame.
static void
run_params(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  const uint32_t last = block->frames_count - 1U;
  for (uint32_t f = 0; f <= last; ++f) {
    block->audio_outputs[0].data32[1][f] += 0.5F * block->audio_inputs[1].data32[0][f];
  }
  report(block, 18, (double)block->audio_outputs[0].data32[0][last]);
  report(block, 18, (double)NAN);
  report(block, 99, 1.0);
}

static void
run_delay(Fixture* const fixture, const clap_process_t* const block)
{
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    float* const kept = &fixture->delay[fixture->at];
    block->audio_outputs[0].data32[0][f] = *kept;
    *kept = block->audio_inputs[0].data32[0][f];
    fixture->at = (fixture->at + 1U) % DELAY_FRAMES;
  }
}

/// Say what happened on the main thread, and ask for more.
static void
run_main(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  report(block, 1, fixture->n_timers);
  report(block, 2, fixture->n_fds);
  report(block, 3, fixture->n_callbacks);
  report(block, 4, fixture->is_wrong_thread);
  fixture->host->request_callback(fixture->host);
}

static void*
call_from_thread(void* const context)
{
  const Fixture* const fixture = context;
  const clap_host_t* const host = fixture->host;
  const clap_host_params_t* const params = host->get_extension(host, CLAP_EXT_PARAMS);
  const clap_host_log_t* const log = host->get_extension(host, CLAP_EXT_LOG);
  params->rescan(host, CLAP_PARAM_RESCAN_ALL);
  log->log(host, CLAP_LOG_WARNING, "a word from\nanother thread");
  log->log(host, CLAP_LOG_DEBUG, "a word that nobody asked for");
  return NULL;
}

/// Call the host where the specification forbids it.
static void
run_threads(Fixture* const fixture, const clap_process_t* const block)
{
  const clap_host_t* const host = fixture->host;
  const clap_host_timer_support_t* const timers = host->get_extension(host, CLAP_EXT_TIMER_SUPPORT);
  const clap_host_params_t* const params = host->get_extension(host, CLAP_EXT_PARAMS);
  clap_id timer = 0;
  pthread_t thread;
  run_gain(fixture, block);
  report(block, 1, timers->register_timer(host, 1, &timer));
  params->request_flush(host);
  pthread_create(&thread, NULL, call_from_thread, fixture);
  pthread_join(thread, NULL);
}

/// A NaN that stays until a reset, once "Burst" is set.
static void
run_nan(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  fixture->memory = fixture->values[0] > 1.0 ? NAN : fixture->memory;
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    block->audio_outputs[0].data32[0][f] += fixture->memory;
  }
}

static void
run_render(Fixture* const fixture, const clap_process_t* const block)
{
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    block->audio_outputs[0].data32[0][f] = fixture->is_offline ? 1.0F : 0.0F;
  }
}

// ---- the table of plugins ----

static const char* const modes[] = { "Soft", "Medium", "Hard" };
static const char* const orders[] = { "first", "", "third" };
static const char* const off_on[] = { "Off", "On" };

#define AUTOMATED CLAP_PARAM_IS_AUTOMATABLE
#define STEPPED   (CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_AUTOMATABLE)

static const Param gain_params[] = {
  { 7, AUTOMATED, "", "Gain", 0.0, 4.0, 1.0, "%.2f", NULL },
};

static const Param many_sorts[] = {
  { 30, AUTOMATED, "Bands/Low", "Gain", 0.0, 2.0, 1.0, "%.2f x", NULL },
  { 31, AUTOMATED, "Bands/High", "Gain", 0.0, 2.0, 1.0, "%.2f x", NULL },
  { 10, STEPPED, "", "Mode", 0.0, 2.0, 1.0, NULL, modes },
  { 11, STEPPED | CLAP_PARAM_IS_ENUM, "", "Order", 4.0, 6.0, 4.0, NULL, orders },
  { 12, STEPPED | CLAP_PARAM_IS_BYPASS, "", "Bypass", 0.0, 1.0, 0.0, NULL, off_on },
  { 14, STEPPED, "", "Voices", 1.0, 8.0, 4.0, "%.0f", NULL },
  { 15, AUTOMATED, "", "Cutoff", 20.0, 20000.0, 1000.0, "%.1f Hz", NULL },
  { 16, AUTOMATED, "", "Level", -60.0, 12.0, 0.0, "%.1f dB", NULL },
  { 17, AUTOMATED | CLAP_PARAM_IS_PERIODIC, "", "Phase", 0.0, 360.0, 0.0, "%.0f °", NULL },
  { 18, CLAP_PARAM_IS_READONLY, "", "Meter", 0.0, 4.0, 0.0, "%.2f", NULL },
  { 19, AUTOMATED | CLAP_PARAM_IS_HIDDEN, "", "Secret", 0.0, 1.0, 0.0, "%.2f", NULL },
  { 20, 0, "", "Size", 0.0, 1.0, 0.5, "%.2f", NULL },
  { 21, AUTOMATED, "", "Mix", 0.0, 1.0, 0.5, "50 %%", NULL }, // the number is not the value
};

static const Param main_params[] = {
  { 7, AUTOMATED, "", "Gain", 0.0, 4.0, 1.0, "%.2f", NULL },
  { 1, CLAP_PARAM_IS_READONLY, "", "Timers", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 2, CLAP_PARAM_IS_READONLY, "", "Descriptors", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 3, CLAP_PARAM_IS_READONLY, "", "Callbacks", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 4, CLAP_PARAM_IS_READONLY, "", "Wrong", 0.0, 1.0, 0.0, "%.0f", NULL },
};

#define EFFECT(word) .descriptor = { VERSION, .id = "test." word, .name = word, .features = effect }
#define GAIN         .params = gain_params, .n_params = N(gain_params)

#ifndef FIXTURE_BROKEN

static const char* const effect[] = { CLAP_PLUGIN_FEATURE_AUDIO_EFFECT, CLAP_PLUGIN_FEATURE_MONO,
                                      CLAP_PLUGIN_FEATURE_DEESSER, CLAP_PLUGIN_FEATURE_FILTER,
                                      NULL };

static const Kind kinds[] = {
  { EFFECT("gain"), .n_main = 1, GAIN, .process = run_gain },
  { EFFECT("params"), .n_main = 2, .n_side = 1, .params = many_sorts, .n_params = N(many_sorts),
    .process = run_params },
  { EFFECT("delay"), .n_main = 1, .process = run_delay },
  { EFFECT("main"), .n_main = 1, .params = main_params, .n_params = N(main_params),
    .process = run_main },
  { EFFECT("threads"), .n_main = 1, .params = main_params, .n_params = N(main_params),
    .process = run_threads },
  { EFFECT("nan"), .n_main = 1, GAIN, .process = run_nan },
  { EFFECT("failing"), .n_main = 1, GAIN, .process = run_gain },  // fails with the gain 0
  { EFFECT("restless"), .n_main = 1, GAIN, .process = run_gain }, // wants a restart
  { EFFECT("initial"), .n_main = 1, GAIN, .process = run_gain },  // begins at 3, not at its default
  { EFFECT("render"), .n_main = 1, .process = run_render },
  { EFFECT("refusing"), .n_main = 1, GAIN, .process = run_gain }, // only runs at 48 kHz
  { EFFECT("notes"), .n_main = 1, .n_notes = 1, .process = run_delay },
  { EFFECT("deaf"), .n_main = 0, GAIN, .process = run_gain }, // without audio
  { EFFECT("fault"), .n_main = 1, GAIN, .process = run_gain },
};

#else

static const char* const effect[] = { CLAP_PLUGIN_FEATURE_INSTRUMENT, NULL };

static const Param bad_params[] = {
  { 1, 0, "", "Broken", (double)NAN, 1.0, 0.0, NULL, NULL },
  { 2, 0, "", "Endless", 0.0, (double)INFINITY, 0.0, NULL, NULL },
  { 3, 0, "", "Inverted", 1.0, 0.0, 0.0, NULL, NULL },
  { 4, 0, "", "Outside", 0.0, 1.0, 7.0, NULL, NULL },
  { 5, 0, "", "Unknown", 0.0, 1.0, (double)NAN, NULL, NULL },
  { 5, 0, "", "Twice", 0.0, 1.0, 0.0, NULL, NULL },
  { 6, 0, "", "", 0.0, 1.0, 0.0, NULL, NULL },
  { 8, 0, "", "bad \xFF name", 0.0, 1.0, 0.0, NULL, NULL },
  { 9, 0, "", NULL, 0.0, 1.0, 0.0, NULL, NULL }, // get_info() fails
};

static const Kind kinds[] = {
  { .descriptor = { VERSION, .id = NULL, .name = "none" } },
  { .descriptor = { VERSION, .id = "", .name = "empty" } },
  { .descriptor = { VERSION, .id = "test.line\n", .name = "control character" } },
  { .descriptor = { VERSION, .id = "test.nameless" },
    .n_main = 1,
    .params = bad_params,
    .n_params = N(bad_params) },
  { EFFECT("twice"), .n_main = 1 },
  { .descriptor = { VERSION, .id = "test.twice", .name = "second" }, .n_main = 1 },
  { .descriptor = { { 0, 18, 0 }, .id = "test.draft", .name = "draft" }, .n_main = 1 },
  { EFFECT("many"), .n_main = 1, GAIN }, // 10,000 parameters
  { EFFECT("wide"), .n_main = UINT32_MAX },
  { EFFECT("unmade"), .n_main = 1 },
  { EFFECT("uninitialised"), .n_main = 1 },
};

#endif

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

static const clap_plugin_note_ports_t notes_calls = { notes_count, NULL };

static uint32_t
latency_get(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture));
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
  return min_frames && min_frames <= max_frames &&
         (rate_hz == 48000.0 || !is_kind(fixture, "test.refusing"));
}

static void
plugin_deactivate(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_main(fixture) && !fixture->is_processing);
}

static bool
plugin_start(const clap_plugin_t* const clap)
{
  Fixture* const fixture = clap->plugin_data;
  expect(fixture, is_audio(fixture) && !fixture->is_processing);
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
  (void)clap;
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
  return N(kinds) + 1U;
}

/// The last descriptor is missing.
static const clap_plugin_descriptor_t*
factory_descriptor(const clap_plugin_factory_t* const factory, const uint32_t index)
{
  (void)factory;
  return index < N(kinds) ? &kinds[index].descriptor : NULL;
}

static const Kind*
find_kind(const char* const id)
{
  for (uint32_t k = 0; k < N(kinds); ++k) {
    if (kinds[k].descriptor.id && !strcmp(kinds[k].descriptor.id, id)) {
      return &kinds[k];
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
  return !strcmp(id, CLAP_PLUGIN_FACTORY_ID) ? &factory_calls : NULL;
}

CLAP_EXPORT const clap_plugin_entry_t clap_entry = { VERSION, entry_init, entry_deinit,
                                                     entry_factory };
