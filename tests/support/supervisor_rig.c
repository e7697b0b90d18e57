// SPDX-License-Identifier: GPL-3.0-or-later
// An engine with a worker process and audio, for tests of the supervisor.

#include "supervisor_rig.h"

#include "set_by_name.h"
#include "suite.h"
#include "test_driver.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HEALTHY_BLOCKS 215U // 0.57 s

// ---- the engine ----

EngineConfig
rig_config(const char* const* const argv)
{
  return (EngineConfig){ .n_in = 1,
                         .n_out = 1,
                         .depth = 1,
                         .deadline_fraction = 0.75,
                         .on_late = { .is_fixed = true }, // dry at 0 dB: wet has another level
                         .backend = ENGINE_BACKEND_CPU,
                         .worker_argv = argv };
}

void
rig_arm(const Rig* const rig)
{
  OK(engine_arm(rig->engine, CLOCKED_RATE_HZ, CLOCKED_BLOCK, 1, 1, &error));
}

static void
start(Rig* const rig, const EngineConfig* const config, const char* const rack)
{
  OK(engine_new(config, &rig->engine, &error));
  rig->rack = rack_of(rack, NULL);
  OK(engine_edit_wait(rig->engine, rig->rack, &error));
  rig_arm(rig);
  rig->audio = clocked_start(rig->engine);
}

void
rig_start(Rig* const rig, const char* const program, const char* const rack)
{
  const bool is_good = !strcmp(program, getenv("WARPRACK_PROGRAM"));
  *rig = (Rig){ .argv = { program, is_good ? "worker" : NULL } };
  const EngineConfig config = rig_config(rig->argv);
  start(rig, &config, rack);
}

void
rig_start_with(Rig* const rig, const EngineConfig* const config, const char* const rack)
{
  *rig = (Rig){ .engine = NULL };
  start(rig, config, rack);
}

void
rig_stop(Rig* const rig)
{
  clocked_stop(rig->audio);
  engine_free(rig->engine);
  rack_free(rig->rack);
}

EngineStatus
rig_status(const Rig* const rig)
{
  EngineStatus status;
  engine_status(rig->engine, &status);
  return status;
}

const char*
good_worker(void)
{
  return getenv("WARPRACK_PROGRAM");
}

const char*
bad_worker(void)
{
  return getenv("WARPRACK_BAD_WORKER");
}

// ---- waiting ----

void
await_level(const Rig* const rig, const float value)
{
  AWAIT(fabsf(clocked_level(rig->audio) - value) < 1e-6F);
}

void
await_dry(const Rig* const rig)
{
  await_level(rig, CLOCKED_INPUT);
}

void
await_restarts(const Rig* const rig, const uint64_t n)
{
  AWAIT(rig_status(rig).worker_restarts >= n);
}

void
await_quarantine(const Rig* const rig)
{
  AWAIT(rig_status(rig).quarantined > 0U);
}

void
await_health(const Rig* const rig, const float wet)
{
  await_level(rig, wet);
  const uint64_t until = rig_status(rig).counts.blocks + HEALTHY_BLOCKS;
  AWAIT(rig_status(rig).counts.blocks >= until);
}

void
assert_worker_replaced(const Rig* const rig, const uint64_t restarts, const float wet)
{
  await_restarts(rig, restarts);
  await_level(rig, wet);
  const ClockedFaults faults = clocked_faults(rig->audio);
  ck_assert_float_ge(faults.smallest, fminf(wet, CLOCKED_INPUT) - 1e-6F);
  // A block that is late during a fade is continued by the bridge, which may exceed the fade's end
  // by 0.4 dB (bridge.h); the next bridge may exceed that.
  ck_assert_float_le(faults.largest, 1.1F * fmaxf(wet, CLOCKED_INPUT));
  // The fade is 3x^2 - 2x^3 over a block; its largest slope is 1.5 times the difference per block.
  // It may begin during a bridge, which lasts three blocks and adds at most 0.5.
  ck_assert_float_le(faults.largest_step,
                     2.01F * fabsf(wet - CLOCKED_INPUT) / (float)CLOCKED_BLOCK);
}

// ---- edits and values ----

typedef struct Reply {
  atomic_bool is_there;
  EngineReply reply;
} Reply;

static void
take_reply(void* const context, const EngineReply* const reply)
{
  Reply* const to = context;
  to->reply = *reply;
  to->is_there = true;
}

/// To the last rig_begin_edit().
static Reply last_reply;

void
rig_begin_edit(Rig* const rig, const char* const text)
{
  Rack* const next = rack_of(text, rig->rack);
  last_reply.is_there = false;
  ck_assert_int_eq(engine_edit(rig->engine, next, 0, take_reply, &last_reply), STATUS_OK);
  rack_free(rig->rack);
  rig->rack = next;
}

EngineReply
rig_await_reply(void)
{
  AWAIT(last_reply.is_there);
  return last_reply.reply;
}

EngineReply
rig_edit(Rig* const rig, const char* const text)
{
  rig_begin_edit(rig, text);
  return rig_await_reply();
}

void
set_gain(const Rig* const rig, const double db)
{
  const ParamMessage param = { .uid = rig->rack->nodes[0].uid, .value = db };
  ck_assert_int_eq(engine_set(rig->engine, &param, 1), STATUS_OK);
}

void
send_signal(const Rig* const rig, const int number)
{
  const pid_t pid = rig_status(rig).worker_pid;
  ck_assert_int_gt(pid, 0);
  ck_assert_int_eq(kill(pid, number), 0);
}
