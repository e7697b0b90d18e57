// SPDX-License-Identifier: GPL-3.0-or-later
/// The addresses of this machine's network interfaces.
#ifndef WARPRACK_CONTROL_NET_OWN_H
#define WARPRACK_CONTROL_NET_OWN_H

#include "peer.h"

#include "engine/base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define OWN_MAX         256U     // addresses; further addresses count as other machines
#define OWN_INTERVAL_NS NS_PER_S // shortest time between two queries to the kernel

/// The cached addresses; a zeroed struct is valid.
typedef struct OwnAddresses {
  PeerKey keys[OWN_MAX]; ///< With port 0
  uint32_t n_keys;
  uint64_t read_ns; ///< Time of the query, on the monotonic clock; 0: never
} OwnAddresses;

/// True if the peer has a loopback address or the address of an interface of this machine.  A
/// socket can be bound to other addresses too: see ip_nonlocal_bind in ip(7).
bool own_has(OwnAddresses* own, const Peer* peer);

#endif
