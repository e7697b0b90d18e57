// SPDX-License-Identifier: GPL-3.0-or-later
// The program plays live under the real-time trap while the test edits its rack: callback and
// player make no forbidden call, in one process and in two.

#include "engine/base/status.h"
#include "tests/support/program.h"
#include "tests/support/rt_trap.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const chains[] = {
  "highpass 80 order=4 | compressor | limiter -1dB",
  "(gain -3dB + delay 50ms feedback=0.5 mix=1) | limiter -1dB",
  "peaking 1000 6dB | reverb mix=0.3 | limiter -1dB lookahead=3ms",
  "fir lowpass 4000 taps=301 | pan 30%",
};

/// Read the port from the program's line "... OSC port 40123".
static void
read_port(char* const port, const size_t n_bytes)
{
  program_expect(&program, "OSC port ");
  program_expect(&program, "\n");
  const char* const at = strstr(program_peek(&program), "OSC port ") + strlen("OSC port ");
  snprintf(port, n_bytes, "%.*s", (int)strspn(at, "0123456789"), at);
}

/// How often `in` contains `text`.
static uint32_t
n_times(const char* const in, const char* const text)
{
  uint32_t n = 0;
  for (const char* at = strstr(in, text); at; at = strstr(at + 1, text)) {
    ++n;
  }
  return n;
}

/// Play and edit under the trap.  Each process that exits prints the trap's report on stderr.
/// Returns false if fewer processes did: the server kills a worker that takes too long to end.
static bool
play(const char* const processes, const uint32_t n_processes)
{
  char port[16];
  const char* const words[] = { "run",     "--io", "dummy",   "--osc-port", "0",
                                "--block", "128",  processes, "gain -6dB",  NULL };
  setenv("LD_PRELOAD", getenv("WARPRACK_RT_TRAP_LIBRARY"), 1);
  setenv("WARPRACK_RT_TRAP", "report", 1);
  program_start(&program, words);
  unsetenv("LD_PRELOAD");
  read_port(port, sizeof(port));
  for (uint32_t e = 0; e < 12U; ++e) {
    SCOPED(program_clear) Program edit = { .pid = 0 };
    PROGRAM_RUN(&edit, "send", "--osc-port", port, "--timeout", "60", "/rack/chain",
                chains[e % ARRAY_LEN(chains)]);
    ck_assert_msg(edit.exit_code == 0, "%s", edit.err);
  }
  ck_assert_int_eq(kill(program.pid, SIGTERM), 0);
  program_wait(&program);
  ck_assert_msg(program.exit_code == 0, "%s", program.err);
  const uint32_t n_reports = n_times(program.err, "rt_trap: sections=");
  ck_assert_msg(n_times(program.err, " violations=0 ") == n_reports, "%s", program.err);
  ck_assert_msg(!strstr(program.err, "rt_trap: sections=0 "), "%s", program.err); // the trap worked
  return n_reports >= n_processes;
}

TEST(edits_in_one_process_cause_no_real_time_violation)
{
  ck_assert(play("--in-process", 1));
}

TEST(edits_in_two_processes_cause_no_real_time_violation)
{
  while (!play("--no-connect", 2)) { // the time limit of the test ends this
  }
}

SUITE_MAIN("rt live")
