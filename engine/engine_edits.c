// SPDX-License-Identifier: GPL-3.0-or-later
// Edits on their way to the worker and back, and parameter messages.

#include "engine_private.h"

#include <stdlib.h>

// ---- edits ----

/// The place of an edit, or with id 0 a free one; NULL when there is none. [edits held]
static PendingEdit*
find_pending(Engine* const engine, const uint64_t id)
{
  for (uint32_t e = 0; e < ENGINE_MAX_EDITS; ++e) {
    if (engine->pending[e].id == id) {
      return &engine->pending[e];
    }
  }
  return NULL;
}

/// Note who waits for a reply; returns the edit's id, 0 when too many wait.
static uint64_t
add_pending(Engine* const engine, const EngineDone done, void* const context)
{
  pthread_mutex_lock(&engine->edits);
  PendingEdit* const place = find_pending(engine, 0U);
  if (place) {
    *place = (PendingEdit){ ++engine->last_id, done, context };
  }
  const uint64_t id = place ? place->id : 0U;
  pthread_mutex_unlock(&engine->edits);
  return id;
}

/// Returns the edit, with id 0 when it does not wait.
static PendingEdit
take_pending(Engine* const engine, const uint64_t id)
{
  PendingEdit taken = { 0 };
  pthread_mutex_lock(&engine->edits);
  PendingEdit* const place = find_pending(engine, id);
  if (place) {
    taken = *place;
    *place = (PendingEdit){ 0 };
  }
  pthread_mutex_unlock(&engine->edits);
  return taken;
}

void
engine_replied(void* const context, const uint64_t id, const EngineReply* const reply,
               const WorkerFacts* const facts)
{
  Engine* const engine = context;
  engine_take_facts(engine, facts);
  const PendingEdit edit = take_pending(engine, id);
  atomic_fetch_add(&engine->edits_refused, edit.id && reply->status ? 1U : 0U);
  if (edit.done) {
    edit.done(edit.context, reply);
  }
}

static uint64_t
messages_sent(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers);
  const uint64_t n_sent = engine->n_sent;
  pthread_mutex_unlock(&engine->pointers);
  return n_sent;
}

Status
engine_edit(Engine* const engine, const Rack* const rack, const uint64_t at_frame,
            const EngineDone done, void* const context)
{
  const uint64_t id = add_pending(engine, done, context);
  if (!id) {
    return STATUS_LIMIT;
  }
  const Status status =
      engine->calls->edit(engine_half(engine), id, rack, at_frame, messages_sent(engine));
  if (status) {
    take_pending(engine, id);
  }
  return status;
}

typedef struct Awaited {
  pthread_mutex_t mutex;
  pthread_cond_t arrived;
  bool has_arrived;
  EngineReply reply;
} Awaited;

static void
await_done(void* const context, const EngineReply* const reply)
{
  Awaited* const awaited = context;
  pthread_mutex_lock(&awaited->mutex);
  awaited->reply = *reply;
  awaited->has_arrived = true;
  pthread_cond_signal(&awaited->arrived);
  pthread_mutex_unlock(&awaited->mutex);
}

Status
engine_edit_wait(Engine* const engine, const Rack* const rack, Error* const error)
{
  Awaited awaited = { .mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER };
  const Status status = engine_edit(engine, rack, 0U, await_done, &awaited);
  if (status) {
    return error_set(error, status,
                     status == STATUS_LIMIT ? "too many edits wait" : "out of memory");
  }
  pthread_mutex_lock(&awaited.mutex);
  while (!awaited.has_arrived) {
    pthread_cond_wait(&awaited.arrived, &awaited.mutex);
  }
  pthread_mutex_unlock(&awaited.mutex);
  return awaited.reply.status ? error_set(error, awaited.reply.status, "%s", awaited.reply.text)
                              : STATUS_OK;
}

// ---- parameters ----

/// Through the ring; false, with `status` untouched, while there is none.
static bool
send_by_ring(Engine* const engine, const ParamMessage* const messages, const uint32_t n,
             Status* const status)
{
  pthread_mutex_lock(&engine->pointers);
  const bool has_ring = engine->ring != NULL;
  const bool sent = has_ring && ring_send(engine->ring, messages, n);
  engine->n_sent += sent ? n : 0U;
  if (sent && engine->calls->sent) {
    engine->calls->sent(engine_half(engine), messages, n);
  }
  pthread_mutex_unlock(&engine->pointers);
  if (has_ring) {
    *status = sent ? STATUS_OK : STATUS_LIMIT;
  }
  return has_ring;
}

/// Straight to the worker; false when there is a ring by now. [arming held]
static bool
send_without_ring(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  if (!engine->calls->set(engine_half(engine), messages, n)) {
    return false;
  }
  pthread_mutex_lock(&engine->pointers);
  engine->n_sent += n;
  pthread_mutex_unlock(&engine->pointers);
  return true;
}

static Status
send_messages(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  Status status = STATUS_OK;
  if (!send_by_ring(engine, messages, n, &status)) {
    pthread_mutex_lock(&engine->arming);
    // Again only when a worker took over, or was lost, between the two.
    while (!send_by_ring(engine, messages, n, &status) && !send_without_ring(engine, messages, n)) {
    }
    pthread_mutex_unlock(&engine->arming);
  }
  return status;
}

Status
engine_set(Engine* const engine, const EngineParam* const params, const uint32_t n,
           const uint64_t at_frame)
{
  ParamMessage* const messages = calloc(n + 1U, sizeof(ParamMessage));
  if (!messages) {
    return STATUS_NO_MEM;
  }
  for (uint32_t m = 0; m < n; ++m) {
    messages[m] = (ParamMessage){
      .frame = at_frame, .uid = params[m].uid, .param = params[m].param, .value = params[m].value
    };
  }
  const Status status = send_messages(engine, messages, n);
  free(messages);
  return status;
}
