// SPDX-License-Identifier: GPL-3.0-or-later
/// A client on loopback that talks to a server under test.  Everything waits at most 30 s.
#ifndef WARPRACK_TESTS_OSC_CLIENT_H
#define WARPRACK_TESTS_OSC_CLIENT_H

#include <lo/lo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct OscClient {
  int fd;
  char answer[70000]; ///< The last one, as "/address value value ..."
} OscClient;

OscClient* client_new(uint16_t port);
void client_free(OscClient* client);

/// Send one message: client_send(client, "/rack/connect", "ssf", "in", "a", -6.0).
void client_send(OscClient* client, const char* address, const char* types, ...);

/// Send bytes as they are.
void client_send_bytes(OscClient* client, const void* bytes, size_t n_bytes);

/// Send a bundle, and free it with all that is in it.
void client_send_bundle(OscClient* client, lo_bundle bundle);

/// Append a message to a bundle.
void bundle_add(lo_bundle bundle, const char* address, const char* types, ...);

/// The time tag of `seconds` from now.
lo_timetag tag_in(double seconds);

/// The next answer; fails the test when none comes.
const char* client_receive(OscClient* client);

/// The next answer must be this text, or begin with the text before a `*` at its end.
void client_expect(OscClient* client, const char* text);

/// Send one message and expect its answer.
void client_ask(OscClient* client, const char* answer, const char* address, const char* types, ...);

/// Nothing must have been sent to this client by the time that the server has answered a ping.
void client_expect_nothing(OscClient* client);

#endif
