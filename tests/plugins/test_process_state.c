// SPDX-License-Identifier: GPL-3.0-or-later
// What a plugin changes in its thread and its process is put back.

#include "plugins/process_state.h"

#include "engine/base/rt.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <string.h>

static void
on_signal(const int number)
{
  (void)number;
}

TEST(float_mode_locales_and_handlers_are_put_back)
{
  const struct sigaction mine = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
  sigaction(SIGTERM, &mine, NULL);
  const locale_t other = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
  ck_assert_ptr_nonnull(other);
  const uint64_t float_mode = rt_float_mode();
  ProcessState state;
  process_state_save(&state);

  rt_flush_denormals();
  ck_assert_ptr_nonnull(setlocale(LC_ALL, "C.UTF-8"));
  uselocale(other);
  signal(SIGTERM, SIG_IGN);
  signal(SIGSEGV, on_signal);
  process_state_restore(&state);

  ck_assert_uint_eq(rt_float_mode(), float_mode);
  ck_assert_str_eq(setlocale(LC_ALL, NULL), "C");
  ck_assert(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
  struct sigaction now;
  sigaction(SIGTERM, NULL, &now);
  ck_assert(now.sa_handler == on_signal && now.sa_flags & SA_RESTART);
  sigaction(SIGSEGV, NULL, &now);
  ck_assert(now.sa_handler != on_signal);
  freelocale(other);
}

TEST(flags_of_a_handler_are_put_back)
{
  const struct sigaction mine = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
  const struct sigaction changed = { .sa_handler = on_signal };
  sigaction(SIGUSR1, &mine, NULL);
  ProcessState state;
  process_state_save(&state);
  sigaction(SIGUSR1, &changed, NULL);
  process_state_restore(&state);
  struct sigaction now;
  sigaction(SIGUSR1, NULL, &now);
  ck_assert(now.sa_flags & SA_RESTART);
}

/// What a signal does now.
static struct sigaction
action_of(const int number)
{
  struct sigaction now;
  sigaction(number, NULL, &now);
  return now;
}

TEST(a_call_that_begins_within_another_one_does_not_save_what_that_one_changed)
{
  ProcessState first;
  ProcessState second;
  process_state_save(&first);
  ck_assert_ptr_nonnull(setlocale(LC_ALL, "C.UTF-8"));
  signal(SIGUSR1, on_signal);
  process_state_save(&second);
  process_state_restore(&first); // the first one ends first, as on two threads
  ck_assert(action_of(SIGUSR1).sa_handler == SIG_DFL);
  ck_assert_str_eq(setlocale(LC_ALL, NULL), "C");
  process_state_restore(&second);
  ck_assert(action_of(SIGUSR1).sa_handler == SIG_DFL);
  ck_assert_str_eq(setlocale(LC_ALL, NULL), "C");
}

TEST(a_handler_that_the_program_installs_between_calls_is_kept)
{
  ProcessState state;
  process_state_save(&state);
  process_state_restore(&state);
  signal(SIGUSR1, on_signal);
  process_state_save(&state);
  signal(SIGUSR1, SIG_IGN);
  process_state_restore(&state);
  ck_assert(action_of(SIGUSR1).sa_handler == on_signal);
}

SUITE_MAIN("process_state")
