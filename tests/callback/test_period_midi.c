// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI in the callback: each event comes with the block of its frame to the worker and with its
// frame time to the control thread; what has no room, or no block, is counted; what is sent leaves
// with the next period.

#include "tests/support/period_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <string.h>

static MidiPeriod midi;

static bool
come(const uint32_t frame, const uint8_t value)
{
  const uint8_t bytes[] = { 0xB0, 74, value };
  return midi_period_add(&midi, frame, bytes, sizeof(bytes));
}

/// Run a period of some blocks with the events of `midi`, and begin the events of the next one.
static void
run(PeriodRig* const rig, const uint32_t n_frames)
{
  period_set_midi(rig->period, &midi);
  period_rig_run_frames(rig, n_frames, false);
  midi_period_begin(&midi);
}

static void
assert_event(const MidiEvent* const event, const uint32_t frame, const uint8_t value)
{
  ck_assert_uint_eq(event->frame, frame);
  ck_assert_uint_eq(event->n_bytes, 3);
  ck_assert_uint_eq(event->bytes[0], 0xB0);
  ck_assert_uint_eq(event->bytes[1], 74);
  ck_assert_uint_eq(event->bytes[2], value);
}

/// As the control thread: take QUEUED_END, and let the worker of the ring get the next events.
static void
expect_end(const PeriodRig* const rig)
{
  QueuedMidi came[2];
  ck_assert_uint_eq(period_take_midi(rig->period, came, 2), 1);
  ck_assert_int_eq(came[0].kind, QUEUED_END);
  period_return_midi(rig->period, 0U);
}

static void
begin(PeriodRig* const rig)
{
  memset(&midi, 0, sizeof(midi));
  period_rig_new(rig, (PeriodConfig){ .depth = 1 });
  expect_end(rig);
}

TEST(each_event_comes_with_the_block_of_its_frame)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  run(&rig, BLOCK);
  period_rig_serve(&rig);
  come(0, 1);
  come(BLOCK - 1U, 2);
  come(BLOCK, 3);
  come(2U * BLOCK + 5U, 4);
  come(2U * BLOCK + 5U, 5);
  run(&rig, 3U * BLOCK); // blocks 1 to 3
  ck_assert_uint_eq(ring_slot(rig.ring, 0)->n_midi, 0);
  ck_assert_uint_eq(ring_slot(rig.ring, 1)->n_midi, 2);
  assert_event(&ring_midi(rig.ring, 1)[0], 0, 1);
  assert_event(&ring_midi(rig.ring, 1)[1], BLOCK - 1U, 2);
  ck_assert_uint_eq(ring_slot(rig.ring, 2)->n_midi, 1);
  assert_event(&ring_midi(rig.ring, 2)[0], 0, 3);
  ck_assert_uint_eq(ring_slot(rig.ring, 3)->n_midi, 2);
  assert_event(&ring_midi(rig.ring, 3)[1], 5, 5);
  QueuedMidi came[8];
  ck_assert_uint_eq(period_take_midi(rig.period, came, 2), 2);
  ck_assert_uint_eq(period_take_midi(rig.period, came + 2, 8), 3);
  static const uint64_t frames[] = { 0, BLOCK - 1U, BLOCK, 2U * BLOCK + 5U, 2U * BLOCK + 5U };
  for (uint32_t e = 0; e < 5U; ++e) {
    ck_assert_uint_eq(came[e].frame, BLOCK + frames[e]);
    assert_event(&came[e].event, 0, (uint8_t)(e + 1U));
    ck_assert_int_eq(came[e].kind, QUEUED_GIVEN);
  }
  ck_assert_uint_eq(period_take_midi(rig.period, came, 8), 0);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.midi_events, 5);
  ck_assert_uint_eq(counts.midi_lost + counts.midi_unheard + counts.midi_skipped, 0);
}

TEST(a_period_without_midi_has_no_events)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  const MidiEvent event = { .n_bytes = 1, .bytes = { MIDI_CLOCK } };
  come(3, 1);
  run(&rig, BLOCK);
  period_rig_serve(&rig);
  period_rig_run(&rig);
  ck_assert_uint_eq(ring_slot(rig.ring, 1)->n_midi, 0);
  SCOPED(period_rig_free) PeriodRig other;
  period_rig_new(&other, (PeriodConfig){ .depth = 1 });
  period_rig_run(&other);
  ck_assert(!period_has_midi(other.period));
  ck_assert(!period_send_midi(other.period, &event, 1));
}

