// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A JACK server without a sound card, under a name of the test program's own.

   JACK has eight places for servers on a machine, and one that was killed keeps its place until a
   server of the same name starts.  Hence the name is the same at every run: what a broken run left
   behind, the next one clears.
*/
#ifndef WARPRACK_TESTS_JACKD_H
#define WARPRACK_TESTS_JACKD_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct Jackd {
  char name[64];
  pid_t pid; ///< 0 when it does not run
} Jackd;

/// Whether there is a jackd on this machine.
bool jackd_is_there(void);

/// Start a server and wait until it accepts clients.  It dies with the test.
void jackd_start(Jackd* jackd, unsigned rate_hz, unsigned period_frames);

/// The same, without waiting.
void jackd_launch(Jackd* jackd, unsigned rate_hz, unsigned period_frames);

/// End it in order, as every test does.
void jackd_stop(Jackd* jackd);

/// Send it a deadly signal and wait for its end.
void jackd_kill(Jackd* jackd, int signal_number);

/// Run one of JACK's own programs on it: jackd_tool(&jackd, "jack_connect", "a:out", "b:in", NULL).
/// Its exit status.
int jackd_tool(const Jackd* jackd, const char* program, ...);

/// Start a program on it that goes on; it dies with the test.
pid_t jackd_run(const Jackd* jackd, const char* program);

#endif
