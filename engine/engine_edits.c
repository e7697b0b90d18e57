// SPDX-License-Identifier: GPL-3.0-or-later
// Edits sent to the worker and their replies, catalogues of plugins, states, parameter messages,
// notes.

#include "engine_private.h"

// ---- edits and saves in flight ----

/// Store an edit or a save until its reply, with a new id.  The returned id is 0 while another one
/// is in flight.
static EngineFlight
begin_flight(Engine* const engine, EngineFlight* const place, EngineFlight flight)
{
  pthread_mutex_lock(&engine->pointers_lock);
  if (!place->id) {
    flight.id = ++engine->last_id;
    flight.stamp = engine->n_sent;
    *place = flight;
  }
  pthread_mutex_unlock(&engine->pointers_lock);
  return flight;
}

/// Remove and return the edit or save in flight with this id.  The returned id is 0 if there is
/// none.
static EngineFlight
end_flight(Engine* const engine, EngineFlight* const place, const uint64_t id)
{
  EngineFlight ended = { 0 };
  pthread_mutex_lock(&engine->pointers_lock);
  if (place->id == id) {
    ended = *place;
    *place = (EngineFlight){ 0 };
  }
  pthread_mutex_unlock(&engine->pointers_lock);
  return ended;
}

// ---- edits ----

void
engine_replied(void* const context, const uint64_t id, const EngineReply* const reply,
               const WorkerFacts* const facts)
{
  Engine* const engine = context;
  engine_take_facts(engine, facts);
  const EngineFlight edit = end_flight(engine, &engine->edit, id);
  atomic_fetch_add(&engine->edits_refused, edit.id && reply->status ? 1U : 0U);
  if (edit.done) {
    edit.done(edit.context, reply);
  }
}

Status
engine_edit(Engine* const engine, const Rack* const rack, const uint64_t at_frame,
            const EngineDone done, void* const context)
{
  const EngineFlight edit =
      begin_flight(engine, &engine->edit, (EngineFlight){ .done = done, .context = context });
  if (!edit.id) {
    return STATUS_LIMIT;
  }
  const Status status =
      engine->calls->edit(engine_half(engine), edit.id, rack, at_frame, edit.stamp);
  if (status) {
    end_flight(engine, &engine->edit, edit.id);
  }
  return status;
}

void
engine_overtake(Engine* const engine)
{
  if (engine->calls->overtake) {
    engine->calls->overtake(engine_half(engine));
  }
}

Status
engine_use_plugins(Engine* const engine, const int fd, const bool has_new_code, Error* const error)
{
  return engine->calls->use_plugins
             ? engine->calls->use_plugins(engine_half(engine), fd, has_new_code, error)
             : STATUS_OK;
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
                     status == STATUS_LIMIT ? "another edit is in flight" : "out of memory");
  }
  pthread_mutex_lock(&awaited.mutex);
  while (!awaited.has_arrived) {
    pthread_cond_wait(&awaited.arrived, &awaited.mutex);
  }
  pthread_mutex_unlock(&awaited.mutex);
  return awaited.reply.status ? error_set(error, awaited.reply.status, "%s", awaited.reply.text)
                              : STATUS_OK;
}

// ---- states ----

void
engine_saved(void* const context, const uint64_t id, const EngineSaved* const saved)
{
  Engine* const engine = context;
  const EngineFlight save = end_flight(engine, &engine->save, id);
  if (save.saved) {
    save.saved(save.context, saved);
  }
}

Status
engine_save(Engine* const engine, const RackUid uid, const EngineSaveDone done, void* const context,
            Error* const error)
{
  const EngineFlight save =
      begin_flight(engine, &engine->save, (EngineFlight){ .saved = done, .context = context });
  if (!save.id) {
    return error_set(error, STATUS_LIMIT, "another state is being saved");
  }
  const Status status = engine->calls->save(engine_half(engine), save.id, uid, error);
  if (status) {
    end_flight(engine, &engine->save, save.id);
  }
  return status;
}

// ---- parameters and notes ----

/// Send messages through the ring.  Returns false, with `status` unchanged, if there is no ring.
static bool
send_by_ring(Engine* const engine, const ParamMessage* const messages, const uint32_t n,
             Status* const status)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const bool has_ring = engine->ring != NULL;
  const bool sent = has_ring && ring_send(engine->ring, messages, n);
  engine->n_sent += sent ? n : 0U;
  if (sent && engine->calls->sent) {
    engine->calls->sent(engine_half(engine), messages, n, engine_clock_frame(engine));
  }
  pthread_mutex_unlock(&engine->pointers_lock);
  if (has_ring) {
    *status = sent ? STATUS_OK : STATUS_LIMIT;
  }
  return has_ring;
}

/// Send messages to the worker without a ring.  Returns false if there is a ring by now.
/// [arming_lock held]
static bool
send_without_ring(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  if (!engine->calls->set(engine_half(engine), messages, n)) {
    return false;
  }
  pthread_mutex_lock(&engine->pointers_lock);
  engine->n_sent += n;
  pthread_mutex_unlock(&engine->pointers_lock);
  return true;
}

Status
engine_set(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  Status status = STATUS_OK;
  if (!send_by_ring(engine, messages, n, &status)) {
    pthread_mutex_lock(&engine->arming_lock);
    // Repeats only if a worker has taken over, or was lost, between the two calls.
    while (!send_by_ring(engine, messages, n, &status) && !send_without_ring(engine, messages, n)) {
    }
    pthread_mutex_unlock(&engine->arming_lock);
  }
  return status;
}

uint32_t
engine_n_waiting(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const uint32_t n = engine->ring ? ring_n_waiting(engine->ring) : 0U;
  pthread_mutex_unlock(&engine->pointers_lock);
  return n;
}

Status
engine_set_midi(Engine* const engine, const ParamMessage* const value, const uint64_t ring)
{
  ParamMessage message = *value;
  ParamMessage kept = *value; // for workers that are started later
  kept.kind = MESSAGE_VALUE;
  kept.frame = 0;
  pthread_mutex_lock(&engine->pointers_lock);
  const bool is_there = engine->ring != NULL;
  message.kind = engine->n_rings == ring ? MESSAGE_IN_DOCUMENT : MESSAGE_VALUE;
  message.frame = 0;
  const bool is_sent = is_there && ring_send(engine->ring, &message, 1U);
  engine->n_sent += is_sent;
  if (is_sent && engine->calls->sent) {
    engine->calls->sent(engine_half(engine), &kept, 1U, engine_clock_frame(engine));
  }
  pthread_mutex_unlock(&engine->pointers_lock);
  if (!is_there) {
    return engine_set(engine, &kept, 1U);
  }
  return is_sent ? STATUS_OK : STATUS_LIMIT;
}

Status
engine_play(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  Status status = STATUS_OK;
  if (!send_by_ring(engine, messages, n, &status)) {
    pthread_mutex_lock(&engine->pointers_lock);
    status = engine->is_lost ? STATUS_WORKER : STATUS_AUDIO_IO;
    pthread_mutex_unlock(&engine->pointers_lock);
  }
  return status;
}
