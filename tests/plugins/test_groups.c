// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes with `group=` play the same samples in the process of their group as in this one, one block
// later than without a group.  When that process crashes, hangs or is late, they play their input
// without a step, and the loss names the node.

#include "tests/support/group_rig.h"
#include "tests/support/plugin_rig.h"
#include "tests/support/suite.h"

#include "engine/base/recorder.h"
#include "plugins/group/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK    GROUP_RIG_BLOCK
#define N_BLOCKS GROUP_RIG_BLOCKS

/// Make a node; "faults/segv_run 5" has a value for the parameter "after".
static Status
try_open(GroupRig* const node, const char* const id, const char* const group, Error* const error)
{
  char name[64];
  const char* const after = strchr(id, ' ');
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(id, " "), id);
  const GroupRigSetup setup = {
    .group = group, .n_in = 1U, .has_after = after != NULL, .after = after ? atof(after) : 0.0
  };
  return group_rig_try(node, group_rig_ladspa(name), &setup, error);
}

static GroupRig*
open_node(const char* const id, const char* const group)
{
  GroupRig* const node = plugin_rig_take(1U, sizeof(GroupRig));
  OK(try_open(node, id, group, &error));
  return node;
}

/// The largest step between two samples of the outputs.
static float
largest_step(const GroupRig* const node)
{
  float most = 0.0F;
  for (uint64_t f = 1; f < node->n_played; ++f) {
    most = fmaxf(most, fabsf(node->out[0][f] - node->out[0][f - 1U]));
  }
  return most;
}

/// The output is the input, `latency` frames later, from a frame on.
static bool
is_dry(const GroupRig* const node, const uint64_t from)
{
  bool is = true;
  for (uint64_t f = from; f < node->n_played; ++f) {
    is = is && node->out[0][f] == node->in[0][f - node->shape.latency_frames];
  }
  return is;
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

// ---- names ----

static const char* const wrong_names[] = { "f x", "a/b", "012345678901234567890123456789012" };

TEST_ROWS(a_wrong_name_is_refused, wrong_names)
{
  GroupRig node;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(try_open(&node, "effects/gain", wrong_names[row], &error), STATUS_BAD_RACK);
  assert_says(error.text, "a name of 1 to 32 letters, digits, _ and -");
}

// ---- losses ----

/// Play until the loss is reported.
static FxLoss
play_to_loss(GroupRig* const node)
{
  FxLoss loss = { .uid = 0U };
  for (uint32_t b = 0; b < N_BLOCKS / 2U; ++b) {
    group_rig_play(node, BLOCK);
  }
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  do {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    time_sleep(10U * NS_PER_MS);
    fx_idle();
  } while (!fx_take_loss(&loss));
  while (node->n_played < N_BLOCKS * BLOCK) {
    group_rig_play(node, BLOCK);
  }
  return loss;
}

static const struct {
  const char* id;
  const char* says;
  RecorderPhase phase;
  bool is_hang;
} ends[] = {
  { "faults/segv_run 9", "SIGSEGV", RECORDER_RUN, false },
  { "faults/abort_run 9", "SIGABRT", RECORDER_RUN, false },
  { "faults/exit_run 9", "exited with 0", RECORDER_RUN, false },
  { "faults/exit_at_once_run 9", "exited with 0", RECORDER_RUN, false },
  { "faults/overflow_run 9", "SIGSEGV", RECORDER_RUN, false },
  { "faults/segv_thread 9", "SIGSEGV", RECORDER_THREAD, false },
  { "faults/exit_at_once_thread 9", "exited with 0", RECORDER_THREAD, false },
  { "faults/hang_run 9", "did not finish a block", RECORDER_RUN, true },
};

TEST_ROWS(a_loss_names_the_node_whose_input_plays, ends)
{
  group_rig_start();
  GroupRig* const node = open_node(ends[row].id, "bad");
  GroupRig* const other = open_node("effects/gain", "good");
  const FxLoss loss = play_to_loss(node);
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID);
  ck_assert_int_eq((int)loss.phase, (int)ends[row].phase);
  ck_assert_int_eq(loss.is_hang, ends[row].is_hang);
  assert_says(loss.text, ends[row].says);
  assert_says(loss.text, "the process of the group \"bad\"");
  ck_assert_uint_gt(fx_take_missed(), 0U);
  ck_assert(is_dry(node, (N_BLOCKS - 1U) * BLOCK));
  ck_assert_float_le(largest_step(node), 0.05F); // that of the sine is 0.025
  AWAIT(node->fx->is_lost(node->node));
  ck_assert(!other->fx->is_lost(other->node));
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    group_rig_play(other, BLOCK);
  }
  ck_assert_uint_eq(fx_take_missed(), 0U);
  GroupRig* const again = open_node("effects/gain", "bad");
  group_rig_play(again, BLOCK);
  group_rig_play(again, BLOCK);
  ck_assert_mem_eq(again->out[0] + BLOCK, again->in[0], BLOCK * sizeof(float));
  group_rig_close(node);
  group_rig_close(again);
  group_rig_close(other);
}

static const struct {
  const char* id;
  const char* says;
} starts[] = {
  { "faults/segv_instantiate", "killed by SIGSEGV in instantiate" },
  { "faults/exit_activate", "exited with 0 in instantiate" },
  { "faults/hang_instantiate", "did not return in 8 s in instantiate" },
};

TEST_ROWS(a_node_that_ends_its_process_when_it_is_made_is_refused, starts)
{
  group_rig_start();
  GroupRig node;
  Error error = { STATUS_OK, "" };
  FxLoss loss;
  ck_assert_int_eq(try_open(&node, starts[row].id, "bad", &error), STATUS_WORKER);
  assert_says(error.text, starts[row].says);
  assert_says(error.text, "the process of the group \"bad\"");
  ck_assert(fx_take_loss(&loss));
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID);
  ck_assert_int_eq((int)loss.phase, RECORDER_INSTANTIATE);
}

TEST(a_late_process_is_not_waited_for)
{
  group_rig_start();
  GroupRig* const node = open_node("faults/sleeps 0", "late");
  fx_wait(FX_WAIT_THREAD, false);
  const uint64_t began_ns = time_now_ns();
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    group_rig_play(node, BLOCK);
  }
  // Each block takes the process 10 ms, so that it has run few of them.
  ck_assert_uint_lt(time_now_ns() - began_ns, N_BLOCKS / 2U * 10U * NS_PER_MS);
  ck_assert_uint_gt(fx_take_missed(), N_BLOCKS / 2U);
  ck_assert(is_dry(node, (N_BLOCKS - 1U) * BLOCK));
  ck_assert_float_le(largest_step(node), 0.05F);
  group_rig_close(node);
}

TEST(a_process_that_closes_its_socket_is_lost)
{
  group_rig_start();
  GroupRig node;
  FxLoss loss;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(try_open(&node, "faults/closes_descriptor 0", "bad", &error), STATUS_WORKER);
  ck_assert(fx_take_loss(&loss));
  assert_says(loss.text, "the process of the group \"bad\"");
}

SUITE_MAIN("groups")
