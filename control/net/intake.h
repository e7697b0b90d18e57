// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The way in: datagrams from the sockets, past the list of who may send, into a queue per sender.

       sockets ──▶ allow ──▶ senders ──▶ turns

   A socket is emptied often, whatever there is to do: its buffer is one queue in the order of
   arrival, and what a flood puts there stands in front of everybody else.  All [control].
*/
#ifndef WARPRACK_CONTROL_NET_INTAKE_H
#define WARPRACK_CONTROL_NET_INTAKE_H

#include "allow.h"
#include "senders.h"

#include "engine/base/status.h"

#include <stdint.h>

#define INTAKE_SOCKETS 2U

typedef struct Intake {
  int sockets[INTAKE_SOCKETS];
  Allow allow;
  Senders senders;
  uint64_t received_ns; ///< When the sockets were emptied last
  uint64_t packets;     ///< That came out of the sockets
  uint64_t forbidden;   ///< Of senders that are not on the list
  struct IntakeBuffers* buffers;
} Intake;

/// `allow` is copied, the sockets borrowed; -1: not there.  STATUS_NET when the system does not let
/// this program receive.  [main]
NODISCARD Status intake_init(Intake* intake, const int sockets[INTAKE_SOCKETS], const Allow* allow,
                             Error* error);

/// [main]
void intake_clear(Intake* intake);

/// Sort the packets in the sockets into the queues, a bounded number.
void intake_receive(Intake* intake, uint64_t now_ns);

/// The same, unless it was done a moment ago and something waits.
void intake_receive_now_and_then(Intake* intake, uint64_t now_ns);

/// Packets that the kernel threw away because a socket's buffer was full. [any]
uint64_t intake_lost(const Intake* intake);

#endif