TEST(events_whose_frames_are_wrong_come_in_their_order)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  come(20, 1);
  come(3, 2);
  come(UINT32_MAX, 3);
  run(&rig, 2U * BLOCK);
  ck_assert_uint_eq(ring_slot(rig.ring, 0)->n_midi, 0);
  ck_assert_uint_eq(ring_slot(rig.ring, 1)->n_midi, 2);
  assert_event(&ring_midi(rig.ring, 1)[0], 20U - BLOCK, 1);
  assert_event(&ring_midi(rig.ring, 1)[1], 0, 2);
  ck_assert_uint_eq(period_counts(rig.period).midi_lost, 1); // the frame is in no block
}

TEST(a_hundred_thousand_events_are_bounded_and_counted)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  for (uint32_t e = 0; e < 100000U; ++e) {
    midi.n_lost += !come(e * BLOCK / 100000U, (uint8_t)(e % 128U));
  }
  run(&rig, BLOCK);
  PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(ring_slot(rig.ring, 0)->n_midi, MIDI_MAX_EVENTS);
  ck_assert_uint_eq(counts.midi_events, MIDI_MAX_EVENTS);
  ck_assert_uint_eq(counts.midi_lost, 100000U - MIDI_MAX_EVENTS);
  run(&rig, BLOCK); // the counts are those of the period
  counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.midi_lost, 100000U - MIDI_MAX_EVENTS);
}

TEST(events_without_a_block_are_lost_for_the_worker_only)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  for (uint32_t k = 0; k < SLOTS; ++k) {
    run(&rig, BLOCK); // no worker finishes them
  }
  come(1, 1);
  run(&rig, BLOCK); // dropped
  ck_assert_uint_eq(period_counts(rig.period).dropped, 1);
  ck_assert_uint_eq(period_counts(rig.period).midi_lost, 1);
  come(0, 2);
  come(BLOCK, 3);
  run(&rig, BLOCK + 1U); // an odd period
  ck_assert_uint_eq(period_counts(rig.period).midi_lost, 3);
  QueuedMidi came[4];
  ck_assert_uint_eq(period_take_midi(rig.period, came, 4), 3);
  ck_assert_uint_eq(came[2].frame, (SLOTS + 2U) * BLOCK);
  for (uint32_t e = 0; e < 3U; ++e) {
    ck_assert_int_eq(came[e].kind, QUEUED_MISSED);
  }
}

TEST(a_late_control_thread_gets_the_oldest_events)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  static QueuedMidi came[MIDI_QUEUE_EVENTS];
  for (uint32_t k = 0; k < MIDI_QUEUE_EVENTS / 100U + 2U; ++k) {
    for (uint32_t e = 0; e < 100U; ++e) {
      come(0, (uint8_t)(k % 128U));
    }
    run(&rig, BLOCK);
    period_rig_serve(&rig);
  }
  const uint32_t n = (MIDI_QUEUE_EVENTS / 100U + 2U) * 100U;
  ck_assert_uint_eq(period_counts(rig.period).midi_unheard, n - MIDI_QUEUE_EVENTS);
  ck_assert_uint_eq(period_take_midi(rig.period, came, MIDI_QUEUE_EVENTS), MIDI_QUEUE_EVENTS);
  for (uint32_t e = 0; e < MIDI_QUEUE_EVENTS; ++e) {
    if (came[e].frame != e / 100U * BLOCK) {
      ck_abort_msg("event %u has frame %llu", e, (unsigned long long)came[e].frame);
    }
  }
  come(0, 1);
  run(&rig, BLOCK);
  ck_assert_uint_eq(period_take_midi(rig.period, came, MIDI_QUEUE_EVENTS), 1);
}

