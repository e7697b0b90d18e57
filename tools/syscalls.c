// SPDX-License-Identifier: GPL-3.0-or-later
// Counts the system calls of a traced child.

#include "syscalls.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The mark: a getpgid() of an impossible process id, which no other code calls.
#define MARK_NUMBER SYS_getpgid
#define MARK_PID    (-0x77A9)

void
syscalls_mark(void)
{
  syscall(MARK_NUMBER, MARK_PID);
}

static void
run_traced(void (*const code)(void*), void* const context)
{
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
    _exit(EXIT_FAILURE);
  }
  raise(SIGSTOP); // the parent sets its options here
  code(context);
  _exit(EXIT_SUCCESS);
}

/// Handle one stop at a system call.
static void
note_call(const pid_t child, bool* const counting, int64_t* const n_calls)
{
  struct __ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) <= 0 ||
      info.op != PTRACE_SYSCALL_INFO_ENTRY) {
    return;
  }
  if (info.entry.nr == MARK_NUMBER && (int)info.entry.args[0] == MARK_PID) {
    *counting = !*counting;
  } else {
    *n_calls += *counting;
  }
}

static int64_t
trace(const pid_t child)
{
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
    return -1;
  }
  ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool counting = false;
  int64_t n_calls = 0;
  int signal_to_pass = 0;
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, child, NULL, signal_to_pass) ||
        waitpid(child, &status, 0) != child) {
      return -1;
    }
    if (!WIFSTOPPED(status)) {
      return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? n_calls : -1;
    }
    const bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal_to_pass = at_call ? 0 : WSTOPSIG(status);
    if (at_call) {
      note_call(child, &counting, &n_calls);
    }
  }
}

int64_t
syscalls_count(void (*const code)(void*), void* const context)
{
  const pid_t child = fork();
  if (!child) {
    run_traced(code, context);
  }
  return child > 0 ? trace(child) : -1;
}
