// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The other machines that have proved their addresses.

   The sender address of a packet can be forged.  A machine proves that an address is its own by
   returning a cookie that was sent to this address.  A cookie is a keyed hash of the address and
   the time, so that the server stores nothing for a machine that has not returned its cookie (as a
   SYN cookie: W. Eddy, RFC 4987, section 3.6).  The server identifies a machine by its address; the
   port is ignored.  A proof is of one address, also of IPv6, but of the addresses of one machine
   (peer_machine()) at most TRUST_PER_MACHINE have one.  The proof holds for TRUST_LEASE_NS after
   the newest packet from the address.  A forged packet can make a lease longer, but cannot begin
   one.  All functions [control], except where another thread is named.
*/
#ifndef WARPRACK_CONTROL_NET_TRUST_H
#define WARPRACK_CONTROL_NET_TRUST_H

#include "peer.h"
#include "siphash.h"

#include "engine/base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define TRUST_MAX_HOSTS    128U
#define TRUST_PER_MACHINE  8U
#define TRUST_LEASE_NS     (60U * NS_PER_S)
#define TRUST_EPOCH_NS     (30U * NS_PER_S) // a cookie is valid in its epoch and the next one
#define TRUST_COOKIE_BYTES 17U              // 16 hexadecimal digits and a zero

typedef struct TrustedHost {
  PeerKey key;       ///< peer_host()
  PeerKey machine;   ///< peer_machine()
  uint64_t until_ns; ///< End of the lease; UINT64_MAX: it does not end
} TrustedHost;

typedef struct Trust {
  uint8_t secret[SIPHASH_KEY_BYTES];
  TrustedHost hosts[TRUST_MAX_HOSTS];
  uint32_t n_hosts;
} Trust;

/// Choose a random secret.  Returns false if the system has none. [main]
bool trust_init(Trust* trust);

/// Print the cookie of a peer's host.
void trust_print_cookie(const Trust* trust, const Peer* peer, uint64_t now_ns,
                        char text[TRUST_COOKIE_BYTES]);

/// True if `text` is a valid cookie of the peer's host.
bool trust_is_cookie(const Trust* trust, const Peer* peer, uint64_t now_ns, const char* text);

/// True if the peer's host has proved its address, and trust_expire() has not removed it.
bool trust_has(const Trust* trust, const Peer* peer);

/// Trust the peer's host until this time; UINT64_MAX: for ever.  Returns false if the table is
/// full, or if the machine has too many addresses in it, except those for ever. [main, control]
bool trust_begin(Trust* trust, const Peer* peer, uint64_t until_ns);

/// Extend the lease of the peer's host, if it has one.
void trust_renew(Trust* trust, const Peer* peer, uint64_t now_ns);

/// Remove the hosts whose lease has ended.
void trust_expire(Trust* trust, uint64_t now_ns);

#endif
