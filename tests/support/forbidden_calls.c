// SPDX-License-Identifier: GPL-3.0-or-later

#include "forbidden_calls.h"

#include <check.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The objects that the forbidden calls use; made outside of sections.  The calls assert nothing,
// because Check's assertions write to a file.
static void* volatile memory;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t strict_mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t other_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static FILE* null_file;
static int null_fd;
static int other_fd;
static char text[32];
static ssize_t n_bytes_moved;
static const struct timespec no_time = { 0, 0 };

/// Returns the previous stdout.
static FILE*
redirect_stdout(FILE* const to)
{
  FILE* const was = stdout;
  stdout = to;
  return was;
}

/// The headers have inline versions of some of these functions: a call through a volatile pointer
/// is always a real call.
static void
print(int (*volatile const printer)(const char*, va_list), ...)
{
  va_list arguments;
  va_start(arguments, printer);
  printer("%d", arguments);
  va_end(arguments);
}

static int
print_to_file(const char* const format, va_list arguments)
{
  return vfprintf(null_file, format, arguments);
}

static int
print_to_text(const char* const format, va_list arguments)
{
  return vsnprintf(text, sizeof(text), format, arguments);
}

/// A call that is one statement.
#define CALL(name, ...)                                                                            \
  static void do_##name(void)                                                                      \
  {                                                                                                \
    __VA_ARGS__;                                                                                   \
  }

// clang-format off
CALL(malloc, memory = malloc(100))
CALL(calloc, memory = calloc(10, 10))
CALL(realloc, memory = realloc(memory, 100000))
CALL(aligned_alloc, memory = aligned_alloc(64, 128))
CALL(memalign, memory = memalign(64, 128))
CALL(mmap, memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
CALL(mprotect, mprotect(memory, 4096, PROT_READ | PROT_WRITE))
CALL(madvise, madvise(memory, 4096, MADV_DONTNEED))
CALL(brk, brk(NULL)) // leaves the heap as it is
CALL(sbrk, sbrk(0))
CALL(mutex_lock, pthread_mutex_lock(&mutex))
CALL(mutex_timedlock, pthread_mutex_timedlock(&other_mutex, &no_time))
CALL(mutex_trylock, pthread_mutex_trylock(&mutex))
CALL(spin_lock, pthread_spin_lock(&spinlock))
CALL(cond_wait, pthread_cond_wait(&condition, &strict_mutex)) // fails at once: this thread has not locked it
CALL(cond_timedwait, pthread_cond_timedwait(&condition, &mutex, &no_time))
CALL(cond_signal, pthread_cond_signal(&condition))
CALL(cond_broadcast, pthread_cond_broadcast(&condition))
CALL(rdlock, pthread_rwlock_rdlock(&rwlock))
CALL(wrlock, pthread_rwlock_wrlock(&other_rwlock))
CALL(sem_post, sem_post(&semaphore))
CALL(sem_wait, sem_wait(&semaphore))
CALL(sem_trywait, sem_trywait(&semaphore))
CALL(sem_timedwait, sem_timedwait(&semaphore, &no_time))
CALL(read, n_bytes_moved = read(null_fd, text, 1))
CALL(write, n_bytes_moved = write(null_fd, text, 1))
CALL(open, other_fd = open("/dev/null", O_RDWR))
CALL(openat, other_fd = openat(AT_FDCWD, "/dev/null", O_RDWR))
CALL(close, close(other_fd))
CALL(nanosleep, nanosleep(&no_time, NULL))
CALL(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL))
CALL(usleep, usleep(1))
CALL(sched_yield, sched_yield())
CALL(snprintf, snprintf(text, sizeof(text), "%d", null_fd))
CALL(fprintf, fprintf(null_file, "%d", null_fd))
CALL(vfprintf, print(print_to_file, 1))
CALL(vsnprintf, print(print_to_text, 1))
CALL(fputs, fputs(text, null_file))
CALL(fwrite, fwrite(text, 1, 5, null_file))
CALL(syscall, syscall(SYS_getppid))
// clang-format on

