// SPDX-License-Identifier: GPL-3.0-or-later
// Worker processes that crash: an edit that crashes two workers is refused, a rack that crashes two
// workers is put into quarantine, and a program that does not start is tried again after waits.

#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"
#include "tests/support/test_driver.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Scratch scratch;

TEST(an_edit_that_crashes_two_workers_is_refused)
{
  const struct {
    const char *rack, *why;
  } edits[] = {
    { HALVED " | convolver segv", "killed by SIGSEGV" },
    { HALVED " | convolver abort", "killed by SIGABRT" },
    { HALVED " | convolver exit", "exited with 3" },
  };
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  clocked_faults(rig.audio);
  for (uint32_t e = 0; e < 3U; ++e) {
    const EngineReply reply = rig_edit(&rig, edits[e].rack);
    ck_assert_int_eq(reply.status, STATUS_WORKER);
    assert_says(reply.text, "two workers crashed while they planned it");
    assert_says(reply.text, edits[e].why);
    assert_worker_replaced(&rig, 2U * (e + 1U), HALF);
  }
  ck_assert_uint_eq(rig_status(&rig).quarantined, 0);
  const EngineReply good = rig_edit(&rig, HALVED " | convolver fine");
  ck_assert_msg(!good.status, "%s", good.text);
}

TEST(a_rack_that_crashes_two_workers_is_reverted)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  clocked_faults(rig.audio);
  const char* const crashing = HALVED " | gain " HALF_DB " | convolver segv200";
  ck_assert_int_eq(rig_edit(&rig, crashing).status, STATUS_OK);
  await_quarantine(&rig);
  await_level(&rig, HALF); // of the previous rack
  const ClockedFaults faults = clocked_faults(rig.audio);
  ck_assert_float_ge(faults.smallest, HALF / 2.0F - 1e-6F);

  const EngineStatus status = rig_status(&rig);
  ck_assert_uint_eq(status.quarantined, 1);
  ck_assert_uint_eq(status.worker_restarts, 2);
  assert_says(status.quarantine_note, "SIGSEGV");
  Rack* const active = engine_rack(rig.engine);
  Rack* const before = rack_of(HALVED, NULL);
  ck_assert(rack_equal(active, before));
  rack_free(before);
  rack_free(active);

  const EngineReply again = rig_edit(&rig, crashing);
  ck_assert_int_eq(again.status, STATUS_WORKER);
  assert_says(again.text, "crashed two workers");
  const EngineReply other = rig_edit(&rig, HALVED " | gain 0dB");
  ck_assert_msg(!other.status, "%s", other.text);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 2);
}

TEST(without_an_earlier_good_rack_the_empty_one_is_used)
{
  const char* const argv[] = { bad_worker(), NULL };
  const EngineConfig config = rig_config(argv);
  SCOPED(rig_stop) Rig rig = { .engine = NULL };
  OK(engine_new(&config, &rig.engine, &error));
  rig.rack = rack_of("gain -6dB | convolver segv", NULL); // crashes when it is armed
  OK(engine_edit_wait(rig.engine, rig.rack, &error));
  rig_arm(&rig);
  rig.audio = clocked_start(rig.engine);
  await_quarantine(&rig);
  await_restarts(&rig, 1);
  await_dry(&rig);
  ck_assert_uint_eq(rig_status(&rig).n_nodes, 0);
  ck_assert_int_eq(rig_edit(&rig, HALVED).status, STATUS_OK);
  await_level(&rig, HALF);
}

TEST(an_edit_that_three_workers_are_killed_with_is_refused)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  const EngineReply reply = rig_edit(&rig, HALVED " | convolver kill");
  ck_assert_int_eq(reply.status, STATUS_WORKER);
  assert_says(reply.text, "three workers were lost while they planned it");
  assert_says(reply.text, "SIGKILL");
  await_restarts(&rig, 3); // the reply comes first, while the last sound may still be wet
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 3);
  ck_assert_uint_eq(rig_status(&rig).quarantined, 0);
}

static void
link_to(const char* const target)
{
  char path[256];
  char fresh[256];
  snprintf(path, sizeof(path), "%s", scratch_path(&scratch, "program"));
  snprintf(fresh, sizeof(fresh), "%s", scratch_path(&scratch, "fresh"));
  ck_assert_int_eq(symlink(target, fresh), 0);
  ck_assert_int_eq(rename(fresh, path), 0);
}

static void
assert_overtaken(const EngineReply* const reply)
{
  ck_assert_int_eq(reply->status, STATUS_WORKER);
  assert_says(reply->text, "a later command makes the rack smaller");
}

TEST(an_overtaken_edit_is_refused_at_its_first_loss)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_level(&rig, HALF);
  engine_overtake(rig.engine); // without an edit in flight: not for the next edit either
  ck_assert_int_eq(rig_edit(&rig, HALVED " | convolver segv").status, STATUS_WORKER);
  await_restarts(&rig, 2);
  await_level(&rig, HALF);
  rig_begin_edit(&rig, HALVED " | convolver hang");
  engine_overtake(rig.engine);
  send_signal(&rig, SIGKILL);
  const EngineReply reply = rig_await_reply();
  assert_overtaken(&reply);
  await_restarts(&rig, 3);
  const EngineReply smaller = rig_edit(&rig, "");
  ck_assert_msg(!smaller.status, "%s", smaller.text);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 3);
}

