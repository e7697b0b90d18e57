// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the threads of a group as contexts, and checks each of their accesses; see checked_gpu.h.

#include "checked_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define MAX_RANGES  256U
#define STACK_BYTES ((size_t)32 << 10U)
#define MAX_PRINTED 8U
#define MANY        UINT32_MAX // instead of the number of a thread or group: several of them
#define MAX_DOUBTS  4U

typedef struct Dim {
  uint32_t x, y;
} Dim;

/// The thread that wrote, or read, a word last.
typedef struct Access {
  uint32_t launch, group, epoch, thread;
} Access;

typedef struct Cell {
  Access write, read;
  uint32_t n_reads;
} Cell;

typedef struct Range {
  char* at; ///< NULL: the row is free
  size_t n_bytes;
  Cell* cells; ///< One for each word
} Range;

/// Two threads have written a word: a race, unless both wrote the same value.
typedef struct Doubt {
  const uint32_t* word;
  uint32_t value; ///< The value of the first thread
  const void* where;
} Doubt;

typedef struct Thread {
  ucontext_t context;
  Dim id;
  bool is_done;
  Doubt doubts[MAX_DOUBTS];
  uint32_t n_doubts;
} Thread;

static Range ranges[MAX_RANGES];
static Range* last_range = ranges;
static char stacks[GPU_MAX_GROUP][STACK_BYTES];
static Thread threads[GPU_MAX_GROUP];
static Thread* running;
static ucontext_t between;
static Access now; // `thread` is not used
static Dim group, n_groups;
static CheckedEntry* start;
static const uint64_t* arguments;
static uint32_t n_faults;

uint32_t
checked_n_faults(void)
{
  return n_faults;
}

static void
fault(const char* const what, const void* const where)
{
  Dl_info info = { NULL, NULL, NULL, NULL };
  if (n_faults++ >= MAX_PRINTED) {
    return;
  }
  printf("%s: group %u, thread %u\n", what, now.group, running ? running->id.x : 0U);
  fflush(stdout);
  if (where && dladdr(where, &info)) {
    char line[512];
    snprintf(line, sizeof(line), "addr2line -ipfe %s %#tx", info.dli_fname,
             (const char*)where - (const char*)info.dli_fbase - 1);
    if (system(line)) { // NOLINT: a test
      puts(line);
    }
  }
}

// ---- memory ----

void
checked_add_range(char* const at, const size_t n_bytes)
{
  Range* range = ranges;
  while (range->at && range < ranges + MAX_RANGES - 1U) {
    ++range;
  }
  *range = (Range){ at, n_bytes, calloc(n_bytes / 4U + 1U, sizeof(Cell)) };
  if (!range->cells) {
    abort();
  }
}

void
checked_remove_range(const char* const at)
{
  for (Range* range = ranges; range < ranges + MAX_RANGES; ++range) {
    if (range->at == at) {
      free(range->cells);
      *range = (Range){ NULL, 0U, NULL };
    }
  }
}

static Cell*
cell_of(const char* const word)
{
  const Range* range = last_range;
  if (word < range->at || word >= range->at + range->n_bytes) {
    for (range = ranges; range < ranges + MAX_RANGES; ++range) {
      if (word >= range->at && word < range->at + range->n_bytes) {
        last_range = (Range*)range;
        break;
      }
    }
  }
  return range < ranges + MAX_RANGES ? &range->cells[(word - range->at) / 4] : NULL;
}

uint32_t
checked_n_reads(const void* const word)
{
  const Cell* const cell = cell_of(word);
  return cell ? cell->n_reads : 0U;
}

// ---- accesses ----

/// Compare the words that two threads have written with the value of the first thread.
static void
settle_doubts(void)
{
  for (uint32_t d = 0; d < running->n_doubts; ++d) {
    if (*running->doubts[d].word != running->doubts[d].value) {
      fault("race: two threads write different values", running->doubts[d].where);
    }
  }
  running->n_doubts = 0;
}

static bool
is_anothers(const Access* const access)
{
  return access->launch == now.launch &&
         (access->group != now.group ||
          (access->epoch == now.epoch && access->thread != running->id.x));
}

static void
doubt(const char* const word, const void* const where)
{
  if (running->n_doubts < MAX_DOUBTS) {
    running->doubts[running->n_doubts++] =
        (Doubt){ (const uint32_t*)word, *(const uint32_t*)word, where };
  } else {
    fault("too many words that other threads write, too", where);
  }
}

static void
check_word(const char* const word, const bool is_write, const void* const where)
{
  Cell* const cell = cell_of(word);
  if (!cell) {
    fault(is_write ? "write outside of memory" : "read outside of memory", where);
    return;
  }
  Access mine = now;
  mine.thread = running->id.x;
  if (is_write) {
    if (is_anothers(&cell->read)) {
      fault("race: write of a word that another thread reads", where);
    }
    if (is_anothers(&cell->write)) {
      doubt(word, where);
    }
    cell->write = mine;
    return;
  }
  if (is_anothers(&cell->write)) {
    fault("race: read of a word that another thread writes", where);
  }
  if (is_anothers(&cell->read)) {
    mine.thread = MANY;
    mine.group = cell->read.group == now.group ? now.group : MANY;
  }
  cell->read = mine;
  ++cell->n_reads;
}

