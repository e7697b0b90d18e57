// SPDX-License-Identifier: GPL-3.0-or-later
// Calls getifaddrs(3) and caches its result, because it lists all interfaces, and packets can
// arrive fast.

#include "own.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

static void
add_address(OwnAddresses* const own, const struct sockaddr* const address)
{
  const bool is_ip4 = address && address->sa_family == AF_INET;
  const bool is_ip6 = address && address->sa_family == AF_INET6;
  if ((is_ip4 || is_ip6) && own->n_keys < OWN_MAX) {
    Peer peer = { .n_bytes = is_ip4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6) };
    memcpy(&peer.address, address, peer.n_bytes);
    own->keys[own->n_keys++] = peer_host(&peer);
  }
}

/// Read the addresses of all interfaces; on failure the list is empty.
static void
read_addresses(OwnAddresses* const own)
{
  struct ifaddrs* list = NULL;
  own->n_keys = 0;
  if (getifaddrs(&list) == 0) {
    for (const struct ifaddrs* at = list; at; at = at->ifa_next) {
      add_address(own, at->ifa_addr);
    }
    freeifaddrs(list);
  }
}

bool
own_has(OwnAddresses* const own, const Peer* const peer)
{
  const PeerKey key = peer_host(peer);
  if (!key.is_ip || peer_is_loopback(peer)) {
    return key.is_ip;
  }
  const uint64_t now_ns = time_now_ns();
  if (own->read_ns == 0 || now_ns - own->read_ns >= OWN_INTERVAL_NS) {
    read_addresses(own);
    own->read_ns = now_ns;
  }
  for (uint32_t k = 0; k < own->n_keys; ++k) {
    if (peer_key_equal(&own->keys[k], &key)) {
      return true;
    }
  }
  return false;
}
