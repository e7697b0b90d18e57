// SPDX-License-Identifier: GPL-3.0-or-later
// Audio threads on Linux: scheduling, memory, floating-point mode and futex.

#include "rt.h"

#include "time.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define STACK_TOUCHED_BYTES (256U << 10U) // deeper than any audio path of the program
#ifdef __SANITIZE_THREAD__                // keeps its data of a thread in the stack
#define STACK_BYTES (4U << 20U)
#else
#define STACK_BYTES (1U << 20U)
#endif
#define LINE_BYTES 64U
#define HANDLER_STACK_BYTES                                                                        \
  (32U << 10U)                        // for a handler of signals that looks at the thread's stack
#define MAPPED_FROM_BYTES (32 << 20)  // the most that mallopt() accepts
#define HUGE_FROM_BYTES   (4U << 20U) // two huge pages of x86: one of them fits at any address

void
rt_flush_denormals(void)
{
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040U); // FTZ is bit 15, DAZ bit 6 of MXCSR
#elif defined(__aarch64__)
  uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | (1U << 24U))); // FZ
#endif
}

uint64_t
rt_float_mode(void)
{
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3FU; // without the flags of past exceptions
#elif defined(__aarch64__)
  uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
#else
  return 0;
#endif
}

void
rt_keep_float_mode(const uint64_t mode)
{
  if (rt_float_mode() == mode) {
    return;
  }
#if defined(__x86_64__)
  _mm_setcsr((uint32_t)mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

/// All signals except those that a fault raises in the thread itself: if such a signal is blocked,
/// the kernel kills the process.
static void
asynchronous_signals(sigset_t* const set)
{
  static const int synchronous[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
  sigfillset(set);
  for (size_t i = 0; i < ARRAY_LEN(synchronous); ++i) {
    sigdelset(set, synchronous[i]);
  }
}

typedef struct Start {
  void* (*run)(void* context);
  void* context;
} Start;

/// Let handlers of signals run on memory[HANDLER_STACK_BYTES].  Returns false if this thread has a
/// stack for handlers already, for example of a sanitizer; `before`: what it had.
static bool
use_handler_stack(char* const memory, stack_t* const before)
{
  const stack_t own = { .ss_sp = memory, .ss_size = HANDLER_STACK_BYTES };
  return !sigaltstack(NULL, before) && before->ss_flags == SS_DISABLE && !sigaltstack(&own, NULL);
}

void
rt_main_handler_stack(void)
{
  static char memory[HANDLER_STACK_BYTES];
  stack_t before = { .ss_flags = SS_DISABLE };
  (void)use_handler_stack(memory, &before);
}

/// Run a thread.  Handlers of signals have a stack of their own, so that they also run after the
/// thread's stack has overflowed.
static void*
run_thread(void* const context)
{
  const Start start = *(Start*)context;
  free(context);
  char memory[HANDLER_STACK_BYTES];
  stack_t before = { .ss_flags = SS_DISABLE };
  const bool is_own = use_handler_stack(memory, &before);
  void* const result = start.run(start.context);
  if (is_own) {
    sigaltstack(&before, NULL);
  }
  return result;
}

void
rt_limit_stacks(void)
{
  pthread_attr_t attributes;
  if (!pthread_getattr_default_np(&attributes)) {
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
}

Status
rt_thread_start(const char* const name, void* (*const run)(void* context), void* const context,
                pthread_t* const thread, Error* const error)
{
  sigset_t blocked;
  sigset_t before;
  Start* const start = malloc(sizeof(*start));
  if (!start) {
    return error_set(error, STATUS_NO_MEM, "cannot start thread %s: out of memory", name);
  }
  *start = (Start){ run, context };
  asynchronous_signals(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before); // inherited by the new thread
  const int failure = pthread_create(thread, NULL, run_thread, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure) {
    free(start);
    return error_set(error, STATUS_NO_MEM, "cannot start thread %s: %s", name, strerror(failure));
  }
  pthread_setname_np(*thread, name);
  return STATUS_OK;
}

static void __attribute__((noinline)) touch_stack(void)
{
  volatile char stack[STACK_TOUCHED_BYTES];
  for (size_t i = 0; i < sizeof(stack); i += 1024U) {
    stack[i] = 0;
  }
}

Status
rt_become_realtime(const int priority, Error* const error)
{
  touch_stack();
  // 0 is this thread, not the process.  Threads and processes that it starts have normal priority.
  const struct sched_param param = { .sched_priority = priority };
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0) {
    return STATUS_OK;
  }
  return error_set(error, STATUS_LIMIT,
                   "no real-time priority %d (%s): audio may drop out under load; "
                   "join the group 'audio' or raise the limit 'rtprio', see limits.conf(5)",
                   priority, strerror(errno));
}

typedef struct Trial {
  int priority;
  Status status;
  Error error;
} Trial;

static void*
run_trial(void* const context)
{
  Trial* const trial = context;
  trial->status = rt_become_realtime(trial->priority, &trial->error);
  return NULL;
}

Status
rt_try_realtime(const int priority, Error* const error)
{
  Trial trial = { .priority = priority };
  pthread_t thread;
  const Status status = rt_thread_start("warprack-trial", run_trial, &trial, &thread, error);
  if (status) {
    return status;
  }
  pthread_join(thread, NULL);
  return trial.status ? error_set(error, trial.status, "%s", trial.error.text) : STATUS_OK;
}

/// True if this process may lock any amount of memory.
static bool
may_lock_everything(void)
{
  struct rlimit limit = { 0, 0 };
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) {
    return true;
  }
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1U << CAP_IPC_LOCK));
}

