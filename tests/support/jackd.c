// SPDX-License-Identifier: GPL-3.0-or-later
// A JACK server without a sound card, one per test.

#include "jackd.h"

#include "engine/base/hash.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED_BYTES (48U << 20U) // containers often have 64 MiB; a server without room gets SIGBUS

static int output = -1; // what the last server prints

/// Start a program whose output goes to a descriptor.
static pid_t
spawn(const Jackd* const jackd, const char* const* const words, const int to)
{
  const pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (!pid) {
    setpgid(0, 0); // Check kills a failed test's group with SIGKILL; a server needs SIGTERM
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv("JACK_DEFAULT_SERVER", jackd->name, 1);
    setenv("JACK_NO_AUDIO_RESERVATION", "1", 1);
    dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    execvp(words[0], (char* const*)words);
    _exit(127);
  }
  return pid;
}

/// A name that is the same at every run, and different for each test program and build folder.
static void
name_server(char* const name, const size_t size)
{
  const char* const folder = getenv("WARPRACK_PROGRAM");
  const uint32_t hash = hash_text(HASH32_START, folder ? folder : "");
  snprintf(name, size, "warprack-%08x-%s", (unsigned)hash, program_invocation_short_name);
}

/// Start a program whose output nobody reads.
static pid_t
spawn_silent(const Jackd* const jackd, const char* const* const words)
{
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const pid_t pid = spawn(jackd, words, null);
  close(null);
  return pid;
}

int
jackd_suite_run(const char* const name)
{
  struct statvfs shared;
  if (system("command -v jackd >/dev/null")) {
    printf("skipped: no jackd\n");
    return TEST_SKIPPED;
  }
  if (!statvfs("/dev/shm", &shared) && shared.f_bavail * shared.f_frsize < SHARED_BYTES) {
    printf("skipped: jackd needs %u MiB of /dev/shm\n", SHARED_BYTES >> 20U);
    return TEST_SKIPPED;
  }
  return suite_run(name);
}

void
jackd_launch(Jackd* const jackd, const unsigned rate_hz, const unsigned period_frames)
{
  char rate[16];
  char period[16];
  snprintf(rate, sizeof(rate), "%u", rate_hz);
  snprintf(period, sizeof(period), "%u", period_frames);
  name_server(jackd->name, sizeof(jackd->name));
  // Every client locks the server's memory, 50 kB for each possible port.  With the default of
  // 2,048 ports that takes 30 ms.
  const char* const words[] = { "jackd", "-r", "-p", "128", "-n",   jackd->name, "-d",
                                "dummy", "-r", rate, "-p",  period, NULL };
  close(output);
  output = memfd_create("jackd", MFD_CLOEXEC);
  jackd->pid = spawn(jackd, words, output);
}

void
jackd_start(Jackd* const jackd, const unsigned rate_hz, const unsigned period_frames)
{
  jackd_launch(jackd, rate_hz, period_frames);
  char said[2048] = "";
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  while (jackd_tool(jackd, "jack_lsp", NULL)) {
    const bool has_ended = waitpid(jackd->pid, NULL, WNOHANG) != 0;
    if (has_ended || time_now_ns() >= end_ns) {
      (void)!pread(output, said, sizeof(said) - 1U, 0);
      ck_abort_msg("jackd %s:\n%s", has_ended ? "has ended" : "does not start", said);
    }
    usleep(10000);
  }
}

void
jackd_kill(Jackd* const jackd, const int signal_number)
{
  ck_assert_int_gt(jackd->pid, 0);
  kill(jackd->pid, signal_number);
  ck_assert_int_eq(waitpid(jackd->pid, NULL, 0), jackd->pid);
  jackd->pid = 0;
}

void
jackd_stop(Jackd* const jackd)
{
  jackd_kill(jackd, SIGTERM);
}

int
jackd_tool(const Jackd* const jackd, const char* const program, ...)
{
  const char* words[16] = { program };
  va_list args;
  va_start(args, program);
  for (unsigned n = 1; n < 15U && (words[n] = va_arg(args, const char*)); ++n) {
  }
  va_end(args);
  int status = -1;
  waitpid(spawn_silent(jackd, words), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

pid_t
jackd_run(const Jackd* const jackd, const char* const program)
{
  const char* const words[] = { program, NULL };
  return spawn_silent(jackd, words);
}
