// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin is an effect like any other: its channels, latency, errors, renewal, and what it must
// not do to the rest of the program.

#include "engine/base/rt.h"
#include "engine/contract/format.h"
#include "plugins/host.h"
#include "plugins/plugin_thread.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES       2048U
#define MAX_CHANNELS 16U

static FakePlugin fake;
static float in[MAX_CHANNELS][FRAMES];
static float out[MAX_CHANNELS][FRAMES];
static const float* ins[MAX_CHANNELS];
static float* outs[MAX_CHANNELS];

static void
set_up(void)
{
  fake_plugin_init(&fake, 1, 0, 1);
  OK(plugin_thread_start(&error)); // which allocates
  for (uint32_t c = 0; c < MAX_CHANNELS; ++c) {
    signal_noise(in[c], FRAMES, c + 1U);
    ins[c] = in[c];
    outs[c] = out[c];
  }
}

/// Fail the test unless a node on `n_in` channels is refused.  Returns the reason.
static const char*
refusal(const uint32_t n_in, const Status expected)
{
  static Error error;
  FxRig rig;
  const RigArg none = { 0 };
  const uint32_t n_open = fake.n_opened - fake.n_closed;
  ck_assert_int_eq(rig_try_fx(&rig, &fake.plugin.fx, FAKE_RATE, n_in, 64, false, &none, 0, &error),
                   expected);
  ck_assert_uint_eq(fake.n_opened - fake.n_closed, n_open);
  return error.text;
}

// ---- channels ----

static const struct {
  uint32_t n_main, n_side, n_out; ///< Of the plugin
  uint32_t n_in, n_units;         ///< Of the node
} widths[] = {
  { 1, 0, 1, 1, 1 }, { 1, 0, 1, 8, 8 }, { 2, 0, 2, 2, 1 }, { 2, 0, 2, 4, 2 },
  { 1, 0, 2, 3, 3 }, { 2, 0, 1, 4, 2 }, { 2, 0, 2, 1, 1 }, { 3, 0, 4, 1, 1 },
  { 3, 0, 2, 6, 2 }, { 2, 2, 2, 4, 2 }, { 1, 1, 1, 3, 3 }, { 3, 1, 3, 1, 1 },
};

TEST_ROWS(channels_go_to_instances_in_their_order, widths)
{
  const uint32_t n_main = widths[row].n_main;
  const uint32_t n_out = widths[row].n_out;
  fake_plugin_init(&fake, n_main, widths[row].n_side, n_out);
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, widths[row].n_in, 64, SET("gain", 2.0));
  ck_assert_uint_eq(rig.n_units, widths[row].n_units);
  ck_assert_uint_eq(fake.n_opened, widths[row].n_units);
  ck_assert_uint_eq(rig.n_out, widths[row].n_units * n_out);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t o = 0; o < rig.n_out; ++o) {
    const uint32_t channel = widths[row].n_in == 1U ? 0U : o / n_out * n_main + o % n_out % n_main;
    for (uint32_t i = 0; i < FRAMES; ++i) {
      ck_assert(out[o][i] == 2.0F * in[channel][i]);
    }
  }
}

static const struct {
  uint32_t n_main, n_out, n_in;
  const char* reason;
} wrong_widths[] = {
  { 3, 3, 4, "4 channels into a plugin with 3 inputs; connect 3 or 6" },
  { 3, 3, 2, "2 channels into a plugin with 3 inputs; connect 1 or 3" },
  { 2, 2, 5, "5 channels into a plugin with 2 inputs; connect 4 or 6" },
  { 2, 0, 2, "the plugin has no audio output" },
  { 1, 2, 600, "would have 1200 outputs; a node can have 1024" },
};

TEST_ROWS(other_widths_are_refused_with_those_that_fit, wrong_widths)
{
  fake_plugin_init(&fake, wrong_widths[row].n_main, 1, wrong_widths[row].n_out);
  assert_says(refusal(wrong_widths[row].n_in, STATUS_BAD_RACK), wrong_widths[row].reason);
  ck_assert_uint_eq(fake.n_opened, 0);
}

