// SPDX-License-Identifier: GPL-3.0-or-later
// UDP addresses compared, classified, written and read.

#include "peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint8_t ip4_prefix[12] = { [10] = 0xFF, [11] = 0xFF };

PeerKey
peer_key(const Peer* const peer)
{
  PeerKey key = { .is_ip = true };
  if (peer->address.ss_family == AF_INET) {
    const struct sockaddr_in* const ip4 = (const struct sockaddr_in*)&peer->address;
    memcpy(key.address, ip4_prefix, sizeof(ip4_prefix));
    memcpy(key.address + sizeof(ip4_prefix), &ip4->sin_addr, sizeof(ip4->sin_addr));
    key.port = ntohs(ip4->sin_port);
  } else if (peer->address.ss_family == AF_INET6) {
    const struct sockaddr_in6* const ip6 = (const struct sockaddr_in6*)&peer->address;
    memcpy(key.address, &ip6->sin6_addr, sizeof(key.address));
    key.scope = ip6->sin6_scope_id;
    key.port = ntohs(ip6->sin6_port);
  } else {
    key.is_ip = false;
  }
  return key;
}

bool
peer_key_equal(const PeerKey* const a, const PeerKey* const b)
{
  return a->port == b->port && a->scope == b->scope && a->is_ip == b->is_ip &&
         memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

bool
peer_key_is_any(const PeerKey* const key)
{
  static const uint8_t unspecified[16] = { 0 };
  return memcmp(key->address, unspecified, sizeof(unspecified)) == 0 ||
         (peer_key_is_ip4(key) && memcmp(key->address + 12, unspecified, 4) == 0);
}

bool
peer_key_is_ip4(const PeerKey* const key)
{
  return key->is_ip && memcmp(key->address, ip4_prefix, sizeof(ip4_prefix)) == 0;
}

bool
peer_equal(const Peer* const a, const Peer* const b)
{
  const PeerKey x = peer_key(a);
  const PeerKey y = peer_key(b);
  return peer_key_equal(&x, &y);
}

void
peer_print(const Peer* const peer, char text[const PEER_TEXT_BYTES])
{
  char port[8] = "";
  if (getnameinfo((const struct sockaddr*)&peer->address, peer->n_bytes, text,
                  PEER_TEXT_BYTES - sizeof(port), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV)) {
    text[0] = '\0';
  }
  strcat(strcat(text, " "), port);
}

bool
peer_read(const char* const text, Peer* const peer)
{
  char address[PEER_TEXT_BYTES];
  char port[8];
  const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                  .ai_socktype = SOCK_DGRAM };
  struct addrinfo* found = NULL;
  if (sscanf(text, "%63s %7s", address, port) != 2 || getaddrinfo(address, port, &hints, &found)) {
    return false;
  }
  *peer = (Peer){ .n_bytes = found->ai_addrlen };
  memcpy(&peer->address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return true;
}

bool
peer_is_loopback(const Peer* const peer)
{
  const PeerKey key = peer_key(peer);
  if (peer_key_is_ip4(&key)) {
    return key.address[sizeof(ip4_prefix)] == 127U;
  }
  return key.is_ip && memcmp(key.address, &in6addr_loopback, sizeof(key.address)) == 0;
}

PeerKey
peer_sender(const Peer* const peer)
{
  PeerKey key = peer_key(peer);
  key.port = peer_is_loopback(peer) ? key.port : 0U;
  return key;
}

bool
peer_is_closed(const Peer* const peer)
{
  const int fd = socket(peer->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool can = fd >= 0 && bind(fd, (const struct sockaddr*)&peer->address, peer->n_bytes) == 0;
  if (fd >= 0) {
    close(fd);
  }
  return can; // a port that is open cannot be bound
}
