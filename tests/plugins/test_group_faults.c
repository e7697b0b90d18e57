// SPDX-License-Identifier: GPL-3.0-or-later
// Faulty plugins of all formats in a group: what ends or stops the process costs only its nodes,
// and the loss names the node; what breaks another rule costs nothing, or only the node itself.

#include "tests/support/group_rig.h"
#include "tests/support/suite.h"

#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/sealed_text.h"
#include "engine/ring/ring.h"
#include "plugins/format.h"
#include "plugins/group/group_message.h"
#include "plugins/scan/scan_filter.h"

#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK    GROUP_RIG_BLOCK
#define N_BLOCKS GROUP_RIG_BLOCKS
#define FAULTY   9.0 // "after"
#define WAITED   8U  // blocks until then: the host runs silence before the first one

/// Where faults.c is a library of a format.
typedef struct Faults {
  const char *format, *folder, *file;
  const char* prefix; ///< Of ids
} Faults;

#define LADSPA "ladspa", "WARPRACK_LADSPA_FIXTURES", "/faults.so", "faults/"
#define CLAP   "clap", "WARPRACK_CLAP_FIXTURES", "/faults.clap", "test.faults."
#define LV2    "lv2", "WARPRACK_LV2_FAULTS", "", "urn:warprack:faults:"

/// The plugin of that label, NULL if the build does not have the format.
static const Plugin*
find_plugin(const Faults* const faults, const char* const label)
{
  char id[96];
  if (!plugin_format_find(faults->format)) {
    suite_skip("no such format in this build");
    return NULL;
  }
  snprintf(id, sizeof(id), "%s%s", faults->prefix, label);
  return group_rig_plugin(faults->format, faults->folder, faults->file, id);
}

/// A node that breaks its rule after some blocks; never with a negative number.
static GroupRig*
open_node(const Plugin* const plugin, const char* const group, const double after)
{
  const GroupRigSetup setup = { .group = group, .n_in = 1U, .has_after = true, .after = after };
  return group_rig_open(plugin, &setup);
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

/// The output is the input, one block later, from a frame on.
static bool
is_input(const GroupRig* const node, const uint64_t from)
{
  bool is = true;
  for (uint64_t f = from; f < node->n_played; ++f) {
    is = is && node->out[0][f] == node->in[0][f - BLOCK];
  }
  return is;
}

// ---- losses ----

/// Play until the loss is reported.
static FxLoss
play_to_loss(GroupRig* const node)
{
  FxLoss loss = { .uid = 0U };
  group_rig_play_blocks(node, WAITED);
  fx_wait(FX_WAIT_THREAD, false); // no answer comes
  group_rig_play_blocks(node, N_BLOCKS / 2U - WAITED);
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  do {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    time_sleep(10U * NS_PER_MS);
    fx_idle();
  } while (!fx_take_loss(&loss));
  while (node->n_played < N_BLOCKS * BLOCK) {
    group_rig_play(node, BLOCK);
  }
  fx_wait(FX_WAIT_THREAD, true);
  return loss;
}

#define ENDS(format)                                                                               \
  { { format }, "segv_run", "SIGSEGV", RECORDER_RUN, false },                                      \
      { { format }, "abort_run", "SIGABRT", RECORDER_RUN, false },                                 \
      { { format }, "exit_run", "exited with 0", RECORDER_RUN, false },                            \
      { { format }, "exit_at_once_run", "exited with 0", RECORDER_RUN, false },                    \
      { { format }, "overflow_run", "SIGSEGV", RECORDER_RUN, false },                              \
      { { format }, "segv_thread", "SIGSEGV", RECORDER_THREAD, false },                            \
      { { format }, "exit_at_once_thread", "exited with 0", RECORDER_THREAD, false },              \
  {                                                                                                \
    { format }, "hang_run", "did not finish a block", RECORDER_RUN, true                           \
  }

static const struct {
  Faults faults;
  const char* label;
  const char* says;
  RecorderPhase phase;
  bool is_hang;
} ends[] = { ENDS(LADSPA), ENDS(CLAP), ENDS(LV2) };

TEST_ROWS(a_loss_names_the_node_whose_input_plays, ends)
{
  const Plugin* const plugin = find_plugin(&ends[row].faults, ends[row].label);
  if (!plugin) {
    return;
  }
  group_rig_start();
  GroupRig* const node = open_node(plugin, "bad", FAULTY);
  GroupRig* const other = open_node(plugin, "good", -1.0);
  const FxLoss loss = play_to_loss(node);
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID);
  ck_assert_int_eq((int)loss.phase, (int)ends[row].phase);
  ck_assert_int_eq(loss.is_hang, ends[row].is_hang);
  assert_says(loss.text, ends[row].says);
  assert_says(loss.text, "the process of the group \"bad\"");
  ck_assert_uint_gt(fx_take_missed(), 0U);
  ck_assert(is_input(node, (N_BLOCKS - 1U) * BLOCK));
  ck_assert_float_le(largest_step(node), 0.05F); // that of the sine is 0.025
  AWAIT(node->fx->is_lost(node->node));
  ck_assert(!other->fx->is_lost(other->node));
  group_rig_play_blocks(other, N_BLOCKS);
  ck_assert_uint_eq(fx_take_missed(), 0U);
  ck_assert(is_input(other, BLOCK));
  GroupRig* const again = open_node(plugin, "bad", -1.0);
  group_rig_play_blocks(again, 2U);
  ck_assert_mem_eq(again->out[0] + BLOCK, again->in[0], BLOCK * sizeof(float));
  group_rig_close(node);
  group_rig_close(again);
  group_rig_close(other);
}

