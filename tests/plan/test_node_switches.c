// SPDX-License-Identifier: GPL-3.0-or-later
// The switches of the engine, `bypass` and `mute`: at rest a bypassed node is its input to the bit,
// delayed by its latency, and a muted one is silent; a change fades from its frame on, without a
// click and with the same samples however the blocks are cut; the effect runs on meanwhile.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include "engine/base/time.h"

#include <math.h>
#include <stdio.h>

#define RATE_HZ  48000.0
#define FRAMES   12000U
#define CHANNELS 2U
#define FADE     960U // FX_RAMP_SECONDS

static float in[CHANNELS][FRAMES];

typedef float Output[CHANNELS][FRAMES];

/// A change of node x.
typedef struct Change {
  const char* param;
  double value;
  uint32_t frame;
} Change;

#define MOST_CHANGES 6U

/// Play a rack in blocks of a size, with changes at their frames.  Returns its latency.
static uint32_t
play(const char* const text, const uint32_t block_frames, const RigSplit split,
     const Change changes[const MOST_CHANGES], Output out)
{
  const Format format = {
    .rate_hz = RATE_HZ, .block_frames = block_frames, .n_in = CHANNELS, .n_out = CHANNELS
  };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, text, &format, NULL, 0U);
  for (uint32_t c = 0; changes && c < MOST_CHANGES && changes[c].param; ++c) {
    rack_rig_set(&rig, "x", changes[c].param, changes[c].value, changes[c].frame);
  }
  const float* const ins[] = { in[0], in[1] };
  float* const outs[] = { out[0], out[1] };
  ck_assert(rack_rig_run(&rig, ins, outs, FRAMES, split, 5U));
  return rig.player.plan->latency_frames;
}

static void
make_noise(void)
{
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    signal_noise(in[c], FRAMES, 3U + c);
  }
}

static void
expect_same(const float* const got, const float* const wanted, const uint32_t first,
            const uint32_t end, const char* const what)
{
  for (uint32_t i = first; i < end; ++i) {
    ck_assert_msg(got[i] == wanted[i], "%s: frame %u is %.9g, not %.9g", what, i, (double)got[i],
                  (double)wanted[i]);
  }
}

/// Fails the test unless an output is its input, later.
static void
expect_input(const float* const got, const float* const input, const uint32_t latency,
             const uint32_t first, const uint32_t end, const char* const what)
{
  ck_assert_uint_ge(first, latency);
  expect_same(got + first, input + first - latency, 0U, end - first, what);
}

static void
expect_silence(const float* const got, const uint32_t first, const uint32_t end)
{
  for (uint32_t i = first; i < end; ++i) {
    ck_assert_msg(got[i] == 0.0F, "frame %u is %g", i, (double)got[i]);
  }
}

// Latencies of 0, less than a block, and more; channels apart and coupled.
static const char* const effects[] = {
  "gain -6dB",
  "limiter -30dB lookahead=0.5ms",
  "limiter -30dB lookahead=20ms link=off",
  "fir lowpass 1kHz taps=301",
  "compressor -30dB ratio=8",
  "matrix rows=\"0.5 0.2; 0 2\"",
  "invert",
  "lowpass 300Hz order=8",
  "delay 10ms mix=0.5",
};

TEST_ROWS(a_rack_may_state_the_switches, effects)
{
  static Output out;
  char text[128];
  make_noise();
  snprintf(text, sizeof(text), "x: %s bypass=on", effects[row]);
  const uint32_t latency = play(text, 64U, RIG_RANDOM, NULL, out);
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    expect_silence(out[c], 0U, latency);
    expect_input(out[c], in[c], latency, latency, FRAMES, text);
  }
  snprintf(text, sizeof(text), "x: %s mute=on", effects[row]);
  ck_assert_uint_eq(play(text, 64U, RIG_RANDOM, NULL, out), latency);
  expect_silence(out[0], 0U, FRAMES);
  snprintf(text, sizeof(text), "x: %s bypass=on mute=on", effects[row]);
  ck_assert_uint_eq(play(text, 64U, RIG_RANDOM, NULL, out), latency);
  expect_silence(out[1], 0U, FRAMES);
}

static const Change bypassing[MOST_CHANGES] = { { "bypass", 1.0, 3001 }, { "bypass", 0.0, 7013 } };
static const Change muting[MOST_CHANGES] = { { "mute", 1.0, 3001 }, { "mute", 0.0, 7013 } };

