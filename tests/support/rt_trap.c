// SPDX-License-Identifier: GPL-3.0-or-later
// Sections, counts and reports of the real-time trap; see rt_trap.h.

#include "rt_trap.h"

#include "rt_trap_net.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS 128U

#define NAME_FORWARDED(type, name, parameters, arguments) #name,
#define NAME_WRITTEN(name)                                #name,
const char* const trap_call_names[N_CALLS] = { FORWARDED(NAME_FORWARDED)
                                                   WRITTEN_OUT(NAME_WRITTEN) };

static TrapRecord records[MAX_THREADS];
static _Atomic uint32_t n_records;
static _Atomic bool raw_is_caught;

_Thread_local TrapThread trap_self;

// ---- counting ----

static bool
mode_is(const char* const wanted)
{
  const char* const mode = getenv("WARPRACK_RT_TRAP");
  return mode && !strcmp(mode, wanted);
}

static void
end_program(void)
{
  rt_trap_report(stderr);
  fflush(NULL);
  _exit(RT_TRAP_EXIT);
}

void
trap_note(const Call call, const void* const address, const long number)
{
  TrapRecord* const record = trap_self.record;
  record->calls[call] += 1U;
  if (!record->first_address) {
    record->n_first_stack = backtrace(record->first_stack, TRAP_STACK);
    record->first_call = call;
    record->first_number = number;
    record->first_address = address;
  }
  if (mode_is("fail")) {
    end_program();
  }
}

/// A futex call as engine/base/rt.c makes it.  The locks of the C library set FUTEX_PRIVATE_FLAG,
/// and are not counted here.
static bool
is_futex(const long number, const long operation, const long wanted)
{
  return number == SYS_futex && operation == wanted;
}

bool
trap_count_futex(const long number, const long operation)
{
  if (is_futex(number, operation, FUTEX_WAKE)) {
    trap_self.record->wakes += 1U;
    return true;
  }
  if (is_futex(number, operation, FUTEX_WAIT)) {
    trap_self.record->waits += 1U;
    return true;
  }
  return false;
}

// ---- sections ----

uint32_t
trap_suspend(void)
{
  const uint32_t depth = trap_self.depth;
  if (depth) {
    trap_self.selector = SELECTOR_ALLOW;
    trap_self.depth = 0;
  }
  return depth;
}

void
trap_resume(const uint32_t depth)
{
  if (depth) {
    trap_self.depth = depth;
    trap_self.selector = SELECTOR_BLOCK;
  }
}

static void
know_thread(void)
{
  const uint32_t index = n_records++;
  if (index >= MAX_THREADS) {
    abort(); // a test with more real-time threads needs a larger MAX_THREADS
  }
  TrapRecord* const record = &records[index];
  prctl(PR_GET_NAME, record->name);
  record->thread_id = gettid();
  record->n_first_stack = backtrace(record->first_stack, TRAP_STACK); // the first call allocates
  trap_self.record = record;
  raw_is_caught = trap_catch_raw_calls();
}

/// A child of fork() does not inherit Syscall User Dispatch: set it up again.
static void
catch_again(void)
{
  if (trap_self.record) {
    raw_is_caught = trap_catch_raw_calls();
  }
}

static void __attribute__((constructor)) mind_forks(void)
{
  pthread_atfork(NULL, NULL, catch_again);
}

/// Number of page faults of this thread so far.
static uint64_t
page_faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static void
begin_section(void)
{
  trap_self.record->sections += 1U;
  trap_self.wakes_before = trap_self.record->wakes;
  trap_self.faults_before = page_faults();
}

static void
end_section(void)
{
  TrapRecord* const record = trap_self.record;
  const uint64_t faults = page_faults() - trap_self.faults_before;
  const uint64_t wakes = record->wakes - trap_self.wakes_before;
  record->most_wakes = wakes > record->most_wakes ? wakes : record->most_wakes;
  if (trap_self.warm_up < RT_TRAP_WARM_UP) {
    ++trap_self.warm_up;
    prctl(PR_GET_NAME, record->name); // a thread may get its name after its first sections
  } else {
    record->faults += faults;
  }
}

void warprack_rt_enter(void);
void warprack_rt_leave(void);

void
warprack_rt_enter(void)
{
  if (!trap_self.record) {
    know_thread();
  }
  if (trap_self.depth++ == 0) {
    begin_section();
    trap_self.selector = SELECTOR_BLOCK;
  }
}

