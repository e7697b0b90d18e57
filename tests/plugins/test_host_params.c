// SPDX-License-Identifier: GPL-3.0-or-later
// Control inputs get the values of rack, preset and table, by ramps where these help, and nothing
// outside of their ranges.

#include "plugins/host_params.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define FRAMES      9600U
#define RAMP_FRAMES 960U // FX_RAMP_SECONDS

static FakePlugin fake;
static float in[FRAMES];
static float out[FRAMES];
static const float* const ins[] = { in };
static float* const outs[] = { out };

static const uint32_t preset_ports[] = { GAIN, WHOLE, HIDDEN, CUTOFF };
static const double preset_values[] = { 3.0, 99.0, 1.0, 6000.0 };
static const PluginPreset presets[] = {
  { .name = "Bright", .n_values = 4, .ports = preset_ports, .values = preset_values },
  { .name = "Dark", .state = "/dark.ttl" },
};

static void
set_up(void)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fake_plugin_presets(&fake, presets, ARRAY_LEN(presets));
}

/// The last value that the first instance got, or its initial value.
static double
last_value(const uint32_t port)
{
  double values[FAKE_MAX_SETS];
  const uint32_t n = fake_plugin_values(&fake, 0, port, values, FAKE_MAX_SETS);
  return n ? values[n - 1U] : fake.ports[port].initial;
}

/// Run one block, and return the place of its first call of set().
static uint32_t
run_block(FxRig* const rig, const uint32_t n_frames)
{
  const uint32_t first = fake.n_sets;
  rig_run(rig, ins, outs, n_frames, RIG_BLOCKS, 0);
  return first;
}

// ---- values ----

TEST(a_value_is_that_of_the_rack_else_of_the_preset_else_the_initial_one)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("whole", -2.0), { .id = "preset", .text = "Bright" });
  ck_assert_double_eq(last_value(WHOLE), -2.0);
  ck_assert_double_eq(last_value(GAIN), 3.0);
  ck_assert_double_eq(last_value(CUTOFF), 6000.0);
  ck_assert_double_eq(last_value(HIDDEN), 1.0);
  ck_assert_double_eq(last_value(CHOICE), 2.5);
  ck_assert_double_eq(last_value(SWITCH), -1.0);
  signal_noise(in, FRAMES, 1);
  run_block(&rig, FRAMES);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[i] == 3.0F * in[i]); // from the first frame
  }
}

TEST(a_value_of_the_rack_counts_also_if_it_is_the_initial_one)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("gain", 1.0), { .id = "preset", .text = "Bright" });
  ck_assert_double_eq(last_value(GAIN), 1.0);
  ck_assert_double_eq(last_value(CUTOFF), 6000.0);
}

static const uint32_t switch_ports[] = { SWITCH, CHOICE };
static const double switch_values[] = { 5.0, 9.0 };
static const PluginPreset switch_preset = {
  .name = "On", .n_values = 2, .ports = switch_ports, .values = switch_values
};

TEST(a_value_that_the_rack_does_not_state_is_that_of_the_preset_as_the_rack_would_write_it)
{
  SCOPED(rig_free) FxRig rig;
  fake_plugin_presets(&fake, &switch_preset, 1);
  fake_rig(&rig, &fake, 1, 64, SET("choice", 2.5), SET("gain", 2.0),
           { .id = "preset", .text = "On" });
  const FxInfo* const fx = &fake.plugin.fx;
  ck_assert_double_eq(fx->initial(rig.node, SWITCH), 1.0);
  ck_assert_double_eq(fx->initial(rig.node, CHOICE), 9.0);
  ck_assert_double_eq(fx->initial(rig.node, GAIN), 1.0);
  ck_assert_double_eq(last_value(CHOICE), 2.5);
}

TEST(a_repeated_value_is_not_sent_again)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, { .id = "preset", .text = "Bright" });
  rig_set(&rig, "gain", 3.0);
  const uint32_t first = run_block(&rig, FRAMES);
  ck_assert_uint_eq(fake.n_sets, first);
  rig_set(&rig, "gain", 1.0);
  run_block(&rig, FRAMES);
  ck_assert_double_eq(last_value(GAIN), 1.0);
}

