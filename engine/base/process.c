// SPDX-License-Identifier: GPL-3.0-or-later
// A child process: posix_spawn(3), a pidfd to wait for its end, /proc for its state.

#include "process.h"
#include "child_output.h"
#include "time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FREE_WAIT_NS    NS_PER_S // how long a killed process is waited for before it is freed
#define LOOK_MS         10       // between looks at the processes of a list
#define STAT_BYTES      1024U    // maximum length of /proc/PID/stat
#define STAT_EXIT_FIELD 52U      // proc(5): exit_code
#define MAX_LINES       200U // that a child prints in LINES_S; a report of a sanitizer has fewer
#define LINES_S         10U

struct Process {
  pid_t id;
  int fd;         ///< pidfd
  bool is_killed; ///< process_kill() has sent SIGKILL
  int crash;      ///< The signal that was already ending the process at that time, or 0
  bool has_ended;
  int signal; ///< The signal that ended the process, or 0
  ChildOutput* output;
  char reason[PROCESS_REASON_BYTES];
  Process* next_left;  ///< In a list of process_leave()
  uint64_t kill_at_ns; ///< In such a list: time of the kill; UINT64_MAX: it is killed
};

// ---- starting ----

/// Set up the child's descriptors.  The socket comes first: its number in this process may be 0 to
/// 2.
static int
set_descriptors(posix_spawn_file_actions_t* const actions, const int socket, const int output)
{
  int failed = posix_spawn_file_actions_adddup2(actions, socket, PROCESS_SOCKET);
  failed = failed ? failed
                  : posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  failed = failed ? failed : posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
  failed =
      failed ? failed : posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
  return failed ? failed : posix_spawn_file_actions_addclosefrom_np(actions, PROCESS_SOCKET + 1);
}

