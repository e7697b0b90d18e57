// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's thread: blocks from the ring, one after the other, the next one begun while a device
// is at work on the last.

#include "faults_worker.h"
#include "rt.h"
#include "runner_private.h"

#define SPIN_NS                                                                                    \
  50000U // a helper's block is often this close; longer would starve other threads of a small
         // machine
#define SLEEP_NS 100000000U // the worker looks up this often even when nobody wakes it

static void
begin_slot(Runner* const runner, const uint64_t sequence)
{
  const RingShape* const shape = ring_shape(runner->ring);
  float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < shape->n_in; ++c) {
    in[c] = ring_input(runner->ring, sequence, c);
  }
  for (uint32_t c = 0; c < shape->n_out; ++c) {
    out[c] = ring_output(runner->ring, sequence, c);
  }
  const SlotHeader* const slot = ring_slot(runner->ring, sequence);
  worker_begin(&runner->worker, runner->ring, slot->frame, slot->n_frames, in, out);
  worker_faults_begin(runner->worker.plan, runner->ring);
}

/// Until the oldest block has come back, and begin the next one meanwhile if it comes.
static void
end_slot(Runner* const runner)
{
  Worker* const worker = &runner->worker;
  while (!worker_can_end(worker)) {
    uint64_t sequence = 0;
    if (worker->n_begun < WORKER_MAX_BEGUN && ring_take(runner->ring, worker->n_begun, &sequence)) {
      begin_slot(runner, sequence);
    }
    rt_pause();
  }
  const bool has_sound = worker_end(worker);
  worker_faults_end(runner->ring);
  if (has_sound) {
    ring_finish(runner->ring);
  } else {
    ring_fail(runner->ring);
  }
}

static void*
worker_main(void* const context)
{
  Runner* const runner = context;
  rt_flush_denormals();
  if (runner->config.realtime) {
    (void)rt_become_realtime(runner->config.priority, NULL); // said when the runner was made
  }
  while (!atomic_load_explicit(&runner->worker_stops, memory_order_acquire)) {
    uint64_t sequence = 0;
    if (ring_wait_take(runner->ring, SPIN_NS, SLEEP_NS, &sequence)) {
      rt_section_enter();
      begin_slot(runner, sequence);
      while (runner->worker.n_begun) {
        end_slot(runner);
      }
      rt_section_leave();
    } else {
      worker_idle(&runner->worker);
    }
  }
  return NULL;
}

Status
runner_start_worker(Runner* const runner, Error* const error)
{
  atomic_store(&runner->worker_stops, false);
  const Status status =
      rt_thread_start("warprack-worker", worker_main, runner, &runner->worker_thread, error);
  runner->has_worker_thread = !status;
  return status;
}

void
runner_stop_worker(Runner* const runner)
{
  if (runner->has_worker_thread) {
    atomic_store_explicit(&runner->worker_stops, true, memory_order_release);
    ring_wake(runner->ring);
    pthread_join(runner->worker_thread, NULL);
    runner->has_worker_thread = false;
  }
}
