// SPDX-License-Identifier: GPL-3.0-or-later
/*
  One instance with the default values, in a child: the entry of a file is initialised once per
  process, and the tested host does that, too.  The host offers the extensions that plugins crash
  without, as functions that do nothing.
*/

#include "reference_clap.h"

#include <clap/entry.h>
#include <clap/ext/audio-ports.h>
#include <clap/ext/latency.h>
#include <clap/ext/params.h>
#include <clap/ext/thread-check.h>
#include <clap/ext/timer-support.h>
#include <clap/factory/plugin-factory.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PORTS   4U
#define MAX_CHANGES 64U

static bool is_audio; // one thread, which is one or the other

static void
ignore(const clap_host_t* const host)
{
  (void)host;
}

static bool
on_main(const clap_host_t* const host)
{
  (void)host;
  return !is_audio;
}

static bool
on_audio(const clap_host_t* const host)
{
  (void)host;
  return is_audio;
}

static void
rescan(const clap_host_t* const host, const uint32_t flags)
{
  (void)host;
  (void)flags;
}

static void
clear(const clap_host_t* const host, const clap_id param, const uint32_t flags)
{
  (void)host;
  (void)param;
  (void)flags;
}

static bool
register_timer(const clap_host_t* const host, const uint32_t period_ms, clap_id* const timer)
{
  (void)host;
  (void)period_ms;
  *timer = 1;
  return true;
}

static bool
unregister(const clap_host_t* const host, const clap_id timer)
{
  (void)host;
  (void)timer;
  return true;
}

static const void*
extension(const clap_host_t* const host, const char* const id)
{
  static const clap_host_latency_t latency = { ignore };
  static const clap_host_params_t params = { rescan, clear, ignore };
  static const clap_host_thread_check_t threads = { on_main, on_audio };
  static const clap_host_timer_support_t timers = { register_timer, unregister };
  (void)host;
  return !strcmp(id, CLAP_EXT_LATENCY)         ? (const void*)&latency
         : !strcmp(id, CLAP_EXT_PARAMS)        ? (const void*)&params
         : !strcmp(id, CLAP_EXT_THREAD_CHECK)  ? (const void*)&threads
         : !strcmp(id, CLAP_EXT_TIMER_SUPPORT) ? (const void*)&timers
                                               : NULL;
}

/// The changes of the first block.
static clap_event_param_value_t changes[MAX_CHANGES];
static uint32_t n_changes;

/// Change the parameters that do not begin at their default.
static void
make_changes(const clap_plugin_t* const plugin)
{
  const clap_plugin_params_t* const calls = plugin->get_extension(plugin, CLAP_EXT_PARAMS);
  const uint32_t n = calls ? calls->count(plugin) : 0U;
  for (uint32_t p = 0; p < n && n_changes < MAX_CHANGES; ++p) {
    clap_param_info_t info;
    double value = 0.0;
    if (calls->get_info(plugin, p, &info) && calls->get_value(plugin, info.id, &value) &&
        value != info.default_value && !(info.flags & CLAP_PARAM_IS_READONLY)) {
      changes[n_changes++] = (clap_event_param_value_t){
        .header = { sizeof(changes[0]), 0, CLAP_CORE_EVENT_SPACE_ID, CLAP_EVENT_PARAM_VALUE, 0 },
        .param_id = info.id,
        .note_id = -1,
        .port_index = -1,
        .channel = -1,
        .key = -1,
        .value = info.default_value,
      };
    }
  }
}

static uint32_t
count_changes(const clap_input_events_t* const events)
{
  (void)events;
  return n_changes;
}

static const clap_event_header_t*
get_change(const clap_input_events_t* const events, const uint32_t index)
{
  (void)events;
  return &changes[index].header;
}

static bool
take_event(const clap_output_events_t* const events, const clap_event_header_t* const event)
{
  (void)events;
  (void)event;
  return true;
}

/// Spread `rows` over the ports; returns the number of ports.
static uint32_t
make_ports(const clap_plugin_t* const plugin, const bool is_input, float** rows,
           clap_audio_buffer_t ports[const MAX_PORTS])
{
  const clap_plugin_audio_ports_t* const calls =
      plugin->get_extension(plugin, CLAP_EXT_AUDIO_PORTS);
  const uint32_t n = calls->count(plugin, is_input);
  for (uint32_t p = 0; p < n && p < MAX_PORTS; ++p) {
    clap_audio_port_info_t info;
    calls->get(plugin, p, is_input, &info);
    ports[p] = (clap_audio_buffer_t){ .data32 = rows, .channel_count = info.channel_count };
    rows += info.channel_count;
  }
  return n;
}