TEST_ROWS(the_effect_runs_on_while_its_input_plays_or_nothing, effects)
{
  static Output plain;
  static Output out;
  char text[128];
  make_noise();
  snprintf(text, sizeof(text), "x: %s", effects[row]);
  const uint32_t latency = play(text, 64U, RIG_BLOCKS, NULL, plain);
  ck_assert_uint_eq(play(text, 64U, RIG_BLOCKS, bypassing, out), latency);
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    expect_same(out[c], plain[c], 0U, 3001U, "before");
    expect_input(out[c], in[c], latency, 3001U + FADE, 7013U, text);
    expect_same(out[c], plain[c], 7013U + FADE, FRAMES, "after");
  }
  play(text, 64U, RIG_BLOCKS, muting, out);
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    expect_same(out[c], plain[c], 0U, 3001U, "before");
    expect_silence(out[c], 3001U + FADE, 7013U);
    expect_same(out[c], plain[c], 7013U + FADE, FRAMES, "after");
  }
}

// Changes within the fades of others, several in one block, and with one of the effect between.
static const Change busy[MOST_CHANGES] = { { "bypass", 1.0, 1000 }, { "mute", 1.0, 1333 },
                                           { "bypass", 0.0, 1340 }, { "gain", -20.0, 1345 },
                                           { "mute", 0.0, 1350 },   { "bypass", 1.0, 5000 } };

TEST(the_samples_are_the_same_in_blocks_of_any_size)
{
  static const uint32_t sizes[] = { 1, 32, 64, 1000, 8192 };
  static Output wanted;
  static Output out;
  make_noise();
  play("x: gain -6dB", 512U, RIG_RANDOM, busy, wanted);
  for (uint32_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    play("x: gain -6dB", sizes[s], RIG_BLOCKS, busy, out);
    expect_same(out[0], wanted[0], 0U, FRAMES, "left");
    expect_same(out[1], wanted[1], 0U, FRAMES, "right");
  }
}

TEST_ROWS(zeros_have_the_same_sign_in_blocks_of_any_size, effects)
{
  static Output whole;
  static Output split;
  static const Change changes[MOST_CHANGES] = { { "bypass", 1.0, 1001 }, { "mute", 1.0, 3013 },
                                                { "mute", 0.0, 5001 },   { "bypass", 0.0, 7013 },
                                                { "mute", 1.0, 9001 },   { "mute", 0.0, 11000 } };
  char text[128];
  make_noise();
  for (uint32_t i = 0; i < FRAMES; ++i) { // zeros of both signs
    in[0][i] = i % 3U ? copysignf(0.0F, in[0][i]) : in[0][i];
    in[1][i] = copysignf(0.0F, in[1][i]);
  }
  snprintf(text, sizeof(text), "x: %s", effects[row]);
  (void)play(text, 1024U, RIG_BLOCKS, changes, whole);
  (void)play(text, 64U, RIG_RANDOM, changes, split);
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      ck_assert_msg(signbit(whole[c][i]) == signbit(split[c][i]), "%s: frame %u is %g, and %g",
                    text, i, (double)whole[c][i], (double)split[c][i]);
    }
  }
}

TEST(a_change_makes_no_click)
{
  static const Change changes[MOST_CHANGES] = { { "bypass", 1.0, 3000 },
                                                { "mute", 1.0, 3300 },
                                                { "mute", 0.0, 6000 },
                                                { "bypass", 0.0, 6200 },
                                                { "bypass", 1.0, 9000 } };
  static Output out;
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    signal_sine(in[c], FRAMES, 50.0, RATE_HZ, 0.5, M_PI_2);
  }
  const double of_signal = max_second_difference(in[0], FRAMES);
  play("x: invert", 64U, RIG_BLOCKS, changes, out); // the farthest from its input
  const double of_fades = max_second_difference(out[0], FRAMES);
  // the second derivative of the ramp, 6 / FADE^2, times the distance of both signals, 1; twice for
  // a change within a fade
  const double allowed = of_signal + 2.0 * 6.0 / ((double)FADE * FADE) + 1e-5;
  ck_assert_msg(of_fades < allowed, "%g, not below %g", of_fades, allowed);
}

