// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI in the player: an event sets its parameters at its frame, as a message of that frame does;
// what it finds depends on the messages before it; events without room are counted.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define FRAMES 8000U
#define RACK   "add g gain\nadd f lowpass 400\nconnect in g\nconnect g f\nconnect f out\n"
#define MAP                                                                                        \
  "midi cc 1:7 g.gain -60dB..0dB taper=linear\nmidi cc 1:7 f.frequency 100Hz..1000Hz taper=log\n"

static float in[FRAMES];
static float out[FRAMES];

static void
begin(RackRig* const rig, const char* const text, const uint32_t block)
{
  rack_rig_mono(rig, text, block);
  rig->player.reports = rig->messages; // from here on
}

static MidiEvent
control(const uint32_t frame, const uint8_t value)
{
  return (MidiEvent){ .frame = frame, .n_bytes = 3, .bytes = { 0xB0, 7, value } };
}

/// Play one block with events.
static void
play(RackRig* const rig, const MidiEvent* const events, const uint32_t n, const uint32_t n_frames)
{
  const float* const from[] = { in + rig->frame };
  float* const to[] = { out + rig->frame };
  ck_assert_uint_le(rig->frame + n_frames, FRAMES);
  player_give_midi(&rig->player, events, n);
  ck_assert(rack_rig_run(rig, from, to, n_frames, RIG_BLOCKS, 7U));
}

static double
target_of(const RackRig* const rig, const uint32_t node, const char* const id)
{
  const Node* const made = rig->player.plan->nodes[node].node;
  Error error;
  uint32_t param = 0;
  ck_assert_int_eq(rack_find_param(made->fx, id, &param, &error), STATUS_OK);
  return made->targets[param];
}

static uint32_t
n_reports(RackRig* const rig, const uint32_t kind)
{
  RingReport report;
  uint32_t n = 0;
  while (ring_take_report(rig->messages, &report)) {
    n += report.kind == kind && report.flags == REPORT_MIDI;
  }
  return n;
}

TEST(an_event_gives_the_samples_of_messages_at_its_frame)
{
  static const uint32_t blocks[] = { 32U, 64U, 1000U };
  static float expected[FRAMES];
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 0.5F;
  }
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    const uint32_t at = 2077U;
    SCOPED(rack_rig_free) RackRig rig;
    begin(&rig, RACK, blocks[b]);
    rack_rig_set(&rig, "g", "gain", -60.0, at);
    rack_rig_set(&rig, "f", "frequency", 100.0, at);
    rack_rig_set(&rig, "g", "gain", 0.0, at + 1000U);
    rack_rig_set(&rig, "f", "frequency", 1000.0, at + 1000U);
    play(&rig, NULL, 0U, FRAMES);
    memcpy(expected, out, sizeof(out));
    SCOPED(rack_rig_free) RackRig other;
    begin(&other, RACK MAP, blocks[b]);
    while (other.frame < FRAMES) {
      MidiEvent events[2];
      uint32_t n = 0;
      for (uint32_t e = 0; e < 2U; ++e) {
        const uint64_t frame = at + e * 1000U - other.frame;
        if (frame < blocks[b]) {
          events[n++] = control((uint32_t)frame, e ? 127U : 0U);
        }
      }
      play(&other, events, n, blocks[b]);
    }
    ck_assert_msg(!memcmp(out, expected, sizeof(out)), "blocks of %u frames", blocks[b]);
    SCOPED(rack_rig_free) RackRig replayed; // as a take is
    begin(&replayed, RACK, blocks[b]);
    RingReport report;
    uint32_t n = 0;
    while (ring_take_report(other.messages, &report)) {
      if (report.kind == REPORT_VALUE) {
        rack_rig_send(&replayed, &report.message);
        ++n;
      }
    }
    play(&replayed, NULL, 0U, FRAMES);
    ck_assert_uint_eq(n, 4U);
    ck_assert_msg(!memcmp(out, expected, sizeof(out)), "replayed, %u frames", blocks[b]);
  }
}

TEST(a_report_tells_the_frame_of_the_event)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK "midi cc 1:7 g.gain -60dB..0dB taper=linear\n", 64U);
  play(&rig, NULL, 0U, 64U);
  const MidiEvent events[] = { control(5U, 0U), control(9U, 127U), control(UINT32_MAX, 0U) };
  play(&rig, events, 3U, 64U);
  static const struct {
    uint64_t frame;
    double value;
  } expected[] = { { 69, -60.0 }, { 73, 0.0 }, { 127, -60.0 } };
  for (uint32_t e = 0; e < ARRAY_LEN(expected); ++e) {
    RingReport report;
    ck_assert(ring_take_report(rig.messages, &report));
    ck_assert_uint_eq(report.kind, REPORT_VALUE);
    ck_assert_uint_eq(report.flags, REPORT_MIDI);
    ck_assert_uint_eq(report.message.frame, expected[e].frame);
    ck_assert_double_eq_tol(report.message.value, expected[e].value, 1e-9);
  }
  ck_assert_uint_eq(n_reports(&rig, REPORT_VALUE), 0U);
}

