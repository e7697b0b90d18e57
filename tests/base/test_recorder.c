// SPDX-License-Identifier: GPL-3.0-or-later
// The flight recorder names the node that a process was in, whatever ended it; in a thread without
// calls, by the code on its stack; the reader accepts no invalid word; calls nest; a thread that
// ends makes room for another one.

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
#include <sys/resource.h>
#include <sys/syscall.h>
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

/// Wait for the end of a process, which crashes, and return the call that the recorder names.
static RecorderCall
wait_for_crash(Recorder* const recorder, const pid_t child)
{
  RecorderCall call;
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  ck_assert(recorder_has_crashed(recorder, &call));
  return call;
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
play_and_end(void* const context)
{
  Recorder* const recorder = context;
  const uint64_t before = recorder_enter(33, RECORDER_RUN);
  ck_assert(!recorder_read(recorder, 0).is_of_player); // as a thread that measures
  recorder_thread_plays();
  ck_assert(recorder_read(recorder, 0).is_of_player);
  expect_call(recorder, 33, RECORDER_RUN);
  recorder_leave(before);
  recorder_thread_end();
  return NULL;
}

TEST(threads_that_play_are_marked_until_they_end)
{
  Recorder* const recorder = new_recorder();
  OK(recorder_attach(recorder_fd(recorder), &error));
  for (int n = 0; n < 2; ++n) { // the second one gets the line of the first
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, play_and_end, recorder), 0);
    pthread_join(thread, NULL);
    ck_assert(!recorder_read(recorder, 0).is_of_player);
  }
  recorder_free(recorder);
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
  RecorderCall call;
  ck_assert(!recorder_has_crashed(recorder, &call));
  for (size_t i = 0; i < ARRAY_LEN(invalid); ++i) {
    words[0] = UINT64_MAX;
    words[1] = invalid[i];
    ck_assert(recorder_has_crashed(recorder, &call));
    ck_assert_uint_eq(call.phase, RECORDER_NONE);
  }
  first[1] = 2;
  const bool is_of_player = recorder_read(recorder, 0).is_of_player;
  unsigned char byte = 0;
  memcpy(&byte, &is_of_player, sizeof(byte));
  ck_assert_uint_eq(byte, 1U); // a valid value of a bool
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

/// A breakpoint: where the thread goes on after it, only the signal ends the process.
static void
trap(void)
{
#if defined(__x86_64__)
  __asm__ volatile("int3");
#else
  raise(SIGTRAP);
#endif
}

/// Call a function that is not there.
__attribute__((no_sanitize("address", "undefined"))) static void
call_nowhere(void)
{
  static void (*volatile nowhere)(void);
  nowhere();
  nowhere = NULL; // the call is not the last one
}

static void
leave(void)
{
  exit(3);
}

static void
leave_quickly(void)
{
  quick_exit(3);
}

static const struct {
  void (*end)(void);
  int signal; ///< 0: it exits
} ends[] = {
  { write_nowhere, SIGSEGV }, { abort, SIGABRT }, { divide_by_zero, SIGFPE }, { trap, SIGTRAP },
  { call_nowhere, SIGSEGV },  { leave, 0 },       { leave_quickly, 0 },
};

/// Where the code of the thread that ends the process comes from.
typedef enum Origin {
  IN_A_CALL,  ///< The thread is in a call
  OF_ONE,     ///< It has no call; its library belongs to one node
  OF_SEVERAL, ///< ... to two nodes
  OF_NONE,    ///< ... to no node
} Origin;

typedef struct Ending {
  Origin origin;
  int end; ///< Index
} Ending;

/// `context`: an Ending.
static void*
crash(void* const context)
{
  const Ending* const ending = context;
  if (ending->origin == IN_A_CALL) {
    (void)recorder_enter(44, RECORDER_RUN);
  }
  ends[ending->end].end();
  return NULL;
}

/// A process with two threads, of which the first is in a call, and the second one ends it.
static void
run_and_end(const Recorder* const recorder, Ending ending)
{
  Error error;
  pthread_t thread;
  for (size_t e = 0; e < ARRAY_LEN(ends) && ends[e].signal; ++e) {
    signal(ends[e].signal, SIG_DFL); // a sanitizer's handler exits
  }
  prctl(PR_SET_DUMPABLE, 0);
  if (!recorder_attach(recorder_fd(recorder), &error)) {
    for (uint32_t n = 0; n < (ending.origin == OF_ONE       ? 1U
                              : ending.origin == OF_SEVERAL ? 2U
                                                            : 0U);
         ++n) {
      const uint64_t before = recorder_enter(50U + n, RECORDER_INSTANTIATE);
      recorder_add_code(ends); // this program is the library
      recorder_add_code(ends);
      recorder_leave(before);
    }
    (void)recorder_enter(43, RECORDER_RUN);
    pthread_create(&thread, NULL, crash, &ending);
    pthread_join(thread, NULL);
  }
  _exit(99);
}