TEST(an_output_without_an_input_of_its_own_gets_the_last_one)
{
  const Format format = { .rate_hz = RATE_HZ, .block_frames = 64U, .n_in = 1U, .n_out = 2U };
  static Output out;
  make_noise();
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, "x: pan -1 bypass=on", &format, NULL, 0U);
  const float* const ins[] = { in[0] };
  float* const outs[] = { out[0], out[1] };
  ck_assert(rack_rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0U));
  expect_same(out[0], in[0], 0U, FRAMES, "left");
  expect_same(out[1], in[0], 0U, FRAMES, "right");
}

TEST(switches_of_several_nodes_of_one_batch_are_independent)
{
  static Output out;
  static Output wanted;
  make_noise();
  play("(gain -6dB mute=on + x: gain -20dB + gain -6dB bypass=on) | gain 0dB", 64U, RIG_BLOCKS,
       bypassing, out);
  play("(x: gain -20dB + gain 0dB) | gain 0dB", 64U, RIG_BLOCKS, bypassing, wanted);
  expect_same(out[0], wanted[0], 0U, FRAMES, "left");
}

TEST(an_edit_keeps_a_switch_that_a_message_has_set)
{
  const Format format = {
    .rate_hz = RATE_HZ, .block_frames = 64U, .n_in = CHANNELS, .n_out = CHANNELS
  };
  static Output out;
  make_noise();
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, "x: lowpass 1kHz order=2", &format, NULL, 0U);
  const float* ins[] = { in[0], in[1] };
  float* outs[] = { out[0], out[1] };
  rack_rig_set(&rig, "x", "mute", 1.0, 0U);
  ck_assert(rack_rig_run(&rig, ins, outs, 4000U, RIG_BLOCKS, 0U));
  rack_rig_edit(&rig, "x: lowpass 1kHz order=4 mute=on"); // a new node
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    ins[c] += 4000U;
    outs[c] += 4000U;
  }
  ck_assert(rack_rig_run(&rig, ins, outs, 4000U, RIG_BLOCKS, 0U));
  expect_silence(out[0], FADE, 8000U);
}

// ---- solo ----

#define MIXER                                                                                      \
  "add a gain -6dB\nadd b gain -3dB\nadd verb delay 5ms feedback=0 mix=1\nadd m gain 2dB\n"        \
  "connect in a\nconnect in b\nconnect a m\nconnect b m\nconnect a verb\nconnect verb m\n"         \
  "connect in m gain=-20dB\nconnect m out\nconnect in out gain=-9dB\n"

// Statements after MIXER, and the rack that sounds the same.
static const struct {
  const char* solo;
  const char* same;
} solos[] = {
  // a with its reverb; neither b, nor what is beside a
  { "set a.solo on", "add a gain -6dB\nadd verb delay 5ms feedback=0 mix=1\nadd m gain "
                     "2dB\nconnect in a\nconnect a m\n"
                     "connect a verb\nconnect verb m\nconnect m out" },
  { "set b.solo on", "add b gain -3dB\nadd m gain 2dB\nconnect in b\nconnect b m\nconnect m out" },
  // the reverb without the dry sound of a
  { "set verb.solo on", "add a gain -6dB\nadd verb delay 5ms feedback=0 mix=1\nadd m gain "
                        "2dB\nconnect in a\nconnect a verb\n"
                        "connect verb m\nconnect m out" },
  // all that goes into m, but not what goes past it
  { "set m.solo on", MIXER "disconnect in out" },
  { "set b.solo on\nset verb.solo on",
    "add a gain -6dB\nadd b gain -3dB\nadd verb delay 5ms feedback=0 mix=1\nadd m gain "
    "2dB\nconnect in a\n"
    "connect in b\nconnect a verb\nconnect b m\nconnect verb m\nconnect m out" },
  { "set a.solo on\nset a.solo off", MIXER },
};

TEST_ROWS(solo_leaves_the_paths_through_a_node, solos)
{
  static Output out;
  static Output wanted;
  char text[1024];
  make_noise();
  snprintf(text, sizeof(text), "%s%s", MIXER, solos[row].solo);
  play(text, 64U, RIG_BLOCKS, NULL, out);
  play(solos[row].same, 64U, RIG_BLOCKS, NULL, wanted);
  expect_same(out[0], wanted[0], 0U, FRAMES, solos[row].solo);
  expect_same(out[1], wanted[1], 0U, FRAMES, solos[row].solo);
}