TEST(only_messages_of_channels_and_real_time_are_events)
{
  static const struct {
    uint8_t bytes[6];
    size_t n_bytes;
    bool is_event, is_skipped;
  } messages[] = {
    { { 0x90, 60, 100 }, 3, true, false },
    { { 0xC5, 12 }, 2, true, false },
    { { 0xD0, 12 }, 2, true, false },
    { { 0xE0, 0, 64 }, 3, true, false },
    { { MIDI_CLOCK }, 1, true, false },
    { { MIDI_STOP }, 1, true, false },
    { { 0xFE }, 1, false, false },
    { { 0xF0, 1, 2, 3, 0xF7 }, 5, false, true },
    { { 0xF2, 1, 2 }, 3, false, true },
    { { 0xF1, 1 }, 2, false, true },
    { { 0x90, 60 }, 2, false, true },
    { { 0xC5, 12, 13 }, 3, false, true },
    { { 60, 100 }, 2, false, true },
    { { 0xB0, 200, 1 }, 3, false, true },
    { { 0xB0, 1, 200 }, 3, false, true },
    { { 0xB0, 1, 2, 3 }, 4, false, true },
    { { 0 }, 0, false, true },
  };
  memset(&midi, 0, sizeof(midi));
  for (uint32_t m = 0; m < ARRAY_LEN(messages); ++m) {
    midi_period_begin(&midi);
    ck_assert(midi_period_add(&midi, 7, messages[m].bytes, messages[m].n_bytes));
    ck_assert_msg(midi.in.n == messages[m].is_event, "message %u", m);
    ck_assert_msg(midi.n_skipped == messages[m].is_skipped, "message %u", m);
    ck_assert(!midi.in.n ||
              (midi.in.events[0].frame == 7U &&
               !memcmp(midi.in.events[0].bytes, messages[m].bytes, messages[m].n_bytes)));
  }
  midi_period_begin(&midi);
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  midi_period_add(&midi, 0, messages[7].bytes, messages[7].n_bytes);
  run(&rig, BLOCK);
  ck_assert_uint_eq(period_counts(rig.period).midi_skipped, 1);
}

/// Let a block with an event of a controller, and a note, begin.  Returns the number of its events.
static uint32_t
run_with_note(PeriodRig* const rig, const uint8_t value)
{
  static const uint8_t note[] = { 0x90, 60, 100 };
  const uint64_t sequence = ring_next(rig->ring);
  come(3, value);
  midi_period_add(&midi, 5, note, sizeof(note));
  run(rig, BLOCK);
  return ring_slot(rig->ring, sequence)->n_midi;
}

/// Take three entries: perhaps the end of a worker, an event of a controller, and a note.
static void
expect_came(const PeriodRig* const rig, const bool has_end, const QueuedKind kind,
            const QueuedKind note)
{
  QueuedMidi came[4];
  ck_assert_uint_eq(period_take_midi(rig->period, came, 2U + has_end), 2U + has_end);
  ck_assert(!has_end || came[0].kind == QUEUED_END);
  ck_assert_int_eq(came[has_end].kind, kind);
  ck_assert_uint_eq(came[has_end].event.bytes[0], 0xB0);
  ck_assert_int_eq(came[has_end + 1U].kind, note);
  ck_assert_uint_eq(came[has_end + 1U].event.bytes[0], 0x90);
}

TEST(a_worker_that_takes_over_gets_controllers_when_all_before_are_set)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  ck_assert_uint_eq(run_with_note(&rig, 1), 2U);
  expect_came(&rig, false, QUEUED_GIVEN, QUEUED_GIVEN);
  SCOPED_RING Ring* const old = rig.ring;
  rig.ring = period_rig_new_ring(&rig);
  ck_assert_ptr_null(period_offer_ring(rig.period, rig.ring));
  ck_assert_uint_eq(run_with_note(&rig, 2), 1U); // the note
  ck_assert_ptr_eq(period_collect_ring(rig.period), old);
  expect_came(&rig, true, QUEUED_MISSED, QUEUED_GIVEN);
  ck_assert_uint_eq(run_with_note(&rig, 3), 1U); // the control thread has set nothing
  expect_came(&rig, false, QUEUED_MISSED, QUEUED_GIVEN);
  period_rig_serve(&rig);
  ck_assert_uint_eq(run_with_note(&rig, 4), 1U);
  period_return_midi(rig.period, 1U); // it has set those before 4
  ck_assert_uint_eq(run_with_note(&rig, 5), 1U);
  expect_came(&rig, false, QUEUED_MISSED, QUEUED_GIVEN); // 4
  expect_came(&rig, false, QUEUED_MISSED, QUEUED_GIVEN); // 5
  period_return_midi(rig.period, 0U);
  ck_assert_uint_eq(run_with_note(&rig, 6), 2U);
  expect_came(&rig, false, QUEUED_GIVEN, QUEUED_GIVEN);
  ck_assert_uint_eq(period_counts(rig.period).midi_lost, 5U); // 2 to 5, and the one of the worker
}

