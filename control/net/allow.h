// SPDX-License-Identifier: GPL-3.0-or-later
/// The list of addresses and networks from which the server accepts packets.
#ifndef WARPRACK_CONTROL_NET_ALLOW_H
#define WARPRACK_CONTROL_NET_ALLOW_H

#include "peer.h"

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define ALLOW_MAX 64U

typedef struct AllowRule {
  uint8_t address[16]; ///< As in PeerKey
  uint8_t n_bits;      ///< Leading bits of `address` that must be equal
} AllowRule;

/// A list of rules.  Loopback addresses are always allowed, also by an empty list.
typedef struct Allow {
  AllowRule rules[ALLOW_MAX + 1U]; ///< The last entry is for allow_add()
  uint32_t n_rules;
} Allow;

/**
   Read a list ADDRESS[/BITS],... of numeric IPv4 or IPv6 addresses.  Without BITS an entry is one
   address.

   @return STATUS_BAD_ARG for any other text, and if bits beyond BITS are set, because 10.0.0.7/8 is
   more likely a mistake than a network. [main]
*/
NODISCARD Status allow_read(Allow* allow, const char* text, Error* error);

/// Add one address.  Call it at most once: there is always room for one. [main]
void allow_add(Allow* allow, const Peer* peer);

/// True for a loopback address and for an address in the list. [any]
bool allow_has(const Allow* allow, const Peer* peer);

/// As allow_has(), but without the rules of 0 bits, which allow every address of IPv4 (0.0.0.0/0)
/// or of both (::/0) and name none. [any]
bool allow_names(const Allow* allow, const Peer* peer);

#endif
