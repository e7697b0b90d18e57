// SPDX-License-Identifier: GPL-3.0-or-later
// A worker process that does not end but fails: it is stopped while idle, hangs but sends notes, or
// reports invalid values.

#include "engine/base/time.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

TEST(an_idle_worker_that_is_stopped_is_replaced)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_health(&rig, HALF);
  engine_disarm(rig.engine);
  ck_assert_int_eq(rig_edit(&rig, HALVED).status, STATUS_OK); // no edit is in flight after this
  send_signal(&rig, SIGSTOP);
  await_restarts(&rig, 1); // before the engine is armed again
  const EngineStatus status = rig_status(&rig);
  assert_says(status.worker_note, "stopped from outside");
  rig_arm(&rig);
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 1);
}

TEST(a_worker_started_while_the_driver_has_stopped_is_kept)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_health(&rig, HALF);
  clocked_stop(rig.audio);
  send_signal(&rig, SIGKILL);
  await_restarts(&rig, 1);
  // Longer than the watchdog allows a worker that has blocks to play.
  nanosleep(&(struct timespec){ .tv_sec = 2, .tv_nsec = 500000000L }, NULL);
  rig.audio = clocked_start(rig.engine);
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 1);
}

TEST(a_worker_that_played_for_a_moment_is_not_yet_healthy)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  // The supervisor waits after the second such loss in a row.  The test allows more losses, because
  // a worker looks healthy if the machine stalls for half a second.
  for (uint64_t n = 1; !strstr(rig_status(&rig).worker_note, "in 1 s"); ++n) {
    ck_assert_msg(n <= 10U, "no wait before the start after: %s", rig_status(&rig).worker_note);
    await_level(&rig, HALF);
    const uint64_t until = rig_status(&rig).counts.blocks + 75U; // 0.2 s
    AWAIT(rig_status(&rig).counts.blocks >= until);
    send_signal(&rig, SIGKILL);
    await_restarts(&rig, n);
  }
}

TEST(a_rack_that_cannot_be_planned_for_a_new_format_is_dry_until_an_edit)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED " | limiter lookahead=960frames"); // 20 ms, the limit
  await_level(&rig, HALF);
  OK(engine_arm(rig.engine, 44100.0, CLOCKED_BLOCK, 1, 1, &error));
  await_dry(&rig);
  const EngineStatus status = rig_status(&rig);
  assert_says(status.worker_note, "out of range");
  ck_assert_int_eq(rig_edit(&rig, HALVED).status, STATUS_OK);
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).worker_restarts, 0);
}

static atomic_bool has_no_memory; // memfd_create() fails
static _Atomic uint32_t n_tries;

__typeof__(memfd_create) __real_memfd_create, __wrap_memfd_create; // --wrap in meson.build

int
__wrap_memfd_create(const char* const name, const unsigned flags)
{
  if (has_no_memory) {
    ++n_tries;
    errno = ENOSPC;
    return -1;
  }
  return __real_memfd_create(name, flags);
}

TEST(a_worker_without_memory_to_share_is_dry_and_reports_the_reason)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_health(&rig, HALF);
  const uint64_t began = time_now_ns();
  has_no_memory = true;
  send_signal(&rig, SIGKILL);
  AWAIT(strstr(rig_status(&rig).worker_note, "next attempt"));
  await_dry(&rig);
  nanosleep(&(struct timespec){ .tv_nsec = 500000000L }, NULL);
  has_no_memory = false;
  const uint32_t n = n_tries;
  const uint32_t seconds = (uint32_t)((time_now_ns() - began) / 1000000000U);
  ck_assert_msg(n >= 1U && n <= 1U + seconds, "%u tries in %u s", n, seconds);
  await_level(&rig, HALF);
}

TEST(a_worker_that_hangs_and_sends_notes_is_replaced)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_health(&rig, HALF);
  clocked_faults(rig.audio);
  ck_assert_int_eq(rig_edit(&rig, HALVED " | convolver chatter200").status, STATUS_OK);
  assert_worker_replaced(&rig, 1, HALF);
  const EngineStatus status = rig_status(&rig);
  assert_says(status.worker_note, "finished no blocks in time");
}

TEST(a_worker_with_a_device_that_hangs_while_an_edit_waits_is_replaced_soon)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, bad_worker(), HALVED);
  await_health(&rig, HALF);
  ck_assert_int_eq(rig_edit(&rig, HALVED " | convolver device").status, STATUS_OK);
  SCOPED_RACK Rack* const rack = rack_of(HALVED " | convolver chatter500", rig.rack);
  const uint64_t never = engine_frame_now(rig.engine) + UINT32_MAX;
  OK(engine_edit(rig.engine, rack, never, NULL, NULL));
  const uint64_t began_ns = time_now_ns();
  await_restarts(&rig, 1);
  ck_assert_uint_lt(time_now_ns() - began_ns, 10U * NS_PER_S); // a device that compiles has more
  assert_says(rig_status(&rig).worker_note, "finished no blocks in time");
}

TEST(a_worker_that_sends_invalid_messages_is_replaced)
{
  const struct {
    const char *rack, *why;
  } lies[] = {
    { HALVED " | convolver future", "more plans than it can have made" },
    { HALVED " | convolver latent", "invalid latency" },
  };
  for (uint32_t l = 0; l < 2U; ++l) {
    SCOPED(rig_stop) Rig rig;
    rig_start(&rig, bad_worker(), HALVED);
    await_level(&rig, HALF);
    ck_assert_int_eq(rig_edit(&rig, lies[l].rack).status, STATUS_OK);
    rig_arm(&rig); // the worker's reply is invalid
    await_quarantine(&rig);
    const EngineStatus status = rig_status(&rig);
    assert_says(status.quarantine_note, lies[l].why);
    await_level(&rig, HALF); // of the previous rack
  }
}

SUITE_MAIN("supervisor_watchdog")
