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

static void
begin(PeriodRig* const rig)
{
  memset(&midi, 0, sizeof(midi));
  period_rig_new(rig, (PeriodConfig){ .depth = 1 });
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
  MidiHeard heard[8];
  ck_assert_uint_eq(period_take_midi(rig.period, heard, 2), 2);
  ck_assert_uint_eq(period_take_midi(rig.period, heard + 2, 8), 3);
  static const uint64_t frames[] = { 0, BLOCK - 1U, BLOCK, 2U * BLOCK + 5U, 2U * BLOCK + 5U };
  for (uint32_t e = 0; e < 5U; ++e) {
    ck_assert_uint_eq(heard[e].frame, BLOCK + frames[e]);
    assert_event(&heard[e].event, 0, (uint8_t)(e + 1U));
    ck_assert(!heard[e].is_missed);
  }
  ck_assert_uint_eq(period_take_midi(rig.period, heard, 8), 0);
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
  MidiHeard heard[4];
  ck_assert_uint_eq(period_take_midi(rig.period, heard, 4), 3);
  ck_assert_uint_eq(heard[2].frame, (SLOTS + 2U) * BLOCK);
  ck_assert(heard[0].is_missed && heard[1].is_missed && heard[2].is_missed);
}

TEST(a_late_control_thread_gets_the_oldest_events)
{
  SCOPED(period_rig_free) PeriodRig rig;
  begin(&rig);
  static MidiHeard heard[MIDI_QUEUE_EVENTS];
  for (uint32_t k = 0; k < MIDI_QUEUE_EVENTS / 100U + 2U; ++k) {
    for (uint32_t e = 0; e < 100U; ++e) {
      come(0, (uint8_t)(k % 128U));
    }
    run(&rig, BLOCK);
    period_rig_serve(&rig);
  }
  const uint32_t n = (MIDI_QUEUE_EVENTS / 100U + 2U) * 100U;
  ck_assert_uint_eq(period_counts(rig.period).midi_unheard, n - MIDI_QUEUE_EVENTS);
  ck_assert_uint_eq(period_take_midi(rig.period, heard, MIDI_QUEUE_EVENTS), MIDI_QUEUE_EVENTS);
  for (uint32_t e = 0; e < MIDI_QUEUE_EVENTS; ++e) {
    if (heard[e].frame != e / 100U * BLOCK) {
      ck_abort_msg("event %u has frame %llu", e, (unsigned long long)heard[e].frame);
    }
  }
  come(0, 1);
  run(&rig, BLOCK);
  ck_assert_uint_eq(period_take_midi(rig.period, heard, MIDI_QUEUE_EVENTS), 1);
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

/// Let a block with two events be run, and a block with one event not.
static void
run_half(PeriodRig* const rig)
{
  MidiHeard heard[8];
  begin(rig);
  come(0, 1);
  come(5, 2);
  run(rig, BLOCK);
  period_rig_serve(rig);
  come(7, 3);
  run(rig, BLOCK);
  run(rig, BLOCK);
  ck_assert_uint_eq(period_take_midi(rig->period, heard, 8), 3);
}

/// Expect that the event of the block that was not run is lost, and after that one that comes now.
static void
expect_lost(const PeriodRig* const rig, const bool is_missed)
{
  MidiHeard heard[8];
  ck_assert_uint_eq(period_take_midi(rig->period, heard, 8), 2);
  ck_assert_uint_eq(heard[0].frame, BLOCK);
  ck_assert_uint_eq(heard[0].event.n_bytes, 0);
  assert_event(&heard[1].event, 0, 4);
  ck_assert(heard[1].is_missed == is_missed);
  ck_assert_uint_eq(period_counts(rig->period).midi_lost, 1U + is_missed);
}

TEST(events_that_a_worker_has_not_run_are_lost_when_another_takes_over)
{
  SCOPED(period_rig_free) PeriodRig rig;
  run_half(&rig);
  SCOPED_RING Ring* const old = rig.ring;
  rig.ring = period_rig_new_ring(&rig);
  ck_assert_ptr_null(period_offer_ring(rig.period, rig.ring));
  come(2, 4);
  run(&rig, BLOCK);
  expect_lost(&rig, false);
  ck_assert_ptr_eq(period_collect_ring(rig.period), old);
}

TEST(events_that_a_worker_has_not_run_are_lost_when_it_has_ended)
{
  SCOPED(period_rig_free) PeriodRig rig;
  run_half(&rig);
  period_abandon(rig.period);
  come(2, 4);
  run(&rig, BLOCK);
  expect_lost(&rig, true);
  MidiHeard heard[8];
  run(&rig, BLOCK);
  ck_assert_uint_eq(period_take_midi(rig.period, heard, 8), 0); // only once
}

TEST(events_of_a_block_that_was_begun_are_not_lost_with_its_worker)
{
  SCOPED(period_rig_free) PeriodRig rig;
  run_half(&rig);
  ring_finish_midi(rig.ring); // of the block that was run
  ring_finish_midi(rig.ring); // the worker ends in the effects of the second one
  period_abandon(rig.period);
  come(2, 4);
  run(&rig, BLOCK);
  MidiHeard heard[8];
  ck_assert_uint_eq(period_take_midi(rig.period, heard, 8), 1);
  assert_event(&heard[0].event, 0, 4);
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
