// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by the parts of the real-time trap: the list of calls, and the record of each thread.
#ifndef WARPRACK_TESTS_RT_TRAP_NET_H
#define WARPRACK_TESTS_RT_TRAP_NET_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/types.h>
#include <time.h>

// Functions that only count and forward: type, name, parameters, arguments.
#define FORWARDED(X)                                                                               \
  X(int, posix_memalign, (void** a, size_t b, size_t c), (a, b, c))                                \
  X(void*, mmap, (void* a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f))            \
  X(int, munmap, (void* a, size_t b), (a, b))                                                      \
  X(int, mprotect, (void* a, size_t b, int c), (a, b, c))                                          \
  X(int, madvise, (void* a, size_t b, int c), (a, b, c))                                           \
  X(int, brk, (void* a), (a))                                                                      \
  X(void*, sbrk, (intptr_t a), (a))                                                                \
  X(int, pthread_mutex_lock, (pthread_mutex_t * a), (a))                                           \
  X(int, pthread_mutex_trylock, (pthread_mutex_t * a), (a))                                        \
  X(int, pthread_mutex_timedlock, (pthread_mutex_t * a, const struct timespec* b), (a, b))         \
  X(int, pthread_spin_lock, (pthread_spinlock_t * a), (a))                                         \
  X(int, pthread_rwlock_rdlock, (pthread_rwlock_t * a), (a))                                       \
  X(int, pthread_rwlock_wrlock, (pthread_rwlock_t * a), (a))                                       \
  X(int, pthread_cond_wait, (pthread_cond_t * a, pthread_mutex_t * b), (a, b))                     \
  X(int, pthread_cond_timedwait,                                                                   \
    (pthread_cond_t * a, pthread_mutex_t * b, const struct timespec* c), (a, b, c))                \
  X(int, pthread_cond_signal, (pthread_cond_t * a), (a))                                           \
  X(int, pthread_cond_broadcast, (pthread_cond_t * a), (a))                                        \
  X(int, sem_wait, (sem_t * a), (a))                                                               \
  X(int, sem_trywait, (sem_t * a), (a))                                                            \
  X(int, sem_timedwait, (sem_t * a, const struct timespec* b), (a, b))                             \
  X(int, sem_post, (sem_t * a), (a))                                                               \
  X(ssize_t, read, (int a, void* b, size_t c), (a, b, c))                                          \
  X(ssize_t, write, (int a, const void* b, size_t c), (a, b, c))                                   \
  X(int, close, (int a), (a))                                                                      \
  X(int, poll, (struct pollfd * a, nfds_t b, int c), (a, b, c))                                    \
  X(int, select, (int a, fd_set* b, fd_set* c, fd_set* d, struct timeval* e), (a, b, c, d, e))     \
  X(int, nanosleep, (const struct timespec* a, struct timespec* b), (a, b))                        \
  X(int, clock_nanosleep, (clockid_t a, int b, const struct timespec* c, struct timespec* d),      \
    (a, b, c, d))                                                                                  \
  X(int, usleep, (useconds_t a), (a))                                                              \
  X(int, sched_yield, (void), ())                                                                  \
  X(int, vprintf, (const char* a, va_list b), (a, b))                                              \
  X(int, vfprintf, (FILE * a, const char* b, va_list c), (a, b, c))                                \
  X(int, vsnprintf, (char* a, size_t b, const char* c, va_list d), (a, b, c, d))                   \
  X(int, puts, (const char* a), (a))                                                               \
  X(int, fputs, (const char* a, FILE* b), (a, b))                                                  \
  X(size_t, fwrite, (const void* a, size_t b, size_t c, FILE* d), (a, b, c, d))

// Functions that rt_trap_calls.c defines by hand.  Those that allocate call the C library's
// internal names, because dlsym() of the public names allocates; the others have variable
// arguments.
#define WRITTEN_OUT(X)                                                                             \
  X(malloc)                                                                                        \
  X(calloc)                                                                                        \
  X(realloc)                                                                                       \
  X(free)                                                                                          \
  X(aligned_alloc)                                                                                 \
  X(memalign)                                                                                      \
  X(open)                                                                                          \
  X(openat)                                                                                        \
  X(printf)                                                                                        \
  X(fprintf)                                                                                       \
  X(snprintf)                                                                                      \
  X(syscall)                                                                                       \
  X(raw) // not a function: a system call that the kernel reported by SIGSYS

#define ENUM_FORWARDED(type, name, parameters, arguments) CALL_##name,
#define ENUM_WRITTEN(name)                                CALL_##name,
typedef enum Call { FORWARDED(ENUM_FORWARDED) WRITTEN_OUT(ENUM_WRITTEN) N_CALLS } Call;

extern const char* const trap_call_names[N_CALLS];

#define TRAP_STACK 24 // stack frames recorded of the first violation

/// The calls of one thread in its sections.  That thread writes it; any thread reads it.
typedef struct TrapRecord {
  int thread_id;
  char name[16];
  _Atomic uint64_t sections, wakes, most_wakes, waits, faults;
  _Atomic uint64_t calls[N_CALLS];
  _Atomic(const void*) first_address; ///< Code address of the first violation; NULL: none
  _Atomic uint32_t first_call;
  _Atomic long first_number; ///< Number of the system call; -1 for a library function
  void* first_stack[TRAP_STACK];
  _Atomic int n_first_stack; ///< Stack frames; valid if first_address is not NULL
} TrapRecord;

typedef struct TrapThread {
  uint32_t depth;                  ///< Nested sections; also 0 while the trap is suspended
  uint32_t warm_up;                ///< Sections so far, at most RT_TRAP_WARM_UP
  uint64_t wakes_before;           ///< The record's `wakes` when the section began
  uint64_t faults_before;          ///< The thread's page faults when the section began
  volatile unsigned char selector; ///< SELECTOR_ALLOW or SELECTOR_BLOCK; the kernel reads it
  TrapRecord* record;              ///< NULL before the first section
} TrapThread;

enum { SELECTOR_ALLOW = 0, SELECTOR_BLOCK = 1 }; // linux/prctl.h: SYSCALL_DISPATCH_FILTER_*

// This TLS model needs no allocation on first use.  It works because the library is loaded at the
// start of the program.
extern _Thread_local TrapThread trap_self __attribute__((tls_model("initial-exec")));

/// Suspend the trap.  Returns the argument for trap_resume(): 0 outside of sections.
uint32_t trap_suspend(void);
void trap_resume(uint32_t depth);

/// Count a violation of this thread; with WARPRACK_RT_TRAP=fail, end the program.  The trap must be
/// suspended.
void trap_note(Call call, const void* address, long number);

/// Count a futex wake or wait; false when it is neither.
bool trap_count_futex(long number, long operation);

/// Make the kernel raise SIGSYS for system calls of this thread; false if it does not support that.
bool trap_catch_raw_calls(void);

#endif
