// SPDX-License-Identifier: GPL-3.0-or-later
// A child inherits only its socket and stderr from its parent; the end of a child is reported with
// its reason; a child does not outlive its parent.  The children run this program, with their role
// as its argument.

#include "engine/base/process.h"
#include "engine/base/time.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/support/wire_ends.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_PROGRAM "/proc/self/exe"
#define WAIT_MS     20000 // timeout for events that normally happen at once
#define WAIT_NS     20000000000ULL
#define CORE_BYTES  ((size_t)256 << 20U) // large enough that writing takes a while

// ---- children ----

static void
tell(const char* const text)
{
  const size_t n = strlen(text) + 1U;
  if (write(PROCESS_SOCKET, text, n) != (ssize_t)n) {
    _exit(99);
  }
}

static int
by_number(const struct dirent** const a, const struct dirent** const b)
{
  return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static int
is_descriptor(const struct dirent* const entry)
{
  return entry->d_name[0] != '.';
}

/// The environment of this child as one text.
static int
look_around(void)
{
  char text[1024];
  size_t n = 0;
  struct dirent** entries = NULL;
  int n_entries = scandir("/proc/self/fd", &entries, is_descriptor, by_number);
  n += (size_t)snprintf(text, sizeof(text), "descriptors");
  for (int i = 0; i < n_entries - 1; ++i) { // the last entry is the descriptor of scandir()
    n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", entries[i]->d_name);
  }
  while (n_entries > 0) {
    free(entries[--n_entries]);
  }
  free(entries);
  struct stat files[3];
  struct stat null_device;
  for (int fd = 0; fd < 3; ++fd) {
    fstat(fd, &files[fd]);
  }
  stat("/dev/null", &null_device);
  n += (size_t)snprintf(text + n, sizeof(text) - n, ", stdin %s, stdout %s",
                        files[0].st_rdev == null_device.st_rdev ? "null" : "wrong",
                        files[1].st_dev == files[2].st_dev && files[1].st_ino == files[2].st_ino
                            ? "is stderr"
                            : "is another");
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  struct sigaction pipe_action;
  sigaction(SIGPIPE, NULL, &pipe_action);
  snprintf(text + n, sizeof(text) - n, ", signals %s, session %s, scheduling %s",
           sigisemptyset(&mask) && pipe_action.sa_handler == SIG_DFL ? "usual" : "wrong",
           getsid(0) == getpid() ? "own" : "wrong",
           sched_getscheduler(0) == SCHED_OTHER ? "usual" : "wrong");
  tell(text);
  return EXIT_SUCCESS;
}

/// Start this program in a role.  *socket becomes the parent's end.  Returns NULL on failure.
static Process*
try_start(const char* const role, int* const socket)
{
  int sockets[2];
  char name[] = "test_process";
  char argument[32];
  char* const argv[] = { name, argument, NULL };
  Process* process = NULL;
  snprintf(argument, sizeof(argument), "%s", role);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0 ||
      process_start(OWN_PROGRAM, argv, sockets[1], &process, NULL)) {
    return NULL;
  }
  close(sockets[1]);
  *socket = sockets[0];
  return process;
}

/// Start a child, and send its id to the test.
static int
be_parent(const char* const role_of_child)
{
  int socket = -1;
  const Process* const child = try_start(role_of_child, &socket);
  char text[16];
  if (!child || read(socket, text, sizeof(text)) <= 0) {
    return EXIT_FAILURE;
  }
  snprintf(text, sizeof(text), "%d", (int)process_id(child));
  tell(text);
  pause();
  return EXIT_FAILURE;
}

/// Die with a core file in the current folder, if the machine writes core files.
static void
dump_core(void)
{
  struct rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
  unsigned char* const bytes = malloc(CORE_BYTES);
  if (!bytes) {
    _exit(99);
  }
  for (size_t b = 0; b < CORE_BYTES; ++b) {
    bytes[b] = (unsigned char)(b * 167U);
  }
  signal(SIGSEGV, SIG_DFL); // sanitizers have a handler that exits
  tell("here");
  raise(SIGSEGV);
}

