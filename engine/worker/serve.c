// SPDX-License-Identifier: GPL-3.0-or-later
// The worker process: messages to calls of a Worker, events to messages.

#include "serve.h"

#include "worker.h"

#include "engine/base/process.h"
#include "engine/base/time.h"
#include "engine/wire/wire.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Twenty times a second; below a second, as next_message() needs it.
#define STATUS_EVERY_NS 50000000

typedef struct Serve {
  Wire* wire;
  const ServeFiles* files;
  void* file_context;
  WireMessage config; ///< Its rack is borrowed by the files
  Worker* worker;
  Ring* ring;                  ///< While armed
  pthread_mutex_t status_lock; ///< Held from reading the status until it is sent
  WorkerStatus sent;           ///< The last STATUS
  uint64_t next_status_ns;

  pthread_mutex_t lock; ///< Of `broken`
  Error broken;         ///< Why the worker must end; STATUS_OK: it need not
} Serve;

// ---- to the server [main, builder] ----

/// End the worker; the first reason counts.  Wakes the main thread.
static void
give_up(Serve* const serve, const Error* const reason)
{
  pthread_mutex_lock(&serve->lock);
  if (!serve->broken.status) {
    serve->broken = *reason;
  }
  pthread_mutex_unlock(&serve->lock);
  shutdown(wire_fd(serve->wire), SHUT_RDWR);
}

static void
tell(Serve* const serve, const WireMessage* const message)
{
  Error error = { STATUS_OK, "" };
  const Status status = wire_send(serve->wire, message, &error);
  if (status && status != STATUS_NET) { // the receiving thread detects a closed socket
    give_up(serve, &error);
  }
}

static void
tell_places(Serve* const serve)
{
  const uint32_t n = worker_calls.places(serve->worker, NULL, 0U);
  EnginePlace* const places = calloc(n + 1U, sizeof(EnginePlace));
  if (!places) {
    give_up(serve, &(Error){ STATUS_NO_MEM, "out of memory" });
    return;
  }
  const uint32_t n_now = worker_calls.places(serve->worker, places, n);
  const WireMessage message = { .kind = WIRE_PLACES, .places = { places, n_now < n ? n_now : n } };
  tell(serve, &message);
  free(places);
}

/// Send a message with the current status.  Under a lock, so that the newer of two arrives last.
static void
tell_status_as(Serve* const serve, const WireKind kind)
{
  WireMessage message = { .kind = kind };
  pthread_mutex_lock(&serve->status_lock);
  worker_calls.status(serve->worker, &message.status);
  serve->sent = message.status;
  tell(serve, &message);
  pthread_mutex_unlock(&serve->status_lock);
}

/// Send STATUS if something in it has changed.
static void
tell_news(Serve* const serve)
{
  WorkerStatus now;
  worker_calls.status(serve->worker, &now);
  pthread_mutex_lock(&serve->status_lock);
  const bool is_new = memcmp(&now, &serve->sent, sizeof(now)) != 0;
  pthread_mutex_unlock(&serve->status_lock);
  if (is_new) {
    tell_status_as(serve, WIRE_STATUS);
  }
}

/// Send the places of the nodes and the counters, before the message after which the server may be
/// queried.
static void
tell_plan(Serve* const serve)
{
  tell_places(serve);
  tell_status_as(serve, WIRE_STATUS);
}

static void
on_replied(void* const context, const uint64_t id, const EngineReply* const reply,
           const WorkerFacts* const facts)
{
  Serve* const serve = context;
  if (!reply->status) {
    tell_plan(serve);
  }
  tell(serve, &(WireMessage){ .kind = WIRE_REPLY, .reply = { id, *reply, *facts } });
}

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  Serve* const serve = context;
  tell_plan(serve);
  tell(serve, &(WireMessage){ .kind = WIRE_CHANGED, .changed = *facts });
}

static void
on_note(void* const context, const char* const text)
{
  WireMessage message = { .kind = WIRE_NOTE };
  snprintf(message.note, sizeof(message.note), "%s", text);
  tell(context, &message);
}

// ---- from the server [main] ----

static Status
refuse(Error* const error, const char* const what)
{
  return error_set(error, STATUS_BAD_ARG, "%s out of turn", what);
}

/// Make the worker.  On failure `error` has the text for the server.
static Status
configure(Serve* const serve, Error* const error)
{
  WireConfig* const config = &serve->config.config;
  EngineConfig* const engine = &config->engine;
  const WorkerEvents events = { serve, on_replied, on_changed };
  const Status status = serve->files->open(config->root, config->rack, &serve->file_context, error);
  if (status) {
    return status;
  }
  engine->load_file = serve->files->load_file;
  engine->read_file = serve->files->read_file;
  engine->free_file = serve->files->free_file;
  engine->file_context = serve->file_context;
  engine->note = on_note;
  engine->note_context = serve;
  return worker_new(engine, &events, &serve->worker, error);
}

static Status
start_ring(Serve* const serve, const WireArm* const arm, WorkerFacts* const facts,
           Error* const error)
{
  Status status = ring_attach(arm->ring_fd, &serve->ring, error);
  if (status) {
    return status;
  }
  const RingShape* const shape = ring_shape(serve->ring);
  if (shape->block_frames != arm->format.block_frames || shape->n_in != arm->format.n_in ||
      shape->n_out != arm->format.n_out) {
    status = error_set(error, STATUS_BAD_ARG, "the block ring is not of the format");
  } else {
    const WorkerStart start = { .format = arm->format,
                                .ring = serve->ring,
                                .first_frame = arm->first_frame,
                                .n_sent = arm->n_sent };
    status = worker_calls.arm(serve->worker, &start, facts, error);
  }
  if (status) {
    ring_free(serve->ring);
    serve->ring = NULL;
  }
  return status;
}

