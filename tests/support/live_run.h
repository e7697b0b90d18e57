// SPDX-License-Identifier: GPL-3.0-or-later
/// A `warprack run` on the dummy driver and who controls it: one at a time in a test.
#ifndef WARPRACK_TESTS_LIVE_RUN_H
#define WARPRACK_TESTS_LIVE_RUN_H

#include "program.h"

/// The run, and its OSC port as text.
extern Program live_run;
extern char live_port[8];

/// Start it with --json and further words up to NULL, and wait until it has a port.
void live_start(const char* const* words);

/// live_start() with words: LIVE_START("gain -6dB").
#define LIVE_START(...) live_start((const char* const[]){ __VA_ARGS__, NULL })

/// End it by a signal: by SIGTERM in order.
void live_end(int number);

/// It has said `part`.
void live_assert_said(const char* part);

/// Send words by `warprack send`; what was answered, until the next call.  Fails the test when that
/// was a refusal.
const char* live_ask(const char* const* words);

#define LIVE_ASK(...) live_ask((const char* const[]){ __VA_ARGS__, NULL })

/// The rack that plays has `part` in its text.
void live_assert_plays(const char* part);

#endif
