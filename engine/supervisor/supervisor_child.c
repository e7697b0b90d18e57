// SPDX-License-Identifier: GPL-3.0-or-later
// One worker process: its start and end, and the messages to it.

#include "supervisor_private.h"

#include "engine/base/time.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_LIMIT_NS NS_PER_S // for a worker to close its device and end
#define FIRST_MISSED 64U
#define PING_NS      NS_PER_S // between two queries to an idle worker

static void
send_message(Child* const child, const WireMessage* const message)
{
  Error error;
  if (!child->broken.status && wire_send(child->wire, message, &error)) {
    child->broken = error;
  }
}

// ---- start and end ----

/// Start the program with one end of a socket pair, and keep the other end.
static Status
start_process(Child* const child, const EngineConfig* const config, Error* const error)
{
  int sockets[2];
  Status status = wire_pair(sockets, error);
  if (status) {
    return status;
  }
  status = wire_new(sockets[0], WIRE_SERVER, &child->wire, error);
  if (status) {
    close(sockets[0]);
  } else {
    status = process_start(config->worker_argv[0], (char* const*)config->worker_argv, sockets[1],
                           &child->process, error);
  }
  close(sockets[1]);
  return status;
}

Status
child_start(const Supervisor* const supervisor, Child** const out, Error* const error)
{
  Child* const child = calloc(1, sizeof(Child));
  if (!child) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  child_set_state(child, CHILD_STARTING);
  Status status = recorder_new(&child->recorder, error);
  status = status ? status : start_process(child, &supervisor->config, error);
  if (status) {
    child_free(child);
    return status;
  }
  *out = child;
  return STATUS_OK;
}

void
child_free(Child* const child)
{
  if (!child) {
    return;
  }
  wire_free(child->wire);
  process_free(child->process);
  recorder_free(child->recorder);
  ring_free(child->ring);
  free(child->placements);
  free(child->missed);
  key_index_clear(&child->missed_at);
  free(child);
}

void
child_leave(Child* const child, Process** const left, const bool may_end)
{
  if (child) {
    wire_free(child->wire); // a worker ends when it reads end-of-file
    child->wire = NULL;
    process_leave(left, child->process, may_end ? time_now_ns() + END_LIMIT_NS : 0U);
    child->process = NULL;
    child_free(child);
  }
}

// ---- messages to the child ----

void
child_forget_missed(Child* const child)
{
  child->n_missed = 0;
  key_index_forget(&child->missed_at);
}

void
child_set_state(Child* const child, const ChildState state)
{
  child->state = state;
  child->since_ns = time_now_ns();
  child->busy_ns = 0;
}

void
child_use_plugins(Child* const child, const int fd)
{
  send_message(child, &(WireMessage){ .kind = WIRE_PLUGINS, .plugins_fd = fd });
}

Status
child_configure(Child* const child, const Supervisor* const supervisor, Error* const error)
{
  const EngineConfig* const config = &supervisor->config;
  WireMessage* const message = calloc(1, sizeof(WireMessage));
  if (!message) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  child->n_plugins = supervisor->n_plugins;
  message->kind = WIRE_CONFIG;
  message->config.engine = *config;
  message->config.engine.gpu_may_be_lost = supervisor->had_gpu;
  const char* const root = config->worker_root ? config->worker_root : ".";
  const size_t n_bytes = strlen(root);
  if (n_bytes >= sizeof(message->config.root)) {
    free(message);
    return error_set(error, STATUS_LIMIT, "the name of the folder for files is too long");
  }
  memcpy(message->config.root, root, n_bytes);
  message->config.rack = config->worker_rack;
  message->config.recorder_fd = recorder_fd(child->recorder);
  if (supervisor->plugins_fd >= 0) {
    child_use_plugins(child, supervisor->plugins_fd); // the rack may name plugins
  }
  send_message(child, message);
  free(message);
  return STATUS_OK;
}

/// Send a child a document to plan, with the quarantine of its nodes.  The child is planning until
/// it replies.
static void
send_edit(Child* const child, const RackHistory* const history, const WireEdit* const edit)
{
  const uint64_t now_ns = time_now_ns();
  Rack* const rack = rack_history_for_worker(history, edit->rack, now_ns);
  if (rack) {
    WireMessage message = { .kind = WIRE_EDIT, .edit = *edit };
    message.edit.rack = rack;
    send_message(child, &message);
  } else {
    error_set(&child->broken, STATUS_NO_MEM, "out of memory for its rack");
  }
  rack_free(rack);
  child->given_ns = now_ns;
}

static void
send_active_rack(Child* const child, const RackHistory* const history)
{
  send_edit(child, history, &(WireEdit){ .stamp = child->n_sent, .rack = history->active });
  child->has_load = true;
  child_forget_missed(child);
  child->must_reload = false;
}

