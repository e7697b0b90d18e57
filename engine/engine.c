// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's life: made, armed for a format, processing, disarmed; and what it tells about
// itself.

#include "engine.h"

#include "engine_private.h"
#include "guard.h"
#include "rt.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_SLOTS    8U
#define RING_MESSAGES 4096U
#define SPIN_NS                                                                                    \
  50000U // a helper's block is often this close; longer would starve other threads of a small
         // machine
#define SLEEP_NS        100000000U // the worker looks up this often even when nobody wakes it
#define PROCESS_POLL_US 100U

// ---- the worker's thread ----

static void
begin_slot(Engine* const engine, const uint64_t sequence)
{
  const RingShape* const shape = ring_shape(engine->ring);
  float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < shape->n_in; ++c) {
    in[c] = ring_input(engine->ring, sequence, c);
  }
  for (uint32_t c = 0; c < shape->n_out; ++c) {
    out[c] = ring_output(engine->ring, sequence, c);
  }
  const SlotHeader* const slot = ring_slot(engine->ring, sequence);
  worker_begin(&engine->worker, engine->ring, slot->frame, slot->n_frames, in, out);
}

/// Until the oldest block has come back, and begin the next one meanwhile if it comes.
static void
end_slot(Engine* const engine)
{
  Worker* const worker = &engine->worker;
  while (!worker_can_end(worker)) {
    uint64_t sequence = 0;
    if (worker->n_begun < WORKER_MAX_BEGUN && ring_take(engine->ring, worker->n_begun, &sequence)) {
      begin_slot(engine, sequence);
    }
    rt_pause();
  }
  if (worker_end(worker)) {
    ring_finish(engine->ring);
  } else {
    ring_fail(engine->ring);
  }
}

static void*
worker_main(void* const context)
{
  Engine* const engine = context;
  rt_flush_denormals();
  if (engine->config.realtime) {
    rt_become_realtime(engine->config.priority,
                       NULL); // the failure was told when the engine was made
  }
  while (!atomic_load_explicit(&engine->worker_stops, memory_order_acquire)) {
    uint64_t sequence = 0;
    if (ring_wait_take(engine->ring, SPIN_NS, SLEEP_NS, &sequence)) {
      rt_section_enter();
      begin_slot(engine, sequence);
      while (engine->worker.n_begun) {
        end_slot(engine);
      }
      rt_section_leave();
    } else {
      worker_idle(&engine->worker);
    }
  }
  return NULL;
}

// ---- arming ----

static uint64_t
period_frame(const Period* const period)
{
  uint64_t next_frame = 0;
  uint64_t began_ns = 0;
  period_clock(period, &next_frame, &began_ns);
  return next_frame;
}

static uint64_t
clock_frame(const Engine* const engine)
{
  const Period* const period = atomic_load_explicit(&engine->period, memory_order_acquire);
  return period ? period_frame(period)
                : atomic_load_explicit(&engine->next_frame, memory_order_relaxed);
}

static void
add_counts(PeriodCounts* const sum, const PeriodCounts* const counts)
{
  sum->blocks += counts->blocks;
  sum->late += counts->late;
  sum->failed += counts->failed;
  sum->wrong += counts->wrong;
  sum->dropped += counts->dropped;
  sum->dry += counts->dry;
  sum->clipped += counts->clipped;
  sum->bad_in += counts->bad_in;
  sum->bad_out += counts->bad_out;
  sum->odd_periods += counts->odd_periods;
  sum->faults += counts->faults;
  sum->callback_ns_sum += counts->callback_ns_sum;
  if (counts->callback_ns_max > sum->callback_ns_max) {
    sum->callback_ns_max = counts->callback_ns_max;
  }
}

