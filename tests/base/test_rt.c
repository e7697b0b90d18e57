// SPDX-License-Identifier: GPL-3.0-or-later
// Audio threads get their privileges or report why they do not; their memory is zeroed; the futex
// sleeps and wakes correctly.

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "tests/support/sanitized.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST(denormals_are_flushed_as_results_and_as_operands)
{
  volatile float smallest = FLT_MIN;
  volatile float denormal = FLT_MIN / 4.0F;
  ck_assert(smallest / 2.0F > 0.0F);
  ck_assert(denormal * 1e10F > 0.0F);
  rt_flush_denormals();
  ck_assert(smallest / 2.0F == 0.0F);
  ck_assert(denormal * 1e10F == 0.0F);
}

TEST(a_float_mode_returns_and_ignores_past_exceptions)
{
  const uint64_t before = rt_float_mode();
  volatile float tiny = FLT_MIN;
  tiny = tiny * tiny; // raises the flag of an underflow
  ck_assert_uint_eq(rt_float_mode(), before);
  rt_flush_denormals();
  const uint64_t flushing = rt_float_mode();
  ck_assert_uint_ne(flushing, before);
  rt_keep_float_mode(before);
  ck_assert_uint_eq(rt_float_mode(), before);
  volatile float denormal = FLT_MIN / 4.0F;
  ck_assert(denormal * 1e10F > 0.0F);
  rt_keep_float_mode(flushing);
  ck_assert(denormal * 1e10F == 0.0F);
}

TEST(memory_is_zeroed_and_begins_a_cache_line)
{
  static const size_t sizes[] = { 0, 1, 64, 65, 100000 };
  for (size_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    SCOPED_MEMORY unsigned char* const memory = rt_memory(sizes[s]);
    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq((uintptr_t)memory % 64U, 0);
    size_t n_zeros = 0;
    while (n_zeros < sizes[s] && memory[n_zeros] == 0U) {
      ++n_zeros;
    }
    ck_assert_uint_eq(n_zeros, sizes[s]);
    memset(memory, 1, sizes[s]); // the next allocation may find it
  }
}

/// True if the kernel was asked for huge pages in the mapping that has `at`.
static bool
is_asked_for_huge(const void* const at)
{
  FILE* const maps = fopen("/proc/self/smaps", "r");
  ck_assert_ptr_nonnull(maps);
  char line[512];
  bool is_here = false;
  bool is_asked = false;
  while (fgets(line, sizeof(line), maps)) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      is_here = begin <= (uintptr_t)at && (uintptr_t)at < end;
    }
    is_asked |= is_here && !strncmp(line, "VmFlags:", 8) && strstr(line, " hg");
  }
  fclose(maps);
  return is_asked;
}

TEST(large_memory_asks_for_huge_pages_unless_it_is_locked)
{
  enum { BYTES = 64 << 20 };
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK)) {
    return;
  }
  SCOPED_MEMORY char* const memory = rt_memory(BYTES);
  ck_assert(is_asked_for_huge(memory + BYTES / 2));
  Error error;
  if (!rt_lock_memory(&error)) {
    SCOPED_MEMORY char* const locked = rt_memory(BYTES);
    ck_assert(!is_asked_for_huge(locked + BYTES / 2));
  }
}

typedef struct Seen {
  char name[16];
  sigset_t mask;
} Seen;

static void*
look_around(void* const context)
{
  Seen* const seen = context;
  while (strcmp(seen->name, "test-thread") != 0) { // its creator sets the name
    pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
  }
  pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
  return NULL;
}

TEST(a_thread_has_its_name_and_blocks_signals)
{
  Seen seen = { .name = "" };
  pthread_t thread;
  ck_assert(rt_thread_start("test-thread", look_around, &seen, &thread, NULL) == STATUS_OK);
  pthread_join(thread, NULL);
  ck_assert(sigismember(&seen.mask, SIGINT) && sigismember(&seen.mask, SIGTERM));
  ck_assert(!sigismember(&seen.mask, SIGSEGV) && !sigismember(&seen.mask, SIGSYS));
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, NULL, &own);
  ck_assert(!sigismember(&own, SIGINT));
}

