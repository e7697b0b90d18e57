// SPDX-License-Identifier: GPL-3.0-or-later
// Compares, classifies, prints and reads addresses.

#include "peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MACHINE_BYTES 8U // of an IPv6 address

static const uint8_t ip4_prefix[12] = { [10] = 0xFF, [11] = 0xFF };

void
peer_report_local(const int fd, const int family)
{
  const int on = 1;
  if (family == AF_INET6) {
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
  } else {
    (void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
  }
}

void
peer_read_local(Peer* const peer, struct msghdr* const received)
{
  peer->local = in6addr_any;
  const struct cmsghdr* const header = CMSG_FIRSTHDR(received);
  if (header && header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
    struct in_pktinfo info;
    memcpy(&info, CMSG_DATA(header), sizeof(info));
    memcpy(peer->local.s6_addr, ip4_prefix, sizeof(ip4_prefix));
    memcpy(peer->local.s6_addr + sizeof(ip4_prefix), &info.ipi_spec_dst, sizeof(info.ipi_spec_dst));
  } else if (header && header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
    struct in6_pktinfo info;
    memcpy(&info, CMSG_DATA(header), sizeof(info));
    peer->local = IN6_IS_ADDR_MULTICAST(&info.ipi6_addr) ? in6addr_any : info.ipi6_addr;
  }
}

size_t
peer_write_local(const Peer* const peer, PeerControl* const control)
{
  if (IN6_IS_ADDR_UNSPECIFIED(&peer->local)) {
    return 0;
  }
  struct in_pktinfo ip4 = { 0 }; // no interface: the route selects it
  struct in6_pktinfo ip6 = { .ipi6_addr = peer->local };
  memcpy(&ip4.ipi_spec_dst, peer->local.s6_addr + sizeof(ip4_prefix), sizeof(ip4.ipi_spec_dst));
  const bool is_ip6 = peer->address.ss_family == AF_INET6;
  const size_t n_bytes = is_ip6 ? sizeof(ip6) : sizeof(ip4);
  struct cmsghdr* const header = (struct cmsghdr*)control->bytes;
  *control = (PeerControl){ { 0 } };
  header->cmsg_len = CMSG_LEN(n_bytes);
  header->cmsg_level = is_ip6 ? IPPROTO_IPV6 : IPPROTO_IP;
  header->cmsg_type = is_ip6 ? IPV6_PKTINFO : IP_PKTINFO;
  memcpy(CMSG_DATA(header), is_ip6 ? (const void*)&ip6 : (const void*)&ip4, n_bytes);
  return CMSG_SPACE(n_bytes);
}

PeerKey
peer_key(const Peer* const peer)
{
  PeerKey key = { .is_ip = true, .connection = peer->connection };
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
         a->connection == b->connection && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/// True if the key has an IPv4 address, in the last 4 of the 16 bytes.
static bool
is_ip4(const PeerKey* const key)
{
  return key->is_ip && memcmp(key->address, ip4_prefix, sizeof(ip4_prefix)) == 0;
}

bool
peer_key_is_any(const PeerKey* const key)
{
  static const uint8_t unspecified[16] = { 0 };
  return memcmp(key->address, unspecified, sizeof(unspecified)) == 0 ||
         (is_ip4(key) && memcmp(key->address + 12, unspecified, 4) == 0);
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
  if (is_ip4(&key)) {
    return key.address[sizeof(ip4_prefix)] == 127U;
  }
  return key.is_ip && memcmp(key.address, &in6addr_loopback, sizeof(key.address)) == 0;
}

PeerKey
peer_host(const Peer* const peer)
{
  PeerKey key = peer_key(peer);
  key.port = 0;
  key.connection = 0;
  return key;
}

bool
peer_host_equal(const Peer* const a, const Peer* const b)
{
  const PeerKey x = peer_host(a);
  const PeerKey y = peer_host(b);
  return peer_key_equal(&x, &y);
}

PeerKey
peer_machine(const Peer* const peer)
{
  PeerKey key = peer_host(peer);
  if (key.is_ip && !is_ip4(&key) && !peer_is_loopback(peer)) {
    memset(key.address + MACHINE_BYTES, 0, sizeof(key.address) - MACHINE_BYTES);
  }
  return key;
}

bool
peer_machine_equal(const Peer* const a, const Peer* const b)
{
  const PeerKey x = peer_machine(a);
  const PeerKey y = peer_machine(b);
  return peer_key_equal(&x, &y);
}

PeerKey
peer_sender(const Peer* const peer)
{
  return peer->connection || peer_is_loopback(peer) ? peer_key(peer) : peer_machine(peer);
}

void
peer_set_port(Peer* const peer, const uint16_t port)
{
  if (peer->address.ss_family == AF_INET6) {
    ((struct sockaddr_in6*)&peer->address)->sin6_port = htons(port);
  } else {
    ((struct sockaddr_in*)&peer->address)->sin_port = htons(port);
  }
}

bool
peer_fit(Peer* const peer, const Peer* const own)
{
  const PeerKey to = peer_key(peer);
  const PeerKey from = peer_key(own);
  if (peer->address.ss_family == AF_INET && own->address.ss_family == AF_INET6) {
    struct sockaddr_in6 ip6 = { .sin6_family = AF_INET6, .sin6_port = htons(to.port) };
    memcpy(&ip6.sin6_addr, to.address, sizeof(ip6.sin6_addr));
    peer->n_bytes = sizeof(ip6);
    memcpy(&peer->address, &ip6, sizeof(ip6));
  }
  return peer->address.ss_family == own->address.ss_family &&
         (peer_key_is_any(&from) || is_ip4(&from) == is_ip4(&to));
}

bool
peer_is_closed(const Peer* const peer)
{
  const int fd = socket(peer->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool can = fd >= 0 && bind(fd, (const struct sockaddr*)&peer->address, peer->n_bytes) == 0;
  if (fd >= 0) {
    close(fd);
  }
  return can; // an open port cannot be bound again
}

Peer
peer_bound(const int fd)
{
  Peer own = { .n_bytes = sizeof(own.address) };
  getsockname(fd, (struct sockaddr*)&own.address, &own.n_bytes);
  return own;
}
