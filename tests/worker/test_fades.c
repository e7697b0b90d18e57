// SPDX-License-Identifier: GPL-3.0-or-later
// Fades in the player: the samples do not depend on the blocks, values are reached at their frame
// without a step, and messages, edits and the end of a node end a fade.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE     RACK_RIG_RATE
#define FRAMES   24000U
#define RAMP     960U // of a value without a time
#define N_MANY   1000U
#define MANY_AT  333U
#define MANY_FOR 3000U

static float in[FRAMES];
static float out[FRAMES];
static float reference[FRAMES];

/// Play the next frames of `in`.
static void
play_as(RackRig* const rig, const uint32_t n_frames, const RigSplit split)
{
  const float* const from[] = { in + rig->frame };
  float* const to[] = { out + rig->frame };
  ck_assert_uint_le(rig->frame + n_frames, FRAMES);
  ck_assert(rack_rig_run(rig, from, to, n_frames, split, 7U));
}

static void
play(RackRig* const rig, const uint32_t n_frames)
{
  play_as(rig, n_frames, RIG_BLOCKS);
}

static void
fill_ones(void)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
}

/// Begin with an input of ones, in blocks of 64 frames.
static void
begin_with_ones(RackRig* const rig, const char* const text)
{
  fill_ones();
  rack_rig_mono(rig, text, 64U);
}

/// The largest difference of neighbouring samples in [first, end).
static float
largest_step(const float* const samples, const uint32_t first, const uint32_t end)
{
  float largest = 0.0F;
  for (uint32_t i = first + 1U; i < end; ++i) {
    largest = fmaxf(largest, fabsf(samples[i] - samples[i - 1U]));
  }
  return largest;
}

static float
gain_of(const double db)
{
  return (float)pow(10.0, db / 20.0);
}

// ---- blocks ----

#define ALL_KINDS                                                                                  \
  "g: gain | f: lowpass 400 order=4 | d: delay 5ms mix=30% | c: compressor -30dB | n: gate -70dB " \
  "| v: reverb mix=20% | l: limiter -3dB | i: invert"

/// Play all kinds of effects with fades that begin and end at odd frames, one of them taken over.
static void
play_all_kinds(const uint32_t block, const RigSplit split)
{
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_mono(&rig, ALL_KINDS, block);
  rack_rig_fade(&rig, "g", "gain", -12.0, 77, 9001, CURVE_S);
  rack_rig_fade(&rig, "f", "frequency", 4000.0, 100, 12000, CURVE_IN);
  rack_rig_fade(&rig, "f", "ripple", 2.0, 100, 777, CURVE_LINEAR);
  rack_rig_fade(&rig, "d", "time", 9.0, 333, 5000, CURVE_LINEAR);
  rack_rig_fade(&rig, "d", "mix", 0.9, 333, 5003, CURVE_OUT);
  rack_rig_fade(&rig, "c", "threshold", -10.0, 1, 130, CURVE_OUT);
  rack_rig_fade(&rig, "c", "ratio", 8.0, 2000, 4000, CURVE_LINEAR);
  rack_rig_fade(&rig, "n", "range", -6.0, 5, 8000, CURVE_LINEAR);
  rack_rig_fade(&rig, "v", "decay", 500.0, 64, 6400, CURVE_LINEAR);
  rack_rig_fade(&rig, "v", "mix", 0.6, 65, 64, CURVE_LINEAR);
  rack_rig_fade(&rig, "l", "ceiling", -20.0, 3000, 12345, CURVE_S);
  rack_rig_fade(&rig, "i", "on", 0.0, 1000, 3333, CURVE_LINEAR);
  rack_rig_set(&rig, "g", "gain", 3.0, 5003);
  rack_rig_fade(&rig, "g", "gain", -3.0, 5100, 700, CURVE_LINEAR);
  play_as(&rig, FRAMES, split);
  ck_assert_uint_eq(rig.player.fades.n, 0U);
}

