// SPDX-License-Identifier: GPL-3.0-or-later
// Parameter messages arrive whole and in order, between threads, too, and stay in their part of the
// region; an invalid counter of the other side is counted as a fault and has no other effect.
// Reports and taps.

#include "engine/base/rt.h"
#include "engine/ring/ring.h"
#include "engine/ring/ring_private.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <string.h>
#include <time.h>

#define N_MESSAGES 8U

static Ring*
new_ring(const uint32_t n_messages)
{
  const RingShape shape = { 1, 1, 16, 4, n_messages, 0 };
  Ring* ring = NULL;
  OK(ring_new(&shape, &ring, &error));
  return ring;
}

typedef struct Pair {
  Ring* sender;
  Ring* receiver;
  RingHeader* header;
} Pair;

static Pair
new_pair(void)
{
  size_t n_bytes = 0;
  Pair pair = { .sender = new_ring(N_MESSAGES) };
  ck_assert(ring_attach(ring_fd(pair.sender), &pair.receiver, NULL) == STATUS_OK);
  pair.header = ring_memory(pair.sender, &n_bytes);
  return pair;
}

static void
free_pair(const Pair* const pair)
{
  ring_free(pair->sender);
  ring_free(pair->receiver);
}

static ParamMessage
message_number(const uint64_t number)
{
  return (ParamMessage){ .frame = number,
                         .uid = (uint32_t)number,
                         .param = 1,
                         .value = -1.0,
                         .kind = MESSAGE_NOTE,
                         .n_frames = 7 };
}

/// Send messages until the ring is full; returns their number.
static uint32_t
fill(const Pair* const pair, const uint64_t first)
{
  uint32_t n = 0;
  for (;; ++n) {
    const ParamMessage message = message_number(first + n);
    if (!ring_send(pair->sender, &message, 1)) {
      return n;
    }
  }
}

TEST(messages_come_in_order_until_the_ring_is_full)
{
  SCOPED_RING Ring* const ring = new_ring(N_MESSAGES);
  ParamMessage message = { .frame = 0 };
  uint64_t sent = 0;
  uint64_t received = 0;
  for (uint32_t round = 0; round < 5U; ++round) {
    ck_assert(!ring_receive(ring, &message));
    while (ring_send(
        ring, &(ParamMessage){ .frame = sent, .uid = 7, .param = 3, .value = (double)sent / 3.0 },
        1)) {
      ++sent;
    }
    ck_assert_uint_eq(sent - received, N_MESSAGES);
    for (; ring_receive(ring, &message); ++received) {
      ck_assert_uint_eq(message.frame, received);
      ck_assert_uint_eq(message.uid, 7);
      ck_assert_uint_eq(message.param, 3);
      ck_assert(message.value == (double)received / 3.0);
    }
    ck_assert_uint_eq(received, sent);
  }
  ck_assert_uint_eq(ring_faults(ring), 0);
}

TEST(a_group_of_messages_is_sent_whole_or_not_at_all)
{
  SCOPED_RING Ring* const ring = new_ring(N_MESSAGES);
  ParamMessage group[N_MESSAGES + 1U] = { { .frame = 0 } };
  ParamMessage message;
  for (uint32_t i = 0; i < ARRAY_LEN(group); ++i) {
    group[i].frame = i;
  }
  ck_assert(!ring_send(ring, group, ARRAY_LEN(group)));
  ck_assert(ring_send(ring, group, 5));
  ck_assert(!ring_send(ring, group, 4));
  ck_assert(ring_send(ring, group + 5, 3)); // full
  ck_assert(!ring_send(ring, group, 1));
  ck_assert(ring_send(ring, group, 0));
  for (uint32_t i = 0; i < N_MESSAGES; ++i) {
    ck_assert(ring_receive(ring, &message));
    ck_assert_uint_eq(message.frame, i);
  }
  ck_assert(!ring_receive(ring, &message));
  ck_assert(ring_send(ring, group, N_MESSAGES)); // around the end
  for (uint32_t i = 0; i < N_MESSAGES; ++i) {
    ck_assert(ring_receive(ring, &message));
    ck_assert_uint_eq(message.frame, i);
  }
}

#define N_STREAM 200000U // messages of one thread to another

static void*
send_messages(void* const ring)
{
  for (uint64_t k = 0; k < N_STREAM; ++k) {
    const ParamMessage message = {
      .frame = k, .uid = (uint32_t)k, .param = (uint32_t)(k * 3U), .value = (double)k
    };
    while (!ring_send(ring, &message, 1)) {
      nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
    }
  }
  return NULL;
}

TEST(a_thread_sends_messages_whole_and_in_order)
{
  SCOPED_RING Ring* const ring = new_ring(64);
  pthread_t thread;
  ck_assert(rt_thread_start("test-sender", send_messages, ring, &thread, NULL) == STATUS_OK);
  uint64_t n_wrong = 0;
  for (uint64_t k = 0; k < N_STREAM; ++k) {
    ParamMessage message;
    while (!ring_receive(ring, &message)) {
      nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
    }
    n_wrong += message.frame != k || message.uid != (uint32_t)k ||
               message.param != (uint32_t)(k * 3U) || message.value != (double)k;
  }
  ck_assert_uint_eq(n_wrong, 0);
  pthread_join(thread, NULL);
}

