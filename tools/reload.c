// SPDX-License-Identifier: GPL-3.0-or-later
// Reloads the rack file by an OSC message to the program's own port.

#include "reload.h"

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

Status
reload_open(Reload* const reload, const Peer* const server, const char* const name,
            const bool bypasses, Error* const error)
{
  *reload = (Reload){ .socket = -1, .bypasses = bypasses };
  snprintf(reload->name, sizeof(reload->name), "%s", name);
  reload->socket = socket(server->address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (reload->socket < 0 ||
      connect(reload->socket, (const struct sockaddr*)&server->address, server->n_bytes)) {
    error_set(error, STATUS_NET, "cannot reach the OSC port for SIGHUP: %s", strerror(errno));
    reload_close(reload);
    return STATUS_NET;
  }
  return STATUS_OK;
}

void
reload_close(Reload* const reload)
{
  if (reload->socket >= 0) {
    close(reload->socket);
  }
  reload->socket = -1;
}

void
reload_want(Reload* const reload)
{
  reload->is_wanted = true;
}

bool
reload_is_open(const Reload* const reload)
{
  return reload->is_wanted || reload->asked_ns;
}

static Status
ask(const Reload* const reload, Error* const error)
{
  lo_message const message = lo_message_new();
  size_t n_bytes = 0;
  void* bytes = NULL;
  if (message && !lo_message_add_string(message, reload->name) &&
      !(reload->bypasses && lo_message_add_string(message, "bypass"))) {
    bytes = lo_message_serialise(message, "/rack/load", NULL, &n_bytes);
  }
  const bool sent = bytes && send(reload->socket, bytes, n_bytes, 0) == (ssize_t)n_bytes;
  const char* const reason = bytes ? strerror(errno) : "out of memory";
  free(bytes);
  lo_message_free(message);
  return sent ? STATUS_OK
              : error_set(error, STATUS_NET, "cannot send the request to load %s: %s", reload->name,
                          reason);
}

static ReloadNews
read_answer(const Reload* const reload, const char* const address, const lo_message message,
            char* const text, const size_t n_bytes)
{
  const int last = lo_message_get_argc(message) - 1;
  if (!strcmp(address, "/done")) {
    snprintf(text, n_bytes, "%s has been read again", reload->name);
    return RELOAD_DONE;
  }
  if (last >= 0 && lo_message_get_types(message)[last] == LO_STRING) {
    snprintf(text, n_bytes, "%s, as it is now, is refused: %s", reload->name,
             &lo_message_get_argv(message)[last]->s);
  } else {
    snprintf(text, n_bytes, "%s: an answer that makes no sense", reload->name);
  }
  return RELOAD_REFUSED;
}

static ReloadNews
receive_reply(const Reload* const reload, char* const text, const size_t n_bytes)
{
  char packet[LARGEST_ANSWER];
  const ssize_t n = recv(reload->socket, packet, sizeof(packet), 0);
  const char* const address = n > 0 ? lo_get_path(packet, n) : NULL;
  lo_message const message = address ? lo_message_deserialise(packet, (size_t)n, NULL) : NULL;
  if (!message) {
    return RELOAD_NOTHING;
  }
  const ReloadNews news = read_answer(reload, address, message, text, n_bytes);
  lo_message_free(message);
  return news;
}

ReloadNews
reload_poll(Reload* const reload, const uint64_t now_ns, char* const text, const size_t n_bytes)
{
  ReloadNews news = RELOAD_NOTHING;
  if (reload->socket < 0) {
    return news;
  }
  if (!reload->asked_ns && reload->is_wanted) {
    Error error;
    reload->is_wanted = false;
    if (ask(reload, &error)) {
      snprintf(text, n_bytes, "%s", error.text);
      return RELOAD_REFUSED;
    }
    reload->asked_ns = now_ns;
  }
  news = receive_reply(reload, text, n_bytes);
  if (news == RELOAD_NOTHING && reload->asked_ns && now_ns - reload->asked_ns > PATIENCE_NS) {
    snprintf(text, n_bytes, "%s: no answer", reload->name);
    news = RELOAD_REFUSED;
  }
  reload->asked_ns = news == RELOAD_NOTHING ? reload->asked_ns : 0U;
  return news;
}