void
warprack_rt_leave(void)
{
  if (--trap_self.depth == 0) {
    trap_self.selector = SELECTOR_ALLOW;
    end_section();
  }
}

// ---- reading ----

static uint32_t
known_threads(void)
{
  const uint32_t n = n_records;
  return n < MAX_THREADS ? n : MAX_THREADS;
}

static uint64_t
violations_of(const TrapRecord* const record)
{
  uint64_t sum = 0;
  for (uint32_t c = 0; c < N_CALLS; ++c) {
    sum += record->calls[c];
  }
  return sum;
}

static void
add_record(RtTrapCounts* const counts, const TrapRecord* const record)
{
  const uint64_t most_wakes = record->most_wakes;
  counts->sections += record->sections;
  counts->violations += violations_of(record);
  counts->wakes += record->wakes;
  counts->most_wakes = most_wakes > counts->most_wakes ? most_wakes : counts->most_wakes;
  counts->waits += record->waits;
  counts->faults += record->faults;
}

RtTrapCounts
rt_trap_counts(void)
{
  RtTrapCounts counts = { .raw = raw_is_caught };
  for (uint32_t t = 0; t < known_threads(); ++t) {
    add_record(&counts, &records[t]);
  }
  return counts;
}

RtTrapCounts
rt_trap_thread_counts(const char* const thread_name)
{
  RtTrapCounts counts = { .raw = raw_is_caught };
  for (uint32_t t = 0; t < known_threads(); ++t) {
    if (!strcmp(records[t].name, thread_name)) {
      add_record(&counts, &records[t]);
    }
  }
  return counts;
}

const char*
rt_trap_detector(const uint32_t index)
{
  return index < N_CALLS ? trap_call_names[index] : NULL;
}

uint64_t
rt_trap_calls(const char* const name)
{
  uint64_t sum = 0;
  for (uint32_t c = 0; c < N_CALLS; ++c) {
    for (uint32_t t = 0; !strcmp(trap_call_names[c], name) && t < known_threads(); ++t) {
      sum += records[t].calls[c];
    }
  }
  return sum;
}

void
rt_trap_reset(void)
{
  for (uint32_t t = 0; t < known_threads(); ++t) {
    TrapRecord* const record = &records[t];
    record->sections = record->wakes = record->most_wakes = record->waits = record->faults = 0;
    record->first_address = NULL;
    for (uint32_t c = 0; c < N_CALLS; ++c) {
      record->calls[c] = 0;
    }
  }
}

static void
report_address(FILE* const to, const void* const address)
{
  Dl_info place = { .dli_fname = NULL };
  const bool is_known = dladdr(address, &place) && place.dli_fname;
  fprintf(to, " %s+0x%zx %s\n", is_known ? place.dli_fname : "?",
          is_known ? (size_t)((uintptr_t)address - (uintptr_t)place.dli_fbase) : 0,
          is_known && place.dli_sname ? place.dli_sname : "");
}

static void
report_thread(FILE* const to, const TrapRecord* const record)
{
  fprintf(to, "rt_trap: thread %d '%s':", record->thread_id, record->name);
  for (uint32_t c = 0; c < N_CALLS; ++c) {
    if (record->calls[c]) {
      fprintf(to, " %s=%llu", trap_call_names[c], (unsigned long long)record->calls[c]);
    }
  }
  fprintf(to, "; first: %s", trap_call_names[record->first_call]);
  if (record->first_number >= 0) {
    fprintf(to, " (system call %ld)", record->first_number);
  }
  fputs(" at", to);
  report_address(to, record->first_address);
  for (int f = 0; f < record->n_first_stack; ++f) {
    fprintf(to, "rt_trap:   #%d", f);
    report_address(to, record->first_stack[f]);
  }
}

void
rt_trap_report(FILE* const to)
{
  const RtTrapCounts counts = rt_trap_counts();
  fprintf(to, "rt_trap: sections=%llu violations=%llu wakes=%llu waits=%llu faults=%llu raw=%s\n",
          (unsigned long long)counts.sections, (unsigned long long)counts.violations,
          (unsigned long long)counts.wakes, (unsigned long long)counts.waits,
          (unsigned long long)counts.faults, counts.raw ? "yes" : "no");
  for (uint32_t t = 0; t < known_threads(); ++t) {
    if (violations_of(&records[t])) {
      report_thread(to, &records[t]);
    }
  }
}

static void __attribute__((destructor)) report_at_exit(void)
{
  if (mode_is("report") || mode_is("fail")) {
    rt_trap_report(stderr);
  }
}
