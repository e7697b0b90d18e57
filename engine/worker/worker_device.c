// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Failure of a device: the builder detects and reports it, plans on the CPU, and tries the device
  again after a delay.

      player: a block fails ─▶ marks the plan as failed; the callback plays the fallbacks
      builder, within 50 ms: records the error ─▶ plans on the CPU ─▶ closes the device ─▶ waits
                                     … 1 s, 2 s, 4 s … 60 s later: opens the device, plans on it

  This recovers from temporary errors.  A process never tries a device again that hangs, and some
  errors of CUDA persist until the process ends: every attempt to open the device fails.  In both
  cases WorkerStatus::needs_new_process requests a new process (supervisor_loop.c).
*/

#include "worker_private.h"

#include "engine/base/time.h"

#include <stdio.h>

// A block that takes longer fails.  No working GPU takes 100 ms.  A CPU that is used as an OpenCL
// device can, while other programs use it.
#define GPU_DEADLINE_NS (NS_PER_S / 10U)
#define CPU_DEADLINE_NS NS_PER_S
#define DEADLINE_BLOCKS 8U // the deadline is never shorter than this many periods

void
worker_set_deadline(Worker* const worker, const Format* const format)
{
  if (!worker->device || worker->config.offline || worker->config.gpu_deadline_ns) {
    return;
  }
  const double blocks_ns =
      DEADLINE_BLOCKS * (double)format->block_frames / format->rate_hz * NS_PER_S;
  const uint64_t least_ns =
      device_backend_is_gpu(worker->device) ? GPU_DEADLINE_NS : CPU_DEADLINE_NS;
  device_backend_set_deadline(worker->device,
                              blocks_ns > (double)least_ns ? (uint64_t)blocks_ns : least_ns);
}

/// Close the device.  No plan may use it.
static void
close_device(Worker* const worker)
{
  Backend* const device = worker->device;
  pthread_mutex_lock(&worker->status_lock);
  worker->device = NULL;
  pthread_mutex_unlock(&worker->status_lock);
  const bool gave_back = device_backend_free(device);
  worker_rest_device(worker);
  if (!gave_back) {
    worker->retry.at_ns = UINT64_MAX;
    pthread_mutex_lock(&worker->status_lock);
    worker->needs_new_process = true;
    snprintf(
        worker->backend_note, sizeof(worker->backend_note),
        "%.300s; effects run on the CPU, and the hanging device is not used until the next start",
        worker->lost_why.text);
    pthread_mutex_unlock(&worker->status_lock);
  }
}

/// Plan on the CPU, and close the device.  If memory is insufficient, the fallbacks play on, and
/// the builder's next round tries again.
static void
leave_device(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  if (!worker->has_format || !worker_replan(worker, false, &error)) {
    close_device(worker);
  }
}

/// Open the device again and plan on it.
static void
try_device(Worker* const worker)
{
  Backend* device = NULL;
  Error error = { STATUS_OK, "" };
  if (worker_open_device(worker, &device, &error)) {
    worker_rest_device(worker);
    pthread_mutex_lock(&worker->status_lock);
    worker->needs_new_process = true;
    pthread_mutex_unlock(&worker->status_lock);
    return;
  }
  pthread_mutex_lock(&worker->status_lock);
  worker->needs_new_process = false;
  worker->device = device;
  worker->backend = worker->was_used ? device : &backend_cpu;
  worker->is_lost = false;
  snprintf(worker->backend_note, sizeof(worker->backend_note), "%.400s: in use again",
           device_backend_summary(device));
  pthread_mutex_unlock(&worker->status_lock);
  worker_set_deadline(worker, &worker->format);
  if (worker->ring) {
    worker_map_ring(worker, worker->ring);
  }
  if (worker->has_format && worker_replan_in_turn(worker, &error)) {
    worker_mark_lost(worker, &error);
    close_device(worker);
  }
}

bool
worker_take_loss(Worker* const worker, const Status status, const Error* const why)
{
  if (status != STATUS_DEVICE_LOST || worker->is_lost || !worker->has_format ||
      worker->config.offline) {
    return false; // a failure during the first arm, or offline, stays an error
  }
  counter_add(&worker->player.counts.device_errors, 1U);
  worker_mark_lost(worker, why);
  leave_device(worker);
  return true;
}

void
worker_update_device(Worker* const worker)
{
  worker_note_failure(worker, worker->player.plan);
  if (worker->is_lost && worker->device) {
    leave_device(worker);
  } else if (worker->is_lost && time_now_ns() >= worker->retry.at_ns) {
    try_device(worker);
  }
}