TEST(samples_do_not_depend_on_the_blocks)
{
  static const uint32_t blocks[] = { 32U, 1000U, 8192U };
  signal_noise(in, FRAMES, 1U);
  play_all_kinds(64U, RIG_BLOCKS);
  memcpy(reference, out, sizeof(out));
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    play_all_kinds(blocks[b], RIG_BLOCKS);
    ck_assert_mem_eq(out, reference, sizeof(out));
  }
  play_all_kinds(500U, RIG_RANDOM);
  ck_assert_mem_eq(out, reference, sizeof(out));
}

/// Play all kinds of effects with times of their own, and values that state none.
static void
play_all_ramps(const uint32_t block, const RigSplit split)
{
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_mono(
      &rig,
      "g: gain ramp=300ms | f: lowpass 400 order=4 ramp=90ms | d: delay 5ms mix=30% ramp=1s | "
      "c: compressor -30dB ramp=3ms | n: gate -70dB ramp=0 | v: reverb mix=20% ramp=50ms | "
      "l: limiter -3dB | i: invert ramp=200ms",
      block);
  rack_rig_set(&rig, "g", "gain", -12.0, 77);
  rack_rig_set(&rig, "f", "frequency", 4000.0, 100);
  rack_rig_set(&rig, "f", "frequency", 200.0, 3333);
  rack_rig_set(&rig, "d", "time", 9.0, 333);
  rack_rig_set(&rig, "d", "mix", 0.9, 2000);
  rack_rig_set(&rig, "c", "threshold", -10.0, 1);
  rack_rig_set(&rig, "n", "range", -6.0, 5);
  rack_rig_set(&rig, "v", "decay", 500.0, 64);
  rack_rig_set(&rig, "v", "mute", 1.0, 12345);
  rack_rig_set(&rig, "v", "mute", 0.0, 13000);
  rack_rig_set(&rig, "l", "ramp", 500.0, 2000);
  rack_rig_set(&rig, "l", "ceiling", -20.0, 3000);
  rack_rig_set(&rig, "i", "on", 0.0, 1000);
  rack_rig_set(&rig, "i", "bypass", 1.0, 7000);
  play_as(&rig, FRAMES, split);
  ck_assert_uint_eq(rig.player.counts.params_applied, 14U);
}

/// Compare as numbers: a block in which a switch changes has 0 in place of -0.
static void
expect_same(void)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert_msg(out[i] == reference[i], "frame %u: %g, not %g", i, (double)out[i],
                  (double)reference[i]);
  }
}

TEST(times_of_nodes_do_not_depend_on_the_blocks)
{
  static const uint32_t blocks[] = { 32U, 1000U, 8192U };
  signal_noise(in, FRAMES, 1U);
  play_all_ramps(64U, RIG_BLOCKS);
  memcpy(reference, out, sizeof(out));
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    play_all_ramps(blocks[b], RIG_BLOCKS);
    expect_same();
  }
  play_all_ramps(500U, RIG_RANDOM);
  expect_same();
}

TEST(a_thousand_fades_end_at_their_frame_in_blocks_of_any_length)
{
  static const uint32_t blocks[] = { 64U, 1000U };
  char* const text = malloc(N_MANY * 64U);
  size_t length = 0;
  for (uint32_t n = 0; n < N_MANY; ++n) {
    length += (size_t)sprintf(text + length,
                              "add g%u gain -60dB\nconnect in g%u\nconnect g%u out\n", n, n, n);
  }
  fill_ones();
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    SCOPED(rack_rig_free) RackRig rig;
    rack_rig_mono(&rig, text, blocks[b]);
    for (uint32_t n = 0; n < N_MANY; ++n) {
      char name[8];
      snprintf(name, sizeof(name), "g%u", n);
      rack_rig_fade(&rig, name, "gain", 0.0, MANY_AT, MANY_FOR, CURVE_LINEAR);
    }
    play(&rig, MANY_AT + 1000U);
    ck_assert_uint_eq(rig.player.fades.n, N_MANY);
    play(&rig, MANY_FOR - 1000U);
    ck_assert_uint_eq(rig.player.fades.n, 0U);
    ck_assert_uint_eq(rig.player.counts.fades_full, 0U);
    ck_assert(out[MANY_AT + MANY_FOR - 2U] < (float)N_MANY);
    ck_assert(out[MANY_AT + MANY_FOR - 1U] == (float)N_MANY);
    ck_assert_mem_eq(out, b ? reference : out, (MANY_AT + MANY_FOR) * sizeof(float));
    memcpy(reference, out, sizeof(out));
  }
  free(text);
}

