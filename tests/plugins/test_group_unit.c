// SPDX-License-Identifier: GPL-3.0-or-later
// An instance in the process of its group runs a block by the messages of that block alone.

#include "tests/support/group_rig.h"
#include "tests/support/suite.h"

#include "engine/ring/ring.h"
#include "plugins/group/group_threads.h"
#include "plugins/group/group_unit.h"

#include <stdlib.h>

#define BLOCK 64U
#define HALF  (BLOCK / 2U)

static Ring* ring; // the worker's side
static Ring* bell;
static GroupUnit* unit;

/// Make a unit of a plugin that multiplies by the control "gain".
static void
open_unit(void)
{
  const RingShape bell_shape = { .block_frames = 1U, .n_slots = 4U, .n_messages = 1U };
  const RingShape shape = {
    .n_in = 1U, .n_out = 2U, .block_frames = BLOCK, .n_slots = GROUP_RING_SLOTS, .n_messages = 64U
  };
  TextBuffer text = { 0 };
  plugin_write(&text, group_rig_ladspa("effects/gain"));
  const GroupCall call = { .op = GROUP_OPEN,
                           .uid = GROUP_RIG_UID,
                           .rate_hz = GROUP_RIG_RATE,
                           .max_block_frames = BLOCK,
                           .n_description = (uint32_t)text.n };
  OK(ring_new(&bell_shape, &bell, &error));
  OK(group_threads_start(bell, 0, &error));
  OK(ring_new(&shape, &ring, &error));
  OK(group_unit_new(&call, text.bytes, text.n, ring_fd(ring), &unit, &error));
}

/// Send a message for the next block.
static void
send(const GroupMessage kind, const uint32_t param, const double value, const uint32_t n_frames)
{
  const ParamMessage message = {
    .frame = ring_next(ring), .kind = kind, .param = param, .value = value, .n_frames = n_frames
  };
  ck_assert(ring_send(ring, &message, 1U));
}

/// Submit a block of ones.
static void
submit(void)
{
  for (uint32_t f = 0; f < BLOCK; ++f) {
    ring_input(ring, ring_next(ring), 0U)[f] = 1.0F;
  }
  *ring_slot(ring, ring_next(ring)) = (SlotHeader){ .n_frames = BLOCK };
  ring_submit(ring);
}

TEST(a_block_that_lacks_messages_takes_none_of_the_next)
{
  open_unit();
  send(GROUP_MESSAGE_RUN, 0U, 0.0, HALF);
  submit(); // its second run is lost
  send(GROUP_MESSAGE_RUN, 0U, 0.0, HALF);
  send(GROUP_MESSAGE_RUN, 0U, 0.0, HALF);
  submit();
  submit(); // all are lost
  send(GROUP_MESSAGE_RUN, 0U, 0.0, BLOCK);
  submit();
  ring_wake(bell);
  for (uint64_t s = 0; s < 4U; ++s) {
    AWAIT(ring_is_finished(ring, s));
    ck_assert_int_eq((int)ring_result(ring, s), s % 2U ? RING_SOUND : RING_NO_SOUND);
  }
  ck_assert_float_eq(*ring_output(ring, 1U, 0U), *ring_output(ring, 3U, 0U));
  group_unit_free(unit);
}

TEST(a_value_counts_from_its_run_on)
{
  const Plugin* const plugin = group_rig_ladspa("effects/gain");
  uint32_t port = 0;
  while (strcmp(plugin->ports[port].symbol, "gain") != 0) {
    ++port;
  }
  open_unit();
  send(GROUP_MESSAGE_SET, port, 0.0, 0U);
  send(GROUP_MESSAGE_RUN, 0U, 0.0, HALF);
  send(GROUP_MESSAGE_SET, port, -20.0, 0U);
  send(GROUP_MESSAGE_RUN, 0U, 0.0, HALF);
  submit();
  ring_wake(bell);
  AWAIT(ring_is_finished(ring, 0U));
  const float* const out = ring_output(ring, 0U, 0U);
  ck_assert_float_eq(out[HALF - 1U], 1.0F);
  ck_assert_float_eq_tol(out[HALF], 0.1F, 1e-6F);
  group_unit_free(unit);
}

SUITE_MAIN("group_unit")
