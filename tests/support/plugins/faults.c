// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Plugins that break the rules.  Each copies its input to its output.  `segv_run` and its kind end
  or stop the process in the phase of their label, `segv_thread` and its kind in a thread of the
  plugin, while other code runs; the others break one rule in run().  The control "After" is the
  number of blocks before that; with a negative number it never happens.

  The environment variable WARPRACK_FIXTURE makes the library itself fail: "hang_constructor" when
  it is loaded, "exit_descriptor" when its plugins are listed.
*/

#include "fixture.h"

#include "engine/base/macros.h"

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define N_THREADS    64U
#define MEMORY_BYTES ((size_t)2U << 30U)
#define MAX_FILES    256
#define CHILD_S      2U    // a forked child ends by itself
#define LATER_US     5000U // until a thread ends the process: no thread is in run() any more

enum { INPUT, OUTPUT, AFTER };

static const FixturePort ports[] = {
  { .kind = FIXTURE_INPUT, .name = "Input" },
  { .kind = FIXTURE_OUTPUT, .name = "Output" },
  { FIXTURE_CONTROL, "After", -1.1F, 1000000.1F, FIXTURE_0, FIXTURE_INTEGER },
};

// ---- ends ----

__attribute__((no_sanitize("address", "undefined"))) static void
end_segv(void)
{
  static int* volatile nowhere;
  *nowhere = 1;
}

static void
end_exit(void)
{
  exit(0);
}

static void
end_exit_at_once(void)
{
  _exit(0);
}

/// Use the stack up.
static int
end_overflow_from(const volatile char* const before)
{
  volatile char frame[4096];
  frame[0] = *before;
  return frame[0] ? 1 : end_overflow_from(frame) + *before;
}

static void
end_overflow(void)
{
  const volatile char first = 0;
  static volatile int depth;
  depth = depth + end_overflow_from(&first);
}

static void
end_hang(void)
{
  static volatile bool is_endless = true;
  while (is_endless) {
  }
}

/// Fail if `label` is "<end>_<phase>".
static void
end_in(const char* const phase, const char* const label)
{
  static const struct {
    const char* name;
    void (*end)(void);
  } ends[] = {
    { "segv_", end_segv }, { "abort_", abort },
    { "exit_", end_exit }, { "exit_at_once_", end_exit_at_once },
    { "hang_", end_hang }, { "overflow_", end_overflow },
  };
  for (size_t e = 0; label && e < ARRAY_LEN(ends); ++e) {
    const size_t n = strlen(ends[e].name);
    if (!strncmp(label, ends[e].name, n) && !strcmp(label + n, phase)) {
      ends[e].end();
    }
  }
}

void
fixture_enter(const FixturePhase phase, const Fixture* const fixture)
{
  static const char* const phases[] = {
    [FIXTURE_CONSTRUCTOR] = "constructor", [FIXTURE_DESCRIPTOR] = "descriptor",
    [FIXTURE_INSTANTIATE] = "instantiate", [FIXTURE_ACTIVATE] = "activate",
    [FIXTURE_CLEANUP] = "cleanup",
  };
  end_in(phases[phase], fixture ? fixture->label : getenv("WARPRACK_FIXTURE"));
}

// ---- broken rules ----

static void
play_nan(const FixtureCall* const call)
{
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[OUTPUT][i] = NAN;
  }
}

static void
allocate(const FixtureCall* const call)
{
  void* volatile const memory = malloc(call->n_frames);
  free(memory);
}

static void
lock(const FixtureCall* const call)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  (void)call;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

/// Ends the process where it finds a display, as some plugins with windows do where they find none.
static void
look_for_display(const FixtureCall* const call)
{
  (void)call;
  const char* const platform = getenv("QT_QPA_PLATFORM");
  if (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || !platform ||
      strcmp(platform, "offscreen")) {
    abort();
  }
}

static void
sleep_long(const FixtureCall* const call)
{
  (void)call;
  usleep(10000);
}

static void
print(const FixtureCall* const call)
{
  printf("plugin: %u frames\n", call->n_frames);
  fflush(stdout);
}

static void
write_input(const FixtureCall* const call)
{
  memset(call->ports[INPUT], 0, call->n_frames * sizeof(float));
}

/// Plays silence if input and output are the same buffer.
static void
clear_output_first(const FixtureCall* const call)
{
  memset(call->ports[OUTPUT], 0, call->n_frames * sizeof(float));
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[OUTPUT][i] += call->ports[INPUT][i];
  }
}

/// Round towards infinity, keep denormals.
static void
set_mxcsr(const FixtureCall* const call)
{
  (void)call;
#ifdef __SSE__
  _mm_setcsr(0x5F80U);
#endif
}

static void
set_locale(const FixtureCall* const call)
{
  (void)call;
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
    setlocale(LC_ALL, "C.UTF-8");
  }
}

static void
on_signal(const int number)
{
  _exit(number);
}

static void
set_handler(const FixtureCall* const call)
{
  (void)call;
  signal(SIGSEGV, on_signal);
}

static void
change_folder(const FixtureCall* const call)
{
  (void)call;
  if (chdir("/")) {
    abort();
  }
}

