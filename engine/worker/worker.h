// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The half of an engine that can crash: it makes plans and runs blocks.  Builder, player, helper
   cores and device belong to it; the audio callback, the ring's making and everything that listens
   do not.

   The other half (engine.c) asks it by the calls of WorkerCalls and hears from it by WorkerEvents,
   and does not know in which process it is:

     worker_calls   here: a Worker in this process
     supervisor_calls   supervisor.h: a Worker in a process of its own, which is started, watched
   and started again

   Racks go over as documents, parameters through the ring while there is one, blocks through the
   ring only.
*/
#ifndef WARPRACK_ENGINE_WORKER_WORKER_H
#define WARPRACK_ENGINE_WORKER_WORKER_H

#include "engine/contract/counters.h"
#include "engine/wire/config.h"
#include "engine/wire/worker_calls.h"

// ---- in this process ----

typedef struct Worker Worker;

extern const WorkerCalls worker_calls;

/// Make a worker and open its device; STATUS_NO_BACKEND in the driver's words when one was asked
/// for and is not there. [main]
NODISCARD Status worker_new(const EngineConfig* config, const WorkerEvents* events, Worker** out,
                            Error* error);

// Offline [main]

/// One block, on this thread: engine_process() of an offline engine.  Adds to `counts` what
/// happened.
void worker_process(Worker* worker, const float* const* in, float* const* out, uint32_t n_frames,
                    PeriodCounts* counts);

/// As engine_finish_pass().
NODISCARD Status worker_finish_pass(Worker* worker, bool* again, Error* error);

/// API of the device that is open; ENGINE_BACKEND_CPU when none is.
EngineBackend worker_gpu(const Worker* worker);

#endif
