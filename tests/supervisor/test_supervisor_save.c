// SPDX-License-Identifier: GPL-3.0-or-later
// Saves of states in a worker process: each gets one answer, also if the worker is lost.

#include "engine/base/sealed_text.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static Error answer; // the last one
static atomic_uint n_answers;

static void
on_saved(void* const context, const EngineSaved* const saved)
{
  (void)context;
  answer = saved->error;
  atomic_fetch_add(&n_answers, 1U);
}

static Status
save(const Rig* const rig, Error* const error)
{
  return engine_save(rig->engine, rig->rack->nodes[0].uid, on_saved, NULL, error);
}

static void
expect_answer(const unsigned number, const Status status, const char* const says)
{
  AWAIT(atomic_load(&n_answers) >= number);
  ck_assert_uint_eq(atomic_load(&n_answers), number);
  ck_assert_msg(answer.status == status, "%u: %s", answer.status, answer.text);
  assert_says(answer.text, says);
}

TEST(the_worker_answers_for_a_node_without_a_state)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  OK(save(&rig, &error));
  expect_answer(1U, STATUS_NOT_FOUND, "gain has no state");
  OK(engine_save(rig.engine, RACK_UID_FIRST + 1000U, on_saved, NULL, &error));
  expect_answer(2U, STATUS_NOT_FOUND, "the node is not active yet");
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 0);
}

TEST(a_save_is_answered_when_its_worker_is_lost)
{
  SCOPED(rig_stop) Rig rig;
  Error why = { STATUS_OK, "" };
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  rig_begin_edit(&rig, HALVED " | convolver hang");
  OK(save(&rig, &error)); // waits behind the edit
  ck_assert_int_eq(save(&rig, &why), STATUS_LIMIT);
  assert_says(why.text, "another state is being saved");
  ck_assert_uint_eq(atomic_load(&n_answers), 0);
  engine_overtake(rig.engine); // refuse the edit at the first loss
  send_signal(&rig, SIGKILL);
  expect_answer(1U, STATUS_WORKER, "the worker was lost or hung");
  ck_assert_int_eq(rig_await_reply().status, STATUS_WORKER);
  await_restarts(&rig, 1);
  await_level(&rig, HALF);
  OK(save(&rig, &error));
  expect_answer(2U, STATUS_NOT_FOUND, "gain has no state");
}

TEST(a_save_between_two_workers_waits_for_the_next_one)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_health(&rig, HALF);
  send_signal(&rig, SIGKILL);
  AWAIT(rig_status(&rig).worker != WORKER_RUNNING);
  OK(save(&rig, &error));
  expect_answer(1U, STATUS_NOT_FOUND, "gain has no state");
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 1);
}

TEST(a_save_is_answered_at_once_if_the_rack_cannot_be_planned)
{
  static const float samples[] = { 1.0F };
  const float* const channels[] = { samples };
  const char* const argv[] = { good_worker(), "worker", NULL };
  EngineConfig config = rig_config(argv);
  SCOPED(scratch_remove) const Scratch folder = scratch_new();
  SCOPED(rig_stop) Rig rig;
  scratch_write_wav(&folder, "ir.wav", channels, 1, 1, 48000);
  config.worker_root = folder.directory;
  rig_start_with(&rig, &config, HALVED " | c: convolver ir.wav");
  await_health(&rig, HALF);
  ck_assert_int_eq(unlink(scratch_path(&folder, "ir.wav")), 0);
  send_signal(&rig, SIGKILL);
  AWAIT(strstr(rig_status(&rig).worker_note, "cannot plan the rack again"));
  OK(save(&rig, &error));
  expect_answer(1U, STATUS_WORKER, "no worker can play the rack: cannot plan the rack again: c: ");
  ck_assert_int_eq(rig_edit(&rig, HALVED).status, STATUS_OK);
  await_level(&rig, HALF);
}

TEST(a_save_that_waits_for_a_worker_is_answered_when_the_engine_ends)
{
  Rig rig;
  Error why = { STATUS_OK, "" };
  SCOPED_FD int fd = -1;
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  OK(sealed_text_new("invalid", 7, &fd, &error)); // with this catalogue, no worker starts
  OK(engine_use_plugins(rig.engine, fd, false, &error));
  AWAIT(rig_status(&rig).worker != WORKER_RUNNING);
  OK(save(&rig, &error));
  ck_assert_int_eq(save(&rig, &why), STATUS_LIMIT);
  rig_stop(&rig);
  expect_answer(1U, STATUS_WORKER, "the worker was lost or hung");
}

TEST(a_save_is_answered_when_the_engine_ends)
{
  Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  rig_begin_edit(&rig, HALVED " | convolver hang");
  OK(save(&rig, &error));
  rig_stop(&rig);
  expect_answer(1U, STATUS_WORKER, "the worker was lost or hung");
}

SUITE_MAIN("supervisor_save")
