// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The way in: datagrams from the sockets, past the list of who may send, into a queue per sender.

       sockets ──▶ sieve (kernel) ──▶ allow ──▶ sources ──▶ intake_take()

   A socket is emptied again and again, whatever there is to do: its buffer is one queue in the
   order of arrival, and what a flood puts there stands in front of everybody else.  All [control].
*/
#ifndef WARPRACK_CONTROL_INTAKE_H
#define WARPRACK_CONTROL_INTAKE_H

#include "allow.h"
#include "sources.h"

#include "../engine/status.h"

#include <stdint.h>

typedef struct IntakeCounts {
  uint64_t packets;   ///< That came out of the socket
  uint64_t forbidden; ///< Of senders that are not on the list
  uint64_t slowed;    ///< Of senders that were too fast
  uint64_t shut_out;  ///< Times that a sender was shut out
  uint64_t lost;      ///< Packets that the kernel threw away
} IntakeCounts;

typedef struct Intake Intake;

#define INTAKE_SOCKETS 2U

/// `allow` is copied, the sockets borrowed; -1: not there.  NULL: out of memory. [main]
Intake* intake_new(const int sockets[INTAKE_SOCKETS], const Allow* allow);

/// Accepts NULL. [main]
void intake_free(Intake* intake);

/// Empty the sockets, and let in again who has been shut out for long enough.
void intake_receive(Intake* intake, uint64_t now_ns);

/// The next packet in turn, freed by the caller with free(); NULL when none waits.
Parcel* intake_take(Intake* intake);

/// A packet turned out to hold n further messages; false when its sender may not send so many.
bool intake_charge(Intake* intake, const Peer* peer, uint64_t now_ns, uint32_t n_messages);

/// True when intake_take() has something.
bool intake_is_waiting(const Intake* intake);

/// When intake_receive() is due even if nothing arrives; UINT64_MAX: never.
uint64_t intake_wake_ns(const Intake* intake);

IntakeCounts intake_counts(const Intake* intake);

#endif
