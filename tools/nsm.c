// SPDX-License-Identifier: GPL-3.0-or-later
// The protocol of NSM, client's side.

#include "nsm.h"

#include "commands.h"

#include "control/net/clock.h"
#include "control/net/listeners.h"
#include "control/net/packet_check.h"
#include "engine/base/text.h"

#include <errno.h>
#include <lo/lo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEME           "osc.udp://"
#define ADDRESS_ANNOUNCE "/nsm/server/announce"
#define CAPABILITIES     ":switch:dirty:message:"
#define API_MAJOR        1
#define API_MINOR        1
#define PACKET_BYTES     (PATH_MAX + 4096U) // longer packets are dropped
#define MAX_PACKETS      64U                // that do not count, in one call

// ---- open ----

/// Find the address of a URL.
static Status
read_url(const char* const url, Peer* const manager, Error* const error)
{
  char host[300];
  const char* const from = url + strlen(SCHEME);
  Listeners found = { .n = 0 };
  Error why;
  const bool is_url =
      !strncmp(url, SCHEME, strlen(SCHEME)) &&
      snprintf(host, sizeof(host), "%.*s", (int)strcspn(from, "/"), from) < (int)sizeof(host) &&
      !strchr(host, ',');
  if (!is_url) {
    return error_set(error, STATUS_BAD_ARG, "NSM_URL=%.100s is not osc.udp://HOST:PORT/", url);
  }
  const Status status = listeners_read(&found, host, &why);
  if (status) {
    return error_set(error, status, "NSM_URL: %.400s", why.text);
  }
  *manager = found.peers[0];
  return STATUS_OK;
}

/// Let the socket receive from the manager only.  A name of this machine may mean 127.0.1.1; the
/// answers then come from 127.0.0.1.  So the socket of a local manager is bound to the loopback
/// interface, and comes_from_manager() checks the port.
static bool
restrict_socket(const Nsm* const nsm)
{
  if (!nsm->is_local) {
    return connect(nsm->socket, (const struct sockaddr*)&nsm->manager.address,
                   nsm->manager.n_bytes) == 0;
  }
  const struct sockaddr_in own = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  const struct sockaddr_in6 own6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
  const bool is_ip6 = nsm->manager.address.ss_family == AF_INET6;
  return bind(nsm->socket, is_ip6 ? (const struct sockaddr*)&own6 : (const struct sockaddr*)&own,
              is_ip6 ? sizeof(own6) : sizeof(own)) == 0;
}

