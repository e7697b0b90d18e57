// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes whose plugin is not there play their input, to the bit, with as many channels as their
// connections need; the rest of the rack plays.  Crashes of the worker change nothing in that.

#include "plugins/plugin.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"
#include "tests/support/test_driver.h"

#include <signal.h>
#include <stdlib.h>

#define GONE     "\"urn:test:gone\""
#define N_BLOCKS 8U
#define N_FRAMES ((size_t)N_BLOCKS * DRIVER_BLOCK)

static Error fault;

static void
without_plugins(void)
{
  setenv("XDG_CACHE_HOME", "/nowhere", 1);
}

static Rack*
bypassed(const char* const text)
{
  Rack* rack = NULL;
  OK(rack_parse_bypass(text, "t", NULL, &rack, &error));
  return rack;
}

/// The source of each output: an input, its sum with the next ones, or silence.
typedef struct Case {
  const char* rack;
  uint32_t n_in, n_out;
  int from[DRIVER_CHANNELS]; ///< Channel of the input, or -1
} Case;

static const Case cases[] = {
  { "lv2 " GONE, 1, 1, { 0 } },
  { "lv2 " GONE " a=1 \"b c\"", 2, 2, { 0, 1 } },
  { "lv2 " GONE, 1, 2, { 0, 0 } }, // one channel feeds both outputs
  { "lv2 " GONE, 2, 1, { 0 } },    // it may have one output
  { "add m lv2 gone\nconnect in:1 m\nconnect m:1 out:1\nconnect m:2 out:2", 2, 2, { 0, 0 } },
  { "add m lv2 gone\nconnect in m\nconnect m out:2", 2, 2, { -1, 0 } },
  { "add m lv2 gone\nconnect in m\nconnect m:4 out:1\nconnect m:2 out:2", 2, 2, { 1, 1 } },
  { "add m lv2 gone\nconnect in:2 m:3\nconnect m out", 2, 3, { -1, -1, 1 } },
  { "add s lv2 synth\nconnect s:3 out:1\nconnect in out:2", 1, 2, { -1, 0 } }, // a source
  { "add m lv2 gone\nadd k gain\nconnect in k\nconnect in:1 m\nconnect k m.key\n"
    "connect k m.low:3\nconnect m out",
    2,
    2,
    { 0, 0 } }, // nothing hears the side inputs
  { "lv2 gone | ladspa gone/gone | clap gone", 2, 2, { 0, 1 } },
};

static void
expect_sound(const TestDriver* const driver, const Case* const wanted)
{
  for (uint32_t o = 0; o < wanted->n_out; ++o) {
    for (size_t i = driver->position - DRIVER_BLOCK; i < driver->position; ++i) {
      const float expected =
          wanted->from[o] < 0 ? 0.0F : driver->in[wanted->from[o]][i]; // to the bit
      ck_assert_msg(driver->out[o][i] == expected, "output %u, frame %zu: %g, not %g", o, i,
                    (double)driver->out[o][i], (double)expected);
    }
  }
}

TEST_ROWS(the_input_plays_in_place_of_a_missing_plugin, cases)
{
  const Case* const wanted = &cases[row];
  const EngineConfig config = { .n_in = wanted->n_in, .n_out = wanted->n_out, .offline = true };
  SCOPED(driver_free) TestDriver driver = driver_from(&config, "connect in:1 out:1", N_FRAMES);
  for (uint32_t c = 0; c < wanted->n_in; ++c) {
    signal_noise(driver.in[c], N_FRAMES, c + 1U);
  }
  SCOPED_RACK Rack* const rack = bypassed(wanted->rack);
  OK(engine_edit_wait(driver.engine, rack, &error));
  driver_play(&driver, N_BLOCKS);
  expect_sound(&driver, wanted);
  EnginePlacement placements[8];
  const uint32_t n = engine_placements(driver.engine, placements, 8);
  for (uint32_t p = 0; p < n; ++p) {
    const RackNode* const node = rack_find_uid(rack, placements[p].uid);
    ck_assert(!node || node->fx->is_missing == (placements[p].reason == PLACE_MISSING));
  }
}

TEST(an_edit_without_the_word_is_refused)
{
  Rack* rack = NULL;
  ck_assert_int_eq(rack_parse("lv2 " GONE, "t", NULL, &rack, &fault), STATUS_NOT_FOUND);
}

TEST(a_missing_plugin_has_the_side_inputs_that_racks_name)
{
  static const char* const names[] = { "key", "low" };
  const FxInfo* none = NULL;
  const FxInfo* two = NULL;
  const FxInfo* again = NULL;
  OK(fx_missing_plugin("lv2", "urn:test:gone", NULL, 0, &none, &error));
  OK(fx_missing_plugin("lv2", "urn:test:gone", names, 2, &two, &error));
  OK(fx_missing_plugin("lv2", "urn:test:gone", names, 2, &again, &error));
  ck_assert_ptr_ne(none, two);
  ck_assert_ptr_eq(two, again);
  ck_assert_str_eq(none->name, "gone");
  ck_assert_str_eq(two->sides[1].name, "low");
  ck_assert_uint_eq(two->n_sides, 2);
  const char* many[FX_MISSING_SIDES + 1U];
  for (uint32_t s = 0; s < ARRAY_LEN(many); ++s) {
    many[s] = "x";
  }
  ck_assert_int_eq(fx_missing_plugin("lv2", "x", many, ARRAY_LEN(many), &again, &fault),
                   STATUS_LIMIT);
}

TEST(a_new_worker_bypasses_the_same_nodes)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  SCOPED_RACK Rack* const rack = bypassed("m: lv2 " GONE " x=1 | " HALVED);
  OK(engine_edit_wait(rig.engine, rack, &error));
  await_health(&rig, HALF);
  send_signal(&rig, SIGKILL);
  assert_worker_replaced(&rig, 1U, HALF);
  SCOPED_RACK Rack* const now = engine_rack(rig.engine);
  ck_assert(rack_equal(now, rack));
}

SUITE_MAIN_WITH("missing", without_plugins, NULL)
