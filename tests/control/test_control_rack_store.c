// SPDX-License-Identifier: GPL-3.0-or-later
// A disk that hangs delays only the commands that need a file, which stay in order.  The linker's
// option --wrap replaces read() and fsync() by functions of the test, which hang.

#include "control/rack_store.h"
#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_hanging;
static uint32_t n_hanging;

static void
set_hanging(const bool hanging)
{
  SCOPED_LOCK(&lock);
  is_hanging = hanging;
  pthread_cond_broadcast(&changed);
}

/// Wait as long as the disk hangs.
static void
hang(void)
{
  SCOPED_LOCK(&lock);
  ++n_hanging;
  pthread_cond_broadcast(&changed);
  while (is_hanging) {
    pthread_cond_wait(&changed, &lock);
  }
  --n_hanging;
}

/// Wait until a thread hangs in read() or fsync().
static void
wait_for_hang(void)
{
  SCOPED_LOCK(&lock);
  while (n_hanging == 0) {
    pthread_cond_wait(&changed, &lock);
  }
}

ssize_t __real_read(int fd, void* buffer, size_t n_bytes);
ssize_t __wrap_read(int fd, void* buffer, size_t n_bytes);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

ssize_t
__wrap_read(const int fd, void* const buffer, const size_t n_bytes)
{
  hang();
  return __real_read(fd, buffer, n_bytes);
}

int
__wrap_fsync(const int fd)
{
  hang();
  return __real_fsync(fd);
}

static void
start(void)
{
  control_rig_start();
  scratch_write(&rig.folder, "new.rack", "chain amp: gain -1dB\n", 21);
  set_hanging(true);
}

TEST(no_command_waits_for_a_rack_that_is_being_saved)
{
  client_send(rig.client, "/rack/save", "s", "saved.rack");
  wait_for_hang();
  client_expect_nothing(rig.client); // the server answers a ping
  client_ask(rig.other, "/done /node/vol/gain", "/node/vol/gain", "f", -3.0);
  client_ask(rig.other, "/done /rack/add*", "/rack/add", "ss", "more", "gain");
  ck_assert_uint_eq(scratch_count(&rig.folder), 2); // new.rack, and a temporary file
  set_hanging(false);
  client_expect(rig.client, "/done /rack/save");
  ck_assert_int_eq(access(scratch_path(&rig.folder, "saved.rack"), R_OK), 0);
}

TEST(edits_wait_for_a_rack_that_is_being_loaded_and_values_do_not)
{
  client_send(rig.client, "/rack/load", "s", "new.rack");
  wait_for_hang();
  client_ask(rig.other, "/done /node/vol/gain", "/node/vol/gain", "f", -3.0);
  client_send(rig.other, "/rack/add", "ss", "more", "gain");
  client_expect_nothing(rig.other);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);
  ck_assert_double_eq(control_rig_status("edits_waiting"), 2.0);
  set_hanging(false);
  client_expect(rig.client, "/done /rack/load 1 *");
  client_expect(rig.other, "/done /rack/add 2 *");
  control_rig_expect_rack("amp");
  control_rig_expect_rack("more");
}

TEST(a_bundle_waits_for_all_its_files_and_fails_as_a_whole)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/load", "s", "new.rack");
  bundle_add(bundle, "/rack/add", "ss", "more", "gain");
  bundle_add(bundle, "/rack/load", "s", "none.rack");
  client_send_bundle(rig.client, bundle);
  wait_for_hang();
  set_hanging(false);
  client_expect(rig.client, "/fail /rack/load 9 not done, because /rack/load*");
  client_expect(rig.client, "/fail /rack/add 9 not done, because /rack/load*");
  client_expect(rig.client, "/fail /rack/load 9 none.rack: No such file*");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);

  const lo_bundle good = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(good, "/rack/load", "s", "new.rack");
  bundle_add(good, "/rack/add", "ss", "more", "gain");
  client_send_bundle(rig.client, good);
  client_expect(rig.client, "/done /rack/load 1 *");
  client_expect(rig.client, "/done /rack/add 1 *");
  control_rig_expect_rack("more");
}

TEST(no_more_files_are_taken_on_than_fit)
{
  for (uint32_t i = 0; i < RACK_STORE_MAX_JOBS; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "%u.rack", i);
    client_send(rig.client, "/rack/save", "s", name);
  }
  client_expect_nothing(rig.client);
  client_ask(rig.other, "/fail /rack/save 5 64 files*", "/rack/save", "s", "late.rack");
  client_ask(rig.other, "/fail /rack/load 5 64 files*", "/rack/load", "s", "new.rack");
  set_hanging(false);
  for (uint32_t i = 0; i < RACK_STORE_MAX_JOBS; ++i) {
    client_expect(rig.client, "/done /rack/save");
  }
  client_ask(rig.other, "/done /rack/load*", "/rack/load", "s", "new.rack");
}

TEST(a_take_leaves_room_for_other_files)
{
  enum { N_PARTS = 4, N_SAVES = RACK_STORE_MAX_JOBS - 3 };
  static float samples[64U * FAKE_CHANNELS];
  fake_engine_advance(rig.engine, 1000U);
  client_ask(rig.client, "/done /take/start", "/take/start", "ss", "t.osc", "audio");
  client_send(rig.client, "/rack/save", "s", "first.rack");
  wait_for_hang();
  fake_engine_start_at(rig.engine, 1000U);
  for (uint32_t p = 0; p < N_PARTS; ++p) {
    fake_engine_play(rig.engine, samples, 64U);
    AWAIT(!fake_engine_unheard(rig.engine));
  }
  for (uint32_t i = 0; i < N_SAVES; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "%u.rack", i);
    client_send(rig.client, "/rack/save", "s", name);
  }
  client_expect_nothing(rig.client);
  set_hanging(false);
  for (uint32_t i = 0; i < N_SAVES + 1U; ++i) {
    client_expect(rig.client, "/done /rack/save");
  }
  client_ask(rig.client, "/done /take/stop", "/take/stop", "");
}

TEST(the_server_ends_while_the_disk_hangs)
{
  client_send(rig.client, "/rack/load", "s", "new.rack");
  wait_for_hang();
  control_stop(rig.control);
  rig.control = NULL;
  set_hanging(false);
}

TEST(requested_files_are_written_before_the_end)
{
  client_send(rig.client, "/rack/save", "s", "a.rack");
  wait_for_hang();
  client_send(rig.client, "/rack/save", "s", "b.rack");
  client_expect_nothing(rig.client);
  set_hanging(false);
  control_stop(rig.control);
  rig.control = NULL;
  ck_assert_int_eq(access(scratch_path(&rig.folder, "a.rack"), R_OK), 0);
  ck_assert_int_eq(access(scratch_path(&rig.folder, "b.rack"), R_OK), 0);
}

SUITE_MAIN_WITH("control_rack_store", start, control_rig_stop)
