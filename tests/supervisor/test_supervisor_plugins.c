// SPDX-License-Identifier: GPL-3.0-or-later
// Every worker process has the server's catalogue of plugins before any rack that was made with it.
// The worker (bad_worker.c) opens a file "has-x" only if it has the catalogue "x".

#include "engine/base/sealed_text.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"
#include "tests/support/wire_ends.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int
catalogue(const char* const text)
{
  int fd = -1;
  OK(sealed_text_new(text, strlen(text), &fd, &error));
  return fd;
}

static void
use_plugins(const Rig* const rig, const char* const text)
{
  SCOPED_FD const int fd = catalogue(text);
  OK(engine_use_plugins(rig->engine, fd, false, &error));
}

/// Edit the rack so that it needs the catalogue `text`.
static EngineReply
edit_with(Rig* const rig, const char* const text)
{
  char rack[64];
  snprintf(rack, sizeof(rack), HALVED " | c: convolver has-%s", text);
  return rig_edit(rig, rack);
}

TEST(a_worker_has_the_catalogue_before_its_first_rack)
{
  const unsigned before = descriptors_open();
  const char* const argv[] = { bad_worker(), NULL };
  EngineConfig config = rig_config(argv);
  config.plugins_fd = catalogue("first");
  Rig rig;
  rig_start_with(&rig, &config, HALVED " | c: convolver has-first");
  close(config.plugins_fd);
  await_health(&rig, HALF);
  send_signal(&rig, SIGKILL);
  assert_worker_replaced(&rig, 1U, HALF); // the next worker has it, too
  rig_stop(&rig);
  ck_assert_uint_eq(descriptors_open(), before);
}

TEST(a_new_catalogue_arrives_before_the_racks_that_are_made_with_it)
{
  const unsigned before = descriptors_open();
  Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  const EngineReply refused = edit_with(&rig, "1");
  ck_assert_int_eq(refused.status, STATUS_FILE);
  assert_says(refused.text, "the catalogue is \"\"");
  for (int n = 1; n <= 20; ++n) {
    char text[16];
    snprintf(text, sizeof(text), "%d", n);
    if (n % 4 == 0) { // while no worker runs, or the next one starts
      send_signal(&rig, SIGKILL);
    }
    use_plugins(&rig, text);
    const EngineReply reply = edit_with(&rig, text);
    ck_assert_msg(!reply.status, "%d: %s", n, reply.text);
  }
  await_level(&rig, HALF);
  rig_stop(&rig);
  ck_assert_uint_eq(descriptors_open(), before);
}

TEST(a_worker_that_is_just_starting_gets_a_new_catalogue)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  use_plugins(&rig, "slow");
  await_health(&rig, HALF);
  send_signal(&rig, SIGKILL);
  AWAIT(rig_status(&rig).worker == WORKER_STARTING);
  use_plugins(&rig, "last");
  const EngineReply reply = edit_with(&rig, "last");
  ck_assert_msg(!reply.status, "%s", reply.text);
}

TEST(the_worker_s_reason_against_a_catalogue_is_reported)
{
  const char* const argv[] = { bad_worker(), NULL };
  EngineConfig config = rig_config(argv);
  config.plugins_fd = catalogue("invalid");
  Engine* engine = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_new(&config, &engine, &error), STATUS_FILE);
  ck_assert_str_eq(error.text, "no catalogue");
  close(config.plugins_fd);
}

TEST(a_worker_that_refuses_a_later_catalogue_is_lost_until_a_better_one_comes)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_health(&rig, HALF);
  use_plugins(&rig, "invalid");
  await_dry(&rig);
  AWAIT(strstr(rig_status(&rig).worker_note, "no catalogue"));
  use_plugins(&rig, "valid");
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).quarantined, 0U); // the rack is not blamed
}

TEST(new_code_of_plugins_gets_a_new_process_while_the_old_one_plays)
{
  Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_health(&rig, HALF);
  const int32_t before = rig_status(&rig).worker_pid;
  SCOPED_FD const int fd = catalogue("newer");
  OK(engine_use_plugins(rig.engine, fd, true, &error));
  const EngineReply reply = edit_with(&rig, "newer"); // waits for the exchange
  ck_assert_msg(!reply.status, "%s", reply.text);
  ck_assert_int_ne(rig_status(&rig).worker_pid, before);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 1U);
  ck_assert_uint_eq(rig_status(&rig).worker_renewals, 1U);
  assert_says(rig_status(&rig).worker_note, "old code of plugins");
  await_health(&rig, HALF);
  rig_stop(&rig);
}

TEST(nodes_that_crash_the_next_process_together_run_apart_in_the_one_after_it)
{
  const char* const argv[] = { bad_worker(), NULL };
  EngineConfig config = rig_config(argv);
  SCOPED(rig_stop) Rig rig;
  config.plugins_fd = catalogue("first");
  rig_start_with(&rig, &config, HALVED " | c: convolver shares-first");
  close(config.plugins_fd);
  await_health(&rig, HALF);
  const int32_t before = rig_status(&rig).worker_pid;
  SCOPED_FD const int fd = catalogue("second");
  OK(engine_use_plugins(rig.engine, fd, true, &error));
  AWAIT(rig_status(&rig).worker_pid != before); // takes over, because the nodes run apart
  await_health(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).nodes_quarantined, 0U);
}

TEST(the_old_process_plays_on_and_takes_edits_if_the_new_code_does_not_work)
{
  const char* const argv[] = { bad_worker(), NULL };
  EngineConfig config = rig_config(argv);
  config.plugins_fd = catalogue("first");
  SCOPED(rig_stop) Rig rig;
  rig_start_with(&rig, &config, HALVED " | c: convolver has-first");
  close(config.plugins_fd);
  await_health(&rig, HALF);
  clocked_wait(rig.audio);  // from the next block on, only a lost worker makes blocks dry
  await_health(&rig, HALF); // fallbacks of late blocks before it are over
  const uint64_t dry = rig_status(&rig).counts.dry;
  const int32_t before = rig_status(&rig).worker_pid;
  SCOPED_FD const int fd = catalogue("second");
  OK(engine_use_plugins(rig.engine, fd, true, &error));
  AWAIT(strstr(rig_status(&rig).worker_note, "cannot take over"));
  ck_assert_int_eq(rig_status(&rig).worker_pid, before);
  ck_assert_uint_eq(rig_status(&rig).counts.dry, dry);
  const EngineReply reply = edit_with(&rig, "second");
  ck_assert_msg(!reply.status, "%s", reply.text);
  AWAIT(rig_status(&rig).worker_pid != before); // the next attempt can plan the rack
}

TEST(a_descriptor_that_is_not_open_is_refused)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_use_plugins(rig.engine, -1, false, &error), STATUS_NO_MEM);
  assert_says(error.text, "cannot keep the catalogue of plugins");
  await_level(&rig, HALF);
}

TEST(a_worker_in_this_process_needs_no_catalogue)
{
  const EngineConfig config = { .n_in = 1, .n_out = 1, .offline = true, .plugins_fd = -1 };
  Engine* engine = NULL;
  OK(engine_new(&config, &engine, &error));
  OK(engine_use_plugins(engine, -1, false, &error));
  engine_free(engine);
}

SUITE_MAIN("supervisor plugins")
