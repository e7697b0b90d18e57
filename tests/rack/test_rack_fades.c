// SPDX-License-Identifier: GPL-3.0-or-later
// The list of running fades has each fade with its start, until its end, another message, or an
// edit of the value; and fades that begin later.

#include "engine/rack/rack_fades.h"

#include "engine/contract/fade.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>

#define RATE 48000.0

static RackFades list;
static Rack* rack;

static void
start(void)
{
  rack = rack_of("g: gain -6dB | f: highpass 1000 order=4 | p: phaser", NULL);
}

static void
stop(void)
{
  rack_fades_clear(&list);
  rack_free(rack);
}

static void
note(const RackNode* const node, const uint32_t param, const double value, const uint64_t frame,
     const uint32_t n_frames, const uint64_t now)
{
  const RackFade change = { .uid = node->uid,
                            .param = param,
                            .from = rack_number(node, param, RATE),
                            .to = value,
                            .start = frame,
                            .n_frames = n_frames };
  rack_fades_note(&list, &node->fx->params[param], &change, now);
}

/// A message for the gain, which the rack then has.
static void
send_gain(const double value, const uint64_t frame, const uint32_t fade_frames, const uint64_t now)
{
  note(&rack->nodes[0], 0U, value, frame, fade_frames, now);
  rack_set_value(rack, rack->nodes[0].uid, 0U, 0U, value);
}

/// The value of the gain at a frame, by the fade that runs; NAN: none does.
static double
gain_at(const uint64_t frame)
{
  double value = (double)NAN;
  for (uint32_t f = 0; f < list.n; ++f) {
    if (rack_fade_runs(&list.items[f], frame)) {
      ck_assert_msg(isnan(value), "two fades run at frame %u", (unsigned)frame);
      value = rack_fade_value(&list.items[f], &rack->nodes[0].fx->params[0], frame);
    }
  }
  return value;
}

TEST(a_fade_is_kept_with_its_start_and_the_value_before)
{
  send_gain(-20.0, 0, 1000, 500);
  ck_assert_uint_eq(list.n, 1U);
  ck_assert_uint_eq(list.items[0].start, 500U);
  ck_assert_double_eq(list.items[0].from, -6.0);
  send_gain(0.0, 1000, 1000, 1000); // when it has come half way
  ck_assert(rack_fade_runs(&list.items[list.n - 1U], 1000));
  ck_assert_double_eq_tol(gain_at(1000), -13.0, 1e-9);
  ck_assert_double_eq_tol(gain_at(1500), -6.5, 1e-9);
}

TEST(a_flood_of_later_fades_keeps_a_bounded_number)
{
  for (uint32_t f = 0; f < 10U * RACK_FADES_PER_PARAM; ++f) {
    send_gain(-20.0 + (f % 2U), 10000U + 10U * f, 1000, 0);
  }
  ck_assert_uint_eq(list.n, RACK_FADES_PER_PARAM);
  send_gain(-12.0, 0, 1000, 0); // one that begins now still counts
  ck_assert_double_eq_tol(gain_at(999), -12.0, 0.1);
}

TEST(a_fade_that_begins_later_leaves_the_running_one_until_then)
{
  send_gain(-26.0, 0, 1000, 0);
  send_gain(4.0, 500, 1000, 100);
  ck_assert_double_eq_tol(gain_at(250), -11.0, 1e-9);
  ck_assert_double_eq_tol(gain_at(500), -16.0, 1e-9);
  ck_assert_double_eq_tol(gain_at(1000), -6.0, 1e-9);
  rack_fades_follow(&list, rack, RATE); // the rack has the end of the last one
  ck_assert_double_eq_tol(gain_at(250), -11.0, 1e-9);
  send_gain(-26.0, 0, 0, 200); // a hand, before the second one
  ck_assert(isnan(gain_at(250)));
  ck_assert_double_eq_tol(gain_at(1000), -11.0, 1e-9);
  send_gain(4.0, 0, 100, 300);
  ck_assert_double_eq_tol(gain_at(350), -11.0, 1e-9); // from the hand's value
  rack_set_value(rack, rack->nodes[0].uid, 0U, 0U, -1.0);
  rack_fades_follow(&list, rack, RATE);
  ck_assert_uint_eq(list.n, 0U);
}

