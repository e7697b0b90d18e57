// SPDX-License-Identifier: GPL-3.0-or-later
/// Whose packets are listened to at all: a list of addresses and networks.
#ifndef WARPRACK_CONTROL_NET_ALLOW_H
#define WARPRACK_CONTROL_NET_ALLOW_H

#include "peer.h"

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define ALLOW_MAX 64U

typedef struct AllowRule {
  uint8_t address[16]; ///< As in PeerKey
  uint8_t n_bits;      ///< Of it that must agree
} AllowRule;

/// Empty: only this machine, which is always allowed.
typedef struct Allow {
  AllowRule rules[ALLOW_MAX + 1U]; ///< One more for allow_add()
  uint32_t n_rules;
} Allow;

/**
   Read ADDRESS[/BITS],...: numeric IPv4 or IPv6, without BITS that address alone.

   @return STATUS_BAD_ARG for anything else, and for bits beyond BITS that are set: 10.0.0.7/8 is
   more likely a slip than a network. [main]
*/
NODISCARD Status allow_read(Allow* allow, const char* text, Error* error);

/// Add one address, once: there is always room for it. [main]
void allow_add(Allow* allow, const Peer* peer);

/// [any]
bool allow_has(const Allow* allow, const Peer* peer);

#endif