/// Take the period away from the driver's thread and wait until that has left it.
static void
withdraw_period(Engine* const engine)
{
  Period* const period = atomic_load(&engine->period);
  if (period) {
    pthread_mutex_lock(&engine->pointers);
    atomic_store(&engine->period, NULL);
    while (atomic_load(&engine->in_process)) {
      usleep(PROCESS_POLL_US);
    }
    atomic_store(&engine->next_frame, period_frame(period)); // its last block may just have begun
    const PeriodCounts counts = period_counts(period);
    add_counts(&engine->past, &counts);
    pthread_mutex_unlock(&engine->pointers);
    period_free(period);
  }
}

static void
stop_worker(Engine* const engine)
{
  Ring* const ring = engine->ring; // changed by this thread alone
  if (engine->has_worker_thread) {
    atomic_store_explicit(&engine->worker_stops, true, memory_order_release);
    ring_wake(ring);
    pthread_join(engine->worker_thread, NULL);
    engine->has_worker_thread = false;
  }
  engine_note_failure(engine, engine->worker.plan); // its stages go
  pthread_mutex_lock(&engine->pointers);
  if (ring) {
    worker_drain(&engine->worker, ring);
    engine->ring = NULL;
  }
  engine->worker.n_received = engine->n_sent;
  pthread_mutex_unlock(&engine->pointers);
  if (ring) {
    engine_detach_ring(engine);
    ring_free(ring);
  }
}

/// End the block that was begun ahead: it is not wanted.
static void
end_offline(Engine* const engine)
{
  while (engine->config.offline && engine->worker.n_begun) {
    worker_end(&engine->worker);
  }
}

/// [planning held]
static void
disarm(Engine* const engine)
{
  withdraw_period(engine);
  stop_worker(engine);
  end_offline(engine); // before its plan goes
  engine->armed = false;
}

void
engine_disarm(Engine* const engine)
{
  pthread_mutex_lock(&engine->planning);
  disarm(engine);
  pthread_mutex_unlock(&engine->planning);
}

/// The document as it is heard, with the values that messages have set since: before the nodes are
/// made anew.
static void
refresh_rack(Engine* const engine)
{
  const Plan* const plan = engine->worker.plan;
  for (uint32_t v = 0; plan && v < plan->n_living; ++v) {
    const Node* const node = plan->nodes[v].node;
    RackNode* const rack_node = &engine->rack->nodes[v];
    for (uint32_t p = 0; p < node->fx->n_params; ++p) {
      if (!node->fx->params[p].structural && node->stamps[p]) {
        rack_node->values[p].kind = VALUE_NUMBER;
        rack_node->values[p].number = node->targets[p];
      }
    }
  }
}

static bool
same_format(const Format* const a, const Format* const b)
{
  return a->rate_hz == b->rate_hz && a->block_frames == b->block_frames && a->n_in == b->n_in &&
         (b->n_out == 0U || a->n_out == b->n_out);
}

/// Plan the present rack from nothing for a new format; keeps the old plan when that fails.
static Status
plan_for_format(Engine* const engine, const Format* const format, Error* const error)
{
  refresh_rack(engine);
  PlanRequest request = { .rack = engine->rack,
                          .format = format,
                          .loader = &engine->loader,
                          .pool = engine->pool,
                          .stamp = engine->n_sent };
  engine_place(engine, &request);
  Plan* plan = NULL;
  bool tangled = false;
  const Status status = engine_make_plan(engine, &request, &plan, &tangled, error);
  if (!status) {
    engine_show_plan(engine, plan);
    plan_free(engine->worker.plan);
    engine->worker.plan = plan;
    plan_begin(plan);
    plan_heard(plan, atomic_load(&engine->next_frame));
    pthread_mutex_lock(&engine->pointers);
    engine->format = *format;
    engine->format.n_out = engine->config.offline ? format->n_out : plan->n_out;
    pthread_mutex_unlock(&engine->pointers);
    engine->has_format = true;
  }
  return status;
}

