// SPDX-License-Identifier: GPL-3.0-or-later
/// A server without a thread, and its clients on other machines: the test runs their messages, and
/// receives what the server sends to any of them.
#ifndef WARPRACK_TESTS_STRANGERS_H
#define WARPRACK_TESTS_STRANGERS_H

#include "control/control_private.h"

typedef struct Strangers {
  Control control;
  int receiver;       ///< Socket that gets all packets
  char packet[70000]; ///< The last packet sent
  uint32_t n_good;    ///< Number of allocations after which a command has none
  bool has_failed;    ///< The last command had one less than it wanted
} Strangers;

extern Strangers strangers;

/// Begin with these addresses allowed. [start and end of each test]
void strangers_start(const char* allowed);
void strangers_stop(void);

/// Use a rack of n gains, g1 and so on.
void strangers_use_gains(uint32_t n);

/// A peer of another machine whose answers go to `receiver`.
Peer stranger_of(const char* address, uint16_t port);

/// Receive the next packet into `packet`.  Returns its size, 0 if there is none.
size_t strangers_receive(void);

/// The first argument of the last packet, if it is a text.
const char* strangers_first_text(void);

/// Run one message of a peer.  Returns the number of its bytes.
size_t strangers_ask(const Peer* peer, const char* address, const char* types, ...);

/// Receive the next packet, which must have this address.
void strangers_expect(const char* answer);

/// Let a peer prove its address.
void strangers_prove(const Peer* peer);

/// Begin with a peer of another machine that has proved its address.
Peer strangers_start_proved(void);

/// Send all news that wait until now.
void strangers_flush(void);

#endif
