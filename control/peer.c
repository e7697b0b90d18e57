// SPDX-License-Identifier: GPL-3.0-or-later
// UDP addresses compared and classified.

#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

bool
peer_equal(const Peer* const a, const Peer* const b)
{
  if (a->address.ss_family != b->address.ss_family) {
    return false;
  }
  if (a->address.ss_family == AF_INET) {
    const struct sockaddr_in* const x = (const struct sockaddr_in*)&a->address;
    const struct sockaddr_in* const y = (const struct sockaddr_in*)&b->address;
    return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
  }
  const struct sockaddr_in6* const x = (const struct sockaddr_in6*)&a->address;
  const struct sockaddr_in6* const y = (const struct sockaddr_in6*)&b->address;
  return x->sin6_port == y->sin6_port && x->sin6_scope_id == y->sin6_scope_id &&
         memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
}

bool
peer_is_loopback(const Peer* const peer)
{
  if (peer->address.ss_family == AF_INET) {
    const struct sockaddr_in* const ip4 = (const struct sockaddr_in*)&peer->address;
    return ntohl(ip4->sin_addr.s_addr) >> 24U == 127U;
  }
  if (peer->address.ss_family != AF_INET6) {
    return false;
  }
  const struct in6_addr* const ip6 = &((const struct sockaddr_in6*)&peer->address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(ip6) || (IN6_IS_ADDR_V4MAPPED(ip6) && ip6->s6_addr[12] == 127U);
}
