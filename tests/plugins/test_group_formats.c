// SPDX-License-Identifier: GPL-3.0-or-later
// States and notes of plugins in a group, of the formats that have them.

#include "tests/support/group_rig.h"
#include "tests/support/instruments.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include "plugins/format.h"

#include <stdlib.h>

static const struct {
  const char *format, *folder, *file, *id;
} learners[] = {
  { "clap", "WARPRACK_CLAP_FIXTURES", "/fixtures.clap", "test.learner" },
  { "lv2", "WARPRACK_LV2_FIXTURES", "", "urn:warprack:learner" },
};

/// A node saves what it has learnt; another one with that file goes on like it.
TEST_ROWS(a_state_is_saved_and_loaded_in_the_process, learners)
{
  if (!plugin_format_find(learners[row].format)) {
    suite_skip("no such format in this build");
    return;
  }
  const Plugin* const plugin = group_rig_plugin(learners[row].format, learners[row].folder,
                                                learners[row].file, learners[row].id);
  GroupRigSetup setup = { .group = "fx", .n_in = 1U };
  GroupRig* const here = group_rig_open(plugin, &setup);
  group_rig_start();
  GroupRig* const first = group_rig_open(plugin, &setup);
  group_rig_play_blocks(here, 10U);
  group_rig_play_blocks(first, 10U);
  ck_assert_mem_eq(here->out, first->out, sizeof(here->out));

  unsigned char *bytes = NULL, *bytes_here = NULL;
  size_t n_bytes = 0, n_here = 0;
  OK(here->fx->save(here->node, &here->shape, &bytes_here, &n_here, &error));
  OK(first->fx->save(first->node, &first->shape, &bytes, &n_bytes, &error));
  ck_assert_uint_eq(n_bytes, n_here);
  ck_assert_mem_eq(bytes, bytes_here, n_bytes);
  const Scratch scratch = scratch_new();
  scratch_write(&scratch, "learnt.state", bytes, n_bytes);

  setup.state = scratch_path(&scratch, "learnt.state");
  GroupRig* const second = group_rig_open(plugin, &setup);
  group_rig_play_blocks(second, 2U);
  // It has the peak of 0.5 from the first sample on.
  ck_assert_float_eq_tol(second->out[0][GROUP_RIG_BLOCK + 9U], 1.5F * second->in[0][9], 1e-4F);
  OK(second->fx->renew(second->node, &error));
  second->fx->unit_init(second->node, second->states[0], 0U);
  second->n_played = 0;
  group_rig_play_blocks(second, 2U);
  ck_assert_float_eq_tol(second->out[0][GROUP_RIG_BLOCK + 9U], 1.5F * second->in[0][9], 1e-4F);
  scratch_remove(&scratch);
  free(bytes);
  free(bytes_here);
  group_rig_close(here);
  group_rig_close(first);
  group_rig_close(second);
}

/// The values of a preset that only the plugin knows are those of its node.
TEST(a_preset_is_loaded_in_the_process)
{
  if (!plugin_format_find("clap")) {
    suite_skip("no CLAP in this build");
    return;
  }
  const Plugin* const plugin =
      group_rig_plugin("clap", "WARPRACK_CLAP_FIXTURES", "/fixtures.clap", "test.learner");
  const GroupRigSetup setup = { .group = "fx", .n_in = 1U, .preset = "Half" };
  const int gain = fx_param_find(&plugin->fx, "gain");
  GroupRig* const here = group_rig_open(plugin, &setup);
  group_rig_start();
  GroupRig* const there = group_rig_open(plugin, &setup);
  ck_assert_double_eq(plugin->fx.params[gain].initial, 1.0);
  ck_assert_double_eq(here->fx->initial(here->node, (uint32_t)gain), 0.5);
  ck_assert_double_eq(there->fx->initial(there->node, (uint32_t)gain), 0.5);
  group_rig_play_blocks(here, 4U);
  group_rig_play_blocks(there, 4U);
  ck_assert_mem_eq(here->out, there->out, sizeof(here->out));
  group_rig_close(here);
  group_rig_close(there);
}

static void
play_notes(GroupRig* const rig)
{
  const FxEvent on = { FX_NOTE_ON, 60U, 0.8F };
  const FxEvent off = { FX_NOTE_OFF, 60U, 0.0F };
  rig->fx->event(rig->node, &on, 10U);
  group_rig_play_blocks(rig, 3U);
  rig->fx->event(rig->node, &off, 5U);
  rig->fx->event(rig->node, &on, 20U);
  group_rig_play_blocks(rig, 5U);
}

TEST_ROWS(notes_are_played_at_their_frames, instruments)
{
  const Plugin* const plugin = instrument_describe(row);
  if (!plugin) {
    return;
  }
  const GroupRigSetup setup = { .group = "fx", .n_in = 0U };
  GroupRig* const here = group_rig_open(plugin, &setup);
  group_rig_start();
  GroupRig* const there = group_rig_open(plugin, &setup);
  play_notes(here);
  play_notes(there);
  ck_assert_mem_eq(here->out, there->out, sizeof(here->out));
  float sum = 0.0F;
  for (uint32_t f = 0; f < here->n_played; ++f) {
    sum += here->out[0][f] * here->out[0][f];
  }
  ck_assert_float_gt(sum, 0.0F);
  group_rig_close(here);
  group_rig_close(there);
}

SUITE_MAIN("group_formats")