static Status
start_worker(Engine* const engine, Error* const error)
{
  const Format* const format = &engine->format;
  const RingShape shape = { .n_in = format->n_in,
                            .n_out = format->n_out,
                            .block_frames = format->block_frames,
                            .n_slots = RING_SLOTS,
                            .n_messages = RING_MESSAGES };
  Ring* ring = NULL;
  Status status = ring_new(&shape, &ring, error);
  if (status) {
    return status;
  }
  status = engine_attach_ring(engine, ring, error);
  if (status) {
    engine_detach_ring(engine);
    ring_free(ring);
    return status;
  }
  const PeriodConfig config = { .ring = ring,
                                .rate_hz = format->rate_hz,
                                .first_frame = atomic_load(&engine->next_frame),
                                .depth = engine->config.depth,
                                .deadline = engine->config.deadline,
                                .dry_is_silent = engine->config.dry_is_silent,
                                .ceiling = engine->config.ceiling,
                                .max_latency_frames =
                                    (uint32_t)(LATENCY_LIMIT_SECONDS * format->rate_hz) };
  Period* period = NULL;
  status = period_new(&config, &period, error);
  if (status) {
    engine_detach_ring(engine);
    ring_free(ring);
    return status;
  }
  period_set_latency(period, atomic_load(&engine->rack_latency));
  pthread_mutex_lock(&engine->pointers);
  engine->ring = ring;
  pthread_mutex_unlock(&engine->pointers);
  atomic_store(&engine->worker_stops, false);
  engine->worker.rate_hz = format->rate_hz;
  engine->worker.next_frame = atomic_load(&engine->next_frame);
  status = rt_thread_start("warprack-worker", worker_main, engine, &engine->worker_thread, error);
  if (status) {
    period_free(period);
    stop_worker(engine);
    return status;
  }
  engine->has_worker_thread = true;
  atomic_store(&engine->process_out, format->n_out);
  atomic_store(&engine->period, period);
  return STATUS_OK;
}

static Status
prepare_offline(Engine* const engine, Error* const error)
{
  const Format* const format = &engine->format;
  free(engine->offline_rows);
  const size_t n_rows = 2U * ((size_t)format->n_in + engine->worker.plan->n_out);
  engine->offline_rows = calloc(n_rows * format->block_frames + 1U, sizeof(float));
  engine->worker.rate_hz = format->rate_hz;
  rt_flush_denormals(); // this is the thread that will process
  return engine->offline_rows ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

static Status
arm_once(Engine* const engine, const Format* const format, Error* const error)
{
  engine_set_deadline(engine, format);
  Status status = STATUS_OK;
  if (!engine->has_format || !same_format(&engine->format, format)) {
    status = plan_for_format(engine, format, error);
  }
  if (status) {
    return status;
  }
  engine_publish_facts(engine);
  status = engine->config.offline ? prepare_offline(engine, error) : start_worker(engine, error);
  engine->armed = !status;
  return status;
}

static Status
arm(Engine* const engine, const Format* const format, Error* const error)
{
  disarm(engine);
  engine_mind_device(engine);
  const Status status = arm_once(engine, format, error);
  return engine_take_loss(engine, status, error) ? arm_once(engine, format, error) : status;
}

Status
engine_arm(Engine* const engine, const double rate_hz, const uint32_t block_frames,
           const uint32_t n_in, const uint32_t n_out, Error* const error)
{
  if (!(rate_hz >= 1000.0 && rate_hz <= 1e6) || block_frames < 1U || block_frames > FX_MAX_BLOCK) {
    return error_set(error, STATUS_BAD_ARG,
                     "a rate of %g Hz with blocks of %u frames is not supported (1000 to 1000000 "
                     "Hz, 1 to %u frames)",
                     rate_hz, block_frames, FX_MAX_BLOCK);
  }
  if (n_in < 1U || n_in > FX_MAX_CHANNELS || n_out > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_BAD_ARG, "%u:%u channels: 1 to %u inputs, at most %u outputs",
                     n_in, n_out, FX_MAX_CHANNELS, FX_MAX_CHANNELS);
  }
  const Format format = { .rate_hz = rate_hz,
                          .block_frames = block_frames,
                          .n_in = n_in,
                          .n_out = n_out ? n_out : engine->config.n_out,
                          .offline = engine->config.offline };
  pthread_mutex_lock(&engine->planning);
  const Status status = arm(engine, &format, error);
  pthread_mutex_unlock(&engine->planning);
  return status;
}

