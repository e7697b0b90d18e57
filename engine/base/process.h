// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Starts, watches, kills and reaps a child process of the server.

   The server starts a child while audio runs and memory is locked.  posix_spawn(3) uses CLONE_VM |
   CLONE_VFORK: it copies no page table, and only the calling thread waits until the new program
   runs (with 1 GiB of locked memory 0.2 ms; fork(2) takes 25 ms).

   The child has only the descriptors 0 (/dev/null), 1 and 2 (a pipe to the server's stderr, see
   child_output.h) and 3 (the socket); no blocked signal and no handler; no real-time priority; its
   own session, so that ^C at the terminal reaches the server only.  After process_follow_parent()
   the kernel kills the child when the server ends.
*/
#ifndef WARPRACK_ENGINE_BASE_PROCESS_H
#define WARPRACK_ENGINE_BASE_PROCESS_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_SOCKET       3 // descriptor of the socket in the child
#define PROCESS_REASON_BYTES 64U

typedef struct Process Process;

/**
   Start a program.

   @param path Program; "/proc/self/exe" is the current one, even if its file has been replaced.
   @param argv [] NULL-terminated; argv[0] is the name.
   @param socket Becomes PROCESS_SOCKET of the child; the caller closes its own copy.

   The calling thread must live until the process has ended: after process_follow_parent() the child
   is killed when the thread that started it ends.  This call resets an ignored SIGCHLD. STATUS_FILE
   if there is no such program. [any but rt]
*/
NODISCARD Status process_start(const char* path, char* const argv[], int socket, Process** out,
                               Error* error);

/// Kill the process if it runs, wait for at most a second, free.  Accepts NULL. [any but rt]
void process_free(Process* process);

pid_t process_id(const Process* process);

/// For poll(): readable once the process has ended. [any]
int process_fd(const Process* process);

/// Returns true if the process has ended, with the reason: "exited with 3", "killed by SIGSEGV",
/// or "ended" if other code has reaped it.  Does not wait; may be called again. [any but rt, one
/// thread at a time]
bool process_has_ended(Process* process, char reason[PROCESS_REASON_BYTES]);

/// The signal that ended an ended process, 0 if it exited. [one thread at a time]
int process_signal(const Process* process);

/// True if the process is stopped (SIGSTOP). [any but rt]
bool process_is_stopped(const Process* process);

/// Send SIGKILL, wait at most timeout_ns for the end, and return as process_has_ended().  If
/// another signal was already ending the process (the kernel still wrote its core), the reason
/// names it. [any but rt, one thread at a time]
bool process_kill(Process* process, uint64_t timeout_ns, char reason[PROCESS_REASON_BYTES]);

/**
   Put a process into a list of processes that nobody waits for.  Each ends by itself, or is killed
   at `kill_at_ns`; 0: now.  It is freed when it has ended: at once if it has ended already.  A
   process that hangs in a driver ends late, or never.  NULL: nothing.

   @param left The list, of one thread; NULL: it is empty.
   [any but rt, one thread at a time, as the next two]
*/
void process_leave(Process** left, Process* process, uint64_t kill_at_ns);

/// Kill the processes of a list whose time has come, and free those that have ended.  Does not
/// wait.
void process_reap_left(Process** left, uint64_t now_ns);

/// Wait until all processes of a list have ended, at most until a second after the last of them is
/// killed, and free all.
void process_end_left(Process** left);

/// True if PROCESS_SOCKET is a socket, as in a child. [main]
bool process_has_socket(void);

/// In the child: let the kernel kill this process when the thread that started it ends.  False if
/// the parent, identified as the creator of `socket`, has already ended. [main]
bool process_follow_parent(int socket);

/// In the child: raise the OOM score adjustment of this process to `least_score`, -1000 to 1000,
/// unless it is higher.  A service's OOMScoreAdjust= must protect only the server, so that the
/// kernel kills its children first when memory runs out. [any]
void process_be_killed_first(int least_score);

#endif
