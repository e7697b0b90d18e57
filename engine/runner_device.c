// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A device that fails: noticed by the builder, told, left for the CPU, tried again after a rest.

      worker: a block has no output ─▶ the plan is marked, the period plays dry
      builder, within 50 ms: takes the words ─▶ plans anew on the CPU ─▶ closes the device ─▶ rests
                                          … 1 s, 2 s, 4 s … 60 s later: opens it, plans anew on it

  In this process that helps against what comes and goes.  A device that hangs is never tried again,
  and some errors of CUDA outlive every context of a process: then opening it goes on failing, and
  RunnerStatus::needs_new_process says so to whoever can replace the process (remote_link.c).
*/

#include "rt.h"
#include "runner_private.h"

#include <stdio.h>

#define NS_PER_S        1000000000U
#define FIRST_REST_NS   (1ULL * NS_PER_S)
#define LONGEST_REST_NS (60ULL * NS_PER_S)

// A block that takes longer has failed.  No GPU is that late; the host's processor, as a device,
// can be for as long as other programs keep it.
#define GPU_DEADLINE_NS (NS_PER_S / 10U)
#define CPU_DEADLINE_NS NS_PER_S
#define DEADLINE_BLOCKS 8U // and no device before so many periods

void
runner_set_deadline(Runner* const runner, const Format* const format)
{
  if (!runner->device || runner->config.offline || runner->config.gpu_deadline_ns) {
    return;
  }
  const double blocks_ns =
      DEADLINE_BLOCKS * (double)format->block_frames / format->rate_hz * NS_PER_S;
  const uint64_t least_ns =
      device_backend_is_gpu(runner->device) ? GPU_DEADLINE_NS : CPU_DEADLINE_NS;
  device_backend_set_deadline(runner->device,
                              blocks_ns > (double)least_ns ? (uint64_t)blocks_ns : least_ns);
}

static void
take_words(Runner* const runner, const Error* const why)
{
  pthread_mutex_lock(&runner->told);
  runner->is_lost = true;
  runner->was_used = runner->backend != &backend_cpu;
  runner->backend = &backend_cpu;
  runner->lost_why = *why;
  snprintf(runner->backend_note, sizeof(runner->backend_note), "%.400s; effects run on the CPU",
           why->text);
  pthread_mutex_unlock(&runner->told);
}

void
runner_note_failure(Runner* const runner, const Plan* const plan)
{
  const Backend* backend = NULL;
  Error why = { STATUS_OK, "" };
  if (!runner->is_lost && plan && plan_failure(plan, &backend, &why)) {
    take_words(runner, &why);
  }
}

/// Set when the device is tried again: each time later, unless it has worked for long meanwhile.
static void
rest(Runner* const runner)
{
  const uint64_t now_ns = rt_now_ns();
  const bool is_first = !runner->rest_ns || now_ns - runner->try_at_ns > LONGEST_REST_NS;
  const uint64_t rest_ns = is_first ? FIRST_REST_NS : 2U * runner->rest_ns;
  runner->rest_ns = rest_ns < LONGEST_REST_NS ? rest_ns : LONGEST_REST_NS;
  runner->try_at_ns = now_ns + runner->rest_ns;
}

/// Close the device, which no plan uses any more.
static void
close_device(Runner* const runner)
{
  Backend* const device = runner->device;
  pthread_mutex_lock(&runner->told);
  runner->device = NULL;
  pthread_mutex_unlock(&runner->told);
  const bool gave_back = device_backend_free(device);
  rest(runner);
  if (!gave_back) {
    runner->try_at_ns = UINT64_MAX;
    pthread_mutex_lock(&runner->told);
    runner->needs_new_process = true;
    snprintf(runner->backend_note, sizeof(runner->backend_note),
             "%.300s; effects run on the CPU, and the device, which hangs, is left alone until the "
             "next start",
             runner->lost_why.text);
    pthread_mutex_unlock(&runner->told);
  }
}

/// Plan anew on the CPU, and close the device.  Without memory for that the dry signal goes on, and
/// the next round tries again.
static void
leave_device(Runner* const runner)
{
  Error error = { STATUS_OK, "" };
  if (!runner->has_format || !runner_replan(runner, &error)) {
    close_device(runner);
  }
}

/// Open the device again and plan anew on it.
static void
try_device(Runner* const runner)
{
  Backend* device = NULL;
  Error error = { STATUS_OK, "" };
  if (runner_open_device(runner, &device, &error)) {
    rest(runner);
    pthread_mutex_lock(&runner->told);
    runner->needs_new_process = true;
    pthread_mutex_unlock(&runner->told);
    return;
  }
  pthread_mutex_lock(&runner->told);
  runner->needs_new_process = false;
  runner->device = device;
  runner->backend = runner->was_used ? device : &backend_cpu;
  runner->is_lost = false;
  snprintf(runner->backend_note, sizeof(runner->backend_note), "%.400s: in use again",
           device_backend_summary(device));
  pthread_mutex_unlock(&runner->told);
  runner_set_deadline(runner, &runner->format);
  if (runner->ring) {
    runner_show_ring(runner, runner->ring);
  }
  if (runner->has_format && runner_replan(runner, &error)) {
    take_words(runner, &error);
    close_device(runner);
  }
}

void
runner_begin_lost(Runner* const runner, const Error* const why)
{
  take_words(runner, why);
  rest(runner);
  runner->needs_new_process = true;
}

bool
runner_take_loss(Runner* const runner, const Status status, const Error* const why)
{
  if (status != STATUS_DEVICE_LOST || runner->is_lost || !runner->has_format ||
      runner->config.offline) {
    return false; // at the start it is an error, and in a file
  }
  atomic_fetch_add(&runner->worker.counts.device_errors, 1U);
  take_words(runner, why);
  leave_device(runner);
  return true;
}

void
runner_mind_device(Runner* const runner)
{
  runner_note_failure(runner, runner->worker.plan);
  if (runner->is_lost && runner->device) {
    leave_device(runner);
  } else if (runner->is_lost && rt_now_ns() >= runner->try_at_ns) {
    try_device(runner);
  }
}

Status
runner_failure(const void* const context, Error* const error)
{
  const Runner* const runner = context;
  pthread_mutex_t* const told = (pthread_mutex_t*)&runner->told;
  pthread_mutex_lock(told);
  const bool is_lost = runner->is_lost;
  if (is_lost && error) {
    *error = runner->lost_why;
  }
  pthread_mutex_unlock(told);
  return is_lost ? STATUS_DEVICE_LOST : STATUS_OK;
}