/// It is not waited for as long as a call may take.
TEST(a_node_that_hangs_in_a_block_is_closed_without_a_call)
{
  const Plugin* const plugin = find_plugin(&(Faults){ LADSPA }, "hang_run");
  FxLoss loss;
  if (!plugin) {
    return;
  }
  group_rig_start();
  GroupRig* const node = open_node(plugin, "bad", FAULTY);
  group_rig_play_blocks(node, WAITED);
  fx_wait(FX_WAIT_THREAD, false);
  group_rig_play_blocks(node, 4U);
  group_rig_close(node);
  ck_assert(fx_take_loss(&loss));
  assert_says(loss.text, "did not finish a block");
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID);
  ck_assert(loss.is_hang);
}

/// The other nodes wait for the same threads.
TEST(a_hang_names_no_node_that_waits_behind_it)
{
  const Plugin* const plugin = find_plugin(&(Faults){ LADSPA }, "hang_run");
  GroupRigSetup setup = { .group = "bad", .n_in = 1U, .has_after = true, .after = -1.0 };
  group_rig_start();
  GroupRig* nodes[3];
  for (uint32_t n = 0; n < ARRAY_LEN(nodes); ++n) {
    setup.uid = GROUP_RIG_UID + n;
    setup.after = n == 1U ? 2.0 : -1.0;
    nodes[n] = group_rig_open(plugin, &setup);
  }
  fx_wait(FX_WAIT_THREAD, false);
  FxLoss loss = { .uid = 0U };
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  do {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    for (uint32_t n = 0; n < ARRAY_LEN(nodes) && nodes[n]->n_played < N_BLOCKS * BLOCK; ++n) {
      group_rig_play(nodes[n], BLOCK);
    }
    time_sleep(10U * NS_PER_MS);
    fx_idle();
  } while (!fx_take_loss(&loss));
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID + 1U);
  ck_assert(loss.is_hang);
  for (uint32_t n = 0; n < ARRAY_LEN(nodes); ++n) {
    group_rig_close(nodes[n]);
  }
}

