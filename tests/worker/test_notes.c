// SPDX-License-Identifier: GPL-3.0-or-later
// Notes: they begin and end at their frames, none goes on after its end, and those that find no
// room in a block follow in the next one.

#include "tests/support/plan_rig.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK     PLAN_RIG_BLOCK
#define MAX_NODES 4U

// ---- an instrument: the sum of the velocities of all keys that are pressed ----

typedef struct Keys {
  const void* node;
  float velocities[FX_KEYS];
  FxEvent events[FX_MAX_EVENTS];
  uint32_t frames[FX_MAX_EVENTS];
  uint32_t n_events;
} Keys;

static Keys all_keys[MAX_NODES];
static char calls[4096]; // "on60@5 off60@7 run64 "

static void PRINTF_LIKE(1, 2) record(const char* const format, ...)
{
  va_list arguments;
  const size_t n = strlen(calls);
  va_start(arguments, format);
  vsnprintf(calls + n, sizeof(calls) - n, format, arguments);
  va_end(arguments);
}

static Keys*
keys_of(const void* const node)
{
  uint32_t k = 0;
  while (all_keys[k].node && all_keys[k].node != node) {
    ++k;
    ck_assert_uint_lt(k, MAX_NODES);
  }
  all_keys[k].node = node;
  return &all_keys[k];
}

static void
on_event(void* const node, const FxEvent* const event, const uint32_t frame)
{
  Keys* const keys = keys_of(node);
  ck_assert_uint_lt(keys->n_events, FX_MAX_EVENTS);
  ck_assert(!keys->n_events || keys->frames[keys->n_events - 1U] <= frame);
  ck_assert(event->kind == FX_NOTE_OFF || event->velocity > 0.0F);
  keys->events[keys->n_events] = *event;
  keys->frames[keys->n_events++] = frame;
  record("%s%u@%u ", event->kind == FX_NOTE_ON ? "on" : "off", event->key, frame);
}

static void
press(Keys* const keys, const FxEvent* const event)
{
  const bool is_on = event->kind == FX_NOTE_ON;
  ck_assert(!is_on || keys->velocities[event->key] == 0.0F); // one note per key
  keys->velocities[event->key] = is_on ? event->velocity : 0.0F;
}

static void
run_keys(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  record("run%u ", n_frames);
  for (uint32_t u = 0; u < n_units; ++u) {
    Keys* const keys = keys_of(units[u].node);
    uint32_t next = 0;
    for (uint32_t f = 0; f < n_frames; ++f) {
      for (; next < keys->n_events && keys->frames[next] <= f; ++next) {
        press(keys, &keys->events[next]);
      }
      float sum = 0.0F;
      for (uint32_t k = 0; k < FX_KEYS; ++k) {
        sum += keys->velocities[k];
      }
      units[u].out[0][f] = sum;
    }
    ck_assert_uint_eq(next, keys->n_events); // none is for a later run
    keys->n_events = 0;
  }
}

static FxInfo instrument;

// ---- a rack of it ----

static PlanRig rig;

/// Change to a rack, whose nodes "x..." are the instrument.  `variant`: of their structural value.
static void
play_rack(const char* const text, const uint32_t variant, const Rack* const previous)
{
  OK(rack_rig_plan(&rig.base, grouped_rack_of(text, &instrument, variant, 1U, previous), &error));
}

#define ONE "add x gain\nconnect x out"

static void
set_up(void)
{
  instrument = grouped_fx;
  instrument.is_source = true;
  instrument.event = on_event;
  instrument.run = run_keys;
  memset(all_keys, 0, sizeof(all_keys));
  plan_rig_init(&rig, 1U, 0.0F);
  play_rack(ONE, 1U, NULL);
  calls[0] = '\0';
}

static void
tear_down(void)
{
  plan_rig_clear(&rig);
}

static void
play(void)
{
  plan_rig_play(&rig);
}

static void
send_message(const ParamMessage message)
{
  ck_assert(ring_send(rig.base.messages, &message, 1U));
}

