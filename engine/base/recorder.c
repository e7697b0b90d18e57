// SPDX-License-Identifier: GPL-3.0-or-later
// The flight recorder: its memory, the lines of the threads, the handler of fatal signals, the
// libraries with code of nodes.

#include "recorder.h"
#include "rt.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
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

// A word: the number of the call, 24 bits; is_shared, 1 bit; the phase, 7 bits; the node, 32 bits.
#define NUMBER_SHIFT 40U
#define SHARED_SHIFT 39U
#define PHASE_SHIFT  32U
#define NUMBER_MASK  0xFFFFFFU
#define PHASE_MASK   0x7FU

#define MAX_LIBRARIES 1024U // with code of nodes; the code of further ones has no name
#define MAX_FRAMES    64    // of a stack that are looked at

typedef struct RecorderLine {
  alignas(LINE_BYTES) _Atomic uint64_t call;
  _Atomic uint32_t is_of_player; ///< Not 0: it is
} RecorderLine;

typedef struct Region {
  alignas(LINE_BYTES) _Atomic uint32_t has_crashed; ///< 1: a handler has run
  _Atomic uint64_t crash;                           ///< The call that it has found; 0: none
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

static uint64_t
word_of(const uint32_t node, const RecorderPhase phase, const bool is_shared)
{
  return (uint64_t)is_shared << SHARED_SHIFT | (uint64_t)phase << PHASE_SHIFT | node;
}

_Atomic uint64_t*
recorder_line(void)
{
  if (!own.call) {
    take_line();
  }
  return own.call;
}

uint64_t
recorder_word(const uint32_t node, const bool is_shared)
{
  return word_of(node, RECORDER_RUN, is_shared);
}

uint64_t
recorder_enter(const uint32_t node, const RecorderPhase phase)
{
  _Atomic uint64_t* const line = recorder_line();
  own.number = own.number < NUMBER_MASK ? own.number + 1U : 1U; // 0: recorder_mark()
  const uint64_t before = atomic_load_explicit(line, memory_order_relaxed);
  atomic_store_explicit(line, (uint64_t)own.number << NUMBER_SHIFT | word_of(node, phase, false),
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
recorder_thread_plays(void)
{
  (void)recorder_line();
  if (own.index < RECORDER_THREADS) {
    atomic_store_explicit(&region->lines[own.index].is_of_player, 1U, memory_order_relaxed);
  }
}

void
recorder_thread_end(void)
{
  if (own.call && own.index < RECORDER_THREADS) {
    atomic_store_explicit(&region->lines[own.index].is_of_player, 0U, memory_order_relaxed);
    atomic_store_explicit(&is_taken[own.index], false, memory_order_release);
  }
  own.call = NULL;
}

// ---- code of nodes ----

/// A loaded library with code of a node.
typedef struct Library {
  uintptr_t begin, end;
  uint32_t node;          ///< The first one
  _Atomic bool is_shared; ///< Another node has or had it, too
} Library;

// Written by the thread of plugins; read by handlers.
static Library libraries[MAX_LIBRARIES];
static _Atomic uint32_t n_libraries;

/// The library that contains an address; NULL: none of them.
static Library*
find_library(const uintptr_t address)
{
  const uint32_t n = atomic_load_explicit(&n_libraries, memory_order_acquire);
  for (uint32_t l = 0; l < n; ++l) {
    if (address >= libraries[l].begin && address < libraries[l].end) {
      return &libraries[l];
    }
  }
  return NULL;
}

/// dl_iterate_phdr(): find the bounds of the library that contains `begin`.
static int
find_bounds(struct dl_phdr_info* const info, const size_t n_bytes, void* const context)
{
  (void)n_bytes;
  Library* const library = context;
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  for (uint32_t h = 0; h < info->dlpi_phnum; ++h) {
    const uintptr_t first = info->dlpi_addr + info->dlpi_phdr[h].p_vaddr;
    const uintptr_t last = first + info->dlpi_phdr[h].p_memsz;
    if (info->dlpi_phdr[h].p_type == PT_LOAD) {
      begin = first < begin ? first : begin;
      end = last > end ? last : end;
    }
  }
  const bool is_it = library->begin >= begin && library->begin < end;
  if (is_it) {
    library->begin = begin;
    library->end = end;
  }
  return is_it;
}

static void on_exit_of_process(void);

/// Handle an exit before the destructors of the libraries that are loaded now, in which other
/// threads may crash.  Returns false if there is no memory.
static bool
handle_exit(void)
{
  return !atexit(on_exit_of_process) && !at_quick_exit(on_exit_of_process);
}

void
recorder_add_code(const void* const address)
{
  const uint32_t node = recorder_node();
  const uint32_t n = atomic_load_explicit(&n_libraries, memory_order_relaxed);
  Library* const known = find_library((uintptr_t)address);
  if (known && known->node != node) {
    atomic_store_explicit(&known->is_shared, true, memory_order_relaxed);
  }
  if (known || !region || !node || n == MAX_LIBRARIES) {
    return;
  }
  libraries[n].begin = (uintptr_t)address;
  libraries[n].node = node;
  if (dl_iterate_phdr(find_bounds, &libraries[n])) {
    atomic_store_explicit(&n_libraries, n + 1U, memory_order_release);
    (void)handle_exit(); // without memory it runs after them
  }
}

/// The call of a thread that has no line: by the libraries on its stack.  A library of one node
/// names it; two libraries of two nodes name nobody.  0: not known.
static uint64_t
call_on_stack(void)
{
  void* frames[MAX_FRAMES];
  const int n_frames = backtrace(frames, MAX_FRAMES);
  uint32_t node = 0;
  uint32_t one_of = 0;
  for (int f = 0; f < n_frames; ++f) {
    // The address after a call that does not return may be the end of the library.
    const Library* const library = find_library((uintptr_t)frames[f] - 1U);
    if (library && atomic_load_explicit(&library->is_shared, memory_order_relaxed)) {
      one_of = library->node;
    } else if (library && node && library->node != node) {
      return 0;
    } else if (library) {
      node = library->node;
    }
  }
  return node     ? word_of(node, RECORDER_THREAD, false)
         : one_of ? word_of(one_of, RECORDER_THREAD, true)
                  : 0U;
}

// ---- crashes of the worker ----

static pid_t process; // of this worker; a child that a plugin forks does not count

static const int fatal_signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };

static struct sigaction actions_before[ARRAY_LEN(fatal_signals)];

/// The word in the line of this thread; 0: it executes no code of a node, or has no line.
static uint64_t
own_call(void)
{
  return own.call ? atomic_load_explicit(own.call, memory_order_relaxed) : 0U;
}

/// Store that this thread ends the process.  The first thread wins.  If the search on the stack
/// fails, because the stack is damaged, the kernel ends the process, and no call is stored.
static void
store_crash(const bool is_from_outside)
{
  uint32_t none = 0;
  if (getpid() != process || !atomic_compare_exchange_strong(&region->has_crashed, &none, 1U) ||
      is_from_outside) {
    return;
  }
  const uint64_t call = own_call();
  atomic_store(&region->crash, call ? call : call_on_stack());
}

static bool
is_from_outside(const siginfo_t* const info)
{
  const bool has_sender =
      info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
  return has_sender && info->si_pid != process;
}

/// True if the instruction that raised the signal is executed again when the handler returns, and
/// raises it again.
static bool
is_repeated(const int number, const siginfo_t* const info)
{
  return info->si_code > 0 && number != SIGTRAP && number != SIGSYS;
}

/// Let the signal do what it did before: the instruction is executed again, or the signal is sent
/// again, which takes effect when this handler returns.
static void
on_fatal_signal(const int number, siginfo_t* const info, void* const context)
{
  (void)context;
  store_crash(is_from_outside(info));
  for (size_t s = 0; s < ARRAY_LEN(fatal_signals); ++s) {
    if (fatal_signals[s] == number) {
      sigaction(number, &actions_before[s], NULL);
    }
  }
  if (!is_repeated(number, info)) {
    raise(number);
  }
}

static void
on_exit_of_process(void)
{
  if (own_call() || call_on_stack()) {
    store_crash(false);
  }
}

static Status
handle_crashes(Error* const error)
{
  struct sigaction action = { .sa_sigaction = on_fatal_signal,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK };
  void* frames[1];
  (void)backtrace(frames, ARRAY_LEN(frames)); // the first call loads a library
  process = getpid();
  rt_main_handler_stack(); // this thread makes plugins when the worker is armed
  sigemptyset(&action.sa_mask);
  for (size_t s = 0; s < ARRAY_LEN(fatal_signals); ++s) {
    sigaction(fatal_signals[s], &action, &actions_before[s]);
  }
  return handle_exit() ? STATUS_OK
                       : error_set(error, STATUS_NO_MEM, "out of memory for the flight recorder");
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

static RecorderCall
call_of(const uint64_t word)
{
  const uint32_t phase = (uint32_t)(word >> PHASE_SHIFT) & PHASE_MASK;
  if (phase == RECORDER_NONE || phase >= RECORDER_N_PHASES) {
    return (RecorderCall){ .phase = RECORDER_NONE };
  }
  return (RecorderCall){ .node = (uint32_t)word,
                         .phase = (RecorderPhase)phase,
                         .number = (uint32_t)(word >> NUMBER_SHIFT),
                         .is_shared = (word >> SHARED_SHIFT & 1U) != 0U };
}

RecorderCall
recorder_read(const Recorder* const recorder, const uint32_t thread)
{
  const RecorderLine* const line = &recorder->region->lines[thread];
  RecorderCall call = call_of(atomic_load_explicit(&line->call, memory_order_relaxed));
  call.is_of_player = atomic_load_explicit(&line->is_of_player, memory_order_relaxed) != 0U;
  return call;
}

bool
recorder_has_crashed(const Recorder* const recorder, RecorderCall* const call)
{
  *call = call_of(atomic_load(&recorder->region->crash));
  return atomic_load(&recorder->region->has_crashed) != 0U;
}

static bool
is_same(const RecorderCall* const a, const RecorderCall* const b)
{
  return a->node == b->node && a->phase == b->phase && a->number == b->number;
}

const RecorderWatch*
recorder_watch(const Recorder* const recorder, RecorderWatch* const watches,
               const uint64_t passed_ns, const uint64_t limit_ns)
{
  const RecorderWatch* endless = NULL;
  for (uint32_t t = 0; t < RECORDER_THREADS; ++t) {
    RecorderWatch* const watched = &watches[t];
    const RecorderCall call = recorder_read(recorder, t);
    // The runs of built-in effects have no numbers: blocks that do not end show that one hangs.  A
    // call of several nodes has no number: one with a number is invalid data.
    if (call.phase == RECORDER_NONE || !call.number || call.is_shared ||
        !is_same(&call, &watched->call)) {
      *watched = (RecorderWatch){ .call = call };
    } else {
      watched->lasted_ns += passed_ns;
      endless = watched->lasted_ns >= limit_ns ? watched : endless;
    }
  }
  return endless;
}
