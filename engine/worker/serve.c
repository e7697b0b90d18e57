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

typedef struct Server {
  Wire* wire;
  const ServeFiles* files;
  void* file_context;
  WireMessage config; ///< Its rack is borrowed by the files
  Worker* worker;
  Ring* ring;              ///< While armed
  pthread_mutex_t telling; ///< Held from a look at the status until it is on its way
  WorkerStatus told;       ///< The last STATUS
  uint64_t next_status_ns;

  pthread_mutex_t lock; ///< Of `broken`
  Error broken;         ///< Why the worker has to end, STATUS_OK: it has not
} Server;

// ---- to the server [main, builder] ----

/// The first reason counts.  The main thread wakes up and ends.
static void
give_up(Server* const server, const Error* const reason)
{
  pthread_mutex_lock(&server->lock);
  if (!server->broken.status) {
    server->broken = *reason;
  }
  pthread_mutex_unlock(&server->lock);
  shutdown(wire_fd(server->wire), SHUT_RDWR);
}

static void
tell(Server* const server, const WireMessage* const message)
{
  Error error = { STATUS_OK, "" };
  const Status status = wire_send(server->wire, message, &error);
  if (status && status != STATUS_NET) { // a server that is gone is noticed where it is heard
    give_up(server, &error);
  }
}

static void
tell_places(Server* const server)
{
  const uint32_t n = worker_calls.places(server->worker, NULL, 0U);
  EnginePlace* const places = calloc(n + 1U, sizeof(EnginePlace));
  if (!places) {
    give_up(server, &(Error){ STATUS_NO_MEM, "out of memory" });
    return;
  }
  const uint32_t n_now = worker_calls.places(server->worker, places, n);
  const WireMessage message = { .kind = WIRE_PLACES, .places = { places, n_now < n ? n_now : n } };
  tell(server, &message);
  free(places);
}

/// A message with the worker's status as it is now.  Of two, the newer one arrives last.
static void
tell_status_as(Server* const server, const WireKind kind)
{
  WireMessage message = { .kind = kind };
  pthread_mutex_lock(&server->telling);
  worker_calls.status(server->worker, &message.status);
  server->told = message.status;
  tell(server, &message);
  pthread_mutex_unlock(&server->telling);
}

/// STATUS, unless nothing in it is new.
static void
tell_news(Server* const server)
{
  WorkerStatus now;
  worker_calls.status(server->worker, &now);
  pthread_mutex_lock(&server->telling);
  const bool is_new = memcmp(&now, &server->told, sizeof(now)) != 0;
  pthread_mutex_unlock(&server->telling);
  if (is_new) {
    tell_status_as(server, WIRE_STATUS);
  }
}

/// Where its nodes are, and all that counts: before the message after which the server may be
/// asked.
static void
tell_plan(Server* const server)
{
  tell_places(server);
  tell_status_as(server, WIRE_STATUS);
}

static void
on_replied(void* const context, const uint64_t id, const EngineReply* const reply,
           const WorkerFacts* const facts)
{
  Server* const server = context;
  if (!reply->status) {
    tell_plan(server);
  }
  tell(server, &(WireMessage){ .kind = WIRE_REPLY, .reply = { id, *reply, *facts } });
}

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  Server* const server = context;
  tell_plan(server);
  tell(server, &(WireMessage){ .kind = WIRE_CHANGED, .changed = *facts });
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

/// Make the worker.  What the server is told when it fails is in `error`.
static Status
configure(Server* const server, Error* const error)
{
  WireConfig* const config = &server->config.config;
  EngineConfig* const engine = &config->engine;
  const WorkerEvents events = { server, on_replied, on_changed };
  const Status status =
      server->files->open(config->root, config->rack, &server->file_context, error);
  if (status) {
    return status;
  }
  engine->load_file = server->files->load_file;
  engine->read_file = server->files->read_file;
  engine->free_file = server->files->free_file;
  engine->file_context = server->file_context;
  engine->note = on_note;
  engine->note_context = server;
  return worker_new(engine, &events, &server->worker, error);
}

static Status
start_ring(Server* const server, const WireArm* const arm, WorkerFacts* const facts,
           Error* const error)
{
  Status status = ring_attach(arm->ring_fd, &server->ring, error);
  if (status) {
    return status;
  }
  const RingShape* const shape = ring_shape(server->ring);
  if (shape->block_frames != arm->format.block_frames || shape->n_in != arm->format.n_in ||
      shape->n_out != arm->format.n_out) {
    status = error_set(error, STATUS_BAD_ARG, "the block ring is not of the format");
  } else {
    const WorkerStart start = { .format = arm->format,
                                .ring = server->ring,
                                .first_frame = arm->first_frame,
                                .n_sent = arm->n_sent };
    status = worker_calls.arm(server->worker, &start, facts, error);
  }
  if (status) {
    ring_free(server->ring);
    server->ring = NULL;
  }
  return status;
}