/// Press a key of the first node, or with velocity 0 release it, at a frame; 0: at once.
static void
note(const uint64_t frame, const uint32_t key, const double velocity, const uint32_t n_frames)
{
  send_message((ParamMessage){ .frame = frame,
                               .uid = rig.base.rack->nodes[0].uid,
                               .param = key,
                               .value = velocity,
                               .kind = MESSAGE_NOTE,
                               .n_frames = n_frames });
}

static void
notes_off(void)
{
  send_message((ParamMessage){ .uid = rig.base.rack->nodes[0].uid, .kind = MESSAGE_NOTES_OFF });
}

static uint64_t
count_of(const char* const name)
{
  for (uint32_t c = 0; c < N_WORKER_COUNTERS; ++c) {
    if (!strcmp(worker_counters[c].name, name)) {
      return atomic_load(&rig.base.player.counts.of[c]);
    }
  }
  ck_abort_msg("no counter %s", name);
}

// ---- frames ----

TEST(a_note_begins_and_ends_at_its_frames)
{
  const uint64_t lengths[] = { 1, 5, BLOCK, 3U * BLOCK + 7U };
  for (size_t l = 0; l < ARRAY_LEN(lengths); ++l) {
    for (uint32_t offset = 0; offset < BLOCK; ++offset) {
      const uint64_t begin = rig.base.frame + BLOCK + offset;
      note(begin, 60, 0.5, (uint32_t)lengths[l]);
      while (rig.base.frame < begin + lengths[l] + BLOCK) {
        const uint64_t first = rig.base.frame;
        play();
        for (uint32_t f = 0; f < BLOCK; ++f) {
          const bool sounds = first + f >= begin && first + f < begin + lengths[l];
          ck_assert_float_eq(rig.out[0][f], sounds ? 0.5F : 0.0F);
        }
      }
    }
  }
  ck_assert_uint_eq(count_of("notes_played"), ARRAY_LEN(lengths) * BLOCK);
  ck_assert_uint_eq(count_of("notes_late") + count_of("notes_dropped"), 0);
}

TEST(a_note_without_a_length_ends_by_a_message)
{
  note(0, 60, 1.0, 0);
  for (uint32_t b = 0; b < 100U; ++b) {
    play();
    ck_assert_float_eq(rig.out[0][BLOCK - 1U], 1.0F);
  }
  note(rig.base.frame + 10U, 60, 0.0, 0);
  play();
  ck_assert_float_eq(rig.out[0][9], 1.0F);
  ck_assert_float_eq(rig.out[0][10], 0.0F);
}

TEST(a_note_without_a_frame_has_its_whole_length)
{
  note(0, 60, 1.0, 70);
  play();
  ck_assert_float_eq(rig.out[0][0], 1.0F);
  play();
  ck_assert_float_eq(rig.out[0][5], 1.0F);
  ck_assert_float_eq(rig.out[0][6], 0.0F);
}

TEST(several_keys_sound_at_once)
{
  const uint64_t begin = rig.base.frame;
  note(begin + 10U, 60, 0.25, 100);
  note(begin + 20U, 64, 0.5, 100);
  note(begin + 30U, 67, 0.125, 10);
  play();
  ck_assert_float_eq(rig.out[0][15], 0.25F);
  ck_assert_float_eq(rig.out[0][25], 0.75F);
  ck_assert_float_eq(rig.out[0][35], 0.875F);
  ck_assert_float_eq(rig.out[0][40], 0.75F);
  play();
  ck_assert_float_eq(rig.out[0][46], 0.5F); // frame 110
  ck_assert_float_eq(rig.out[0][56], 0.0F);
}

TEST(a_key_has_one_note_which_another_one_ends)
{
  note(rig.base.frame + 5U, 60, 1.0, 40);
  note(rig.base.frame + 20U, 60, 0.5, 30); // ends at 50; the end of the first one, at 45, is void
  play();
  ck_assert_str_eq(calls, "on60@5 off60@20 on60@20 off60@50 run64 ");
}

TEST(a_note_may_follow_at_the_frame_where_another_one_of_its_key_ends)
{
  note(rig.base.frame + 5U, 60, 1.0, 10);
  note(rig.base.frame + 15U, 60, 0.5, 10);
  play();
  ck_assert_str_eq(calls, "on60@5 off60@15 on60@15 off60@25 run64 ");
}

