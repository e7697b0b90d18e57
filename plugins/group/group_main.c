// SPDX-License-Identifier: GPL-3.0-or-later
// The process of a group: carries out the calls of the worker.

#include "group.h"

#include "group_threads.h"
#include "group_unit.h"

#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "engine/base/sealed_text.h"
#include "plugins/plugin_environment.h"
#include "plugins/plugin_thread.h"
#include "plugins/scan/scan_confine.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OOM_SCORE      300 // the kernel kills it before worker and server
#define IDLE_MS        50
#define MAX_FILE_BYTES (FX_STATE_MAX_BYTES + (1U << 20U)) // also of memory that is shared

/// The process.
typedef struct Server {
  int socket;
  GroupUnit* units[GROUP_SLOTS];
  bool has_greeted;
} Server;

/// A call, with its descriptors.
typedef struct Request {
  Server* server;
  const GroupCall* call;
  int* fds;
  GroupReply* reply;
  int reply_fd; ///< -1: none
} Request;

static Status
invalid(Error* const error)
{
  return error_set(error, STATUS_BAD_ARG, "an invalid call");
}

// ---- calls [thread of plugins] ----

static Status
open_unit(Request* const request, Error* const error)
{
  Server* const server = request->server;
  const GroupCall* const call = request->call;
  char* data = NULL;
  size_t n_bytes = 0;
  if (server->units[call->slot]) {
    return invalid(error);
  }
  const Status status = sealed_text_read(request->fds[1], GROUP_MAX_DATA, &data, &n_bytes, error);
  return status ? status
                : group_unit_new(call, data, n_bytes, request->fds[0], &server->units[call->slot],
                                 error);
}

static Status
renew_unit(const Request* const request, GroupUnit* const unit, Error* const error)
{
  char* data = NULL;
  size_t n_bytes = 0;
  Status status = sealed_text_read(request->fds[0], GROUP_MAX_DATA, &data, &n_bytes, error);
  status = status ? status : group_unit_renew(unit, request->call, data, n_bytes, error);
  free(data);
  return status;
}

static Status
set_text(const Request* const request, GroupUnit* const unit, Error* const error)
{
  char* text = NULL;
  size_t n_bytes = 0;
  Status status = sealed_text_read(request->fds[0], GROUP_MAX_DATA, &text, &n_bytes, error);
  status = status ? status : group_unit_set_text(unit, request->call->port, text, error);
  free(text);
  return status;
}

static Status
save_unit(Request* const request, GroupUnit* const unit, Error* const error)
{
  TextBuffer part = { 0 };
  bool is_package = false;
  Status status = group_unit_save(unit, &part, &is_package, error);
  request->reply->is_package = is_package;
  if (!status && part.n) {
    status = sealed_text_new(part.bytes, part.n, &request->reply_fd, error);
  }
  free(part.bytes);
  return status;
}

static Status
greet(Server* const server, const Request* const request, Error* const error)
{
  Ring* bell = NULL;
  server->has_greeted = true;
  if (request->call->locks_memory && !rt_lock_memory(NULL)) { // else the worker has reported why
    (void)rt_lock_on_fault(NULL);
  }
  Status status = recorder_attach(request->fds[0], error);
  status = status ? status : ring_attach(request->fds[1], &bell, error);
  return status ? status : group_threads_start(bell, request->call->priority, error);
}

static Status
carry_out(Request* const request, Error* const error)
{
  Server* const server = request->server;
  const GroupCall* const call = request->call;
  GroupUnit** const place = &server->units[call->slot];
  if (call->op != GROUP_OPEN && !*place) {
    return invalid(error);
  }
  switch (call->op) {
  case GROUP_OPEN:
    return open_unit(request, error);
  case GROUP_CLOSE:
    group_unit_free(*place);
    *place = NULL;
    return STATUS_OK;
  case GROUP_RENEW:
    return renew_unit(request, *place, error);
  case GROUP_SILENCE:
    return group_unit_silence(*place, call->n_frames, error);
  case GROUP_TEXT:
    return set_text(request, *place, error);
  case GROUP_GET:
    return group_unit_get(*place, call->port, &request->reply->value, error);
  case GROUP_SAVE:
    return save_unit(request, *place, error);
  default:
    return invalid(error);
  }
}

static void
carry_out_here(void* const context)
{
  Request* const request = context;
  GroupReply* const reply = request->reply;
  Error error = { STATUS_OK, "" };
  reply->status = carry_out(request, &error);
  snprintf(reply->text, sizeof(reply->text), "%.*s", (int)sizeof(reply->text) - 1, error.text);
  const GroupUnit* const unit = request->server->units[request->call->slot];
  if (!reply->status && unit) {
    group_unit_report(unit, reply);
  }
}

// ---- the loop [main] ----

static Status
answer(Server* const server, const GroupCall* const call, int fds[GROUP_FDS], Error* const error)
{
  GroupReply reply = { .op = call->op, .number = call->number };
  Request request = { server, call, fds, &reply, -1 };
  if (call->slot >= GROUP_SLOTS || (call->op == GROUP_HELLO) == server->has_greeted) {
    return invalid(error);
  }
  if (call->op == GROUP_HELLO) {
    const Status status = greet(server, &request, error);
    if (status) {
      return status;
    }
  } else {
    plugin_thread_run(carry_out_here, &request);
  }
  const Status status = group_send(server->socket, &reply, sizeof(reply), &request.reply_fd,
                                   request.reply_fd >= 0, error);
  if (request.reply_fd >= 0) {
    close(request.reply_fd);
  }
  return status;
}

static Status
serve(Server* const server, Error* const error)
{
  Status status = STATUS_OK;
  while (!status) {
    struct pollfd there = { .fd = server->socket, .events = POLLIN };
    if (poll(&there, 1, IDLE_MS) > 0) {
      GroupCall call;
      int fds[GROUP_FDS];
      status = group_receive(server->socket, &call, sizeof(call), fds, error);
      status = status ? status : answer(server, &call, fds, error);
      group_close_fds(fds);
    }
    fx_idle();
  }
  return status;
}

/// As the worker: it decides when this process ends.
static void
ignore_signals(void)
{
  static const int ignored[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
  for (uint32_t s = 0; s < ARRAY_LEN(ignored); ++s) {
    signal(ignored[s], SIG_IGN);
  }
}

int
group_main(const int socket)
{
  static Server server;
  Error error = { STATUS_OK, "" };
  server.socket = socket;
  if (!process_follow_parent(socket)) {
    return status_exit_code(STATUS_NET);
  }
  plugin_environment();
  ignore_signals();
  process_be_killed_first(OOM_SCORE);
  Status status = STATUS_OK;
  if (!scan_confine_rights(MAX_FILE_BYTES)) { // before other threads, which it would not confine
    status = error_set(&error, STATUS_NO_MEM, "the process of a group cannot be confined");
  }
  status = status ? status : plugin_output_start(&error);
  status = status ? status : plugin_thread_start(&error);
  status = status ? status : serve(&server, &error);
  if (status != STATUS_NET) { // else the worker has closed the socket
    dprintf(STDERR_FILENO, "group: %s\n", error.text);
  }
  // Flushes no stream, which a plugin may hold, and calls no destructors of plugins.
  _exit(status == STATUS_NET ? 0 : status_exit_code(status));
}
