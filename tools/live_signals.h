// SPDX-License-Identifier: GPL-3.0-or-later
/// The signals of a live run: SIGHUP, SIGINT and SIGTERM.  Only its main loop receives them.
#ifndef WARPRACK_TOOLS_LIVE_SIGNALS_H
#define WARPRACK_TOOLS_LIVE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/// The signals, for sigtimedwait(). [any]
sigset_t live_signals(void);

/// Block them in the calling thread, and in all threads that it starts. [main]
void live_signals_block(void);

/// True if SIGINT or SIGTERM waits for the main loop. [main]
bool live_has_end_signal(void);

#endif