// ---- values ----

TEST(a_fade_follows_its_curve_and_reaches_its_value_at_its_frame)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain");
  rack_rig_fade(&rig, "g", "gain", -40.0, 100, 9600, CURVE_LINEAR);
  play(&rig, 12000U);
  for (uint32_t i = 0; i < 9600U; ++i) {
    const double db = 20.0 * log10((double)out[100U + i]);
    ck_assert_double_eq_tol(db, -40.0 * (i + 1U) / 9600.0, 0.4); // 128 frames are 0.53 dB
  }
  ck_assert(out[99] == 1.0F && out[100] < 1.0F);
  ck_assert(out[9698] != gain_of(-40.0) && out[9699] == gain_of(-40.0));
  ck_assert(out[11999] == gain_of(-40.0));
}

TEST(a_linear_fade_has_no_steps)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain");
  rack_rig_fade(&rig, "g", "gain", -1.0, 0, 19200, CURVE_LINEAR);
  play(&rig, FRAMES);
  const float mean = (1.0F - gain_of(-1.0)) / 19200.0F;
  ck_assert(largest_step(out, 0U, FRAMES) < 1.6F * mean); // the first ramp begins at rest
  ck_assert(largest_step(out, 256U, 19000U) < 1.15F * mean);
}

/// The largest step of a filter's output while its frequency moves by four octaves in half a
/// second, relative to that of its loudest output at rest.
static float
swept_step(const char* const text)
{
  SCOPED(rack_rig_free) RackRig rig;
  signal_sine(in, FRAMES, 300.0, RATE, 0.5, 0.0);
  rack_rig_mono(&rig, text, 64U);
  rack_rig_fade(&rig, "f", "frequency", 3200.0, 2000, 20000, CURVE_LINEAR);
  play(&rig, FRAMES);
  float loudest = 0.0F;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    loudest = fmaxf(loudest, fabsf(out[i]));
  }
  return largest_step(out, 0U, FRAMES) / (loudest * (float)(2.0 * M_PI * 300.0 / RATE));
}

TEST(the_frequency_of_a_filter_fades_without_steps)
{
  ck_assert(swept_step("f: lowpass 200") < 1.02F);
  ck_assert(swept_step("f: peaking 200 12dB 10") < 1.05F);
  ck_assert(swept_step("f: notch 200 30") < 1.02F);
}

// ---- the time of a node ----

static const struct {
  const char* chain;
  uint32_t n_frames; ///< Until the value is reached
} ramps[] = {
  { "g: gain ramp=0", 1U },       { "g: gain ramp=5ms", 240U },    { "g: gain", RAMP },
  { "g: gain ramp=21ms", 1008U }, { "g: gain ramp=100ms", 4800U },
};

TEST_ROWS(a_value_without_a_time_is_reached_in_that_of_its_node, ramps)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, ramps[row].chain);
  rack_rig_set(&rig, "g", "gain", -6.0, 100);
  play(&rig, 10000U);
  ck_assert(out[99] == 1.0F && out[100] < 1.0F);
  ck_assert(ramps[row].n_frames == 1U || out[98U + ramps[row].n_frames] > gain_of(-6.0));
  ck_assert(out[99U + ramps[row].n_frames] == gain_of(-6.0));
}

