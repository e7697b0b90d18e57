// SPDX-License-Identifier: GPL-3.0-or-later
/// The content of the region, and one side's view of the region.  ring_region.c makes both, ring.c
/// moves blocks through them.
#ifndef WARPRACK_ENGINE_RING_RING_PRIVATE_H
#define WARPRACK_ENGINE_RING_RING_PRIVATE_H

#include "ring.h"

#include <stdalign.h>
#include <stdatomic.h>

#define RING_LINE_BYTES 128U // two cache lines: the prefetcher fetches pairs
#define RING_ROW_BYTES  64U  // alignment of a channel

/// The place where one side sleeps and the other wakes it.
typedef struct RingBell {
  _Atomic uint32_t rung;   ///< Futex word, changed by the waking side
  _Atomic uint32_t asleep; ///< Number of sleepers, which count themselves
} RingBell;

/// Offsets in the region: derived from the shape, and stored so that both sides agree.
typedef struct RingLayout {
  uint64_t row_bytes, midi_offset, slot_bytes;
  uint64_t slots_offset, messages_offset, reports_offset, region_bytes;
} RingLayout;

/// A tap.  `wanted` and `begun` have a uid in the upper half, and the number of a span in the lower
/// one; the worker adds to half `begun` % 2.
typedef struct RingTap {
  alignas(RING_LINE_BYTES) _Atomic uint64_t wanted; // by the control thread
  alignas(RING_LINE_BYTES) _Atomic uint64_t begun;  // by the worker
  RingLevel halves[2];
} RingTap;

/// The beginning of the region.  The members before the counters never change.
typedef struct RingHeader {
  uint64_t magic;
  uint32_t version;
  RingShape shape;
  RingLayout layout;
  alignas(RING_LINE_BYTES) _Atomic uint64_t submitted; // by the producer
  alignas(RING_LINE_BYTES) _Atomic uint64_t finished;  // by the consumer
  alignas(RING_LINE_BYTES) RingBell consumer;
  _Atomic uint32_t wakes; // ring_wake() calls
  alignas(RING_LINE_BYTES) RingBell producer;
  alignas(RING_LINE_BYTES) _Atomic uint64_t sent;          // by the sender of messages
  alignas(RING_LINE_BYTES) _Atomic uint64_t received;      // by the receiver
  alignas(RING_LINE_BYTES) _Atomic uint64_t reported;      // by the player: number of reports
  _Atomic uint64_t reports_lost;                           // by the player
  alignas(RING_LINE_BYTES) _Atomic uint64_t reports_taken; // by the control thread
  alignas(RING_LINE_BYTES) _Atomic uint32_t tap_moves; // by the control thread: changes of `taps`
  RingTap taps[RING_TAPS];
} RingHeader;

/// The beginning of a slot, in RING_ROW_BYTES.
typedef struct RingSlot {
  SlotHeader header; // by the producer
  _Atomic uint64_t
      result; // by the consumer: sequence number + 1, RING_FAILED where there is no sound
} RingSlot;

#define RING_FAILED (UINT64_C(1) << 63U)

_Static_assert(sizeof(RingSlot) <= RING_ROW_BYTES, "a slot begins with one row of header");

/// [any]
RingSlot* ring_slot_at(const Ring* ring, uint64_t sequence);

/// Capacity of the reports: all messages that are on their way, and as many more. [any]
static inline uint32_t
ring_n_reports(const RingShape* const shape)
{
  return 2U * shape->n_messages;
}

/// Count an invalid word of the other side. [any]
void ring_count_fault(Ring* ring);

// Private to this side; in one process, producer, consumer and sender share it and each writes
// only its own line.
struct Ring {
  RingHeader* header;
  RingShape shape;
  RingLayout layout;
  int fd;
  alignas(RING_LINE_BYTES) uint64_t submitted; // producer's own counter
  uint64_t finished_seen;                      // last valid `finished`
  alignas(RING_LINE_BYTES) uint64_t finished;  // consumer's own counter
  _Atomic uint32_t wakes_seen;                 // of header->wakes
  uint64_t received;
  alignas(RING_LINE_BYTES) uint64_t sent;
  uint32_t tap_moves;                               // control thread's own counter
  uint64_t wanted[RING_TAPS];                       // control thread's own copies
  uint32_t uid_before[RING_TAPS];                   // of the half that the control thread has
  alignas(RING_LINE_BYTES) uint32_t tap_moves_seen; // worker's
  uint64_t begun[RING_TAPS];                        // worker's own copies
  uint64_t reported, published;                     // player's own counters
  uint64_t reports_lost;                            // player's own counter
  alignas(RING_LINE_BYTES) uint64_t reports_taken;  // control thread's own counter
  uint64_t reports_lost_seen;                       // control thread's
  alignas(RING_LINE_BYTES) _Atomic uint64_t faults;
  _Atomic bool is_abandoned; // set once, by any thread
};

#endif