TEST(the_end_of_a_worker_comes_once_and_before_the_events_without_one)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  (void)run_with_note(&rig, 1);
  expect_came(&rig, false, QUEUED_GIVEN, QUEUED_GIVEN);
  period_abandon(rig.period);
  (void)run_with_note(&rig, 2);
  expect_came(&rig, true, QUEUED_MISSED, QUEUED_MISSED);
  period_return_midi(rig.period, 0U);
  (void)run_with_note(&rig, 3);
  expect_came(&rig, false, QUEUED_MISSED, QUEUED_MISSED);
  period_return_midi(rig.period, 0U);
  SCOPED_RING Ring* const old = rig.ring;
  rig.ring = period_rig_new_ring(&rig);
  ck_assert_ptr_null(period_offer_ring(rig.period, rig.ring));
  ck_assert_uint_eq(run_with_note(&rig, 4), 1U); // the next one knows nothing of controllers
  expect_came(&rig, true, QUEUED_MISSED, QUEUED_GIVEN);
  period_return_midi(rig.period, 0U);
  ck_assert_uint_eq(run_with_note(&rig, 5), 2U);
  ck_assert_ptr_eq(period_collect_ring(rig.period), old);
}

TEST(the_end_of_a_worker_waits_for_room_in_the_queue)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  static QueuedMidi came[MIDI_QUEUE_EVENTS];
  for (uint32_t e = 0; e < MIDI_QUEUE_EVENTS; e += 16U) {
    for (uint32_t i = 0; i < 16U; ++i) {
      come(0, 1);
    }
    run(&rig, BLOCK);
    period_rig_serve(&rig);
  }
  period_abandon(rig.period);
  come(0, 2);
  run(&rig, BLOCK);
  ck_assert_uint_eq(period_counts(rig.period).midi_unheard, 1U);
  ck_assert_uint_eq(period_take_midi(rig.period, came, MIDI_QUEUE_EVENTS), MIDI_QUEUE_EVENTS);
  (void)run_with_note(&rig, 3);
  expect_came(&rig, true, QUEUED_MISSED, QUEUED_MISSED);
}

TEST(what_is_sent_leaves_with_the_next_period)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  run(&rig, BLOCK);
  ck_assert(period_has_midi(rig.period));
  static MidiEvent events[MIDI_MAX_EVENTS + 1U];
  for (uint32_t e = 0; e <= MIDI_MAX_EVENTS; ++e) {
    events[e] = (MidiEvent){ .n_bytes = 3, .bytes = { 0xB0, 7, (uint8_t)(e % 128U) } };
  }
  ck_assert(!period_send_midi(rig.period, events, MIDI_MAX_EVENTS + 1U));
  ck_assert(period_send_midi(rig.period, events, MIDI_MAX_EVENTS));
  ck_assert(period_send_midi(rig.period, events, 2));
  period_set_midi(rig.period, &midi);
  period_rig_run(&rig);
  ck_assert_uint_eq(midi.out.n, MIDI_MAX_EVENTS);
  ck_assert_uint_eq(midi.out.events[200].bytes[2], 200U % 128U);
  ck_assert_uint_eq(midi.out.events[200].frame, 0);
  midi_period_begin(&midi);
  midi.n_unsent = 3; // as the driver counts them
  period_set_midi(rig.period, &midi);
  period_rig_run(&rig);
  ck_assert_uint_eq(midi.out.n, 2);
  ck_assert_uint_eq(period_counts(rig.period).midi_unsent, 3);
  ck_assert_uint_eq(midi.n_unsent, 0);
  uint32_t n_sent = 0;
  while (period_send_midi(rig.period, events, 100)) { // all or none
    n_sent += 100U;
  }
  ck_assert_uint_eq(n_sent, MIDI_QUEUE_EVENTS / 100U * 100U);
}

SUITE_MAIN("period_midi")
