// SPDX-License-Identifier: GPL-3.0-or-later
// The extensions that a plugin may request.  Some plugins crash if the host lacks an extension that
// they know.  So those that have nothing to do in warprack are here, too.

#include "clap_extensions.h"

#include "clap_threads.h"

#include "engine/base/macros.h"
#include "engine/base/text.h"
#include "engine/base/time.h"

#include <clap/ext/audio-ports.h>
#include <clap/ext/latency.h>
#include <clap/ext/log.h>
#include <clap/ext/note-ports.h>
#include <clap/ext/params.h>
#include <clap/ext/posix-fd-support.h>
#include <clap/ext/preset-load.h>
#include <clap/ext/state.h>
#include <clap/ext/tail.h>
#include <clap/ext/thread-check.h>
#include <clap/ext/timer-support.h>

#include <stdio.h>
#include <string.h>

static ClapHost*
host_of(const clap_host_t* const clap)
{
  return clap->host_data;
}

/// True on a thread of that kind; else the call is refused.
static bool
is_on(const clap_host_t* const clap, const ClapThread kind)
{
  const bool is_right = clap_thread() == kind;
  if (!is_right) {
    clap_host_report(host_of(clap), CLAP_REPORT_WRONG_THREAD);
  }
  return is_right;
}

// ---- log ----

static void
print_line(ClapHost* const host, const char* const text)
{
  if (host->n_lines++ < CLAP_MAX_LOG_LINES) {
    fprintf(stderr, "plugin clap %s: %s\n", host->id, text);
  } else {
    clap_host_report(host, CLAP_REPORT_LOG);
  }
}

/// Print the line of another thread, if there is one.
static void
print_kept_line(ClapHost* const host)
{
  if (atomic_load_explicit(&host->line.state, memory_order_acquire) == 2) {
    text_make_printable(host->line.text);
    print_line(host, host->line.text);
    atomic_store_explicit(&host->line.state, 0, memory_order_release);
  }
}

/// Keep a line for the main thread, if it has printed the last one. [any]
static void
keep_line(ClapHost* const host, const char* const text)
{
  int empty = 0;
  if (!atomic_compare_exchange_strong(&host->line.state, &empty, 1)) {
    clap_host_report(host, CLAP_REPORT_LOG);
    return;
  }
  size_t n = 0;
  for (; text[n] && n < CLAP_LINE_BYTES - 1U; ++n) {
    host->line.text[n] = text[n];
  }
  host->line.text[n] = '\0';
  atomic_store_explicit(&host->line.state, 2, memory_order_release);
}

static void
on_log(const clap_host_t* const clap, const clap_log_severity severity, const char* const text)
{
  if (severity < CLAP_LOG_WARNING || !text) {
    return;
  }
  keep_line(host_of(clap), text);
  if (clap_thread() == CLAP_THREAD_MAIN) {
    print_kept_line(host_of(clap));
  }
}

static const clap_host_log_t log_calls = { on_log };

// ---- threads ----

static bool
is_main_thread(const clap_host_t* const clap)
{
  (void)clap;
  return clap_thread() == CLAP_THREAD_MAIN;
}

static bool
is_audio_thread(const clap_host_t* const clap)
{
  (void)clap;
  return clap_thread() == CLAP_THREAD_AUDIO;
}

static const clap_host_thread_check_t thread_check_calls = { is_main_thread, is_audio_thread };

// ---- parameters, ports, state ----

static void
on_params_rescan(const clap_host_t* const clap, const clap_param_rescan_flags flags)
{
  if (is_on(clap, CLAP_THREAD_MAIN) && flags & CLAP_PARAM_RESCAN_ALL) {
    clap_host_report(host_of(clap), CLAP_REPORT_CHANGED);
  }
}

/// Nothing to clear: the host keeps no reference to a parameter.
static void
on_params_clear(const clap_host_t* const clap, const clap_id param,
                const clap_param_clear_flags flags)
{
  (void)param;
  (void)flags;
  (void)is_on(clap, CLAP_THREAD_MAIN);
}

/// The next block exchanges parameters, and an active plugin gets no other calls for it.
static void
on_request_flush(const clap_host_t* const clap)
{
  if (clap_thread() == CLAP_THREAD_AUDIO) {
    clap_host_report(host_of(clap), CLAP_REPORT_WRONG_THREAD);
  }
}

/// A preset that a plugin fails to load is an error of its node; this is its reason, for the log.
static void
on_preset_error(const clap_host_t* const clap, const uint32_t kind, const char* const location,
                const char* const key, const int32_t os_error, const char* const message)
{
  (void)kind;
  (void)location;
  (void)key;
  (void)os_error;
  if (is_on(clap, CLAP_THREAD_MAIN)) {
    on_log(clap, CLAP_LOG_ERROR, message);
  }
}

static void
on_preset_loaded(const clap_host_t* const clap, const uint32_t kind, const char* const location,
                 const char* const key)
{
  (void)kind;
  (void)location;
  (void)key;
  (void)is_on(clap, CLAP_THREAD_MAIN);
}

static const clap_host_preset_load_t preset_calls = { on_preset_error, on_preset_loaded };

