// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Packets that the kernel is to throw away before they reach the socket's buffer: those of senders
   that are shut out.  So a flood costs its sender time, neither the server nor the room in the
   buffer that all senders share.
*/
#ifndef WARPRACK_CONTROL_SIEVE_H
#define WARPRACK_CONTROL_SIEVE_H

#include "peer.h"

#include <stdbool.h>
#include <stdint.h>

#define SIEVE_MAX           256U // senders at a time
#define SIEVE_MAX_ADDRESSES 16U  // of so many addresses; the kernel takes no longer programs

/// Let through all but these, those of further addresses apart; a port of 0 stands for any.  False
/// when the kernel would not: then all are let through. [control]
bool sieve_set(int socket, const PeerKey* keys, uint32_t n);

/// Packets that never came out of the socket: held back by the sieve, or for want of room. [any]
uint64_t sieve_n_lost(int socket);

#endif
