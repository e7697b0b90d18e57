// SPDX-License-Identifier: GPL-3.0-or-later
// Waiting messages leave by frame, and then by order, whether they came through the heap or the
// queue.

#include "engine/worker/waiting_heap.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

static WaitingMessage
entry_of(const uint64_t frame, const uint64_t order)
{
  return (WaitingMessage){ .message = { .frame = frame }, .order = order };
}

/// Remove the next message, which is the one that waiting_next() shows.
static WaitingMessage
pop(WaitingHeap* const heap)
{
  const WaitingMessage* const next = waiting_next(heap);
  ck_assert_ptr_nonnull(next);
  const WaitingMessage shown = *next;
  const WaitingMessage popped = waiting_pop(heap);
  ck_assert_uint_eq(popped.order, shown.order);
  return popped;
}

/// Remove the messages before a frame, at most `most`, which come in order.  Returns their number.
static uint32_t
pop_some(WaitingHeap* const heap, const uint64_t end, const uint32_t most)
{
  WaitingMessage last = entry_of(0, 0);
  const WaitingMessage* next = NULL;
  uint32_t n = 0;
  for (; n < most && (next = waiting_next(heap)) && next->message.frame < end; ++n) {
    const WaitingMessage entry = pop(heap);
    ck_assert(entry.message.frame > last.message.frame ||
              (entry.message.frame == last.message.frame && entry.order > last.order));
    last = entry;
  }
  return n;
}

TEST(messages_leave_by_frame_and_then_by_order)
{
  SCOPED(waiting_clear) WaitingHeap heap;
  OK(waiting_init(&heap, &error));
  uint64_t seed = 1;
  uint64_t frame = 0;
  uint64_t order = 0;
  uint64_t n_popped = 0;
  for (uint32_t block = 0; block < 300U; ++block, frame += 64U) {
    for (uint64_t n = signal_random(&seed) % 200U; n && waiting_n(&heap) < WAITING_MAX; --n) {
      const uint64_t ahead = signal_random(&seed) % 256U;
      if (ahead % 2U) {
        waiting_append(&heap, entry_of(frame, ++order));
      } else {
        waiting_push(&heap, entry_of(frame + ahead, ++order));
      }
    }
    n_popped += pop_some(&heap, frame + 64U, 70U); // some stay: a block has room for a number only
  }
  ck_assert_uint_gt(order, n_popped + WAITING_MAX / 2U);
  n_popped += pop_some(&heap, UINT64_MAX, WAITING_MAX);
  ck_assert_uint_eq(n_popped, order);
  ck_assert_uint_eq(waiting_n(&heap), 0U);
}

TEST(a_message_that_comes_back_before_the_queue_is_not_overtaken)
{
  SCOPED(waiting_clear) WaitingHeap heap;
  OK(waiting_init(&heap, &error));
  ck_assert_ptr_null(waiting_next(&heap));
  waiting_append(&heap, entry_of(128, 1));
  waiting_append(&heap, entry_of(64, 2)); // another time base
  waiting_push(&heap, entry_of(128, 0));
  ck_assert_uint_eq(pop(&heap).order, 2U);
  ck_assert_uint_eq(pop(&heap).order, 0U);
  ck_assert_uint_eq(pop(&heap).order, 1U);
  ck_assert_uint_eq(waiting_n(&heap), 0U);
}

SUITE_MAIN("waiting_heap")