TEST(the_end_of_a_key_that_is_not_pressed_does_nothing)
{
  note(0, 60, 0.0, 0);
  note(0, 61, 1.0, 0);
  note(0, 61, 0.0, 0);
  note(0, 61, 0.0, 0);
  play();
  ck_assert_str_eq(calls, "on61@0 off61@0 run64 ");
}

TEST(all_notes_of_a_node_end_together)
{
  note(0, 1, 0.5, 0);
  note(0, 127, 0.5, 1000);
  play();
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 1.0F);
  notes_off();
  play();
  ck_assert_float_eq(rig.out[0][0], 0.0F);
  calls[0] = '\0';
  notes_off();
  play();
  ck_assert_str_eq(calls, "run64 ");
}

TEST(notes_do_not_cut_a_run_that_values_cut)
{
  static const FxOrigin origin = { "lv2", "urn:test:notes" };
  instrument.origin = &origin;
  instrument.set_at = grouped_set_at;
  instrument.cut_at_events = true;
  play_rack(ONE, 1U, NULL);
  calls[0] = '\0';
  const RackUid uid = rig.base.rack->nodes[0].uid;
  note(rig.base.frame + 3U, 60, 1.0, 0);
  note(rig.base.frame + 30U, 61, 1.0, 15);
  send_message((ParamMessage){
      .frame = rig.base.frame + 10U, .uid = uid, .param = GROUPED_GAIN, .value = 2.0 });
  send_message((ParamMessage){
      .frame = rig.base.frame + 40U, .uid = uid, .param = GROUPED_GAIN, .value = 1.0 });
  play();
  ck_assert_str_eq(calls, "on60@3 run10 on61@20 run30 off61@5 run24 ");
}

// ---- room ----

TEST(notes_that_find_no_room_in_a_block_follow_in_the_next_one)
{
  const uint32_t n = 2U * PLAYER_MAX_EVENTS;
  for (uint32_t i = 0; i < n; ++i) {
    note(rig.base.frame + 1U, i % FX_KEYS, 1.0 / FX_KEYS, 0); // ends the one before of its key
  }
  play();
  ck_assert_uint_lt(count_of("notes_played"), PLAYER_MAX_EVENTS);
  ck_assert_uint_eq(count_of("notes_late"), 0);
  for (uint32_t b = 0; b < 4U; ++b) {
    play();
  }
  ck_assert_uint_eq(count_of("notes_played"), n);
  ck_assert_uint_gt(count_of("notes_late"), n / 2U);
  ck_assert_uint_eq(count_of("notes_dropped"), 0);
  ck_assert_float_eq(rig.out[0][0], 1.0F); // all keys
  notes_off();
  play();
  ck_assert_float_eq(rig.out[0][0], 0.0F);
}

TEST(ends_by_length_have_room_when_the_heap_is_full)
{
  for (uint32_t i = 0; i < WAITING_MAX; ++i) {
    note(rig.base.frame + 1U + i / 16U, i % FX_KEYS, 0.5, 100);
  }
  play(); // fills the heap
  for (uint32_t i = 0; i < 1000U; ++i) {
    note(1000000, i % FX_KEYS, 0.5, 100); // wait in the ring, then in the heap
  }
  for (uint32_t b = 0; b < 20U; ++b) {
    play();
  }
  ck_assert_uint_eq(count_of("notes_played"), WAITING_MAX);
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 0.0F);
}

TEST(long_notes_that_end_early_leave_room)
{
  const uint32_t n = WAITING_MAX + 100U;
  const RackUid uid = rig.base.rack->nodes[0].uid;
  for (uint32_t i = 0; i < n; ++i) {
    note(0, i % 3U, 1.0, UINT32_MAX); // ends the one before of its key
    if (i % 256U == 255U || i + 1U == n) {
      play();
    }
  }
  play(); // a full heap takes them from here on
  play();
  ck_assert_uint_eq(count_of("notes_played"), n);
  const uint64_t n_applied = count_of("params_applied");
  send_message((ParamMessage){ .uid = uid, .param = GROUPED_GAIN, .value = 2.0 });
  notes_off();
  play();
  ck_assert_uint_eq(count_of("params_applied"), n_applied + 1U);
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 0.0F);
}