TEST(a_preset_with_a_state_goes_to_the_format)
{
  FxRig rig;
  fake_rig(&rig, &fake, 1, 64, { .id = "preset", .text = "Dark" });
  ck_assert_ptr_eq(fake.last_preset, &presets[1]);
  rig_free(&rig);
  fake_rig(&rig, &fake, 1, 64, { .id = "preset", .text = "Bright" });
  ck_assert_ptr_null(fake.last_preset);
  rig_free(&rig);
  fake_rig(&rig, &fake, 1, 64, { .id = "preset", .text = "" });
  ck_assert_ptr_null(fake.last_preset);
  rig_free(&rig);
}

TEST(an_unknown_preset_is_refused_with_the_nearest_name)
{
  FxRig rig;
  Error error;
  const RigArg args[] = { { .id = "preset", .text = "brigt" } };
  ck_assert_int_eq(rig_try_fx(&rig, &fake.plugin.fx, FAKE_RATE, 1, 64, false, args, 1, &error),
                   STATUS_NOT_FOUND);
  assert_says(error.text, "no preset \"brigt\"; did you mean \"Bright\"?");
  ck_assert_uint_eq(fake.n_opened, 0);
}

TEST(switches_and_rates_become_numbers_of_the_port)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("switch", 1.0), SET("choice", 9.0), SET("cutoff", 100.0));
  ck_assert_double_eq(last_value(SWITCH), 5.0);
  ck_assert_double_eq(last_value(CHOICE), 9.0);
  ck_assert_double_eq(last_value(CUTOFF), 100.0);
  rig_set(&rig, "switch", 0.0);
  run_block(&rig, 64);
  ck_assert_double_eq(last_value(SWITCH), -1.0);
}

TEST(an_initial_value_is_the_shown_one_at_any_rate)
{
  SCOPED(rig_free) FxRig rig;
  const RigArg none = { 0 };
  OK(rig_try_fx(&rig, &fake.plugin.fx, 96000.0, 1, 64, false, &none, 0, &error));
  ck_assert_double_eq(last_value(CUTOFF), 12000.0);
}

/// Fail the test if a value was sent outside of the range of its port; forget all values.
static void
check_ranges(void)
{
  for (uint32_t s = 0; s < fake.n_sets; ++s) {
    const PluginPort* const port = &fake.ports[fake.sets[s].port];
    const double scale = port->flags & PORT_RATE ? FAKE_RATE : 1.0;
    ck_assert_double_ge(fake.sets[s].value, port->min * scale);
    ck_assert_double_le(fake.sets[s].value, port->max * scale);
  }
  fake.n_sets = 0;
}

TEST(nothing_outside_of_a_range_is_sent)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("cutoff", 96000.0), { .id = "preset", .text = "Bright" });
  ck_assert_double_eq(last_value(CUTOFF), 24000.0); // half the rate
  ck_assert_double_eq(last_value(WHOLE), 7.0);      // 99 in the preset
  check_ranges();
  for (uint32_t frame = 0; frame < RAMP_FRAMES; frame += 64U) {
    // A ramp overshoots if its target changes a little near its end.
    rig_set(&rig, "gain", 0.0);
    run_block(&rig, 2U * RAMP_FRAMES);
    rig_set(&rig, "gain", 4.0);
    run_block(&rig, frame);
    rig_set(&rig, "gain", 3.999);
    rig_set(&rig, "cutoff", frame * 100.0 + 8.0);
    run_block(&rig, RAMP_FRAMES);
    ck_assert_uint_gt(fake.n_sets, 16);
    check_ranges();
  }
}

TEST(the_offline_port_is_1_while_a_file_is_rendered)
{
  for (int offline = 0; offline < 2; ++offline) {
    set_up();
    SCOPED(rig_free) FxRig rig;
    const RigArg none = { 0 };
    OK(rig_try_fx(&rig, &fake.plugin.fx, FAKE_RATE, 1, 64, offline, &none, 0, &error));
    ck_assert_double_eq(last_value(OFFLINE), offline);
    ck_assert_int_eq(fake.was_offline, offline);
  }
}

// ---- ramps ----

static const uint32_t blocks[] = { 1, 64, 100, 959, 960, 961, 4800 };