// ---- time ----

TEST(instances_that_together_take_too_long_are_refused)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fake.open_ms = 20;
  fx_set_deadline(time_now_ns() + 50U * NS_PER_MS);
  const char* const reason = refusal(8, STATUS_LIMIT);
  assert_says(reason, "fake: the plugins take too long to start");
  assert_says(reason, "of 8 instances of this node were ready");
  ck_assert_uint_le(fake.n_opened, 3U);
  ck_assert_uint_eq(fake.n_closed, fake.n_opened);
  fx_set_deadline(0U);
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 8, 64);
  ck_assert_uint_eq(rig.n_units, 8U);
}

TEST(no_instance_is_made_after_the_deadline)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fx_set_deadline(1U);
  assert_says(refusal(2, STATUS_LIMIT), "0 of 2 instances of this node were ready");
  ck_assert_uint_eq(fake.n_opened, 0U);
  fx_set_deadline(0U);
}

// ---- side chains and sources ----

/// Connect `n_side` channels of each unit: channel s of unit u is input 8 + u * n_side + s.
static const float* const*
side_inputs(FxRig* const rig, const uint32_t n_side)
{
  rig->n_side = rig->n_units * n_side;
  return ins + 8;
}

TEST(each_instance_gets_its_side_chain)
{
  fake_plugin_init(&fake, 2, 2, 2);
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 4, 64);
  rig.side = side_inputs(&rig, 2);
  rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 1);
  for (uint32_t o = 0; o < 4U; ++o) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      const uint32_t side = 8U + o / 2U * 2U;
      ck_assert(out[o][i] == in[o][i] + in[side][i] + in[side + 1U][i]);
    }
  }
}

TEST(a_side_chain_without_connections_is_silent)
{
  fake_plugin_init(&fake, 1, 1, 1);
  fake.writes_inputs = true; // also to the side chain
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64);
  const float* const one[] = { in[8], NULL };
  rig.side = one;
  rig.n_side = 2;
  rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 2);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[0][i] == in[0][i] + in[8][i]);
    ck_assert(out[1][i] == in[1][i]);
  }
}

TEST(a_plugin_without_inputs_is_one_instance_and_silent_while_bypassed)
{
  for (uint32_t latency = 0; latency < 200U; latency += 100U) {
    fake_plugin_init(&fake, 0, 1, 3);
    fake.latency_frames = latency;
    SCOPED(rig_free) FxRig rig;
    fake_rig(&rig, &fake, 0, 64, SET("gain", 2.0));
    ck_assert_uint_eq(rig.n_units, 1);
    ck_assert_uint_eq(rig.n_out, 3);
    rig_run(&rig, NULL, outs, FRAMES, RIG_RANDOM, 3);
    ck_assert_float_eq(out[0][0], 2.0F);
    ck_assert_float_eq(out[2][FRAMES - 1U], 2.0F);
    rig_set(&rig, "bypass", 1.0);
    rig_run(&rig, NULL, outs, FRAMES, RIG_RANDOM, 4);
    ck_assert_float_eq(out[1][FRAMES - 1U], 0.0F);
    for (uint32_t i = 1; i < FRAMES; ++i) {
      ck_assert_float_le(out[1][i], out[1][i - 1U]); // a fade
    }
  }
}

TEST(a_plugin_that_writes_to_its_inputs_changes_neither_them_nor_its_side_chain)
{
  static float before[2][FRAMES];
  fake_plugin_init(&fake, 2, 1, 2);
  fake.writes_inputs = true;
  memcpy(before, in, sizeof(before));
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64);
  rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 1);
  ck_assert(memcmp(before, in, sizeof(before)) == 0);
  ck_assert(memcmp(before, out, sizeof(before)) == 0);
}

TEST(one_channel_for_all_inputs_is_a_copy_for_each)
{
  fake_plugin_init(&fake, 3, 0, 3);
  fake.writes_inputs = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t o = 0; o < 3U; ++o) {
    ck_assert(memcmp(out[o], in[0], sizeof(in[0])) == 0);
  }
}

