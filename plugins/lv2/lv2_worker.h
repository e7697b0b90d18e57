// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Work of plugins outside the audio thread (worker:schedule).

   Live, each instance has a thread that does its work in order of the requests, so that work that
   takes long, or does not end, delays no other instance.  Requests and responses pass through rings
   of WORKER_RING_BYTES; a message that does not fit is refused, as the specification allows.
   Offline, the work is done within the request, so that its response arrives in the same run.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_WORKER_H
#define WARPRACK_PLUGINS_LV2_LV2_WORKER_H

#include "engine/base/status.h"

#include <lv2/worker/worker.h>
#include <stdbool.h>

#define WORKER_RING_BYTES 32768U // a power of two
#define WORKER_PATIENCE_S 5      // below the time after which an edit counts as hanging

typedef struct Lv2Worker Lv2Worker;

/// Make the worker of an instance.  STATUS_NO_MEM. [builder]
NODISCARD Status lv2_worker_new(bool offline, Lv2Worker** out, Error* error);

/// Free a worker that is not started.  Accepts NULL. [builder]
void lv2_worker_free(Lv2Worker* worker);

/// The data of the feature. [builder]
LV2_Worker_Schedule* lv2_worker_schedule(Lv2Worker* worker);

/// Forget all requests and responses: those of an instance that was freed, or not made.  [builder,
/// before instantiate()]
void lv2_worker_forget(Lv2Worker* worker);

/// Begin with the work of an instance; `calls` is its interface.  Does the work that instantiate()
/// has requested; then work is done within its request, until lv2_worker_work(). [builder]
void lv2_worker_start(Lv2Worker* worker, const LV2_Worker_Interface* calls, LV2_Handle handle);

/// Do the work that is requested, and keep later requests for the next call.  True if there was
/// some.  [builder, between lv2_worker_start() and lv2_worker_release()]
bool lv2_worker_work(Lv2Worker* worker);

/// Live, leave the work to a thread; offline, do it within its request.  STATUS_NO_MEM: there is no
/// thread. [builder, while no thread runs the instance]
NODISCARD Status lv2_worker_release(Lv2Worker* worker, Error* error);

/// Wait for the work in flight, and do no more.  Returns false if the work does not end within
/// WORKER_PATIENCE_S: then worker and handle belong to its thread for ever.  [builder, while no
/// thread runs the instance]
NODISCARD bool lv2_worker_stop(Lv2Worker* worker);

/// After each run() of a started worker: pass the responses to the plugin, and wake the thread if
/// there are requests. [rt]
REALTIME void lv2_worker_end_run(Lv2Worker* worker);

#endif
