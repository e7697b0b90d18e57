// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes with `group=` play the same samples in the process of their group as in this one, one block
// later than without a group.  When that process crashes, hangs or is late, they play their input
// without a step, and the loss names the node.

#include "tests/support/plugin_rig.h"
#include "tests/support/plugin_sample.h"
#include "tests/support/suite.h"

#include "engine/base/recorder.h"
#include "plugins/group/group.h"
#include "plugins/host_group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK        64U
#define N_BLOCKS     40U
#define MAX_CHANNELS 4U
#define MAX_PARAMS   16U
#define UID          20U

// ---- a node ----

typedef struct GroupNode {
  const FxInfo* fx;
  void* node;
  FxShape shape;
  uint32_t n_channels, n_units;
  void* states[MAX_CHANNELS];
  float in[MAX_CHANNELS][N_BLOCKS * BLOCK];
  float out[MAX_CHANNELS][N_BLOCKS * BLOCK];
  uint64_t n_played; ///< Frames
} GroupNode;

/// A plugin of the fixtures, with the functions of the host.
static const Plugin*
describe(const char* const id)
{
  static Arena arena;
  Plugin* plugin = NULL;
  char* const text = plugin_sample_text(plugin_rig_ladspa(id)); // stays until the process ends
  OK(plugin_read(text, &arena, &host_functions, &plugin, &error));
  return plugin;
}

/// Make a node of a plugin in a group; NULL: in none.  `id` may have a value for the parameter
/// "after": "faults/segv_run 5".
static Status
try_open(GroupNode* const node, const char* const id, const char* const group, const uint32_t uid,
         const uint32_t n_channels, const bool offline, Error* const error)
{
  char name[64];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(id, " "), id);
  const Plugin* const plugin = describe(name);
  double values[MAX_PARAMS];
  bool given[MAX_PARAMS] = { false };
  const char* texts[MAX_PARAMS] = { NULL };
  const char* paths[MAX_PARAMS] = { NULL };
  ck_assert_uint_le(plugin->fx.n_params, MAX_PARAMS);
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    values[p] = plugin->fx.params[p].initial;
    texts[p] = plugin->param_ports[p] == PLUGIN_GROUP ? group : NULL;
    if (!strcmp(plugin->fx.params[p].id, "after") && strchr(id, ' ')) {
      values[p] = atof(strchr(id, ' '));
      given[p] = true;
    }
  }
  const FxSetup setup = { .fx = &plugin->fx,
                          .rate_hz = PLUGIN_RIG_RATE,
                          .max_block_frames = BLOCK,
                          .n_in = n_channels,
                          .values = values,
                          .given = given,
                          .texts = texts,
                          .paths = paths,
                          .offline = offline,
                          .uid = uid };
  *node = (GroupNode){ .fx = &plugin->fx, .n_channels = n_channels };
  for (uint32_t c = 0; c < n_channels; ++c) {
    for (uint32_t f = 0; f < N_BLOCKS * BLOCK; ++f) {
      node->in[c][f] = 0.5F * sinf(0.05F * (float)f + (float)c);
    }
  }
  const Status status = node->fx->create(&setup, &node->shape, &node->node, error);
  node->n_units = status ? 0U : n_channels / node->shape.unit_in;
  for (uint32_t u = 0; u < node->n_units; ++u) {
    node->states[u] = plugin_rig_take(1U, (node->shape.unit_bytes + 63U) / 64U * 64U);
    node->fx->unit_init(node->node, node->states[u], u);
  }
  return status;
}

static GroupNode*
open_node(const char* const id, const char* const group, const uint32_t n_channels,
          const bool offline)
{
  GroupNode* const node = plugin_rig_take(1U, sizeof(GroupNode));
  OK(try_open(node, id, group, UID, n_channels, offline, &error));
  return node;
}

static void
close_node(const GroupNode* const node)
{
  node->fx->destroy(node->node);
}

static void
play(GroupNode* const node, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < node->n_units; ++u) {
    const float* const in[] = { node->in[u] + node->n_played };
    float* const out[] = { node->out[u] + node->n_played };
    const FxUnit unit = { .node = node->node, .state = node->states[u], .in = in, .out = out };
    node->fx->run(&unit, 1U, n_frames);
  }
  node->n_played += n_frames;
}

static void
set(const GroupNode* const node, const char* const id, const double value, const uint32_t frame)
{
  node->fx->set_at(node->node, (uint32_t)fx_param_find(node->fx, id), value, frame);
}

static void
start(void)
{
  groups_start(getenv("WARPRACK_PROGRAM"));
  fx_wait(FX_WAIT_THREAD, true);
}

/// The largest step between two samples of the outputs.
static float
largest_step(const GroupNode* const node)
{
  float most = 0.0F;
  for (uint64_t f = 1; f < node->n_played; ++f) {
    most = fmaxf(most, fabsf(node->out[0][f] - node->out[0][f - 1U]));
  }
  return most;
}

/// The output is the input, `latency` frames later, from a frame on.
static bool
is_dry(const GroupNode* const node, const uint64_t from)
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
play_with_changes(GroupNode* const node)
{
  for (uint32_t b = 0; b < 30U; ++b) {
    if (b == 3U || b == 11U) {
      set(node, "gain", b == 3U ? -20.0 : 6.0, 0U);
    }
    play(node, lengths[b % ARRAY_LEN(lengths)]);
  }
}

