// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks of a file, on the thread that asks for them.  With depth 1 a block comes back when the
// next one has been begun, so that a device works on both.

#include "guard.h"
#include "rt.h"
#include "runner_private.h"

#include <stdlib.h>
#include <string.h>

Status
runner_prepare_offline(Runner* const runner, Error* const error)
{
  const Format* const format = &runner->format;
  free(runner->offline_rows);
  const size_t n_rows = 2U * ((size_t)format->n_in + runner->worker.plan->n_out);
  runner->offline_rows = calloc(n_rows * format->block_frames + 1U, sizeof(float));
  rt_flush_denormals(); // this is the thread that will process
  return runner->offline_rows ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

void
runner_end_offline(Runner* const runner)
{
  while (runner->config.offline && runner->worker.n_begun) {
    worker_end(&runner->worker);
  }
}

/// Take note of a block that has no sound.
static void
note_block(Runner* const runner, const bool has_sound, PeriodCounts* const counts)
{
  if (!has_sound) {
    runner_note_failure(runner, runner->worker.plan);
    ++counts->failed;
  }
}

/// The rows of one of the two blocks: inputs, then outputs.
static float*
rows_of(const Runner* const runner, const uint32_t turn)
{
  const size_t n_rows = runner->format.n_in + runner->worker.plan->n_out;
  return runner->offline_rows + turn * n_rows * runner->format.block_frames;
}

/// Begin a block, and give out the one before; nothing at first.
static void
run_ahead(Runner* const runner, const uint64_t frame, float* const* const in,
          float* const* const out, const uint32_t n_frames, PeriodCounts* const counts)
{
  Worker* const worker = &runner->worker;
  const uint32_t n_in = runner->format.n_in;
  const uint32_t n_out = worker->plan->n_out;
  const size_t block = runner->format.block_frames;
  float* const rows = rows_of(runner, runner->offline_turn);
  float* ahead[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < n_out; ++c) {
    ahead[c] = rows + (n_in + c) * block;
  }
  worker_begin(worker, NULL, frame, n_frames, in, ahead);
  runner->offline_turn = 1U - runner->offline_turn;
  if (worker->n_begun < WORKER_MAX_BEGUN) {
    for (uint32_t c = 0; c < n_out; ++c) {
      memset(out[c], 0, n_frames * sizeof(float)); // nothing is done yet
    }
    return;
  }
  note_block(runner, worker_end(worker), counts);
  const float* const other = rows_of(runner, runner->offline_turn);
  for (uint32_t c = 0; c < n_out; ++c) {
    memcpy(out[c], other + (n_in + c) * block, n_frames * sizeof(float));
  }
}

void
runner_process(Runner* const runner, const float* const* const in, float* const* const out,
               const uint32_t n_frames, PeriodCounts* const counts)
{
  const size_t block = runner->format.block_frames;
  float* const rows = rows_of(runner, runner->offline_turn);
  float* guarded[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < runner->format.n_in; ++c) {
    guarded[c] = rows + c * block;
    counts->bad_in += guard_clean(guarded[c], in[c], n_frames).bad;
  }
  const uint64_t frame = runner->next_frame;
  runner->next_frame += n_frames;
  ++counts->blocks;
  if (runner->config.depth) {
    run_ahead(runner, frame, guarded, out, n_frames, counts);
  } else {
    note_block(runner, worker_run(&runner->worker, NULL, frame, n_frames, guarded, out), counts);
  }
}

bool
runner_finish_pass(Runner* const runner)
{
  bool again = false;
  runner_end_offline(runner);
  const Plan* const plan = runner->worker.plan;
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
    runner->next_frame = 0U;
  }
  return again;
}
