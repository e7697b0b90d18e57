// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The worker: runs the plan that is heard, block after block, and changes to the next plan between
   two blocks.

   Plans change hands without locks, by three atomics:

     builder: worker_offer(plan) ──offered──▶ worker, at the first block from plan->at_frame on
     builder: worker_collect()   ◀──retired── worker: the plan that it left; the builder frees it

   The builder offers one plan at a time and collects before it offers the next.
*/
#ifndef WARPRACK_ENGINE_WORKER_H
#define WARPRACK_ENGINE_WORKER_H

#include "load.h"
#include "plan.h"
#include "ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKER_MAX_WAITING 4096U // parameter messages for later frames
#define WORKER_MAX_EVENTS  1024U // parameter changes within one block
#define WORKER_MAX_BEGUN   2U    // blocks at once

/// A parameter message with its number in the order of arrival, which breaks ties.
typedef struct WaitingMessage {
  ParamMessage message;
  uint64_t number;
} WaitingMessage;

typedef struct WorkerCounts {
  _Atomic uint64_t params_applied;
  _Atomic uint64_t params_dropped; ///< For nodes that are not there
  _Atomic uint64_t units_reset;
  _Atomic uint64_t device_errors; ///< Plans in which a device failed
  _Atomic uint64_t plans;
  _Atomic uint64_t blocks;
} WorkerCounts;

/// A block that was begun.
typedef struct BegunBlock {
  const PlanStage* last; ///< Stage that is still at work, NULL when all have ended
  uint64_t began_ns;
  uint64_t frame;
  uint32_t n_frames;
  bool has_failed; ///< A stage has no output
} BegunBlock;

typedef struct Worker {
  _Atomic(Plan*) offered;
  _Atomic(Plan*) retired;
  _Atomic uint64_t heard_at;   ///< First frame of the plan that was offered last, valid once
                               ///< `offered` is NULL again
  _Atomic bool hurry;          ///< Take the offered plan whatever its at_frame: time stands still
  Plan* plan;                  ///< [worker] Heard now
  _Atomic uint64_t next_frame; ///< Written by the worker: first frame after the last block
  uint64_t n_received;         ///< [worker] Messages so far
  WaitingMessage* waiting;     ///< [worker] Binary heap by frame, then number
  uint32_t n_waiting;
  StageEvent* events;                 ///< [worker] Of the block at hand
  BegunBlock begun[WORKER_MAX_BEGUN]; ///< [worker] n_begun of them from `oldest` on, in turn
  uint32_t oldest, n_begun;
  double rate_hz;
  WorkerCounts counts;
  Load load;
} Worker;

NODISCARD Status // [main]
worker_init(Worker* worker, Error* error);

/// Free what the worker holds, its plans included. [main]
void worker_clear(Worker* worker);

/**
   Begin one block.  When its last stage is on a device it may be at work when this returns, beside
   the next block; at most WORKER_MAX_BEGUN blocks are begun and not ended.

   @param messages Ring to take parameter messages from, or NULL.
   @param in [plan->n_in] pointers to n_frames samples, only read.
   @param out [plan->n_out] pointers to n_frames samples, filled when the block is ended.
*/
REALTIME void // [worker]
worker_begin(Worker* worker, Ring* messages, uint64_t frame, uint32_t n_frames, float* const* in,
             float* const* out);

/// True when worker_end() would not wait.  [worker]
REALTIME bool worker_can_end(const Worker* worker);

/**
   Wait for the oldest block that was begun.

   @return False when a device has failed: `out` is not the rack's sound, now and in all later
   blocks of the plan, and plan_failure() says why.  What runs elsewhere goes on.  [worker]
*/
REALTIME bool worker_end(Worker* worker);

/// Begin a block and end it: for those that have one at a time. [worker]
REALTIME bool worker_run(Worker* worker, Ring* messages, uint64_t frame, uint32_t n_frames,
                         float* const* in, float* const* out);

/// Between blocks: take an offered plan at once, if its time has come. [worker]
REALTIME void worker_idle(Worker* worker);

/// Apply all messages in the ring now, whatever their frames: the clock that they were meant for
/// ends. [main, worker stopped]
void worker_drain(Worker* worker, Ring* messages);

/// Apply one message between blocks. [main, worker stopped]
void worker_apply(Worker* worker, const ParamMessage* message);

/// Hand over a plan. [builder]
void worker_offer(Worker* worker, Plan* plan);

/// True once the offered plan is heard. [builder]
bool worker_has_taken(Worker* worker);

/// The plan that was left, to be freed, or NULL. [builder]
Plan* worker_collect(Worker* worker);

#endif
