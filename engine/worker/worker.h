// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The half of an engine that can crash: it makes plans and runs blocks.  It contains builder,
   player, helper threads and device.  The other half has the audio callback, the creation of the
   ring and the network code.

   The other half (engine.c) calls it through WorkerCalls and gets its events through WorkerEvents,
   and does not depend on the process in which it runs:

     worker_calls       here: a Worker in this process
     supervisor_calls   supervisor.h: a Worker in another process, which the supervisor starts,
                        watches and restarts

   The other half sends racks as documents, parameters through the ring if there is one, and blocks
   only through the ring.
*/
#ifndef WARPRACK_ENGINE_WORKER_WORKER_H
#define WARPRACK_ENGINE_WORKER_WORKER_H

#include "engine/contract/counters.h"
#include "engine/wire/config.h"
#include "engine/wire/worker_calls.h"

// ---- in this process ----

typedef struct Worker Worker;

extern const WorkerCalls worker_calls;

/// Make a worker and open its device; STATUS_NO_BACKEND with the driver's text if the requested
/// one is not available. [main]
NODISCARD Status worker_new(const EngineConfig* config, const WorkerEvents* events, Worker** out,
                            Error* error);

// Offline [main]

/// Process one block on this thread: engine_process() of an offline engine.  Adds to `counts`.
/// [main]
void worker_process(Worker* worker, const float* const* in, float* const* out, uint32_t n_frames,
                    PeriodCounts* counts);

/// As engine_replay() and engine_replay_edit(). [main]
NODISCARD Status worker_replay(Worker* worker, const ParamMessage* message, uint64_t number,
                               Error* error);
NODISCARD Status worker_replay_edit(Worker* worker, const Rack* rack, uint64_t stamp,
                                    uint64_t planned, bool is_first_plan, Error* error);

/// As engine_finish_pass(). [main]
NODISCARD Status worker_finish_pass(Worker* worker, bool* again, Error* error);

/// As engine_failure(). [any]
Status worker_failure(Worker* worker, Error* error);

/// API of the open device; ENGINE_BACKEND_CPU if none is open. [main]
EngineBackend worker_gpu(const Worker* worker);

#endif