TEST(messages_arrive_in_order_and_stay_in_their_part_of_the_region)
{
  const Pair pair = new_pair();
  const char* const end = (const char*)pair.header + pair.header->layout.region_bytes;
  const char* const reports = (const char*)pair.header + pair.header->layout.reports_offset;
  const char nothing[64] = { 0 };
  ck_assert_uint_ge(4096U - (uintptr_t)end % 4096U, sizeof(nothing)); // free bytes of the last page
  uint64_t number = 1;
  for (uint32_t round = 0; round < 5U; ++round) {
    ck_assert_uint_eq(fill(&pair, number), N_MESSAGES);
    ck_assert(memcmp(end, nothing, sizeof(nothing)) == 0);
    ck_assert(memcmp(reports, nothing, sizeof(nothing)) == 0);
    ParamMessage got;
    for (uint32_t n = 0; n < N_MESSAGES; ++n) {
      const ParamMessage wanted = message_number(number + n);
      ck_assert(ring_receive(pair.receiver, &got));
      ck_assert(memcmp(&got, &wanted, sizeof(got)) == 0);
    }
    ck_assert(!ring_receive(pair.receiver, &got));
    number += N_MESSAGES;
    const ParamMessage extra = message_number(number++); // shifts the next round by one
    ck_assert(ring_send(pair.sender, &extra, 1) && ring_receive(pair.receiver, &got));
  }
  ck_assert_uint_eq(ring_faults(pair.sender) + ring_faults(pair.receiver), 0);
  free_pair(&pair);
}

TEST(a_sender_refuses_a_receiver_count_beyond_the_sent_messages)
{
  const Pair pair = new_pair();
  const ParamMessage message = message_number(1);
  ck_assert_uint_eq(fill(&pair, 1), N_MESSAGES);
  const uint64_t wrong[] = { N_MESSAGES + 1U, UINT64_MAX, UINT64_MAX - N_MESSAGES };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    atomic_store(&pair.header->received, wrong[w]);
    ck_assert(!ring_send(pair.sender, &message, 1));
    ck_assert_uint_eq(atomic_load(&pair.header->sent), N_MESSAGES);
    ck_assert_uint_eq(ring_faults(pair.sender), w + 1U);
  }
  atomic_store(&pair.header->received, 1U);
  ck_assert(ring_send(pair.sender, &message, 1));
  free_pair(&pair);
}

TEST(a_receiver_refuses_invalid_messages)
{
  const Pair pair = new_pair();
  ParamMessage got = message_number(77);
  const ParamMessage untouched = got;
  const uint64_t wrong[] = { N_MESSAGES + 1U, UINT64_MAX, UINT64_MAX / 2U };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    atomic_store(&pair.header->sent, wrong[w]);
    ck_assert(!ring_receive(pair.receiver, &got));
    ck_assert(memcmp(&got, &untouched, sizeof(got)) == 0);
    ck_assert_uint_eq(atomic_load(&pair.header->received), 0);
    ck_assert_uint_eq(ring_faults(pair.receiver), w + 1U);
  }
  atomic_store(&pair.header->sent, 0U);
  const ParamMessage message = message_number(5);
  ck_assert(ring_send(pair.sender, &message, 1));
  ck_assert(ring_receive(pair.receiver, &got));
  ck_assert_uint_eq(got.frame, 5);
  free_pair(&pair);
}

TEST(a_view_of_invalid_counters_is_refused)
{
  const Pair pair = new_pair();
  const uint64_t n_sent[] = { 2U, 2U + N_MESSAGES, 3U + N_MESSAGES, 1U }; // while 2 are received
  atomic_store(&pair.header->received, 2U);
  for (uint32_t s = 0; s < ARRAY_LEN(n_sent); ++s) {
    const Status wanted = s < 2U ? STATUS_OK : STATUS_BAD_ARG;
    SCOPED_RING Ring* other = NULL;
    atomic_store(&pair.header->sent, n_sent[s]);
    ck_assert(ring_attach(ring_fd(pair.sender), &other, NULL) == wanted);
  }
  free_pair(&pair);
}

// ---- reports ----

#define N_REPORTS (2U * N_MESSAGES)

static RingReport
report_number(const uint64_t number)
{
  return (RingReport){ .kind = REPORT_NOTE, .number = number, .message = message_number(number) };
}