TEST_ROWS(a_ramp_lasts_20_ms_whatever_the_block, blocks)
{
  const uint32_t block = blocks[row];
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 4800, SET("gain", 0.5));
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  rig_set(&rig, "gain", 3.0);
  Ramp ramp = ramp_at(0.5F);
  ramp_aim(&ramp, 3.0F, RAMP_FRAMES);
  for (uint32_t frame = 0; frame < 2U * RAMP_FRAMES; frame += block) {
    const uint32_t first = run_block(&rig, block);
    ramp_skip(&ramp, block);
    ck_assert(out[0] == ramp_value(&ramp));
    ck_assert(out[block - 1U] == out[0]); // one step per block
    ck_assert_uint_eq(fake.n_sets - first, frame < RAMP_FRAMES);
    ck_assert_int_eq(out[0] == 3.0F, frame + block >= RAMP_FRAMES);
  }
}

TEST(the_last_step_of_a_ramp_is_the_value_itself)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_set(&rig, "cutoff", 1000.1);
  run_block(&rig, 2U * RAMP_FRAMES);
  ck_assert(last_value(CUTOFF) == 1000.1);
  rig_set(&rig, "cutoff", 1000.1 + 1e-9); // equal as floats
  run_block(&rig, 64);
  ck_assert(last_value(CUTOFF) == 1000.1 + 1e-9);
}

TEST(a_new_target_on_the_way_makes_no_step)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 16, SET("gain", 0.0));
  const uint32_t first = fake.n_sets;
  for (uint32_t i = 0; i < 200U; ++i) {
    if (i % 23U == 0U) {
      rig_set(&rig, "gain", i % 2U ? 1.0 : 2.0);
    }
    run_block(&rig, 16);
  }
  double values[FAKE_MAX_SETS] = { 0.0 };
  const uint32_t n = fake_plugin_values(&fake, first, GAIN, values, FAKE_MAX_SETS);
  ck_assert_uint_gt(n, 100);
  for (uint32_t v = 1; v < n; ++v) {
    ck_assert_double_le(fabs(values[v] - values[v - 1U]),
                        0.08); // 2 in 60 steps, 1.5 times as steep
  }
}

static const struct {
  const char* id;
  uint32_t port;
  double value, sent;
} jumps[] = { { "stepped", STEPPED, 0.5, 0.5 },
              { "whole", WHOLE, 3.0, 3.0 },
              { "choice", CHOICE, 9.0, 9.0 },
              { "switch", SWITCH, 1.0, 5.0 } };

TEST_ROWS(other_parameters_jump_at_their_frame, jumps)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64);
  const int param = fx_param_find(rig.fx, jumps[row].id);
  rig.fx->set_at(rig.node, (uint32_t)param, jumps[row].value, rig.ramp_frames, 17);
  const uint32_t first = fake.n_sets;
  const float* const both_in[] = { in, in };
  float* const both_out[] = { out, out + 64 };
  rig_run(&rig, both_in, both_out, 640, RIG_BLOCKS, 0);
  ck_assert_uint_eq(fake.n_sets - first, 2); // both instances, once
  for (uint32_t s = first; s < fake.n_sets; ++s) {
    ck_assert_uint_eq(fake.sets[s].instance, s - first);
    ck_assert_uint_eq(fake.sets[s].port, jumps[row].port);
    ck_assert_double_eq(fake.sets[s].value, jumps[row].sent);
    ck_assert_uint_eq(fake.sets[s].frame, 17);
    ck_assert_uint_eq(fake.sets[s].run, 0);
  }
}

TEST(several_changes_in_a_block_are_all_sent_with_their_frames)
{
  static const double values[] = { 1.0, 5.0, 2.0, 2.0, 7.0 };
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  const uint32_t param = (uint32_t)fx_param_find(rig.fx, "whole");
  for (uint32_t c = 0; c < ARRAY_LEN(values); ++c) {
    rig.fx->set_at(rig.node, param, values[c], rig.ramp_frames, 10U * c);
  }
  const uint32_t first = run_block(&rig, 64);
  ck_assert_uint_eq(fake.n_sets - first, 4U); // the repeated one is none
  for (uint32_t s = 0; s < 4U; ++s) {
    const uint32_t c = s < 3U ? s : 4U;
    ck_assert_double_eq(fake.sets[first + s].value, values[c]);
    ck_assert_uint_eq(fake.sets[first + s].frame, 10U * c);
  }
  run_block(&rig, 64);
  ck_assert_uint_eq(fake.n_sets - first, 4U);
}