// ---- latency and tail ----

TEST(a_latency_that_is_reported_late_is_that_of_the_node)
{
  fake.latency_frames = 100;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 3, 64);
  ck_assert_uint_eq(rig.shape.latency_frames, 100);
  ck_assert_uint_eq(fake.n_renewed, 3); // nothing is left of the silence
  rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 2);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[2][i] == (i < 100U ? 0.0F : in[2][i - 100U]));
  }
}

TEST(a_latency_is_that_of_the_values)
{
  fake.latency_follows = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64, SET("whole", 5.0));
  ck_assert_uint_eq(rig.shape.latency_frames, 5);
}

TEST(instances_with_different_latencies_are_refused)
{
  fake.latency_frames = 5;
  fake.latency_growth = 2;
  assert_says(refusal(3, STATUS_LIMIT), "different latencies, 5 and 7 frames");
}

TEST(a_latency_beyond_two_seconds_is_refused_live)
{
  fake.latency_frames = (uint32_t)(LATENCY_LIMIT_SECONDS * FAKE_RATE);
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  ++fake.latency_frames;
  assert_says(refusal(1, STATUS_LIMIT), "a latency of 96001 frames (2 s); at most 2 s");
  const RigArg none = { 0 };
  FxRig offline;
  OK(rig_try_fx(&offline, &fake.plugin.fx, FAKE_RATE, 1, 64, true, &none, 0, &error));
  rig_free(&offline);
}

static const uint32_t absurd_latencies[] = { LATENCY_MAX_FRAMES + 1U, UINT32_MAX - 100U,
                                             UINT32_MAX - 2U };

TEST_ROWS(an_absurd_latency_is_refused_offline, absurd_latencies)
{
  fake.latency_error = absurd_latencies[row];
  const RigArg none = { 0 };
  FxRig rig;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rig_try_fx(&rig, &fake.plugin.fx, FAKE_RATE, 1, 64, true, &none, 0, &error),
                   STATUS_LIMIT);
  assert_says(error.text, "at most 1398 s");
}

TEST_ROWS(an_absurd_latency_is_refused_in_a_group, absurd_latencies)
{
  fake.latency_error = absurd_latencies[row];
  fake.params[FAKE_PRESET].id = "group"; // in place of the preset
  fake.param_ports[FAKE_PRESET] = PLUGIN_GROUP;
  const RigArg group = { .id = "group", .text = "fx" };
  FxRig rig;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rig_try_fx(&rig, &fake.plugin.fx, FAKE_RATE, 1, 64, true, &group, 1, &error),
                   STATUS_LIMIT);
  assert_says(error.text, "at most 1398 s");
}

/// Set the latency of a fake that follows `whole`, and run blocks.
static void
move_latency(FxRig* const rig, const double frames)
{
  rig_set(rig, "whole", frames);
  rig_run(rig, ins, outs, 192, RIG_BLOCKS, 0);
}

TEST(a_latency_that_moves_while_the_node_runs_is_that_of_the_node)
{
  fake.latency_follows = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 3, 64, SET("whole", 2.0));
  ck_assert_uint_eq(rig.fx->latency(rig.node), 2);
  rig_run(&rig, ins, outs, 64, RIG_BLOCKS, 0); // the plugin does not report it yet
  ck_assert_uint_eq(rig.fx->latency(rig.node), 2);
  move_latency(&rig, 7.0);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 7);
  move_latency(&rig, 0.0);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 0);
  OK(rig.fx->renew(rig.node, &error));
  rig_reset(&rig);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 0);
}

TEST_ROWS(a_latency_that_becomes_absurd_is_not_followed, absurd_latencies)
{
  fake.latency_follows = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("whole", 2.0));
  fake.latency_error = absurd_latencies[row];
  move_latency(&rig, 2.0);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 2);
  fake.latency_error = 0;
  move_latency(&rig, 4.0);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 4);
}

