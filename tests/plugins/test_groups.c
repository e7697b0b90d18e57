// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes with `group=` play the same samples in the process of their group as in this one, one block
// later than without a group.  Their memory counts.

#include "tests/support/group_rig.h"
#include "tests/support/suite.h"

#include "engine/ring/ring.h"
#include "plugins/group/group.h"

#include <stdlib.h>

#define BLOCK    GROUP_RIG_BLOCK
#define N_BLOCKS GROUP_RIG_BLOCKS

static GroupRig*
open_node(const char* const id, const char* const group)
{
  const GroupRigSetup setup = { .group = group, .n_in = 1U };
  return group_rig_open(group_rig_ladspa(id), &setup);
}

// ---- the same samples ----

static const uint32_t lengths[] = { BLOCK, 17U, BLOCK, 1U, 63U };

static void
play_with_changes(GroupRig* const node)
{
  for (uint32_t b = 0; b < 30U; ++b) {
    if (b == 3U || b == 11U) {
      group_rig_set(node, "gain", b == 3U ? -20.0 : 6.0);
    }
    group_rig_play(node, lengths[b % ARRAY_LEN(lengths)]);
  }
}

TEST(a_group_plays_the_samples_of_this_process)
{
  const Plugin* const plugin = group_rig_ladspa("effects/gain");
  const GroupRigSetup live = { .group = "fx", .n_in = 3U };
  const GroupRigSetup file = { .group = "fx", .n_in = 3U, .offline = true };
  GroupRig* const here = group_rig_open(plugin, &live);
  play_with_changes(here);
  GroupRig* const offline = group_rig_open(plugin, &file);
  play_with_changes(offline);
  group_rig_start();
  GroupRig* const there = group_rig_open(plugin, &live);
  play_with_changes(there);
  ck_assert_uint_eq(there->shape.latency_frames, BLOCK);
  ck_assert_uint_eq(here->shape.latency_frames, BLOCK);
  ck_assert_mem_eq(here->out, there->out, sizeof(here->out));
  ck_assert_mem_eq(here->out, offline->out, sizeof(here->out));
  ck_assert_uint_eq(fx_take_missed(), 0U);
  group_rig_close(here);
  group_rig_close(offline);
  group_rig_close(there);
}

TEST(a_group_delays_by_one_block)
{
  GroupRig* const alone = open_node("effects/lowpass", NULL);
  group_rig_start();
  GroupRig* const there = open_node("effects/lowpass", "fx");
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    group_rig_play(alone, BLOCK);
    group_rig_play(there, BLOCK);
  }
  ck_assert_mem_eq(alone->out[0], there->out[0] + BLOCK, (N_BLOCKS - 1U) * BLOCK * sizeof(float));
  ck_assert_float_eq(there->out[0][BLOCK - 1U], 0.0F);
  group_rig_close(alone);
  group_rig_close(there);
}

TEST(the_latency_of_the_plugin_is_added)
{
  group_rig_start();
  GroupRig* const node = open_node("effects/delay", "fx");
  ck_assert_uint_eq(node->shape.latency_frames, BLOCK + 64U);
  ck_assert_uint_eq(node->fx->latency(node->node), BLOCK + 64U);
  group_rig_close(node);
}

TEST(a_renewed_node_begins_with_silence)
{
  group_rig_start();
  GroupRig* const node = open_node("effects/lowpass", "fx");
  group_rig_play(node, BLOCK);
  group_rig_play(node, BLOCK);
  OK(node->fx->renew(node->node, &error));
  node->fx->unit_init(node->node, node->states[0], 0U);
  node->n_played = 0;
  float before[BLOCK];
  memcpy(before, node->out[0] + BLOCK, sizeof(before));
  group_rig_play(node, BLOCK);
  group_rig_play(node, BLOCK);
  ck_assert_float_eq(node->out[0][BLOCK - 1U], 0.0F);
  ck_assert_mem_eq(before, node->out[0] + BLOCK, sizeof(before));
  group_rig_close(node);
}

// ---- memory ----

TEST(the_memory_of_the_process_counts_for_the_node)
{
  setenv("WARPRACK_FIXTURE", "takes_memory", 1);
  groups_start(getenv("WARPRACK_BAD_GROUP"));
  GroupRig* const node = open_node("effects/gain", "fx");
  ck_assert_uint_ge(node->shape.data_bytes,
                    (size_t)64U << 20U); // of 128 MiB: the kernel may be wrong
  group_rig_close(node);
}

/// Of the bad process, which takes none itself.
TEST(the_rings_count_for_the_node)
{
  setenv("WARPRACK_FIXTURE", "", 1);
  groups_start(getenv("WARPRACK_BAD_GROUP"));
  const GroupRigSetup setup = { .group = "fx", .n_in = GROUP_RIG_CHANNELS };
  const GroupRig* const node = group_rig_open(group_rig_ladspa("effects/gain"), &setup);
  const size_t least_bytes = GROUP_RIG_CHANNELS * 1024U * sizeof(ParamMessage);
  ck_assert_uint_ge(node->shape.data_bytes, least_bytes);
  group_rig_close(node);
}

// ---- names ----

static const char* const wrong_names[] = { "f x", "a/b", "012345678901234567890123456789012" };

TEST_ROWS(a_wrong_name_is_refused, wrong_names)
{
  const GroupRigSetup setup = { .group = wrong_names[row], .n_in = 1U };
  GroupRig node;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(group_rig_try(&node, group_rig_ladspa("effects/gain"), &setup, &error),
                   STATUS_BAD_RACK);
  assert_says(error.text, "a name of 1 to 32 letters, digits, _ and -");
}

SUITE_MAIN("groups")