static void
check(const void* const at, const size_t n_bytes, const bool is_write, const void* const where)
{
  const char* const first = at;
  if (!running || (first >= stacks[0] && first < stacks[0] + sizeof(stacks))) {
    return;
  }
  settle_doubts();
  for (size_t b = 0; b < n_bytes; b += 4U) {
    check_word(first + b, is_write, where);
  }
}

#define ACCESS(name, n_bytes, is_write)                                                            \
  void __tsan_##name(const void* at); /* NOLINT: the compiler's names */                           \
  void __tsan_##name(const void* const at)                                                         \
  {                                                                                                \
    check(at, n_bytes, is_write, __builtin_return_address(0));                                     \
  }

#define RANGE(name, is_write)                                                                      \
  void __tsan_##name(const void* at, size_t n_bytes);                                              \
  void __tsan_##name(const void* const at, const size_t n_bytes)                                   \
  {                                                                                                \
    check(at, n_bytes, is_write, __builtin_return_address(0));                                     \
  }

ACCESS(read1, 1U, false)
ACCESS(read2, 2U, false)
ACCESS(read4, 4U, false)
ACCESS(read8, 8U, false)
ACCESS(read16, 16U, false)
ACCESS(unaligned_read8, 8U, false)
ACCESS(write1, 1U, true)
ACCESS(write2, 2U, true)
ACCESS(write4, 4U, true)
ACCESS(write8, 8U, true)
ACCESS(write16, 16U, true)
ACCESS(unaligned_write8, 8U, true)
RANGE(read_range, false)
RANGE(write_range, true)

void __tsan_init(void);
void __tsan_func_entry(void* caller);
void __tsan_func_exit(void);
void
__tsan_init(void)
{
}
void
__tsan_func_entry(void* const caller)
{
  (void)caller;
}
void
__tsan_func_exit(void)
{
}

// ---- functions that kernels call ----

Dim checked_thread(void);
Dim checked_group(void);
Dim checked_n_groups(void);
void checked_barrier(void);
int checked_any(int is_true);
void checked_add(uint32_t* word, uint32_t n);

Dim
checked_thread(void)
{
  return running->id;
}

Dim
checked_group(void)
{
  return group;
}

Dim
checked_n_groups(void)
{
  return n_groups;
}

void
checked_barrier(void)
{
  settle_doubts();
  swapcontext(&running->context, &between);
}

int
checked_any(const int is_true)
{
  static struct {
    uint32_t epoch;
    int value;
  } results[2]; // some threads may be at the next barrier before others have this result
  const uint32_t epoch = now.epoch;
  if (results[epoch % 2U].epoch != epoch) {
    results[epoch % 2U].epoch = epoch;
    results[epoch % 2U].value = 0;
  }
  results[epoch % 2U].value |= is_true;
  checked_barrier();
  return results[epoch % 2U].value;
}

void
checked_add(uint32_t* const word, const uint32_t n)
{
  *word += n;
}

// ---- groups ----

static void
run_thread(void)
{
  const uint64_t* const a = arguments;
  start(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
  settle_doubts();
  running->is_done = true;
}

/// Run all threads up to their next barrier or end.  Returns how many have ended.
static uint32_t
run_epoch(const uint32_t group_size)
{
  uint32_t n_done = 0;
  for (uint32_t t = 0; t < group_size; ++t) {
    running = &threads[t];
    if (!running->is_done) {
      swapcontext(&between, &running->context);
    }
    n_done += running->is_done;
  }
  ++now.epoch;
  return n_done;
}

static void
run_group(const uint32_t group_size)
{
  for (uint32_t t = 0; t < group_size; ++t) {
    Thread* const thread = &threads[t];
    *thread = (Thread){ .id = { t, 0U } };
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = stacks[t];
    thread->context.uc_stack.ss_size = STACK_BYTES;
    thread->context.uc_link = &between;
    makecontext(&thread->context, run_thread, 0);
  }
  uint32_t n_done = 0;
  while (n_done < group_size) {
    n_done = run_epoch(group_size);
    if (n_done > 0 && n_done < group_size) {
      fault("some threads of the group do not reach a barrier", NULL);
    }
  }
  running = NULL;
}

void
checked_launch(const CheckedLaunch* const launch)
{
  start = launch->entry;
  arguments = launch->args;
  n_groups = (Dim){ launch->groups[0], launch->groups[1] };
  ++now.launch;
  for (uint32_t g = 0; g < n_groups.x * n_groups.y; ++g) {
    group = (Dim){ g % n_groups.x, g / n_groups.x };
    now.group = g;
    checked_add_range(launch->local, launch->local_bytes); // accessible to this group only
    memset(launch->local, 0xFF, launch->local_bytes);
    run_group(launch->group_size);
    checked_remove_range(launch->local);
  }
}
