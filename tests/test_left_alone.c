// SPDX-License-Identifier: GPL-3.0-or-later
// warprack run, left alone with a service manager: says that it is ready and alive, and only then;
// comes back with what played; leaves a crash loop by itself; ends in order whatever is thrown at
// it and whoever does not read what it says.

#include "support/program.h"
#include "support/scratch.h"
#include "support/signals.h"
#include "support/suite.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS  20000
#define WATCHDOG_US  "1000000"
#define STARVES_MS   1500 // three times as long as the watchdog is left unfed
#define N_SIGNALS    2000
#define RATE         48000
#define FRAMES       4800U
#define LAST_PLAYED  "the rack that played last"
#define SILENT_BELOW 1e-9f

static Program program;
static Program sender;
static Scratch scratch;
static char port[8];

static uint64_t
now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

static void
sleep_ms(const long ms)
{
  nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/// Start it on the dummy driver with a state folder, and wait until it runs.
#define START(...)                                                                                 \
  do {                                                                                             \
    const char* const words_[] = { "run",        "--io",    "dummy",                               \
                                   "--json",     "--state", scratch_path(&scratch, "state"),       \
                                   "--osc-port", "0",       __VA_ARGS__,                           \
                                   NULL };                                                         \
    program_start(&program, words_);                                                               \
    program_expect(&program, "\"osc_port\":");                                                     \
    ck_assert_int_eq(                                                                              \
        sscanf(strstr(program_peek(&program), "\"osc_port\":"), "\"osc_port\":%7[0-9]", port), 1); \
  } while (0)

#define SEND(...)                                                                                  \
  do {                                                                                             \
    PROGRAM_RUN(&sender, "send", "--osc-port", port, __VA_ARGS__);                                 \
    ck_assert_msg(sender.exit_code == 0, "%s", sender.err);                                        \
  } while (0)

static void
assert_said(const char* const part)
{
  ck_assert_msg(strstr(program_peek(&program), part), "'%s' is not in: %s", part, program.out);
}

/// The rack that plays has `part` in its text.
static void
assert_plays(const char* const part)
{
  SEND("/rack/get");
  ck_assert_msg(strstr(sender.out, part), "'%s' is not in: %s", part, sender.out);
  program_clear(&sender);
}

static void
change_to(const char* const chain)
{
  SEND("/rack/chain", chain);
  program_clear(&sender);
}

/// End the program by a signal; SIGTERM is in order.
static void
end_by(const int number)
{
  kill(program.pid, number);
  program_wait(&program);
  ck_assert_int_eq(program.exit_code, number == SIGTERM ? 0 : -1);
  program_clear(&program);
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

/// True when the manager is told `what` within the time.
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

/// The thread of the program with that name.
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
  ck_assert_msg(found, "no thread is called %s", name);
  return found;
}

START_TEST(a_manager_hears_that_it_is_ready_and_alive)
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
  program_clear(&program);
}
END_TEST

START_TEST(a_thread_that_hangs_starves_the_watchdog)
{
  static const char* const threads[] = { "warprack-osc", "warprack-worker" };
  for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); ++t) {
    be_manager();
    const char* const words[] = { "run", "--io", "dummy", "--osc-port", "0", "gain", NULL };
    program_start(&program, words);
    ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
    const pid_t thread = find_thread(threads[t]);
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, thread, NULL, NULL), 0);
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    ck_assert_int_eq(waitpid(thread, NULL, __WALL), thread);
    (void)is_told("WATCHDOG=1", STARVES_MS); // for what it has done before
    forget_messages();
    ck_assert_msg(!is_told("WATCHDOG=1", STARVES_MS), "%s hangs", threads[t]);
    ck_assert_int_eq(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
    ck_assert(is_told("WATCHDOG=1", PATIENCE_MS)); // it was nothing else
    end_by(SIGTERM);
    close(manager);
  }
}
END_TEST

START_TEST(it_is_ready_and_alive_while_it_waits_for_a_server)
{
  be_manager();
  const char* const words[] = { "run",    "--io",       "jack", "--server", "warprack-none",
                                "--wait", "--osc-port", "0",    "gain",     NULL };
  program_start(&program, words);
  ck_assert(is_told("READY=1", PATIENCE_MS));
  ck_assert(is_told("STATUS=waiting for jack", PATIENCE_MS));
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  ck_assert(is_told("WATCHDOG=1", PATIENCE_MS));
  end_by(SIGTERM);
}
END_TEST

