// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs build/warprack with arguments, as a user would, and keeps its outputs and its exit code.
   The environment variable WARPRACK_PROGRAM has its path; the build sets it.
*/
#ifndef WARPRACK_TESTS_PROGRAM_H
#define WARPRACK_TESTS_PROGRAM_H

#include <stdio.h>
#include <sys/types.h>

typedef struct Program {
  pid_t pid;     ///< 0 while it does not run
  int exit_code; ///< -1 if a signal ended it
  char* out;     ///< Its stdout; valid from program_wait() to program_clear()
  char* err;
  FILE* out_file;
  FILE* err_file;
} Program;

/// Start it with these arguments, which end with NULL (without the program's name).  stdin is
/// empty.  If the test ends first, the program is killed.
void program_start(Program* program, const char* const* words);

/// Its stdout so far; valid until the next call.
const char* program_peek(Program* program);

/// Wait until stdout contains `text`; fails the test after 20 s.
void program_expect(Program* program, const char* text);

/// Wait until it ends, and fill in exit_code, out and err.
void program_wait(Program* program);

void program_clear(Program* program);

/// After program_wait(): fails the test unless the exit code is this one, stdout is `out`, and
/// stderr contains `err`.  Then calls program_clear().
void program_expect_end(Program* program, int exit_code, const char* out, const char* err);

/// Start and wait: PROGRAM_RUN(&program, "list", "effects").
#define PROGRAM_RUN(program, ...)                                                                  \
  do {                                                                                             \
    const char* const words_[] = { __VA_ARGS__, NULL };                                            \
    program_start(program, words_);                                                                \
    program_wait(program);                                                                         \
  } while (0)

#endif