static void*
stack_bytes(void* const context)
{
  pthread_attr_t attributes;
  ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
  ck_assert_int_eq(pthread_attr_getstacksize(&attributes, context), 0);
  pthread_attr_destroy(&attributes);
  return NULL;
}

TEST(stacks_are_smaller_when_they_are_limited)
{
  size_t n_bytes[2] = { 0, 0 };
  if (skip_sanitized("stacks are larger with ThreadSanitizer")) {
    return;
  }
  for (uint32_t i = 0; i < 2U; ++i) {
    pthread_t thread;
    ck_assert(rt_thread_start("test-thread", stack_bytes, &n_bytes[i], &thread, NULL) == STATUS_OK);
    pthread_join(thread, NULL);
    rt_limit_stacks();
  }
  ck_assert_uint_gt(n_bytes[0], 1U << 20U);
  ck_assert_uint_eq(n_bytes[1], 1U << 20U);
}

/// Use the stack up.
static int
overflow(const volatile char* const before)
{
  volatile char frame[4096];
  frame[0] = *before;
  return frame[0] ? 1 : overflow(frame) + *before;
}

static void*
overflow_thread(void* const unused)
{
  const volatile char first = 0;
  return overflow(&first) ? unused : NULL;
}

static void
end_by_handler(const int number)
{
  (void)number;
  _exit(33);
}

TEST(handlers_run_after_the_stack_of_a_thread_has_overflowed)
{
  const pid_t child = fork();
  if (child == 0) {
    const struct sigaction action = { .sa_handler = end_by_handler, .sa_flags = SA_ONSTACK };
    sigaction(SIGSEGV, &action, NULL);
    pthread_t thread;
    Error error;
    if (!rt_thread_start("warprack-test", overflow_thread, NULL, &thread, &error)) {
      pthread_join(thread, NULL);
    }
    _exit(99);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 33);
}

TEST(real_time_priority_is_granted_or_refused_with_a_reason)
{
  Error error = { STATUS_OK, "" };
  const Status status = rt_become_realtime(5, &error);
  const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  if (status == STATUS_OK) {
    ck_assert_int_eq(policy, SCHED_FIFO);
  } else {
    ck_assert_int_eq(status, STATUS_LIMIT);
    ck_assert_int_eq(policy, SCHED_OTHER);
    assert_says(error.text, "rtprio");
  }
  ck_assert(rt_become_realtime(1000, &error) == STATUS_LIMIT); // no such priority
  assert_says(error.text, "1000");
}

TEST(memory_is_locked_or_refused_with_a_reason)
{
  Error error = { STATUS_OK, "" };
  const Status status = rt_lock_memory(&error);
  ck_assert(status == STATUS_OK || (status == STATUS_LIMIT && error.text[0]));
}

#define N_PAGES 4096U

