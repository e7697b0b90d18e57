// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's side of a process that breaks rules (bad_group.c): it never waits without a limit,
// and it names no node that is not at fault.

#include "engine/base/recorder.h"
#include "plugins/group/group_losses.h"
#include "plugins/group/group_process.h"
#include "plugins/host_group.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_UID 20U // of the nodes
#define N_GROUPS  32U // as many as there can be

static GroupMember members[2];
static bool is_late; // the call comes after the deadline of an edit

static void
join(const char* const group, GroupMember* const member, const uint32_t uid)
{
  const RingShape shape = {
    .n_in = 1U, .n_out = 2U, .block_frames = 64U, .n_slots = GROUP_RING_SLOTS, .n_messages = 64U
  };
  GroupCall open = { .op = GROUP_OPEN, .uid = uid };
  GroupReply reply;
  member->uid = uid;
  OK(ring_new(&shape, &member->ring, &error));
  OK(group_join(group, member, &error));
  const int fd = ring_fd(member->ring);
  OK(group_call(member, &open, &fd, 1U, &reply, NULL, &error));
}

static Status
call(GroupMember* const member, Error* const error)
{
  GroupCall save = { .op = GROUP_SAVE };
  GroupReply reply;
  return group_call(member, &save, NULL, 0U, &reply, NULL, error);
}

/// Submit blocks, as the player.
static void
submit(GroupMember* const member, const uint32_t n)
{
  for (uint32_t b = 0; b < n; ++b) {
    ring_submit(member->ring);
    atomic_fetch_add(&member->n_submitted, 1U);
  }
}

/// Let the first n nodes leave, and wait until their processes have ended, as the worker does not.
static void
leave(const uint32_t n)
{
  for (uint32_t m = 0; m < n; ++m) {
    group_leave(&members[m]);
    ring_free(members[m].ring);
  }
  AWAIT((groups_watch(), waitid(P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT)));
}

/// Let the process break a rule in a call for the first of some nodes.  Returns what is reported.
static FxLoss
lose(const char* const rule, const uint32_t n_nodes, const Status expected)
{
  FxLoss loss = { .uid = 0U };
  Error error = { STATUS_OK, "" };
  setenv("WARPRACK_FIXTURE", rule, 1);
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  ck_assert_uint_le(n_nodes, sizeof(members) / sizeof(members[0]));
  for (uint32_t m = 0; m < n_nodes; ++m) {
    join("bad", &members[m], FIRST_UID + m);
    if (!strcmp(rule, "hides_blocks") || !strcmp(rule, "never_finishes")) {
      submit(&members[m], 1U);
    } else if (!strcmp(rule, "finishes_slowly")) {
      submit(&members[m], GROUP_RING_SLOTS);
    }
  }
  fx_set_deadline(is_late ? 1U : 0U);
  ck_assert_int_eq(call(&members[0], &error), expected);
  fx_set_deadline(0U);
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  while (!group_losses_take(&loss)) {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    (void)ring_can_submit(members[0].ring); // as the player, which sees invalid counters
    groups_watch();
    time_sleep(20U * NS_PER_MS);
  }
  for (uint32_t m = 0; m < n_nodes; ++m) {
    ck_assert(members[m].is_lost);
  }
  leave(n_nodes);
  return loss;
}

TEST(a_process_that_a_plugin_has_started_does_not_hold_the_worker_up)
{
  const FxLoss loss = lose("leaves_child", 1U, STATUS_WORKER);
  assert_says(loss.text, "exited with 7");
}

static const struct {
  const char* rule;
  const char* says;
  uint32_t n_nodes;
  Status status; ///< Of the call for the first node
  uint32_t uid;
  bool is_hang;
  bool is_guess;
} faults[] = {
  { "names_other", "SIGABRT", 1U, STATUS_WORKER, FIRST_UID, false, false },
  { "damages_ring", "wrote invalid data to a ring", 1U, STATUS_OK, FIRST_UID, false, false },
  { "damages_ring", "wrote invalid data to a ring", 2U, STATUS_OK, 0U, false, false },
  { "hangs_elsewhere", "did not return in 8 s", 2U, STATUS_WORKER, FIRST_UID + 1U, true, false },
  { "works_for_ever", "did not return in 8 s", 2U, STATUS_OK, FIRST_UID + 1U, true, false },
  { "hides_blocks", "did not finish a block", 1U, STATUS_WORKER, FIRST_UID, true, false },
  { "never_finishes", "did not finish a block", 2U, STATUS_WORKER, FIRST_UID + 1U, true, true },
};

