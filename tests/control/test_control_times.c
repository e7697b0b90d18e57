// SPDX-License-Identifier: GPL-3.0-or-later
// Bundles with time tags: values and edits wait for their time, and the engine gets them ahead of
// it.

#include "control/net/clock.h"
#include "tests/support/control_rig.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

#define SOON_S 5.0 // longer than a virtual machine stalls between sending and receiving

/// The frame that belongs to a time tag by the fake engine's clock.
static double
frame_of(const lo_timetag tag)
{
  const Instant now = instant_now();
  const uint64_t ns = instant_of_tag(&now, (uint64_t)tag.sec << 32U | tag.frac);
  return (double)engine_frame_at(rig.engine, ns);
}

TEST(values_with_a_time_are_sent_ahead_and_enter_the_document_in_time)
{
  const lo_timetag tag = tag_in(SOON_S);
  const double frame = frame_of(tag);
  const lo_bundle bundle = lo_bundle_new(tag);
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_send(rig.client, "/node/vol/gain", "");
  client_expect(rig.client, "/node/vol/gain -6"); // not due yet
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1); // sent ahead, and not again when due
  const FakeSet set = fake_engine_set(rig.engine, 0);
  // frame_of() has read the clocks at another moment than the server; the tolerance of 1 ms is for
  // that.
  ck_assert_double_le(fabs((double)set.frame - frame), 48.0);
  client_ask(rig.client, "/node/vol/gain -5", "/node/vol/gain", "");
}

TEST(edits_with_a_time_are_given_to_the_engine_with_their_frame)
{
  const lo_timetag tag = tag_in(SOON_S);
  const double frame = frame_of(tag);
  const lo_bundle bundle = lo_bundle_new(tag);
  bundle_add(bundle, "/rack/add", "ss", "a", "gain");
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect_nothing(rig.client);
  client_expect(rig.client, "/done /rack/add*");
  client_expect(rig.client, "/done /node/vol/gain*");
  uint64_t at_frame = 0;
  free(fake_engine_newest(rig.engine, &at_frame));
  ck_assert_double_le(fabs((double)at_frame - frame), 48.0);
}

TEST(bundles_are_done_in_the_order_of_their_times)
{
  const double delays[] = { SOON_S + 0.2, SOON_S, SOON_S + 0.1 };
  const lo_timetag tags[] = { tag_in(delays[0]), tag_in(delays[1]), tag_in(delays[2]) };
  for (uint32_t i = 0; i < 3; ++i) {
    const lo_bundle bundle = lo_bundle_new(tags[i]);
    bundle_add(bundle, "/node/vol/gain", "f", -10.0 * delays[i]);
    client_send_bundle(rig.client, bundle);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    client_expect(rig.client, "/done /node/vol/gain");
  }
  ck_assert_double_eq_tol(fake_engine_set(rig.engine, 0).messages[0].value, -10.0 * SOON_S, 1e-6);
  ck_assert_double_eq_tol(fake_engine_set(rig.engine, 2).messages[0].value, -10.0 * (SOON_S + 0.2),
                          1e-6);
}

TEST(a_nested_bundle_is_an_edit_of_its_own_at_its_own_time)
{
  const lo_bundle outer = lo_bundle_new(LO_TT_IMMEDIATE);
  const lo_bundle inner = lo_bundle_new(tag_in(SOON_S));
  bundle_add(inner, "/rack/add", "ss", "b", "gain");
  lo_bundle_add_bundle(outer, inner);
  bundle_add(outer, "/rack/add", "ss", "a", "gain");
  client_send_bundle(rig.client, outer);
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect(rig.client, "/done /rack/add 2 640");
  control_rig_expect_rack("add a gain\nadd b gain\n");
}

TEST(a_time_that_is_past_means_at_once_and_one_far_ahead_is_refused)
{
  lo_bundle bundle = lo_bundle_new(tag_in(-5.0));
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).frame, 0);
  ck_assert_double_eq(control_rig_status("osc_late"), 1.0);
  bundle = lo_bundle_new(tag_in(30.0));
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail  1 packet refused: a time tag more than 10 s ahead");
}

/// Libraries send the time tag 0 for a bundle without a time.
TEST(a_time_tag_of_zero_means_at_once_or_the_time_of_the_outer_bundle)
{
  const lo_timetag zero = { 0, 0 };
  lo_bundle bundle = lo_bundle_new(zero);
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).frame, 0);
  ck_assert_double_eq(control_rig_status("osc_late"), 0.0);
  bundle = lo_bundle_new(tag_in(SOON_S));
  const lo_bundle inner = lo_bundle_new(zero);
  bundle_add(inner, "/node/vol/gain", "f", -6.0);
  lo_bundle_add_bundle(bundle, inner);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_gt(fake_engine_set(rig.engine, 1).frame, 0);
}

TEST(only_so_many_bundles_wait_for_their_time)
{
  for (uint32_t i = 0; i < 1030U; ++i) {
    const lo_bundle bundle = lo_bundle_new(tag_in(9.0));
    bundle_add(bundle, "/node/vol/gain", "f", -5.0);
    client_send_bundle(rig.other, bundle);
    if (i % 64U == 63U) {
      client_send(rig.other, "/server/ping", ""); // lets the server empty the socket's buffer
      client_expect(rig.other, "/done /server/ping");
    }
  }
  for (uint32_t i = 1024U; i < 1030U; ++i) {
    client_expect(rig.other, "/fail /node/vol/gain 5 1024 bundles already wait*");
  }
  ck_assert_double_eq(control_rig_status("osc_unscheduled"), 6.0);
}

TEST(a_node_that_has_gone_by_the_time_is_reported)
{
  const lo_bundle bundle = lo_bundle_new(tag_in(SOON_S));
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_ask(rig.client, "/done /rack/remove*", "/rack/remove", "s", "vol");
  client_expect(rig.client, "/fail /node/vol/gain 3 no node*");
}

TEST(time_tags_do_not_follow_a_wall_clock_that_jumps)
{
  // A time tag is converted to the monotonic clock once, on arrival, so a later jump has no effect.
  const Instant arrival = { UINT64_C(3900000000) << 32U, 5000000000U };
  ck_assert_uint_eq(instant_of_tag(&arrival, TAG_IMMEDIATELY), 0);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp), 5000000000U);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp + TAG_SECOND / 2U), 5500000000U);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp - 3U * TAG_SECOND), 2000000000U);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp - 9U * TAG_SECOND), 1U);
}

TEST(both_clocks_run_on_from_an_instant)
{
  const Instant instant = { (UINT64_C(3900000000) << 32U) + TAG_SECOND / 2U, 5000000000U };
  const Instant after = instant_after(&instant, 5000000000U + 1750000000U);
  ck_assert_uint_eq(after.monotonic_ns, 6750000000U);
  ck_assert_uint_eq(after.ntp, (UINT64_C(3900000002) << 32U) + TAG_SECOND / 4U);
  ck_assert_uint_eq(instant_of_tag(&after, instant.ntp + 3U * TAG_SECOND), 8000000000U);
}

SUITE_MAIN_WITH("control_times", control_rig_start, control_rig_stop)
