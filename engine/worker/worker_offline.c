// SPDX-License-Identifier: GPL-3.0-or-later
// Offline blocks, on the caller's thread.  With depth 1 a call begins a block and returns the block
// before, so that a device can run both at once.

#include "worker_private.h"

#include "engine/base/rows.h"
#include "engine/base/rt.h"
#include "engine/contract/guard.h"

#include <stdlib.h>
#include <string.h>

Status
worker_prepare_offline(Worker* const worker, Error* const error)
{
  const Format* const format = &worker->format;
  free(worker->offline_rows);
  const size_t n_rows = 2U * ((size_t)format->n_in + worker->player.plan->n_out);
  worker->offline_rows = rt_memory(n_rows * rows_distance(format->block_frames) * sizeof(float));
  rt_flush_denormals(); // the caller's thread runs the blocks
  return worker->offline_rows ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

void
worker_end_offline(Worker* const worker)
{
  while (worker->config.offline && worker->player.n_begun) {
    player_end(&worker->player);
  }
}

/// Count a block that has failed, and record the device's error.
static void
note_block(Worker* const worker, const bool has_sound, PeriodCounts* const counts)
{
  if (!has_sound) {
    worker_note_failure(worker, worker->player.plan);
    ++counts->failed;
  }
}

/// The rows of block `turn` (0 or 1): inputs, then outputs.
static float*
rows_of(const Worker* const worker, const uint32_t turn)
{
  const size_t n_rows = worker->format.n_in + worker->player.plan->n_out;
  return worker->offline_rows + turn * n_rows * rows_distance(worker->format.block_frames);
}

/// Begin a block, and return the output of the block before; silence in the first call.
static void
run_ahead(Worker* const worker, const uint64_t frame, float* const* const in,
          float* const* const out, const uint32_t n_frames, PeriodCounts* const counts)
{
  Player* const player = &worker->player;
  const uint32_t n_in = worker->format.n_in;
  const uint32_t n_out = player->plan->n_out;
  const size_t distance = rows_distance(worker->format.block_frames);
  float* const rows = rows_of(worker, worker->offline_turn);
  float* ahead[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < n_out; ++c) {
    ahead[c] = rows + (n_in + c) * distance;
  }
  player_begin(player, NULL, frame, n_frames, in, ahead);
  worker->offline_turn = 1U - worker->offline_turn;
  if (player->n_begun < PLAYER_MAX_BEGUN) {
    for (uint32_t c = 0; c < n_out; ++c) {
      memset(out[c], 0, n_frames * sizeof(float)); // no earlier block
    }
    return;
  }
  note_block(worker, player_end(player), counts);
  const float* const other = rows_of(worker, worker->offline_turn);
  for (uint32_t c = 0; c < n_out; ++c) {
    memcpy(out[c], other + (n_in + c) * distance, n_frames * sizeof(float));
  }
}

void
worker_process(Worker* const worker, const float* const* const in, float* const* const out,
               const uint32_t n_frames, PeriodCounts* const counts)
{
  const size_t distance = rows_distance(worker->format.block_frames);
  float* const rows = rows_of(worker, worker->offline_turn);
  float* guarded[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < worker->format.n_in; ++c) {
    guarded[c] = rows + c * distance;
    counts->bad_in += guard_clean(guarded[c], in[c], n_frames).bad;
  }
  const uint64_t frame = worker->next_frame;
  worker->next_frame += n_frames;
  ++counts->blocks;
  worker_renew_nodes(worker, worker->player.plan); // there is no builder
  if (worker->config.depth) {
    run_ahead(worker, frame, guarded, out, n_frames, counts);
  } else {
    note_block(worker, player_run(&worker->player, NULL, frame, n_frames, guarded, out), counts);
  }
}

Status
worker_replay(Worker* const worker, const ParamMessage* const message, const uint64_t number,
              Error* const error)
{
  return player_replay(&worker->player, message, number)
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT, "more than %u messages in a block", WAITING_MAX);
}

/// The first rank from `rank` on with a node that makes passes; n_ranks: none.
static uint32_t
rank_with_passes(const Plan* const plan, const uint32_t rank)
{
  uint32_t first = plan->n_ranks;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    const PlanNode* const node = &plan->nodes[n];
    const bool is_before = node->rank >= rank && node->rank < first;
    first = is_before && node->node->fx->finish_pass ? node->rank : first;
  }
  return first;
}

/// Finish the pass of the nodes of one rank.
static Status
finish_rank(const Plan* const plan, const uint32_t rank, bool* const again, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t n = 0; !status && n < plan->n_living; ++n) {
    Node* const node = plan->nodes[n].node;
    bool wants_another = false;
    if (plan->nodes[n].rank == rank && node->fx->finish_pass) {
      status = node->fx->finish_pass(node->fx_node, node->states, &wants_another, error);
    }
    *again |= wants_another;
  }
  return status;
}

Status
worker_finish_pass(Worker* const worker, bool* const again, Error* const error)
{
  Status status = STATUS_OK;
  *again = false;
  worker_end_offline(worker);
  const Plan* const plan = worker->player.plan;
  // In signal order: the measurement of a node is invalid while a node before it still changes.
  for (uint32_t rank = rank_with_passes(plan, 0U); !status && rank < plan->n_ranks && !*again;
       rank = rank_with_passes(plan, rank + 1U)) {
    status = finish_rank(plan, rank, again, error);
  }
  if (*again) {
    status = plan_reset(plan, error);
    worker->next_frame = 0U;
  }
  return status;
}
