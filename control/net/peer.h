// SPDX-License-Identifier: GPL-3.0-or-later
/// Who sent a packet: a UDP address and port.
#ifndef WARPRACK_CONTROL_NET_PEER_H
#define WARPRACK_CONTROL_NET_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/// As the socket gave it, to be answered.
typedef struct Peer {
  struct sockaddr_storage address;
  socklen_t n_bytes;
  struct in6_addr local; ///< Address of this machine that it sent to, as PeerKey::address; or ::
} Peer;

/// Control data of one packet: see cmsg(3).
typedef struct PeerControl {
  _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
} PeerControl;

/// To be compared: one peer has one key, whichever family its packet came by.
typedef struct PeerKey {
  uint8_t address[16]; ///< IPv6; an IPv4 address as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2)
  uint32_t scope;      ///< Of a link-local address, else 0
  uint16_t port;       ///< As a number
  bool is_ip;          ///< Else all is 0
} PeerKey;

/// Have a socket report for each packet the address that it was sent to. [any]
void peer_report_local(int fd, int family);

/// Read that address from a received packet.  A multicast address counts as unspecified. [any]
void peer_read_local(Peer* peer, struct msghdr* received);

/// Write control data that makes it the source of an answer; its size, 0 for an unspecified one:
/// the kernel then chooses the source. [any]
size_t peer_write_local(const Peer* peer, PeerControl* control);

/// [any]
PeerKey peer_key(const Peer* peer);
bool peer_key_equal(const PeerKey* a, const PeerKey* b);

/// True for 0.0.0.0 and ::, the address of a socket that receives on all addresses. [any]
bool peer_key_is_any(const PeerKey* key);

/// An IPv4 address, at the end of the 16 bytes. [any]
bool peer_key_is_ip4(const PeerKey* key);

/// Same address and same port. [any]
bool peer_equal(const Peer* a, const Peer* b);

/// Whose share a packet takes, as the key of a sender: its address, and on this machine its port. A
/// program elsewhere can send from as many ports as it likes. [any]
PeerKey peer_sender(const Peer* peer);

/// True when no program of this machine has the peer's port open.  The peer's address is one of
/// this machine.  Asks the kernel. [any]
bool peer_is_closed(const Peer* peer);

#define PEER_TEXT_BYTES 64U

/// "127.0.0.1 39999", and back; false when the text is invalid. [any]
void peer_print(const Peer* peer, char text[PEER_TEXT_BYTES]);
bool peer_read(const char* text, Peer* peer);

/// 127.0.0.0/8, ::1, or the former inside the latter (::ffff:127.x.x.x). [any]
bool peer_is_loopback(const Peer* peer);

#endif