TEST(a_bypass_delays_by_a_latency_that_has_moved)
{
  fake.latency_follows = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  move_latency(&rig, 5.0);
  rig_set(&rig, "bypass", 1.0);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = FRAMES / 2U; i < FRAMES; ++i) {
    ck_assert(out[0][i] == in[0][i - 5U]);
  }
}

TEST(a_latency_that_moves_during_a_bypass_counts_after_it)
{
  fake.latency_follows = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("whole", 3.0), SET("bypass", 1.0));
  move_latency(&rig, 6.0);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 3);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 3; i < FRAMES; ++i) {
    ck_assert(out[0][i] == in[0][i - 3U]); // does not jump
  }
  rig_set(&rig, "bypass", 0.0);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_uint_eq(rig.fx->latency(rig.node), 6);
}

TEST(a_tail_lasts_ten_seconds)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  ck_assert_uint_eq(rig.shape.tail_frames, 480000);
}

// ---- opening ----

TEST(if_an_instance_does_not_open_the_others_are_closed)
{
  for (uint32_t k = 0; k < 4U; ++k) {
    fake_plugin_init(&fake, 1, 0, 1);
    fake.fails_at = k;
    assert_says(refusal(4, STATUS_FILE), "the fake does not want to");
    ck_assert_uint_eq(fake.n_opened, k);
  }
}

TEST(an_error_of_the_first_renewal_is_reported)
{
  fake.renewal_fails = true;
  assert_says(refusal(2, STATUS_NO_MEM), "the fake stays as it is");
}

TEST(a_binary_that_has_changed_is_not_opened)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "plugin.so", "old", 3);
  fake.plugin.binary = scratch_path(&scratch, "plugin.so");
  OK(file_key(fake.plugin.binary, &fake.plugin.binary_key, &error));
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  scratch_write(&scratch, "plugin.so", "newer", 5);
  const uint32_t n_opened = fake.n_opened;
  assert_says(refusal(1, STATUS_FILE),
              "has changed since the last scan; run `warprack scan`, and ");
  assert_says(refusal(1, STATUS_FILE), "restart the program if it runs with --in-process");
  fake.plugin.binary = "/no/such/plugin.so";
  assert_says(refusal(1, STATUS_FILE), "/no/such/plugin.so");
  ck_assert_uint_eq(fake.n_opened, n_opened);
}

TEST(a_format_that_the_build_lacks_is_named)
{
  fake.plugin.origin.format = "vst3";
  assert_says(refusal(1, STATUS_NO_BACKEND), "this build cannot host vst3 plugins");
}

static void*
make_and_renew(void* const rig)
{
  fake_rig((FxRig*)rig, &fake, 2, 64);
  OK(((FxRig*)rig)->fx->renew(((FxRig*)rig)->node, &error));
  return NULL;
}

TEST(instances_are_made_renewed_and_freed_by_one_thread_whoever_asks)
{
  FxRig rigs[2];
  make_and_renew(&rigs[0]);
  pthread_t other;
  ck_assert_int_eq(pthread_create(&other, NULL, make_and_renew, &rigs[1]), 0);
  pthread_join(other, NULL);
  rig_free(&rigs[0]);
  rig_free(&rigs[1]);
  ck_assert_uint_eq(fake.n_closed, 4);
  ck_assert_uint_eq(fake.n_elsewhere, 0);
  ck_assert(!pthread_equal(fake.thread, pthread_self()));
}

// ---- run ----

TEST(the_output_does_not_depend_on_the_split)
{
  static float reference[3][FRAMES];
  fake.latency_frames = 77;
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    SCOPED(rig_free) FxRig rig;
    fake_rig(&rig, &fake, 3, 64, SET("gain", 0.5));
    rig_run(&rig, ins, outs, FRAMES, (RigSplit)split, 3);
    if (split == RIG_BLOCKS) {
      memcpy(reference, out, sizeof(reference));
    }
    ck_assert(memcmp(reference, out, sizeof(reference)) == 0);
  }
}

