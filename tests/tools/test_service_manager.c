// SPDX-License-Identifier: GPL-3.0-or-later
// warprack run under a service manager: reports that it is ready and alive; ends normally on any
// signal, also if nobody reads its output; plays without privileges and on one processor.

#include "tests/support/live_run.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define WATCHDOG_US "1000000"
#define STARVES_MS  1500 // three times the interval of watchdog messages
#define N_SIGNALS   2000

static Scratch scratch;

static uint64_t
now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

// ---- the service manager ----

static int manager = -1;

static void
be_manager(void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  char name[64];
  const int n = snprintf(name, sizeof(name), "@warprack-alone-%ld", (long)getpid());
  memcpy(address.sun_path + 1, name + 1, (size_t)n);
  manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(manager, (struct sockaddr*)&address,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
                   0);
  setenv("NOTIFY_SOCKET", name, 1);
  setenv("WATCHDOG_USEC", WATCHDOG_US, 1);
}

/// Whether the manager receives a message with `what` within the time.
static bool
is_told(const char* const what, const int timeout_ms)
{
  const uint64_t until_ms = now_ms() + (uint64_t)timeout_ms;
  for (uint64_t now = now_ms(); now < until_ms; now = now_ms()) {
    struct pollfd waits = { manager, POLLIN, 0 };
    if (poll(&waits, 1, (int)(until_ms - now)) > 0) {
      char text[1024];
      const ssize_t n_bytes = recv(manager, text, sizeof(text) - 1U, 0);
      text[n_bytes < 0 ? 0 : n_bytes] = '\0';
      if (strstr(text, what)) {
        return true;
      }
    }
  }
  return false;
}

static void
forget_messages(void)
{
  char text[1024];
  while (recv(manager, text, sizeof(text), MSG_DONTWAIT) >= 0) {
  }
}

/// The id of the program's thread with this name.
static pid_t
find_thread(const char* const name)
{
  char path[300];
  snprintf(path, sizeof(path), "/proc/%d/task", (int)program.pid);
  DIR* const tasks = opendir(path);
  pid_t found = 0;
  for (const struct dirent* task = NULL; tasks && (task = readdir(tasks));) {
    char comm[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/comm", (int)program.pid, task->d_name);
    FILE* const file = fopen(path, "re");
    if (file && fscanf(file, "%31s", comm) == 1 && !strcmp(comm, name)) {
      found = (pid_t)atoi(task->d_name);
    }
    if (file) {
      fclose(file);
    }
  }
  closedir(tasks);
  ck_assert_msg(found, "the program has no thread %s", name);
  return found;
}

/// Stop one thread of the program, with ptrace(), because SIGSTOP stops all threads.
static pid_t
stop_thread(const char* const name)
{
  const pid_t thread = find_thread(name);
  ck_assert_int_eq(ptrace(PTRACE_SEIZE, thread, NULL, NULL), 0);
  ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
  ck_assert_int_eq(waitpid(thread, NULL, __WALL), thread);
  return thread;
}

TEST(the_service_manager_gets_ready_and_keep_alive_messages)
{
  be_manager();
  const uint64_t began_ms = now_ms();
  const char* const words[] = { "run", "--io", "dummy", "--osc-port", "0", "gain", NULL };
  program_start(&program, words);
  ck_assert(is_told("READY=1", PATIENCE_MS));
  printf("ready after %d ms\n", (int)(now_ms() - began_ms));
  ck_assert(is_told("STATUS=dummy", PATIENCE_MS));
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  kill(program.pid, SIGTERM);
  ck_assert(is_told("STOPPING=1", PATIENCE_MS));
  program_wait(&program);
  ck_assert_int_eq(program.exit_code, 0);
}

TEST(a_thread_that_hangs_starves_the_watchdog)
{
  static const char* const threads[] = { "dummy", "warprack-osc", "warprack-worker" };
  for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); ++t) {
    be_manager();
    const char* const words[] = { "run",        "--io", "dummy", "--in-process",
                                  "--osc-port", "0",    "gain",  NULL };
    program_start(&program, words);
    ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
    const pid_t thread = stop_thread(threads[t]);
    forget_messages();                       // that were sent before the stop
    (void)is_told("WATCHDOG=1", STARVES_MS); // one message for progress before the stop is allowed
    forget_messages();
    ck_assert_msg(!is_told("WATCHDOG=1", STARVES_MS), "watchdog message although %s hangs",
                  threads[t]);
    ck_assert_int_eq(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
    ck_assert(is_told("WATCHDOG=1", PATIENCE_MS)); // positive control: now the thread runs
    live_end(SIGTERM);
    close(manager);
  }
}

