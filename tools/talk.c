// SPDX-License-Identifier: GPL-3.0-or-later
// Exchanges packets with a server and interprets its replies.

#include "talk.h"

#include "commands.h"

#include "control/net/clock.h"
#include "control/net/packet_check.h"
#include "control/net/own.h"
#include "engine/base/time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_MESSAGES 4U              // two are enough, if none is lost
#define HELLO_NS       (NS_PER_S / 2U) // wait for each answer
#define HELLO_BYTES    200U            // so that a refusal with its reason has room

// ---- packets ----

static const char*
protocol_of(const TalkArgs* const args)
{
  return args->is_tcp ? "TCP" : "UDP";
}

static Status
fail_no_server(const TalkArgs* const args, Error* const error)
{
  return error_set(error, STATUS_NET,
                   "no server listens on %.100s, %s port %lld; start `warprack run`, or name its "
                   "port with --osc-port and its machine with --host",
                   args->host, protocol_of(args), (long long)args->port);
}

static Status
send_hello(Talk* const talk, const char* const text, Error* const error)
{
  size_t n_bytes = 0;
  void* packet = NULL;
  const lo_message message = lo_message_new();
  if (message && !lo_message_add_string(message, text)) {
    packet = lo_message_serialise(message, "/server/hello", NULL, &n_bytes);
  }
  if (message) {
    lo_message_free(message);
  }
  return talk_send(talk, "/server/hello", packet, n_bytes, error);
}

/// Prove this machine's address to a server on another one, which otherwise sends no answer that is
/// larger than its question.  If the server does not answer, or refuses, go on.
static void
prove_address(Talk* const talk)
{
  const uint64_t limit_ns = talk->limit_ns;
  char text[HELLO_BYTES + 1U] = "";
  bool is_proved = false;
  memset(text, '0', HELLO_BYTES);
  for (uint32_t n = 0; n < HELLO_MESSAGES && !is_proved; ++n) {
    const uint64_t wait_ns = instant_now().monotonic_ns + HELLO_NS;
    const char* address = NULL;
    lo_message answer = NULL;
    Error error;
    talk->limit_ns = wait_ns < limit_ns ? wait_ns : limit_ns;
    if (send_hello(talk, text, &error) || talk_receive(talk, &address, &answer, &error)) {
      continue;
    }
    is_proved = strcmp(address, "/server/cookie") != 0; // or refused
    if (!is_proved && !strcmp(lo_message_get_types(answer), "s")) {
      snprintf(text, sizeof(text), "%s", &lo_message_get_argv(answer)[0]->s);
    }
    lo_message_free(answer);
  }
  talk->limit_ns = limit_ns;
}

/// Open the socket and connect it.  The timeout limits the time of a connection.
static bool
connect_to(Talk* const talk, const struct addrinfo* const to)
{
  const bool is_tcp = talk->args->is_tcp;
  const struct timespec limit = time_spec((uint64_t)(talk->args->timeout_s * 1e9));
  const struct timeval wait = { limit.tv_sec, limit.tv_nsec / 1000 };
  talk->fd = socket(to->ai_family, (is_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
  return talk->fd >= 0 &&
         (!is_tcp || !setsockopt(talk->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait))) &&
         connect(talk->fd, to->ai_addr, to->ai_addrlen) == 0;
}

Status
talk_open(Talk* const talk, const TalkArgs* const args, Error* const error)
{
  talk->args = args;
  talk->fd = -1;
  talk->n_bytes = talk->next = 0;
  talk->limit_ns = instant_now().monotonic_ns + (uint64_t)(args->timeout_s * 1e9);
  char port[8];
  snprintf(port, sizeof(port), "%u", (unsigned)args->port);
  const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV,
                                  .ai_socktype = args->is_tcp ? SOCK_STREAM : SOCK_DGRAM };
  struct addrinfo* found = NULL;
  const int code = getaddrinfo(args->host, port, &hints, &found);
  if (code != 0) {
    const char* const colon = strchr(args->host, ':');
    // IPv6 has more colons, and a port only after brackets: [::1]:9770.
    const bool has_port = colon && (!strchr(colon + 1, ':') || strstr(args->host, "]:"));
    return error_set(error, STATUS_NET, "no machine \"%.100s\": %s%s", args->host,
                     gai_strerror(code), has_port ? "; the port goes into --osc-port" : "");
  }
  const struct addrinfo* to = found; // prefer IPv4: servers listen there by default
  for (const struct addrinfo* at = found; at && to->ai_family != AF_INET; at = at->ai_next) {
    to = at->ai_family == AF_INET ? at : to;
  }
  const bool is_open = connect_to(talk, to);
  const int failure = errno;
  Peer peer = { .n_bytes = to->ai_addrlen };
  memcpy(&peer.address, to->ai_addr, to->ai_addrlen);
  OwnAddresses own = { .n_keys = 0 };
  talk->is_here = own_has(&own, &peer);
  freeaddrinfo(found);
  if (!is_open) {
    return args->is_tcp && failure == ECONNREFUSED
               ? fail_no_server(args, error)
               : error_set(error, STATUS_NET, "cannot reach %.100s: %s", args->host,
                           strerror(failure));
  }
  if (!talk->is_here && !args->is_tcp) {
    prove_address(talk);
  }
  return STATUS_OK;
}

