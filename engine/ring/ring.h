// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The block ring and the parameter ring, in one region of memory that two threads or two processes
   share: the only data that the audio callback accesses besides its own state.

       region (memfd, position-independent: offsets only)
       ┌────────────┬─────────────┬──────────────┬──────────────────────────────────────────┐
       │ RingHeader │ submitted   │ finished     │ slot 0 │ slot 1 │ … │ slot n_slots-1 │ messages │
       └────────────┴─────────────┴──────────────┴──────────────────────────────────────────┘
         slot: SlotHeader, input [n_in][block], output [n_out][block], each channel 64-byte aligned

   Single producer (callback), single consumer (worker).  Sequence number s lives in slot s &
   (n_slots-1). `submitted` is written by the callback only, `finished` by the worker only, each on
   its own cache line (128 bytes apart: adjacent-line prefetch).  The producer publishes with
   release, the consumer reads with acquire; the same pair in the other direction returns the
   output.

   The parameter ring has one writer, the control thread, and one reader, the worker.

   Either side keeps its own counter and the shape in private memory and trusts nothing in the
   region: the other side's counter is range-checked on each read, and an invalid value is counted
   as a fault and ignored.

   Effects of a faulty consumer on the producer, word by word.  Any word may have any value at any
   time; the producer reads each word once per access, into private memory:

     finished         range-checked.  A wrong value in range lets a block seem finished: see result
     result of a slot sequence number of the block that the output belongs to, plus 1; anything else
                      is a counted fault, and the block has no output
     output rows      any samples: the producer copies them away and guards the copy
     consumer.asleep  a futex call too many, or one too few: then the consumer sleeps on
     producer.rung    a sleep that ends early, or lasts as long as a nap (2 ms)
     received         range-checked; a wrong value in range overwrites messages not yet read, or
                      lets the ring seem full
     the rest         magic, version, shape, layout, submitted, sent, input rows, slot headers,
                      producer.asleep, wakes: written by the producer's side, never read by it

   Sleeping, in either direction.  The sleeper reads the bell, sets `asleep`, checks once more for
   its block, sleeps while the bell is unchanged, clears `asleep`.  The other side publishes its
   counter, then reads `asleep`, and only if that is set changes the bell and makes the one futex
   call.  Counter and flag are written and read with sequential consistency, because each side
   writes one and then reads the other: in any order of the four accesses, either the sleeper sees
   the block or the publisher sees the sleeper.  In the second case the bell changes after the
   sleeper has read it, so that the kernel refuses the sleep or the wake finds the sleeper: no
   wake-up is lost.  Only the sleeper clears the flag: if the waker cleared it, a waker that loses
   its core just before the futex call would hide the sleeper from other wakers.
*/
#ifndef WARPRACK_ENGINE_RING_RING_H
#define WARPRACK_ENGINE_RING_RING_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RingShape {
  uint32_t n_in, n_out;  ///< Channels, 0..1024
  uint32_t block_frames; ///< 1..8192
  uint32_t n_slots;      ///< Power of two, 4..64
  uint32_t n_messages;   ///< Capacity of the parameter ring, power of two
} RingShape;

/// A parameter change for the worker.
typedef struct ParamMessage {
  uint64_t frame; ///< Frame time at which it applies; 0 or past: with the next block
  uint32_t uid;   ///< RackUid of the node
  uint32_t param; ///< Index in the effect's table
  double value;   ///< In the table's unit
} ParamMessage;

/// Header of a block, written by the producer.
typedef struct SlotHeader {
  uint64_t frame;    ///< Frame time of the block's first frame
  uint32_t n_frames; ///< Frames in it, 1..block_frames
  uint32_t flags;    ///< SLOT_*
} SlotHeader;

/// The producer waits for this block (offline, freewheel): deadlines do not apply.
#define SLOT_WAITED 1U

/// The result of a finished block.
typedef enum RingResult {
  RING_SOUND,
  RING_NO_SOUND, ///< ring_fail()
  RING_WRONG     ///< The consumer returned the wrong sequence number
} RingResult;

typedef struct Ring Ring; // one side's view of the region