TEST_ROWS(a_loss_names_the_node_that_is_at_fault, faults)
{
  const FxLoss loss = lose(faults[row].rule, faults[row].n_nodes, faults[row].status);
  assert_says(loss.text, faults[row].says);
  ck_assert_uint_eq(loss.uid, faults[row].uid);
  ck_assert_int_eq(loss.is_hang, faults[row].is_hang);
  ck_assert_int_eq(loss.is_guess, faults[row].is_guess);
}

TEST(a_call_after_the_deadline_is_not_waited_for_as_long)
{
  is_late = true;
  const FxLoss loss = lose("hangs_elsewhere", 2U, STATUS_WORKER);
  assert_says(loss.text, "did not return in the time of an edit");
  ck_assert_uint_eq(loss.uid, FIRST_UID + 1U);
}

/// None of its blocks takes long, but all together do.
TEST(a_call_waits_for_the_blocks_of_its_member_no_longer_than_for_the_answer)
{
  is_late = true;
  const FxLoss loss = lose("finishes_slowly", 1U, STATUS_WORKER);
  assert_says(loss.text, "finished its blocks too slowly for a call");
  ck_assert_uint_eq(loss.uid, FIRST_UID);
  ck_assert(!loss.is_guess);
}

/// The thread that has ended the process is not known.
TEST(an_exit_names_no_node_that_only_ran_meanwhile)
{
  ck_assert_uint_ne(lose("exits", 2U, STATUS_WORKER).uid, FIRST_UID + 1U);
}

/// As when somebody kills all of them.
TEST(the_losses_of_many_groups_are_all_reported)
{
  static GroupMember many[N_GROUPS];
  FxLoss loss;
  uint32_t n_losses = 0;
  setenv("WARPRACK_FIXTURE", "exits", 1);
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  for (uint32_t g = 0; g < N_GROUPS; ++g) {
    char name[16];
    snprintf(name, sizeof(name), "g%u", g);
    join(name, &many[g], FIRST_UID + g);
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(call(&many[g], &error), STATUS_WORKER);
  }
  for (; group_losses_take(&loss); ++n_losses) {
    ck_assert_uint_eq(loss.uid, FIRST_UID + n_losses);
  }
  ck_assert_uint_eq(n_losses, N_GROUPS);
}

/// An edit may make many calls of one group, which is left out while it is called.
TEST(a_block_that_hangs_is_found_between_calls_of_its_group)
{
  FxLoss loss;
  Error error = { STATUS_OK, "" };
  setenv("WARPRACK_FIXTURE", "never_finishes", 1);
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  join("bad", &members[0], FIRST_UID);
  join("bad", &members[1], FIRST_UID + 1U);
  submit(&members[1], 1U);
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  while (!group_losses_take(&loss)) {
    ck_assert_msg(time_now_ns() < end_ns, "no loss");
    if (call(&members[0], &error)) {
      assert_says(error.text, "did not finish a block");
    }
    time_sleep(5U * NS_PER_MS);
  }
  assert_says(loss.text, "did not finish a block");
  ck_assert_uint_eq(loss.uid, FIRST_UID + 1U);
  leave(2);
}

/// An edit may take many calls, and nobody else looks meanwhile.
TEST(a_loss_is_found_while_another_group_is_called)
{
  FxLoss loss;
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  setenv("WARPRACK_FIXTURE", "damages_ring", 1);
  join("bad", &members[0], FIRST_UID);
  setenv("WARPRACK_FIXTURE", "answers_late", 1);
  join("late", &members[1], FIRST_UID + 1U);
  OK(call(&members[0], &error));
  (void)ring_can_submit(members[0].ring); // as the player, which sees invalid counters
  ck_assert(!group_losses_take(&loss));
  OK(call(&members[1], &error));
  ck_assert(group_losses_take(&loss));
  assert_says(loss.text, "wrote invalid data to a ring");
  ck_assert_uint_eq(loss.uid, FIRST_UID);
  ck_assert(members[0].is_lost && !members[1].is_lost);
  leave(2);
}

