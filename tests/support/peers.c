// SPDX-License-Identifier: GPL-3.0-or-later
// Addresses from their text.

#include "peers.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>

Peer
peer_of(const char* const address, const uint16_t port)
{
  Peer peer;
  memset(&peer, 0, sizeof(peer));
  struct sockaddr_in* const ip4 = (struct sockaddr_in*)&peer.address;
  struct sockaddr_in6* const ip6 = (struct sockaddr_in6*)&peer.address;
  int is_read = 0;
  if (strchr(address, ':')) {
    *ip6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
    is_read = inet_pton(AF_INET6, address, &ip6->sin6_addr);
    peer.n_bytes = sizeof(*ip6);
  } else {
    *ip4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
    is_read = inet_pton(AF_INET, address, &ip4->sin_addr);
    peer.n_bytes = sizeof(*ip4);
  }
  if (is_read != 1) { // not ck_assert(), which writes to a file: tests make 100,000s of peers
    ck_abort_msg("\"%s\" is not an IP address", address);
  }
  return peer;
}
