// SPDX-License-Identifier: GPL-3.0-or-later
// Saves and restores the state of thread and process that a plugin may change.

#include "process_state.h"

#include "engine/base/rt.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define N_SIGNALS    32 // standard signals, from 1
#define LOCALE_BYTES 512U

/// The state of the process before the first of the calls in flight: a call that begins later must
/// not save what another one has changed.
static struct {
  pthread_mutex_t lock; ///< Of all, and of the host's calls of setlocale()
  uint32_t n_calls;     ///< In flight
  char locale[LOCALE_BYTES];
  struct sigaction actions[N_SIGNALS]; ///< By signal
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
save_process(void)
{
  snprintf(process.locale, sizeof(process.locale), "%s", setlocale(LC_ALL, NULL));
  for (int s = 1; s < N_SIGNALS; ++s) {
    sigaction(s, NULL, &process.actions[s]);
  }
}

void
process_state_save(ProcessState* const state)
{
  *state = (ProcessState){ .float_mode = rt_float_mode(), .thread_locale = uselocale((locale_t)0) };
  pthread_mutex_lock(&process.lock);
  if (!process.n_calls++) {
    save_process();
  }
  pthread_mutex_unlock(&process.lock);
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

static void
restore_process(void)
{
  if (strcmp(setlocale(LC_ALL, NULL), process.locale) != 0) {
    setlocale(LC_ALL, process.locale);
  }
  for (int s = 1; s < N_SIGNALS; ++s) {
    restore_action(s, &process.actions[s]);
  }
}

void
process_state_restore(const ProcessState* const state)
{
  rt_keep_float_mode(state->float_mode);
  if (uselocale((locale_t)0) != state->thread_locale) {
    uselocale(state->thread_locale);
  }
  pthread_mutex_lock(&process.lock);
  restore_process();
  --process.n_calls;
  pthread_mutex_unlock(&process.lock);
}
