// SPDX-License-Identifier: GPL-3.0-or-later
// The flight recorder: its memory, the lines of the threads, the handler of fatal signals.

#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS      (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define LINE_BYTES 64U // a cache line: threads write at the same time

// A word: the number of the call, 24 bits; the phase, 8 bits; the node, 32 bits.
#define NUMBER_SHIFT 40U
#define PHASE_SHIFT  32U
#define NUMBER_MASK  0xFFFFFFU
#define PHASE_MASK   0xFFU

#define UNKNOWN_THREAD (RECORDER_THREADS + 1U)

typedef struct RecorderLine {
  alignas(LINE_BYTES) _Atomic uint64_t call;
} RecorderLine;

typedef struct Region {
  alignas(LINE_BYTES) _Atomic uint32_t crashed; ///< 1 + index of a thread; 0: none
  RecorderLine lines[RECORDER_THREADS];
} Region;

#define RECORDER_NAME_OF_ROW(word, name) [RECORDER_##word] = (name),

const char* const recorder_phase_names[RECORDER_N_PHASES] = { RECORDER_PHASES(
    RECORDER_NAME_OF_ROW) };

// ---- the memory ----

static Status
map_region(const int fd, const int access, Region** const out, Error* const error)
{
  void* const memory = mmap(NULL, sizeof(Region), access, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) {
    return error_set(error, STATUS_NO_MEM, "cannot map the flight recorder: %s", strerror(errno));
  }
  *out = memory;
  return STATUS_OK;
}

// ---- the worker ----

static Region* region; // NULL: nothing is recorded
static _Atomic bool is_taken[RECORDER_THREADS];

/// The line of this thread; `call` is NULL before its first call.
static _Thread_local struct {
  _Atomic uint64_t* call;
  uint32_t index; ///< RECORDER_THREADS: the thread writes to `unread`
  uint32_t number;
  _Atomic uint64_t unread;
} own;

static void
take_line(void)
{
  own.index = 0;
  while (region && own.index < RECORDER_THREADS &&
         atomic_exchange_explicit(&is_taken[own.index], true, memory_order_acquire)) {
    ++own.index;
  }
  own.index = region ? own.index : RECORDER_THREADS;
  own.call = own.index < RECORDER_THREADS ? &region->lines[own.index].call : &own.unread;
}

uint64_t
recorder_enter(const uint32_t node, const RecorderPhase phase)
{
  if (!own.call) {
    take_line();
  }
  own.number = (own.number + 1U) & NUMBER_MASK;
  const uint64_t before = atomic_load_explicit(own.call, memory_order_relaxed);
  atomic_store_explicit(
      own.call, (uint64_t)own.number << NUMBER_SHIFT | (uint64_t)phase << PHASE_SHIFT | node,
      memory_order_relaxed);
  return before;
}

void
recorder_leave(const uint64_t before)
{
  atomic_store_explicit(own.call, before, memory_order_relaxed);
}

uint32_t
recorder_node(void)
{
  return own.call ? (uint32_t)atomic_load_explicit(own.call, memory_order_relaxed) : 0U;
}

void
recorder_thread_end(void)
{
  if (own.call && own.index < RECORDER_THREADS) {
    atomic_store_explicit(&is_taken[own.index], false, memory_order_release);
  }
  own.call = NULL;
}

// ---- crashes of the worker ----

static pid_t process; // of this worker; a child that a plugin forks does not count

static const int fatal_signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };

static struct sigaction actions_before[ARRAY_LEN(fatal_signals)];

/// Store that this thread ends the process.  The first thread wins.
static void
store_crash(void)
{
  uint32_t none = 0;
  const uint32_t thread = own.call ? own.index + 1U : UNKNOWN_THREAD;
  if (getpid() == process) {
    atomic_compare_exchange_strong(&region->crashed, &none, thread);
  }
}

/// Let the signal do what it did before: the instruction is executed again, or the signal is sent
/// again, which takes effect when this handler returns.
static void
on_fatal_signal(const int number, siginfo_t* const info, void* const context)
{
  (void)context;
  store_crash();
  for (size_t s = 0; s < ARRAY_LEN(fatal_signals); ++s) {
    if (fatal_signals[s] == number) {
      sigaction(number, &actions_before[s], NULL);
    }
  }
  if (info->si_code <= 0) { // from raise() or kill()
    raise(number);
  }
}

static void
on_exit_of_process(void)
{
  if (recorder_node()) {
    store_crash();
  }
}

static Status
handle_crashes(Error* const error)
{
  struct sigaction action = { .sa_sigaction = on_fatal_signal, .sa_flags = SA_SIGINFO };
  process = getpid();
  sigemptyset(&action.sa_mask);
  for (size_t s = 0; s < ARRAY_LEN(fatal_signals); ++s) {
    sigaction(fatal_signals[s], &action, &actions_before[s]);
  }
  return atexit(on_exit_of_process)
             ? error_set(error, STATUS_NO_MEM, "out of memory for the flight recorder")
             : STATUS_OK;
}

Status
recorder_attach(const int fd, Error* const error)
{
  struct stat file;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &file) != 0 ||
      file.st_size != (off_t)sizeof(Region)) {
    return error_set(error, STATUS_BAD_ARG, "not the memory of a flight recorder");
  }
  const Status status = map_region(fd, PROT_READ | PROT_WRITE, &region, error);
  return status ? status : handle_crashes(error);
}

// ---- the server ----

struct Recorder {
  int fd;
  Region* region; ///< Read only
};

Status
recorder_new(Recorder** const out, Error* const error)
{
  Recorder* const recorder = calloc(1, sizeof(Recorder));
  if (!recorder) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  recorder->fd = memfd_create("warprack-recorder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  Status status = STATUS_OK;
  if (recorder->fd < 0 || ftruncate(recorder->fd, (off_t)sizeof(Region)) != 0 ||
      fcntl(recorder->fd, F_ADD_SEALS, SEALS) != 0) {
    status = error_set(error, STATUS_NO_MEM, "cannot make the flight recorder (%zu bytes): %s",
                       sizeof(Region), strerror(errno));
  }
  status = status ? status : map_region(recorder->fd, PROT_READ, &recorder->region, error);
  if (status) {
    recorder_free(recorder);
    return status;
  }
  *out = recorder;
  return STATUS_OK;
}

void
recorder_free(Recorder* const recorder)
{
  if (!recorder) {
    return;
  }
  if (recorder->region) {
    munmap(recorder->region, sizeof(Region));
  }
  if (recorder->fd >= 0) {
    close(recorder->fd);
  }
  free(recorder);
}

int
recorder_fd(const Recorder* const recorder)
{
  return recorder->fd;
}

RecorderCall
recorder_read(const Recorder* const recorder, const uint32_t thread)
{
  const uint64_t word =
      atomic_load_explicit(&recorder->region->lines[thread].call, memory_order_relaxed);
  const uint32_t phase = (uint32_t)(word >> PHASE_SHIFT) & PHASE_MASK;
  if (phase == RECORDER_NONE || phase >= RECORDER_N_PHASES) {
    return (RecorderCall){ .phase = RECORDER_NONE };
  }
  return (RecorderCall){ .node = (uint32_t)word,
                         .phase = (RecorderPhase)phase,
                         .number = (uint32_t)(word >> NUMBER_SHIFT) };
}

bool
recorder_has_crashed(const Recorder* const recorder, uint32_t* const thread)
{
  const uint32_t crashed = atomic_load(&recorder->region->crashed);
  *thread = crashed - 1U < RECORDER_THREADS ? crashed - 1U : RECORDER_THREADS;
  return crashed != 0U;
}