/// An edit may start many plugins, and fx_idle() is not called meanwhile.
TEST(a_loss_is_found_while_plugins_of_the_worker_start)
{
  const Plugin* const gain = group_rig_ladspa("effects/gain");
  const GroupRigSetup here = { .n_in = 1U };
  FxLoss loss;
  group_rig_start();
  GroupRig* const node = open_node(find_plugin(&(Faults){ LADSPA }, "segv_run"), "bad", FAULTY);
  group_rig_play_blocks(node, WAITED);
  fx_wait(FX_WAIT_THREAD, false);
  group_rig_play_blocks(node, N_BLOCKS / 2U - WAITED);
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  do {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    GroupRig* const other = group_rig_open(gain, &here);
    group_rig_close(other);
  } while (!fx_take_loss(&loss));
  assert_says(loss.text, "SIGSEGV");
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID);
  group_rig_close(node);
}

static const struct {
  const char* label;
  const char* says;
} starts[] = {
  { "segv_instantiate", "killed by SIGSEGV in instantiate" },
  { "exit_activate", "exited with 0 in instantiate" },
  { "hang_instantiate", "did not return in 8 s in instantiate" },
};

TEST_ROWS(a_node_that_ends_its_process_when_it_is_made_is_refused, starts)
{
  const Plugin* const plugin = find_plugin(&(Faults){ LADSPA }, starts[row].label);
  const GroupRigSetup setup = { .group = "bad", .n_in = 1U };
  GroupRig node;
  Error error = { STATUS_OK, "" };
  FxLoss loss;
  group_rig_start();
  ck_assert_int_eq(group_rig_try(&node, plugin, &setup, &error), STATUS_WORKER);
  assert_says(error.text, starts[row].says);
  assert_says(error.text, "the process of the group \"bad\"");
  ck_assert(fx_take_loss(&loss));
  ck_assert_uint_eq(loss.uid, GROUP_RIG_UID);
  ck_assert_int_eq((int)loss.phase, RECORDER_INSTANTIATE);
}

// ---- other faults ----

static const Faults formats[] = { { LADSPA }, { CLAP }, { LV2 } };

static const char* const rules[] = {
  "allocates",
  "changes_folder",
  "changes_handler",
#ifndef __SANITIZE_THREAD__ // it reports the plugin: other threads read the locale meanwhile
  "changes_locale",
#endif
  "changes_mxcsr",
  "forks",
  "in_place",
  "locks",
  "looks_for_display",
  "prints",
  "nan",
#if SCAN_HAS_FILTER
  "removes_pages",
#endif
  "starts_threads",
  "writes_input",
};

/// All in one process, one node for each, and one that breaks none.
TEST_ROWS(a_broken_rule_costs_no_process_and_no_other_node, formats)
{
  GroupRig* nodes[ARRAY_LEN(rules) + 1U];
  group_rig_start();
  for (uint32_t n = 0; n < ARRAY_LEN(nodes); ++n) {
    const bool breaks = n < ARRAY_LEN(rules);
    const Plugin* const plugin = find_plugin(&formats[row], rules[breaks ? n : 0U]);
    if (!plugin) {
      return;
    }
    nodes[n] = open_node(plugin, "fx", breaks ? FAULTY : -1.0);
  }
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    for (uint32_t n = 0; n < ARRAY_LEN(nodes); ++n) {
      group_rig_play(nodes[n], BLOCK);
    }
  }
  FxLoss loss;
  fx_idle();
  ck_assert(!fx_take_loss(&loss));
  ck_assert_uint_eq(fx_take_missed(), 0U);
  for (uint32_t n = 0; n < ARRAY_LEN(nodes); ++n) {
    const char* const label = n < ARRAY_LEN(rules) ? rules[n] : "none";
    const bool gives_nan = !strcmp(label, "nan");
    ck_assert_msg(gives_nan == !isfinite(nodes[n]->out[0][N_BLOCKS * BLOCK - 1U]), "%s", label);
    ck_assert_msg(gives_nan || is_input(nodes[n], BLOCK), "%s", label);
    group_rig_close(nodes[n]);
  }
}

