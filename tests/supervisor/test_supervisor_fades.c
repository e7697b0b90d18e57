// SPDX-License-Identifier: GPL-3.0-or-later
// The first messages for a worker that takes over: fades that run, as they run; fades that have
// ended or that an edit has replaced no longer.

#include "engine/supervisor/supervisor_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static Supervisor supervisor;
static Child child;

static void
start(void)
{
  supervisor = (Supervisor){ .wanted = { .format = { .rate_hz = 48000.0 },
                                         .shape = { .n_messages = 16U } } };
  supervisor.history.active = rack_of("g: gain -6dB | h: gain", NULL);
  child = (Child){ .state = CHILD_ARMED };
}

static void
stop(void)
{
  rack_fades_clear(&supervisor.fades);
  rack_free(supervisor.history.active);
  free(child.missed);
  key_index_clear(&child.missed_at);
}

/// A message for the gain of a node, as engine_set() passes it.
static void
send_gain(const uint32_t n, const double value, const uint64_t frame, const uint32_t fade_frames,
          const uint64_t now)
{
  const ParamMessage message = { .frame = frame,
                                 .uid = supervisor.history.active->nodes[n].uid,
                                 .value = value,
                                 .fade_frames = fade_frames };
  supervisor_note_fades(&supervisor, &message, 1U, now);
  rack_set_value(supervisor.history.active, message.uid, 0U, 0U, value);
  child_set(&child, &message, 1U);
}

static uint32_t
take_first(ParamMessage first[const 16])
{
  uint32_t n = 0;
  ParamMessage* const messages = supervisor_first_messages(&supervisor, &child, &n);
  ck_assert_uint_le(n, 16U);
  for (uint32_t m = 0; m < n; ++m) {
    first[m] = messages[m];
  }
  free(messages);
  return n;
}

TEST(a_fade_goes_on_from_its_start)
{
  ParamMessage first[16];
  send_gain(0, -20.0, 0, 1000, 500);
  send_gain(1, -3.0, 0, 0, 600);
  ck_assert_uint_eq(take_first(first), 2U);
  ck_assert_double_eq(first[0].value, -3.0);
  ck_assert_uint_eq(first[1].frame, 500U);
  ck_assert_uint_eq(first[1].is_running, 1U);
  ck_assert_uint_eq(first[1].fade_frames, 1000U);
  ck_assert_double_eq(first[1].from, -6.0);
}

TEST(a_fade_that_an_edit_or_its_end_has_ended_does_not_begin_again)
{
  ParamMessage first[16];
  send_gain(0, -20.0, 0, 1000, 500);
  ck_assert_uint_eq(take_first(first), 1U); // the ring was not taken
  rack_set_value(supervisor.history.active, supervisor.history.active->nodes[0].uid, 0U, 0U, -9.0);
  ck_assert_uint_eq(take_first(first), 1U); // its rack may be older than the fade
  ck_assert_uint_eq(first[0].is_running, 0U);
  ck_assert_uint_eq(first[0].fade_frames, 0U);
  send_gain(1, -20.0, 0, 1000, 1000);
  rack_fades_forget(&supervisor.fades, 2000);
  ck_assert_uint_eq(take_first(first), 2U);
  ck_assert_uint_eq(first[1].fade_frames, 0U);
  ck_assert_double_eq(first[1].value, -20.0);
}

TEST(a_fade_that_begins_later_does_not_end_the_one_that_runs)
{
  ParamMessage first[16];
  send_gain(0, -26.0, 0, 1000, 0);
  send_gain(0, 4.0, 500, 1000, 100);
  ck_assert_uint_eq(take_first(first), 2U);
  ck_assert_uint_eq(first[0].frame, 0U);
  ck_assert_double_eq(first[0].value, -26.0);
  ck_assert_uint_eq(first[1].frame, 500U);
  ck_assert_double_eq_tol(first[1].from, -16.0, 1e-9);
}

TEST(the_fades_that_the_ring_has_no_room_for_are_left_out)
{
  ParamMessage first[16];
  supervisor.wanted.shape.n_messages = 1U;
  send_gain(0, -26.0, 0, 1000, 0);
  send_gain(1, -26.0, 0, 1000, 0);
  ck_assert_uint_eq(take_first(first), 1U);
}

SUITE_MAIN_WITH("supervisor_fades", start, stop)
