// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI from the driver to the sound: a controller is heard a constant time after its frame, the
// latency of the engine, at any block.

#include "engine/engine_private.h"
#include "tests/support/set_by_name.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <string.h>

#define RATE   48000.0
#define FRAMES 24000U
#define RACK   "add g gain -6dB\nconnect in g\nconnect g out\nmidi cc 3:20 g.gain -60dB..0dB\n"

static float in[FRAMES], out[FRAMES];
static MidiPeriod midi;

/// An engine that plays RACK with one channel, until end().
typedef struct Playing {
  Rack* rack;
  Engine* engine;
} Playing;

static Playing
begin(const uint32_t depth, const uint32_t block)
{
  const EngineConfig config = { .n_in = 1, .n_out = 1, .depth = depth };
  Playing playing = { .rack = rack_of(RACK, NULL) };
  OK(engine_new(&config, &playing.engine, &error));
  OK(engine_edit_wait(playing.engine, playing.rack, &error));
  OK(engine_arm(playing.engine, RATE, block, 1U, 1U, &error));
  return playing;
}

static void
end(const Playing playing)
{
  engine_free(playing.engine);
  rack_free(playing.rack);
}

/// Play all frames, with a controller at a frame, which the worker gets.
static void
play(Engine* const engine, const uint32_t block, const uint32_t at)
{
  static const uint8_t bytes[] = { 0xB2, 20, 127 };
  QueuedMidi before;
  while (engine_take_midi(engine, &before, 1U)) {
  }
  engine_return_midi(engine, 0U);
  for (uint32_t frame = 0; frame + block <= FRAMES; frame += block) {
    const float* const ins[] = { in + frame };
    float* const outs[] = { out + frame };
    midi_period_begin(&midi);
    if (at - frame < block) {
      ck_assert(midi_period_add(&midi, at - frame, bytes, sizeof(bytes)));
    }
    engine_run(engine, ins, outs, block, true, &midi);
  }
}

/// The first frame whose sample differs from the one before, after the start.
static uint32_t
first_change(const uint32_t from)
{
  uint32_t frame = from;
  while (frame < FRAMES && out[frame] == out[frame - 1U]) {
    ++frame;
  }
  return frame;
}

TEST(a_controller_is_heard_the_latency_after_its_frame)
{
  static const struct {
    uint32_t block, at;
  } cases[] = { { 32, 5001 }, { 64, 5001 }, { 1000, 5001 }, { 1000, 5999 }, { 64, 5120 } };
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 0.5F;
  }
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    for (uint32_t c = 0; c < ARRAY_LEN(cases); ++c) {
      const Playing playing = begin(depth, cases[c].block);
      Engine* const engine = playing.engine;
      play(engine, cases[c].block, cases[c].at);
      const uint32_t latency = engine_latency(engine);
      ck_assert_uint_eq(latency, depth * cases[c].block);
      ck_assert_msg(first_change(2100U) == cases[c].at + latency,
                    "depth %u, blocks of %u frames: heard at frame %u", depth, cases[c].block,
                    first_change(2100U));
      ck_assert_uint_eq(out[FRAMES - 1001U] == 0.5F, 1U);
      QueuedMidi came[2];
      ck_assert_uint_eq(engine_take_midi(engine, came, 2U), 1U);
      ck_assert_uint_eq(came[0].frame, cases[c].at);
      RingReport reports[8];
      const EngineReports taken = engine_reports(engine, reports, 8U);
      ck_assert_uint_ge(taken.n, 2U);
      ck_assert_uint_eq(reports[taken.n - 2U].flags, REPORT_MIDI);
      ck_assert_uint_eq(reports[taken.n - 2U].message.frame, cases[c].at);
      ck_assert_uint_eq(reports[taken.n - 1U].kind, REPORT_EVENTS);
      ck_assert_uint_gt(reports[taken.n - 1U].message.frame, cases[c].at);
      end(playing);
    }
  }
}

TEST(a_worker_that_has_taken_over_gets_what_the_one_before_has_set)
{
  const Playing playing = begin(1U, 64U);
  Engine* const engine = playing.engine;
  RingReport reports[8];
  const ParamMessage value = { .uid = playing.rack->nodes[0].uid, .value = -3.0 };
  const uint64_t ring = engine_reports(engine, reports, ARRAY_LEN(reports)).ring;
  ck_assert_int_eq(engine_set_midi(engine, &value, ring), STATUS_OK);
  play(engine, 64U, FRAMES);
  ck_assert_uint_eq(engine_reports(engine, reports, ARRAY_LEN(reports)).n, 0U); // it has the value
  ck_assert_int_eq(engine_set_midi(engine, &value, ring - 1U), STATUS_OK);
  play(engine, 64U, FRAMES);
  ck_assert_uint_eq(engine_reports(engine, reports, ARRAY_LEN(reports)).n, 1U);
  ck_assert_uint_eq(reports[0].kind, REPORT_VALUE);
  ck_assert(reports[0].message.value == -3.0);
  end(playing);
}

