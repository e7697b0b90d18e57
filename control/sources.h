// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Senders, and which of them has its turn.

       packet ──▶ queue of its sender ──▶ turns: deficit round robin by CPU time

   A sender with credit has its turn until the credit is used up; what its messages cost is known
   afterwards and taken from the credit, which may become a debt.  A sender in debt waits for as
   many rounds as the debt takes, one quantum a round, or for as much time in which it asks for
   nothing.  (M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin",
   1995; with costs known afterwards: H. Adiseshu et al., "A Reliable and Scalable Striping
   Protocol", 1996, "surplus round robin".)  So an expensive message delays its own sender, and
   everybody else by that one message at most.

   A sender that had nothing waiting and has no debt is *fresh* until its credit is used up: fresh
   senders have every second turn, of one message each (RFC 8290, section 4.2, sends new flows
   first).

   All queues together are bounded.  Where a packet finds no room, a sender that has more than its
   share of the room drops something for it: the oldest value that a later one of the same address
   has replaced, else its oldest packet that holds no value.  So the newest value of each address
   survives, and a sender that has nothing waiting always finds room.  (P. McKenney, "Stochastic
   Fairness Queueing", 1990, drops of the longest queue.)

   A sender is an address and a port on this machine, and an address alone elsewhere: there, anybody
   can have all ports.  All [control].
*/
#ifndef WARPRACK_CONTROL_SOURCES_H
#define WARPRACK_CONTROL_SOURCES_H

#include "list.h"
#include "message.h"
#include "peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCES_MAX        16384U       // known at a time: half of the ports that Linux gives away
#define SOURCES_BYTES      (16U << 20U) // in all queues
#define SOURCES_QUANTUM_NS INT64_C(100000) // of a turn: some ten messages, as a message takes 10 us
#define SOURCES_ROUND_NS   INT64_C(10000000)    // all turns, where that leaves a message to each
#define SOURCES_REPORT_NS  UINT64_C(1000000000) // between two reports of dropped packets

typedef struct Source Source;

/// A packet on its way.
typedef struct Parcel {
  Link link;  ///< In the queue of its sender
  Link spare; ///< In Source::replaced or Source::others; a newest value is in neither
  struct Parcel* next_newest; ///< Behind it in Sources::newest
  Source* source;
  uint64_t hash;       ///< Of its sender and value
  uint32_t n_of_value; ///< Its first bytes that say which value it sets; 0: it is no value
  bool is_newest;      ///< A value, and no later packet sets the same one
  size_t n_charged;    ///< Bytes that count: its own, and what its messages take once they are read
  Peer peer;
  size_t n_bytes;
  uint8_t bytes[]; ///< [n_bytes], and 8 zeros: liblo has read past an end before
} Parcel;

struct Source {
  Link link; ///< In Sources::fresh, waiting or idle
  Source* next_of_hash;
  PeerKey key;
  Peer peer;         ///< Who sent the newest packet
  Batch* batches;    ///< Being carried out, before the queue
  int64_t credit_ns; ///< CPU time that it may still use; below 0: debt
  uint64_t idle_ns;  ///< Since when it has nothing waiting
  bool is_idle;
  bool is_fresh;        ///< Its turn is one message
  Link queue;           ///< Parcels in order of arrival
  Link replaced;        ///< Of them, values that a later one replaces
  Link others;          ///< Of them, those that are no values
  size_t n_bytes;       ///< Charged for its queue, and ...
  size_t n_open_bytes;  ///< ... for the packet that is being carried out
  uint64_t n_dropped;   ///< Packets not reported yet
  uint64_t reported_ns; ///< When dropped packets were reported last
};

typedef struct Sources {
  Source* items;                    ///< [SOURCES_MAX]
  uint32_t n_items;                 ///< Of them, those that have ever been used
  Source* heads[2U * SOURCES_MAX];  ///< By hash of the key
  Parcel* newest[4U * SOURCES_MAX]; ///< By hash of sender and value
  Link fresh, waiting, idle;        ///< Senders; idle: silent for longest first
  bool is_turn_of_waiting;
  uint32_t n_active; ///< Senders that are not idle
  uint32_t longer;   ///< Item that had more than its share when one was sought last
  uint64_t salt;     ///< Nobody can choose ports of the same hash
  uint32_t n_parcels;
  size_t n_bytes;
  uint64_t dropped; ///< Packets that found no room, or no memory
  uint64_t crowded; ///< Of them, those of senders that are too many
} Sources;

/// False: out of memory.
bool sources_init(Sources* sources, uint64_t salt);

/// Free what waits.
void sources_clear(Sources* sources);

/// Queue a packet, or drop it or another one of its sender.
void
sources_put(Sources* sources, const Peer* peer, uint64_t now_ns, const void* bytes, size_t n_bytes);

/// The sender that a peer belongs to; NULL: the table is full, and all senders in it wait.
Source* sources_get(Sources* sources, const Peer* peer, uint64_t now_ns);

/// Put a batch, given away, in front of its sender's packets: it is sorted, and its time has come.
/// Where the queues are full, a batch is dropped with the rest of its packet, unless is_accepted.
void sources_put_batch(Sources* sources, Source* source, Batch* batch, uint64_t now_ns);

/// The sender that has its turn; NULL: nothing waits.
Source* sources_turn(Sources* sources);

/// The next packet of a sender, freed by the caller with free(); NULL when there is none.
Parcel* sources_take(Sources* sources, Source* source);

/// The end of a turn that took `cost_ns` of CPU time.
void sources_charge(Sources* sources, Source* source, uint64_t now_ns, uint64_t cost_ns);

/// Work that is done for a sender outside of its turns: whether it has credit for it now, and what
/// it took.
bool sources_has_credit(Sources* sources, const Peer* peer, uint64_t now_ns);
void sources_charge_peer(Sources* sources, const Peer* peer, uint64_t now_ns, uint64_t cost_ns);

/// CPU time of a turn now: less where many senders wait.
int64_t sources_quantum_ns(const Sources* sources);

/// True when any sender has a batch or a packet waiting.
bool sources_are_waiting(const Sources* sources);

/// True when a sender has a batch or a packet waiting.
bool source_is_waiting(const Source* source);

/// The next sender, from items[*index] on, whose dropped packets are to be reported now, and how
/// many they are; NULL: none.
const Source*
sources_report(Sources* sources, uint64_t now_ns, uint32_t* index, uint64_t* n_dropped);

#endif