TEST(solo_of_a_side_input_keeps_what_controls_it)
{
  static Output out;
  static Output wanted;
  static const char sides[] = "add c compressor -40dB ratio=20\nadd k gain 3dB\n"
                              "connect in:1 c\nconnect in:2 k\nconnect k c.sidechain\n"
                              "connect c out:1\n";
  char text[512];
  make_noise();
  snprintf(text, sizeof(text), "%sconnect k out:2\nset c.solo on", sides);
  play(text, 64U, RIG_BLOCKS, NULL, out);
  play(sides, 64U, RIG_BLOCKS, NULL, wanted);
  expect_same(out[0], wanted[0], 0U, FRAMES, "compressed");
  expect_silence(out[1], 0U, FRAMES);
}

TEST(solo_fades_and_returns_while_the_nodes_play_on)
{
  static Output plain;
  static Output soloed;
  static Output out;
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    signal_sine(in[c], FRAMES, 50.0, RATE_HZ, 0.5, M_PI_2);
  }
  play(MIXER, 64U, RIG_BLOCKS, NULL, plain);
  play(MIXER "set b.solo on", 64U, RIG_BLOCKS, NULL, soloed);
  const Format format = {
    .rate_hz = RATE_HZ, .block_frames = 64U, .n_in = CHANNELS, .n_out = CHANNELS
  };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, MIXER, &format, NULL, 0U);
  static const char* const edits[] = { MIXER "set b.solo on", MIXER, NULL };
  for (uint32_t part = 0; part < 3U; ++part) {
    const float* const ins[] = { in[0] + 4096U * part, in[1] + 4096U * part };
    float* const outs[] = { out[0] + 4096U * part, out[1] + 4096U * part };
    const size_t n_frames = part < 2U ? 4096U : FRAMES - 8192U;
    ck_assert(rack_rig_run(&rig, ins, outs, n_frames, RIG_BLOCKS, 0U));
    if (edits[part]) {
      rack_rig_edit(&rig, edits[part]);
    }
  }
  const uint32_t fade = (uint32_t)(LINK_RAMP_SECONDS * RATE_HZ);
  expect_same(out[0], plain[0], 0U, 4096U, "before");
  expect_same(out[0], soloed[0], 4096U + fade, 8192U, "solo");
  const uint32_t echo = 240U; // of verb, whose input was silent
  expect_same(out[0], plain[0], 8192U + fade + echo, FRAMES, "after");
  // after the beginning, two second derivatives of the ramp, 6 / fade^2, times the level of all
  // that fades
  ck_assert_double_lt(max_second_difference(out[0] + echo, FRAMES - echo),
                      max_second_difference(in[0], FRAMES) * 4.0 +
                          3.0 * 6.0 / ((double)fade * fade));
}

#define N_MANY 1000U

/// The time of the shortest of some blocks in which many nodes change, which are all muted or not.
static double
shortest_block(const double is_muted)
{
  static char text[N_MANY * 32U];
  size_t length = 0;
  for (uint32_t n = 0; n < N_MANY; ++n) {
    length += (size_t)snprintf(text + length, sizeof(text) - length, "add g%u gain\n", n);
  }
  const Format format = { .rate_hz = RATE_HZ, .block_frames = 64U, .n_in = 1U };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, text, &format, NULL, 0U);
  double shortest_ns = INFINITY;
  for (uint32_t block = 0; block < 10U; ++block) {
    for (uint32_t n = 0; n < N_MANY; ++n) {
      char name[16];
      snprintf(name, sizeof(name), "g%u", n);
      rack_rig_set(&rig, name, block ? "gain" : "mute", block ? -1.0 * block : is_muted, 0U);
    }
    const float* const ins[] = { in[0] };
    float* const outs[] = { in[1] };
    const uint64_t began_ns = time_now_ns();
    ck_assert(rack_rig_run(&rig, ins, outs, 64U, RIG_BLOCKS, 0U));
    const double block_ns = (double)(time_now_ns() - began_ns);
    shortest_ns = block ? fmin(shortest_ns, block_ns) : shortest_ns;
    ck_assert(rack_rig_run(&rig, ins, outs, 2U * FADE, RIG_BLOCKS, 0U));
  }
  return shortest_ns;
}

TEST(a_block_with_many_changes_takes_no_longer_for_nodes_with_switches)
{
  // Nodes with a switch on looked at the events of all nodes: the ratio was 3.
  double ratio = INFINITY;
  for (uint32_t round = 0; round < 3U && ratio >= 2.0; ++round) {
    ratio = shortest_block(1.0) / shortest_block(0.0);
  }
  ck_assert_double_lt(ratio, 2.0);
}

SUITE_MAIN("node_switches")