/// Change `whole` more often than a block keeps; the last value is 6.
static void
change_too_often(const FxRig* const rig)
{
  const uint32_t param = (uint32_t)fx_param_find(rig->fx, "whole");
  for (uint32_t c = 0; c <= HOST_CHANGES; ++c) {
    rig->fx->set_at(rig->node, param, c % 2U ? 1.0 : 6.0, rig->ramp_frames, c % 64U);
  }
}

TEST(after_more_changes_than_a_block_keeps_the_last_values_are_sent)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("stepped", 0.25));
  rig_set(&rig, "trigger", 1.0);
  run_block(&rig, 640);
  rig_set(&rig, "stepped", 0.75);
  change_too_often(&rig);
  const uint32_t first = run_block(&rig, 640);
  ck_assert_uint_eq(fake.n_sets - first, 2U); // nothing else: no parameter without a change
  ck_assert_double_eq(last_value(WHOLE), 6.0);
  ck_assert_double_eq(last_value(STEPPED), 0.75);
}

TEST(without_changes_nothing_is_sent)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("gain", 2.0), SET("whole", 1.0));
  const uint32_t first = run_block(&rig, FRAMES);
  ck_assert_uint_eq(fake.n_sets, first);
}

// ---- runs that are cut ----

/// Play the same changes, some of them within the step of another one, in blocks of any lengths.
static void
play_changes(float* const to, const RigSplit split, double* const cutoffs)
{
  set_up();
  fake.plugin.fx.cut_at_events = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 256, SET("gain", 1.0));
  const uint32_t first = fake.n_sets;
  float* const parts[][1] = { { to }, { to + 100 }, { to + 130 } };
  signal_noise(in, FRAMES, 1);
  rig_set(&rig, "gain", 3.0);
  rig_run(&rig, (const float* const[]){ in }, parts[0], 100, split, 1);
  rig_set(&rig, "cutoff", 500.0);
  rig_run(&rig, (const float* const[]){ in + 100 }, parts[1], 30, split, 2);
  rig_set(&rig, "gain", 0.5);
  rig_set(&rig, "trigger", 1.0);
  rig_run(&rig, (const float* const[]){ in + 130 }, parts[2], 2U * RAMP_FRAMES, split, 3);
  ck_assert_uint_eq(fake_plugin_values(&fake, first, CUTOFF, cutoffs, 32), 16); // 36 + 14 * 64 + 28
  ck_assert_uint_eq(fake_plugin_values(&fake, first, TRIGGER, NULL, 0), 2);
}

static const RigSplit splits[] = { RIG_RANDOM, RIG_SINGLE };

TEST_ROWS(steps_do_not_depend_on_the_blocks_if_runs_are_cut, splits)
{
  static float wanted[FRAMES];
  double wanted_cutoffs[32] = { 0.0 };
  double cutoffs[32] = { 0.0 };
  play_changes(wanted, RIG_BLOCKS, wanted_cutoffs);
  play_changes(out, splits[row], cutoffs);
  ck_assert_mem_eq(out, wanted, (130U + 2U * RAMP_FRAMES) * sizeof(float));
  ck_assert_mem_eq(cutoffs, wanted_cutoffs, sizeof(cutoffs));
}

TEST(a_step_has_64_frames_if_runs_are_cut)
{
  fake.plugin.fx.cut_at_events = true;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 256, SET("gain", 1.0));
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  rig_set(&rig, "gain", 3.0);
  run_block(&rig, 2U * RAMP_FRAMES);
  for (uint32_t i = 0; i < RAMP_FRAMES; ++i) {
    ck_assert_int_eq(out[i] == (i ? out[i - 1U] : 1.0F), i % HOST_STEP_FRAMES != 0U);
  }
  ck_assert(out[RAMP_FRAMES - 1U] == 3.0F && out[2U * RAMP_FRAMES - 1U] == 3.0F);
}

// ---- triggers ----

/// Check the values of the trigger from call `first` on, and the blocks that they are for.
static void
check_trigger(const uint32_t first, const double* const values, const uint32_t* const runs,
              const uint32_t n)
{
  ck_assert_uint_eq(fake.n_sets - first, n);
  for (uint32_t i = 0; i < n; ++i) {
    ck_assert_uint_eq(fake.sets[first + i].port, TRIGGER);
    ck_assert_double_eq(fake.sets[first + i].value, values[i]);
    ck_assert_uint_eq(fake.sets[first + i].run, runs[i]);
  }
}

