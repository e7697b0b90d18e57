// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the program as a user would.

#include "program.h"

#include "suite.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 64U

Program program;

static void
run_child(const Program* const run, char** const argv)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL); // the program must not outlive a failed test
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(fileno(run->out_file), STDOUT_FILENO);
  dup2(fileno(run->err_file), STDERR_FILENO);
  execv(argv[0], argv);
  _exit(127);
}

void
program_start(Program* const run, const char* const* const words)
{
  program_clear(run);
  *run = (Program){ .out_file = tmpfile(), .err_file = tmpfile() };
  ck_assert(run->out_file && run->err_file);
  char* const path = getenv("WARPRACK_PROGRAM");
  ck_assert_msg(path, "WARPRACK_PROGRAM, the path of the program, is not set");
  char* argv[MAX_WORDS + 2U] = { path };
  for (uint32_t i = 0; words[i]; ++i) {
    ck_assert_uint_lt(i, MAX_WORDS);
    argv[i + 1U] = (char*)words[i];
  }
  run->pid = fork();
  ck_assert_int_ge(run->pid, 0);
  if (!run->pid) {
    run_child(run, argv);
  }
}

/// The whole file, zero-terminated.  Does not move the file position, which the child shares.
static char*
read_all(FILE* const file)
{
  struct stat facts;
  ck_assert_int_eq(fstat(fileno(file), &facts), 0);
  char* const text = malloc((size_t)facts.st_size + 1U);
  const ssize_t n = pread(fileno(file), text, (size_t)facts.st_size, 0);
  text[n < 0 ? 0 : n] = '\0';
  return text;
}

const char*
program_peek(Program* const run)
{
  free(run->out);
  run->out = read_all(run->out_file);
  return run->out;
}

/// Whether the program has ended; program_wait() is still due.
static bool
has_ended(const Program* const run)
{
  siginfo_t end = { .si_pid = 0 };
  return waitid(P_PID, (id_t)run->pid, &end, WEXITED | WNOHANG | WNOWAIT) || end.si_pid;
}

void
program_expect(Program* const run, const char* const text)
{
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  for (bool is_over = false; !is_over && time_now_ns() < end_ns;) {
    is_over = has_ended(run);
    if (strstr(program_peek(run), text)) {
      return;
    }
    time_sleep(10U * NS_PER_MS);
  }
  char* const errors = read_all(run->err_file);
  ck_abort_msg("the program did not print '%s'; stdout: %.1500s; stderr: %.1500s", text, run->out,
               errors);
}

void
program_wait(Program* const run)
{
  int status = 0;
  ck_assert_int_eq(waitpid(run->pid, &status, 0), run->pid);
  run->pid = 0;
  run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  free(run->out);
  run->out = read_all(run->out_file);
  run->err = read_all(run->err_file);
}

void
program_clear(Program* const run)
{
  if (run->pid) {
    kill(run->pid, SIGKILL);
    program_wait(run);
  }
  free(run->out);
  free(run->err);
  if (run->out_file) {
    fclose(run->out_file);
    fclose(run->err_file);
  }
  *run = (Program){ 0 };
}

void
program_expect_end(const int exit_code, const char* const out, const char* const err)
{
  ck_assert_msg(program.exit_code == exit_code && strstr(program.err, err), "%d: %s%s",
                program.exit_code, program.out, program.err);
  ck_assert_str_eq(program.out, out);
}