/// The children of a process.
static uint32_t
list_children(const int parent, int* const children, const uint32_t max)
{
  char path[64];
  uint32_t n = 0;
  snprintf(path, sizeof(path), "/proc/%d/task", parent);
  DIR* const folder = opendir(path);
  ck_assert_ptr_nonnull(folder);
  for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
    char list[sizeof(path) + 256U + sizeof("//children")];
    snprintf(list, sizeof(list), "%s/%s/children", path, entry->d_name);
    FILE* const file = entry->d_name[0] == '.' ? NULL : fopen(list, "r");
    while (file && n < max && fscanf(file, "%d", &children[n]) == 1) {
      ++n;
    }
    if (file) {
      fclose(file);
    }
  }
  closedir(folder);
  return n;
}

#if SCAN_HAS_FILTER
TEST(a_plugin_of_a_group_starts_no_process)
{
  int children[4];
  int descendants[4];
  group_rig_start();
  GroupRig* const node = open_node(find_plugin(&(Faults){ LADSPA }, "forks"), "fx", 2.0);
  group_rig_play_blocks(node, N_BLOCKS);
  ck_assert_uint_eq(list_children(getpid(), children, ARRAY_LEN(children)), 1U);
  ck_assert_uint_eq(list_children(children[0], descendants, ARRAY_LEN(descendants)), 0U);
  group_rig_close(node);
}
#endif

/// Each block takes the process 10 ms, so that it runs few of them.  Returns false if the machine
/// stalled for so long that it may have run more.
static bool
play_late(const Plugin* const plugin)
{
  GroupRig* const node = open_node(plugin, "late", 0.0);
  fx_wait(FX_WAIT_THREAD, false);
  const uint64_t began_ns = time_now_ns();
  group_rig_play_blocks(node, N_BLOCKS);
  const bool is_judged = time_now_ns() - began_ns < N_BLOCKS / 2U * 10U * NS_PER_MS;
  const uint64_t n_missed = fx_take_missed();
  ck_assert(!is_judged || n_missed > N_BLOCKS / 2U);
  ck_assert(!is_judged || is_input(node, (N_BLOCKS - 1U) * BLOCK));
  ck_assert_float_le(largest_step(node), 0.05F);
  group_rig_close(node);
  return is_judged;
}

TEST(a_late_process_is_not_waited_for)
{
  const Plugin* const plugin = find_plugin(&(Faults){ LADSPA }, "sleeps");
  uint32_t n = 0;
  group_rig_start();
  while (!play_late(plugin)) {
    ck_assert_uint_lt(++n, 20U);
  }
}

static const uint32_t numbers[] = { 1U, 8U }; // 8: as many as threads

/// Plugins that take longer than a block in each block are late, but do not hang.  Without a thread
/// of its own the other node waits for its turn, and may be late, too.
TEST_ROWS(slow_nodes_cost_no_other_node_of_their_group, numbers)
{
  const Plugin* const plugin = find_plugin(&(Faults){ LADSPA }, "sleeps");
  GroupRigSetup setup = { .group = "fx", .n_in = 1U, .has_after = true, .after = 0.0 };
  GroupRig* slow[8];
  group_rig_start();
  for (uint32_t n = 0; n < numbers[row]; ++n) {
    slow[n] = group_rig_open(plugin, &setup);
  }
  setup.after = -1.0;
  setup.uid = GROUP_RIG_UID + 1U;
  GroupRig* const other = group_rig_open(plugin, &setup);
  fx_wait(FX_WAIT_THREAD, false);
  const uint64_t began_ns = time_now_ns();
  uint64_t n_played = 0;
  uint64_t n_missed = 0;
  FxLoss loss;
  while (time_now_ns() - began_ns < 5U * NS_PER_S / 2U) { // 2 s without an answer are a hang
    for (uint32_t n = 0; n < numbers[row]; ++n) {
      slow[n]->n_played = n_played % N_BLOCKS * BLOCK;
      group_rig_play(slow[n], BLOCK);
    }
    other->n_played = n_played % N_BLOCKS * BLOCK;
    ++n_played;
    (void)fx_take_missed();
    group_rig_play(other, BLOCK);
    n_missed += fx_take_missed();
    time_sleep(4U * NS_PER_MS); // a block of the slow one takes 10 ms
    fx_idle();
    ck_assert_msg(!fx_take_loss(&loss), "%s", loss.text);
  }
  ck_assert(n_missed < n_played || numbers[row] > 1U);
  for (uint32_t n = 0; n < numbers[row]; ++n) {
    group_rig_close(slow[n]);
  }
  group_rig_close(other);
}

