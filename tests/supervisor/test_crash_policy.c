// SPDX-License-Identifier: GPL-3.0-or-later
// The policy finds the cause of a lost worker, and the wait before the next start.  The second
// crash in a row blames the rack or the edit.  A rack that has played for ten seconds is not
// blamed, and a kill from outside blames nothing.  Waits double from one second to sixty; playing
// resets them.

#include "engine/supervisor/crash_policy.h"
#include "tests/support/suite.h"

#define S UINT64_C(1000000000)

static const Loss crash = { .had_rack = true };
static const Loss crash_after_sound = { .had_rack = true, .was_healthy = true };
static const Loss crash_in_edit = { .had_rack = true, .had_edit = true };
static const Loss kill_from_outside = { .had_rack = true, .from_outside = true };
static const Loss kill_in_edit = { .had_rack = true, .had_edit = true, .from_outside = true };
static const Loss crash_at_start = { .had_rack = false };

TEST(the_second_crash_of_a_rack_in_a_row_blames_the_rack)
{
  CrashPolicy policy = { 0 };
  EditLosses none = { 0 };
  crash_policy_new_rack(&policy, 0, 100U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 101U * S), VERDICT_NONE);
  crash_policy_began_to_play(&policy, 102U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 103U * S), VERDICT_RACK);
  // The rack that replaces it starts with no crash counted.
  crash_policy_began_to_play(&policy, 104U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 105U * S), VERDICT_NONE);
  ck_assert_uint_eq(none.n_losses, 0);
}

TEST(a_crash_before_the_rack_plays_again_counts)
{
  CrashPolicy policy = { 0 };
  EditLosses none = { 0 };
  crash_policy_new_rack(&policy, 0, 100U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 101U * S), VERDICT_NONE);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 900U * S), VERDICT_RACK);
}

TEST(a_rack_that_played_for_ten_seconds_is_not_blamed)
{
  CrashPolicy policy = { 0 };
  EditLosses none = { 0 };
  crash_policy_new_rack(&policy, 0, 100U * S);
  for (uint64_t t = 200U * S; t < 210U * S; t += S) { // each crash is ten seconds after the start
    ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, t), VERDICT_NONE);
    crash_policy_began_to_play(&policy, t - CRASH_POLICY_TRIAL_NS);
  }
  crash_policy_began_to_play(&policy, 300U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 301U * S), VERDICT_NONE);
  crash_policy_began_to_play(&policy,
                             302U * S); // plays for ten seconds, which resets the last crash
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 302U * S + CRASH_POLICY_TRIAL_NS),
                   VERDICT_NONE);
  crash_policy_began_to_play(&policy, 320U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &none, 321U * S), VERDICT_NONE);
}

TEST(an_edit_on_its_way_is_blamed_before_the_rack)
{
  CrashPolicy policy = { 0 };
  EditLosses losses = { 0 };
  crash_policy_new_rack(&policy, 0, 100U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash_in_edit, &losses, 101U * S), VERDICT_NONE);
  ck_assert_uint_eq(losses.n_crashes, 1);
  crash_policy_began_to_play(&policy, 102U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash_in_edit, &losses, 103U * S), VERDICT_EDIT);
  crash_policy_began_to_play(&policy, 104U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &losses, 105U * S), VERDICT_NONE);
  ck_assert_uint_eq(losses.n_crashes, 2);
}

TEST(the_crashes_of_an_edit_count_for_its_rack)
{
  CrashPolicy policy = { 0 };
  EditLosses losses = { 0 };
  ck_assert_int_eq(crash_policy_loss(&policy, &crash_in_edit, &losses, 101U * S), VERDICT_NONE);
  crash_policy_new_rack(&policy, losses.n_crashes, 102U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash, &losses, 103U * S), VERDICT_RACK);
}

TEST(a_kill_from_outside_and_a_failed_start_blame_nothing)
{
  CrashPolicy policy = { 0 };
  EditLosses losses = { 0 };
  crash_policy_new_rack(&policy, 0, 100U * S);
  for (uint32_t i = 0; i < 100U; ++i) {
    ck_assert_int_eq(crash_policy_loss(&policy, &kill_from_outside, &losses, 101U * S),
                     VERDICT_NONE);
    ck_assert_int_eq(crash_policy_loss(&policy, &crash_at_start, &losses, 101U * S), VERDICT_NONE);
    crash_policy_began_to_play(&policy, 101U * S);
  }
  ck_assert_uint_eq(losses.n_crashes, 0);
}