TEST(a_group_plays_the_samples_of_this_process)
{
  GroupNode* const here = open_node("effects/gain", "fx", 3U, false);
  play_with_changes(here);
  GroupNode* const offline = open_node("effects/gain", "fx", 3U, true);
  play_with_changes(offline);
  start();
  GroupNode* const there = open_node("effects/gain", "fx", 3U, false);
  play_with_changes(there);
  ck_assert_uint_eq(there->shape.latency_frames, BLOCK);
  ck_assert_uint_eq(here->shape.latency_frames, BLOCK);
  ck_assert_mem_eq(here->out, there->out, sizeof(here->out));
  ck_assert_mem_eq(here->out, offline->out, sizeof(here->out));
  ck_assert_uint_eq(fx_take_missed(), 0U);
  close_node(here);
  close_node(offline);
  close_node(there);
}

TEST(a_group_delays_by_one_block)
{
  GroupNode* const alone = open_node("effects/lowpass", NULL, 1U, false);
  start();
  GroupNode* const there = open_node("effects/lowpass", "fx", 1U, false);
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    play(alone, BLOCK);
    play(there, BLOCK);
  }
  ck_assert_mem_eq(alone->out[0], there->out[0] + BLOCK, (N_BLOCKS - 1U) * BLOCK * sizeof(float));
  ck_assert_float_eq(there->out[0][BLOCK - 1U], 0.0F);
  close_node(alone);
  close_node(there);
}

TEST(the_latency_of_the_plugin_is_added)
{
  start();
  GroupNode* const node = open_node("effects/delay", "fx", 1U, false);
  ck_assert_uint_eq(node->shape.latency_frames, BLOCK + 64U);
  ck_assert_uint_eq(node->fx->latency(node->node), BLOCK + 64U);
  close_node(node);
}

TEST(a_renewed_node_begins_with_silence)
{
  start();
  GroupNode* const node = open_node("effects/lowpass", "fx", 1U, false);
  play(node, BLOCK);
  play(node, BLOCK);
  OK(node->fx->renew(node->node, &error));
  node->fx->unit_init(node->node, node->states[0], 0U);
  node->n_played = 0;
  float before[BLOCK];
  memcpy(before, node->out[0] + BLOCK, sizeof(before));
  play(node, BLOCK);
  play(node, BLOCK);
  ck_assert_float_eq(node->out[0][BLOCK - 1U], 0.0F);
  ck_assert_mem_eq(before, node->out[0] + BLOCK, sizeof(before));
  close_node(node);
}

// ---- names ----

static const char* const wrong_names[] = { "f x", "a/b", "012345678901234567890123456789012" };

TEST_ROWS(a_wrong_name_is_refused, wrong_names)
{
  GroupNode node;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(try_open(&node, "effects/gain", wrong_names[row], UID, 1U, false, &error),
                   STATUS_BAD_RACK);
  assert_says(error.text, "a name of 1 to 32 letters, digits, _ and -");
}

// ---- losses ----

/// Play until the loss is reported.
static FxLoss
play_to_loss(GroupNode* const node)
{
  FxLoss loss = { .uid = 0U };
  for (uint32_t b = 0; b < N_BLOCKS / 2U; ++b) {
    play(node, BLOCK);
  }
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  do {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    time_sleep(10U * NS_PER_MS);
    fx_idle();
  } while (!fx_take_loss(&loss));
  while (node->n_played < N_BLOCKS * BLOCK) {
    play(node, BLOCK);
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
  start();
  GroupNode* const node = open_node(ends[row].id, "bad", 1U, false);
  GroupNode* const other = open_node("effects/gain", "good", 1U, false);
  const FxLoss loss = play_to_loss(node);
  ck_assert_uint_eq(loss.uid, UID);
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
    play(other, BLOCK);
  }
  ck_assert_uint_eq(fx_take_missed(), 0U);
  GroupNode* const again = open_node("effects/gain", "bad", 1U, false);
  play(again, BLOCK);
  play(again, BLOCK);
  ck_assert_mem_eq(again->out[0] + BLOCK, again->in[0], BLOCK * sizeof(float));
  close_node(node);
  close_node(again);
  close_node(other);
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
  start();
  GroupNode node;
  Error error = { STATUS_OK, "" };
  FxLoss loss;
  ck_assert_int_eq(try_open(&node, starts[row].id, "bad", UID, 1U, false, &error), STATUS_WORKER);
  assert_says(error.text, starts[row].says);
  assert_says(error.text, "the process of the group \"bad\"");
  ck_assert(fx_take_loss(&loss));
  ck_assert_uint_eq(loss.uid, UID);
  ck_assert_int_eq((int)loss.phase, RECORDER_INSTANTIATE);
}

TEST(a_late_process_is_not_waited_for)
{
  start();
  GroupNode* const node = open_node("faults/sleeps 0", "late", 1U, false);
  fx_wait(FX_WAIT_THREAD, false);
  const uint64_t began_ns = time_now_ns();
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    play(node, BLOCK);
  }
  // Each block takes the process 10 ms, so that it has run few of them.
  ck_assert_uint_lt(time_now_ns() - began_ns, N_BLOCKS / 2U * 10U * NS_PER_MS);
  ck_assert_uint_gt(fx_take_missed(), N_BLOCKS / 2U);
  ck_assert(is_dry(node, (N_BLOCKS - 1U) * BLOCK));
  ck_assert_float_le(largest_step(node), 0.05F);
  close_node(node);
}

TEST(a_process_that_closes_its_socket_is_lost)
{
  start();
  GroupNode node;
  FxLoss loss;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(try_open(&node, "faults/closes_descriptor 0", "bad", UID, 1U, false, &error),
                   STATUS_WORKER);
  ck_assert(fx_take_loss(&loss));
  assert_says(loss.text, "the process of the group \"bad\"");
}

SUITE_MAIN("groups")
