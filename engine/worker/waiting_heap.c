// SPDX-License-Identifier: GPL-3.0-or-later
// The messages that wait for their frame: a binary heap, and a queue of those that are due.

#include "waiting_heap.h"

#include <stdlib.h>

Status
waiting_init(WaitingHeap* const heap, Error* const error)
{
  *heap = (WaitingHeap){ .list = calloc(WAITING_MAX, sizeof(WaitingMessage)),
                         .due = calloc(WAITING_MAX, sizeof(WaitingMessage)) };
  return heap->list && heap->due ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

void
waiting_clear(WaitingHeap* const heap)
{
  free(heap->list);
  free(heap->due);
  *heap = (WaitingHeap){ 0 };
}

uint32_t
waiting_n(const WaitingHeap* const heap)
{
  return heap->n + heap->n_due;
}

static WaitingMessage*
due_at(const WaitingHeap* const heap, const uint32_t index)
{
  return &heap->due[(heap->first_due + index) % WAITING_MAX];
}

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

void
waiting_append(WaitingHeap* const heap, const WaitingMessage entry)
{
  if (heap->n_due && is_before(&entry, due_at(heap, heap->n_due - 1U))) {
    waiting_push(heap, entry);
  } else {
    *due_at(heap, heap->n_due++) = entry;
  }
}

/// True if the next message is the first of the queue.
static bool
next_is_due(const WaitingHeap* const heap)
{
  return heap->n_due && (!heap->n || is_before(due_at(heap, 0U), &heap->list[0]));
}

const WaitingMessage*
waiting_next(const WaitingHeap* const heap)
{
  return next_is_due(heap) ? due_at(heap, 0U) : heap->n ? &heap->list[0] : NULL;
}

static WaitingMessage
pop_from_heap(WaitingHeap* const heap)
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

WaitingMessage
waiting_pop(WaitingHeap* const heap)
{
  if (!next_is_due(heap)) {
    return pop_from_heap(heap);
  }
  const WaitingMessage first = *due_at(heap, 0U);
  heap->first_due = (heap->first_due + 1U) % WAITING_MAX;
  --heap->n_due;
  return first;
}