TEST(live_and_offline_sound_alike)
{
  static float both[2][FRAMES];
  for (int offline = 0; offline < 2; ++offline) {
    FxRig rig;
    const RigArg none = { 0 };
    OK(rig_try_fx(&rig, &fake.plugin.fx, FAKE_RATE, 1, 64, offline, &none, 0, &error));
    for (uint32_t done = 0; done + 64U <= FRAMES; done += 64U) {
      rig_set(&rig, "gain", (done / 64U) % 5U);
      const float* const in_now[] = { in[0] + done };
      float* const out_now[] = { both[offline] + done };
      rig_run(&rig, in_now, out_now, 64, RIG_BLOCKS, 0);
    }
    rig_free(&rig);
  }
  ck_assert(memcmp(both[0], both[1], sizeof(both[0])) == 0);
}

TEST(units_run_in_any_order_and_one_by_one)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 3, 64);
  for (uint32_t done = 0; done + 64U <= FRAMES; done += 64U) {
    rig_set(&rig, "gain", (done / 64U) % 5U);
    for (uint32_t u = 3; u-- > 0U;) {
      const float* const in_now[] = { in[0] + done };
      float* const out_now[] = { out[u] + done };
      const FxUnit unit = {
        .node = rig.node, .state = rig.states[u], .in = in_now, .out = out_now
      };
      rig.fx->run(&unit, 1, 64);
    }
  }
  ck_assert(memcmp(out[0], out[1], sizeof(out[0])) == 0);
  ck_assert(memcmp(out[0], out[2], sizeof(out[0])) == 0);
}

TEST(set_and_run_do_not_allocate)
{
  fake.latency_frames = 10;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  const FxUnit unit = { .node = rig.node, .state = rig.states[0], .in = ins, .out = outs };
  counted_alloc_begin();
  for (uint32_t i = 0; i < 50U; ++i) {
    rig.fx->set(rig.node, GAIN, i % 3U, rig.ramp_frames);
    rig.fx->set_at(rig.node, FAKE_BYPASS, i / 10U % 2U, rig.ramp_frames, 3);
    rig.fx->run(&unit, 1, 64);
    rig.fx->unit_init(rig.node, rig.states[0], 0);
  }
  ck_assert_int_eq(counted_alloc_peak(), 0);
}

// ---- renewal ----

static uint32_t
count_nan(const float* const samples)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    n += isnan(samples[i]) != 0;
  }
  return n;
}

TEST(a_renewed_plugin_is_as_new)
{
  static float reference[FRAMES];
  fake.latency_frames = 50;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64);
  rig_set(&rig, "gain", 2.0);
  in[1][500] = 2.0F * FAKE_POISON;
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_uint_eq(count_nan(out[0]), 0);
  ck_assert_uint_eq(count_nan(out[1]), FRAMES - 500U);
  in[1][500] = 0.5F;
  rig_reset(&rig); // alone does not help
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_uint_eq(count_nan(out[1]), FRAMES);

  const uint32_t n_opened = fake.n_opened;
  OK(rig.fx->renew(rig.node, &error));
  rig_reset(&rig);
  ck_assert_uint_eq(fake.n_opened, n_opened);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  memcpy(reference, out[1], sizeof(reference));
  SCOPED(rig_free) FxRig fresh;
  fake_rig(&fresh, &fake, 2, 64, SET("gain", 2.0));
  rig_run(&fresh, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert(memcmp(reference, out[1], sizeof(reference)) == 0);
}

TEST(a_renewal_that_fails_is_reported)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64);
  fake.renewal_fails = true;
  Error error;
  ck_assert_int_eq(rig.fx->renew(rig.node, &error), STATUS_NO_MEM);
  assert_says(error.text, "the fake stays as it is");
}

// ---- the rest of the process ----

