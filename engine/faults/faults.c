// SPDX-License-Identifier: GPL-3.0-or-later
// The table of faults: armed ones and counts.

#include "engine/base/faults.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE  "WARPRACK_FAULTS"
#define MAX_NAME  64U // bytes of a node's name, with the final zero
#define AND_LATER 1U

typedef enum ValueKind { NO_VALUE, NUMBER, NAME } ValueKind;

static const struct {
  const char* name;
  ValueKind value;
  bool lasts; // once due, the fault stays in effect
} kinds[N_FAULTS] = {
  [FAULT_ALLOC_FAIL] = { "alloc.fail", NO_VALUE, false },
  [FAULT_CLOCK_JUMP] = { "clock.jump", NUMBER, true },
  [FAULT_FS_EIO] = { "fs.eio", NO_VALUE, false },
  [FAULT_FS_FULL] = { "fs.full", NO_VALUE, false },
  [FAULT_FS_SHORT] = { "fs.short", NO_VALUE, false },
  [FAULT_GPU_BUILD] = { "gpu.build", NO_VALUE, false },
  [FAULT_GPU_ERROR] = { "gpu.error", NUMBER, false },
  [FAULT_GPU_HANG] = { "gpu.hang", NO_VALUE, false },
  [FAULT_GPU_LATE] = { "gpu.late", NUMBER, false },
  [FAULT_GPU_NOMEM] = { "gpu.nomem", NO_VALUE, false },
  [FAULT_GPU_RECORD] = { "gpu.record", NO_VALUE, false },
  [FAULT_WORKER_CRASH] = { "worker.crash", NO_VALUE, false },
  [FAULT_WORKER_CRASH_ON] = { "worker.crash-on", NAME, false },
  [FAULT_WORKER_CRASH_PLAYS] = { "worker.crash-plays", NAME, false },
  [FAULT_WORKER_CRASH_RUNS] = { "worker.crash-runs", NAME, false },
  [FAULT_WORKER_EXIT] = { "worker.exit", NUMBER, false },
  [FAULT_WORKER_GARBAGE] = { "worker.garbage", NO_VALUE, false },
  [FAULT_WORKER_HANG] = { "worker.hang", NO_VALUE, false },
  [FAULT_WORKER_KILL] = { "worker.kill", NO_VALUE, false },
  [FAULT_WORKER_LATE] = { "worker.late", NUMBER, false },
  [FAULT_WORKER_NAN] = { "worker.nan", NO_VALUE, false },
  [FAULT_WORKER_STOP] = { "worker.stop", NO_VALUE, false },
  [FAULT_WORKER_WRONG] = { "worker.wrong", NO_VALUE, false },
};

/// One entry of a list.
typedef struct Request {
  FaultId fault;
  uint64_t at;    // from 1
  uint64_t every; // 0: once
  double number;
  char name[MAX_NAME];
  bool for_another; // for the other process of `warprack run`
} Request;

typedef struct Fault {
  _Atomic uint64_t at; ///< 0: not armed.  Written last: a thread that reads a new value also sees
                       ///< the other members
  _Atomic uint64_t every;
  _Atomic double number;
  _Atomic uint64_t n_seen, n_failed;
  char name[MAX_NAME]; ///< Written only while the fault is not armed
} Fault;

static Fault faults[N_FAULTS];
static pthread_mutex_t arming_lock = PTHREAD_MUTEX_INITIALIZER;
static const char* role = "server";

// ---- hooks ----

bool
fault_is_due(const FaultId id)
{
  Fault* const fault = &faults[id];
  const uint64_t at = atomic_load_explicit(&fault->at, memory_order_relaxed);
  if (!at) {
    return false;
  }
  atomic_thread_fence(memory_order_acquire);
  const uint64_t n = atomic_fetch_add(&fault->n_seen, 1U) + 1U;
  const uint64_t every = atomic_load(&fault->every);
  const bool fails = n == at || (every && n > at && (n - at) % every == 0U);
  atomic_fetch_add(&fault->n_failed, fails);
  return fails;
}

bool
fault_names(const FaultId id, const char* const name)
{
  const Fault* const fault = &faults[id];
  return atomic_load(&fault->at) && !strcmp(fault->name, name);
}

double
fault_value(const FaultId id)
{
  return atomic_load(&faults[id].number);
}

void
faults_recount(const FaultId first, const FaultId last)
{
  for (uint32_t f = first; f <= last; ++f) {
    atomic_store(&faults[f].n_seen, 0U);
  }
}

// ---- lists ----

static bool
skip(const char** const at, const char* const word)
{
  const size_t length = strlen(word);
  const bool is_there = !strncmp(*at, word, length);
  *at += is_there ? length : 0U;
  return is_there;
}