/// The call that the handler stores for an ending; `*has_crashed`: it has run.
static RecorderCall
end_of(const Ending ending, bool* const has_crashed)
{
  Recorder* const recorder = new_recorder();
  const pid_t child = fork();
  if (child == 0) {
    run_and_end(recorder, ending);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  const int expected = ends[ending.end].signal; // as without a recorder
  ck_assert_int_eq(WIFSIGNALED(status) ? WTERMSIG(status) : 0, expected);
  RecorderCall call;
  *has_crashed = recorder_has_crashed(recorder, &call);
  recorder_free(recorder);
  return call;
}

TEST_ROWS(the_thread_that_ends_the_process_is_named, ends)
{
  bool has_crashed = false;
  const RecorderCall call = end_of((Ending){ IN_A_CALL, row }, &has_crashed);
  ck_assert(has_crashed);
  ck_assert_uint_eq(call.node, 44U);
  ck_assert_uint_eq(call.phase, RECORDER_RUN);
  ck_assert(!call.is_shared);
}

TEST_ROWS(a_thread_without_calls_is_named_by_its_library, ends)
{
  bool has_crashed = false;
  const RecorderCall call = end_of((Ending){ OF_ONE, row }, &has_crashed);
  ck_assert(has_crashed);
  ck_assert_uint_eq(call.node, 50U);
  ck_assert_uint_eq(call.phase, RECORDER_THREAD);
  ck_assert(!call.is_shared);
}

TEST_ROWS(a_library_of_two_nodes_names_none_of_them, ends)
{
  bool has_crashed = false;
  const RecorderCall call = end_of((Ending){ OF_SEVERAL, row }, &has_crashed);
  ck_assert(has_crashed);
  ck_assert_uint_eq(call.phase, RECORDER_THREAD);
  ck_assert(call.is_shared);
}

TEST_ROWS(code_of_no_node_names_nobody, ends)
{
  bool has_crashed = false;
  const RecorderCall call = end_of((Ending){ OF_NONE, row }, &has_crashed);
  ck_assert(has_crashed == (ends[row].signal != 0)); // an exit outside of calls is no crash
  ck_assert_uint_eq(call.phase, RECORDER_NONE);
}

// ---- a stack that overflows ----

/// Use the stack up.
static int
overflow(const volatile char* const before)
{
  volatile char frame[4096];
  frame[0] = *before;
  return frame[0] ? 1 : overflow(frame) + *before;
}

TEST(the_main_thread_is_named_also_when_its_stack_overflows)
{
  const struct rlimit small = { 1U << 20U, 1U << 20U };
  Recorder* const recorder = new_recorder();
  const pid_t child = fork();
  if (child == 0) {
    Error error;
    signal(SIGSEGV, SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_STACK, &small);
    if (!recorder_attach(recorder_fd(recorder), &error)) {
      const volatile char first = 0;
      (void)recorder_enter(43, RECORDER_INSTANTIATE);
      (void)overflow(&first);
    }
    _exit(99);
  }
  const RecorderCall call = wait_for_crash(recorder, child);
  ck_assert_uint_eq(call.node, 43U);
  ck_assert_uint_eq(call.phase, RECORDER_INSTANTIATE);
  recorder_free(recorder);
}

// ---- an exit whose destructors let another thread crash ----

static atomic_bool has_begun; // the other thread is in its call
static atomic_bool is_freed;  // what the other thread uses

static void*
run_until_freed(void* const context)
{
  (void)context;
  (void)recorder_enter(43, RECORDER_RUN);
  atomic_store(&has_begun, true);
  while (!atomic_load(&is_freed)) {
    usleep(1000);
  }
  write_nowhere();
  return NULL;
}

static void
destroy(void)
{
  atomic_store(&is_freed, true);
  pause(); // until the other thread has crashed
}

/// A plugin that has a destructor calls exit() while another thread is in a call.
static void
exit_with_a_destructor(const Recorder* const recorder)
{
  Error error;
  pthread_t thread;
  signal(SIGSEGV, SIG_DFL);
  prctl(PR_SET_DUMPABLE, 0);
  if (recorder_attach(recorder_fd(recorder), &error)) {
    _exit(99);
  }
  const uint64_t before = recorder_enter(44, RECORDER_INSTANTIATE);
  atexit(destroy); // as the constructor of a library does when it is loaded
  recorder_add_code(ends);
  recorder_leave(before);
  pthread_create(&thread, NULL, run_until_freed, NULL);
  while (!atomic_load(&has_begun)) {
    usleep(1000);
  }
  (void)recorder_enter(44, RECORDER_WORK);
  exit(3);
}

TEST(an_exit_is_named_rather_than_the_crash_that_its_destructors_cause)
{
  Recorder* const recorder = new_recorder();
  const pid_t child = fork();
  if (child == 0) {
    exit_with_a_destructor(recorder);
  }
  const RecorderCall call = wait_for_crash(recorder, child);
  ck_assert_uint_eq(call.node, 44U);
  ck_assert_uint_eq(call.phase, RECORDER_WORK);
  recorder_free(recorder);
}

static void
kill_it(const pid_t process)
{
  kill(process, SIGSEGV);
}

static void
queue_it(const pid_t process)
{
  sigqueue(process, SIGSEGV, (union sigval){ .sival_int = 1 });
}

static void
kill_its_thread(const pid_t process)
{
  syscall(SYS_tgkill, process, process, SIGSEGV);
}

static void (*const kills[])(pid_t process) = { kill_it, queue_it, kill_its_thread };

TEST_ROWS(a_signal_from_another_process_names_nobody, kills)
{
  Recorder* const recorder = new_recorder();
  const pid_t child = fork();
  if (child == 0) {
    Error error;
    signal(SIGSEGV, SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    if (!recorder_attach(recorder_fd(recorder), &error)) {
      (void)recorder_enter(43, RECORDER_RUN);
      pause();
    }
    _exit(99);
  }
  while (recorder_read(recorder, 0).node != 43U) {
    usleep(1000);
  }
  kills[row](child);
  ck_assert_uint_eq(wait_for_crash(recorder, child).phase, RECORDER_NONE);
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
  RecorderCall call;
  ck_assert(!recorder_has_crashed(recorder, &call));
  recorder_free(recorder);
}

SUITE_MAIN("recorder")
