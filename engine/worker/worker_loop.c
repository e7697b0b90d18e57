// SPDX-License-Identifier: GPL-3.0-or-later
// The worker process: turns messages into calls of a Worker, and its events into messages.

#include "worker_loop.h"

#include "worker.h"

#include "engine/base/process.h"
#include "engine/base/recorder.h"
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

// Four times a second: the status has changed each time while audio runs, and wakes the server.
#define STATUS_EVERY_NS (250U * NS_PER_MS)

// The times of the nodes: reading them takes about 4 us per node.
#define PLACEMENTS_EVERY_NS (5U * NS_PER_S)

typedef struct WorkerLoop {
  Wire* wire;
  const WorkerLoopFiles* files;
  FxFiles opened;
  WireMessage config; ///< `opened` borrows its rack
  Worker* worker;
  Ring* ring;                  ///< NULL while disarmed
  bool has_failed;             ///< FAILED was sent
  pthread_mutex_t status_lock; ///< Held from reading status or placements until they are sent
  WorkerStatus sent;           ///< The last STATUS
  uint64_t next_status_ns;
  uint64_t next_placements_ns;

  pthread_mutex_t lock; ///< Of `broken`
  Error broken;         ///< Error that ends the worker; STATUS_OK: none
} WorkerLoop;

// ---- to the server [main, builder] ----

/// Record the first reason to end the worker, and wake the main thread.
static void
give_up(WorkerLoop* const loop, const Error* const reason)
{
  pthread_mutex_lock(&loop->lock);
  if (!loop->broken.status) {
    loop->broken = *reason;
  }
  pthread_mutex_unlock(&loop->lock);
  shutdown(wire_fd(loop->wire), SHUT_RDWR);
}

static void
send_message(WorkerLoop* const loop, const WireMessage* const message)
{
  Error error = { STATUS_OK, "" };
  const Status status = wire_send(loop->wire, message, &error);
  if (status && status != STATUS_NET) { // the receiving thread detects a closed socket
    give_up(loop, &error);
  }
}

/// Send the placements of the nodes.  The lock keeps the messages of two threads in the order in
/// which they read the placements.
static void
send_placements(WorkerLoop* const loop)
{
  pthread_mutex_lock(&loop->status_lock);
  const uint32_t n = worker_calls.placements(loop->worker, NULL, 0U);
  EnginePlacement* const placements = calloc(n + 1U, sizeof(EnginePlacement));
  if (placements) {
    const uint32_t n_now = worker_calls.placements(loop->worker, placements, n);
    send_message(loop, &(WireMessage){ .kind = WIRE_PLACEMENTS,
                                       .placements = { placements, n_now < n ? n_now : n } });
  } else {
    give_up(loop, &(Error){ STATUS_NO_MEM, "out of memory" });
  }
  pthread_mutex_unlock(&loop->status_lock);
  free(placements);
}

/// Send a message with the current status, under the same lock.
static void
send_status_as(WorkerLoop* const loop, const WireKind kind)
{
  WireMessage message = { .kind = kind };
  pthread_mutex_lock(&loop->status_lock);
  worker_calls.status(loop->worker, &message.status);
  loop->sent = message.status;
  send_message(loop, &message);
  pthread_mutex_unlock(&loop->status_lock);
}

/// Send STATUS if it has changed since the last one.
static void
send_changed_status(WorkerLoop* const loop)
{
  WorkerStatus now;
  worker_calls.status(loop->worker, &now);
  pthread_mutex_lock(&loop->status_lock);
  const bool is_new = memcmp(&now, &loop->sent, sizeof(now)) != 0;
  pthread_mutex_unlock(&loop->status_lock);
  if (is_new) {
    send_status_as(loop, WIRE_STATUS);
  }
}

/// Send the placements of the nodes and the status.  Called before the message that reports a new
/// plan, because clients may query the server once it has arrived.
static void
send_plan(WorkerLoop* const loop)
{
  send_placements(loop);
  send_status_as(loop, WIRE_STATUS);
}

static void
on_replied(void* const context, const uint64_t id, const EngineReply* const reply,
           const WorkerFacts* const facts)
{
  WorkerLoop* const loop = context;
  if (!reply->status) {
    send_plan(loop);
  }
  send_message(loop, &(WireMessage){ .kind = WIRE_REPLY, .reply = { id, *reply, *facts } });
}

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  WorkerLoop* const loop = context;
  send_plan(loop);
  send_message(loop, &(WireMessage){ .kind = WIRE_CHANGED, .changed = *facts });
}

static void
on_saved(void* const context, const uint64_t id, const EngineSaved* const saved)
{
  send_message(context, &(WireMessage){ .kind = WIRE_SAVED, .saved = { id, *saved } });
}