TEST(a_long_time_is_a_fade_and_a_message_has_its_own)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain ramp=200ms | m: gain ramp=100ms");
  rack_rig_set(&rig, "g", "gain", -40.0, 100); // straight in dB
  rack_rig_fade(&rig, "g", "gain", 0.0, 11000, 480, CURVE_LINEAR);
  rack_rig_set(&rig, "m", "mute", 1.0, 12000);
  rack_rig_set(&rig, "m", "ramp", 10.0, 13000); // for later changes
  rack_rig_set(&rig, "m", "mute", 0.0, 18000);
  play(&rig, 20000U);
  ck_assert_double_eq_tol(20.0 * log10((double)out[4899]), -20.0, 0.6);
  ck_assert(out[11479] == 1.0F && out[11478] < 1.0F);
  ck_assert_float_eq_tol(out[14399], 0.5F, 1e-3F);
  ck_assert(out[16798] > 0.0F && out[16799] == 0.0F);
  ck_assert(out[18000] > 0.0F && out[18479] == 1.0F);
}

TEST(an_edit_changes_the_time_of_a_node_and_no_value_jumps)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain ramp=500ms");
  rack_rig_edit(&rig, "g: gain -12dB ramp=100ms"); // edits ramp in 20 ms at most
  play(&rig, 3000U);
  ck_assert(out[2999] == gain_of(-12.0));
  ck_assert(largest_step(out, 0U, 3000U) < 2.0F / RAMP);
  rack_rig_set(&rig, "g", "gain", 0.0, 0);
  play(&rig, 7000U);
  ck_assert(out[3008U + 4700U] < 1.0F && out[3072U + 4800U] == 1.0F);
}

// ---- switches and choices ----

TEST(switches_go_on_at_the_start_and_off_at_the_end)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "i: invert on=off");
  rack_rig_fade(&rig, "i", "on", 1.0, 100, 5000, CURVE_LINEAR);
  rack_rig_fade(&rig, "i", "on", 0.0, 6000, 5000, CURVE_LINEAR);
  play(&rig, 13000U);
  ck_assert(out[99] == 1.0F && out[100] < 1.0F && out[99U + RAMP] == -1.0F);
  ck_assert(out[10999] == -1.0F && out[11000] > -1.0F && out[10999U + RAMP] == 1.0F);
  rack_rig_fade(&rig, "i", "on", 1.0, 0, 10, CURVE_LINEAR);
  play(&rig, 1000U);
  rack_rig_fade(&rig, "i", "on", 0.0, 0, 5000, CURVE_LINEAR);
  play(&rig, 1000U);
  rack_rig_set(&rig, "i", "on", 1.0, 0); // it never goes off
  play(&rig, 6000U);
  ck_assert(out[20999] == -1.0F);
  rack_rig_fade(&rig, "i", "on", 0.0, 0, 1U << 30U, CURVE_LINEAR);
  play(&rig, 100U);
  player_drain(&rig.player, rig.messages); // audio ends
  play(&rig, 2000U);
  ck_assert(out[23099] == 1.0F);
}

TEST(switches_that_are_set_again_leave_no_messages_behind)
{
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_mono(&rig, "i: invert", 64U);
  for (uint32_t n = 0; n < WAITING_MAX + 100U; ++n) {
    rack_rig_fade(&rig, "i", "on", 0.0, 0, 1U << 30U, CURVE_LINEAR);
    rack_rig_set(&rig, "i", "on", 1.0, 0);
    play(&rig, 1U);
  }
  rack_rig_set(&rig, "i", "on", 0.0, 0);
  play(&rig, 2U);
  ck_assert_uint_eq(rig.player.counts.params_applied, 2U * (WAITING_MAX + 100U) + 1U);
}

TEST(choices_change_at_the_start)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "add p pan\nconnect in p\nconnect p:1 out");
  rack_rig_fade(&rig, "p", "law", 2.0, 100, 5000, CURVE_LINEAR);
  play(&rig, 2000U);
  ck_assert(out[99] == (float)M_SQRT1_2 && out[100] < out[99] && out[99U + RAMP] == 0.5F);
}

// ---- the end of a fade ----