// ---- edits ----

TEST(the_notes_of_a_removed_node_end)
{
  note(0, 60, 1.0, 0);
  note(0, 61, 1.0, 100000);
  play();
  calls[0] = '\0';
  play_rack("connect in out", 1U, NULL);
  play();
  assert_says(calls, "off60@0 off61@0 run64 ");
}

TEST(a_node_that_is_made_anew_begins_without_notes)
{
  note(0, 60, 1.0, 2U * BLOCK + 10U);
  note(0, 61, 1.0, 0);
  play();
  calls[0] = '\0';
  play_rack(ONE, 2U, rig.base.rack); // a structural value
  note(0, 60, 1.0, 0);
  play();
  assert_says(calls, "off60@0 off61@0 ");
  assert_says(calls, "on60@0 ");
  ck_assert_ptr_ne(all_keys[1].node, NULL);
  calls[0] = '\0';
  play(); // the end of the first note comes now: it is not for the new one
  play();
  ck_assert_ptr_eq(strstr(calls, "off"), NULL);
  note(0, 60, 0.0, 0);
  play();
  assert_says(calls, "off60@0 ");
}

TEST(the_notes_of_a_node_that_an_edit_keeps_go_on)
{
  note(0, 60, 1.0, BLOCK + 10U);
  play();
  calls[0] = '\0';
  play_rack("add x gain\nadd g gain\nconnect x out\nconnect in g\nconnect g out", 1U, NULL);
  play();
  ck_assert_str_eq(calls, "off60@10 run64 ");
}

// ---- the end of audio ----

TEST(all_notes_end_with_the_audio)
{
  note(0, 60, 1.0, 0);
  note(0, 61, 1.0, 100000);
  play();
  calls[0] = '\0';
  note(rig.base.frame + 100U, 62, 1.0, 0); // is not played
  player_drain(&rig.base.player, rig.base.messages);
  ck_assert_str_eq(calls, "off60@0 off61@0 ");
  play();
  ck_assert_float_eq(rig.out[0][0], 0.0F);
  ck_assert_uint_eq(count_of("notes_dropped"), 1);
}

// ---- messages of a faulty sender ----

// ---- MIDI ----

/// Let the notes of a channel, from 0, play the first node.
static void
map_channel(const uint8_t channel)
{
  static MidiTarget target;
  target = (MidiTarget){ .source = { .kind = MIDI_NOTES, .channel = channel },
                         .uid = rig.base.rack->nodes[0].uid };
  rig.base.player.plan->midi = (MidiTable){ &target, 1U };
}

/// Play a block with three-byte MIDI events.
static void
play_midi(const MidiEvent* const events, const uint32_t n)
{
  player_give_midi(&rig.base.player, events, n);
  play();
}

#define MIDI(frame_, a, b, c)                                                                      \
  {                                                                                                \
    .frame = (frame_), .n_bytes = 3, .bytes = {(a), (b), (c) }                                     \
  }

TEST(midi_plays_notes_at_their_frames)
{
  map_channel(2);
  const MidiEvent chord[] = { MIDI(3, 0x92, 60, 127), MIDI(3, 0x91, 62, 127),
                              MIDI(10, 0x92, 64, 127), MIDI(20, 0x82, 60, 5) };
  play_midi(chord, ARRAY_LEN(chord));
  ck_assert_float_eq(rig.out[0][2], 0.0F);
  ck_assert_float_eq(rig.out[0][3], 1.0F); // the other channel is silent
  ck_assert_float_eq(rig.out[0][9], 1.0F);
  ck_assert_float_eq(rig.out[0][10], 2.0F);
  ck_assert_float_eq(rig.out[0][20], 1.0F);
  const MidiEvent end[] = { MIDI(7, 0x92, 64, 0) };
  play_midi(end, ARRAY_LEN(end));
  ck_assert_float_eq(rig.out[0][6], 1.0F);
  ck_assert_float_eq(rig.out[0][7], 0.0F);
  ck_assert_uint_eq(count_of("notes_played"), 2);
  ck_assert_uint_eq(count_of("notes_dropped") + count_of("midi_dropped"), 0);
}

