// SPDX-License-Identifier: GPL-3.0-or-later
// Saves and restores the state of thread and process that a plugin may change.

#include "process_state.h"

#include "engine/base/rt.h"

#include <stdio.h>
#include <string.h>

void
process_state_save(ProcessState* const state)
{
  *state = (ProcessState){ .float_mode = rt_float_mode(), .thread_locale = uselocale((locale_t)0) };
  snprintf(state->locale, sizeof(state->locale), "%s", setlocale(LC_ALL, NULL));
  for (int s = 1; s < PROCESS_STATE_SIGNALS; ++s) {
    sigaction(s, NULL, &state->actions[s]);
  }
}

static void
restore_locale(const ProcessState* const state)
{
  if (uselocale((locale_t)0) != state->thread_locale) {
    uselocale(state->thread_locale);
  }
  if (strcmp(setlocale(LC_ALL, NULL), state->locale) != 0) {
    setlocale(LC_ALL, state->locale);
  }
}

static void
restore_action(const int number, const struct sigaction* const before)
{
  struct sigaction now = { 0 };
  sigaction(number, NULL, &now);
  if (now.sa_sigaction != before->sa_sigaction || now.sa_flags != before->sa_flags) {
    sigaction(number, before, NULL);
  }
}

void
process_state_restore(const ProcessState* const state)
{
  rt_keep_float_mode(state->float_mode);
  restore_locale(state);
  for (int s = 1; s < PROCESS_STATE_SIGNALS; ++s) {
    restore_action(s, &state->actions[s]);
  }
}
