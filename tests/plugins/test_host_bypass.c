// SPDX-License-Identifier: GPL-3.0-or-later
// A bypassed plugin passes on its input, delayed by its latency, and returns without a click.

#include "plugins/host_bypass.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define FRAMES      4800U
#define FADE_FRAMES 480U // BYPASS_SECONDS

static FakePlugin fake;
static float in[3][FRAMES];
static float out[3][FRAMES];
static const float* const ins[] = { in[0], in[1], in[2] };
static float* const outs[] = { out[0], out[1], out[2] };

static void
make_noise(void)
{
  for (uint32_t c = 0; c < 3U; ++c) {
    signal_noise(in[c], FRAMES, c + 1U);
  }
}

/// The input of an output, delayed by the plugin's latency.
static float
dry(const uint32_t channel, const uint32_t frame)
{
  return frame < fake.latency_frames ? 0.0F : in[channel][frame - fake.latency_frames];
}

static const uint32_t latencies[] = { 0, 1, 63, 64, 65, 1000, 3000 };

TEST_ROWS(a_bypass_from_the_start_is_the_delayed_input, latencies)
{
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    fake_plugin_init(&fake, 1, 0, 1);
    fake.latency_frames = latencies[row];
    make_noise();
    SCOPED(rig_free) FxRig rig;
    fake_rig(&rig, &fake, 2, 64, SET("gain", 3.0), SET("bypass", 1.0));
    const uint32_t n_runs = fake.n_runs;
    rig_run(&rig, ins, outs, FRAMES, (RigSplit)split, 1);
    ck_assert_uint_gt(fake.n_runs, n_runs); // the plugin runs on
    for (uint32_t i = 0; i < FRAMES; ++i) {
      ck_assert(out[0][i] == dry(0, i));
      ck_assert(out[1][i] == dry(1, i));
    }
  }
}

TEST_ROWS(a_fade_takes_10_ms_and_ends_exactly, latencies)
{
  static float reference[FRAMES];
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    fake_plugin_init(&fake, 1, 0, 1);
    fake.latency_frames = latencies[row];
    make_noise();
    SCOPED(rig_free) FxRig rig;
    fake_rig(&rig, &fake, 1, 64, SET("gain", 3.0));
    rig_set(&rig, "bypass", 1.0);
    rig_run(&rig, ins, outs, FRAMES, (RigSplit)split, 2);
    for (uint32_t i = 0; i < FRAMES; ++i) {
      const double w = fmin((i + 1.0) / FADE_FRAMES, 1.0);
      const double weight = w * w * (3.0 - 2.0 * w);
      const double expected = (1.0 - weight) * 3.0 * dry(0, i) + weight * dry(0, i);
      ck_assert_double_eq_tol(out[0][i], expected, 1e-6);
      ck_assert(w < 1.0 || out[0][i] == dry(0, i));
    }
    if (split == RIG_BLOCKS) {
      memcpy(reference, out[0], sizeof(reference));
    }
    ck_assert_double_le(max_difference(out[0], reference, FRAMES, NULL), 0.0);
  }
}

TEST(the_plugin_returns_warm_and_to_the_bit)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fake.latency_frames = 100;
  make_noise();
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("gain", 3.0), SET("bypass", 1.0));
  const uint32_t half = FRAMES / 2U;
  rig_run(&rig, ins, outs, half, RIG_BLOCKS, 0);
  rig_set(&rig, "bypass", 0.0);
  const float* const in_late[] = { in[0] + half };
  float* const out_late[] = { out[0] + half };
  rig_run(&rig, in_late, out_late, half, RIG_BLOCKS, 0);
  ck_assert_double_eq_tol(out[0][half], dry(0, half), 1e-3);
  for (uint32_t i = half + FADE_FRAMES; i < FRAMES; ++i) {
    ck_assert(out[0][i] == 3.0F * dry(0, i));
  }
}

TEST(a_plugin_without_effect_is_faded_without_a_change)
{
  fake_plugin_init(&fake, 1, 0, 1);
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = 0.7F;
  }
  for (uint32_t done = 0; done < FRAMES; done += 320U) { // turns round on the way, too
    rig_set(&rig, "bypass", done / 320U % 2U);
    const float* const in_now[] = { in[0] + done };
    float* const out_now[] = { out[0] + done };
    rig_run(&rig, in_now, out_now, 320, RIG_BLOCKS, 0);
  }
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert_double_eq_tol(out[0][i], 0.7, 1e-6);
  }
}

TEST(further_outputs_get_the_last_input)
{
  fake_plugin_init(&fake, 2, 0, 3);
  fake.latency_frames = 10;
  make_noise();
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 2, 64, SET("bypass", 1.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[0][i] == dry(0, i));
    ck_assert(out[1][i] == dry(1, i));
    ck_assert(out[2][i] == dry(1, i));
  }
}

TEST(an_input_that_the_plugin_overwrites_is_bypassed_unchanged)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fake.writes_inputs = true;
  make_noise();
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("bypass", 1.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert(memcmp(out[0], in[0], sizeof(out[0])) == 0);
}

TEST(a_new_unit_has_an_empty_line)
{
  fake_plugin_init(&fake, 1, 0, 1);
  fake.latency_frames = 1000;
  make_noise();
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  rig_set(&rig, "bypass", 1.0);
  OK(rig.fx->renew(rig.node, &error));
  rig_reset(&rig);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[0][i] == dry(0, i)); // at once, without a fade
  }
}

static const struct {
  uint32_t flags;
  double off; ///< Number of the port that does not bypass
} own[] = { { PORT_ENABLED | PORT_TOGGLED, 1.0 }, { PORT_BYPASS | PORT_TOGGLED, 0.0 } };

TEST_ROWS(a_plugin_with_a_port_for_it_is_bypassed_like_any_other, own)
{
  fake_plugin_init(&fake, 1, 0, 1);
  const uint32_t port = fake.plugin.n_ports;
  fake_plugin_add(&fake, own[row].flags, 1.0 - own[row].off); // begins bypassed
  make_noise();
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 1, 64, SET("gain", 2.0), SET("bypass", 1.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert(memcmp(out[0], in[0], sizeof(out[0])) == 0);
  double values[8] = { 0.0 };
  ck_assert_uint_eq(fake_plugin_values(&fake, 0, port, values, ARRAY_LEN(values)), 1);
  ck_assert_double_eq(values[0], own[row].off);
}

SUITE_MAIN("host_bypass")