START_TEST(a_hangup_is_told_as_a_reload)
{
  be_manager();
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  START(scratch_path(&scratch, "live.rack"));
  kill(program.pid, SIGHUP);
  ck_assert(is_told("RELOADING=1\nMONOTONIC_USEC=", PATIENCE_MS));
  ck_assert(is_told("READY=1", PATIENCE_MS));
  program_expect(&program, "\"rack.reloaded\"");
  end_by(SIGTERM);
  scratch_remove(&scratch);
}
END_TEST

// ---- what comes back ----

START_TEST(what_played_comes_back_unless_the_command_line_has_changed)
{
  scratch = scratch_new();
  START("gain -6dB");
  change_to("gain -7dB");
  end_by(SIGTERM);
  START("gain -6dB"); // the same command line
  assert_said(LAST_PLAYED);
  assert_plays("-7dB");
  end_by(SIGTERM);
  START("--fresh", "gain -6dB");
  assert_plays("-6dB");
  end_by(SIGTERM);
  START("gain -8dB"); // the operator wants something else
  assert_plays("-8dB");
  change_to("gain -9dB");
  end_by(SIGTERM);
  START("gain -8dB");
  assert_plays("-9dB");
  end_by(SIGTERM);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(a_rack_that_was_heard_for_some_seconds_survives_a_kill)
{
  scratch = scratch_new();
  START("gain -6dB");
  change_to("gain -7dB");
  char kept[512] = "";
  for (uint64_t until_ms = now_ms() + PATIENCE_MS; now_ms() < until_ms; sleep_ms(20)) {
    FILE* const file = fopen(scratch_path(&scratch, "state/present.rack"), "re");
    if (file) {
      kept[fread(kept, 1, sizeof(kept) - 1U, file)] = '\0';
      fclose(file);
      if (strstr(kept, "-7dB")) {
        break;
      }
    }
  }
  change_to("gain -8dB"); // not heard for long enough
  end_by(SIGKILL);
  START("gain -6dB");
  assert_plays("-7dB");
  end_by(SIGTERM);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(a_reload_counts_as_what_the_command_line_says)
{
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  START(scratch_path(&scratch, "live.rack"));
  scratch_write(&scratch, "live.rack", "chain gain -7dB\n", 16);
  kill(program.pid, SIGHUP);
  program_expect(&program, "\"rack.reloaded\"");
  change_to("gain -8dB");
  end_by(SIGTERM);
  START(scratch_path(&scratch, "live.rack"));
  assert_plays("-8dB");
  end_by(SIGTERM);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(a_damaged_rack_file_does_not_keep_it_silent)
{
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  START(scratch_path(&scratch, "live.rack"));
  end_by(SIGTERM);
  scratch_write(&scratch, "live.rack", "chain gain -6dB | gian\n", 23);
  START(scratch_path(&scratch, "live.rack"));
  assert_plays("-6dB");
  end_by(SIGTERM);
  scratch_write(&scratch, "state/present.rack", "chain gian\n", 11);
  PROGRAM_RUN(&program, "run", "--io", "dummy", "--osc-port", "0", "--state",
              scratch_path(&scratch, "state"), scratch_path(&scratch, "live.rack"));
  ck_assert_int_eq(program.exit_code, 2); // nothing is left
  ck_assert_msg(strstr(program.err, "live.rack:1:19: "), "%s", program.err);
  ck_assert_msg(strstr(program.err, "state.refused: " LAST_PLAYED), "%s", program.err);
  program_clear(&program);
  scratch_remove(&scratch);
}
END_TEST

// ---- crash loops ----

static float
peak_of(const char* const path)
{
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  float* const samples = scratch_read(path, &n_channels, &n_frames, &rate_hz);
  float peak = 0.0f;
  for (size_t i = 0; i < n_frames * n_channels; ++i) {
    peak = samples[i] > peak ? samples[i] : peak;
  }
  ck_assert_uint_gt(n_frames, 0);
  free(samples);
  return peak;
}

/// One start that does not live.
static void
start_and_kill(void)
{
  START("gain -6dB");
  end_by(SIGKILL);
}

START_TEST(the_third_start_that_has_not_lived_is_the_last_good_rack_muted)
{
  static float noise[FRAMES];
  const float* const samples[] = { noise, noise };
  scratch = scratch_new();
  signal_noise(noise, FRAMES, 1);
  scratch_write_wav(&scratch, "in.wav", samples, 2, FRAMES, RATE);
  char in[160];
  char out[160];
  snprintf(in, sizeof(in), "%s", scratch_path(&scratch, "in.wav"));
  snprintf(out, sizeof(out), "%s", scratch_path(&scratch, "out.wav"));

  START("--play", in, "--record", out, "gain -6dB");
  program_expect(&program, "\"status\""); // has played for a second
  end_by(SIGTERM);
  ck_assert_float_gt(peak_of(out), 0.1f); // positive control

  start_and_kill();
  start_and_kill();
  scratch_write(&scratch, "state/good.rack", "chain gain -11dB\n", 17);
  START("--play", in, "--record", out, "gain -6dB");
  assert_said("\"event\":\"state.loop\",\"level\":\"error\"");
  assert_said("the last good rack");
  assert_plays("-11dB");
  SEND("/server/status");
  ck_assert_msg(strstr(sender.out, "\"muted\" 1") || strstr(sender.out, "muted 1"), "%s",
                sender.out);
  program_clear(&sender);
  program_expect(&program, "\"status\"");
  end_by(SIGTERM); // in order: the loop is over
  ck_assert_float_lt(peak_of(out), SILENT_BELOW);

  START("--play", in, "--record", out, "gain -6dB");
  ck_assert_ptr_null(strstr(program_peek(&program), "state.loop"));
  program_expect(&program, "\"status\"");
  end_by(SIGTERM);
  ck_assert_float_gt(peak_of(out), 0.05f);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(the_fifth_start_that_has_not_lived_is_the_empty_rack)
{
  scratch = scratch_new();
  for (int i = 0; i < 4; ++i) {
    start_and_kill();
    scratch_write(&scratch, "state/good.rack", "chain gain -11dB\n", 17);
  }
  START("gain -6dB");
  assert_said("the empty rack");
  assert_plays("connect in out");
  end_by(SIGTERM);
  scratch_remove(&scratch);
}
END_TEST

/// Put another rack into the file of what played last, under the same origin.
static void
spoil_present(const char* const rack)
{
  char text[512];
  FILE* const file = fopen(scratch_path(&scratch, "state/present.rack"), "r+");
  ck_assert_ptr_nonnull(file);
  ck_assert_ptr_nonnull(fgets(text, sizeof(text), file)); // the first line
  const long at = ftell(file);
  ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
  fputs(rack, file);
  ck_assert_int_eq(ftruncate(fileno(file), at + (long)strlen(rack)), 0);
  fclose(file);
}

START_TEST(a_rack_whose_files_are_gone_makes_way_for_the_next_best)
{
  scratch = scratch_new();
  START("gain -6dB");
  end_by(SIGTERM);
  spoil_present("chain fir no/such/file.txt\n");
  START("gain -6dB");
  assert_said("\"state.refused\"");
  assert_plays("-6dB");
  end_by(SIGTERM);
  scratch_remove(&scratch);
}
END_TEST

// ---- ends ----

START_TEST(storms_of_signals_change_nothing_and_end_in_order)
{
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  START(scratch_path(&scratch, "live.rack"));
  for (int i = 0; i < N_SIGNALS; ++i) {
    kill(program.pid, SIGHUP);
    kill(program.pid, SIGPIPE);
  }
  program_expect(&program, "\"rack.reloaded\"");
  assert_plays("-6dB");
  int status = 0;
  while (waitpid(program.pid, &status, WNOHANG) == 0) {
    kill(program.pid, SIGTERM);
    kill(program.pid, SIGHUP);
    kill(program.pid, SIGPIPE);
    sched_yield();
  }
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  assert_said("\"why\":\"terminated\"");
  program.pid = 0;
  program_clear(&program);
  scratch_remove(&scratch);
}
END_TEST

/// A port that was free a moment ago.
static void
find_port(void)
{
  const int probe = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n_bytes = sizeof(address);
  ck_assert_int_eq(bind(probe, (struct sockaddr*)&address, n_bytes), 0);
  getsockname(probe, (struct sockaddr*)&address, &n_bytes);
  snprintf(port, sizeof(port), "%u", ntohs(address.sin_port));
  close(probe);
}

/// A pipe that takes nothing any more.
static void
make_full_pipe(int ends[2])
{
  const char page[4096] = { 0 };
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  while (write(ends[1], page, sizeof(page)) > 0) {
  }
  ck_assert_int_eq(errno, EAGAIN);
  fcntl(ends[1], F_SETFL, 0); // writers wait
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
          port, "gain -6dB", NULL);
    _exit(127);
  }
  return pid;
}

START_TEST(nobody_has_to_read_what_it_says)
{
  int ends[2];
  make_full_pipe(ends);
  find_port();
  const pid_t pid = start_into(ends[1]);
  int exit_code = -1;
  while (exit_code) { // until it listens
    PROGRAM_RUN(&sender, "send", "--osc-port", port, "--timeout", "0.2", "/server/ping");
    exit_code = sender.exit_code;
    program_clear(&sender);
  }
  change_to("gain -7dB"); // commands are done
  kill(pid, SIGTERM);
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  ck_assert_int_eq(write(ends[1], "x", 1), -1); // positive control: it is full to the end
  close(ends[0]);
  close(ends[1]);
}
END_TEST

// ---- poor machines ----

START_TEST(a_full_disk_refuses_saves_and_nothing_else)
{
  const char page[4096] = { 0 };
  scratch = scratch_new();
  mkdir(scratch_path(&scratch, "disk"), 0777);
  if (mount("tmpfs", scratch_path(&scratch, "disk"), "tmpfs", 0, "size=64k")) {
    printf("skipped: no tmpfs can be mounted\n");
    scratch_remove(&scratch);
    return;
  }
  symlink("disk/state", scratch_path(&scratch, "state"));
  mkdir(scratch_path(&scratch, "disk/state"), 0777);
  START("--root", scratch_path(&scratch, "disk"), "gain -6dB");
  const int filler = open(scratch_path(&scratch, "disk/filler"), O_WRONLY | O_CREAT, 0666);
  while (write(filler, page, sizeof(page)) > 0) {
  }
  close(filler);
  PROGRAM_RUN(&sender, "send", "--osc-port", port, "/rack/save", "live.rack");
  ck_assert_msg(strstr(sender.out, "No space left"), "%s%s", sender.out, sender.err);
  program_clear(&sender);
  change_to("gain -7dB");
  program_expect(&program, "\"state.unsaved\"");
  assert_plays("-7dB");
  unlink(scratch_path(&scratch, "disk/filler"));
  SEND("/rack/save", "live.rack");
  program_clear(&sender);
  end_by(SIGTERM);
  START("gain -6dB");
  assert_plays("-7dB"); // there was room at the end
  end_by(SIGTERM);
  umount2(scratch_path(&scratch, "disk"), MNT_DETACH);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(without_privileges_it_runs_and_says_so_once)
{
  prctl(PR_CAPBSET_DROP, CAP_SYS_NICE); // fails for a plain user, who has neither
  prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK);
  setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 0, 0 });
  setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 65536, 65536 });
  PROGRAM_RUN(&program, "run", "--io", "dummy", "--osc-port", "0", "--duration", "1.5", "--json",
              "gain");
  ck_assert_int_eq(program.exit_code, 0);
  const char* const said = strstr(program.out, "\"realtime.missing\"");
  ck_assert_msg(said, "%s", program.out);
  ck_assert_ptr_null(strstr(said + 1, "\"realtime.missing\""));
  program_clear(&program);
}
END_TEST