static int
play_role(const char* const role)
{
  const struct rlimit no_core = { 0, 0 };
  if (!strcmp(role, "core")) {
    dump_core();
  }
  setrlimit(RLIMIT_CORE, &no_core);
  if (!strcmp(role, "look")) {
    return look_around();
  }
  if (!strcmp(role, "exit")) {
    return 7;
  }
  if (!strcmp(role, "crash")) {
    abort();
  }
  if (!strcmp(role, "parent of follower")) {
    return be_parent("follow");
  }
  if (!strcmp(role, "parent of stayer")) {
    return be_parent("stay");
  }
  if (!strcmp(role, "odd name")) {
    prctl(PR_SET_NAME, "a) T 1 (b");
  }
  if (!strcmp(role, "follow") && !process_follow_parent(PROCESS_SOCKET)) {
    return EXIT_FAILURE;
  }
  tell("here");
  for (;;) {
    pause();
  }
}

// ---- parents ----

static Process*
start(const char* const role, int* const socket)
{
  Process* const process = try_start(role, socket);
  ck_assert_ptr_nonnull(process);
  return process;
}

static void
receive_text(const int socket, char* const text, const size_t n_bytes)
{
  size_t n = 0;
  while (n == 0U || text[n - 1U]) {
    struct pollfd there = { .fd = socket, .events = POLLIN };
    ck_assert_int_eq(poll(&there, 1, WAIT_MS), 1);
    ck_assert_uint_lt(n, n_bytes);
    const ssize_t got = read(socket, text + n, 1);
    ck_assert_int_eq(got, 1);
    n += (size_t)got;
  }
}

static void
expect_end(Process* const process, const char* const expected)
{
  struct pollfd end = { .fd = process_fd(process), .events = POLLIN };
  char reason[PROCESS_REASON_BYTES] = "";
  ck_assert_int_eq(poll(&end, 1, WAIT_MS), 1);
  ck_assert(process_has_ended(process, reason));
  ck_assert_str_eq(reason, expected);
  ck_assert(process_has_ended(process, reason)); // a second call reports the same
  ck_assert_str_eq(reason, expected);
  ck_assert(!process_is_stopped(process));
}

TEST(the_end_of_a_child_is_reported_with_its_reason)
{
  static const struct {
    const char* role;
    const char* reason;
  } rows[] = { { "exit", "exited with 7" }, { "crash", "killed by SIGABRT" } };
  int socket = -1;
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    Process* const process = start(rows[r].role, &socket);
    expect_end(process, rows[r].reason);
    process_free(process);
    close(socket);
  }
  Process* const process = start("stay", &socket);
  char text[16];
  char reason[PROCESS_REASON_BYTES];
  receive_text(socket, text, sizeof(text));
  ck_assert(!process_has_ended(process, reason));
  kill(process_id(process), SIGKILL); // as the kernel does when memory runs out
  expect_end(process, "killed by SIGKILL: perhaps out of memory");
  process_free(process);
  close(socket);
}

TEST(a_program_that_cannot_be_started_is_an_error)
{
  char name[] = "nothing";
  char what[] = "worker";
  char* const argv[] = { name, what, NULL };
  Process* process = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert(process_start("/nowhere/nothing", argv, STDERR_FILENO, &process, &error) ==
            STATUS_FILE);
  ck_assert_ptr_null(process);
  assert_says(error.text, "/nowhere/nothing worker");
  ck_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); // no child is left
}

/// Start the child that reports its environment, and check the report.
static void
expect_clean_child(void)
{
  SCOPED_FD int socket = -1;
  char text[1024];
  Process* const process = start("look", &socket);
  receive_text(socket, text, sizeof(text));
  ck_assert_str_eq(text, "descriptors 0 1 2 3, stdin null, stdout is stderr, signals usual, "
                         "session own, scheduling usual");
  expect_end(process, "exited with 0");
  process_free(process);
}

TEST(a_missing_null_device_is_reported)
{
  if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
      mount("tmpfs", "/dev", "tmpfs", 0, NULL)) {
    suite_skip("cannot mount an empty /dev");
    return;
  }
  char* const argv[] = { "/bin/true", NULL };
  Process* process = NULL;
  Error error = { STATUS_OK, "" };
  SCOPED_FD const int socket = open("/", O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(process_start(argv[0], argv, socket, &process, &error), STATUS_FILE);
  assert_says(error.text, "/dev/null cannot be opened: No such file");
}

