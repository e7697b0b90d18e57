// SPDX-License-Identifier: GPL-3.0-or-later
// Confines a child of the scan.

#include "scan_confine.h"

#include "scan_filter.h"

#include "engine/base/process.h"
#include "plugins/plugin_environment.h"
#include "plugins/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE_VALUE       10  // a scan may run beside a live server
#define OOM_SCORE        500 // the kernel kills a child before the programs of users
#define MAX_MEMORY_BYTES (UINT64_C(4) << 30U) // more than the process has when it starts
#define NO_LIMIT         UINT64_MAX

static void
set_signals(void)
{
  for (int number = 1; number < NSIG; ++number) {
    signal(number, number == SIGXFSZ ? SIG_IGN : SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool
set_descriptors(const int output)
{
  const int nothing = open("/dev/null", O_RDWR);
  const bool done = nothing >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                    dup2(output, STDERR_FILENO) >= 0 && dup2(nothing, STDIN_FILENO) >= 0;
  closefrom(STDERR_FILENO + 1);
  return done;
}

/// Lower a limit, unless it is lower.
static bool
set_limit(const int resource, const uint64_t max)
{
  struct rlimit limit;
  if (getrlimit(resource, &limit)) {
    return false;
  }
  limit.rlim_max = max < limit.rlim_max ? max : limit.rlim_max;
  limit.rlim_cur = limit.rlim_max;
  return !setrlimit(resource, &limit);
}

static bool
set_limits(const uint64_t max_cpu_s, const uint64_t max_file_bytes)
{
  return set_limit(RLIMIT_AS, process_memory().mapped_bytes + MAX_MEMORY_BYTES) &&
         set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_CPU, max_cpu_s) &&
         set_limit(RLIMIT_FSIZE, max_file_bytes);
}

/// Enter a domain of its own (landlock(7)): it closes the memory of all processes outside, such as
/// /proc/PID/mem, also for root.  True if the kernel has no Landlock.
static bool
enter_domain(void)
{
  const struct landlock_ruleset_attr rules = {
    .handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK, // a domain has to refuse something
  };
  const int fd =
      (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules.handled_access_fs), 0);
  if (fd < 0) {
    return errno == ENOSYS || errno == EOPNOTSUPP;
  }
  const bool done = !syscall(SYS_landlock_restrict_self, fd, 0);
  close(fd);
  return done;
}

#if defined(__SANITIZE_ADDRESS__)
/// LeakSanitizer calls this when a process ends.  It cannot trace a confined process, in which a
/// plugin has called exit().
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
  return prctl(PR_GET_DUMPABLE) == 0;
}
#endif

/// Take the rights of this process, see scan_confine().
static bool
drop_rights(const uint64_t max_cpu_s, const uint64_t max_file_bytes, const bool may_fork)
{
  return set_limits(max_cpu_s, max_file_bytes) && !prctl(PR_SET_DUMPABLE, 0) &&
         !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && enter_domain() && scan_filter_install(may_fork);
}

bool
scan_confine_rights(const uint64_t max_file_bytes)
{
  signal(SIGXFSZ, SIG_IGN);
  return drop_rights(NO_LIMIT, max_file_bytes, false);
}

bool
scan_confine(const pid_t parent, const int output, const uint64_t max_cpu_s,
             const uint64_t max_file_bytes, const bool may_fork)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }); // of a parent in real time, too
  setpriority(PRIO_PROCESS, 0, NICE_VALUE);
  process_be_killed_first(OOM_SCORE);
  set_signals();
  plugin_environment();
  return getppid() == parent && set_descriptors(output) &&
         drop_rights(max_cpu_s, max_file_bytes, may_fork);
}
