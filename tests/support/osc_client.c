// SPDX-License-Identifier: GPL-3.0-or-later
// A UDP socket; liblo encodes and decodes the messages.

#include "osc_client.h"

#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_BYTES (4 << 20) // a thousand answers may arrive while the client does not run

OscClient*
client_new(const uint16_t port)
{
  OscClient* const client = calloc(1, sizeof(OscClient));
  ck_assert_ptr_nonnull(client);
  client->fd = socket(AF_INET, SOCK_DGRAM, 0);
  const int room = RECEIVE_BYTES; // SO_RCVBUFFORCE exceeds the limit of the system, but needs root
  if (setsockopt(client->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room))) { // not root
    (void)setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
  }
  const struct sockaddr_in server = { .sin_family = AF_INET,
                                      .sin_port = htons(port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  ck_assert_int_eq(connect(client->fd, (const struct sockaddr*)&server, sizeof(server)), 0);
  return client;
}

void
client_free(OscClient* const client)
{
  close(client->fd);
  free(client);
}

void
client_send_bytes(OscClient* const client, const void* const bytes, const size_t n_bytes)
{
  ck_assert_int_eq(send(client->fd, bytes, n_bytes, 0), (ssize_t)n_bytes);
}

static lo_message
make_message(const char* const types, va_list args)
{
  const lo_message message = lo_message_new();
  for (const char* type = types; *type; ++type) {
    switch (*type) {
    case 'i':
      lo_message_add_int32(message, va_arg(args, int));
      break;
    case 'f':
      lo_message_add_float(message, (float)va_arg(args, double));
      break;
    case 'd':
      lo_message_add_double(message, va_arg(args, double));
      break;
    case 's':
      lo_message_add_string(message, va_arg(args, const char*));
      break;
    case 'T':
      lo_message_add_true(message);
      break;
    case 'N':
      lo_message_add_nil(message);
      break;
    default:
      ck_abort_msg("type %c", *type);
    }
  }
  return message;
}

static void
send_message(OscClient* const client, const char* const address, const char* const types,
             va_list args)
{
  const lo_message message = make_message(types, args);
  size_t n_bytes = 0;
  void* const bytes = lo_message_serialise(message, address, NULL, &n_bytes);
  client_send_bytes(client, bytes, n_bytes);
  free(bytes);
  lo_message_free(message);
}

void
client_send(OscClient* const client, const char* const address, const char* const types, ...)
{
  va_list args;
  va_start(args, types);
  send_message(client, address, types, args);
  va_end(args);
}

void
client_ask(OscClient* const client, const char* const answer, const char* const address,
           const char* const types, ...)
{
  va_list args;
  va_start(args, types);
  send_message(client, address, types, args);
  va_end(args);
  client_expect(client, answer);
}

void
client_send_bundle(OscClient* const client, const lo_bundle bundle)
{
  size_t n_bytes = 0;
  void* const bytes = lo_bundle_serialise(bundle, NULL, &n_bytes);
  client_send_bytes(client, bytes, n_bytes);
  free(bytes);
  lo_bundle_free_recursive(bundle);
}

void
bundle_add(const lo_bundle bundle, const char* const address, const char* const types, ...)
{
  va_list args;
  va_start(args, types);
  lo_bundle_add_message(bundle, address, make_message(types, args)); // copies the address
  va_end(args);
}

lo_timetag
tag_in(const double seconds)
{
  lo_timetag now;
  lo_timetag_now(&now);
  const uint64_t tag = ((uint64_t)now.sec << 32U | now.frac) + (uint64_t)(seconds * 4294967296.0);
  return (lo_timetag){ (uint32_t)(tag >> 32U), (uint32_t)tag };
}

/// A blob as " blob" and its bytes as hexadecimal digits.
static int
print_blob(char* const to, const size_t n, const void* const at)
{
  const uint32_t n_bytes = lo_blob_datasize((lo_blob)at);
  const uint8_t* const bytes = lo_blob_dataptr((lo_blob)at);
  int n_printed = snprintf(to, n, " blob ");
  for (uint32_t b = 0; b < n_bytes; ++b) {
    n_printed += snprintf(to + n_printed, n - (size_t)n_printed, "%02x", bytes[b]);
  }
  return n_printed;
}

static int
print_argument(char* const to, const size_t n, const char type, const void* const at)
{
  if (type == 'b') {
    return print_blob(to, n, at);
  }
  lo_arg value = { 0 }; // a copy, because the arguments of a message may be misaligned
  if (type == 's') {
    return snprintf(to, n, " %s", (const char*)at);
  }
  memcpy(&value, at, type == 'h' ? 8U : 4U);
  switch (type) {
  case 'i':
    return snprintf(to, n, " %d", value.i);
  case 'h':
    return snprintf(to, n, " %lld", (long long)value.h);
  case 'f':
    return snprintf(to, n, " %g", (double)value.f);
  default:
    return snprintf(to, n, " ?%c", type);
  }
}

static void
print_message(OscClient* const client, const char* const address, const lo_message message)
{
  size_t n = (size_t)snprintf(client->answer, sizeof(client->answer), "%s", address);
  const char* const types = lo_message_get_types(message);
  for (int i = 0; i < lo_message_get_argc(message); ++i) {
    n += (size_t)print_argument(client->answer + n, sizeof(client->answer) - n, types[i],
                                lo_message_get_argv(message)[i]);
  }
}

static void
receive_packet(OscClient* const client)
{
  struct pollfd fd = { client->fd, POLLIN, 0 };
  const int limit_ms = (int)(suite_limit_ns() / NS_PER_MS);
  ck_assert_msg(poll(&fd, 1, limit_ms) == 1, "no answer; the last one was: %s", client->answer);
  const ssize_t n = recv(client->fd, client->packet, sizeof(client->packet), 0);
  ck_assert_int_gt(n, 0);
  ++client->n_packets;
  client->n_packet = (size_t)n;
  client->n_read = client->packet[0] == '#' ? 16U : 0U;
}

const char*
client_receive(OscClient* const client)
{
  if (client->n_read == client->n_packet) {
    receive_packet(client);
  }
  char* bytes = client->packet + client->n_read;
  uint32_t n_bytes = (uint32_t)client->n_packet;
  if (client->packet[0] == '#') {
    memcpy(&n_bytes, bytes, sizeof(n_bytes));
    n_bytes = ntohl(n_bytes);
    bytes += 4;
  }
  client->n_read = (size_t)(bytes - client->packet) + n_bytes;
  ck_assert_uint_le(client->n_read, client->n_packet);
  int result = 0;
  const lo_message message = lo_message_deserialise(bytes, n_bytes, &result);
  ck_assert_msg(message != NULL, "the answer is not an OSC message: liblo's error %d", result);
  print_message(client, bytes, message);
  lo_message_free(message);
  return client->answer;
}

void
client_expect(OscClient* const client, const char* const text)
{
  const char* const answer = client_receive(client);
  const size_t n = strlen(text);
  const bool is_start = n > 0 && text[n - 1U] == '*';
  ck_assert_msg(is_start ? !strncmp(answer, text, n - 1U) : !strcmp(answer, text),
                "the answer is \"%s\", expected \"%s\"", answer, text);
}

void
client_subscribe(OscClient* const client, const char* const last)
{
  client_ask(client, "/done /server/notify", "/server/notify", "i", 1);
  while (strncmp(client_receive(client), last, strlen(last)) != 0) {
    ck_assert_msg(!strncmp(client->answer, "/node/", 6), "%s", client->answer);
  }
}

void
client_expect_nothing(OscClient* const client)
{
  client_ask(client, "/done /server/ping", "/server/ping", "");
}