static void
run_blocks(const clap_plugin_t* const plugin, const ReferenceClap* const work, float* const shared)
{
  float* in[REFERENCE_CLAP_ROWS];
  float* out[REFERENCE_CLAP_ROWS];
  clap_audio_buffer_t in_ports[MAX_PORTS];
  clap_audio_buffer_t out_ports[MAX_PORTS];
  const clap_input_events_t in_events = { NULL, count_changes, get_change };
  const clap_output_events_t out_events = { NULL, take_event };
  clap_event_transport_t transport = {
    .header = { sizeof(transport), 0, CLAP_CORE_EVENT_SPACE_ID, CLAP_EVENT_TRANSPORT, 0 },
    .flags = CLAP_TRANSPORT_HAS_TEMPO | CLAP_TRANSPORT_HAS_BEATS_TIMELINE |
             CLAP_TRANSPORT_HAS_SECONDS_TIMELINE | CLAP_TRANSPORT_HAS_TIME_SIGNATURE |
             CLAP_TRANSPORT_IS_PLAYING,
    .tempo = 120.0,
    .tsig_num = 4,
    .tsig_denom = 4,
  };
  clap_process_t block = {
    .transport = &transport,
    .audio_inputs = in_ports,
    .audio_outputs = out_ports,
    .audio_inputs_count = make_ports(plugin, true, in, in_ports),
    .audio_outputs_count = make_ports(plugin, false, out, out_ports),
    .in_events = &in_events,
    .out_events = &out_events,
  };
  float* const copies = calloc(REFERENCE_CLAP_ROWS, work->block_frames * sizeof(float));
  for (uint32_t done = 0; done < work->n_frames; done += block.frames_count) {
    const uint32_t left = work->n_frames - done;
    block.frames_count = left < work->block_frames ? left : work->block_frames;
    block.steady_time = done;
    const double seconds = done / work->rate_hz;
    const double beats = 2.0 * seconds;
    transport.song_pos_seconds = (int64_t)round(seconds * (double)CLAP_SECTIME_FACTOR);
    transport.song_pos_beats = (int64_t)round(beats * (double)CLAP_BEATTIME_FACTOR);
    transport.bar_number = (int32_t)(beats / 4.0);
    transport.bar_start = 4 * transport.bar_number * CLAP_BEATTIME_FACTOR;
    for (uint32_t r = 0; r < REFERENCE_CLAP_ROWS; ++r) {
      in[r] = &copies[r * work->block_frames];
      out[r] = &shared[r * work->n_frames + done];
      if (work->in[r]) {
        memcpy(in[r], &work->in[r][done], block.frames_count * sizeof(float));
      }
    }
    plugin->process(plugin, &block);
    n_changes = 0;
  }
  free(copies);
}

static bool
run_plugin(const ReferenceClap* const work, float* const shared)
{
  const clap_host_t host = { CLAP_VERSION_INIT, NULL,   "reference", "",    "", "1",
                             extension,         ignore, ignore,      ignore };
  void* const library = dlopen(work->path, RTLD_NOW | RTLD_LOCAL);
  const clap_plugin_entry_t* const entry = library ? dlsym(library, "clap_entry") : NULL;
  if (!entry || !entry->init(work->path)) {
    return false;
  }
  const clap_plugin_factory_t* const factory = entry->get_factory(CLAP_PLUGIN_FACTORY_ID);
  const clap_plugin_t* const plugin = factory->create_plugin(factory, &host, work->id);
  if (!plugin || !plugin->init(plugin) ||
      !plugin->activate(plugin, work->rate_hz, 1, work->block_frames)) {
    return false;
  }
  make_changes(plugin);
  is_audio = true;
  if (!plugin->start_processing(plugin)) {
    return false;
  }
  run_blocks(plugin, work, shared);
  return true;
}

bool
reference_clap(const ReferenceClap* const work)
{
  const size_t n_bytes = REFERENCE_CLAP_ROWS * work->n_frames * sizeof(float);
  float* const shared =
      mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return false;
  }
  const pid_t child = fork();
  if (!child) {
    _exit(!run_plugin(work, shared));
  }
  int status = 1;
  waitpid(child, &status, 0);
  for (uint32_t r = 0; r < REFERENCE_CLAP_ROWS; ++r) {
    if (work->out[r]) {
      memcpy(work->out[r], &shared[r * work->n_frames], work->n_frames * sizeof(float));
    }
  }
  munmap(shared, n_bytes);
  return !status;
}
