// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A child process of the server: started, watched, killed, reaped.

   The server plays while it starts one, with locked memory.  posix_spawn(3) makes the child with
   CLONE_VM | CLONE_VFORK: no page table is copied, and only the calling thread stands still until
   the new program is there (with 1 GiB of locked memory 0.2 ms, where fork(2) takes 25).

   The child has descriptors 0 (/dev/null), 1 and 2 (the server's stderr), 3 (the socket) and no
   other; no blocked signal and no handler; no real-time priority; a session of its own, so that ^C
   at the terminal reaches the server only.  It dies with the server if it calls
   process_follow_parent().
*/
#ifndef WARPRACK_ENGINE_BASE_PROCESS_H
#define WARPRACK_ENGINE_BASE_PROCESS_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_SOCKET       3 // the child's end
#define PROCESS_REASON_BYTES 64U

typedef struct Process Process;

/**
   Start a program.

   @param path Program; "/proc/self/exe" is the present one, also when its file has been replaced.
   @param argv [] NULL-terminated; argv[0] is the name.
   @param socket Becomes PROCESS_SOCKET of the child; the caller closes its own copy.

   Keep the calling thread until the process has ended: a child that follows its parent dies with
   the thread that started it.  SIGCHLD is no longer ignored from then on.  STATUS_FILE when there
   is no such program. [any but rt]
*/
NODISCARD Status process_start(const char* path, char* const argv[], int socket, Process** out,
                               Error* error);

/// Kill it if it has not ended, wait for a second at most, free.  Accepts NULL.  [any but rt]
void process_free(Process* process);

pid_t process_id(const Process* process);

/// For poll(): readable once the process has ended. [any]
int process_fd(const Process* process);

/// Without waiting: whether it has ended, and then why: "exited with 3", "killed by SIGSEGV",
/// "ended" when somebody else has reaped it.  May be asked again. [any but rt, one thread at a
/// time]
bool process_has_ended(Process* process, char reason[PROCESS_REASON_BYTES]);

/// Once it has ended: the signal that ended it, 0 when it exited. [one thread at a time]
int process_signal(const Process* process);

/// Whether it was stopped from outside (SIGSTOP). [any but rt]
bool process_is_stopped(const Process* process);

/// SIGKILL, and wait until it is gone, but no longer than timeout_ns; then as process_has_ended(),
/// with the signal that it was dying of already, while its core was written, if it was.
/// [any but rt, one thread at a time]
bool process_kill(Process* process, uint64_t timeout_ns, char reason[PROCESS_REASON_BYTES]);

/// In the child: from now on the kernel kills this process when its parent's thread ends.  False
/// when the parent, known as the maker of `socket`, is gone already. [main]
bool process_follow_parent(int socket);

#endif