TEST(a_child_inherits_no_descriptor_signal_state_or_priority)
{
  expect_clean_child();
  for (int i = 0; i < 20; ++i) {
    ck_assert_int_ge(open("/dev/zero", O_RDONLY), 0); // not close-on-exec
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGPIPE, SIG_IGN);
  const struct sched_param lowest = { .sched_priority = 1 };
  (void)sched_setscheduler(0, SCHED_FIFO, &lowest); // needs a privilege
  expect_clean_child();
}

TEST(a_parent_without_standard_descriptors_has_a_child_with_them)
{
  for (int fd = 0; fd < 3; ++fd) { // so that the socket takes a standard descriptor
    close(fd);
    expect_clean_child();
  }
}

TEST(a_stopped_child_is_distinguished_from_a_running_one)
{
  SCOPED_FD int socket = -1;
  char text[16];
  Process* const process = start("odd name", &socket);
  receive_text(socket, text, sizeof(text));
  ck_assert(!process_is_stopped(process));
  kill(process_id(process), SIGSTOP);
  siginfo_t change;
  ck_assert_int_eq(waitid(P_PID, (id_t)process_id(process), &change, WSTOPPED | WNOWAIT), 0);
  ck_assert(process_is_stopped(process));
  char reason[PROCESS_REASON_BYTES];
  ck_assert(!process_has_ended(process, reason));
  kill(process_id(process), SIGCONT);
  ck_assert_int_eq(waitid(P_PID, (id_t)process_id(process), &change, WCONTINUED | WNOWAIT), 0);
  ck_assert(!process_is_stopped(process));
  kill(process_id(process), SIGSTOP);
  ck_assert(process_kill(process, WAIT_NS, reason)); // stopped children too
  ck_assert_str_eq(reason, "killed by SIGKILL");
  process_free(process);
}

/// True while the kernel writes its core.
static bool
is_dumping(const Process* const process)
{
  char line[128];
  bool is_found = false;
  snprintf(line, sizeof(line), "/proc/%d/status", (int)process_id(process));
  FILE* const status = fopen(line, "r");
  while (status && !is_found && fgets(line, sizeof(line), status)) {
    is_found = !strcmp(line, "CoreDumping:\t1\n");
  }
  if (status) {
    fclose(status);
  }
  return is_found;
}

TEST(a_child_killed_while_its_core_is_written_has_crashed)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const int back = open(".", O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(chdir(scratch.directory), 0);
  SCOPED_FD int socket = -1;
  char text[16];
  char reason[PROCESS_REASON_BYTES];
  Process* const process = start("core", &socket);
  ck_assert_int_eq(fchdir(back), 0);
  close(back);
  receive_text(socket, text, sizeof(text));
  // Without core files, the child ends by the same signal.
  AWAIT(is_dumping(process) || process_has_ended(process, reason));
  ck_assert(process_kill(process, WAIT_NS, reason));
  ck_assert_str_eq(reason, "killed by SIGSEGV");
  ck_assert_int_eq(process_signal(process), SIGSEGV);
  process_free(process);
}

