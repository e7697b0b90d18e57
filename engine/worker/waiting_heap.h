// SPDX-License-Identifier: GPL-3.0-or-later
/// The messages of the player that wait for their frame: a binary heap, the next one first.
#ifndef WARPRACK_ENGINE_WORKER_WAITING_HEAP_H
#define WARPRACK_ENGINE_WORKER_WAITING_HEAP_H

#include "engine/base/macros.h"
#include "engine/ring/ring.h"

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
  WaitingMessage* list; ///< [n]; the owner's memory
  uint32_t n;
} WaitingHeap;

/// Add a message; the list has room for it. [player]
REALTIME void waiting_push(WaitingHeap* heap, WaitingMessage entry);

/// Remove the next message; there is one. [player]
REALTIME WaitingMessage waiting_pop(WaitingHeap* heap);

#endif
