// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A device that fails: noticed by the builder, told, left for the CPU, tried again after a rest.

      worker: a block has no output ─▶ the plan is marked, the period plays dry
      builder, within 50 ms: takes the words ─▶ plans anew on the CPU ─▶ closes the device ─▶ rests
                                          … 1 s, 2 s, 4 s … 60 s later: opens it, plans anew on it

  In this process that helps against what comes and goes.  A device that hangs is never tried again,
  and some errors of CUDA outlive every context of a process: then opening it goes on failing, until
  the process is replaced.
*/

#include "engine_private.h"
#include "rt.h"

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
engine_set_deadline(Engine* const engine, const Format* const format)
{
  if (!engine->device || engine->config.offline || engine->config.gpu_deadline_ns) {
    return;
  }
  const double blocks_ns =
      DEADLINE_BLOCKS * (double)format->block_frames / format->rate_hz * NS_PER_S;
  const uint64_t least_ns =
      device_backend_is_gpu(engine->device) ? GPU_DEADLINE_NS : CPU_DEADLINE_NS;
  device_backend_set_deadline(engine->device,
                              blocks_ns > (double)least_ns ? (uint64_t)blocks_ns : least_ns);
}

static void
take_words(Engine* const engine, const Error* const why)
{
  pthread_mutex_lock(&engine->pointers);
  engine->is_lost = true;
  engine->was_used = engine->backend != &backend_cpu;
  engine->backend = &backend_cpu;
  engine->lost_why = *why;
  snprintf(engine->backend_note, sizeof(engine->backend_note), "%.400s; effects run on the CPU",
           why->text);
  pthread_mutex_unlock(&engine->pointers);
}

void
engine_note_failure(Engine* const engine, const Plan* const plan)
{
  const Backend* backend = NULL;
  Error why = { STATUS_OK, "" };
  if (!engine->is_lost && plan && plan_failure(plan, &backend, &why)) {
    take_words(engine, &why);
  }
}

/// Set when the device is tried again: each time later, unless it has worked for long meanwhile.
static void
rest(Engine* const engine)
{
  const uint64_t now_ns = rt_now_ns();
  const bool is_first = !engine->rest_ns || now_ns - engine->try_at_ns > LONGEST_REST_NS;
  const uint64_t rest_ns = is_first ? FIRST_REST_NS : 2U * engine->rest_ns;
  engine->rest_ns = rest_ns < LONGEST_REST_NS ? rest_ns : LONGEST_REST_NS;
  engine->try_at_ns = now_ns + engine->rest_ns;
}

/// Close the device, which no plan uses any more.
static void
close_device(Engine* const engine)
{
  Backend* const device = engine->device;
  pthread_mutex_lock(&engine->pointers);
  engine->device = NULL;
  pthread_mutex_unlock(&engine->pointers);
  const bool gave_back = device_backend_free(device);
  rest(engine);
  if (!gave_back) {
    engine->try_at_ns = UINT64_MAX;
    pthread_mutex_lock(&engine->pointers);
    snprintf(engine->backend_note, sizeof(engine->backend_note),
             "%.300s; effects run on the CPU, and the device, which hangs, is left alone until the "
             "next start",
             engine->lost_why.text);
    pthread_mutex_unlock(&engine->pointers);
  }
}

/// Plan anew on the CPU, and close the device.  Without memory for that the dry signal goes on, and
/// the next round tries again.
static void
leave_device(Engine* const engine)
{
  Error error = { STATUS_OK, "" };
  if (!engine->has_format || !engine_replan(engine, &error)) {
    close_device(engine);
  }
}

/// Open the device again and plan anew on it.
static void
try_device(Engine* const engine)
{
  Backend* device = NULL;
  Error error = { STATUS_OK, "" };
  if (engine_open_device(engine, &device, &error)) {
    rest(engine);
    return;
  }
  pthread_mutex_lock(&engine->pointers);
  engine->device = device;
  engine->backend = engine->was_used ? device : &backend_cpu;
  engine->is_lost = false;
  snprintf(engine->backend_note, sizeof(engine->backend_note), "%.400s: in use again",
           device_backend_summary(device));
  pthread_mutex_unlock(&engine->pointers);
  engine_set_deadline(engine, &engine->format);
  if (engine->ring) {
    engine_show_ring(engine, engine->ring);
  }
  if (engine->has_format && engine_replan(engine, &error)) {
    take_words(engine, &error);
    close_device(engine);
  }
}

bool
engine_take_loss(Engine* const engine, const Status status, const Error* const why)
{
  if (status != STATUS_DEVICE_LOST || engine->is_lost || !engine->has_format ||
      engine->config.offline) {
    return false; // at the start it is an error, and in a file
  }
  atomic_fetch_add(&engine->worker.counts.device_errors, 1U);
  take_words(engine, why);
  leave_device(engine);
  return true;
}

void
engine_mind_device(Engine* const engine)
{
  engine_note_failure(engine, engine->worker.plan);
  if (engine->is_lost && engine->device) {
    leave_device(engine);
  } else if (engine->is_lost && rt_now_ns() >= engine->try_at_ns) {
    try_device(engine);
  }
}

Status
engine_failure(const Engine* const engine, Error* const error)
{
  pthread_mutex_t* const pointers = (pthread_mutex_t*)&engine->pointers;
  pthread_mutex_lock(pointers);
  const bool is_lost = engine->is_lost;
  if (is_lost && error) {
    *error = engine->lost_why;
  }
  pthread_mutex_unlock(pointers);
  return is_lost ? STATUS_DEVICE_LOST : STATUS_OK;
}