/// The pages of a new mapping that are in memory before anybody touches them.
static uint32_t
count_present(void)
{
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char present[N_PAGES];
  void* const memory =
      mmap(NULL, N_PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  ck_assert_int_eq(mincore(memory, N_PAGES * page_bytes, present), 0);
  munmap(memory, N_PAGES * page_bytes);
  uint32_t n = 0;
  for (uint32_t p = 0; p < N_PAGES; ++p) {
    n += present[p] & 1U;
  }
  return n;
}

/// Lock memory.  Returns false if this process may not, or a sanitizer ignores it.
static bool
is_locked(void)
{
  return !skip_sanitized("the sanitizer locks no memory") && !rt_lock_memory(NULL);
}

TEST(memory_that_is_locked_on_fault_is_not_there_before_it_is_touched)
{
  OK(rt_lock_on_fault(&error)); // does nothing without locked memory
  ck_assert_uint_eq(count_present(), 0);
  if (is_locked()) {
    ck_assert_uint_eq(count_present(), N_PAGES);
    OK(rt_lock_on_fault(&error));
    ck_assert_uint_eq(count_present(), 0);
  }
}

/// Lock memory on fault.  Returns false if this process may not.
static bool
is_locked_on_fault(void)
{
  if (!is_locked()) {
    return false;
  }
  OK(rt_lock_on_fault(&error));
  return count_present() == 0U;
}

/// Page faults of this thread.
static long
count_faults(void)
{
  struct rusage usage;
  ck_assert_int_eq(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_minflt;
}

#define PIECE_BYTES (300U << 10U) // malloc() maps pieces of this size at first

TEST(a_large_piece_of_memory_is_used_again_without_faults)
{
  if (!is_locked_on_fault()) {
    return;
  }
  long before = 0;
  for (uint32_t n = 0; n < 100U; ++n) {
    before = n == 1U ? count_faults() : before;
    SCOPED_MEMORY char* const memory = malloc(PIECE_BYTES);
    for (size_t i = 0; i < PIECE_BYTES; i += 1024U) {
      *(volatile char*)&memory[i] = 1;
    }
  }
  ck_assert_int_lt(count_faults() - before, 10);
}

#define DEEP_BYTES (128U << 10U)

static void __attribute__((noinline)) go_deep(void)
{
  volatile char stack[DEEP_BYTES];
  for (size_t i = 0; i < sizeof(stack); i += 1024U) {
    stack[i] = 1;
  }
}

static void*
count_faults_of_stack(void* const context)
{
  (void)rt_become_realtime(5, NULL); // not every user may
  const long before = count_faults();
  go_deep();
  *(long*)context = count_faults() - before;
  return NULL;
}

TEST(a_realtime_thread_has_its_stack_at_once)
{
  pthread_t thread;
  long n_faults = 0;
  if (is_locked_on_fault()) {
    OK(rt_thread_start("test-thread", count_faults_of_stack, &n_faults, &thread, &error));
    pthread_join(thread, NULL);
  }
  ck_assert_int_lt(n_faults, 3);
}

TEST(a_user_who_may_not_lock_memory_on_fault_is_told_why)
{
  const struct rlimit none = { 0, 0 };
  Error why = { STATUS_OK, "" };
  if (is_locked_on_fault() && !setrlimit(RLIMIT_MEMLOCK, &none) && !seteuid(65534)) {
    ck_assert_int_eq(rt_lock_on_fault(&why), STATUS_LIMIT);
    ck_assert_ptr_nonnull(strstr(why.text, strerror(EPERM)));
  }
}

TEST(a_futex_does_not_sleep_on_a_changed_word)
{
  _Atomic uint32_t word = 1;
  rt_futex_wait(&word, 2, UINT64_MAX); // must return, or the test times out
}

TEST(a_futex_sleeps_until_its_time_is_over)
{
  _Atomic uint32_t word = 1;
  const uint64_t began = time_now_ns();
  while (time_now_ns() - began < 20000000U) { // may wake spuriously
    rt_futex_wait(&word, 1, 20000000U);
  }
}

static void*
wake_later(void* const context)
{
  _Atomic uint32_t* const word = context;
  const struct timespec pause = { 0, 5000000 };
  nanosleep(&pause, NULL);
  atomic_store(word, 2);
  rt_futex_wake(word);
  return NULL;
}

TEST(a_futex_sleeper_is_woken)
{
  _Atomic uint32_t word = 1;
  pthread_t thread;
  ck_assert(rt_thread_start("test-waker", wake_later, &word, &thread, NULL) == STATUS_OK);
  while (atomic_load(&word) == 1U) {
    rt_futex_wait(&word, 1, UINT64_MAX);
  }
  pthread_join(thread, NULL);
}

SUITE_MAIN("rt")