/// With real-time priority, a block may take half a second.
TEST(a_block_that_hangs_is_found_during_a_call_of_another_node)
{
  FxLoss loss;
  Error error = { STATUS_OK, "" };
  fx_set_realtime(false, 1);
  setenv("WARPRACK_FIXTURE", "hangs_elsewhere", 1);
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  join("bad", &members[0], FIRST_UID);
  join("bad", &members[1], FIRST_UID + 1U);
  submit(&members[1], 1U);
  ck_assert_int_eq(call(&members[0], &error), STATUS_WORKER);
  assert_says(error.text, "did not finish a block");
  ck_assert(group_losses_take(&loss));
  ck_assert(loss.is_hang);
  leave(2);
}

/// As the player, after the call has begun.
static void*
submit_later(void* const member)
{
  time_sleep(50U * NS_PER_MS);
  submit(member, 1U);
  return NULL;
}

/// Its place in the process is locked for so long.
TEST(a_block_that_waits_for_a_call_of_its_own_node_does_not_hang)
{
  pthread_t player;
  fx_set_realtime(false, 1);
  setenv("WARPRACK_FIXTURE", "answers_late", 1);
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  join("late", &members[0], FIRST_UID);
  ck_assert_int_eq(pthread_create(&player, NULL, submit_later, &members[0]), 0);
  OK(call(&members[0], &error));
  pthread_join(player, NULL);
  ck_assert(!members[0].is_lost);
  leave(1);
}

TEST(all_losses_are_reported_in_their_order)
{
  FxLoss loss = { .uid = FIRST_UID };
  for (uint32_t n = 0; n < 1000U; ++n) {
    loss.uid = FIRST_UID + n;
    group_losses_add(&loss);
  }
  for (uint32_t n = 0; n < 1000U; ++n) {
    ck_assert(group_losses_take(&loss));
    ck_assert_uint_eq(loss.uid, FIRST_UID + n);
  }
  ck_assert(!group_losses_take(&loss));
}

/// The supervisor takes a worker for hung that is in one call for 10 s.
TEST(each_call_is_one_of_its_own_for_the_supervisor)
{
  Recorder* recorder = NULL;
  OK(recorder_new(&recorder, &error));
  OK(recorder_attach(recorder_fd(recorder), &error));
  groups_use_program(getenv("WARPRACK_BAD_GROUP"));
  setenv("WARPRACK_FIXTURE", "", 1);
  recorder_leave(recorder_enter(FIRST_UID, RECORDER_INSTANTIATE));
  join("bad", &members[0], FIRST_UID);
  const uint64_t before = recorder_enter(FIRST_UID, RECORDER_INSTANTIATE);
  const uint32_t number = recorder_read(recorder, 0U).number;
  OK(call(&members[0], &error));
  OK(call(&members[0], &error));
  ck_assert_uint_eq(recorder_read(recorder, 0U).number, number);
  recorder_leave(before);
  (void)recorder_enter(FIRST_UID, RECORDER_INSTANTIATE);
  ck_assert_uint_eq(recorder_read(recorder, 0U).number, number + 3U);
  leave(1);
  recorder_free(recorder);
}

// ---- packets ----

static uint32_t
n_descriptors(void)
{
  uint32_t n = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder)) {
    ++n;
  }
  closedir(folder);
  return n;
}

static const size_t sizes[] = { 0U, 3U, 5U };

TEST_ROWS(a_wrong_packet_leaves_no_descriptors, sizes)
{
  int sockets[2];
  int fds[GROUP_FDS];
  char packet[8] = "";
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  const uint32_t n_before = n_descriptors();
  OK(group_send(sockets[0], packet, sizes[row], sockets, 2U, &error));
  ck_assert_int_eq(group_receive(sockets[1], packet, 4U, fds, NULL),
                   sizes[row] ? STATUS_BAD_ARG : STATUS_NET);
  ck_assert_int_eq(fds[0], -1);
  ck_assert_int_eq(fds[1], -1);
  ck_assert_uint_eq(n_descriptors(), n_before);
}

TEST(a_packet_that_is_not_there_is_not_waited_for)
{
  int sockets[2];
  int fds[GROUP_FDS];
  char packet[4];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  ck_assert_int_eq(group_receive(sockets[0], packet, sizeof(packet), fds, NULL), STATUS_NET);
}

SUITE_MAIN("group_process")
