// SPDX-License-Identifier: GPL-3.0-or-later
// The list of running fades has each fade with its start, until its end, another message, or an
// edit of the value.

#include "engine/supervisor/fade_list.h"

#include "engine/contract/fade.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define RATE 48000.0

static FadeList list;
static Rack* rack;

static void
start(void)
{
  rack = rack_of("g: gain -6dB | f: lowpass 1000 order=4", NULL);
}

static void
stop(void)
{
  fade_list_clear(&list);
  rack_free(rack);
}

/// A message for the gain, which the rack then has.
static void
send_gain(const double value, const uint64_t frame, const uint32_t fade_frames, const uint64_t now)
{
  const ParamMessage message = {
    .frame = frame, .uid = rack->nodes[0].uid, .value = value, .fade_frames = fade_frames
  };
  fade_list_note(&list, rack, RATE, &message, 1U, now);
  rack_set_value(rack, message.uid, 0U, 0U, value);
}

TEST(a_fade_is_kept_with_its_start_and_the_value_before)
{
  send_gain(-20.0, 0, 1000, 500);
  ck_assert_uint_eq(list.n, 1U);
  ck_assert_uint_eq(list.fades[0].frame, 500U);
  ck_assert_uint_eq(list.fades[0].is_running, 1U);
  ck_assert_double_eq(list.fades[0].from, -6.0);
  send_gain(0.0, 1000, 1000, 700); // when it has come half way
  ck_assert_uint_eq(list.n, 1U);
  ck_assert_uint_eq(list.fades[0].frame, 1000U);
  ck_assert_double_eq_tol(list.fades[0].from, -13.0, 1e-9);
}

TEST(values_and_ends_and_edits_take_a_fade_out)
{
  send_gain(-20.0, 0, 1000, 500);
  send_gain(-3.0, 0, 0, 600);
  ck_assert_uint_eq(list.n, 0U);
  send_gain(-20.0, 0, 1000, 700);
  fade_list_follow(&list, rack, RATE);
  ck_assert_uint_eq(list.n, 1U);
  rack_set_value(rack, rack->nodes[0].uid, 0U, 0U, -1.0);
  fade_list_follow(&list, rack, RATE);
  ck_assert_uint_eq(list.n, 0U);
  send_gain(-20.0, 0, 1000, 2000);
  fade_list_note(&list, rack, RATE, NULL, 0U, 2999);
  ck_assert_uint_eq(list.n, 1U);
  fade_list_note(&list, rack, RATE, NULL, 0U, 3000);
  ck_assert_uint_eq(list.n, 0U);
}

TEST(what_does_not_fade_is_not_kept)
{
  send_gain(-6.0, 0, 1000, 0); // the value that it has
  const ParamMessage others[] = {
    { .uid = rack->nodes[1].uid, .param = 1U, .value = 2.0, .fade_frames = 1000 },
    { .uid = 999U, .value = 2.0, .fade_frames = 1000 },
    { .uid = rack->nodes[0].uid, .param = 77U, .value = 2.0, .fade_frames = 1000 },
  };
  fade_list_note(&list, rack, RATE, others, ARRAY_LEN(others), 0);
  ck_assert_uint_eq(list.n, 0U);
}

TEST(a_full_list_forgets_nothing)
{
  static char text[200000];
  size_t length = 0;
  for (uint32_t n = 0; n < 600U; ++n) {
    length += (size_t)sprintf(text + length, "add c%u compressor\n", n);
  }
  rack_free(rack);
  rack = rack_of(text, NULL);
  for (uint32_t f = 0; f < 7U * rack->n_nodes; ++f) {
    const ParamMessage message = {
      .uid = rack->nodes[f / 7U].uid, .param = f % 7U, .value = 1.5, .fade_frames = 9
    };
    fade_list_note(&list, rack, RATE, &message, 1U, 0);
  }
  ck_assert_uint_eq(list.n, FADE_MAX);
  ck_assert_uint_eq(list.fades[FADE_MAX - 1U].uid, rack->nodes[(FADE_MAX - 1U) / 7U].uid);
}

SUITE_MAIN_WITH("fade_list", start, stop)