/// Fail the test unless thread and process are as the program wants them.
static void
check_process(const uint64_t float_mode)
{
  static const int numbers[] = { SIGABRT, SIGPIPE };
  ck_assert_uint_eq(rt_float_mode(), float_mode);
  ck_assert_str_eq(setlocale(LC_ALL, NULL), "C");
  ck_assert(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
  for (size_t i = 0; i < ARRAY_LEN(numbers); ++i) {
    struct sigaction action;
    sigaction(numbers[i], NULL, &action);
    ck_assert(action.sa_handler == SIG_DFL);
  }
}

TEST(a_plugin_changes_neither_float_mode_nor_locale_nor_handlers)
{
  fake.changes_process = true;
  signal(SIGABRT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  rt_flush_denormals();
  const uint64_t float_mode = rt_float_mode();
  FxRig rig;
  fake_rig(&rig, &fake, 3, 64);
  check_process(float_mode);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  check_process(float_mode);
  OK(rig.fx->renew(rig.node, &error));
  check_process(float_mode);
  rig_free(&rig);
  check_process(float_mode);
  fake.fails_at = fake.n_opened;
  refusal(1, STATUS_FILE);
  check_process(float_mode);
}

TEST(a_fade_runs_in_the_float_mode_of_the_program)
{
  fake.changes_process = true; // run() rounds otherwise, and keeps denormals
  rt_flush_denormals();
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  for (uint32_t i = 0; i < 64U; ++i) {
    in[0][i] = 1.5e-38F; // the dry part of it is a denormal
  }
  rig_set(&rig, "bypass", 1.0);
  rig_run(&rig, ins, outs, 64, RIG_BLOCKS, 0);
  ck_assert(out[0][63] < 1.45e-38F);
}

// ---- quarantine ----

#define DRY_FRAMES 100U

/// Four units in quarantine, from 8 channels to 4.
static void
quarantined_rig(FxRig* const rig)
{
  static const double values[N_ALL_FAKE_PARAMS];
  static const bool given[N_ALL_FAKE_PARAMS];
  static const char* const texts[N_ALL_FAKE_PARAMS];
  fake_plugin_init(&fake, 2, 0, 1);
  const FxSetup setup = { .fx = &fake.plugin.fx,
                          .rate_hz = FAKE_RATE,
                          .max_block_frames = 64,
                          .n_in = 8,
                          .values = values,
                          .given = given,
                          .texts = texts,
                          .is_quarantined = true,
                          .dry_frames = DRY_FRAMES };
  *rig = (FxRig){ .fx = setup.fx,
                  .n_in = setup.n_in,
                  .max_block = 64,
                  .ramp_frames = fx_ramp_frames(FAKE_RATE),
                  .n_units = 4,
                  .n_out = 4 };
  OK(fx_make(setup.fx, &setup, &rig->shape, &rig->node, &error));
  ck_assert_uint_eq(rig->shape.unit_in, 2U);
  ck_assert_uint_eq(rig->shape.unit_out, 1U);
  ck_assert_uint_eq(rig->shape.latency_frames, DRY_FRAMES);
  rig->states = calloc(rig->n_units, sizeof(void*));
  rig->input_line = dry_rig_new(&rig->shape, rig->n_in, rig->max_block);
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    rig->states[u] = aligned_alloc(64U, (rig->shape.unit_bytes + 63U) & ~(size_t)63U);
  }
  rig_reset(rig);
}

TEST(a_node_in_quarantine_plays_its_input_delayed_and_does_not_touch_the_plugin)
{
  SCOPED(rig_free) FxRig rig = { 0 };
  quarantined_rig(&rig);
  rig_set(&rig, "gain", 0.5);
  rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 1);
  OK(rig.fx->renew(rig.node, &error));
  for (uint32_t o = 0; o < rig.n_out; ++o) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      ck_assert(out[o][i] == (i < DRY_FRAMES ? 0.0F : in[2U * o][i - DRY_FRAMES]));
    }
  }
  ck_assert_uint_eq(fake.n_opened + fake.n_runs + fake.n_renewed + fake.n_sets, 0U);
}

SUITE_MAIN_WITH("host", set_up, NULL)
