// SPDX-License-Identifier: GPL-3.0-or-later
// A worker that crashes, hangs, is late, or writes garbage.

#include "engine/base/faults.h"
#include "engine/base/faults_worker.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/plan/plan.h"
#include "engine/ring/ring_private.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/// The node whose presence in a plan triggers a crash; RACK_UID_NONE: no crash.
static _Atomic RackUid crash_uid;

/// The node that crashes in its run; RACK_UID_NONE: no crash.
static _Atomic RackUid run_uid;

static void
crash(void)
{
  signal(SIGSEGV, SIG_DFL); // removes the handler of a sanitizer or driver
  raise(SIGSEGV);
}

static const RackNode*
find_named(const Rack* const rack, const FaultId fault)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    if (fault_names(fault, rack->nodes[n].name)) {
      return &rack->nodes[n];
    }
  }
  return NULL;
}

void
worker_faults_plan(const Rack* const rack)
{
  if (find_named(rack, FAULT_WORKER_CRASH_ON) && fault_is_due(FAULT_WORKER_CRASH_ON)) {
    crash();
  }
  const RackNode* const node = find_named(rack, FAULT_WORKER_CRASH_PLAYS);
  if (node) {
    atomic_store(&crash_uid, node->uid);
  }
  const RackNode* const runs = find_named(rack, FAULT_WORKER_CRASH_RUNS);
  if (runs) {
    atomic_store(&run_uid, runs->uid);
  }
}

void
worker_faults_run(const BatchUnit* const units, const uint32_t n_units)
{
  const RackUid uid = atomic_load_explicit(&run_uid, memory_order_relaxed);
  for (uint32_t u = 0; uid != RACK_UID_NONE && u < n_units; ++u) {
    if (units[u].uid == uid && fault_is_due(FAULT_WORKER_CRASH_RUNS)) {
      raise(SIGSEGV); // with the handler of the flight recorder
    }
  }
}

void
worker_faults_step(void)
{
  if (fault_is_due(FAULT_WORKER_KILL)) {
    kill(getpid(), SIGKILL);
  }
}

/// True if the plan has the node that triggers a crash.
static bool
plays_crash(const Plan* const plan)
{
  const RackUid uid = atomic_load_explicit(&crash_uid, memory_order_relaxed);
  for (uint32_t n = 0; uid != RACK_UID_NONE && plan && n < plan->n_nodes; ++n) {
    if (plan->nodes[n].node->uid == uid) {
      return true;
    }
  }
  return false;
}

/// Write random words to all shared memory (xorshift, Marsaglia 2003), for ever.
static void
write_garbage(const Ring* const ring)
{
  uint64_t random = 88172645463325252U;
  size_t n_bytes = 0;
  _Atomic uint64_t* const words = ring_memory(ring, &n_bytes);
  for (size_t w = 0;; w = (w + 1U) % (n_bytes / sizeof(uint64_t))) {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    atomic_store_explicit(&words[w], random, memory_order_relaxed);
  }
}

void
worker_faults_begin(const Plan* const plan, const Ring* const ring)
{
  if (fault_is_due(FAULT_WORKER_CRASH) ||
      (plays_crash(plan) && fault_is_due(FAULT_WORKER_CRASH_PLAYS))) {
    crash();
  }
  if (fault_is_due(FAULT_WORKER_EXIT)) {
    _exit((int)fault_value(FAULT_WORKER_EXIT));
  }
  if (fault_is_due(FAULT_WORKER_STOP)) {
    kill(getpid(), SIGSTOP);
  }
  if (fault_is_due(FAULT_WORKER_GARBAGE)) {
    write_garbage(ring);
  }
  if (fault_is_due(FAULT_WORKER_HANG)) {
    for (;;) {
      rt_pause();
    }
  }
}

static void
write_nan(const Ring* const ring)
{
  static const float wrong[] = { NAN, INFINITY, 1e30F, -1e30F, -INFINITY };
  const RingShape* const shape = ring_shape(ring);
  for (uint32_t c = 0; c < shape->n_out; ++c) {
    float* const out = ring_output(ring, ring->finished, c);
    for (uint32_t i = 0; i < shape->block_frames; ++i) {
      out[i] = wrong[i % ARRAY_LEN(wrong)];
    }
  }
}

void
worker_faults_end(Ring* const ring)
{
  if (fault_is_due(FAULT_WORKER_LATE)) {
    const uint64_t until_ns =
        time_now_ns() + (uint64_t)(fault_value(FAULT_WORKER_LATE) * (double)NS_PER_MS);
    while (time_now_ns() < until_ns) {
      rt_pause();
    }
  }
  if (fault_is_due(FAULT_WORKER_NAN)) {
    write_nan(ring);
  }
}

uint64_t
worker_faults_result(const uint64_t result)
{
  return result + fault_is_due(FAULT_WORKER_WRONG);
}
