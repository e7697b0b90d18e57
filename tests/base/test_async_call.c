// SPDX-License-Identifier: GPL-3.0-or-later
// A call in a thread of its own that may hang for ever.

#include "engine/base/async_call.h"
#include "tests/support/suite.h"

#include <stdatomic.h>
#include <unistd.h>

static atomic_bool release_call;
static atomic_int calls, discards;

static void
hang(void* const context)
{
  (void)context;
  while (!release_call) {
    usleep(1000);
  }
  ++calls;
}

static void
count_discard(void* const context)
{
  ck_assert_ptr_eq(context, &calls);
  ++discards;
}

TEST(an_async_call_is_awaited_or_abandoned)
{
  AsyncCall* call = NULL;
  ck_assert_int_eq(async_call_start("hang", hang, &calls, &call, NULL), STATUS_OK);
  ck_assert(!async_call_wait(call, 20));
  async_call_abandon(call, count_discard);
  ck_assert_int_eq(discards, 0);
  release_call = true;
  AWAIT(discards > 0);
  ck_assert_int_eq(discards, 1);
  ck_assert_int_eq(async_call_start("hang", hang, &calls, &call, NULL), STATUS_OK);
  usleep(50000);
  async_call_abandon(call, count_discard); // it has returned by now, unless the machine stalls
  AWAIT(discards > 1);
  ck_assert_int_eq(discards, 2);
  ck_assert_int_eq(async_call_start("hang", hang, &calls, &call, NULL), STATUS_OK);
  ck_assert(async_call_wait(call, 10000));
  ck_assert_int_eq(calls, 3);
}

int
main(void)
{
  return suite_run("async_call");
}