TEST(the_third_loss_with_an_edit_blames_the_edit_for_any_signal)
{
  CrashPolicy policy = { 0 };
  EditLosses losses = { 0 };
  crash_policy_new_rack(&policy, 0, 100U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &kill_in_edit, &losses, 101U * S), VERDICT_NONE);
  crash_policy_began_to_play(&policy, 102U * S);
  ck_assert_int_eq(crash_policy_loss(&policy, &kill_in_edit, &losses, 500U * S), VERDICT_NONE);
  ck_assert_int_eq(crash_policy_loss(&policy, &kill_from_outside, NULL, 501U * S), VERDICT_NONE);
  ck_assert_int_eq(crash_policy_loss(&policy, &kill_in_edit, &losses, 502U * S), VERDICT_EDIT);
  ck_assert_uint_eq(losses.n_losses, 3);
  ck_assert_uint_eq(losses.n_crashes, 0);
  losses = (EditLosses){ 0 }; // the next edit
  ck_assert_int_eq(crash_policy_loss(&policy, &kill_in_edit, &losses, 503U * S), VERDICT_NONE);
  ck_assert_int_eq(crash_policy_loss(&policy, &crash_in_edit, &losses, 504U * S), VERDICT_NONE);
  ck_assert_int_eq(crash_policy_loss(&policy, &kill_in_edit, &losses, 505U * S), VERDICT_EDIT);
}

TEST(rests_double_from_one_second_to_sixty)
{
  const uint64_t rests_s[] = { 0, 1, 2, 4, 8, 16, 32, 60, 60, 60 };
  CrashPolicy policy = { 0 };
  for (uint32_t round = 0; round < 2U; ++round) { // each begins with a worker that has played
    for (uint32_t i = 0; i < sizeof(rests_s) / sizeof(rests_s[0]); ++i) {
      ck_assert_uint_eq(crash_policy_rest(&policy, i ? &crash : &crash_after_sound, false),
                        rests_s[i] * S);
    }
  }
}

TEST(a_thousand_failures_take_a_long_time)
{
  CrashPolicy policy = { 0 };
  uint64_t sum_ns = 0;
  for (uint32_t i = 0; i < 1000U; ++i) {
    sum_ns += crash_policy_rest(&policy, &crash, false);
  }
  ck_assert_uint_gt(sum_ns, 990U * 60U * S);
}

TEST(once_the_cause_is_removed_the_worker_starts_at_once)
{
  CrashPolicy policy = { 0 };
  for (uint32_t i = 0; i < 5U; ++i) {
    (void)crash_policy_rest(&policy, &crash, false);
  }
  ck_assert_uint_eq(crash_policy_rest(&policy, &crash, true), 0);
  ck_assert_uint_eq(crash_policy_rest(&policy, &crash, false), S);
}

TEST(after_kills_from_outside_rests_are_short)
{
  const uint64_t rests_s[] = { 0, 1, 1, 1, 1 };
  CrashPolicy policy = { 0 };
  for (uint32_t i = 0; i < sizeof(rests_s) / sizeof(rests_s[0]); ++i) {
    ck_assert_uint_eq(crash_policy_rest(&policy, &kill_from_outside, false), rests_s[i] * S);
  }
}

TEST(the_second_loss_by_a_node_blames_it_unless_it_has_stood)
{
  uint32_t n_crashes = 0;
  ck_assert(!crash_policy_node_loss(&n_crashes, false));
  ck_assert(crash_policy_node_loss(&n_crashes, false));
  ck_assert(!crash_policy_node_loss(&n_crashes, false)); // it plays again later: counted anew
  ck_assert(!crash_policy_node_loss(&n_crashes, true));
  ck_assert(crash_policy_node_loss(&n_crashes, false));
  ck_assert(!crash_policy_node_loss(&n_crashes, true));
}

TEST(a_rack_stands_after_ten_seconds_of_one_worker)
{
  CrashPolicy policy = { 0 };
  ck_assert(!crash_policy_has_stood(&policy, 900U * S));
  crash_policy_began_to_play(&policy, 100U * S);
  ck_assert(!crash_policy_has_stood(&policy, 100U * S + CRASH_POLICY_TRIAL_NS - 1U));
  ck_assert(crash_policy_has_stood(&policy, 100U * S + CRASH_POLICY_TRIAL_NS));
  crash_policy_stopped_to_play(&policy);
  ck_assert(!crash_policy_has_stood(&policy, 900U * S));
}

SUITE_MAIN("crash_policy")
