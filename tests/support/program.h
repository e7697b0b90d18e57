// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs build/warprack with arguments, as a user would, and keeps its outputs and its exit code.
   The environment variable WARPRACK_PROGRAM has its path; the build sets it.
*/
#ifndef WARPRACK_TESTS_PROGRAM_H
#define WARPRACK_TESTS_PROGRAM_H

#include <check.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct Program {
  pid_t pid;     ///< 0 while it does not run
  int exit_code; ///< -1 if a signal ended it
  char* out;     ///< Its stdout; valid from program_wait() to the next start
  char* err;
  FILE* out_file;
  FILE* err_file;
} Program;

/// The newest run.  A test that needs two at once has another Program, which begins as zeros.
extern Program program;

/// Clear the last run, and start the program with these arguments, which end with NULL (without the
/// program's name).  stdin is empty.  If the test ends first, the program is killed.
void program_start(Program* run, const char* const* words);

/// Its stdout so far; valid until the next call.
const char* program_peek(Program* run);

/// Wait until stdout contains `text`; fails the test if the program ends without it, and after
/// suite_limit_ns().
void program_expect(Program* run, const char* text);

/// Wait until it ends, and fill in exit_code, out and err.
void program_wait(Program* run);

/// Kill it if it runs, and free its outputs.
void program_clear(Program* run);

/// Fails the test unless `program` has ended with this exit code, its stdout is `out`, and its
/// stderr contains `err`.
void program_expect_end(int exit_code, const char* out, const char* err);

/// Start and wait: PROGRAM_RUN(&sender, "send", "/server/ping").
#define PROGRAM_RUN(run, ...)                                                                      \
  do {                                                                                             \
    const char* const words_[] = { __VA_ARGS__, NULL };                                            \
    program_start(run, words_);                                                                    \
    program_wait(run);                                                                             \
  } while (0)

/// Start `program` and wait: RUN("list", "effects").
#define RUN(...) PROGRAM_RUN(&program, __VA_ARGS__)

/// RUN(); fails the test unless the exit code is 0.
#define RUN_GOOD(...)                                                                              \
  do {                                                                                             \
    RUN(__VA_ARGS__);                                                                              \
    ck_assert_msg(program.exit_code == 0, "%d: %s%s", program.exit_code, program.out,              \
                  program.err);                                                                    \
  } while (0)

#endif
