// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The senders of packets, and the choice of the sender to serve next.

       packet ──▶ queue of its sender ──▶ turns: deficit round robin by CPU time

   Credit is CPU time.  A sender is served until its credit is used up.  The cost of a message is
   known only after the message was handled, and is then taken from the credit, which may become
   negative: a debt.  In each round a waiting sender without credit gets one quantum, and is served
   again when its credit is positive.  While a sender is idle, its credit grows with the time, up to
   one quantum.  (M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin",
   1995; with costs known afterwards: H. Adiseshu et al., "A Reliable and Scalable Striping
   Protocol", 1996, "surplus round robin".)  An expensive message therefore delays later messages of
   its own sender; other senders wait for that one message at most.

   A sender that sends a packet while its queue is empty and it has no debt is *fresh* until its
   credit is used up.  Every second turn belongs to a fresh sender and is one message long (RFC
   8290, section 4.2, sends new flows first).

   SENDERS_BYTES limits the size of all queues together.  If a packet does not fit, a packet of a
   sender that uses more than its share is dropped: the oldest value that a later packet for the
   same address has replaced, else the oldest packet that sets no value.  The newest value of each
   address is therefore dropped last, and a sender with an empty queue always finds room.  (P.
   McKenney, "Stochastic Fairness Queueing", 1990, drops of the longest queue.)

   On this machine a sender is an address and a port.  On other machines it is an address only,
   because a program there can send from any number of ports.  A TCP connection, of which an address
   has only a few, is a sender of its own.  All functions [control].
*/
#ifndef WARPRACK_CONTROL_NET_SENDERS_H
#define WARPRACK_CONTROL_NET_SENDERS_H

#include "list.h"
#include "message.h"
#include "peer.h"

#include "engine/base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SENDERS_MAX        16384U            // half of Linux's ephemeral ports
#define SENDERS_BYTES      (16U << 20U)      // limit for all queues together
#define SENDERS_QUANTUM_NS INT64_C(100000)   // of CPU time per round: about ten messages of 10 us
#define SENDERS_ROUND_NS   INT64_C(10000000) // longest round, if each turn has time for a message
#define SENDERS_REPORT_NS  NS_PER_S          // between two reports of dropped packets

typedef struct Sender Sender;

/// A packet in a queue.
typedef struct Packet {
  ListEntry entry; ///< In the queue of its sender
  ListEntry spare; ///< In Sender::replaced or Sender::others; a value with is_newest is in neither
  struct Packet* next_newest; ///< The next packet in the same list of Senders::newest
  Sender* sender;
  uint64_t hash;       ///< Of the sender and of the address that it sets
  uint32_t n_of_value; ///< Number of leading bytes that identify the value that it sets; 0: it sets
                       ///< no value
  bool is_newest;      ///< It sets a value, and no later packet sets the same value
  size_t n_charged;    ///< Its bytes, and those of its messages after they are parsed
  Peer peer;
  size_t n_bytes;
  uint8_t bytes[]; ///< [n_bytes], then 8 zeros, because liblo has read past the end before
} Packet;

struct Sender {
  ListEntry entry; ///< In Senders::fresh, waiting, held or idle
  Sender* next_of_hash;
  PeerKey key;
  Peer peer;         ///< Address and port of the newest packet
  Bundle* bundles;   ///< Parsed; run before the packets in the queue
  int64_t credit_ns; ///< CPU time left; negative: debt
  uint64_t idle_ns;  ///< Time at which its queue became empty
  bool is_idle;
  bool is_fresh;        ///< Its turn is one message
  ListEntry queue;      ///< Packets in order of arrival
  ListEntry replaced;   ///< Of these, values that a later packet replaces
  ListEntry others;     ///< Of these, packets that set no value
  size_t n_bytes;       ///< Bytes charged to it: its queue ...
  size_t n_open_bytes;  ///< ... and, of these, the packet that is being run
  uint64_t n_dropped;   ///< Dropped packets that are not reported yet
  uint64_t reported_ns; ///< Time of the last report of dropped packets
};

typedef struct Senders {
  Sender* items;                    ///< [SENDERS_MAX]
  uint32_t n_items;                 ///< Items that have ever been used
  Sender* heads[2U * SENDERS_MAX];  ///< By hash of the key
  Packet* newest[4U * SENDERS_MAX]; ///< By hash of sender and value
  ListEntry fresh, waiting, idle;   ///< In `idle`, the sender that was idle for longest is first
  ListEntry held;                   ///< Waiting senders that senders_hold() has put aside
  bool is_turn_of_waiting;
  uint32_t n_active; ///< Senders that are not idle
  uint32_t longer;   ///< Index at which the last find_longer() ended
  uint64_t salt;     ///< Random, so that an attacker cannot choose ports with equal hashes
  uint32_t n_packets;
  size_t n_bytes;
  uint64_t dropped; ///< Packets dropped for lack of room or memory
  uint64_t crowded; ///< Of these, packets without a place in the full table, or without memory
} Senders;

/// Initialise the table.  Returns false if out of memory.
bool senders_init(Senders* senders, uint64_t salt);

/// Free all packets and bundles.
void senders_clear(Senders* senders);

/// Queue a packet; if there is no room, drop one.
void
senders_put(Senders* senders, const Peer* peer, uint64_t now_ns, const void* bytes, size_t n_bytes);

/// Find the sender of a peer, or add it.  NULL if the table is full and no sender in it is idle.
Sender* senders_get(Senders* senders, const Peer* peer, uint64_t now_ns);

/// Bytes charged to the sender of a peer; 0 if it is not known.
size_t senders_n_bytes(Senders* senders, const Peer* peer);

/// Bytes of the text in parts that waits for a peer (Message::text); 0: none.
size_t senders_n_text(Senders* senders, const Peer* peer);

/// Queue a bundle whose time has come, before its sender's packets.  Takes ownership of the bundle.
/// If the queues are full, the bundle is dropped with the rest of its packet, unless is_scheduled.
void senders_put_bundle(Senders* senders, Sender* sender, Bundle* bundle, uint64_t now_ns);

/// The sender to serve next; NULL if no sender waits.
Sender* senders_turn(Senders* senders);

/// Give a waiting sender no turn until senders_release(), because there is no room for its answers.
/// Meanwhile senders_are_waiting() does not count it.
void senders_hold(Senders* senders, Sender* sender);
void senders_release(Senders* senders);

/// Take the next packet of a sender, for free(); NULL if there is none.
Packet* senders_take(Senders* senders, Sender* sender);

/// End a turn that took `cost_ns` of CPU time.
void senders_charge(Senders* senders, Sender* sender, uint64_t now_ns, uint64_t cost_ns);

/// For work outside the turns of a sender: senders_has_credit() is true if the sender has credit
/// for the work, and senders_charge_peer() charges it for the work.
bool senders_has_credit(Senders* senders, const Peer* peer, uint64_t now_ns);
void senders_charge_peer(Senders* senders, const Peer* peer, uint64_t now_ns, uint64_t cost_ns);

/// Current CPU time of a turn, ns: SENDERS_QUANTUM_NS, or less if many senders wait.
int64_t senders_quantum_ns(const Senders* senders);

/// True if any sender that is not held has a bundle or a packet waiting.
bool senders_are_waiting(const Senders* senders);

/// True if this sender has a bundle or a packet waiting.
bool sender_is_waiting(const Sender* sender);

/// Find the next sender, from items[*index] on, with dropped packets to report now.  Sets
/// *n_dropped to their number, and counts them as reported.  NULL if there is none.
const Sender*
senders_report(Senders* senders, uint64_t now_ns, uint32_t* index, uint64_t* n_dropped);

#endif