TEST(a_hand_takes_a_parameter_out_of_its_fade)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain");
  rack_rig_fade(&rig, "g", "gain", -40.0, 0, 20000, CURVE_LINEAR);
  rack_rig_set(&rig, "g", "gain", -6.0, 10000); // it is at -20 dB
  play(&rig, FRAMES);
  ck_assert_float_eq_tol(out[9999], gain_of(-20.0), 0.01F);
  ck_assert(out[9999U + RAMP] == gain_of(-6.0) && out[FRAMES - 1U] == gain_of(-6.0));
  ck_assert(largest_step(out, 9990U, FRAMES) < 1.6F * 0.5F / RAMP);
}

TEST(a_fade_begins_at_the_value_that_another_one_has_reached)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain");
  rack_rig_fade(&rig, "g", "gain", -40.0, 0, 10000, CURVE_LINEAR);
  rack_rig_fade(&rig, "g", "gain", 0.0, 5000, 5000, CURVE_LINEAR); // from -20 dB
  play(&rig, 12000U);
  ck_assert_double_eq_tol(20.0 * log10((double)out[4999]), -20.0, 0.3);
  ck_assert_double_eq_tol(20.0 * log10((double)out[7499]), -10.0, 0.3);
  ck_assert(out[9999] == 1.0F && out[11999] == 1.0F);
}

TEST(an_edit_keeps_the_fades_of_the_nodes_that_stay)
{
  static const char text[] =
      "add g gain\nadd h gain -6dB\nconnect in g\nconnect g h\nconnect h out";
  fill_ones();
  for (uint32_t e = 0; e < 2U; ++e) {
    SCOPED(rack_rig_free) RackRig rig;
    rack_rig_mono(&rig, text, 64U);
    rack_rig_fade(&rig, "g", "gain", -40.0, 100, 20000, CURVE_LINEAR);
    play(&rig, 5000U);
    if (e) { // the document has the end of the fade
      rack_rig_edit(&rig, "add k gain\nadd g gain -40dB\nadd h gain -6dB\nconnect in g\n"
                          "connect g h\nconnect h out");
      ck_assert_uint_eq(rig.player.fades.n, 1U);
    }
    play(&rig, FRAMES - 5000U);
    ck_assert_mem_eq(out, e ? reference : out, sizeof(out));
    memcpy(reference, out, sizeof(out));
  }
}

TEST(an_edit_of_the_value_and_the_end_of_the_node_end_a_fade)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain | h: gain");
  rack_rig_fade(&rig, "g", "gain", -40.0, 0, 20000, CURVE_LINEAR);
  rack_rig_fade(&rig, "h", "gain", -40.0, 0, 20000, CURVE_LINEAR);
  play(&rig, 1000U);
  Rack* const changed = rack_copy(rig.rack);
  changed->nodes[0].values[0] = (RackValue){ .kind = VALUE_NUMBER, .number = -6.0 };
  changed->nodes[1].values[0] = (RackValue){ .kind = VALUE_NUMBER, .number = -40.0 };
  OK(rack_rig_plan(&rig, changed, &error));
  ck_assert_uint_eq(rig.player.fades.n, 1U);
  play(&rig, 1000U);
  rack_rig_edit(&rig, "g: gain -6dB");
  ck_assert_uint_eq(rig.player.fades.n, 0U);
  play(&rig, 10000U);
  ck_assert(out[11999] == gain_of(-6.0));
}

TEST(the_end_of_audio_ends_all_fades_at_their_values)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain");
  rack_rig_fade(&rig, "g", "gain", -40.0, 0, 20000, CURVE_LINEAR);
  play(&rig, 1000U);
  rack_rig_fade(&rig, "g", "gain", -6.0, 0, 20000, CURVE_LINEAR);
  player_drain(&rig.player, rig.messages);
  ck_assert_uint_eq(rig.player.fades.n, 0U);
  play(&rig, 2000U);
  ck_assert(out[2999] == gain_of(-6.0));
}