TEST(reports_come_in_order_and_those_without_room_are_counted)
{
  const Pair pair = new_pair(); // here the receiver of messages is the player
  const char* const end = (const char*)pair.header + pair.header->layout.region_bytes;
  const char nothing[64] = { 0 };
  RingReport got;
  for (uint64_t first = 0; first < 5U * N_REPORTS; first += N_REPORTS + 3U) {
    ck_assert(!ring_take_report(pair.sender, &got));
    for (uint64_t n = 0; n < N_REPORTS + 3U; ++n) {
      const RingReport report = report_number(first + n);
      ring_report(pair.receiver, &report);
    }
    ck_assert_uint_eq(ring_n_unpublished(pair.receiver), N_REPORTS);
    ck_assert(!ring_take_report(pair.sender, &got)); // none, until all are published
    ring_publish_reports(pair.receiver);
    ck_assert_uint_eq(ring_n_unpublished(pair.receiver), 0U);
    for (uint64_t n = 0; n < N_REPORTS; ++n) {
      const RingReport wanted = report_number(first + n);
      ck_assert(ring_take_report(pair.sender, &got));
      ck_assert(memcmp(&got, &wanted, sizeof(got)) == 0);
    }
    ck_assert_uint_eq(ring_reports_lost(pair.sender), 3U);
    ck_assert_uint_eq(ring_reports_lost(pair.sender), 0U);
    ck_assert(memcmp(end, nothing, sizeof(nothing)) == 0);
  }
  ck_assert_uint_eq(ring_faults(pair.sender) + ring_faults(pair.receiver), 0);
  free_pair(&pair);
}

TEST(a_reader_of_reports_refuses_invalid_counters)
{
  const Pair pair = new_pair();
  RingReport got = report_number(77);
  const RingReport untouched = got;
  const uint64_t wrong[] = { N_REPORTS + 1U, UINT64_MAX, UINT64_MAX / 2U };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    atomic_store(&pair.header->reported, wrong[w]);
    atomic_store(&pair.header->reports_taken, wrong[w]); // the control thread does not read it
    ck_assert(!ring_take_report(pair.sender, &got));
    ck_assert(memcmp(&got, &untouched, sizeof(got)) == 0);
    ck_assert_uint_eq(ring_faults(pair.sender), w + 1U);
  }
  atomic_store(&pair.header->reported, 1U);
  ck_assert(ring_take_report(pair.sender, &got));
  ck_assert_uint_eq(atomic_load(&pair.header->reports_taken), 1U);
  free_pair(&pair);
}

// ---- taps ----

static void
begin_block(const Pair* const pair, const uint32_t uid)
{
  if (ring_taps_moved(pair->receiver)) {
    ck_assert_uint_eq(ring_tap_uid(pair->receiver, 3U), uid);
  }
}

TEST(a_tap_passes_what_was_measured_once_and_only_of_its_node)
{
  const Pair pair = new_pair();
  RingLevel level;
  ck_assert(!ring_taps_moved(pair.receiver));
  ck_assert(!ring_tap(pair.sender, 3U, 0U, &level)); // nothing to end
  ck_assert(!ring_taps_moved(pair.receiver));
  ck_assert(!ring_tap(pair.sender, 3U, 7U, &level));
  begin_block(&pair, 7U);
  ring_tap_add(pair.receiver, 3U, &(RingLevel){ 2.0, 16U, 0.5F, 1.0F });
  ring_tap_add(pair.receiver, 3U, &(RingLevel){ 3.0, 16U, 0.25F, 6.0F });
  ck_assert(!ring_tap(pair.sender, 3U, 7U, &level)); // the span before had no node
  ck_assert(!ring_tap(pair.sender, 3U, 7U, &level)); // the worker has not begun the next one
  begin_block(&pair, 7U);
  ring_tap_add(pair.receiver, 3U, &(RingLevel){ 9.0, 16U, 0.9F, 0.0F });
  ck_assert(ring_tap(pair.sender, 3U, 7U, &level));
  ck_assert(level.energy == 5.0 && level.n_samples == 32U && level.peak == 0.5F &&
            level.reduction_db == 6.0F);
  begin_block(&pair, 7U);
  ck_assert(!ring_tap(pair.sender, 3U, 8U, &level)); // another node
  begin_block(&pair, 8U);
  ring_tap_add(pair.receiver, 3U, &(RingLevel){ 1.0, 16U, 0.1F, 0.0F });
  ck_assert(!ring_tap(pair.sender, 3U, 8U, &level)); // the span before was of node 7
  begin_block(&pair, 8U);
  ck_assert(ring_tap(pair.sender, 3U, 8U, &level));
  ck_assert(level.energy == 1.0 && level.peak == 0.1F);
  free_pair(&pair);
}

TEST(a_consumer_that_writes_to_the_taps_gets_no_further)
{
  const Pair pair = new_pair();
  RingLevel level;
  RingTap* const tap = &pair.header->taps[3];
  ck_assert(!ring_tap(pair.sender, 3U, 7U, &level));
  const uint64_t wanted = atomic_load(&tap->wanted);
  for (uint32_t k = 0; k < 100U; ++k) {
    atomic_store(&tap->begun, UINT64_MAX - k); // never begun: the server waits
    atomic_store(&tap->wanted, k);             // the server does not read it
    ck_assert(!ring_tap(pair.sender, 3U, 7U, &level));
  }
  atomic_store(&tap->begun, wanted);
  ck_assert(!ring_tap(pair.sender, 3U, 7U, &level));
  ck_assert_uint_eq(atomic_load(&tap->wanted), wanted + 1U);
  free_pair(&pair);
}

SUITE_MAIN("ring messages")
