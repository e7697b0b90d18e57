// SPDX-License-Identifier: GPL-3.0-or-later
// Loads or saves a rack file by an OSC message to the program's own port.

#include "rack_request.h"

#include "engine/base/time.h"

#include <errno.h>
#include <lo/lo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGEST_ANSWER 4096U
#define PATIENCE_NS    (10U * NS_PER_S) // after this time the reply counts as lost

static const struct {
  const char* address;
  const char* verb;
  const char* done;
  const char* refused;
} words[] = {
  [RACK_REQUEST_LOAD] = { "/rack/load", "load", "%s has been read again",
                          "%s, as it is now, is refused: %s" },
  [RACK_REQUEST_LOAD_BYPASS] = { "/rack/load", "load", "%s has been read again",
                                 "%s, as it is now, is refused: %s" },
  [RACK_REQUEST_SAVE] = { "/rack/save", "save", "%s has been saved", "%s cannot be saved: %s" },
};

static Status
connect_socket(RackRequest* const request, Error* const error)
{
  request->socket =
      socket(request->server.address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (request->socket < 0 ||
      connect(request->socket, (const struct sockaddr*)&request->server.address,
              request->server.n_bytes)) {
    error_set(error, STATUS_NET, "cannot reach the OSC port to %s %s: %s",
              words[request->kind].verb, request->name, strerror(errno));
    rack_request_close(request);
    return STATUS_NET;
  }
  return STATUS_OK;
}

Status
rack_request_open(RackRequest* const request, const RackRequestKind kind, const Peer* const server,
                  const char* const name, Error* const error)
{
  *request = (RackRequest){ .kind = kind, .socket = -1, .server = *server };
  snprintf(request->name, sizeof(request->name), "%s", name);
  return connect_socket(request, error);
}

void
rack_request_close(RackRequest* const request)
{
  if (request->socket >= 0) {
    close(request->socket);
  }
  request->socket = -1;
}

void
rack_request_want(RackRequest* const request)
{
  request->is_wanted = true;
}

bool
rack_request_is_open(const RackRequest* const request)
{
  return request->is_wanted || request->asked_ns;
}

static Status
ask(const RackRequest* const request, Error* const error)
{
  const bool bypasses = request->kind == RACK_REQUEST_LOAD_BYPASS;
  lo_message const message = lo_message_new();
  size_t n_bytes = 0;
  void* bytes = NULL;
  if (message && !lo_message_add_string(message, request->name) &&
      !(bypasses && lo_message_add_string(message, "bypass"))) {
    bytes = lo_message_serialise(message, words[request->kind].address, NULL, &n_bytes);
  }
  const bool sent = bytes && send(request->socket, bytes, n_bytes, 0) == (ssize_t)n_bytes;
  const char* const reason = bytes ? strerror(errno) : "out of memory";
  free(bytes);
  lo_message_free(message);
  return sent ? STATUS_OK
              : error_set(error, STATUS_NET, "cannot send the request to %s %s: %s",
                          words[request->kind].verb, request->name, reason);
}

static RackRequestNews
read_answer(const RackRequest* const request, const char* const address, const lo_message message,
            char* const text, const size_t n_bytes)
{
  const int last = lo_message_get_argc(message) - 1;
  if (!strcmp(address, "/done")) {
    snprintf(text, n_bytes, words[request->kind].done, request->name);
    return RACK_REQUEST_DONE;
  }
  if (last >= 0 && lo_message_get_types(message)[last] == LO_STRING) {
    snprintf(text, n_bytes, words[request->kind].refused, request->name,
             (const char*)lo_message_get_argv(message)[last]);
  } else {
    snprintf(text, n_bytes, "%s: the answer is invalid", request->name);
  }
  return RACK_REQUEST_REFUSED;
}

static RackRequestNews
receive_reply(const RackRequest* const request, char* const text, const size_t n_bytes)
{
  char packet[LARGEST_ANSWER];
  const ssize_t n = recv(request->socket, packet, sizeof(packet), 0);
  const char* const address = n > 0 ? lo_get_path(packet, n) : NULL;
  lo_message const message = address ? lo_message_deserialise(packet, (size_t)n, NULL) : NULL;
  if (!message) {
    return RACK_REQUEST_NOTHING;
  }
  const RackRequestNews news = read_answer(request, address, message, text, n_bytes);
  lo_message_free(message);
  return news;
}

/// Give an open request up.  The next one has another socket, so that no late answer arrives there.
static RackRequestNews
give_up(RackRequest* const request, char* const text, const size_t n_bytes)
{
  rack_request_close(request);
  snprintf(text, n_bytes, "%s: no answer", request->name);
  return RACK_REQUEST_LATE;
}

RackRequestNews
rack_request_poll(RackRequest* const request, const uint64_t now_ns, char* const text,
                  const size_t n_bytes)
{
  if (!request->asked_ns && request->is_wanted) {
    Error error;
    request->is_wanted = false;
    if ((request->socket < 0 && connect_socket(request, &error)) || ask(request, &error)) {
      snprintf(text, n_bytes, "%s", error.text);
      return RACK_REQUEST_REFUSED;
    }
    request->asked_ns = now_ns;
  }
  RackRequestNews news =
      request->asked_ns ? receive_reply(request, text, n_bytes) : RACK_REQUEST_NOTHING;
  if (news == RACK_REQUEST_NOTHING && request->asked_ns &&
      now_ns - request->asked_ns > PATIENCE_NS) {
    news = give_up(request, text, n_bytes);
  }
  request->asked_ns = news == RACK_REQUEST_NOTHING ? request->asked_ns : 0U;
  return news;
}
