// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Who sends, how fast, and whose turn it is.

       packet ──▶ bucket of its sender ──▶ queue of its sender ──▶ in turn, one packet of each

   A sender that floods the server fills its own queue and empties its own bucket; a packet of any
   other one waits for one packet of each sender at most.  One that goes on at more than twice the
   rate is shut out for a while: its queue is emptied, and nothing of it is taken in, see sieve.h.
   So is, while all together have too much dropped, whoever has something dropped.

   No sender can take all room: it may queue as much as is still free (Abhijit Choudhury, Ellen
   Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998, equation 1).
   Nor all places: the sender silent for longest makes way for a new one, but none that is known.

   A sender is an address and a port on this machine, and an address alone elsewhere: there, ports
   are had for nothing.
*/
#ifndef WARPRACK_CONTROL_SOURCES_H
#define WARPRACK_CONTROL_SOURCES_H

#include "bucket.h"
#include "peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCES_MAX         512U                 // in the table at a time
#define SOURCES_BYTES       (2U << 20U)          // in all queues
#define SOURCES_KNOWN_NS    UINT64_C(1000000000) // heard for so long without being shut out
#define SOURCES_KEEP_NS     UINT64_C(5000000000) // who is known keeps its place while silent
#define SOURCES_MIN_SHUT_NS UINT64_C(50000000) // the first time; each further one is twice as long
#define SOURCES_MAX_SHUT_NS UINT64_C(1000000000)
#define SOURCES_FORGIVE_NS  UINT64_C(5000000000) // in peace, and the next time is the first again
#define SOURCES_SHUT_BURST  16.0                 // tokens after it: of many floods little comes in

/// A packet on its way.
typedef struct Parcel {
  struct Parcel* next;
  Peer peer;
  size_t n_bytes;
  uint8_t bytes[]; ///< [n_bytes], and 8 zeros: liblo has read past an end before
} Parcel;

typedef struct Source {
  PeerKey key;
  uint64_t since_ns; ///< Heard from then on, or shut out until then
  uint64_t heard_ns; ///< Last; 0: free
  Bucket rate;       ///< Of what is taken in
  Bucket excess;     ///< Of what is dropped; empty: it is a flood
  uint64_t shut_until_ns;
  uint64_t shut_ns; ///< For how long it was shut out last
  Parcel* first;
  Parcel** last;
  size_t n_bytes; ///< In its queue
} Source;

typedef struct Sources {
  Source items[SOURCES_MAX];
  uint32_t turn; ///< Where the next packet is looked for
  uint32_t newest;
  uint32_t n_parcels;
  size_t n_bytes;
  Bucket excess;     ///< Of what is dropped of all; zeros: full
  uint64_t slowed;   ///< Packets of senders that were too fast
  uint64_t shut_out; ///< Times that one was shut out
} Sources;

/// Queue a packet, or drop it; true when its sender has just been shut out.
bool
sources_put(Sources* sources, const Peer* peer, uint64_t now_ns, const void* bytes, size_t n_bytes);

/// A packet turned out to hold n further messages; false, and it counts as dropped, when its sender
/// may not send so many.
bool sources_charge(Sources* sources, const Peer* peer, uint64_t now_ns, uint32_t n_messages);

/// The next packet in turn, owned by the caller, who frees it with free(); NULL when there is none.
Parcel* sources_take(Sources* sources);

/// Who is shut out, at most `capacity` of them; returns how many.
uint32_t sources_shut(const Sources* sources, uint64_t now_ns, PeerKey* keys, uint32_t capacity);

/// When the next one is let in again; UINT64_MAX: nobody is shut out.
uint64_t sources_wake_ns(const Sources* sources, uint64_t now_ns);

void sources_clear(Sources* sources);

#endif
