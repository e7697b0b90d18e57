// SPDX-License-Identifier: GPL-3.0-or-later
// The conditions in which a JACK client counts as left out, or its server as stopped.

#include "io/quirks/jack_watch.h"
#include "tests/support/suite.h"

#define MS       1000000ULL
#define CHECK_MS 50U
#define N_FRAMES 64U
#define RATE_HZ  48000.0

static JackWatch watch;
static uint64_t now_ns;
static uint64_t periods;
static uint32_t server_time;

static void
begin(void)
{
  now_ns = 1000U * MS;
  periods = 0;
  server_time = UINT32_MAX - 1000U; // the time wraps to 0
  watch = (JackWatch){ 0 };
  jack_watch_begin(&watch, server_time, now_ns);
}

static JackVerdict
check_at(const uint32_t period_frames, const double rate_hz)
{
  now_ns += CHECK_MS * MS;
  return jack_watch_check(&watch, periods, server_time, period_frames, rate_hz, now_ns);
}

static JackVerdict
check(void)
{
  return check_at(N_FRAMES, RATE_HZ);
}

/// Check until this verdict, at most `limit` times.  Returns the number of checks.
static unsigned
check_until(const JackVerdict verdict, const unsigned limit)
{
  unsigned n = 1;
  while (n < limit && check() != verdict) {
    ++n;
  }
  return n;
}

/// Check n_checks times while periods arrive.
static void
play(const unsigned n_checks)
{
  for (unsigned n = 0; n < n_checks; ++n) {
    periods += 37U;
    server_time += 37U * N_FRAMES;
    ck_assert_int_eq(check(), JACK_PLAYS);
  }
}

TEST(with_periods_there_is_no_verdict)
{
  begin();
  play(10000);
}

/// Report a probe that gets no period either.
static void
probe_in_vain(void)
{
  jack_watch_probed(&watch);
  jack_watch_doubted(&watch);
}

TEST(a_server_that_stands_is_probed_after_2_s_and_then_less_often)
{
  begin();
  play(200);
  ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 2000U / CHECK_MS);
  ck_assert_int_eq(check(), JACK_STANDS); // until the probe has ended
  probe_in_vain();
  ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 4000U / CHECK_MS);
  for (unsigned n = 0; n < 10U; ++n) {
    probe_in_vain();
    check_until(JACK_STANDS, 10000);
  }
  probe_in_vain();
  ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 16000U / CHECK_MS);
  ck_assert_uint_eq(watch.n_probes, 12);
}

TEST(a_server_that_has_played_for_a_while_is_probed_soon_again)
{
  begin();
  check_until(JACK_STANDS, 10000);
  probe_in_vain();
  play(10);
  ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 4000U / CHECK_MS);
  probe_in_vain();
  play(100);
  ck_assert_uint_eq(watch.n_probes, 0);
  ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 2000U / CHECK_MS);
}

/// As PipeWire's daemon does.
TEST(a_server_that_restarts_often_is_probed_soon_each_time)
{
  begin();
  for (unsigned n = 0; n < 5U; ++n) {
    play(1);
    ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 2000U / CHECK_MS);
    jack_watch_probed(&watch);
    jack_watch_replaced(&watch);
    periods = 0;
    jack_watch_begin(&watch, server_time, now_ns);
  }
  for (unsigned n = 0; n < 2U; ++n) { // and sessions without a period less and less often
    ck_assert_uint_eq(check_until(JACK_STANDS, 10000), (2000U << n) / CHECK_MS);
    jack_watch_probed(&watch);
    jack_watch_replaced(&watch);
    jack_watch_begin(&watch, server_time, now_ns);
  }
}

TEST(a_new_session_keeps_what_the_last_one_learnt)
{
  begin();
  check_until(JACK_STANDS, 10000);
  probe_in_vain();
  jack_watch_begin(&watch, server_time, now_ns);
  ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 4000U / CHECK_MS);
}

TEST(a_server_that_was_gone_is_probed_soon_again)
{
  begin();
  for (unsigned n = 0; n < 5U; ++n) {
    ck_assert_uint_eq(check_until(JACK_STANDS, 10000), 2000U / CHECK_MS);
    jack_watch_probed(&watch);
    jack_watch_begin(&watch, server_time, now_ns);
  }
}

TEST(a_long_period_is_no_standstill)
{
  begin();
  for (unsigned n = 0; n < 1000U; ++n) { // 8192 frames at 2500 Hz: 3.3 s
    ck_assert_int_eq(check_at(8192, 2500.0), JACK_PLAYS);
    if (n % 66U == 65U) {
      ++periods;
      server_time += 8192U;
    }
  }
}

TEST(a_suspended_program_does_not_suspect_the_server)
{
  begin();
  play(10);
  for (unsigned n = 0; n < 10U; ++n) {
    now_ns += 3600000U * MS; // stopped, or the machine suspended
    ck_assert_int_eq(check(), JACK_PLAYS);
    ck_assert_int_eq(check(), JACK_PLAYS);
    play(1);
  }
}

TEST(calls_within_50_ms_do_not_count)
{
  begin();
  for (unsigned n = 0; n < 1000U; ++n) {
    now_ns += MS;
    ck_assert_int_eq(jack_watch_check(&watch, 0, server_time, N_FRAMES, RATE_HZ, now_ns),
                     JACK_PLAYS);
  }
}

static unsigned
check_until_left_out(void)
{
  unsigned n = 0;
  JackVerdict verdict = JACK_PLAYS;
  while (verdict != JACK_LEFT_OUT && n < 10000U) {
    server_time += 37U * N_FRAMES;
    verdict = check();
    ck_assert_int_ne(verdict, JACK_STANDS); // the server has not stopped
    ++n;
  }
  return n;
}

TEST(a_server_that_runs_without_this_client_has_left_it_out)
{
  begin();
  play(10);
  ck_assert_uint_eq(check_until_left_out(), 250U / CHECK_MS);
}

TEST(a_client_left_out_again_waits_longer)
{
  begin();
  unsigned expected = 5;
  for (unsigned n = 0; n < 5U; ++n) {
    ck_assert_uint_eq(check_until_left_out(), expected);
    jack_watch_lost(&watch, now_ns);
    jack_watch_begin(&watch, server_time, now_ns);
    expected *= 4U;
  }
  ck_assert_uint_eq(check_until_left_out(), 64000U / CHECK_MS);
  jack_watch_lost(&watch, now_ns);
  jack_watch_begin(&watch, server_time, now_ns);
  play(120000U / CHECK_MS);
  ck_assert_uint_eq(check_until_left_out(), 250U / CHECK_MS);
}

TEST(the_time_of_the_last_period_stands_with_the_server)
{
  begin();
  play(3);
  const uint64_t last_ns = now_ns;
  for (unsigned n = 0; n < 30U; ++n) {
    check();
    ck_assert_uint_eq(watch.played_ns, last_ns);
  }
  play(1);
  ck_assert_uint_eq(watch.played_ns, now_ns);
}

// Otherwise a connection that ends meanwhile is never removed, and its client waits forever.
TEST(time_goes_on_with_a_server_that_leaves_us_out)
{
  begin();
  play(3);
  for (unsigned n = 0; n < 30U; ++n) {
    server_time += 37U * N_FRAMES;
    check();
    ck_assert_uint_eq(watch.played_ns, now_ns);
  }
}

SUITE_MAIN("jack_watch")
