// SPDX-License-Identifier: GPL-3.0-or-later
// The messages that wait for their frame: a binary heap.

#include "waiting_heap.h"

static bool
is_before(const WaitingMessage* const a, const WaitingMessage* const b)
{
  return a->message.frame != b->message.frame ? a->message.frame < b->message.frame
                                              : a->order < b->order;
}

void
waiting_push(WaitingHeap* const heap, const WaitingMessage entry)
{
  uint32_t i = heap->n++;
  for (; i > 0U && is_before(&entry, &heap->list[(i - 1U) / 2U]); i = (i - 1U) / 2U) {
    heap->list[i] = heap->list[(i - 1U) / 2U];
  }
  heap->list[i] = entry;
}

WaitingMessage
waiting_pop(WaitingHeap* const heap)
{
  const WaitingMessage first = heap->list[0];
  const WaitingMessage last = heap->list[--heap->n];
  uint32_t i = 0;
  for (uint32_t child = 1; child < heap->n; child = 2U * i + 1U) {
    if (child + 1U < heap->n && is_before(&heap->list[child + 1U], &heap->list[child])) {
      ++child;
    }
    if (!is_before(&heap->list[child], &last)) {
      break;
    }
    heap->list[i] = heap->list[child];
    i = child;
  }
  heap->list[i] = last;
  return first;
}