TEST(midi_ends_all_notes_of_a_channel)
{
  map_channel(0);
  MidiEvent events[100];
  for (uint32_t e = 0; e < ARRAY_LEN(events); ++e) {
    events[e] = (MidiEvent)MIDI(0, 0x90, (uint8_t)e, 127);
  }
  play_midi(events, ARRAY_LEN(events));
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 100.0F);
  const MidiEvent off[] = { MIDI(33, 0xB0, 123, 0) };
  play_midi(off, ARRAY_LEN(off));
  ck_assert_float_eq(rig.out[0][32], 100.0F);
  ck_assert_float_eq(rig.out[0][33], 0.0F);
}

TEST(notes_by_midi_are_bounded_in_a_block_and_none_goes_on)
{
  map_channel(0);
  static MidiEvent events[1024];
  for (uint32_t e = 0; e < ARRAY_LEN(events); ++e) {
    events[e] = (MidiEvent)MIDI(e / 16U, 0x90, (uint8_t)(e % 128U), (uint8_t)(e % 3U ? 100 : 0));
  }
  play_midi(events, ARRAY_LEN(events)); // each may make two events; the rest follows
  const MidiEvent off[] = { MIDI(0, 0xB0, 120, 0) };
  play_midi(off, 1U);
  play();
  play();
  ck_assert_float_eq(rig.out[0][BLOCK - 1U], 0.0F);
  ck_assert_uint_eq(count_of("midi_dropped"), 0);
}

TEST(wrong_messages_are_counted)
{
  const RackUid uid = rig.base.rack->nodes[0].uid;
  play_rack("add x gain\nadd g gain\nconnect x out\nconnect in g\nconnect g out", 1U, NULL);
  calls[0] = '\0';
  const RackUid other = rig.base.rack->nodes[1].uid;
  const ParamMessage wrong[] = {
    { .uid = uid, .param = FX_KEYS, .value = 1.0, .kind = MESSAGE_NOTE },
    { .uid = uid, .param = UINT32_MAX, .value = 1.0, .kind = MESSAGE_NOTE },
    { .uid = uid, .param = 60, .value = 1.5, .kind = MESSAGE_NOTE },
    { .uid = uid, .param = 60, .value = -0.5, .kind = MESSAGE_NOTE },
    { .uid = uid, .param = 60, .value = (double)NAN, .kind = MESSAGE_NOTE },
    { .uid = 999, .param = 60, .value = 1.0, .kind = MESSAGE_NOTE },
    { .uid = other, .param = 60, .value = 1.0, .kind = MESSAGE_NOTE },
    { .uid = other, .value = 0.0, .kind = MESSAGE_NOTES_OFF },
  };
  for (size_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    send_message(wrong[w]);
  }
  play();
  ck_assert_str_eq(calls, "run64 ");
  ck_assert_uint_eq(count_of("notes_dropped"), ARRAY_LEN(wrong));
  ck_assert_uint_eq(count_of("params_dropped"), 0);
  send_message((ParamMessage){ .uid = uid, .param = 60, .value = 1.0, .kind = MESSAGE_N_KINDS });
  play();
  ck_assert_str_eq(calls, "run64 run64 ");
  ck_assert_uint_eq(count_of("params_dropped"), 1);
}

TEST(a_note_that_comes_after_its_frame_is_counted)
{
  play();
  play();
  note(1, 60, 1.0, 10);
  play();
  ck_assert_str_eq(calls, "run64 run64 on60@0 off60@10 run64 ");
  ck_assert_uint_eq(count_of("notes_late"), 1);
}

TEST(late_notes_that_find_no_room_in_a_block_are_counted_once)
{
  const uint32_t n = 2U * PLAYER_MAX_EVENTS;
  play();
  play();
  for (uint32_t i = 0; i < n; ++i) {
    note(1, i % FX_KEYS, 1.0 / FX_KEYS, 0);
  }
  for (uint32_t b = 0; b < 5U; ++b) {
    play();
  }
  ck_assert_uint_eq(count_of("notes_played"), n);
  ck_assert_uint_eq(count_of("notes_late"), n);
}

SUITE_MAIN_WITH("notes", set_up, tear_down)