/// The frame before which events are reported as run, by the last of the reports that are there; 0:
/// none is.  `n_values`: receives the number of values by MIDI before it.
static uint64_t
reported_events(RackRig* const rig, uint32_t* const n_values)
{
  RingReport report = { .kind = RING_N_REPORT_KINDS };
  *n_values = 0;
  while (ring_take_report(rig->messages, &report)) {
    *n_values += report.kind == REPORT_VALUE && (report.flags & REPORT_MIDI);
  }
  return report.kind == REPORT_EVENTS ? report.message.frame : 0U;
}

TEST(the_events_of_a_block_are_reported_with_their_values)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  uint32_t n_values = 0;
  play(&rig, NULL, 0U, 64U);
  (void)reported_events(&rig, &n_values); // the plan
  const MidiEvent event = control(5U, 0U);
  play(&rig, &event, 1U, 64U);
  ck_assert_uint_eq(reported_events(&rig, &n_values), 128U);
  ck_assert_uint_eq(n_values, 2U);
  play(&rig, NULL, 0U, 64U);
  ck_assert_uint_eq(reported_events(&rig, &n_values), 0U); // there was none
}

TEST(the_reports_of_events_that_go_on_in_the_next_block_wait_for_it)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  uint32_t n_values = 0;
  play(&rig, NULL, 0U, 64U);
  (void)reported_events(&rig, &n_values);
  static MidiEvent events[PLAYER_MAX_EVENTS];
  for (uint32_t e = 0; e < ARRAY_LEN(events); ++e) {
    events[e] = control(e / 16U, (uint8_t)(e % 127U)); // two values each
  }
  play(&rig, events, ARRAY_LEN(events), 64U);
  ck_assert_uint_eq(reported_events(&rig, &n_values), 0U);
  ck_assert_uint_eq(n_values, 0U);
  play(&rig, NULL, 0U, 64U);
  ck_assert_uint_eq(reported_events(&rig, &n_values), 192U);
  ck_assert_uint_eq(n_values, 2U * ARRAY_LEN(events));
}

TEST(events_are_reported_later_if_there_is_no_room)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  play(&rig, NULL, 0U, 64U);
  while (ring_report(rig.messages, &(RingReport){ .kind = REPORT_PLAN })) {
  }
  ring_publish_reports(rig.messages);
  const MidiEvent event = control(5U, 0U);
  play(&rig, &event, 1U, 64U);
  uint32_t n_values = 0;
  ck_assert_uint_eq(reported_events(&rig, &n_values), 0U);
  play(&rig, NULL, 0U, 64U);
  ck_assert_uint_eq(reported_events(&rig, &n_values), 192U);
}

TEST(an_event_finds_the_value_of_the_message_before_it)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK "midi cc 1:7 g.gain -60dB..0dB taper=linear pickup=on\n", 64U);
  const MidiEvent low[] = { control(0U, 10U), control(1U, 20U) };
  play(&rig, low, 2U, 64U); // the gain is at 0 dB, which the controller has not met
  ck_assert(target_of(&rig, 0U, "gain") == 0.0);
  rack_rig_set(&rig, "g", "gain", -50.0, 64U + 30U);
  const MidiEvent events[] = { control(20U, 21U), control(40U, 30U) };
  play(&rig, events, 2U, 64U); // passes -50 dB between the two, but from frame 30 on only
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), 30.0 / 127.0 * 60.0 - 60.0, 1e-9);
  ck_assert_uint_eq(n_reports(&rig, REPORT_VALUE), 1U);
}

TEST(events_without_a_line_and_bad_bytes_change_nothing)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  MidiEvent events[64];
  uint64_t seed = 5;
  for (uint32_t round = 0; round < 100U; ++round) {
    for (uint32_t e = 0; e < ARRAY_LEN(events); ++e) {
      const uint64_t random = signal_random(&seed);
      memcpy(&events[e], &random, sizeof(events[e]));
      events[e].bytes[0] |= 1U; // another channel, or no status at all
    }
    play(&rig, events, ARRAY_LEN(events), 64U);
  }
  ck_assert(target_of(&rig, 0U, "gain") == 0.0);
  ck_assert_uint_eq(n_reports(&rig, REPORT_VALUE), 0U);
}

