// SPDX-License-Identifier: GPL-3.0-or-later
// Reports of the player: each message that it applies, with its frame, and each plan; what it does
// not apply is not reported.  Played again from the reports, the samples are the same.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <string.h>

#define FRAMES 12000U
#define MOST   64U // reports of a test
#define RACK   "g: gain | f: lowpass 400 order=4 | d: delay 5ms mix=30% | i: invert"

static float in[FRAMES];
static float out[FRAMES];
static float reference[FRAMES];

static void
begin(RackRig* const rig, const char* const text, const uint32_t block)
{
  rack_rig_mono(rig, text, block);
  rig->player.reports = rig->messages; // from here on
}

static void
play(RackRig* const rig, const uint32_t n_frames)
{
  const float* const from[] = { in + rig->frame };
  float* const to[] = { out + rig->frame };
  ck_assert_uint_le(rig->frame + n_frames, FRAMES);
  ck_assert(rack_rig_run(rig, from, to, n_frames, RIG_BLOCKS, 7U));
}

static RingReport
next_report(RackRig* const rig)
{
  RingReport report;
  ck_assert(ring_take_report(rig->messages, &report));
  return report;
}

static void
expect_none(RackRig* const rig)
{
  RingReport report;
  ck_assert(!ring_take_report(rig->messages, &report));
  ck_assert_uint_eq(ring_reports_lost(rig->messages), 0U);
}

TEST(a_message_is_reported_with_the_frame_from_which_it_applies)
{
  static const struct {
    uint64_t sent, applied;
  } frames[] = { { 0, 64 }, { 10, 64 }, { 64, 64 }, { 100, 100 }, { 128, 128 }, { 300, 300 } };
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK, 64U);
  play(&rig, 64U);
  for (uint32_t f = 0; f < ARRAY_LEN(frames); ++f) {
    rack_rig_fade(&rig, "g", "gain", -1.0 - f, frames[f].sent, f * 100U, CURVE_S);
  }
  play(&rig, 512U);
  for (uint32_t f = 0; f < ARRAY_LEN(frames); ++f) {
    const RingReport report = next_report(&rig);
    ck_assert_uint_eq(report.kind, REPORT_VALUE);
    ck_assert_uint_eq(report.number, f + 1U);
    ck_assert_uint_eq(report.message.frame, frames[f].applied);
    ck_assert_uint_eq(report.message.uid, rig.rack->nodes[0].uid);
    ck_assert(report.message.value == -1.0 - f);
    ck_assert_uint_eq(report.message.fade_frames, f * 100U);
    ck_assert_uint_eq(report.message.curve, CURVE_S);
  }
  expect_none(&rig);
}

TEST(messages_that_are_not_applied_are_not_reported)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK, 64U);
  const RackUid uid = rig.rack->nodes[0].uid;
  rack_rig_send(&rig, &(ParamMessage){ .uid = 999U, .value = -1.0 });
  rack_rig_send(&rig, &(ParamMessage){ .uid = uid, .value = 1e9 });
  rack_rig_send(&rig, &(ParamMessage){ .uid = uid, .kind = MESSAGE_NOTE, .value = 1.0 });
  rack_rig_send(&rig, &(ParamMessage){ .uid = uid, .kind = 77U });
  play(&rig, 128U);
  expect_none(&rig);
}

TEST(a_plan_is_reported_before_what_follows_it)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK, 64U);
  rack_rig_set(&rig, "g", "gain", -3.0, 0U);
  play(&rig, 64U);
  rack_rig_set(&rig, "f", "frequency", 500.0, 0U);
  rack_rig_edit(&rig, RACK " | h: gain -6dB");
  play(&rig, 64U);
  ck_assert_uint_eq(next_report(&rig).message.frame, 0U);
  const RingReport plan = next_report(&rig);
  ck_assert_uint_eq(plan.kind, REPORT_PLAN);
  ck_assert_uint_eq(plan.message.frame, 64U);
  ck_assert_uint_eq(plan.planned, 64U);
  ck_assert_uint_eq(plan.number, 0U);
  ck_assert_uint_eq(plan.flags, REPORT_UNASKED); // the rig is nobody's edit
  ck_assert(next_report(&rig).message.value == 500.0);
  expect_none(&rig);
}

