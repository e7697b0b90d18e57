// SPDX-License-Identifier: GPL-3.0-or-later
/// The sender of a packet: a UDP address and port, or a TCP connection.
#ifndef WARPRACK_CONTROL_NET_PEER_H
#define WARPRACK_CONTROL_NET_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/// An address from the socket, for answers.
typedef struct Peer {
  struct sockaddr_storage address;
  socklen_t n_bytes;
  struct in6_addr local; ///< Address of this machine that the packet was sent to, as
                         ///< PeerKey::address; or ::
  uint64_t connection;   ///< Number of the TCP connection (streams.h); 0: UDP
} Peer;

/// Control data of one packet: see cmsg(3).
typedef struct PeerControl {
  _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
} PeerControl;

/// The form for comparisons.  A peer has the same key through IPv4 and IPv6 sockets.
typedef struct PeerKey {
  uint8_t address[16]; ///< IPv6; an IPv4 address as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2)
  uint32_t scope;      ///< Of a link-local address, else 0
  uint16_t port;       ///< As a number
  bool is_ip;          ///< Else all is 0
  uint64_t connection; ///< As in Peer
} PeerKey;

/// Set a socket to report the local address that each packet was sent to. [any]
void peer_report_local(int fd, int family);

/// Read the local address from a received packet.  A multicast address becomes the unspecified one.
/// [any]
void peer_read_local(Peer* peer, struct msghdr* received);

/// Write control data that makes the local address the source of an answer.  Returns the size of
/// the data; 0 for the unspecified address: then the kernel chooses the source. [any]
size_t peer_write_local(const Peer* peer, PeerControl* control);

/// The key of a peer, and comparison of keys. [any]
PeerKey peer_key(const Peer* peer);
bool peer_key_equal(const PeerKey* a, const PeerKey* b);

/// True for 0.0.0.0 and ::, the address of a socket that receives on all addresses. [any]
bool peer_key_is_any(const PeerKey* key);

/// True if address, port and connection are equal. [any]
bool peer_equal(const Peer* a, const Peer* b);

/// The key of the sender whose share a packet uses: its connection, or its machine, and on loopback
/// its port.  On other machines the port is left out, because a program can send from any number of
/// ports. [any]
PeerKey peer_sender(const Peer* peer);

/// The key of the peer's host: its address, with port 0 and without a connection. [any]
PeerKey peer_host(const Peer* peer);

/// True if the hosts are equal. [any]
bool peer_host_equal(const Peer* a, const Peer* b);

/// The key of the peer's machine, for limits: its host, but of IPv6 the first 64 bits of the
/// address only, because a machine can have any number of addresses with the same ones. [any]
PeerKey peer_machine(const Peer* peer);

/// True if the machines are equal. [any]
bool peer_machine_equal(const Peer* a, const Peer* b);

/// Set the port of an IPv4 or IPv6 peer. [any]
void peer_set_port(Peer* peer, uint16_t port);

/// Give an IPv4 peer the form for a socket of IPv6, ::ffff:a.b.c.d.  Returns false if a socket that
/// is bound to `own` cannot send to the peer, because of their families. [any]
bool peer_fit(Peer* peer, const Peer* own);

/// True if no program on this machine has the peer's port open, by a query to the kernel.  The peer
/// must have an address of this machine. [any]
bool peer_is_closed(const Peer* peer);

#define PEER_TEXT_BYTES 64U

/// Print a peer as "127.0.0.1 39999", and read it back; peer_read() returns false if the text is
/// invalid. [any]
void peer_print(const Peer* peer, char text[PEER_TEXT_BYTES]);
bool peer_read(const char* text, Peer* peer);

/// True for 127.0.0.0/8, ::1, and IPv4-mapped loopback addresses (::ffff:127.x.x.x). [any]
bool peer_is_loopback(const Peer* peer);

/// The address that a socket is bound to.
Peer peer_bound(int fd);

#endif