static const clap_host_params_t params_calls = { on_params_rescan, on_params_clear,
                                                 on_request_flush };

static bool
is_ports_rescan_supported(const clap_host_t* const clap, const uint32_t flag)
{
  return is_on(clap, CLAP_THREAD_MAIN) && flag == CLAP_AUDIO_PORTS_RESCAN_NAMES;
}

static void
on_audio_ports_rescan(const clap_host_t* const clap, const uint32_t flags)
{
  if (is_on(clap, CLAP_THREAD_MAIN) && flags & ~(uint32_t)CLAP_AUDIO_PORTS_RESCAN_NAMES) {
    clap_host_report(host_of(clap), CLAP_REPORT_CHANGED);
  }
}

static const clap_host_audio_ports_t audio_ports_calls = { is_ports_rescan_supported,
                                                           on_audio_ports_rescan };

static uint32_t
note_dialects(const clap_host_t* const clap)
{
  return is_on(clap, CLAP_THREAD_MAIN) ? CLAP_NOTE_DIALECT_CLAP | CLAP_NOTE_DIALECT_MIDI : 0U;
}

static void
on_note_ports_rescan(const clap_host_t* const clap, const uint32_t flags)
{
  (void)flags;
  (void)is_on(clap, CLAP_THREAD_MAIN);
}

static const clap_host_note_ports_t note_ports_calls = { note_dialects, on_note_ports_rescan };

/// A state is only saved when a user wants it.
static void
on_state_dirty(const clap_host_t* const clap)
{
  (void)is_on(clap, CLAP_THREAD_MAIN);
}

static const clap_host_state_t state_calls = { on_state_dirty };

/// The latency may only change during activation.  The host reads it later.
static void
on_latency_changed(const clap_host_t* const clap)
{
  (void)is_on(clap, CLAP_THREAD_MAIN);
}

static const clap_host_latency_t latency_calls = { on_latency_changed };

/// The player runs a plugin also after the end of its input.
static void
on_tail_changed(const clap_host_t* const clap)
{
  (void)is_on(clap, CLAP_THREAD_AUDIO);
}

static const clap_host_tail_t tail_calls = { on_tail_changed };

// ---- timers ----

static bool
register_timer(const clap_host_t* const clap, const uint32_t period_ms, clap_id* const timer)
{
  ClapHost* const host = host_of(clap);
  if (!is_on(clap, CLAP_THREAD_MAIN)) {
    return false;
  }
  const uint64_t period_ns = (period_ms ? period_ms : 1U) * NS_PER_MS;
  for (uint32_t t = 0; t < CLAP_MAX_TIMERS; ++t) {
    if (!host->timers[t].period_ns) {
      host->timers[t] = (ClapTimer){ period_ns, time_now_ns() + period_ns };
      *timer = t;
      return true;
    }
  }
  return false;
}

static bool
unregister_timer(const clap_host_t* const clap, const clap_id timer)
{
  ClapHost* const host = host_of(clap);
  const bool is_there =
      is_on(clap, CLAP_THREAD_MAIN) && timer < CLAP_MAX_TIMERS && host->timers[timer].period_ns;
  if (is_there) {
    host->timers[timer].period_ns = 0;
  }
  return is_there;
}

static const clap_host_timer_support_t timer_calls = { register_timer, unregister_timer };

static void
run_timers(ClapHost* const host)
{
  const clap_plugin_t* const plugin = host->plugin;
  const clap_plugin_timer_support_t* const calls =
      plugin->get_extension(plugin, CLAP_EXT_TIMER_SUPPORT);
  for (uint32_t t = 0; calls && calls->on_timer && t < CLAP_MAX_TIMERS; ++t) {
    ClapTimer* const timer = &host->timers[t];
    const uint64_t now_ns = time_now_ns();
    if (timer->period_ns && now_ns >= timer->due_ns) {
      timer->due_ns = now_ns + timer->period_ns;
      calls->on_timer(plugin, t);
    }
  }
}

// ---- descriptors ----

static short
poll_events(const clap_posix_fd_flags_t flags)
{
  return (short)((flags & CLAP_POSIX_FD_READ ? POLLIN : 0) |
                 (flags & CLAP_POSIX_FD_WRITE ? POLLOUT : 0));
}

static clap_posix_fd_flags_t
fd_flags(const short events)
{
  return (events & POLLIN ? CLAP_POSIX_FD_READ : 0U) |
         (events & POLLOUT ? CLAP_POSIX_FD_WRITE : 0U) |
         (events & (POLLERR | POLLHUP) ? CLAP_POSIX_FD_ERROR : 0U);
}

/// The entry of a descriptor; -1: an unused one.
static struct pollfd*
find_fd(ClapHost* const host, const int fd)
{
  uint32_t f = 0;
  while (f < CLAP_MAX_FDS && host->fds[f].fd != fd) {
    ++f;
  }
  return f < CLAP_MAX_FDS ? &host->fds[f] : NULL;
}