TEST(a_value_that_comes_later_ends_a_fade_at_its_frame)
{
  send_gain(-26.0, 0, 1000, 0);
  send_gain(-3.0, 500, 0, 100);
  ck_assert_double_eq_tol(gain_at(499), -6.0 - 20.0 * 0.499, 1e-9);
  ck_assert(isnan(gain_at(500)));
  rack_fades_forget(&list, 1000);
  ck_assert_uint_eq(list.n, 0U);
}

TEST(values_and_ends_and_edits_take_a_fade_out)
{
  send_gain(-20.0, 0, 1000, 500);
  send_gain(-3.0, 0, 0, 600);
  ck_assert(isnan(gain_at(700)));
  send_gain(-20.0, 0, 1000, 700);
  rack_fades_follow(&list, rack, RATE);
  ck_assert(!isnan(gain_at(700)));
  rack_set_value(rack, rack->nodes[0].uid, 0U, 0U, -1.0);
  rack_fades_follow(&list, rack, RATE);
  ck_assert_uint_eq(list.n, 0U);
  send_gain(-20.0, 0, 1000, 2000);
  rack_fades_forget(&list, 2999);
  ck_assert_uint_eq(list.n, 1U);
  rack_fades_forget(&list, 3000);
  ck_assert_uint_eq(list.n, 0U);
}

TEST(what_does_not_fade_is_not_kept)
{
  send_gain(-6.0, 0, 1000, 0); // the value that it has
  note(&rack->nodes[1], (uint32_t)fx_param_find(rack->nodes[1].fx, "order"), 2.0, 0, 1000, 0);
  note(&rack->nodes[2], (uint32_t)fx_param_find(rack->nodes[2].fx, "mute"), 1.0, 0, 1000, 0);
  note(&rack->nodes[1], (uint32_t)fx_param_find(rack->nodes[1].fx, "type"), 1.0, 0, 1000, 0);
  ck_assert_uint_eq(list.n, 0U);
}

TEST(many_changes_of_the_same_fades_take_no_more_room)
{
  for (uint32_t i = 0; i < 10000U; ++i) {
    send_gain(i % 2U ? -20.0 : -3.0, 0, 1000, i / 100U);
  }
  ck_assert_uint_le(list.max, 64U);
  ck_assert(!isnan(gain_at(100)));
}

TEST(a_full_list_forgets_nothing)
{
  static char text[200000];
  size_t length = 0;
  for (uint32_t n = 0; n < 2100U; ++n) {
    length += (size_t)sprintf(text + length, "add p%u phaser\n", n);
  }
  rack_free(rack);
  rack = rack_of(text, NULL);
  for (uint32_t f = 0; f < 2U * rack->n_nodes; ++f) {
    note(&rack->nodes[f / 2U], f % 2U, 30.0, 0, 9, 0);
  }
  ck_assert_uint_eq(list.n, FADE_MAX);
  ck_assert_uint_eq(list.items[FADE_MAX - 1U].uid, rack->nodes[(FADE_MAX - 1U) / 2U].uid);
  for (uint32_t f = 0; f < 2U * rack->n_nodes; ++f) { // each again, from where it is
    note(&rack->nodes[f / 2U], f % 2U, 25.0, 0, 9, 1);
  }
  ck_assert_uint_eq(list.n - list.n_over, FADE_MAX);
  ck_assert_uint_le(list.n, 2U * FADE_MAX);
}

SUITE_MAIN_WITH("rack_fades", start, stop)