static WorkerFacts
facts_now(const Serve* const serve)
{
  WorkerStatus status;
  worker_calls.status(serve->worker, &status);
  return status.facts;
}

static void
on_arm(Serve* const serve, const WireArm* const wanted)
{
  WireMessage answer = { .kind = WIRE_ARMED, .armed.facts = facts_now(serve) };
  answer.armed.error.status = start_ring(serve, wanted, &answer.armed.facts, &answer.armed.error);
  tell_plan(serve);
  tell(serve, &answer);
}

static void
disarm(Serve* const serve)
{
  if (serve->ring) {
    worker_calls.disarm(serve->worker);
    ring_free(serve->ring);
    serve->ring = NULL;
  }
}

static void
on_edit(Serve* const serve, const WireEdit* const wanted)
{
  const Status status =
      worker_calls.edit(serve->worker, wanted->id, wanted->rack, wanted->at_frame, wanted->stamp);
  if (status) { // else it is answered when it is heard
    WireMessage answer = { .kind = WIRE_REPLY, .reply = { .id = wanted->id } };
    answer.reply.reply.status = status;
    answer.reply.facts = facts_now(serve);
    tell(serve, &answer);
  }
}

static Status
carry_out(Serve* const serve, const WireMessage* const message, Error* const error)
{
  switch (message->kind) {
  case WIRE_ARM:
    if (serve->ring) {
      return refuse(error, "ARM");
    }
    on_arm(serve, &message->arm);
    return STATUS_OK;
  case WIRE_DISARM:
    disarm(serve);
    tell(serve, &(WireMessage){ .kind = WIRE_DISARMED });
    return STATUS_OK;
  case WIRE_EDIT:
    on_edit(serve, &message->edit);
    return STATUS_OK;
  case WIRE_SET:
    if (!worker_calls.set(serve->worker, message->set.messages, message->set.n)) {
      return refuse(error, "SET"); // an armed worker gets values through the ring
    }
    return STATUS_OK;
  case WIRE_RESET_LOAD:
    worker_calls.reset_load(serve->worker);
    return STATUS_OK;
  default:
    return refuse(error, "CONFIG");
  }
}

// ---- the loop [main] ----

/// Wait for a message, at most until the next STATUS is due; then there may be none.
static Status
next_message(const Serve* const serve, WireMessage* const message, Error* const error)
{
  const uint64_t now_ns = time_now_ns();
  const struct timespec left =
      time_spec(serve->next_status_ns > now_ns ? serve->next_status_ns - now_ns : 0U);
  struct pollfd there = { .fd = wire_fd(serve->wire), .events = POLLIN };
  *message = (WireMessage){ .kind = WIRE_NONE };
  const int n = ppoll(&there, 1, &left, NULL);
  return n > 0 ? wire_receive(serve->wire, message, error) : STATUS_OK;
}

/// Carry out messages until the server closes the wire or sends invalid data.
static Status
serve_messages(Serve* const serve, Error* const error)
{
  Status status = STATUS_OK;
  tell_status_as(serve, WIRE_READY);
  while (!status) {
    if (time_now_ns() >= serve->next_status_ns) {
      tell_news(serve);
      serve->next_status_ns = time_now_ns() + STATUS_EVERY_NS;
    }
    WireMessage message;
    status = next_message(serve, &message, error);
    if (!status && message.kind) {
      status = carry_out(serve, &message, error);
    }
    wire_message_clear(&message);
  }
  disarm(serve);
  return status;
}

/// Receive the first message.
static Status
receive_config(Serve* const serve, Error* const error)
{
  const Status status = wire_receive(serve->wire, &serve->config, error);
  if (!status && serve->config.kind != WIRE_CONFIG) {
    return refuse(error, "the first message");
  }
  return status;
}

static ServeEnd
run(Serve* const serve, Error* const error)
{
  Status status = receive_config(serve, error);
  if (!status && configure(serve, error)) {
    tell(serve, &(WireMessage){ .kind = WIRE_FAILED, .failed = *error });
    return SERVE_FAILED;
  }
  status = status ? status : serve_messages(serve, error);
  if (serve->worker) {
    worker_calls.free(serve->worker); // frees the last threads that send
  }
  if (serve->broken.status) {
    *error = serve->broken;
    return SERVE_PROTOCOL;
  }
  return status == STATUS_NET ? SERVE_CLOSED : SERVE_PROTOCOL;
}

ServeEnd
serve_worker(const int socket, const ServeFiles* const files, Error* const error)
{
  Serve serve = { .files = files,
                  .status_lock = PTHREAD_MUTEX_INITIALIZER,
                  .lock = PTHREAD_MUTEX_INITIALIZER };
  if (!process_follow_parent(socket)) {
    close(socket);
    error_set(error, STATUS_NET, "the server has ended");
    return SERVE_ORPHAN;
  }
  if (wire_new(socket, WIRE_WORKER, &serve.wire, error)) {
    close(socket);
    return SERVE_PROTOCOL;
  }
  const ServeEnd end = run(&serve, error);
  if (serve.file_context) {
    files->close(serve.file_context);
  }
  wire_message_clear(&serve.config);
  wire_free(serve.wire);
  return end;
}