static void
close_descriptor(const FixtureCall* const call)
{
  (void)call;
  close(3);
}

/// Take the pages of all files in memory that the process shares with another one.
static void
remove_pages(const FixtureCall* const call)
{
  (void)call;
  for (int fd = STDERR_FILENO + 1; fd < MAX_FILES; ++fd) {
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)MEMORY_BYTES);
  }
}

// ---- broken once ----

/// As if a thread of the plugin were in the middle of printing for ever.
static void
hold_output(const FixtureCall* const call)
{
  (void)call;
  flockfile(stdout);
}

static void*
wait_for_ever(void* const nothing)
{
  pause();
  return nothing;
}

static void
start_threads(const FixtureCall* const call)
{
  (void)call;
  for (uint32_t t = 0; t < N_THREADS; ++t) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL)) {
      return;
    }
    pthread_detach(thread);
  }
}

static void*
end_thread(void* const label)
{
  usleep(LATER_US);
  end_in("thread", label);
  return NULL;
}

/// Let a thread of the plugin end the process if the label says so.
static void
end_in_thread(const char* const label)
{
  const char* const phase = strrchr(label, '_');
  pthread_t thread;
  if (phase && !strcmp(phase, "_thread") &&
      !pthread_create(&thread, NULL, end_thread, (void*)(uintptr_t)label)) {
    pthread_detach(thread);
  }
}

static void
take_memory(const FixtureCall* const call)
{
  (void)call;
  static char* volatile memory;
  memory = malloc(MEMORY_BYTES);
  if (memory) {
    memset(memory, 1, MEMORY_BYTES);
  }
}

static void
fork_child(const FixtureCall* const call)
{
  (void)call;
  if (fork() == 0) {
    sleep(CHILD_S);
    _exit(0);
  }
}

// ---- the plugins ----

static const struct {
  const char* label;
  void (*break_rule)(const FixtureCall* call);
  bool is_once;
} rules[] = {
  { "allocates", allocate, false },
  { "changes_folder", change_folder, false },
  { "changes_handler", set_handler, false },
  { "changes_locale", set_locale, false },
  { "changes_mxcsr", set_mxcsr, false },
  { "closes_descriptor", close_descriptor, false },
  { "forks", fork_child, true },
  { "holds_output", hold_output, true },
  { "in_place", clear_output_first, false },
  { "locks", lock, false },
  { "looks_for_display", look_for_display, false },
  { "nan", play_nan, false },
  { "prints", print, false },
  { "removes_pages", remove_pages, false },
  { "sleeps", sleep_long, false },
  { "starts_threads", start_threads, true },
  { "takes_memory", take_memory, true },
  { "writes_input", write_input, false },
};

static void
run(const Fixture* const fixture, const FixtureCall* const call)
{
  uint32_t* const n_runs = call->state;
  const float after = *call->ports[AFTER];
  const bool is_due = after >= 0.0F && (float)*n_runs >= after;
  const bool is_first = (float)*n_runs == after;
  ++*n_runs;
  if (call->ports[INPUT] != call->ports[OUTPUT]) {
    memcpy(call->ports[OUTPUT], call->ports[INPUT], call->n_frames * sizeof(float));
  }
  if (is_due) {
    end_in("run", fixture->label);
  }
  if (is_first) {
    end_in_thread(fixture->label);
  }
  for (size_t r = 0; r < ARRAY_LEN(rules); ++r) {
    if (!strcmp(fixture->label, rules[r].label) && is_due && (is_first || !rules[r].is_once)) {
      rules[r].break_rule(call);
    }
  }
}

#define FIXTURE(label)                                                                             \
  {                                                                                                \
    label, ports, ARRAY_LEN(ports), sizeof(uint32_t), run, NULL                                    \
  }
#define ENDS(phase)                                                                                \
  FIXTURE("segv_" phase), FIXTURE("abort_" phase), FIXTURE("exit_" phase), FIXTURE("hang_" phase)

const Fixture fixtures[] = {
  ENDS("instantiate"),
  ENDS("activate"),
  ENDS("run"),
  ENDS("cleanup"),
  FIXTURE("segv_thread"),
  FIXTURE("abort_thread"),
  FIXTURE("exit_thread"),
  FIXTURE("exit_at_once_thread"),
  FIXTURE("overflow_thread"),
  FIXTURE("exit_at_once_run"),
  FIXTURE("overflow_run"),
  FIXTURE("allocates"),
  FIXTURE("changes_folder"),
  FIXTURE("changes_handler"),
  FIXTURE("changes_locale"),
  FIXTURE("changes_mxcsr"),
  FIXTURE("closes_descriptor"),
  FIXTURE("forks"),
  FIXTURE("holds_output"),
  FIXTURE("in_place"),
  FIXTURE("locks"),
  FIXTURE("looks_for_display"),
  FIXTURE("nan"),
  FIXTURE("prints"),
  FIXTURE("removes_pages"),
  FIXTURE("sleeps"),
  FIXTURE("starts_threads"),
  FIXTURE("takes_memory"),
  FIXTURE("writes_input"),
};
const uint32_t n_fixtures = ARRAY_LEN(fixtures);
