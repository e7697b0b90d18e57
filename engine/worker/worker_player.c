// SPDX-License-Identifier: GPL-3.0-or-later
// The player's thread: runs the blocks of the ring in order, and begins the next one while a
// device runs the last.

#include "worker_private.h"

#include "engine/base/faults_worker.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"

// A helper's block often follows within this time; a longer spin would starve other threads of a
// small machine.
#define SPIN_NS  50000U
#define SLEEP_NS (100U * NS_PER_MS) // the player wakes up this often without a wake

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
  player_begin(&worker->player, worker->ring, slot->frame, slot->n_frames, in, out);
  worker_faults_begin(worker->player.plan, worker->ring);
}

/// Wait for the oldest block; begin the next one meanwhile if it comes.
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
  if (has_sound) {
    ring_finish(worker->ring);
  } else {
    ring_fail(worker->ring);
  }
}

static void*
player_main(void* const context)
{
  Worker* const worker = context;
  rt_flush_denormals();
  if (worker->config.realtime) {
    // The worker reported an error when it was made.
    (void)rt_become_realtime(worker->config.priority, NULL);
  }
  while (!atomic_load_explicit(&worker->player_stops, memory_order_acquire)) {
    uint64_t sequence = 0;
    if (ring_wait_take(worker->ring, SPIN_NS, SLEEP_NS, &sequence)) {
      rt_section_enter();
      begin_slot(worker, sequence);
      while (worker->player.n_begun) {
        end_slot(worker);
      }
      rt_section_leave();
    } else {
      player_idle(&worker->player);
    }
  }
  return NULL;
}

Status
worker_start_player(Worker* const worker, Error* const error)
{
  atomic_store(&worker->player_stops, false);
  const Status status =
      rt_thread_start("warprack-worker", player_main, worker, &worker->player_thread, error);
  worker->has_player_thread = !status;
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