// ---- made and freed ----

/// Ask for what real time needs; what is missing becomes a note, not an error.
static void
become_realtime(Engine* const engine)
{
  Error error = { STATUS_OK, "" };
  if (engine->config.realtime && rt_lock_memory(&error)) {
    memcpy(engine->realtime_note, error.text, sizeof(engine->realtime_note));
  }
}

static uint32_t
number_of_helpers(const EngineConfig* const config)
{
  if (config->n_helpers != UINT32_MAX) {
    return config->n_helpers < POOL_MAX_HELPERS ? config->n_helpers : POOL_MAX_HELPERS;
  }
  const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  return n_cores > 1 ? (uint32_t)n_cores - 1U : 0U;
}

static void
init_locks(Engine* const engine)
{
  pthread_mutex_init(&engine->planning, NULL);
  pthread_mutex_init(&engine->edits, NULL);
  pthread_mutex_init(&engine->pointers, NULL);
  pthread_condattr_t monotonic; // a wait that the setting of the wall clock does not prolong
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&engine->edits_changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

Status
engine_new(const EngineConfig* const config, Engine** const out, Error* const error)
{
  Engine* const engine = calloc(1, sizeof(Engine));
  if (!engine) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  engine->config = *config;
  engine->loader = (FileLoader){ config->load_file, config->free_file, config->file_context, NULL };
  engine->last_edit = &engine->first_edit;
  atomic_init(&engine->process_out, config->n_out);
  init_locks(engine);
  engine->rack = rack_new();
  Status status = engine->rack ? engine_open_backend(engine, error)
                               : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    status = worker_init(&engine->worker, error);
  }
  const uint32_t n_helpers = number_of_helpers(config);
  if (!status && n_helpers) {
    status = pool_new(n_helpers, config->realtime, config->priority, &engine->pool, error);
  }
  if (!status && !config->offline) {
    become_realtime(engine);
    status = engine_start_builder(engine, error);
  }
  if (status) {
    engine_free(engine);
    return status;
  }
  *out = engine;
  return STATUS_OK;
}

void
engine_free(Engine* const engine)
{
  if (!engine) {
    return;
  }
  engine_stop_builder(engine);
  engine_disarm(engine);
  worker_clear(&engine->worker);
  engine_close_backend(engine);
  pool_free(engine->pool);
  rack_free(engine->rack);
  free(engine->offline_rows);
  pthread_cond_destroy(&engine->edits_changed);
  pthread_mutex_destroy(&engine->pointers);
  pthread_mutex_destroy(&engine->edits);
  pthread_mutex_destroy(&engine->planning);
  free(engine);
}

// ---- processing ----

static void
silence(const Engine* const engine, float* const* const out, const uint32_t n_frames)
{
  const uint32_t n_out = atomic_load_explicit(&engine->process_out, memory_order_relaxed);
  for (uint32_t c = 0; c < n_out; ++c) {
    memset(out[c], 0, n_frames * sizeof(float));
  }
}

/// Take note of a block that has no sound.
static void
note_offline(Engine* const engine, const bool has_sound)
{
  if (!has_sound) {
    engine_note_failure(engine, engine->worker.plan);
    ++engine->past.failed;
  }
}

