// SPDX-License-Identifier: GPL-3.0-or-later
// Saves the states of nodes, on the builder's thread.  A node plays on meanwhile.

#include "worker_private.h"

#include <stdlib.h>

/// Save the state of a node of the active plan. [planning_lock held]
static Status
save_node(Worker* const worker, const RackUid uid, unsigned char** const bytes,
          size_t* const n_bytes, Error* const error)
{
  Plan* const plan = worker->player.plan;
  const int at = plan ? plan_find(plan, uid) : -1;
  if (at < 0) {
    return error_set(error, STATUS_NOT_FOUND, "the node is not active yet");
  }
  worker_renew_nodes(worker, plan);
  const Status status = node_save(plan->nodes[at].node, bytes, n_bytes, error);
  plan_count_memory(plan);
  return status;
}

/// Take the save that waits.
static Save
take_save(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  const Save save = worker->save;
  worker->save = (Save){ 0 };
  pthread_mutex_unlock(&worker->edits_lock);
  return save;
}

void
worker_perform_save(Worker* const worker, const bool is_ending)
{
  const Save save = take_save(worker);
  unsigned char* bytes = NULL;
  size_t n_bytes = 0;
  EngineSaved saved = { .error = { STATUS_LIMIT, "the engine stops" } };
  if (!save.id) {
    return;
  }
  if (!is_ending) {
    pthread_mutex_lock(&worker->planning_lock);
    saved.error.status = save_node(worker, save.uid, &bytes, &n_bytes, &saved.error);
    pthread_mutex_unlock(&worker->planning_lock);
  }
  saved.bytes = bytes;
  saved.n_bytes = (uint32_t)n_bytes;
  worker->events.saved(worker->events.context, save.id, &saved);
  free(bytes);
}

Status
worker_save(void* const context, const uint64_t id, const RackUid uid, Error* const error)
{
  Worker* const worker = context;
  pthread_mutex_lock(&worker->edits_lock);
  const bool has_room = !worker->save.id;
  worker->save = has_room ? (Save){ id, uid } : worker->save;
  pthread_cond_signal(&worker->edits_changed);
  pthread_mutex_unlock(&worker->edits_lock);
  if (!has_room) {
    return error_set(error, STATUS_LIMIT, "another state is being saved");
  }
  if (!worker->has_builder) {
    worker_perform_save(worker, false);
  }
  return STATUS_OK;
}
