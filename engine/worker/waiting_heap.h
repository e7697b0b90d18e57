// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The messages of the player that wait for their frame: a binary heap, the next one first; and a
   queue beside it of those that apply with the next block.  These arrive in order, up to thousands
   at a time when a scene is recalled, and a heap would move each of them through its levels.
*/
#ifndef WARPRACK_ENGINE_WORKER_WAITING_HEAP_H
#define WARPRACK_ENGINE_WORKER_WAITING_HEAP_H

#include "engine/base/macros.h"
#include "engine/base/status.h"
#include "engine/ring/ring.h"

#define WAITING_MAX 4096U // messages that wait

/// A message that waits for its frame.
typedef struct WaitingMessage {
  ParamMessage message;
  uint64_t number; ///< In the order of the ring's messages; MIDI has that of the next of these
  uint64_t order;  ///< Among messages of the same frame
  bool is_late;    ///< It came after its frame, and is counted
  bool is_midi;    ///< It was made of MIDI
} WaitingMessage;

/// Ordered by frame, then by WaitingMessage::order.
typedef struct WaitingHeap {
  WaitingMessage* list; ///< [n]
  WaitingMessage* due;  ///< The queue: [n_due] from `first_due` on, of WAITING_MAX in a circle
  uint32_t n, n_due, first_due;
} WaitingHeap;

NODISCARD Status waiting_init(WaitingHeap* heap, Error* error); // [main]
void waiting_clear(WaitingHeap* heap);                          // [main]

/// Number of messages, at most WAITING_MAX. [player]
REALTIME uint32_t waiting_n(const WaitingHeap* heap);

/// Add a message, if less than WAITING_MAX wait. [player]
REALTIME void waiting_push(WaitingHeap* heap, WaitingMessage entry);

/// Likewise a message that applies with the next block.  If it is before one in the queue, it goes
/// to the heap. [player]
REALTIME void waiting_append(WaitingHeap* heap, WaitingMessage entry);

/// The next message; NULL if none waits. [player]
REALTIME const WaitingMessage* waiting_next(const WaitingHeap* heap);

/// Remove the next message; there is one. [player]
REALTIME WaitingMessage waiting_pop(WaitingHeap* heap);

#endif