static WorkerFacts
facts_now(const Server* const server)
{
  WorkerStatus status;
  worker_calls.status(server->worker, &status);
  return status.facts;
}

static void
on_arm(Server* const server, const WireArm* const wanted)
{
  WireMessage answer = { .kind = WIRE_ARMED, .armed.facts = facts_now(server) };
  answer.armed.error.status = start_ring(server, wanted, &answer.armed.facts, &answer.armed.error);
  tell_plan(server);
  tell(server, &answer);
}

static void
disarm(Server* const server)
{
  if (server->ring) {
    worker_calls.disarm(server->worker);
    ring_free(server->ring);
    server->ring = NULL;
  }
}

static void
on_edit(Server* const server, const WireEdit* const wanted)
{
  const Status status =
      worker_calls.edit(server->worker, wanted->id, wanted->rack, wanted->at_frame, wanted->stamp);
  if (status) { // else it is answered when it is heard
    WireMessage answer = { .kind = WIRE_REPLY, .reply = { .id = wanted->id } };
    answer.reply.reply.status = status;
    answer.reply.facts = facts_now(server);
    tell(server, &answer);
  }
}

static Status
carry_out(Server* const server, const WireMessage* const message, Error* const error)
{
  switch (message->kind) {
  case WIRE_ARM:
    if (server->ring) {
      return refuse(error, "ARM");
    }
    on_arm(server, &message->arm);
    return STATUS_OK;
  case WIRE_DISARM:
    disarm(server);
    tell(server, &(WireMessage){ .kind = WIRE_DISARMED });
    return STATUS_OK;
  case WIRE_EDIT:
    on_edit(server, &message->edit);
    return STATUS_OK;
  case WIRE_SET:
    if (!worker_calls.set(server->worker, message->set.messages, message->set.n)) {
      return refuse(error, "SET"); // there is a ring for that
    }
    return STATUS_OK;
  case WIRE_RESET_LOAD:
    worker_calls.reset_load(server->worker);
    return STATUS_OK;
  default:
    return refuse(error, "CONFIG");
  }
}

// ---- the loop [main] ----

/// Wait for a message, but no longer than the next STATUS is due; then there may be none.
static Status
next_message(const Server* const server, WireMessage* const message, Error* const error)
{
  const uint64_t now_ns = time_now_ns();
  const struct timespec left =
      time_spec(server->next_status_ns > now_ns ? server->next_status_ns - now_ns : 0U);
  struct pollfd there = { .fd = wire_fd(server->wire), .events = POLLIN };
  *message = (WireMessage){ .kind = WIRE_NONE };
  const int n = ppoll(&there, 1, &left, NULL);
  return n > 0 ? wire_receive(server->wire, message, error) : STATUS_OK;
}

/// Until the server closes or something cannot be.
static Status
serve(Server* const server, Error* const error)
{
  Status status = STATUS_OK;
  tell_status_as(server, WIRE_READY);
  while (!status) {
    if (time_now_ns() >= server->next_status_ns) {
      tell_news(server);
      server->next_status_ns = time_now_ns() + STATUS_EVERY_NS;
    }
    WireMessage message;
    status = next_message(server, &message, error);
    if (!status && message.kind) {
      status = carry_out(server, &message, error);
    }
    wire_message_clear(&message);
  }
  disarm(server);
  return status;
}

/// The first message.
static Status
receive_config(Server* const server, Error* const error)
{
  const Status status = wire_receive(server->wire, &server->config, error);
  if (!status && server->config.kind != WIRE_CONFIG) {
    return refuse(error, "the first message");
  }
  return status;
}

static ServeEnd
run(Server* const server, Error* const error)
{
  Status status = receive_config(server, error);
  if (!status && configure(server, error)) {
    tell(server, &(WireMessage){ .kind = WIRE_FAILED, .failed = *error });
    return SERVE_FAILED;
  }
  status = status ? status : serve(server, error);
  if (server->worker) {
    worker_calls.free(server->worker); // the last of its threads that send
  }
  if (server->broken.status) {
    *error = server->broken;
    return SERVE_PROTOCOL;
  }
  return status == STATUS_NET ? SERVE_CLOSED : SERVE_PROTOCOL;
}

ServeEnd
serve_worker(const int socket, const ServeFiles* const files, Error* const error)
{
  Server server = { .files = files,
                    .telling = PTHREAD_MUTEX_INITIALIZER,
                    .lock = PTHREAD_MUTEX_INITIALIZER };
  if (!process_follow_parent(socket)) {
    close(socket);
    error_set(error, STATUS_NET, "the server has ended");
    return SERVE_ORPHAN;
  }
  if (wire_new(socket, WIRE_WORKER, &server.wire, error)) {
    close(socket);
    return SERVE_PROTOCOL;
  }
  const ServeEnd end = run(&server, error);
  if (server.file_context) {
    files->close(server.file_context);
  }
  wire_message_clear(&server.config);
  wire_free(server.wire);
  return end;
}