static bool
is_realtime(void)
{
  const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

static int
set_attributes(posix_spawnattr_t* const attributes)
{
  const struct sched_param usual = { .sched_priority = 0 };
  const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID |
                    (is_realtime() ? POSIX_SPAWN_SETSCHEDULER : 0);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  int failed = posix_spawnattr_setsigmask(attributes, &none);
  failed = failed ? failed : posix_spawnattr_setsigdefault(attributes, &all);
  failed = failed ? failed : posix_spawnattr_setschedpolicy(attributes, SCHED_OTHER);
  failed = failed ? failed : posix_spawnattr_setschedparam(attributes, &usual);
  return failed ? failed : posix_spawnattr_setflags(attributes, (short)flags);
}

/// Spawn the child; returns an error number, 0 if the child runs.
static int
spawn(const char* const path, char* const argv[], const int socket, const int output,
      pid_t* const id)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed) {
    return failed;
  }
  failed = posix_spawnattr_init(&attributes);
  if (!failed) {
    failed = set_descriptors(&actions, socket, output);
    failed = failed ? failed : set_attributes(&attributes);
    failed = failed ? failed : posix_spawn(id, path, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/// Reset an ignored SIGCHLD, which some launchers pass on: with SIGCHLD ignored, the kernel does
/// not report the exit status of children.
static void
reset_sigchld(void)
{
  struct sigaction action;
  if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
    signal(SIGCHLD, SIG_DFL);
  }
}

Status
process_start(const char* const path, char* const argv[], const int socket, Process** const out,
              Error* const error)
{
  Process* const process = calloc(1, sizeof(Process));
  if (!process) {
    return error_set(error, STATUS_NO_MEM, "no memory for a process");
  }
  const char* const what = argv[0] && argv[1] ? argv[1] : ""; // one program may have several roles
  reset_sigchld();
  // The child opens it as its input; a failure inside posix_spawn() would be reported as an error
  // of the program.
  if (access("/dev/null", R_OK | W_OK)) {
    const int reason = errno;
    free(process);
    return error_set(error, STATUS_FILE, "%s %s cannot be started: /dev/null cannot be opened: %s",
                     path, what, strerror(reason));
  }
  const bool has_stderr = socket != STDERR_FILENO && fcntl(STDERR_FILENO, F_GETFD) >= 0;
  char who[32];
  snprintf(who, sizeof(who), "the %s process", what);
  const ChildOutputSetup lines = {
    .who = who, .begins = "", .max_lines = MAX_LINES, .seconds = LINES_S
  };
  int output = -1;
  const Status status =
      child_output_start(&lines, has_stderr ? STDERR_FILENO : -1, &output, &process->output, error);
  if (status) {
    free(process);
    return status;
  }
  const int failed = spawn(path, argv, socket, output, &process->id);
  close(output);
  if (failed) {
    child_output_end(process->output);
    free(process);
    return error_set(error, failed == EAGAIN || failed == ENOMEM ? STATUS_NO_MEM : STATUS_FILE,
                     "%s %s cannot be started: %s", path, what, strerror(failed));
  }
  // The child is not reaped yet, so its id is still valid.
  process->fd = (int)syscall(SYS_pidfd_open, process->id, 0U);
  if (process->fd < 0) {
    const int reason = errno;
    kill(process->id, SIGKILL);
    waitpid(process->id, NULL, 0);
    child_output_end(process->output);
    free(process);
    return error_set(error, STATUS_NO_MEM, "%s %s cannot be watched: %s", path, what,
                     strerror(reason));
  }
  *out = process;
  return STATUS_OK;
}

// ---- watching ----

pid_t
process_id(const Process* const process)
{
  return process->id;
}

int
process_fd(const Process* const process)
{
  return process->fd;
}

static void
describe_end(Process* const process, const siginfo_t* const end)
{
  char* const reason = process->reason;
  const char* const name = sigabbrev_np(end->si_status);
  if (end->si_code == CLD_EXITED) {
    snprintf(reason, PROCESS_REASON_BYTES, "exited with %d", end->si_status);
  } else if (!name) {
    snprintf(reason, PROCESS_REASON_BYTES, "killed by signal %d", end->si_status);
  } else {
    const bool is_foreign = end->si_status == SIGKILL && !process->is_killed;
    snprintf(reason, PROCESS_REASON_BYTES, "killed by SIG%s%s", name,
             is_foreign ? ": perhaps out of memory" : "");
  }
}

bool
process_has_ended(Process* const process, char reason[const PROCESS_REASON_BYTES])
{
  siginfo_t end = { .si_pid = 0 };
  if (!process->has_ended) {
    if (waitid(P_PIDFD, (id_t)process->fd, &end, WEXITED | WNOHANG) !=
        0) { // other code has reaped it
      process->has_ended = true;
      snprintf(process->reason, sizeof(process->reason), "ended");
    } else if (end.si_pid) {
      process->has_ended = true;
      // SIGKILL interrupts the writing of a core; the kernel then reports the kill, not the crash.
      end.si_status = process->is_killed && process->crash && end.si_code != CLD_EXITED
                          ? process->crash
                          : end.si_status;
      process->signal = end.si_code == CLD_EXITED ? 0 : end.si_status;
      describe_end(process, &end);
    }
  }
  if (process->has_ended) {
    memcpy(reason, process->reason, PROCESS_REASON_BYTES);
  }
  return process->has_ended;
}

int
process_signal(const Process* const process)
{
  return process->signal;
}

/// The line of /proc/PID/stat from the state on: "R 1 2 ..."; "" if it cannot be read.
static const char*
read_stat(const Process* const process, char line[const STAT_BYTES])
{
  char path[64];
  if (process->has_ended) {
    return ""; // the id may belong to another process by now
  }
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)process->id);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd >= 0 ? read(fd, line, STAT_BYTES - 1U) : -1;
  if (fd >= 0) {
    close(fd);
  }
  line[n > 0 ? n : 0] = '\0';
  const char* const after_name = strrchr(line, ')'); // proc(5): the name may contain any character
  return after_name && after_name[1] == ' ' ? after_name + 2 : "";
}

bool
process_is_stopped(const Process* const process)
{
  char line[STAT_BYTES];
  return read_stat(process, line)[0] == 'T';
}

/// The signal that is ending the process, for example while the kernel writes its core; 0 if the
/// process is not ending.
static int
find_crash(const Process* const process)
{
  char line[STAT_BYTES];
  const char* field = read_stat(process, line);
  for (uint32_t f = 3U; field && f < STAT_EXIT_FIELD; ++f) {
    field = strchr(field, ' ');
    field = field ? field + 1 : NULL;
  }
  // Encoded as in a wait status.
  const int number = field ? (int)(strtol(field, NULL, 10) & 0x7F) : 0;
  // The field also holds the signal that stops a process, even before the state is "stopped".
  return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU ? 0
                                                                                          : number;
}