TEST(reports_that_nobody_reads_are_lost_and_counted)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK, 1U);
  const uint32_t n_rounds = 3U;
  for (uint32_t r = 0; r < n_rounds; ++r) {
    for (uint32_t m = 0; m < WAITING_MAX; ++m) {
      rack_rig_set(&rig, "g", "gain", -1.0, 0U);
    }
    play(&rig, WAITING_MAX / PLAYER_MAX_EVENTS);
  }
  RingReport report;
  uint32_t n = 0;
  for (; ring_take_report(rig.messages, &report); ++n) {
    ck_assert_uint_eq(report.number, n + 1U);
  }
  ck_assert_uint_eq(n, 2U * WAITING_MAX);
  ck_assert_uint_eq(ring_reports_lost(rig.messages), WAITING_MAX);
}

TEST(messages_that_wait_when_audio_ends_are_reported)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, "add g gain\nconnect in g\nconnect g out\nmidi cc 1:7 g.gain", 64U);
  play(&rig, 64U);
  rack_rig_set(&rig, "g", "gain", -5.0, 20000U);
  const MidiEvent event = { .frame = 9U, .n_bytes = 3U, .bytes = { 0xB0U, 7U, 127U } };
  const WaitingMessage midi = { .message = { .frame = 30000U,
                                             .uid = event.n_bytes,
                                             .param = 0xB0U | 7U << 8U | 127U << 16U,
                                             .kind = MESSAGE_N_KINDS + 2U },
                                .is_midi = true };
  waiting_push(&rig.player.waiting, midi); // a full block has left it
  player_drain(&rig.player, rig.messages);
  RingReport report = next_report(&rig);
  ck_assert(report.message.value == -5.0 && report.flags == 0U);
  ck_assert_uint_eq(report.message.frame, 64U);
  report = next_report(&rig);
  ck_assert_uint_eq(report.flags, REPORT_MIDI);
  expect_none(&rig);
}

/// Play a rack with messages of all kinds of frames; returns its reports.
static uint32_t
play_messages(RingReport reports[MOST], const uint32_t block)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK, block);
  uint64_t seed = block;
  while (rig.frame < FRAMES) {
    const uint64_t ahead = signal_random(&seed) % 3000U;
    rack_rig_set(&rig, "g", "gain", -(double)(signal_random(&seed) % 20U), 0U);
    rack_rig_fade(&rig, "f", "frequency", 200.0 + (double)(signal_random(&seed) % 5000U),
                  rig.frame + ahead, (uint32_t)ahead, CURVE_OUT);
    rack_rig_fade(&rig, "i", "on", (double)(seed & 1U), 0U, 500U, CURVE_LINEAR);
    rack_rig_set(&rig, "d", "mix", 0.25 * (double)(seed % 5U), rig.frame + ahead / 2U);
    play(&rig, rig.frame + 1000U < FRAMES ? 1000U : (uint32_t)(FRAMES - rig.frame));
  }
  uint32_t n = 0;
  while (ring_take_report(rig.messages, &reports[n])) {
    ck_assert_uint_lt(++n, MOST);
  }
  return n;
}

/// Play a rack with the messages that were reported.
static void
play_reports(const RingReport* const reports, const uint32_t n, const uint32_t block)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig, RACK, block);
  for (uint32_t r = 0; r < n; ++r) {
    rack_rig_send(&rig, &reports[r].message);
  }
  play(&rig, FRAMES);
}

TEST(what_was_reported_gives_the_same_samples)
{
  static const uint32_t blocks[] = { 20U, 40U, 250U, 1000U }; // that divide the parts of play()
  RingReport reports[MOST];
  signal_noise(in, FRAMES, 1U);
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    const uint32_t n = play_messages(reports, blocks[b]);
    ck_assert_uint_ge(n, 30U);
    memcpy(reference, out, sizeof(out));
    play_reports(reports, n, blocks[b]);
    ck_assert_mem_eq(out, reference, sizeof(out));
  }
}

SUITE_MAIN("reports")