void
talk_close(Talk* const talk)
{
  if (talk->fd >= 0) {
    close(talk->fd);
  }
}

/// Send a packet, over TCP after its size.  After the timeout, a part of it only is sent.
static bool
send_packet(const Talk* const talk, void* const packet, const size_t n_bytes)
{
  uint32_t size = htonl((uint32_t)n_bytes);
  const bool is_tcp = talk->args->is_tcp;
  struct iovec parts[] = { { &size, sizeof(size) }, { packet, n_bytes } };
  const struct msghdr both = { .msg_iov = is_tcp ? parts : &parts[1],
                               .msg_iovlen = is_tcp ? 2 : 1 };
  const size_t n_all = n_bytes + (is_tcp ? sizeof(size) : 0U);
  return sendmsg(talk->fd, &both, MSG_NOSIGNAL) == (ssize_t)n_all;
}

Status
talk_send(Talk* const talk, const char* const name, void* const packet, const size_t n_bytes,
          Error* const error)
{
  if (!packet) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  uint32_t n_messages = 0;
  const PacketFault reason = packet_check(packet, n_bytes, instant_now().ntp, &n_messages);
  Status status = STATUS_OK;
  if (reason != PACKET_OK) {
    status = error_set(error, STATUS_BAD_ARG, "%.200s: %s", name, packet_fault_text(reason));
  } else if (!send_packet(talk, packet, n_bytes)) {
    status = fail_no_server(talk->args, error); // an ICMP error of the packet before
  }
  free(packet);
  return status;
}

Status
talk_ask(Talk* const talk, const char* const address, Error* const error)
{
  size_t n_bytes = 0;
  const lo_message message = lo_message_new();
  void* const packet = message ? lo_message_serialise(message, address, NULL, &n_bytes) : NULL;
  if (message) {
    lo_message_free(message);
  }
  return talk_send(talk, address, packet, n_bytes, error);
}

static Status
fail_other_program(const Talk* const talk, Error* const error)
{
  return error_set(error, STATUS_NET, "the program that answers on port %lld is not warprack",
                   (long long)talk->args->port);
}

/// Wait for bytes, and receive at most n.
static Status
receive_some(Talk* const talk, void* const to, const size_t n, size_t* const n_read,
             Error* const error)
{
  const TalkArgs* const args = talk->args;
  const uint64_t now_ns = instant_now().monotonic_ns;
  const int left_ms = now_ns < talk->limit_ns ? (int)((talk->limit_ns - now_ns) / 1000000U) + 1 : 0;
  struct pollfd fd = { talk->fd, POLLIN, 0 };
  if (poll(&fd, 1, left_ms) <= 0) {
    return error_set(error, STATUS_NET, "no answer from %.100s, %s port %lld, within %g s%s",
                     args->host, protocol_of(args), (long long)args->port, args->timeout_s,
                     talk->is_here
                         ? ""
                         : "; the server answers other machines only if its --osc-allow names "
                           "them");
  }
  const ssize_t n_received = recv(talk->fd, to, n, 0);
  if (args->is_tcp && n_received <= 0) {
    return error_set(error, STATUS_NET, "the server at %.100s has closed the connection",
                     args->host);
  }
  *n_read = n_received > 0 ? (size_t)n_received : 0U;
  return n_received < 0 ? fail_no_server(args, error) : STATUS_OK;
}

/// Receive exactly n bytes of a connection.
static Status
receive_all(Talk* const talk, uint8_t* const to, const size_t n, Error* const error)
{
  Status status = STATUS_OK;
  size_t n_read = 0;
  for (size_t at = 0; at < n && !status; at += n_read) {
    status = receive_some(talk, to + at, n - at, &n_read, error);
  }
  return status;
}

/// Receive the bytes of a packet.
static Status
receive_bytes(Talk* const talk, size_t* const n_bytes, Error* const error)
{
  if (!talk->args->is_tcp) {
    return receive_some(talk, talk->packet, TALK_MAX_PACKET, n_bytes, error);
  }
  uint32_t size = 0;
  const Status status = receive_all(talk, (uint8_t*)&size, sizeof(size), error);
  *n_bytes = ntohl(size) <= TALK_MAX_PACKET ? ntohl(size) : 0U; // of another program
  return status ? status : receive_all(talk, talk->packet, *n_bytes, error);
}