static void
do_free(void)
{
  free(memory);
  memory = NULL;
}

static void
do_posix_memalign(void)
{
  void* new_memory = NULL;
  if (posix_memalign(&new_memory, 64, 128) == 0) {
    memory = new_memory;
  }
}

static void
do_munmap(void)
{
  munmap(memory, 4096);
  memory = NULL;
}

static void
do_poll(void)
{
  struct pollfd waits = { .fd = null_fd, .events = POLLIN };
  poll(&waits, 1, 0);
}

static void
do_select(void)
{
  struct timeval none = { 0, 0 };
  select(0, NULL, NULL, NULL, &none);
}

static void
do_printf(void)
{
  FILE* const was = redirect_stdout(null_file);
  printf("%d", null_fd);
  redirect_stdout(was);
}

static void
do_puts(void)
{
  FILE* const was = redirect_stdout(null_file);
  puts(text);
  redirect_stdout(was);
}

static void
do_vprintf(void)
{
  FILE* const was = redirect_stdout(null_file);
  print(vprintf, 1);
  redirect_stdout(was);
}

// The order matters: some calls need what the previous one has made.
static const ForbiddenCall forbidden[] = {
  { "malloc", do_malloc },
  { "realloc", do_realloc },
  { "free", do_free },
  { "calloc", do_calloc },
  { "free", do_free },
  { "aligned_alloc", do_aligned_alloc },
  { "free", do_free },
  { "memalign", do_memalign },
  { "free", do_free },
  { "posix_memalign", do_posix_memalign },
  { "free", do_free },
  { "mmap", do_mmap },
  { "mprotect", do_mprotect },
  { "madvise", do_madvise },
  { "munmap", do_munmap },
  { "sbrk", do_sbrk },
  { "brk", do_brk },
  { "pthread_mutex_lock", do_mutex_lock },
  { "pthread_mutex_trylock", do_mutex_trylock },
  { "pthread_mutex_timedlock", do_mutex_timedlock },
  { "pthread_spin_lock", do_spin_lock },
  { "pthread_cond_wait", do_cond_wait },
  { "pthread_cond_timedwait", do_cond_timedwait },
  { "pthread_cond_signal", do_cond_signal },
  { "pthread_cond_broadcast", do_cond_broadcast },
  { "pthread_rwlock_rdlock", do_rdlock },
  { "pthread_rwlock_wrlock", do_wrlock },
  { "sem_post", do_sem_post },
  { "sem_wait", do_sem_wait },
  { "sem_trywait", do_sem_trywait },
  { "sem_timedwait", do_sem_timedwait },
  { "read", do_read },
  { "write", do_write },
  { "open", do_open },
  { "close", do_close },
  { "openat", do_openat },
  { "close", do_close },
  { "poll", do_poll },
  { "select", do_select },
  { "nanosleep", do_nanosleep },
  { "clock_nanosleep", do_clock_nanosleep },
  { "usleep", do_usleep },
  { "sched_yield", do_sched_yield },
  { "snprintf", do_snprintf },
  { "fprintf", do_fprintf },
  { "vfprintf", do_vfprintf },
  { "vsnprintf", do_vsnprintf },
  { "printf", do_printf },
  { "vprintf", do_vprintf },
  { "puts", do_puts },
  { "fputs", do_fputs },
  { "fwrite", do_fwrite },
  { "syscall", do_syscall },
};

void
forbidden_calls_prepare(void)
{
  null_file = fopen("/dev/null", "w");
  null_fd = open("/dev/null", O_RDWR);
  ck_assert(null_file && null_fd >= 0 && sem_init(&semaphore, 0, 0) == 0);
  ck_assert_int_eq(pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE), 0);
}

const ForbiddenCall*
forbidden_call(const uint32_t index)
{
  return index < sizeof(forbidden) / sizeof(forbidden[0]) ? &forbidden[index] : NULL;
}

void
forbidden_allocate(void)
{
  do_malloc();
}

void
forbidden_free(void)
{
  do_free();
}