static void
process_offline(Engine* const engine, const float* const* const in, float* const* const out,
                const uint32_t n_frames)
{
  Worker* const worker = &engine->worker;
  const uint32_t n_in = engine->format.n_in;
  const uint32_t n_out = worker->plan->n_out;
  const size_t block = engine->format.block_frames;
  float* const rows = engine->offline_rows + engine->past.blocks % 2U * (n_in + n_out) * block;
  float* guarded[FX_MAX_CHANNELS];
  float* ahead[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < n_in; ++c) {
    guarded[c] = rows + c * block;
    engine->past.bad_in += guard_copy(guarded[c], in[c], n_frames, FLT_MAX).bad;
  }
  for (uint32_t c = 0; c < n_out; ++c) {
    ahead[c] = rows + (n_in + c) * block;
  }
  const uint64_t frame = atomic_load_explicit(&engine->next_frame, memory_order_relaxed);
  atomic_store_explicit(&engine->next_frame, frame + n_frames, memory_order_relaxed);
  ++engine->past.blocks;
  if (!engine->config.depth) {
    note_offline(engine, worker_run(worker, NULL, frame, n_frames, guarded, out));
    return;
  }
  worker_begin(worker, NULL, frame, n_frames, guarded, ahead);
  if (worker->n_begun < WORKER_MAX_BEGUN) {
    for (uint32_t c = 0; c < n_out; ++c) {
      memset(out[c], 0, n_frames * sizeof(float)); // nothing is done yet
    }
    return;
  }
  note_offline(engine, worker_end(worker));
  const float* const other =
      engine->offline_rows + engine->past.blocks % 2U * (n_in + n_out) * block;
  for (uint32_t c = 0; c < n_out; ++c) {
    memcpy(out[c], other + (n_in + c) * block, n_frames * sizeof(float));
  }
}

void
engine_process(Engine* const engine, const float* const* const in, float* const* const out,
               const uint32_t n_frames, const bool wait)
{
  if (engine->config.offline) {
    process_offline(engine, in, out, n_frames);
    return;
  }
  // Sequentially consistent, as in withdraw_period(): either it sees in_process, or this sees no
  // period.
  if (atomic_exchange(&engine->in_process, true)) {
    silence(engine, out,
            n_frames); // a second audio thread: the driver's fault, never ours to crash on
    return;
  }
  Period* const period = atomic_load(&engine->period);
  if (period) {
    period_run(period, in, out, n_frames, wait);
  } else {
    silence(engine, out, n_frames);
  }
  atomic_store(&engine->in_process, false);
}

bool
engine_finish_pass(Engine* const engine)
{
  bool again = false;
  end_offline(engine);
  const Plan* const plan = engine->worker.plan;
  // In the order of the signal: what a node measures behind one that changes does not count.
  for (uint32_t level = 0; level < plan->n_levels && !again; ++level) {
    for (uint32_t n = 0; n < plan->n_living; ++n) {
      Node* const node = plan->nodes[n].node;
      if (plan->nodes[n].level == level && node->fx->finish_pass) {
        again |= node->fx->finish_pass(node->fx_node, node->states);
      }
    }
  }
  if (again) {
    plan_reset(plan);
    atomic_store(&engine->next_frame, 0U);
  }
  return again;
}

// ---- queries ----

void
engine_publish_facts(Engine* const engine)
{
  const Plan* const plan = engine->worker.plan;
  atomic_store(&engine->rack_latency, plan->latency_frames);
  atomic_store(&engine->tail, plan->tail_frames);
  atomic_store(&engine->n_out, plan->n_out);
  atomic_store(&engine->n_nodes, plan->n_living);
  atomic_store(&engine->n_units, plan->n_units);
  atomic_store(&engine->n_levels, plan->n_levels);
}

/// Queries look at the period under this lock, so that disarming does not free it meanwhile.
static void
lock_pointers(const Engine* const engine)
{
  pthread_mutex_lock((pthread_mutex_t*)&engine->pointers);
}

static void
unlock_pointers(const Engine* const engine)
{
  pthread_mutex_unlock((pthread_mutex_t*)&engine->pointers);
}

