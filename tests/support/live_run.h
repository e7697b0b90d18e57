// SPDX-License-Identifier: GPL-3.0-or-later
/// Starts `warprack run` on the dummy driver and controls it.  A test has one run at a time.
#ifndef WARPRACK_TESTS_LIVE_RUN_H
#define WARPRACK_TESTS_LIVE_RUN_H

#include "program.h"

/// The OSC port of the run, which is `program`, as text.
extern char live_port[8];

/// Start the program with --json and these arguments, which end with NULL, and wait until it
/// reports its OSC port.
void live_start(const char* const* words);

/// live_start() with a list of arguments: LIVE_START("gain -6dB").
#define LIVE_START(...) live_start((const char* const[]){ __VA_ARGS__, NULL })

/// End the run with a signal.  Fails the test unless SIGTERM gives exit code 0, or another signal
/// kills the process.
void live_end(int number);

/// Fails the test unless the run has printed `part`.
void live_assert_said(const char* part);

/// Run `warprack send` with these arguments.  Returns the answer, valid until the next call; fails
/// the test if the exit code is not 0.
const char* live_ask(const char* const* words);

#define LIVE_ASK(...) live_ask((const char* const[]){ __VA_ARGS__, NULL })

/// Fails the test unless the text of the rack contains `part`.
void live_assert_plays(const char* part);

#endif
