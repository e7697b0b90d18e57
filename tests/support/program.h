// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs the program as a user would: build/warprack with arguments, its outputs caught, its exit
   code kept.  The build says where it is by WARPRACK_PROGRAM.
*/
#ifndef WARPRACK_TESTS_PROGRAM_H
#define WARPRACK_TESTS_PROGRAM_H

#include <stdio.h>
#include <sys/types.h>

typedef struct Program {
  pid_t pid;     ///< 0 when it does not run
  int exit_code; ///< -1 when a signal ended it
  char* out;     ///< What it printed; from program_wait() to program_clear()
  char* err;
  FILE* out_file;
  FILE* err_file;
} Program;

/// Start it with the words up to NULL (without the program's name).  stdin is empty.  It is killed
/// with the test when that ends first.
void program_start(Program* program, const char* const* words);

/// What it has printed on stdout so far, in memory that the next call replaces.
const char* program_peek(Program* program);

/// Wait until stdout contains `text`; fails the test after 20 s.
void program_expect(Program* program, const char* text);

/// Wait for its end and fill in exit_code, out and err.
void program_wait(Program* program);

void program_clear(Program* program);

/// After program_wait(): it ended with this code, printed `out`, and its errors contain `err`; then
/// program_clear().
void program_expect_end(Program* program, int exit_code, const char* out, const char* err);

/// Start and wait: PROGRAM_RUN(&program, "list", "effects").
#define PROGRAM_RUN(program, ...)                                                                  \
  do {                                                                                             \
    const char* const words_[] = { __VA_ARGS__, NULL };                                            \
    program_start(program, words_);                                                                \
    program_wait(program);                                                                         \
  } while (0)

#endif
