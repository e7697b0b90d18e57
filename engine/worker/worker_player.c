// SPDX-License-Identifier: GPL-3.0-or-later
// The player's thread: runs the blocks of the ring in order, and begins the next block while a
// device still runs the one before.

#include "worker_private.h"

#include "engine/base/faults_worker.h"
#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"

// Before it sleeps, the player spins this long for the next block.  A longer spin would starve
// other threads on a machine with few cores.
#define SPIN_NS    50000U
#define LONG_WAITS 16U // in a row, after which it does not spin

static void
begin_slot(Worker* const worker, const uint64_t sequence)
{
  const RingShape* const shape = ring_shape(worker->ring);
  float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < shape->n_in; ++c) {
    in[c] = ring_input(worker->ring, sequence, c);
  }
  for (uint32_t c = 0; c < shape->n_out; ++c) {
    out[c] = ring_output(worker->ring, sequence, c);
  }
  const SlotHeader* const slot = ring_slot(worker->ring, sequence);
  fx_wait(FX_WAIT_PLAYER, (slot->flags & SLOT_WAITED) != 0U);
  const uint32_t n_midi = slot->n_midi;
  player_give_midi(&worker->player, ring_midi(worker->ring, sequence),
                   n_midi < shape->n_midi ? n_midi : shape->n_midi);
  player_begin(&worker->player, worker->ring, slot->frame, slot->n_frames, in, out);
  worker_faults_begin(worker->player.plan, worker->ring);
}

/// True if the oldest block is overdue: more blocks are in flight than the callback waits for.  A
/// block that the callback waits for, however long, is never overdue.
static bool
is_overdue(const Worker* const worker)
{
  const uint64_t oldest = ring_n_finished(worker->ring);
  const uint32_t n_in_flight = worker->config.depth > 1U ? worker->config.depth : 1U;
  const bool is_waited_for = (ring_slot(worker->ring, oldest)->flags & SLOT_WAITED) != 0U;
  return !is_waited_for && ring_n_submitted(worker->ring) - oldest > n_in_flight;
}

/// Wait for the oldest block and end it.  If the next block arrives meanwhile, begin it.
static void
end_slot(Worker* const worker)
{
  Player* const player = &worker->player;
  while (!player_can_end(player)) {
    uint64_t sequence = 0;
    if (player->n_begun < PLAYER_MAX_BEGUN && ring_take(worker->ring, player->n_begun, &sequence)) {
      begin_slot(worker, sequence);
    }
    rt_pause();
  }
  const bool has_sound = player_end(player);
  worker_faults_end(worker->ring);
  if (is_overdue(worker)) {
    counter_add(&worker->n_late, 1U);
  }
  if (has_sound) {
    ring_finish(worker->ring);
  } else {
    ring_fail(worker->ring);
  }
}

/// Wait for the next block.  Spins only while some of the last waits were short: a spin before a
/// long one costs processor time, and delays the driver's thread if it needs the same core.  The
/// sleep has no time limit: a timer would cost 1 us in each block.
static bool
wait_for_block(Worker* const worker, uint64_t* const sequence)
{
  const uint64_t began_ns = time_now_ns();
  const uint64_t spin_ns = worker->n_long_waits < LONG_WAITS ? SPIN_NS : 0U;
  const bool has_block = ring_wait_take(worker->ring, spin_ns, UINT64_MAX, sequence);
  const bool is_short = time_now_ns() - began_ns <= SPIN_NS;
  worker->n_long_waits = is_short ? 0U : worker->n_long_waits + (worker->n_long_waits < LONG_WAITS);
  return has_block;
}

static void*
player_main(void* const context)
{
  Worker* const worker = context;
  rt_flush_denormals();
  recorder_thread_plays();
  if (worker->config.realtime) {
    // worker_new() has reported an error, if any.
    (void)rt_become_realtime(worker->config.priority, NULL);
  }
  while (!atomic_load_explicit(&worker->player_stops, memory_order_acquire)) {
    uint64_t sequence = 0;
    if (wait_for_block(worker, &sequence)) {
      rt_section_enter();
      begin_slot(worker, sequence);
      while (worker->player.n_begun) {
        end_slot(worker);
      }
      plan_rest(worker->player.plan);
      rt_section_leave();
    } else {
      player_idle(&worker->player);
    }
  }
  recorder_thread_end();
  return NULL;
}

Status
worker_start_player(Worker* const worker, Error* const error)
{
  atomic_store(&worker->player_stops, false);
  worker->player.reports = worker->ring;
  const Status status =
      rt_thread_start("warprack-worker", player_main, worker, &worker->player_thread, error);
  worker->has_player_thread = !status;
  if (status) {
    worker->player.reports = NULL;
  }
  return status;
}

void
worker_stop_player(Worker* const worker)
{
  if (worker->has_player_thread) {
    atomic_store_explicit(&worker->player_stops, true, memory_order_release);
    ring_wake(worker->ring);
    pthread_join(worker->player_thread, NULL);
    worker->has_player_thread = false;
  }
}