/// The process id of the worker in /server/status.
static pid_t
find_worker(void)
{
  const char* const key = "\"worker_pid\" ";
  const char* const at = strstr(LIVE_ASK("/server/status"), key);
  ck_assert_ptr_nonnull(at);
  return (pid_t)atoi(at + strlen(key));
}

TEST(a_worker_that_dies_or_hangs_is_reported_and_replaced)
{
  static const int deaths[] = { SIGKILL, SIGSTOP };
  be_manager();
  LIVE_START("gain");
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  for (size_t d = 0; d < sizeof(deaths) / sizeof(deaths[0]); ++d) {
    const pid_t worker = find_worker();
    ck_assert_int_gt(worker, 1);
    const size_t n_said = strlen(program_peek(&program));
    kill(worker, deaths[d]);
    AWAIT(strstr(program_peek(&program) + n_said, "\"worker.back\""));
    ck_assert_int_ne(find_worker(), worker);
    forget_messages();
    ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  }
  live_assert_said("\"event\":\"worker.lost\",\"level\":\"error\"");
  ck_assert_ptr_null(strstr(program_peek(&program), "\"text\":\"\"")); // no event without a text
  live_end(SIGTERM);
}

TEST(the_program_is_ready_and_alive_while_it_waits_for_a_server)
{
  be_manager();
  const char* const words[] = { "run",    "--io",       "jack", "--server", "warprack-none",
                                "--wait", "--osc-port", "0",    "gain",     NULL };
  program_start(&program, words);
  ck_assert(is_told("READY=1", PATIENCE_MS));
  ck_assert(is_told("STATUS=waiting for jack", PATIENCE_MS));
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  live_end(SIGTERM);
}

TEST(sighup_is_reported_as_a_reload)
{
  be_manager();
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  LIVE_START(scratch_path(&scratch, "live.rack"));
  kill(program.pid, SIGHUP);
  ck_assert(is_told("RELOADING=1\nMONOTONIC_USEC=", PATIENCE_MS));
  ck_assert(is_told("READY=1", PATIENCE_MS));
  program_expect(&program, "\"rack.reloaded\"");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

/// Enter a new network namespace, whose only interface, loopback, also has the address 192.0.2.1
/// (RFC 5737).  Returns false if the system does not allow that.
static bool
enter_network(void)
{
  struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
  struct ifreq more = { .ifr_name = "lo:1", .ifr_addr.sa_family = AF_INET };
  ck_assert_int_eq(
      inet_pton(AF_INET, "192.0.2.1", &((struct sockaddr_in*)&more.ifr_addr)->sin_addr), 1);
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
    return false;
  }
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &up), 0);
  ck_assert_int_eq(ioctl(fd, SIOCSIFADDR, &more), 0);
  close(fd);
  return true;
}