uint64_t
engine_frame_now(const Engine* const engine)
{
  lock_pointers(engine);
  const uint64_t frame = clock_frame(engine);
  unlock_pointers(engine);
  return frame;
}

uint64_t
engine_frame_at(const Engine* const engine, const uint64_t monotonic_ns)
{
  lock_pointers(engine);
  uint64_t frame = clock_frame(engine);
  const Period* const period = atomic_load(&engine->period);
  if (period) {
    uint64_t began_ns = 0;
    period_clock(period, &frame, &began_ns);
    const double ahead = ((double)monotonic_ns - (double)began_ns) * 1e-9 * engine->format.rate_hz;
    frame += ahead > 0.0 ? (uint64_t)llrint(ahead) : 0U;
  }
  unlock_pointers(engine);
  return frame;
}

uint32_t
engine_rack_latency(const Engine* const engine)
{
  return atomic_load(&engine->rack_latency);
}

/// [pointers held]
static uint32_t
whole_latency(const Engine* const engine)
{
  return engine->config.depth * engine->format.block_frames + engine_rack_latency(engine);
}

uint32_t
engine_latency(const Engine* const engine)
{
  lock_pointers(engine);
  const uint32_t latency = whole_latency(engine);
  unlock_pointers(engine);
  return latency;
}

uint64_t
engine_tail(const Engine* const engine)
{
  return atomic_load(&engine->tail);
}

uint32_t
engine_n_out(const Engine* const engine)
{
  return atomic_load(&engine->n_out);
}

static PeriodCounts
all_counts(const Engine* const engine)
{
  PeriodCounts counts = engine->past;
  const Period* const period = atomic_load(&engine->period);
  if (period) {
    const PeriodCounts now = period_counts(period);
    add_counts(&counts, &now);
  }
  return counts;
}

void
engine_status(const Engine* const engine, EngineStatus* const status)
{
  const WorkerCounts* const counts = &engine->worker.counts;
  lock_pointers(engine);
  *status = (EngineStatus){ .armed = engine->armed,
                            .rate_hz = engine->format.rate_hz,
                            .block_frames = engine->format.block_frames,
                            .depth = engine->config.depth,
                            .n_in = engine->format.n_in,
                            .n_out = engine_n_out(engine),
                            .latency_frames = whole_latency(engine),
                            .rack_latency_frames = engine_rack_latency(engine),
                            .n_nodes = atomic_load(&engine->n_nodes),
                            .n_units = atomic_load(&engine->n_units),
                            .n_levels = atomic_load(&engine->n_levels),
                            .plans = atomic_load(&counts->plans),
                            .edits_refused = atomic_load(&engine->edits_refused),
                            .params_applied = atomic_load(&counts->params_applied),
                            .params_dropped = atomic_load(&counts->params_dropped),
                            .units_reset = atomic_load(&counts->units_reset),
                            .load_p50 = load_quantile(&engine->worker.load, 0.5),
                            .load_p99 = load_quantile(&engine->worker.load, 0.99),
                            .load_max = atomic_load(&engine->worker.load.largest),
                            .counts = all_counts(engine) };
  engine_tell_backend(engine, status);
  memcpy(status->realtime_note, engine->realtime_note, sizeof(status->realtime_note));
  unlock_pointers(engine);
}

void
engine_reset_load(Engine* const engine)
{
  load_reset(&engine->worker.load);
}

void
engine_fade(Engine* const engine, const bool to_silence)
{
  lock_pointers(engine);
  Period* const period = atomic_load(&engine->period);
  if (period) {
    period_fade(period, to_silence);
  }
  unlock_pointers(engine);
}

bool
engine_is_silent(const Engine* const engine)
{
  lock_pointers(engine);
  const Period* const period = atomic_load(&engine->period);
  const bool silent = !period || period_is_silent(period);
  unlock_pointers(engine);
  return silent;
}