void
child_load(Child* const child, const RackHistory* const history)
{
  send_active_rack(child, history);
  child_set_state(child, CHILD_LOADING);
}

bool
child_resend(Child* const child, const RackHistory* const history)
{
  const bool is_free = !child->has_edit && !child->has_load && !child->is_stuck;
  if (is_free) {
    send_active_rack(child, history);
  }
  return is_free;
}

void
child_reload(Child* const child, const RackHistory* const history)
{
  if (child->n_missed || child->must_reload) {
    (void)child_resend(child, history);
  }
}

void
child_give_edit(Child* const child, const RackHistory* const history)
{
  const RackHistoryEdit* const edit = history->pending;
  if (child->has_edit || child->has_load || child->is_stuck || !edit || edit->refusal.status ||
      child->state < CHILD_IDLE) {
    return;
  }
  send_edit(
      child, history,
      &(WireEdit){
          .id = edit->id, .at_frame = edit->at_frame, .stamp = child->n_sent, .rack = edit->rack });
  child->has_edit = true;
  child->status.awaits_frame = false; // that was an earlier edit
}

void
child_arm(Child* const child, const Supervisor* const supervisor, Ring* const ring, const bool own,
          const uint64_t first_frame)
{
  const Wanted* const wanted = &supervisor->wanted;
  child_reload(child, &supervisor->history); // values set while the child had no plan
  send_message(child, &(WireMessage){ .kind = WIRE_ARM,
                                      .arm = { .format = wanted->format,
                                               .first_frame = first_frame,
                                               .n_sent = child->n_sent,
                                               .ring_fd = ring_fd(ring) } });
  child->ring = own ? ring : NULL;
  child->lent = own ? NULL : ring;
  child->generation = wanted->generation;
  ++child->n_arms_out;
  child_set_state(child, CHILD_ARMING);
}

/// Send values through the socket, in messages of at most WIRE_MAX_MESSAGES.
static void
send_values(Child* const child, const ParamMessage* const messages, const uint32_t n)
{
  for (uint32_t first = 0; first < n; first += WIRE_MAX_MESSAGES) {
    const uint32_t left = n - first;
    send_message(child,
                 &(WireMessage){ .kind = WIRE_SET,
                                 .set = { messages + first,
                                          left < WIRE_MAX_MESSAGES ? left : WIRE_MAX_MESSAGES } });
  }
  child->n_sent += n;
}

static void
send_disarm(Child* const child)
{
  send_message(child, &(WireMessage){ .kind = WIRE_DISARM });
  ++child->n_disarms_out;
  child->asked_ns = time_now_ns();
}

void
child_ping(Child* const child)
{
  if (child->state == CHILD_IDLE && !child->n_disarms_out &&
      time_now_ns() - child->asked_ns >= PING_NS) {
    send_disarm(child);
  }
}

void
child_disarm(Child* const child)
{
  if (child->state <= CHILD_IDLE) {
    return;
  }
  send_disarm(child);
  ring_free(child->ring);
  child->ring = NULL;
  child_set_state(child, CHILD_IDLE);
  if (child->has_plan) {
    send_values(child, child->missed, child->n_missed);
    child_forget_missed(child);
  }
}

/// Store a value in `missed`; it replaces an older value of the same parameter.
static bool
keep_value(Child* const child, const ParamMessage* const message)
{
  const uint32_t place = key_index_find(&child->missed_at, message->uid, message->param);
  if (place != KEY_INDEX_NONE) {
    child->missed[place] = *message;
    return true;
  }
  if (child->n_missed == child->max_missed) {
    const uint32_t max = child->max_missed ? 2U * child->max_missed : FIRST_MISSED;
    ParamMessage* const more = realloc(child->missed, max * sizeof(ParamMessage));
    if (!more) {
      return false;
    }
    child->missed = more;
    child->max_missed = max;
  }
  if (!key_index_set(&child->missed_at, message->uid, message->param, child->n_missed)) {
    return false;
  }
  child->missed[child->n_missed++] = *message;
  return true;
}

static void
keep_values(Child* const child, const ParamMessage* const messages, const uint32_t n)
{
  for (uint32_t m = 0; m < n; ++m) {
    if (!keep_value(child, &messages[m])) {
      error_set(&child->broken, STATUS_NO_MEM, "out of memory for the values that it missed");
    }
  }
}

void
child_set(Child* const child, const ParamMessage* const messages, const uint32_t n)
{
  if (child->state == CHILD_STARTING || child->state == CHILD_SERVING) {
    return; // the rack will contain them; or the ring carries them
  }
  if (child->state == CHILD_IDLE && child->has_plan) {
    send_values(child, messages, n);
    return;
  }
  keep_values(child, messages, n);
}
