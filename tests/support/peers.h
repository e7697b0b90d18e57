// SPDX-License-Identifier: GPL-3.0-or-later
/// Senders for tests of the control server.
#ifndef WARPRACK_TESTS_PEERS_H
#define WARPRACK_TESTS_PEERS_H

#include "control/net/peer.h"

#include <stdint.h>

/// The peer of a numeric IPv4 or IPv6 address.
Peer peer_of(const char* address, uint16_t port);

#endif