TEST(a_trigger_is_1_for_one_block)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_set(&rig, "trigger", 1.0);
  const uint32_t first = run_block(&rig, 640);
  check_trigger(first, (const double[]){ 2.0, 0.0 }, (const uint32_t[]){ 0, 1 }, 2);
}

TEST(a_trigger_that_is_repeated_counts_again)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_set(&rig, "trigger", 1.0);
  const uint32_t first = run_block(&rig, 64);
  rig_set(&rig, "trigger", 1.0); // directly after a block with 1: only a new edge counts
  run_block(&rig, 192);
  rig_set(&rig, "trigger", 1.0);
  rig_set(&rig, "trigger", 0.0); // in the same block: it is 1 for a block all the same
  run_block(&rig, 128);
  check_trigger(first, (const double[]){ 2.0, 0.0, 2.0, 0.0, 2.0, 0.0 },
                (const uint32_t[]){ 0, 1, 2, 3, 4, 5 }, 6);
}

static const bool is_next[] = { false, true }; // in the same block, in the next one

TEST_ROWS(a_trigger_that_is_delayed_is_at_the_start_of_its_block, is_next)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  const uint32_t param = (uint32_t)fx_param_find(rig.fx, "trigger");
  const uint32_t first = fake.n_sets;
  rig.fx->set_at(rig.node, param, 1.0, rig.ramp_frames, 9);
  run_block(&rig, is_next[row] ? 64 : 0);
  rig.fx->set_at(rig.node, param, 1.0, rig.ramp_frames, 17);
  run_block(&rig, 640);
  check_trigger(first, (const double[]){ 2.0, 0.0, 2.0, 0.0 }, (const uint32_t[]){ 0, 1, 2, 3 }, 4);
  ck_assert_uint_eq(fake.sets[first].frame, 9);
  ck_assert_uint_eq(fake.sets[first + 2U].frame, 0); // its block may be shorter
}

TEST(a_trigger_is_played_once_also_among_more_changes_than_a_block_keeps)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_set(&rig, "trigger", 1.0);
  rig_set(&rig, "trigger", 0.0);
  change_too_often(&rig);
  const uint32_t first = run_block(&rig, 640);
  double values[4] = { 0.0 };
  ck_assert_uint_eq(fake_plugin_values(&fake, first, TRIGGER, values, ARRAY_LEN(values)), 2);
  ck_assert(values[0] == 2.0 && values[1] == 0.0);
}

TEST(a_trigger_in_the_rack_is_not_played)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("trigger", 1.0));
  const uint32_t first = run_block(&rig, 640);
  ck_assert_uint_eq(fake.n_sets, first);
  double values[16] = { 0.0 };
  const uint32_t n = fake_plugin_values(&fake, 0, TRIGGER, values, ARRAY_LEN(values));
  for (uint32_t v = 0; v < n; ++v) {
    ck_assert_double_eq(values[v], 0.0);
  }
}

// ---- units ----

TEST(a_unit_begins_at_the_targets_without_a_ramp)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_set(&rig, "gain", 4.0);
  rig_set(&rig, "stepped", 0.25);
  run_block(&rig, 64); // the ramp has begun
  OK(rig.fx->renew(rig.node, &error));
  rig_reset(&rig);
  ck_assert_double_eq(last_value(GAIN), 4.0);
  ck_assert_double_eq(last_value(STEPPED), 0.25);
  const uint32_t first = run_block(&rig, FRAMES);
  ck_assert_uint_eq(fake.n_sets, first);
  ck_assert(out[0] == 4.0F * in[0]);
}

TEST(all_instances_follow_one_set_of_parameters)
{
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 3, 64);
  static float wide[3][FRAMES];
  const float* const wide_in[] = { in, in, in };
  float* const wide_out[] = { wide[0], wide[1], wide[2] };
  signal_noise(in, FRAMES, 3);
  rig_set(&rig, "gain", 2.0);
  rig_run(&rig, wide_in, wide_out, FRAMES, RIG_BLOCKS, 0);
  ck_assert(memcmp(wide[0], wide[1], sizeof(wide[0])) == 0);
  ck_assert(memcmp(wide[0], wide[2], sizeof(wide[0])) == 0);
  ck_assert(wide[2][FRAMES - 1U] == 2.0F * in[FRAMES - 1U]);
}

SUITE_MAIN_WITH("host_params", set_up, NULL)