TEST(a_worker_goes_on_with_the_fade_of_another_one)
{
  fill_ones();
  RackRig first;
  rack_rig_mono(&first, "g: gain", 64U);
  rack_rig_fade(&first, "g", "gain", -40.0, 100, 20000, CURVE_S);
  play(&first, FRAMES);
  memcpy(reference, out, sizeof(out));
  rack_rig_free(&first);
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_mono(&rig, "g: gain -40dB", 64U); // the rack has the end of the fade
  rig.frame = 9990U;
  rack_rig_send(&rig, &(ParamMessage){ .frame = 100,
                                       .uid = rig.rack->nodes[0].uid,
                                       .value = -40.0,
                                       .fade_frames = 20000,
                                       .curve = CURVE_S,
                                       .is_running = 1U,
                                       .from = 0.0 });
  play(&rig, FRAMES - 9990U);
  for (uint32_t i = 9990U; i < FRAMES; ++i) {
    ck_assert_float_eq_tol(out[i], reference[i], i < 10500U ? 4e-3F : 1e-6F);
  }
  ck_assert(out[20000] != gain_of(-40.0) && out[20099] == gain_of(-40.0));
}

TEST(a_fade_of_another_worker_that_has_ended_changes_nothing)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain -40dB");
  rig.frame = 9990U;
  rack_rig_send(&rig, &(ParamMessage){ .frame = 100,
                                       .uid = rig.rack->nodes[0].uid,
                                       .value = -40.0,
                                       .fade_frames = 5000,
                                       .is_running = 1U,
                                       .from = 0.0 });
  play(&rig, 1000U);
  for (uint32_t i = 9990U; i < 10990U; ++i) {
    ck_assert(out[i] == gain_of(-40.0));
  }
  ck_assert_uint_eq(rig.player.fades.n, 0U);
}

// ---- bounds ----

TEST(values_without_room_for_a_fade_are_set_at_once_and_counted)
{
  static const char* const params[] = { "threshold", "attack", "release", "knee",
                                        "makeup",    "mix",    "ratio" };
  static char text[700U * 32U];
  const uint32_t n_nodes = FADE_MAX / ARRAY_LEN(params) + 1U;
  size_t length = 0;
  for (uint32_t n = 0; n < n_nodes; ++n) {
    length += (size_t)sprintf(text + length, "add c%u compressor\n", n);
  }
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_mono(&rig, text, 64U);
  for (uint32_t n = 0; n < n_nodes; ++n) {
    for (uint32_t p = 0; p < ARRAY_LEN(params); ++p) {
      char name[8];
      snprintf(name, sizeof(name), "c%u", n);
      rack_rig_fade(&rig, name, params[p], p == 5U ? 0.5 : 1.0 + 0.125 * p, 0, 1U << 30U, CURVE_S);
    }
    play(&rig, 1U);
  }
  ck_assert_uint_eq(rig.player.fades.n, FADE_MAX);
  ck_assert_uint_eq(rig.player.counts.fades_full, n_nodes * ARRAY_LEN(params) - FADE_MAX);
  ck_assert_uint_eq(rig.player.counts.params_applied, n_nodes * ARRAY_LEN(params));
}

TEST(fades_of_one_block_count_as_its_events)
{
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_mono(&rig, "g: gain", 64U);
  for (uint32_t m = 0; m < 3U * PLAYER_MAX_EVENTS; ++m) {
    rack_rig_fade(&rig, "g", "gain", m % 2U ? -40.0 : -20.0, 1U + m % 64U, 9000, CURVE_LINEAR);
  }
  play(&rig, 64U);
  ck_assert_uint_eq(rig.player.counts.params_applied, PLAYER_MAX_EVENTS);
  ck_assert_uint_eq(rig.player.counts.fades_full, 0U);
  play(&rig, 128U);
  ck_assert_uint_eq(rig.player.counts.params_applied, 3U * PLAYER_MAX_EVENTS);
}

TEST(a_message_with_an_unknown_curve_is_dropped)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin_with_ones(&rig, "g: gain");
  rack_rig_fade(&rig, "g", "gain", -40.0, 0, 2000, FX_N_CURVES);
  play(&rig, 4000U);
  ck_assert_uint_eq(rig.player.counts.params_dropped, 1U);
  ck_assert(out[3999] == 1.0F);
}

SUITE_MAIN("fades")
