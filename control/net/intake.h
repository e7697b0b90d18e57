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

#include <stdbool.h>
#include <stdint.h>

#define INTAKE_SOCKETS 2U
// On most systems the limit of a socket's buffer allows about 500 small packets.  At 500,000
// packets per second these arrive within 1 ms.
#define INTAKE_INTERVAL_NS UINT64_C(200000)

typedef struct Intake {
  int sockets[INTAKE_SOCKETS];
  Allow allow;
  Senders senders;
  uint64_t received_ns; ///< Time at which the sockets were last read
  uint32_t n_quick;     ///< Successive calls that have found packets INTAKE_INTERVAL_NS after the
                        ///< one before
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

/// True if the sockets were last read INTAKE_INTERVAL_NS ago.
bool intake_is_due(const Intake* intake, uint64_t now_ns);

/// The time before which the thread does not wait for packets, because they arrive faster than
/// INTAKE_INTERVAL_NS: a packet that wakes the thread costs more than one that it finds.  0: none.
uint64_t intake_next_ns(const Intake* intake);

/// Number of packets that the kernel dropped because a socket's buffer was full. [any]
uint64_t intake_lost(const Intake* intake);

#endif
