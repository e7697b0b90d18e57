// SPDX-License-Identifier: GPL-3.0-or-later
// The signals of a live run.

#include "live_signals.h"

sigset_t
live_signals(void)
{
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void
live_signals_block(void)
{
  const sigset_t signals = live_signals();
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

bool
live_has_end_signal(void)
{
  sigset_t pending;
  return !sigpending(&pending) &&
         (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}
