// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Receives datagrams from the sockets, drops those of senders that are not allowed, and queues the
   others by sender.

       sockets ──▶ allow ──▶ senders ──▶ turns

   The sockets are read often, also while turns wait: a socket's buffer is one queue in the order of
   arrival, so that packets of a flood in it delay the packets of all other senders.  All functions
   [control], except where another thread is named.
*/
#ifndef WARPRACK_CONTROL_NET_INTAKE_H
#define WARPRACK_CONTROL_NET_INTAKE_H

#include "allow.h"
#include "senders.h"
#include "watch.h"

#include "engine/base/status.h"

#include <stdint.h>

#define INTAKE_SOCKETS 2U

typedef struct Intake {
  int sockets[INTAKE_SOCKETS];
  Allow allow;
  Senders senders;
  uint64_t received_ns; ///< Time at which the sockets were last read
  uint64_t packets;     ///< Number of packets received
  uint64_t forbidden;   ///< Of these, packets of senders that are not allowed
  Watch watch;          ///< Of forbidden senders, and of the messages of all others
  struct IntakeBuffers* buffers;
} Intake;

/// Initialise an intake.  `allow` is copied, the sockets are borrowed; -1: no socket.  STATUS_NET
/// if the system does not allow this program to receive packets. [main]
NODISCARD Status intake_init(Intake* intake, const int sockets[INTAKE_SOCKETS], const Allow* allow,
                             Error* error);

/// Free the queues and buffers. [main]
void intake_clear(Intake* intake);

/// Move packets from the sockets to the queues, at most a limited number per call.
void intake_receive(Intake* intake, uint64_t now_ns);

/// As intake_receive(); does nothing if a sender waits and the last call was less than 0.2 ms ago.
void intake_receive_now_and_then(Intake* intake, uint64_t now_ns);

/// Number of packets that the kernel dropped because a socket's buffer was full. [any]
uint64_t intake_lost(const Intake* intake);

#endif