// ---- the end ----

/// Carry out a call in a process without a worker.
static void
call_process(const int socket, GroupCall call, const int* const fds, const uint32_t n_fds)
{
  static uint32_t n_calls;
  const int limit_ms = (int)(suite_limit_ns() / NS_PER_MS);
  struct pollfd there = { socket, POLLIN, 0 };
  GroupReply reply;
  int received[GROUP_FDS];
  call.number = ++n_calls;
  OK(group_send(socket, &call, sizeof(call), fds, n_fds, &error));
  ck_assert_int_eq(poll(&there, 1, limit_ms), 1);
  OK(group_receive(socket, &reply, sizeof(reply), received, &error));
  group_close_fds(received);
  ck_assert_msg(!reply.status && reply.number == call.number, "%s", reply.text);
}

/// Start a process with an instance of a plugin that has run a block of silence.
static Process*
start_process(const Plugin* const plugin, int* const socket)
{
  const RingShape shape = {
    .n_in = 1U, .n_out = 2U, .block_frames = BLOCK, .n_slots = GROUP_RING_SLOTS, .n_messages = 64U
  };
  char* const argv[] = { getenv("WARPRACK_PROGRAM"), (char[]){ "group" }, NULL };
  int sockets[2];
  Process* process = NULL;
  Recorder* recorder = NULL;
  Ring* ring = NULL;
  TextBuffer text = { 0 };
  int data = -1;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  OK(process_start(argv[0], argv, sockets[1], &process, &error));
  close(sockets[1]);
  *socket = sockets[0];
  OK(recorder_new(&recorder, &error));
  OK(ring_new(&shape, &ring, &error)); // serves as the bell, too
  plugin_write(&text, plugin);
  OK(sealed_text_new(text.bytes, text.n, &data, &error));
  call_process(*socket, (GroupCall){ .op = GROUP_HELLO },
               (const int[]){ recorder_fd(recorder), ring_fd(ring) }, 2U);
  call_process(*socket,
               (GroupCall){ .op = GROUP_OPEN,
                            .uid = GROUP_RIG_UID,
                            .rate_hz = GROUP_RIG_RATE,
                            .max_block_frames = BLOCK,
                            .n_description = (uint32_t)text.n },
               (const int[]){ ring_fd(ring), data }, 2U);
  call_process(*socket, (GroupCall){ .op = GROUP_SILENCE, .n_frames = BLOCK }, NULL, 0U);
  close(data);
  free(text.bytes);
  ring_free(ring);
  recorder_free(recorder);
  return process;
}

#ifdef __SANITIZE_THREAD__ // its _exit() flushes all streams
#define PLAYS "prints"
#else
#define PLAYS "holds_output"
#endif

/// It need not be killed, although a plugin keeps the lock of a stream.
TEST(a_process_ends_when_the_worker_closes_its_socket)
{
  int socket = -1;
  char reason[PROCESS_REASON_BYTES];
  Process* const process = start_process(find_plugin(&(Faults){ LADSPA }, PLAYS), &socket);
  close(socket);
  AWAIT(process_has_ended(process, reason));
  ck_assert_str_eq(reason, "exited with 0");
  process_free(process);
}

TEST(a_process_that_closes_its_socket_is_lost)
{
  const GroupRigSetup setup = { .group = "bad", .n_in = 1U, .has_after = true, .after = 0.0 };
  GroupRig node;
  FxLoss loss;
  Error error = { STATUS_OK, "" };
  group_rig_start();
  const Plugin* const plugin = find_plugin(&(Faults){ LADSPA }, "closes_descriptor");
  ck_assert_int_eq(group_rig_try(&node, plugin, &setup, &error), STATUS_WORKER);
  ck_assert(fx_take_loss(&loss));
  assert_says(loss.text, "the process of the group \"bad\"");
}

SUITE_MAIN("group_faults")