TEST(freeing_leaves_no_process_and_no_descriptor)
{
  int socket = -1;
  const unsigned before = descriptors_open();
  for (int i = 0; i < 10; ++i) {
    Process* const process = start(i % 2 ? "stay" : "exit", &socket);
    process_free(process);
    close(socket);
  }
  process_free(NULL);
  ck_assert_uint_eq(descriptors_open(), before);
  ck_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

// ---- processes that nobody waits for ----

TEST(a_process_that_is_left_is_killed_at_its_time_and_freed_when_it_has_ended)
{
  int socket = -1;
  const unsigned before = descriptors_open();
  const uint64_t now_ns = time_now_ns();
  Process* left = NULL;
  Process* const process = start("stay", &socket);
  const pid_t id = process_id(process);
  process_leave(&left, process, now_ns + WAIT_NS);
  process_reap_left(&left, now_ns + WAIT_NS - 1U);
  ck_assert_ptr_eq(left, process);
  ck_assert_int_eq(kill(id, 0), 0);
  AWAIT((process_reap_left(&left, now_ns + WAIT_NS), !left));
  ck_assert_int_eq(kill(id, 0), -1);
  close(socket);
  process_leave(&left, NULL, 0U);
  ck_assert_uint_eq(descriptors_open(), before);
}

/// Each one is to be killed TOGETHER_NS from now.
#define TOGETHER_NS (500U * NS_PER_MS)
#define N_TOGETHER  6U

/// End some processes that do not end by themselves.  Returns how long that took.
static uint64_t
end_together(void)
{
  int sockets[N_TOGETHER];
  Process* left = NULL;
  const uint64_t began_ns = time_now_ns();
  for (size_t p = 0; p < N_TOGETHER; ++p) {
    process_leave(&left, start("stay", &sockets[p]), began_ns + TOGETHER_NS);
  }
  process_end_left(&left);
  const uint64_t passed_ns = time_now_ns() - began_ns;
  ck_assert_ptr_null(left);
  ck_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  ck_assert_uint_ge(passed_ns, TOGETHER_NS);
  for (size_t p = 0; p < N_TOGETHER; ++p) {
    close(sockets[p]);
  }
  return passed_ns;
}

TEST(processes_that_do_not_end_are_waited_for_together)
{
  uint32_t n = 0;
  while (end_together() >= N_TOGETHER * TOGETHER_NS) { // the machine stalled
    ck_assert_uint_lt(++n, 10U);
  }
}

TEST(an_ignored_SIGCHLD_hides_no_reason)
{
  signal(SIGCHLD, SIG_IGN);
  SCOPED_FD int socket = -1;
  Process* const process = start("exit", &socket);
  expect_end(process, "exited with 7");
  process_free(process);
}

TEST(a_child_reaped_by_other_code_has_ended)
{
  SCOPED_FD int socket = -1;
  Process* const process = start("exit", &socket);
  ck_assert_int_eq(waitpid(-1, NULL, 0), process_id(process));
  expect_end(process, "ended");
  process_free(process);
}

/// Kill a parent; returns the pidfd of its child, which this process reaps.
static int
orphan(const char* const role_of_parent, pid_t* const id)
{
  int socket = -1;
  char text[16];
  ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Process* const parent = start(role_of_parent, &socket);
  receive_text(socket, text, sizeof(text));
  *id = atoi(text);
  const int child = (int)syscall(SYS_pidfd_open, *id, 0U);
  ck_assert_int_ge(child, 0);
  char reason[PROCESS_REASON_BYTES];
  ck_assert(process_kill(parent, WAIT_NS, reason));
  process_free(parent);
  close(socket);
  return child;
}

TEST(a_child_that_follows_dies_with_its_parent)
{
  pid_t id = 0;
  struct pollfd end = { .fd = orphan("parent of follower", &id), .events = POLLIN };
  ck_assert_int_eq(poll(&end, 1, WAIT_MS), 1);
  int status = 0;
  ck_assert_int_eq(waitpid(id, &status, 0), id);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  close(end.fd);
  end.fd = orphan("parent of stayer", &id); // control: a child that does not follow survives
  ck_assert_int_eq(poll(&end, 1, 100), 0);
  kill(id, SIGKILL);
  ck_assert_int_eq(waitpid(id, &status, 0), id);
  close(end.fd);
}

TEST(a_child_whose_parent_has_ended_ends_at_once)
{
  int sockets[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  for (int generations = 1; generations <= 2; ++generations) {
    pid_t child = fork();
    if (!child && generations == 2) { // the parent of the child did not create the socket
      child = fork();
      int status = 0;
      if (child) {
        _exit(waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 99);
      }
    }
    if (!child) {
      _exit(process_follow_parent(sockets[1]) ? 1 : 2);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), generations);
  }
}

int
main(const int argc, char** const argv)
{
  if (argc > 1) {
    return play_role(argv[1]);
  }
  return suite_run("process");
}
