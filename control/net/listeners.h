// SPDX-License-Identifier: GPL-3.0-or-later
/// The addresses of --osc-notify: clients that get all news without a subscription.
#ifndef WARPRACK_CONTROL_NET_LISTENERS_H
#define WARPRACK_CONTROL_NET_LISTENERS_H

#include "peer.h"

#include "engine/base/status.h"

#include <stdint.h>

#define LISTENERS_MAX 16U

typedef struct Listeners {
  Peer peers[LISTENERS_MAX];
  uint32_t n;
} Listeners;

/**
   Read a list HOST:PORT,...  A HOST is a name, a numeric IPv4 address, or a numeric IPv6 address in
   brackets.  Asks the system for the address of a name, which may take seconds; IPv4 is preferred.

   @return STATUS_BAD_ARG for any other text, STATUS_LIMIT for a list that is too long, STATUS_NET
   for a name without an address. [main]
*/
NODISCARD Status listeners_read(Listeners* listeners, const char* text, Error* error);

#endif
