// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A JACK server without a sound card.  Each test program has its own server name.

   JACK's registry has room for eight servers per machine, and a server that was killed keeps its
   entry until a server with the same name starts.  So the name is the same at every run: the next
   run reuses the entry that a failed run left.
*/
#ifndef WARPRACK_TESTS_JACKD_H
#define WARPRACK_TESTS_JACKD_H

#include <sys/types.h>

typedef struct Jackd {
  char name[64];
  pid_t pid; ///< 0 while no server runs
} Jackd;

/// suite_run(); without the program jackd, or without room for a server, it returns TEST_SKIPPED.
int jackd_suite_run(const char* name);

/// Start a server and wait until it accepts clients.  It ends with the test at the latest.
void jackd_start(Jackd* jackd, unsigned rate_hz, unsigned period_frames);

/// Start a server without waiting for it.
void jackd_launch(Jackd* jackd, unsigned rate_hz, unsigned period_frames);

/// End the server with SIGTERM, as every test does, and wait for its end.
void jackd_stop(Jackd* jackd);

/// Send the server a signal that ends it, and wait for its end.
void jackd_kill(Jackd* jackd, int signal_number);

/// Run one of JACK's programs: jackd_tool(&jackd, "jack_connect", "a:out", "b:in", NULL).  Returns
/// its exit status, -1 if a signal ended it.
int jackd_tool(const Jackd* jackd, const char* program, ...);

/// Start a program as a client of the server, and do not wait.  It ends with the test at the
/// latest.
pid_t jackd_run(const Jackd* jackd, const char* program);

#endif
