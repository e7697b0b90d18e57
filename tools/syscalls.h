// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Counts the system calls of one thread by running the code in a traced child (ptrace(2) with
   PTRACE_GET_SYSCALL_INFO, Linux 5.3).  This needs no privilege and sees every call, but slows the
   code down: do not measure times at the same time.
*/
#ifndef WARPRACK_TOOLS_SYSCALLS_H
#define WARPRACK_TOOLS_SYSCALLS_H

#include <stdint.h>

/**
   Run `code` in a child process, and count the system calls of its first thread between each odd
   call of syscalls_mark() and the next one.

   @return Number of calls; -1 if tracing is not permitted or the child failed.
*/
int64_t syscalls_count(void (*code)(void* context), void* context);

/// Start or stop counting.  Outside of syscalls_count() the call has no effect.
void syscalls_mark(void);

#endif
