// SPDX-License-Identifier: GPL-3.0-or-later
// The flight recorder names the node that a process was in, whatever ended it; the reader accepts
// no invalid word; calls nest; a thread that ends makes room for another one.

#include "engine/base/recorder.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_BYTES 64U

static Recorder*
new_recorder(void)
{
  Recorder* recorder = NULL;
  OK(recorder_new(&recorder, &error));
  return recorder;
}

static void
expect_call(const Recorder* const recorder, const uint32_t node, const RecorderPhase phase)
{
  const RecorderCall call = recorder_read(recorder, 0);
  ck_assert_uint_eq(call.node, node);
  ck_assert_uint_eq(call.phase, phase);
}

TEST(calls_nest_and_each_has_a_number)
{
  Recorder* const recorder = new_recorder();
  OK(recorder_attach(recorder_fd(recorder), &error));
  ck_assert_uint_eq(recorder_node(), 0U);
  const uint64_t none = recorder_enter(20, RECORDER_INSTANTIATE);
  expect_call(recorder, 20, RECORDER_INSTANTIATE);
  const uint32_t first = recorder_read(recorder, 0).number;
  const uint64_t outer = recorder_enter(21, RECORDER_RUN);
  expect_call(recorder, 21, RECORDER_RUN);
  ck_assert_uint_eq(recorder_node(), 21U);
  recorder_leave(outer);
  expect_call(recorder, 20, RECORDER_INSTANTIATE);
  recorder_leave(none);
  expect_call(recorder, 0, RECORDER_NONE);
  recorder_leave(recorder_enter(20, RECORDER_INSTANTIATE));
  const uint64_t again = recorder_enter(20, RECORDER_INSTANTIATE);
  ck_assert_uint_ne(recorder_read(recorder, 0).number, first);
  recorder_leave(again);
  recorder_free(recorder);
}

TEST(without_a_recorder_nothing_is_recorded)
{
  const uint64_t before = recorder_enter(20, RECORDER_RUN);
  ck_assert_uint_eq(recorder_node(), 20U);
  recorder_leave(before);
  ck_assert_uint_eq(recorder_node(), 0U);
  recorder_thread_end();
}

static void*
call_and_end(void* const context)
{
  (void)context;
  recorder_leave(recorder_enter(30, RECORDER_RUN));
  recorder_thread_end();
  return NULL;
}

TEST(threads_that_end_make_room)
{
  Recorder* const recorder = new_recorder();
  OK(recorder_attach(recorder_fd(recorder), &error));
  for (uint32_t t = 0; t < 2U * RECORDER_THREADS; ++t) {
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, call_and_end, NULL), 0);
    pthread_join(thread, NULL);
  }
  const uint64_t before = recorder_enter(31, RECORDER_WORK);
  expect_call(recorder, 31, RECORDER_WORK);
  recorder_leave(before);
  recorder_free(recorder);
}

TEST(invalid_words_are_no_calls)
{
  Recorder* const recorder = new_recorder();
  uint64_t* const words =
      mmap(NULL, LINE_BYTES * 2U, PROT_READ | PROT_WRITE, MAP_SHARED, recorder_fd(recorder), 0);
  ck_assert_ptr_ne(words, MAP_FAILED);
  uint64_t* const first = words + LINE_BYTES / sizeof(uint64_t);
  *first = (uint64_t)RECORDER_RUN << 32U | 77U;
  expect_call(recorder, 77, RECORDER_RUN);
  static const uint64_t invalid[] = { 77, (uint64_t)RECORDER_N_PHASES << 32U | 77U,
                                      255ULL << 32U | 77U };
  for (size_t i = 0; i < ARRAY_LEN(invalid); ++i) {
    *first = invalid[i];
    expect_call(recorder, 0, RECORDER_NONE);
  }
  uint32_t thread = 0;
  ck_assert(!recorder_has_crashed(recorder, &thread));
  words[0] = UINT64_MAX;
  ck_assert(recorder_has_crashed(recorder, &thread));
  ck_assert_uint_eq(thread, RECORDER_THREADS);
  munmap(words, LINE_BYTES * 2U);
  recorder_free(recorder);
}

TEST(other_descriptors_are_refused)
{
  SCOPED_FD const int plain = memfd_create("plain", MFD_CLOEXEC);
  SCOPED_FD const int sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(recorder_attach(plain, &error), STATUS_BAD_ARG);
  ck_assert_int_eq(recorder_attach(sealed, &error), STATUS_BAD_ARG);
  ck_assert_str_eq(error.text, "not the memory of a flight recorder");
}

TEST(the_size_of_the_memory_is_fixed)
{
  Recorder* const recorder = new_recorder();
  ck_assert_int_ne(ftruncate(recorder_fd(recorder), 0), 0);
  ck_assert_int_ne(ftruncate(recorder_fd(recorder), 1 << 20), 0);
  recorder_free(recorder);
}

// ---- ends of a process ----

static void
divide_by_zero(void)
{
  raise(SIGFPE);
}

__attribute__((no_sanitize("address", "undefined"))) static void
write_nowhere(void)
{
  static int* volatile nowhere;
  *nowhere = 1;
}

static void
leave(void)
{
  exit(3);
}

static const struct {
  void (*end)(void);
  int signal; ///< 0: it exits
} ends[] = {
  { write_nowhere, SIGSEGV },
  { abort, SIGABRT },
  { divide_by_zero, SIGFPE },
  { leave, 0 },
};

/// `context`: index of an end.
static void*
crash(void* const context)
{
  (void)recorder_enter(44, RECORDER_RUN);
  ends[*(const int*)context].end();
  return NULL;
}

/// A process with two threads in calls, of which the second one ends it.
static void
run_and_end(const Recorder* const recorder, int end)
{
  Error error;
  pthread_t thread;
  for (size_t e = 0; e < ARRAY_LEN(ends) && ends[e].signal; ++e) {
    signal(ends[e].signal, SIG_DFL); // a sanitizer's handler exits
  }
  prctl(PR_SET_DUMPABLE, 0);
  if (!recorder_attach(recorder_fd(recorder), &error)) {
    (void)recorder_enter(43, RECORDER_RUN);
    pthread_create(&thread, NULL, crash, &end);
    pthread_join(thread, NULL);
  }
  _exit(99);
}

TEST_ROWS(the_thread_that_ends_the_process_is_named, ends)
{
  Recorder* const recorder = new_recorder();
  const pid_t child = fork();
  if (child == 0) {
    run_and_end(recorder, row);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ends[row].signal); // as without it
  uint32_t thread = 0;
  ck_assert(recorder_has_crashed(recorder, &thread));
  ck_assert_uint_lt(thread, RECORDER_THREADS);
  ck_assert_uint_eq(recorder_read(recorder, thread).node, 44U);
  recorder_free(recorder);
}

TEST(a_child_of_the_process_is_not_it)
{
  Recorder* const recorder = new_recorder();
  OK(recorder_attach(recorder_fd(recorder), &error));
  (void)recorder_enter(45, RECORDER_RUN);
  const pid_t child = fork();
  if (child == 0) {
    exit(0);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  uint32_t thread = 0;
  ck_assert(!recorder_has_crashed(recorder, &thread));
  recorder_free(recorder);
}

SUITE_MAIN("recorder")
