// SPDX-License-Identifier: GPL-3.0-or-later
// Of each parameter the latest value is sent, all together, when the engine has room; without room
// for more parameters, those that wait are sent before.

#include "control/pending.h"
#include "tests/support/fake_engine.h"
#include "tests/support/suite.h"

static Pending pending;
static Engine* engine;

static void
start(void)
{
  pending = (Pending){ .n = 0 };
  engine = fake_engine_new();
}

static void
stop(void)
{
  fake_engine_free(engine);
}

static Status
add(const uint32_t uid, const uint32_t param, const double value)
{
  const ParamMessage message = { .uid = uid, .param = param, .value = value };
  return pending_add(&pending, engine, &message, 1);
}

TEST(the_latest_value_of_each_parameter_is_sent)
{
  start();
  for (uint32_t round = 0; round < 3U; ++round) {
    for (uint32_t n = 0; n < 8U; ++n) {
      ck_assert_int_eq(add(n / 4U, n % 4U, 10.0 * round + n), STATUS_OK);
    }
  }
  ck_assert_uint_eq(pending.merged, 16);
  pending_send_if_room(&pending, engine);
  ck_assert_uint_eq(pending.n, 0);
  ck_assert_uint_eq(fake_engine_n_sets(engine), 1);
  const FakeSet set = fake_engine_set(engine, 0);
  ck_assert_uint_eq(set.n, 8);
  for (uint32_t n = 0; n < 8U; ++n) {
    ck_assert_uint_eq(set.messages[n].uid, n / 4U);
    ck_assert_uint_eq(set.messages[n].param, n % 4U);
    ck_assert_double_eq(set.messages[n].value, 20.0 + n);
  }
  pending_send_if_room(&pending, engine); // nothing waits
  ck_assert_uint_eq(fake_engine_n_sets(engine), 1);
  ck_assert_int_eq(add(0, 0, 1.0), STATUS_OK); // not merged with what was sent
  ck_assert_uint_eq(pending.merged, 16);
  stop();
}

TEST(values_stay_while_the_engine_is_full)
{
  start();
  fake_engine_be_full(engine, true);
  ck_assert_int_eq(add(1, 1, 1.0), STATUS_OK);
  pending_send_if_room(&pending, engine);
  ck_assert_int_eq(pending_send(&pending, engine), STATUS_LIMIT);
  ck_assert_uint_eq(pending.n, 1);
  ck_assert_int_eq(add(1, 1, 2.0), STATUS_OK);
  ck_assert_int_eq(add(1, 2, 3.0), STATUS_OK);
  // Set by the worker; the second one does not wait.
  for (uint32_t param = 2; param <= 3U; ++param) {
    pending_follow(&pending, &(ParamMessage){ .uid = 1, .param = param, .value = 4.0 });
  }
  fake_engine_be_full(engine, false);
  pending_send_if_room(&pending, engine);
  ck_assert_uint_eq(fake_engine_set(engine, 0).n, 2);
  ck_assert_double_eq(fake_engine_set(engine, 0).messages[0].value, 2.0);
  ck_assert_double_eq(fake_engine_set(engine, 0).messages[1].value, 4.0);
  stop();
}

TEST(more_parameters_than_fit_are_sent_or_refused)
{
  static ParamMessage many[PENDING_MAX + 1U];
  start();
  for (uint32_t n = 0; n < PENDING_MAX; ++n) {
    ck_assert_int_eq(add(n, n % 3U, n), STATUS_OK);
  }
  ck_assert_uint_eq(fake_engine_n_sets(engine), 0);
  ck_assert_int_eq(add(7, 1, 1.0), STATUS_OK); // merged: number 7 is 7, 7 % 3
  ck_assert_uint_eq(pending.merged, 1);
  fake_engine_be_full(engine, true);
  ck_assert_int_eq(add(PENDING_MAX, 0, 1.0), STATUS_LIMIT);
  ck_assert_uint_eq(pending.n, PENDING_MAX);
  fake_engine_be_full(engine, false);
  ck_assert_int_eq(add(PENDING_MAX, 0, 1.0), STATUS_OK);
  ck_assert_uint_eq(fake_engine_set(engine, 0).n, PENDING_MAX);
  ck_assert_uint_eq(pending.n, 1);
  for (uint32_t n = 0; n < ARRAY_LEN(many); ++n) {
    many[n] = (ParamMessage){ .uid = n };
  }
  ck_assert_int_eq(pending_add(&pending, engine, many, ARRAY_LEN(many)), STATUS_OK);
  ck_assert_uint_eq(fake_engine_set(engine, 1).n, 1);
  ck_assert_uint_eq(fake_engine_set(engine, 2).n, PENDING_MAX + 1U);
  ck_assert_uint_eq(pending.n, 0);
  stop();
}

SUITE_MAIN("pending")
