// SPDX-License-Identifier: GPL-3.0-or-later
// Each change of the worker is reported once, with its reason, and so are problems of a running
// worker.

#include "tests/support/suite.h"
#include "tools/live_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static LiveWatch watch;
static LiveLog journal;
static int ends[2]; // the pipe that the log is written to

static void
open_journal(void)
{
  watch = (LiveWatch){ 0 };
  journal = (LiveLog){ 0 };
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  OK(log_open(ends[1], ends[1], &journal.log, &error));
}

static bool
poll_watch(const WorkerState worker, const uint64_t restarts, const char* const note)
{
  EngineStatus engine = { .worker = worker, .worker_restarts = restarts, .worker_pid = 9 };
  snprintf(engine.worker_note, sizeof(engine.worker_note), "%s", note);
  return live_watch_poll(&watch, &journal, &engine);
}

static void
assert_said(const char* const lines)
{
  static char text[4096];
  live_log_close(&journal);
  close(ends[1]);
  const ssize_t n = read(ends[0], text, sizeof(text) - 1U);
  text[n < 0 ? 0 : n] = '\0';
  close(ends[0]);
  ck_assert_str_eq(text, lines);
}

TEST(a_loss_is_reported_once_with_its_own_reason)
{
  open_journal();
  ck_assert(!poll_watch(WORKER_RUNNING, 0, ""));
  ck_assert(poll_watch(WORKER_RESTING, 0, "worker 6: crashed"));
  ck_assert(!poll_watch(WORKER_RUNNING, 1, "worker 6: crashed"));
  // Worker 7 has just ended: the note is still that of worker 6.
  ck_assert(!poll_watch(WORKER_RESTING, 1, "worker 6: crashed"));
  ck_assert(poll_watch(WORKER_RESTING, 1, "worker 7: hung"));
  ck_assert(!poll_watch(WORKER_RESTING, 1, "worker 7: hung"));
  assert_said("warprack run: worker.lost: worker 6: crashed\n"
              "warprack run: worker.back: process 9 has taken over\n"
              "warprack run: worker.lost: worker 7: hung\n");
}

TEST(a_problem_of_a_running_worker_is_reported_once)
{
  open_journal();
  for (int n = 0; n < 3; ++n) {
    ck_assert(!poll_watch(WORKER_RUNNING, 0, "cannot plan the rack again"));
  }
  assert_said("warprack run: worker.note: cannot plan the rack again\n");
}

TEST(a_worker_that_is_replaced_for_new_code_of_plugins_is_not_lost)
{
  open_journal();
  EngineStatus engine = { .worker = WORKER_RUNNING, .worker_pid = 8 };
  ck_assert(!live_watch_poll(&watch, &journal, &engine));
  engine.worker_restarts = engine.worker_renewals = 1;
  engine.worker_pid = 9;
  strcpy(engine.worker_note, "worker 9 replaces worker 8, which had old code of plugins");
  ck_assert(!live_watch_poll(&watch, &journal, &engine));
  engine.worker = WORKER_RESTING;
  strcpy(engine.worker_note, "worker 9: crashed");
  ck_assert(live_watch_poll(&watch, &journal, &engine));
  assert_said("warprack run: worker.note: worker 9 replaces worker 8, which had old code of "
              "plugins\n"
              "warprack run: worker.back: process 9 has taken over\n"
              "warprack run: worker.lost: worker 9: crashed\n");
}

TEST(a_node_in_quarantine_is_reported_once)
{
  open_journal();
  EngineStatus engine = { .worker = WORKER_RUNNING, .worker_pid = 9, .nodes_quarantined = 1 };
  strcpy(engine.quarantine_note, "comp: clap com.x crashed twice in run");
  for (int n = 0; n < 3; ++n) {
    ck_assert(!live_watch_poll(&watch, &journal, &engine));
  }
  assert_said("warprack run: node.quarantined: comp: clap com.x crashed twice in run\n");
}

SUITE_MAIN("live_watch")