static bool
register_fd(const clap_host_t* const clap, const int fd, const clap_posix_fd_flags_t flags)
{
  if (!is_on(clap, CLAP_THREAD_MAIN) || fd < 0 || find_fd(host_of(clap), fd)) {
    return false;
  }
  struct pollfd* const place = find_fd(host_of(clap), -1);
  if (place) {
    *place = (struct pollfd){ .fd = fd, .events = poll_events(flags) };
  }
  return place;
}

static bool
modify_fd(const clap_host_t* const clap, const int fd, const clap_posix_fd_flags_t flags)
{
  struct pollfd* const place =
      is_on(clap, CLAP_THREAD_MAIN) && fd >= 0 ? find_fd(host_of(clap), fd) : NULL;
  if (place) {
    place->events = poll_events(flags);
  }
  return place;
}

static bool
unregister_fd(const clap_host_t* const clap, const int fd)
{
  struct pollfd* const place =
      is_on(clap, CLAP_THREAD_MAIN) && fd >= 0 ? find_fd(host_of(clap), fd) : NULL;
  if (place) {
    place->fd = -1;
  }
  return place;
}

static const clap_host_posix_fd_support_t fd_calls = { register_fd, modify_fd, unregister_fd };

static void
run_fds(ClapHost* const host)
{
  const clap_plugin_t* const plugin = host->plugin;
  const clap_plugin_posix_fd_support_t* const calls =
      plugin->get_extension(plugin, CLAP_EXT_POSIX_FD_SUPPORT);
  if (!calls || !calls->on_fd || poll(host->fds, CLAP_MAX_FDS, 0) < 1) {
    return;
  }
  for (uint32_t f = 0; f < CLAP_MAX_FDS; ++f) {
    struct pollfd* const place = &host->fds[f];
    if (place->fd >= 0 && place->revents & POLLNVAL) {
      place->fd = -1; // closed, but not unregistered
    } else if (place->fd >= 0 && place->revents) {
      calls->on_fd(plugin, place->fd, fd_flags(place->revents));
    }
  }
}

// ---- the host ----

static const void*
get_extension(const clap_host_t* const clap, const char* const id)
{
  static const struct {
    const char* id;
    const void* calls;
  } rows[] = {
    { CLAP_EXT_AUDIO_PORTS, &audio_ports_calls },
    { CLAP_EXT_LATENCY, &latency_calls },
    { CLAP_EXT_LOG, &log_calls },
    { CLAP_EXT_NOTE_PORTS, &note_ports_calls },
    { CLAP_EXT_PARAMS, &params_calls },
    { CLAP_EXT_POSIX_FD_SUPPORT, &fd_calls },
    { CLAP_EXT_PRESET_LOAD, &preset_calls },
    { CLAP_EXT_PRESET_LOAD_COMPAT, &preset_calls },
    { CLAP_EXT_STATE, &state_calls },
    { CLAP_EXT_TAIL, &tail_calls },
    { CLAP_EXT_THREAD_CHECK, &thread_check_calls },
    { CLAP_EXT_TIMER_SUPPORT, &timer_calls },
  };
  (void)clap;
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (!strcmp(rows[r].id, id)) {
      return rows[r].calls;
    }
  }
  return NULL;
}

static void
request_restart(const clap_host_t* const clap)
{
  clap_host_report(host_of(clap), CLAP_REPORT_RESTART);
}

/// A plugin never sleeps.
static void
request_process(const clap_host_t* const clap)
{
  (void)clap;
}

static void
request_callback(const clap_host_t* const clap)
{
  atomic_store(&host_of(clap)->wants_callback, true);
}

void
clap_host_init(ClapHost* const host, const char* const id)
{
  *host = (ClapHost){
    .clap = {
      .clap_version = CLAP_VERSION_INIT,
      .host_data = host,
      .name = "warprack",
      .vendor = "warprack",
      .url = "",
      .version = WARPRACK_VERSION,
      .get_extension = get_extension,
      .request_restart = request_restart,
      .request_process = request_process,
      .request_callback = request_callback,
    },
    .id = id,
  };
  for (uint32_t f = 0; f < CLAP_MAX_FDS; ++f) {
    host->fds[f].fd = -1;
  }
}

void
clap_host_report(ClapHost* const host, const ClapReport report)
{
  atomic_fetch_add_explicit(&host->n_reports[report], 1, memory_order_relaxed);
}

void
clap_host_idle(ClapHost* const host)
{
  run_timers(host);
  run_fds(host);
  if (atomic_exchange(&host->wants_callback, false)) {
    host->plugin->on_main_thread(host->plugin);
  }
}

void
clap_host_print(ClapHost* const host)
{
#define CLAP_REPORT_TEXT(word, sentence) sentence,
  static const char* const sentences[] = { CLAP_REPORTS(CLAP_REPORT_TEXT) };
  print_kept_line(host);
  for (ClapReport r = 0; r < CLAP_N_REPORTS; ++r) {
    const uint32_t n = atomic_load_explicit(&host->n_reports[r], memory_order_relaxed);
    if (n && !host->is_reported[r]) {
      host->is_reported[r] = true;
      fprintf(stderr, "plugin clap %s: %s\n", host->id, sentences[r]);
    }
  }
}
