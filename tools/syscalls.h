// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Counts the system calls of one thread, by running the code in a traced child (ptrace(2) with
   PTRACE_GET_SYSCALL_INFO, Linux 5.3): needs no privilege, sees every call, and slows the code
   down, so nothing is timed under it.
*/
#ifndef WARPRACK_TOOLS_SYSCALLS_H
#define WARPRACK_TOOLS_SYSCALLS_H

#include <stdint.h>

/**
   Run `code` in a child process and count the system calls that its first thread makes between
   syscalls_mark() and the next one, and so on in turn.

   @return Number of calls, or -1 when tracing is not permitted here or the child failed.
*/
int64_t syscalls_count(void (*code)(void* context), void* context);

/// Start or stop counting.  Outside of syscalls_count() the call has no effect.
void syscalls_mark(void);

#endif