TEST(reports_of_each_ring_that_was_left_have_its_number)
{
  const Playing playing = begin(1U, 64U);
  RingReport reports[ENGINE_MAX_KEPT];
  uint64_t ring = engine_reports(playing.engine, reports, ENGINE_MAX_KEPT).ring;
  for (uint32_t r = 0; r < 3U; ++r) {
    play(playing.engine, 64U, 100U);
    OK(engine_arm(playing.engine, RATE, 64U, 1U, 1U, &error));
  }
  for (uint32_t r = 0; r < 3U; ++r) {
    const EngineReports taken = engine_reports(playing.engine, reports, ENGINE_MAX_KEPT);
    ck_assert_uint_eq(reports[taken.n - 1U].kind, REPORT_EVENTS);
    ck_assert_uint_eq(taken.ring, ring++);
  }
  end(playing);
}

/// Audio has ended: the spans that were dry until then are as long as all dry blocks.
TEST(what_nobody_has_read_before_audio_ends_is_kept_or_counted)
{
  const Playing playing = begin(1U, 64U);
  Engine* const engine = playing.engine;
  EngineStatus status = { 0 };
  while (!status.counts.dry) { // the worker has no time for its blocks
    const float* const from[] = { in };
    float* const to[] = { out };
    engine_process(engine, from, to, FRAMES / 64U * 64U, false);
    engine_status(engine, &status);
  }
  play(engine, 64U, FRAMES / 2U);
  engine_disarm(engine);
  engine_status(engine, &status);
  DrySpan spans[DRY_SPANS];
  uint64_t from = 0;
  uint64_t n_dry = 0;
  for (uint32_t s = engine_dry_spans(engine, &from, spans); s > 0;) {
    --s;
    n_dry += spans[s].end - spans[s].first;
  }
  ck_assert_uint_eq(n_dry, status.counts.dry * 64U);
  ck_assert_uint_eq(status.counts.midi_unheard, 1U);
  end(playing);
}

TEST(the_input_of_a_take_is_kept_when_audio_ends)
{
  const Playing playing = begin(1U, 64U);
  const PortRange ports = { .n = 1U };
  static float samples[FRAMES];
  double rate_hz = 0.0;
  uint64_t n_lost = 0;
  const uint32_t n_played = FRAMES / 64U * 64U;
  Engine* const engine = playing.engine;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = (float)i / FRAMES;
  }
  for (uint32_t round = 0; round < 2U; ++round) {
    ck_assert_uint_eq(
        engine_listen(engine, LISTEN_TAKE, &ports, samples, FRAMES, &rate_hz, &n_lost), 0U);
    const uint64_t start = engine_frame_now(engine);
    play(engine, 64U, 0U);
    engine_disarm(engine);
    if (round) { // read after the audio has begun again
      OK(engine_arm(engine, RATE, 64U, 1U, 1U, &error));
    }
    ck_assert_uint_eq(
        engine_listen(engine, LISTEN_TAKE, &ports, samples, FRAMES, &rate_hz, &n_lost), n_played);
    ck_assert_uint_eq(engine_listen_start(engine, LISTEN_TAKE), start);
    ck_assert(!memcmp(samples, in, n_played * sizeof(float)));
    if (!round) {
      OK(engine_arm(engine, RATE, 64U, 1U, 1U, &error));
    }
  }
  ck_assert_uint_eq(n_lost, 0U);
  end(playing);
}

TEST(invalid_reports_do_not_hold_up_their_reader)
{
  const Playing playing = begin(1U, 64U);
  Engine* const engine = playing.engine;
  const RingReport wrong = { .kind = RING_N_REPORT_KINDS };
  RingReport reports[8];
  for (uint32_t r = 0; r < 100U; ++r) {
    ring_report(engine->ring, &wrong);
    ring_publish_reports(engine->ring);
  }
  const EngineReports taken = engine_reports(engine, reports, ARRAY_LEN(reports));
  ck_assert_uint_eq(taken.n + taken.n_lost, ARRAY_LEN(reports));
  end(playing);
}

TEST(reports_of_a_worker_that_has_left_are_kept_or_counted)
{
  const Playing playing = begin(1U, 64U);
  Engine* const engine = playing.engine;
  const RingReport report = { .kind = REPORT_VALUE };
  RingReport reports[64];
  (void)engine_reports(engine, reports, ARRAY_LEN(reports));
  const uint32_t n_reports = 9000U; // more than the ring has room for
  for (uint32_t r = 0; r < n_reports; ++r) {
    ring_report(engine->ring, &report);
    ring_publish_reports(engine->ring);
  }
  const ParamMessage value = { .uid = playing.rack->nodes[0].uid, .value = -3.0, .frame = FRAMES };
  OK(engine_set(engine, &value, 1U));
  engine_disarm(engine);
  uint64_t n_kept = 0;
  uint64_t n_lost = 0;
  EngineReports taken = { .n = 1 };
  while (taken.n) {
    taken = engine_reports(engine, reports, ARRAY_LEN(reports));
    n_kept += taken.n;
    n_lost += taken.n_lost;
  }
  ck_assert_uint_eq(n_kept, 512U);
  ck_assert_uint_eq(n_kept + n_lost, n_reports + 1U); // with the value that was still to come
  end(playing);
}

SUITE_MAIN("engine_midi")