static atomic_bool is_locked;

Status
rt_lock_memory(Error* const error)
{
  touch_stack();
  if (!may_lock_everything()) {
    return error_set(error, STATUS_LIMIT,
                     "memory is not locked: audio may drop out when memory is short; join the "
                     "group 'audio' or make the limit 'memlock' unlimited, see limits.conf(5)");
  }
  if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
    return error_set(error, STATUS_LIMIT, "memory is not locked: %s", strerror(errno));
  }
  atomic_store(&is_locked, true);
  return STATUS_OK;
}

Status
rt_lock_on_fault(Error* const error)
{
  if (!atomic_load(&is_locked)) {
    return STATUS_OK;
  }
  mallopt(M_TRIM_THRESHOLD, -1); // ends the adaptation of the other threshold
  mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) {
    return error_set(error, STATUS_LIMIT,
                     "memory that plugins reserve is locked before they use it: %s",
                     strerror(errno));
  }
  return STATUS_OK;
}

/// Let large memory have huge pages, unless its pages are locked: then small pages are there
/// already, and while the kernel exchanges them, the audio threads of both processes lose blocks.
static void
ask_for_huge_pages(char* const memory, const size_t n_bytes)
{
  if (n_bytes >= HUGE_FROM_BYTES && !atomic_load(&is_locked)) {
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t skipped = -(uintptr_t)memory % page_bytes;
    madvise(memory + skipped, (n_bytes - skipped) / page_bytes * page_bytes, MADV_HUGEPAGE);
  }
}

void*
rt_memory(const size_t n_bytes)
{
  const size_t n_lines = n_bytes ? (n_bytes + LINE_BYTES - 1U) / LINE_BYTES : 1U;
  void* const memory = aligned_alloc(LINE_BYTES, n_lines * LINE_BYTES);
  if (memory) {
    ask_for_huge_pages(memory, n_bytes);
  }
  return memory ? memset(memory, 0, n_lines * LINE_BYTES) : NULL;
}

void
rt_touch_shared(const void* const memory, const size_t n_bytes)
{
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  const volatile char* const bytes = memory;
  for (size_t i = 0; i < n_bytes; i += page_bytes) {
    (void)bytes[i];
  }
}

void
rt_futex_wait(_Atomic uint32_t* const word, const uint32_t expected, const uint64_t timeout_ns)
{
  const struct timespec timeout = time_spec(timeout_ns);
  syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL,
          0);
}

void
rt_futex_wake(_Atomic uint32_t* const word)
{
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void
rt_futex_wake_one(_Atomic uint32_t* const word)
{
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void
rt_pause(void)
{
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// The disabled state alone is not enough: in glibc 2.36 a cancellation that was sent before arrives
// later as a signal, and ends a thread of asynchronous type in any state.
CancelMode
rt_hold_cancel(void)
{
  CancelMode before;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before.type);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.state);
  return before;
}

void
rt_allow_cancel(const CancelMode before)
{
  pthread_setcancelstate(before.state, NULL);
  pthread_setcanceltype(before.type, NULL);
}