TEST(an_edit_keeps_a_value_until_its_document_has_it)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  const MidiEvent event = control(0U, 0U);
  play(&rig, &event, 1U, 64U);
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), -60.0, 1e-9);
  rack_rig_edit(&rig, RACK MAP "set g.gain 0dB\n"); // sent before the value was in a document
  play(&rig, NULL, 0U, 64U);
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), -60.0, 1e-9);
  const uint64_t n_received = rig.player.n_received;
  rack_rig_send(&rig, &(ParamMessage){ .kind = MESSAGE_IN_DOCUMENT,
                                       .uid = rig.rack->nodes[0].uid,
                                       .value = -30.0 });
  play(&rig, NULL, 0U, 64U);
  ck_assert_uint_eq(rig.player.n_received, n_received + 1U);
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), -60.0, 1e-9); // it is not set again
  OK(rack_rig_plan(&rig, rack_of(RACK MAP "set g.gain -1dB\n", rig.rack), &error));
  play(&rig, NULL, 0U, 64U);
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), -1.0, 1e-9);
}

TEST(a_full_player_counts_what_it_drops)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  for (uint32_t m = 0; m < WAITING_MAX - 2U; ++m) {
    rack_rig_set(&rig, "g", "gain", -1.0, 1000000U);
    if (m % 16U == 15U) {
      play(&rig, NULL, 0U, 1U);
    }
  }
  play(&rig, NULL, 0U, 64U);
  MidiEvent events[8];
  for (uint32_t e = 0; e < ARRAY_LEN(events); ++e) {
    events[e] = control(e, 127U);
  }
  play(&rig, events, ARRAY_LEN(events), 64U);
  WorkerCounts counts;
  counters_read(rig.player.counts.of, N_WORKER_COUNTS, counts.of);
  // Room for two events; each makes room for one of its two changes, the first for both.
  ck_assert_uint_ge(counts.midi_dropped, 6U);
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), 0.0, 1e-9);
}

TEST(many_events_in_a_block_follow_in_the_next_ones)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK MAP, 64U);
  static MidiEvent events[1024];
  for (uint32_t e = 0; e < ARRAY_LEN(events); ++e) {
    events[e] = control(e / 16U, (uint8_t)(e % 127U));
  }
  events[1023] = control(63U, 127U);
  play(&rig, events, ARRAY_LEN(events), 64U);
  play(&rig, NULL, 0U, 64U);
  play(&rig, NULL, 0U, 64U);
  ck_assert_uint_eq(n_reports(&rig, REPORT_VALUE), 2U * ARRAY_LEN(events));
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), 0.0, 1e-9);
  ck_assert_double_eq_tol(target_of(&rig, 1U, "frequency"), 1000.0, 1e-6);
}

TEST(a_new_worker_knows_what_controllers_have_sent)
{
  static const uint8_t sent[][2] = { { 10, 64 }, { 6, 5 }, { 99, 2 }, { 98, 4 }, { 6, 100 } };
  MidiDecoder before;
  MidiReading readings[MIDI_MAX_READINGS];
  static MidiEvent known[MIDI_KNOWN_EVENTS];
  midi_decoder_init(&before);
  for (uint32_t s = 0; s < ARRAY_LEN(sent); ++s) {
    const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB1, sent[s][0], sent[s][1] } };
    (void)midi_decode(&before, &event, readings);
  }
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig,
        RACK "midi nrpn 2:260 g.gain -60dB..0dB taper=linear\n"
             "midi cc14 2:10 f.frequency 100Hz..1000Hz taper=log\n",
        64U);
  const MidiEvent older = { .n_bytes = 3, .bytes = { 0xB1, 42, 1 } }; // a lower half
  play(&rig, &older, 1U, 64U);
  rack_rig_send(&rig, &(ParamMessage){ .kind = MESSAGE_MIDI_FORGET });
  const uint32_t n = midi_decoder_known(&before, known);
  for (uint32_t e = 0; e < n; ++e) {
    rack_rig_send(&rig, &(ParamMessage){ .kind = MESSAGE_MIDI_KNOWN,
                                         .uid = known[e].n_bytes,
                                         .param = midi_event_word(&known[e]) });
  }
  play(&rig, NULL, 0U, 64U);
  ck_assert_double_eq_tol(target_of(&rig, 1U, "frequency"), 400.0, 1e-6); // nothing is set
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), 0.0, 1e-9);
  const MidiEvent next[] = { { .n_bytes = 3, .bytes = { 0xB1, 38, 3 } },
                             { .n_bytes = 3, .bytes = { 0xB1, 42, 2 } } };
  play(&rig, next, ARRAY_LEN(next), 64U);
  const double gain = -60.0 + 60.0 * (100.0 * 128.0 + 3.0) / 16383.0;
  const double octaves = (64.0 * 128.0 + 2.0) / 16383.0;
  ck_assert_double_eq_tol(target_of(&rig, 0U, "gain"), gain, 1e-3);
  ck_assert_double_eq_tol(target_of(&rig, 1U, "frequency"), 100.0 * pow(10.0, octaves), 0.1);
}

SUITE_MAIN("midi")