/// Make a region in a new memfd, zeroed, with all pages present. [main]
NODISCARD Status ring_new(const RingShape* shape, Ring** ring, Error* error);

/// View a region that another process made; checks seals, size, magic, version, every field and
/// the counters.  Keeps a duplicate of `fd`.  STATUS_BAD_ARG names the failed check. [main]
NODISCARD Status ring_attach(int fd, Ring** ring, Error* error);

/// Unmap; the kernel frees the memfd with its last user.  Accepts NULL. [main]
void ring_free(Ring* ring);

int ring_fd(const Ring* ring);
const RingShape* ring_shape(const Ring* ring);

/// The region, for registration with a GPU driver. [main]
void* ring_memory(const Ring* ring, size_t* n_bytes);

/// Channel c of the input or output of sequence number s: [block_frames], 64-byte aligned. [rt]
REALTIME float* ring_input(const Ring* ring, uint64_t sequence, uint32_t channel);
REALTIME float* ring_output(const Ring* ring, uint64_t sequence, uint32_t channel);
REALTIME SlotHeader* ring_slot(const Ring* ring, uint64_t sequence);

// ---- producer: the callback ----

/// True if slot `submitted` is free to be written (fewer than n_slots blocks in flight) and the
/// ring is not abandoned. [rt]
REALTIME bool ring_can_submit(Ring* ring);

/// The sequence number that the next submit will publish. [rt]
REALTIME uint64_t ring_next(const Ring* ring);

/// Publish the slot ring_next(); wakes the consumer if it sleeps (at most one futex call). [rt]
REALTIME void ring_submit(Ring* ring);

/// True if sequence number s is finished and the ring is not abandoned.  A counter out of range
/// counts as a fault and returns false. [rt]
REALTIME bool ring_is_finished(Ring* ring, uint64_t sequence);

/// Wait until s is finished, the ring is abandoned or `timeout_ns` (monotonic, relative;
/// UINT64_MAX: no limit) has passed; returns ring_is_finished(). [rt when depth 0; else offline]
bool ring_wait_finished(Ring* ring, uint64_t sequence, uint64_t timeout_ns);

/// The result of a finished block whose slot has not been submitted again.  A wrong one counts as
/// a fault. [rt]
REALTIME RingResult ring_result(Ring* ring, uint64_t sequence);

/// The consumer of this view is permanently gone: from now on the view accepts no block and
/// reports none as finished; a wait in progress ends within a few milliseconds. [any]
void ring_abandon(Ring* ring);

/// Number of invalid counters and results that this side has read from the other side. [any]
uint64_t ring_faults(const Ring* ring);

// ---- consumer: the worker ----

/// Sequence number of an unfinished block, if there is one: the oldest, or the `ahead`-th behind
/// it. [player]
REALTIME bool ring_take(Ring* ring, uint32_t ahead, uint64_t* sequence);

/// As ring_take() of the oldest, but spins for at most spin_ns, then sleeps until a block comes,
/// ring_wake() or timeout_ns (from the call on; UINT64_MAX: none). [player]
bool ring_wait_take(Ring* ring, uint64_t spin_ns, uint64_t timeout_ns, uint64_t* sequence);

/// Publish the oldest block's output; wakes a producer that waits. [player]
REALTIME void ring_finish(Ring* ring);

/// Finish the oldest block without output. [player]
REALTIME void ring_fail(Ring* ring);

/// Blocks submitted since the ring was made, from the region: shows if more blocks come. [any]
uint64_t ring_n_submitted(const Ring* ring);

/// Blocks finished since then, from the region: shows if the consumer makes progress. [any]
uint64_t ring_n_finished(const Ring* ring);

/// Make ring_wait_take() return false once: the waiting call, or else the next one. [any]
void ring_wake(Ring* ring);

// ---- parameter messages ----

/// Send n messages as one: a reader that drains the ring gets all or none.  Returns false, and
/// sends nothing, if they do not fit. [control]
bool ring_send(Ring* ring, const ParamMessage* messages, uint32_t n);

/// Receive a message; false if the ring is empty. [player]
REALTIME bool ring_receive(Ring* ring, ParamMessage* message);

#endif
