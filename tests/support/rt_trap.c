// SPDX-License-Identifier: GPL-3.0-or-later
// Sections, counts and reports of the real-time trap; see rt_trap.h.

#include "rt_trap.h"

#include "rt_trap_net.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

void
trap_note(const Call call, const void* const address, const long number)
{
  TrapRecord* const record = trap_self.record;
  record->calls[call] += 1U;
  if (!record->first_address) {
    record->first_call = call;
    record->first_number = number;
    record->first_address = address;
  }
}

static bool
is_futex(const long number, const long operation, const long wanted)
{
  return number == SYS_futex && (operation & FUTEX_CMD_MASK) == wanted;
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

static void
know_thread(void)
{
  const uint32_t index = n_records++;
  if (index >= MAX_THREADS) {
    abort(); // a test with more real-time threads than this needs a larger table
  }
  TrapRecord* const record = &records[index];
  prctl(PR_GET_NAME, record->name);
  record->thread_id = gettid();
  trap_self.record = record;
  raw_is_caught = trap_catch_raw_calls();
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
    trap_self.record->sections += 1U;
    trap_self.selector = SELECTOR_BLOCK;
  }
}

void
warprack_rt_leave(void)
{
  if (--trap_self.depth == 0) {
    trap_self.selector = SELECTOR_ALLOW;
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

RtTrapCounts
rt_trap_counts(void)
{
  RtTrapCounts counts = { .raw = raw_is_caught };
  for (uint32_t t = 0; t < known_threads(); ++t) {
    counts.sections += records[t].sections;
    counts.violations += violations_of(&records[t]);
    counts.wakes += records[t].wakes;
    counts.waits += records[t].waits;
  }
  return counts;
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
    record->sections = record->wakes = record->waits = 0;
    record->first_address = NULL;
    for (uint32_t c = 0; c < N_CALLS; ++c) {
      record->calls[c] = 0;
    }
  }
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
  const void* const address = record->first_address;
  Dl_info place = { .dli_fname = NULL };
  const bool is_known = dladdr(address, &place) && place.dli_fname;
  fprintf(to, "; first: %s", trap_call_names[record->first_call]);
  if (record->first_number >= 0) {
    fprintf(to, " (system call %ld)", record->first_number);
  }
  fprintf(to, " at %s+0x%zx %s\n", is_known ? place.dli_fname : "?",
          is_known ? (size_t)((uintptr_t)address - (uintptr_t)place.dli_fbase) : 0,
          is_known && place.dli_sname ? place.dli_sname : "");
}

void
rt_trap_report(FILE* const to)
{
  const RtTrapCounts counts = rt_trap_counts();
  fprintf(to, "rt_trap: sections=%llu violations=%llu wakes=%llu waits=%llu raw=%s\n",
          (unsigned long long)counts.sections, (unsigned long long)counts.violations,
          (unsigned long long)counts.wakes, (unsigned long long)counts.waits,
          counts.raw ? "yes" : "no");
  for (uint32_t t = 0; t < known_threads(); ++t) {
    if (violations_of(&records[t])) {
      report_thread(to, &records[t]);
    }
  }
}

static void __attribute__((destructor)) report_at_exit(void)
{
  const char* const mode = getenv("WARPRACK_RT_TRAP");
  if (mode && (!strcmp(mode, "report") || !strcmp(mode, "fail"))) {
    rt_trap_report(stderr);
    if (!strcmp(mode, "fail") && rt_trap_counts().violations) {
      fflush(NULL);
      _exit(RT_TRAP_EXIT);
    }
  }
}
