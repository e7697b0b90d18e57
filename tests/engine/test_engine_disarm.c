// SPDX-License-Identifier: GPL-3.0-or-later
// An engine is disarmed while its callback waits, in freewheel, for a worker process that hangs:
// the supervisor finds that the process hangs, and the callback and all other threads continue.

#include "engine/engine_private.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"

#include <signal.h>
#include <unistd.h>

#define LOOK_US 1000U
#define N_LOOKS 50U // no block between them: the callback waits

/// Stop the worker, and submit a block that it does not finish.
static void
stop_worker(const Rig* const rig)
{
  send_signal(rig, SIGSTOP);
  uint64_t n_blocks = clocked_blocks(rig->audio);
  for (uint32_t n = 0; n < N_LOOKS || !period_door_is_occupied(engine_door(rig->engine)); ++n) {
    usleep(LOOK_US);
    if (clocked_blocks(rig->audio) != n_blocks) {
      n_blocks = clocked_blocks(rig->audio);
      n = 0;
    }
  }
}

TEST(a_callback_that_waits_for_a_hanging_worker_is_freed)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  clocked_wait(rig.audio);
  await_health(&rig, HALF);
  stop_worker(&rig);
  engine_disarm(rig.engine);
  ck_assert(!rig_status(&rig).armed);
  await_level(&rig, 0.0F); // disarmed
  rig_arm(&rig);           // the supervisor finds the hang now, if not before
  await_level(&rig, HALF);
  await_restarts(&rig, 1U);
}

SUITE_MAIN("engine_disarm")