/// Read a whole number of at least 1.
static bool
read_count(const char** const at, uint64_t* const count)
{
  char* end = NULL;
  *count = strtoull(*at, &end, 10);
  const bool good = **at >= '0' && **at <= '9' && *count > 0U;
  *at = end;
  return good;
}

static bool
read_number(const char** const at, double* const number)
{
  char* end = NULL;
  *number = strtod(*at, &end);
  const bool good = end != *at && isfinite(*number);
  *at = end;
  return good;
}

static bool
read_name(const char** const at, char* const name)
{
  const size_t length = strcspn(*at, ",");
  if (!length || length >= MAX_NAME) {
    return false;
  }
  memcpy(name, *at, length);
  name[length] = '\0';
  *at += length;
  return true;
}

static bool
read_value(const char** const at, Request* const request)
{
  const ValueKind kind = kinds[request->fault].value;
  if (kind == NO_VALUE) {
    return true;
  }
  return skip(at, "=") &&
         (kind == NUMBER ? read_number(at, &request->number) : read_name(at, request->name));
}

static bool
read_fault(const char** const at, FaultId* const fault)
{
  const size_t length = strcspn(*at, "@=,");
  for (uint32_t f = 0; f < N_FAULTS; ++f) {
    if (strlen(kinds[f].name) == length && !memcmp(*at, kinds[f].name, length)) {
      *fault = f;
      *at += length;
      return true;
    }
  }
  return false;
}

static bool
read_occurrence(const char** const at, Request* const request)
{
  if (!skip(at, "@")) {
    return true;
  }
  if (!read_count(at, &request->at)) {
    return false;
  }
  if (skip(at, "+")) {
    request->every = AND_LATER;
    return **at < '0' || **at > '9' || read_count(at, &request->every);
  }
  return true;
}

/// Read one entry of a list, and advance past it.
static bool
read_request(const char** const at, Request* const request)
{
  const bool server = skip(at, "server:");
  const bool worker = !server && skip(at, "worker:");
  *request = (Request){ .at = 1U,
                        .for_another = (server && strcmp(role, "server") != 0) ||
                                       (worker && strcmp(role, "worker") != 0) };
  if (!read_fault(at, &request->fault)) {
    return false;
  }
  request->every = kinds[request->fault].lasts ? AND_LATER : 0U;
  return read_occurrence(at, request) && read_value(at, request) && (**at == ',' || **at == '\0');
}

static void
arm(const Request* const request)
{
  Fault* const fault = &faults[request->fault];
  atomic_store(&fault->at, 0U);
  memcpy(fault->name, request->name, sizeof(fault->name));
  atomic_store(&fault->every, request->every);
  atomic_store(&fault->number, request->number);
  atomic_store(&fault->n_seen, 0U);
  atomic_store(&fault->n_failed, 0U);
  atomic_store(&fault->at, request->at);
}

Status
faults_arm(const char* const list, Error* const error)
{
  for (uint32_t pass = 0; pass < 2U; ++pass) { // read all entries, then arm them
    for (const char* at = list; *at; at += *at == ',') {
      Request request;
      if (!read_request(&at, &request)) {
        return error_set(error, STATUS_BAD_ARG,
                         "%s: not a list of faults such as gpu.hang@100,gpu.error@5=700", list);
      }
      if (pass == 1U && !request.for_another) {
        pthread_mutex_lock(&arming_lock);
        arm(&request);
        pthread_mutex_unlock(&arming_lock);
      }
    }
  }
  return STATUS_OK;
}

void
faults_disarm(void)
{
  for (uint32_t f = 0; f < N_FAULTS; ++f) {
    atomic_store(&faults[f].at, 0U);
  }
}

void
faults_print(char* const text, const size_t n_bytes)
{
  size_t n = 0;
  text[0] = '\0';
  for (uint32_t f = 0; f < N_FAULTS; ++f) {
    const unsigned long long at = atomic_load(&faults[f].at);
    if (at && n < n_bytes) {
      n += (size_t)snprintf(text + n, n_bytes - n, "%s@%llu met %llu failed %llu\n", kinds[f].name,
                            at, (unsigned long long)atomic_load(&faults[f].n_seen),
                            (unsigned long long)atomic_load(&faults[f].n_failed));
    }
  }
}

/// Arm the faults of the environment variable before main().
__attribute__((constructor)) static void
begin(const int argc, char** const argv)
{
  role = argc > 1 && !strcmp(argv[1], "worker") ? "worker" : role;
  const char* const list = getenv(VARIABLE);
  Error error;
  if (list && faults_arm(list, &error)) {
    fprintf(stderr, VARIABLE "=%s\n", error.text);
    _exit(EXIT_FAILURE);
  }
}