// ---- ending ----

/// Wait for the end, at most `timeout_ns`.
static void
wait_for_end(const Process* const process, const uint64_t timeout_ns)
{
  const uint64_t began_ns = time_now_ns();
  uint64_t passed_ns = 0;
  do {
    struct pollfd end = { .fd = process->fd, .events = POLLIN };
    const struct timespec left = time_spec(timeout_ns - passed_ns);
    if (ppoll(&end, 1, &left, NULL) >= 0 || errno != EINTR) {
      return;
    }
    passed_ns = time_now_ns() - began_ns;
  } while (passed_ns < timeout_ns);
}

bool
process_kill(Process* const process, const uint64_t timeout_ns,
             char reason[const PROCESS_REASON_BYTES])
{
  if (process_has_ended(process, reason)) {
    return true;
  }
  process->crash = find_crash(process);
  process->is_killed = syscall(SYS_pidfd_send_signal, process->fd, SIGKILL, NULL, 0U) == 0;
  wait_for_end(process, timeout_ns);
  return process_has_ended(process, reason);
}

/// Free a process without waiting for its end.
static void
forget(Process* const process)
{
  child_output_end(process->output);
  close(process->fd);
  free(process);
}

void
process_free(Process* const process)
{
  char reason[PROCESS_REASON_BYTES];
  if (process) {
    process_kill(process, FREE_WAIT_NS, reason);
    forget(process);
  }
}

// ---- processes that nobody waits for ----

void
process_leave(Process** const left, Process* const process, const uint64_t kill_at_ns)
{
  if (process) {
    process->kill_at_ns = kill_at_ns;
    process->next_left = *left;
    *left = process;
    process_reap_left(left, time_now_ns());
  }
}

/// Kill the process if its time has come.  True if it has ended.
static bool
has_left(Process* const process, const uint64_t now_ns)
{
  char reason[PROCESS_REASON_BYTES];
  if (now_ns < process->kill_at_ns) {
    return process_has_ended(process, reason);
  }
  process->kill_at_ns = UINT64_MAX;
  return process_kill(process, 0U, reason);
}

void
process_reap_left(Process** const left, const uint64_t now_ns)
{
  for (Process** at = left; *at;) {
    Process* const process = *at;
    if (has_left(process, now_ns)) {
      *at = process->next_left;
      forget(process);
    } else {
      at = &process->next_left;
    }
  }
}

void
process_end_left(Process** const left)
{
  uint64_t now_ns = time_now_ns();
  uint64_t until_ns = now_ns;
  for (const Process* process = *left; process; process = process->next_left) {
    const bool waits = process->kill_at_ns != UINT64_MAX && process->kill_at_ns > until_ns;
    until_ns = waits ? process->kill_at_ns : until_ns;
  }
  until_ns += FREE_WAIT_NS;
  process_reap_left(left, now_ns);
  while (*left && now_ns < until_ns) {
    struct pollfd end = { .fd = (*left)->fd, .events = POLLIN };
    (void)poll(&end, 1, LOOK_MS);
    now_ns = time_now_ns();
    process_reap_left(left, now_ns);
  }
  while (*left) {
    Process* const process = *left;
    *left = process->next_left;
    forget(process);
  }
}

// ---- in the child ----

bool
process_has_socket(void)
{
  int domain = 0;
  socklen_t n_bytes = sizeof(domain);
  return getsockopt(PROCESS_SOCKET, SOL_SOCKET, SO_DOMAIN, &domain, &n_bytes) == 0 &&
         domain == AF_UNIX;
}

bool
process_follow_parent(const int socket)
{
  struct ucred maker = { .pid = 0 };
  socklen_t n = sizeof(maker);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
      getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &n) != 0) {
    return false;
  }
  return getppid() == maker.pid; // otherwise it died before prctl()
}

void
process_be_killed_first(const int least_score)
{
  FILE* const file = fopen("/proc/self/oom_score_adj", "r+e");
  int score = 0;
  if (!file) {
    return;
  }
  if (fscanf(file, "%d", &score) == 1 && score < least_score) {
    rewind(file);
    fprintf(file, "%d", least_score);
  }
  fclose(file);
}
