// SPDX-License-Identifier: GPL-3.0-or-later
/// An OSC client on loopback for the server under test.  Each wait ends after 30 s at most.
#ifndef WARPRACK_TESTS_OSC_CLIENT_H
#define WARPRACK_TESTS_OSC_CLIENT_H

#include <lo/lo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct OscClient {
  int fd;
  char answer[70000];      ///< The last answer, as "/address value value ..."
  char packet[70000];      ///< The last packet: a message, or a bundle of messages ...
  size_t n_packet, n_read; ///< ... its size, and the size of the part that was read
  uint32_t n_packets;      ///< Number of packets so far
} OscClient;

OscClient* client_new(uint16_t port);
void client_free(OscClient* client);

/// Send one message: client_send(client, "/rack/connect", "ssf", "in", "a", -6.0).
void client_send(OscClient* client, const char* address, const char* types, ...);

/// Send these bytes as one datagram.
void client_send_bytes(OscClient* client, const void* bytes, size_t n_bytes);

/// Send a bundle, and free it and its contents.
void client_send_bundle(OscClient* client, lo_bundle bundle);

/// Append a message to a bundle.
void bundle_add(lo_bundle bundle, const char* address, const char* types, ...);

/// The time tag `seconds` after the present.
lo_timetag tag_in(double seconds);

/// Wait for the next answer, which may be one of a bundle; fails the test if none arrives.
const char* client_receive(OscClient* client);

/// Fails the test unless the next answer is `text`.  If `text` ends with `*`, the answer only has
/// to begin with the part before it.
void client_expect(OscClient* client, const char* text);

/// Send one message and expect its answer.
void client_ask(OscClient* client, const char* answer, const char* address, const char* types, ...);

/// Subscribe a client, and receive the present values: the last one begins with `last`.
void client_subscribe(OscClient* client, const char* last);

/// Fails the test if the server has sent anything to this client before its answer to a ping.
void client_expect_nothing(OscClient* client);

#endif