// The program reloads a rack with a message to its own server.  A sender on another machine gets no
// answer that is larger than its message; this sender must get its answer.
TEST(a_server_on_all_interfaces_accepts_its_own_messages)
{
  if (!enter_network()) {
    suite_skip("cannot make a network namespace");
    return;
  }
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  LIVE_START("--osc-bind", "192.0.2.1", "--osc-allow", "192.0.2.7",
             scratch_path(&scratch, "live.rack"));
  kill(program.pid, SIGHUP);
  program_expect(&program, "\"rack.re");
  live_assert_said("\"rack.reloaded\"");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

// ---- ends ----

TEST(storms_of_signals_change_nothing_and_end_in_order)
{
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  LIVE_START(scratch_path(&scratch, "live.rack"));
  for (int i = 0; i < N_SIGNALS; ++i) {
    kill(program.pid, SIGHUP);
    kill(program.pid, SIGPIPE);
  }
  program_expect(&program, "\"rack.reloaded\"");
  live_assert_plays("-6dB");
  int status = 0;
  while (waitpid(program.pid, &status, WNOHANG) == 0) {
    kill(program.pid, SIGTERM);
    kill(program.pid, SIGHUP);
    kill(program.pid, SIGPIPE);
    sched_yield();
  }
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  live_assert_said("\"why\":\"terminated\"");
  program.pid = 0;
  scratch_remove(&scratch);
}

TEST(a_thread_that_hangs_does_not_prevent_the_end)
{
  LIVE_START("gain -6dB");
  const pid_t thread = stop_thread("warprack-osc");
  kill(program.pid, SIGTERM);
  ck_assert_int_eq(waitpid(thread, NULL, __WALL), thread);
  program_wait(&program);
  ck_assert_int_eq(program.exit_code, 0);
  assert_says(program.out, "terminated");
}

#define OWN_ADDRESS "127.0.0.9" // no other test listens there

/// Set live_port to a port that is free, and keep it free at OWN_ADDRESS while the returned socket
/// is open: the system gives it to no socket that is bound to all addresses.
static int
keep_port(void)
{
  const int keeper = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n_bytes = sizeof(address);
  ck_assert_int_eq(bind(keeper, (struct sockaddr*)&address, n_bytes), 0);
  getsockname(keeper, (struct sockaddr*)&address, &n_bytes);
  snprintf(live_port, sizeof(live_port), "%u", ntohs(address.sin_port));
  return keeper;
}

/// Make a pipe and fill it.
static void
make_full_pipe(int ends[2])
{
  const char page[4096] = { 0 };
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  while (write(ends[1], page, sizeof(page)) > 0) {
  }
  ck_assert_int_eq(errno, EAGAIN);
  fcntl(ends[1], F_SETFL, 0); // a further write blocks
}

static pid_t
start_into(const int fd)
{
  const pid_t pid = fork();
  if (!pid) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execl(getenv("WARPRACK_PROGRAM"), "warprack", "run", "--io", "dummy", "--json", "--osc-port",
          live_port, "--osc-bind", OWN_ADDRESS, "gain -6dB", NULL);
    _exit(127);
  }
  return pid;
}

TEST(the_program_runs_without_a_reader_of_its_output)
{
  int ends[2];
  make_full_pipe(ends);
  SCOPED_FD const int keeper = keep_port();
  const pid_t pid = start_into(ends[1]);
  int exit_code = -1;
  while (exit_code) { // until the program listens on the port
    SCOPED(program_clear) Program sender = { .pid = 0 };
    PROGRAM_RUN(&sender, "send", "--osc-port", live_port, "--host", OWN_ADDRESS, "--timeout", "0.2",
                "/server/ping");
    exit_code = sender.exit_code;
  }
  // The program still executes commands.
  LIVE_ASK("--host", OWN_ADDRESS, "/rack/chain", "gain -7dB");
  kill(pid, SIGTERM);
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  ck_assert_int_eq(write(ends[1], "x", 1), -1); // positive control: the pipe is still full
  close(ends[0]);
  close(ends[1]);
}

TEST(each_problem_has_its_event)
{
  static float bad[64];
  const float* const samples[] = { bad, bad };
  scratch = scratch_new();
  for (uint32_t i = 0; i < 64U; ++i) {
    bad[i] = NAN;
  }
  scratch_write_wav(&scratch, "in.wav", samples, 2, 64, 48000);
  LIVE_START("--play", scratch_path(&scratch, "in.wav"), "gain");
  program_expect(&program, "\"event\":\"input.bad\",\"level\":\"warning\"");
  live_assert_said("128 input samples were NaN or infinite, 128 in all");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

// ---- poor machines ----

TEST(without_privileges_the_program_runs_and_reports_it_once)
{
  prctl(PR_CAPBSET_DROP, CAP_SYS_NICE); // fails for users other than root, who lack both anyway
  prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK);
  setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 0, 0 });
  setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 65536, 65536 });
  RUN_GOOD("run", "--io", "dummy", "--osc-port", "0", "--duration", "1.5", "--json", "gain");
  const char* const said = strstr(program.out, "\"realtime.missing\"");
  ck_assert_msg(said, "%s", program.out);
  ck_assert_ptr_null(strstr(said + 1, "\"realtime.missing\""));
}

TEST(one_processor_is_enough)
{
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
  RUN_GOOD("run", "--io", "dummy", "--fast", "--osc-port", "0", "--duration", "2", "--json",
           "gain | reverb");
  assert_says(program.out, "\"late\":0");
}

SUITE_MAIN("service_manager")