START_TEST(one_processor_is_enough)
{
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
  PROGRAM_RUN(&program, "run", "--io", "dummy", "--fast", "--osc-port", "0", "--duration", "2",
              "--json", "gain | reverb");
  ck_assert_int_eq(program.exit_code, 0);
  ck_assert_msg(strstr(program.out, "\"late\":0"), "%s", program.out);
  program_clear(&program);
}
END_TEST

SUITE_MAIN("left_alone", a_full_disk_refuses_saves_and_nothing_else,
           a_manager_hears_that_it_is_ready_and_alive, a_thread_that_hangs_starves_the_watchdog,
           it_is_ready_and_alive_while_it_waits_for_a_server, a_hangup_is_told_as_a_reload,
           what_played_comes_back_unless_the_command_line_has_changed,
           a_rack_that_was_heard_for_some_seconds_survives_a_kill,
           a_reload_counts_as_what_the_command_line_says,
           a_damaged_rack_file_does_not_keep_it_silent,
           the_third_start_that_has_not_lived_is_the_last_good_rack_muted,
           the_fifth_start_that_has_not_lived_is_the_empty_rack,
           a_rack_whose_files_are_gone_makes_way_for_the_next_best,
           storms_of_signals_change_nothing_and_end_in_order, nobody_has_to_read_what_it_says,
           without_privileges_it_runs_and_says_so_once, one_processor_is_enough)