static void
on_node_lost(void* const context, const EngineNodeLoss* const loss)
{
  send_message(context, &(WireMessage){ .kind = WIRE_LOST, .lost = *loss });
}

static void
on_note(void* const context, const char* const text)
{
  WireMessage message = { .kind = WIRE_NOTE };
  snprintf(message.note, sizeof(message.note), "%s", text);
  send_message(context, &message);
}

// ---- from the server [main] ----

static Status
refuse(Error* const error, const char* const what)
{
  return error_set(error, STATUS_BAD_ARG, "%s out of turn", what);
}

/// Send FAILED with the reason, before the worker ends.
static Status
report_failure(WorkerLoop* const loop, const Error* const error)
{
  send_message(loop, &(WireMessage){ .kind = WIRE_FAILED, .failed = *error });
  loop->has_failed = true;
  return error->status;
}

static Status
use_plugins(WorkerLoop* const loop, const int fd, Error* const error)
{
  return loop->files->use_plugins(fd, error) ? report_failure(loop, error) : STATUS_OK;
}

static Status
configure(WorkerLoop* const loop, Error* const error)
{
  WireConfig* const config = &loop->config.config;
  EngineConfig* const engine = &config->engine;
  const WorkerEvents events = { loop, on_replied, on_changed, on_saved, on_node_lost };
  Status status = recorder_attach(config->recorder_fd, error);
  status = status ? status : loop->files->open(config->root, config->rack, &loop->opened, error);
  if (!status) {
    engine->files = loop->opened;
    engine->note = on_note;
    engine->note_context = loop;
    status = worker_new(engine, &events, &loop->worker, error);
  }
  return status ? report_failure(loop, error) : STATUS_OK;
}

static Status
start_ring(WorkerLoop* const loop, const WireArm* const arm, WireArmed* const answer)
{
  Error* const error = &answer->error;
  Status status = ring_attach(arm->ring_fd, &loop->ring, error);
  if (status) {
    return status;
  }
  const RingShape* const shape = ring_shape(loop->ring);
  if (shape->block_frames != arm->format.block_frames || shape->n_in != arm->format.n_in ||
      shape->n_out != arm->format.n_out) {
    status = error_set(error, STATUS_BAD_ARG, "the block ring is not of the format");
  } else {
    const WorkerStart start = { .format = arm->format,
                                .ring = loop->ring,
                                .first_frame = arm->first_frame,
                                .n_sent = arm->n_sent,
                                .refused = &answer->refused };
    status = worker_calls.arm(loop->worker, &start, &answer->facts, error);
  }
  if (status) {
    ring_free(loop->ring);
    loop->ring = NULL;
  }
  return status;
}

static WorkerFacts
facts_now(const WorkerLoop* const loop)
{
  WorkerStatus status;
  worker_calls.status(loop->worker, &status);
  return status.facts;
}

static void
on_arm(WorkerLoop* const loop, const WireArm* const wanted)
{
  WireMessage answer = { .kind = WIRE_ARMED, .armed.facts = facts_now(loop) };
  answer.armed.error.status = start_ring(loop, wanted, &answer.armed);
  send_plan(loop);
  send_message(loop, &answer);
}

static void
disarm(WorkerLoop* const loop)
{
  if (loop->ring) {
    worker_calls.disarm(loop->worker);
    ring_free(loop->ring);
    loop->ring = NULL;
  }
}

static void
on_edit(WorkerLoop* const loop, const WireEdit* const wanted)
{
  Error error = wanted->refusal;
  if (wanted->rack) {
    error.status =
        worker_calls.edit(loop->worker, wanted->id, wanted->rack, wanted->at_frame, wanted->stamp);
  }
  if (error.status) { // otherwise on_replied() sends the reply
    WireMessage answer = { .kind = WIRE_REPLY, .reply = { .id = wanted->id } };
    answer.reply.reply.status = error.status;
    answer.reply.reply.refused = wanted->refused;
    snprintf(answer.reply.reply.text, sizeof(answer.reply.reply.text), "%s", error.text);
    answer.reply.facts = facts_now(loop);
    send_message(loop, &answer);
  }
}

static void
on_save(WorkerLoop* const loop, const WireSave* const wanted)
{
  EngineSaved refused = { .bytes = NULL };
  refused.error.status = worker_calls.save(loop->worker, wanted->id, wanted->uid, &refused.error);
  if (refused.error.status) { // otherwise on_saved() sends the answer
    on_saved(loop, wanted->id, &refused);
  }
}