TEST(an_edit_that_has_lost_a_worker_is_refused_when_it_is_overtaken)
{
  static const char script[] = "#!/bin/sh\nexec sleep 60\n";
  Rig rig;
  scratch = scratch_new();
  scratch_write(&scratch, "mute", script, sizeof(script) - 1U);
  ck_assert_int_eq(chmod(scratch_path(&scratch, "mute"), 0755), 0);
  link_to(bad_worker());
  rig_start(&rig, scratch_path(&scratch, "program"), HALVED);
  await_level(&rig, HALF);
  rig_begin_edit(&rig, HALVED " | convolver hang");
  link_to("mute"); // a program that never plans the edit
  send_signal(&rig, SIGKILL);
  AWAIT(rig_status(&rig).worker == WORKER_STARTING);
  engine_overtake(rig.engine);
  const EngineReply reply = rig_await_reply();
  assert_overtaken(&reply);
  link_to(bad_worker());
  send_signal(&rig, SIGKILL);
  const EngineReply smaller = rig_edit(&rig, "");
  ck_assert_msg(!smaller.status, "%s", smaller.text);
  rig_stop(&rig);
  scratch_remove(&scratch);
}

/// Replace a worker that needs a new process.  With `waits`, the callback waits for its blocks.
/// Returns false if this took so long that the worker was replaced earlier, or its successor, too.
static bool
exchange_worker(const bool waits)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  if (waits) {
    clocked_wait(rig.audio);
  }
  ck_assert_int_eq(rig_edit(&rig, HALVED " | convolver needy").status, STATUS_OK);
  set_gain(&rig, QUARTER_DB);
  await_level(&rig, HALF / 2.0F);
  const EngineStatus needy = rig_status(&rig);
  if (needy.worker_restarts > 0U) {
    return false;
  }
  clocked_faults(rig.audio);
  await_restarts(&rig, 1);
  await_health(&rig, HALF / 2.0F);
  assert_worker_replaced(&rig, 1, HALF / 2.0F);
  const EngineStatus status = rig_status(&rig);
  ck_assert_int_ne(status.worker_pid, needy.worker_pid);
  ck_assert_uint_ge(status.worker_counts.plans,
                    needy.worker_counts.plans); // no counter falls, though the new worker's are 0
  for (uint32_t b = 0; b < LOAD_BUCKETS; ++b) {
    ck_assert_uint_ge(status.worker_counts.load[b], needy.worker_counts.load[b]);
  }
  assert_says(status.worker_note, "replaces worker");
  // Two dry blocks, one when the old ring is removed and one when the new ring is added: the next
  // worker was ready before.
  ck_assert(!waits || status.worker_restarts > 1U || status.counts.dry == needy.counts.dry + 2U);
  return status.worker_restarts == 1U;
}

TEST(a_worker_that_needs_a_new_process_is_replaced_during_playback)
{
  while (!exchange_worker(false)) { // the time limit of the test ends this
  }
  while (!exchange_worker(true)) {
  }
}

TEST(kills_from_outside_blame_nothing)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED); // warprack's own worker ignores SIGTERM
  for (uint64_t n = 1; n <= 3U; ++n) {   // within ten seconds, in which crashes blame the rack
    await_health(&rig, HALF);
    send_signal(&rig, n % 2U ? SIGKILL : SIGTERM);
    await_restarts(&rig, n);
  }
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).quarantined, 0);
}

TEST(a_program_that_does_not_start_is_tried_again_with_rests)
{
  Rig rig;
  scratch = scratch_new();
  link_to(bad_worker());
  rig_start(&rig, scratch_path(&scratch, "program"), HALVED);
  await_level(&rig, HALF);
  clocked_faults(rig.audio);
  link_to("/bin/false");
  const uint64_t began_ns = time_now_ns();
  send_signal(&rig, SIGKILL);
  await_dry(&rig);
  uint32_t n_changes = 0;
  uint32_t n_rests = 0;
  char note[sizeof(rig_status(&rig).worker_note)] = "";
  // The time limit of the test ends this if the program is not tried again.
  while (time_now_ns() - began_ns < 1600U * NS_PER_MS || n_changes < 2U || !n_rests) {
    const EngineStatus status = rig_status(&rig);
    n_changes += strcmp(note, status.worker_note) != 0;
    if (status.worker == WORKER_RESTING) {
      ck_assert_int_eq(status.worker_pid, 0);
      ++n_rests;
    }
    memcpy(note, status.worker_note, sizeof(note));
    usleep(1000);
  }
  // Three losses: the kill, the start at once, and the start a second later; the next one comes two
  // seconds after that.  The note may also change before and between them.
  ck_assert_msg(n_changes <= 5U || time_now_ns() - began_ns >= 3U * NS_PER_S, "%u", n_changes);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 0);
  ck_assert_uint_eq(rig_status(&rig).quarantined, 0);
  link_to(bad_worker());
  assert_worker_replaced(&rig, 1, HALF);
  rig_stop(&rig);
  scratch_remove(&scratch);
}

SUITE_MAIN("supervisor_crashes")
