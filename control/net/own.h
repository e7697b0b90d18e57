// SPDX-License-Identifier: GPL-3.0-or-later
/// The addresses of this machine's network interfaces.
#ifndef WARPRACK_CONTROL_NET_OWN_H
#define WARPRACK_CONTROL_NET_OWN_H

#include "peer.h"

#include "engine/base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define OWN_MAX         256U     // addresses; further ones count as those of other machines
#define OWN_INTERVAL_NS NS_PER_S // at least, between two questions to the kernel

/// Zeroed at first.
typedef struct OwnAddresses {
  PeerKey keys[OWN_MAX]; ///< With port 0
  uint32_t n_keys;
  uint64_t read_ns; ///< When they were read, on the monotonic clock; 0: never
} OwnAddresses;

/// True when the peer's address is a loopback address, or that of an interface of this machine. Not
/// every address that a socket can be bound to is: see ip_nonlocal_bind in ip(7).
bool own_has(OwnAddresses* own, const Peer* peer);

#endif