Status
nsm_open(Nsm* const nsm, const char* const url, Error* const error)
{
  *nsm = (Nsm){ .socket = -1 };
  const Status status = read_url(url, &nsm->manager, error);
  if (status) {
    return status;
  }
  nsm->is_local = peer_is_loopback(&nsm->manager);
  nsm->socket =
      socket(nsm->manager.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (nsm->socket < 0 || !restrict_socket(nsm)) {
    error_set(error, status_of_errno(errno, STATUS_NET), "NSM_URL=%.100s: %s", url,
              strerror(errno));
    nsm_close(nsm);
    return error->status;
  }
  return STATUS_OK;
}

void
nsm_close(Nsm* const nsm)
{
  if (nsm->socket >= 0) {
    close(nsm->socket);
  }
  nsm->socket = -1;
}

// ---- send ----

/// Send a message.  Frees the arguments; NULL if out of memory.
static void
send_message(const Nsm* const nsm, const char* const address, const lo_message arguments)
{
  size_t n_bytes = 0;
  void* const bytes = arguments ? lo_message_serialise(arguments, address, NULL, &n_bytes) : NULL;
  if (bytes && nsm->is_local) {
    (void)sendto(nsm->socket, bytes, n_bytes, MSG_DONTWAIT,
                 (const struct sockaddr*)&nsm->manager.address, nsm->manager.n_bytes);
  } else if (bytes) {
    (void)send(nsm->socket, bytes, n_bytes, MSG_DONTWAIT);
  }
  free(bytes);
  if (arguments) {
    lo_message_free(arguments);
  }
}

/// A message with arguments of the types s and i; NULL if out of memory.
static lo_message
new_message(const char* const types, ...)
{
  lo_message message = lo_message_new();
  va_list arguments;
  va_start(arguments, types);
  for (const char* type = types; message && *type; ++type) {
    const int failed = *type == 'i'
                           ? lo_message_add_int32(message, va_arg(arguments, int))
                           : lo_message_add_string(message, va_arg(arguments, const char*));
    if (failed) {
      lo_message_free(message);
      message = NULL;
    }
  }
  va_end(arguments);
  return message;
}

void
nsm_announce(const Nsm* const nsm, const char* const executable)
{
  send_message(nsm, ADDRESS_ANNOUNCE,
               new_message("sssiii", PROGRAM_NAME, CAPABILITIES, executable, API_MAJOR, API_MINOR,
                           (int)getpid()));
}

void
nsm_reply(const Nsm* const nsm, const char* const address, const char* const text)
{
  send_message(nsm, "/reply", new_message("ss", address, text));
}

void
nsm_fail(const Nsm* const nsm, const char* const address, const NsmCode code,
         const char* const text)
{
  send_message(nsm, "/error", new_message("sis", address, (int)code, text));
}

void
nsm_tell_dirty(const Nsm* const nsm, const bool is_dirty)
{
  send_message(nsm, is_dirty ? "/nsm/client/is_dirty" : "/nsm/client/is_clean", new_message(""));
}

void
nsm_tell(const Nsm* const nsm, const int priority, const char* const text)
{
  send_message(nsm, "/nsm/client/message", new_message("is", priority, text));
}

// ---- receive ----

static bool
comes_from_manager(const Nsm* const nsm, const Peer* const sender)
{
  if (!nsm->is_local) {
    return true; // of a connected socket
  }
  const PeerKey from = peer_key(sender);
  const PeerKey manager = peer_key(&nsm->manager);
  return peer_is_loopback(sender) && from.port == manager.port;
}

/// The text of an argument of type s.  Arguments have an alignment of 4 only.
static const char*
text_of(const lo_message message, const int index)
{
  return (const char*)lo_message_get_argv(message)[index];
}

/// True if the message has these types, and its first argument is the address of the announcement.
static bool
answers_announcement(const lo_message message, const char* const types)
{
  return !strcmp(lo_message_get_types(message), types) &&
         !strcmp(text_of(message, 0), ADDRESS_ANNOUNCE);
}

/// Copy a text for people.
static void
copy_text(char text[const NSM_TEXT_BYTES], const char* const from)
{
  snprintf(text, NSM_TEXT_BYTES, "%s", from);
  text_make_printable(text);
}

/// Read an order to open a project.  Returns false if a text is too long.
static bool
read_project(const lo_message message, NsmProject* const project)
{
  copy_text(project->display, text_of(message, 1));
  return snprintf(project->path, sizeof(project->path), "%s", text_of(message, 0)) <
             (int)sizeof(project->path) &&
         snprintf(project->client, sizeof(project->client), "%s", text_of(message, 2)) <
             (int)sizeof(project->client);
}

static NsmNews
read_message(const Nsm* const nsm, const char* const address, const lo_message message,
             NsmProject* const project, char text[const NSM_TEXT_BYTES])
{
  if (!strcmp(address, "/reply") && answers_announcement(message, "ssss")) {
    copy_text(text, text_of(message, 2));
    return NSM_ACCEPTED;
  }
  if (!strcmp(address, "/error") && answers_announcement(message, "sis")) {
    copy_text(text, text_of(message, 2));
    return NSM_REFUSED;
  }
  if (!strcmp(address, NSM_ADDRESS_OPEN) && !strcmp(lo_message_get_types(message), "sss")) {
    if (read_project(message, project)) {
      return NSM_OPEN;
    }
    nsm_fail(nsm, NSM_ADDRESS_OPEN, NSM_CREATE_FAILED, "the path or the client id is too long");
    return NSM_NOTHING;
  }
  return strcmp(address, NSM_ADDRESS_SAVE) ? NSM_NOTHING : NSM_SAVE;
}

/// Read a packet of the manager, which is well-formed.
static NsmNews
read_packet(const Nsm* const nsm, char* const packet, const size_t n_bytes,
            NsmProject* const project, char text[const NSM_TEXT_BYTES])
{
  lo_message const message =
      packet[0] == '/' ? lo_message_deserialise(packet, n_bytes, NULL) : NULL; // else a bundle
  const NsmNews news = message ? read_message(nsm, packet, message, project, text) : NSM_NOTHING;
  if (message) {
    lo_message_free(message);
  }
  return news;
}

NsmNews
nsm_receive(const Nsm* const nsm, NsmProject* const project, char text[const NSM_TEXT_BYTES])
{
  NsmNews news = NSM_NOTHING;
  for (unsigned n = 0; n < MAX_PACKETS && news == NSM_NOTHING; ++n) {
    _Alignas(8) char packet[PACKET_BYTES];
    Peer sender = { .n_bytes = sizeof(sender.address) };
    uint32_t n_messages = 0;
    const ssize_t n_bytes = recvfrom(nsm->socket, packet, sizeof(packet), MSG_TRUNC,
                                     (struct sockaddr*)&sender.address, &sender.n_bytes);
    if (n_bytes < 0 && errno != ECONNREFUSED) { // of a packet that was sent
      return NSM_NOTHING;
    }
    if (n_bytes > 0 && n_bytes <= (ssize_t)sizeof(packet) && comes_from_manager(nsm, &sender) &&
        packet_check(packet, (size_t)n_bytes, instant_now().ntp, &n_messages) == PACKET_OK) {
      news = read_packet(nsm, packet, (size_t)n_bytes, project, text);
    }
  }
  return news;
}

bool
nsm_is_gone(const Nsm* const nsm)
{
  return peer_is_closed(&nsm->manager);
}