static Status
execute(WorkerLoop* const loop, const WireMessage* const message, Error* const error)
{
  switch (message->kind) {
  case WIRE_ARM:
    if (loop->ring) {
      return refuse(error, "ARM");
    }
    on_arm(loop, &message->arm);
    return STATUS_OK;
  case WIRE_DISARM:
    disarm(loop);
    send_message(loop, &(WireMessage){ .kind = WIRE_DISARMED });
    return STATUS_OK;
  case WIRE_EDIT:
    on_edit(loop, &message->edit);
    return STATUS_OK;
  case WIRE_SET:
    if (!worker_calls.set(loop->worker, message->set.messages, message->set.n)) {
      return refuse(error, "SET"); // an armed worker receives values through the ring
    }
    return STATUS_OK;
  case WIRE_SAVE:
    on_save(loop, &message->save);
    return STATUS_OK;
  case WIRE_RESET_LOAD:
    worker_calls.reset_load(loop->worker);
    return STATUS_OK;
  case WIRE_PLUGINS:
    return use_plugins(loop, message->plugins_fd, error);
  default:
    return refuse(error, "CONFIG");
  }
}

// ---- the loop [main] ----

/// Wait for a message, at most until the next STATUS is due; then `message` may be WIRE_NONE.
static Status
next_message(const WorkerLoop* const loop, WireMessage* const message, Error* const error)
{
  const uint64_t now_ns = time_now_ns();
  const struct timespec left =
      time_spec(loop->next_status_ns > now_ns ? loop->next_status_ns - now_ns : 0U);
  struct pollfd there = { .fd = wire_fd(loop->wire), .events = POLLIN };
  *message = (WireMessage){ .kind = WIRE_NONE };
  const int n = ppoll(&there, 1, &left, NULL);
  return n > 0 ? wire_receive(loop->wire, message, error) : STATUS_OK;
}

/// Send what is due: STATUS if it has changed, PLACEMENTS with the present times of the nodes.
static void
send_due(WorkerLoop* const loop)
{
  if (time_now_ns() >= loop->next_status_ns) {
    send_changed_status(loop);
    loop->next_status_ns = time_now_ns() + STATUS_EVERY_NS;
  }
  if (loop->ring && time_now_ns() >= loop->next_placements_ns) {
    send_placements(loop);
    loop->next_placements_ns = time_now_ns() + PLACEMENTS_EVERY_NS;
  }
}

/// Execute messages until the server closes the socket or sends invalid data.
static Status
execute_messages(WorkerLoop* const loop, Error* const error)
{
  Status status = STATUS_OK;
  send_status_as(loop, WIRE_READY);
  while (!status) {
    send_due(loop);
    WireMessage message;
    status = next_message(loop, &message, error);
    if (!status && message.kind) {
      status = execute(loop, &message, error);
    }
    wire_message_clear(&message);
  }
  disarm(loop);
  return status;
}

/// Receive the messages up to CONFIG, whose rack may name plugins.
static Status
receive_config(WorkerLoop* const loop, Error* const error)
{
  Status status = wire_receive(loop->wire, &loop->config, error);
  while (!status && loop->config.kind == WIRE_PLUGINS) {
    status = use_plugins(loop, loop->config.plugins_fd, error);
    wire_message_clear(&loop->config);
    status = status ? status : wire_receive(loop->wire, &loop->config, error);
  }
  if (!status && loop->config.kind != WIRE_CONFIG) {
    return refuse(error, "the first message");
  }
  return status;
}

static WorkerLoopEnd
run(WorkerLoop* const loop, Error* const error)
{
  Status status = receive_config(loop, error);
  status = status ? status : configure(loop, error);
  status = status ? status : execute_messages(loop, error);
  if (loop->worker) {
    worker_calls.free(loop->worker); // joins the last threads that send
  }
  if (loop->has_failed) {
    return WORKER_LOOP_FAILED;
  }
  if (loop->broken.status) {
    *error = loop->broken;
    return WORKER_LOOP_PROTOCOL;
  }
  return status == STATUS_NET ? WORKER_LOOP_CLOSED : WORKER_LOOP_PROTOCOL;
}

WorkerLoopEnd
worker_loop_run(const int socket, const WorkerLoopFiles* const files, Error* const error)
{
  WorkerLoop loop = { .files = files,
                      .status_lock = PTHREAD_MUTEX_INITIALIZER,
                      .lock = PTHREAD_MUTEX_INITIALIZER };
  if (!process_follow_parent(socket)) {
    close(socket);
    error_set(error, STATUS_NET, "the server has ended");
    return WORKER_LOOP_ORPHAN;
  }
  if (wire_new(socket, WIRE_WORKER, &loop.wire, error)) {
    close(socket);
    return WORKER_LOOP_PROTOCOL;
  }
  const WorkerLoopEnd end = run(&loop, error);
  if (loop.opened.context) {
    files->close(loop.opened.context);
  }
  wire_message_clear(&loop.config);
  wire_free(loop.wire);
  return end;
}