/// Wait for the next packet: a message, or a bundle of messages.
static Status
receive_packet(Talk* const talk, Error* const error)
{
  size_t n = 0;
  if (receive_bytes(talk, &n, error)) {
    return error->status;
  }
  uint32_t n_messages = 0;
  if (packet_check(talk->packet, n, instant_now().ntp, &n_messages) || !n_messages) {
    return fail_other_program(talk, error);
  }
  memset(talk->packet + n, 0, 8);
  talk->n_bytes = n;
  talk->next = talk->packet[0] == '#' ? 16U : 0U;
  return STATUS_OK;
}

Status
talk_receive(Talk* const talk, const char** const address, lo_message* const message,
             Error* const error)
{
  if (talk->next == talk->n_bytes && receive_packet(talk, error)) {
    return error->status;
  }
  const bool is_bundle = talk->packet[0] == '#';
  uint8_t* const at = talk->packet + talk->next + (is_bundle ? 4U : 0U);
  const size_t n = is_bundle ? packet_read_u32(at - 4) : talk->n_bytes;
  int result = 0;
  if (*at != '/') { // the server sends no bundles inside bundles
    return fail_other_program(talk, error);
  }
  talk->next = (size_t)(at - talk->packet) + n;
  *address = (const char*)at;
  *message = lo_message_deserialise(at, n, &result);
  return *message ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

// ---- replies ----

/// The bytes of a blob as hexadecimal digits.
static json_t*
blob_json(const void* const at)
{
  static const char digits[] = "0123456789abcdef";
  const uint32_t n_bytes = lo_blob_datasize((lo_blob)at);
  const uint8_t* const bytes = lo_blob_dataptr((lo_blob)at);
  char* const text = malloc(2U * n_bytes + 1U);
  for (uint32_t b = 0; text && b < n_bytes; ++b) {
    text[2U * b] = digits[bytes[b] / 16U];
    text[2U * b + 1U] = digits[bytes[b] % 16U];
  }
  json_t* const json = text ? json_stringn(text, 2U * n_bytes) : NULL;
  free(text);
  return json;
}

json_t*
talk_argument(const lo_message message, const int index)
{
  const void* const at = lo_message_get_argv(message)[index];
  lo_arg value = { 0 }; // copied, because arguments have an alignment of 4 only
  switch (lo_message_get_types(message)[index]) {
  case 'i':
    memcpy(&value.i, at, sizeof(value.i));
    return json_integer(value.i);
  case 'h':
    memcpy(&value.h, at, sizeof(value.h));
    return json_integer(value.h);
  case 'f':
    memcpy(&value.f, at, sizeof(value.f));
    return json_real((double)value.f);
  case 'd':
    memcpy(&value.d, at, sizeof(value.d));
    return json_real(value.d);
  case 's':
    return command_json_text(at);
  case 'b':
    return blob_json(at);
  case 'T':
  case 'F':
    return json_boolean(lo_message_get_types(message)[index] == 'T');
  default:
    return json_null();
  }
}

/// Set a member; a text is appended to an existing one.
static void
put(json_t* const object, const char* const key, json_t* const value)
{
  const char* const before = json_string_value(json_object_get(object, key));
  if (before && json_is_string(value)) {
    json_object_set_new(object, key, json_sprintf("%s%s", before, json_string_value(value)));
    json_decref(value);
  } else {
    json_object_set_new(object, key, value);
  }
}

void
talk_describe(json_t* const object, const char* const address, const lo_message message)
{
  static const struct {
    const char* address;
    const char* names[4];
  } rows[] = {
    { "/done", { "done", "revision", "frame", "file" } },
    { "/fail", { "fail", "code", "text" } },
    { "/server/cookie", { "cookie" } },
    { "/server/describe", { "text", "part", "parts" } },
    { "/server/nodes", { "text", "part", "parts" } },
    { "/server/plugin", { "text", "part", "parts" } },
    { "/server/plugins", { "text", "part", "parts" } },
    { "/server/synced", { "number" } },
    { "/server/version", { "program", "version" } },
    { "/server/watch", { "text", "part", "parts" } },
  };
  const int n = lo_message_get_argc(message);
  const char* const types = lo_message_get_types(message);
  if (!strcmp(address, "/server/status")) { // key value key value ...
    for (int i = 0; i + 1 < n && types[i] == 's'; i += 2) {
      const char* const key = (const char*)lo_message_get_argv(message)[i];
      json_object_set_new(object, key, talk_argument(message, i + 1));
    }
    return;
  }
  if (!strcmp(address, "/server/load")) { // share count share count ...
    for (int i = 0; i + 1 < n && types[i] == 'f'; i += 2) {
      float share = 0.0F;
      memcpy(&share, lo_message_get_argv(message)[i], sizeof(share));
      char key[32];
      snprintf(key, sizeof(key), "%g", (double)share);
      json_object_set_new(object, key, talk_argument(message, i + 1));
    }
    return;
  }
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    for (int i = 0; i < n && i < (int)ARRAY_LEN(rows[r].names) && !strcmp(address, rows[r].address);
         ++i) {
      if (rows[r].names[i]) {
        put(object, rows[r].names[i], talk_argument(message, i));
      }
    }
  }
}
