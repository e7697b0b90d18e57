// SPDX-License-Identifier: GPL-3.0-or-later
// Runs jobs in child processes: fork(2), a signal when one ends, a deadline for each.

#include "scan_children.h"

#include "scan_confine.h"

#include "engine/base/text.h"
#include "engine/base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHILDREN 64U
#define MAX_OTHERS   256U
#define MAX_LISTED   512U // at a time; more than MAX_CHILDREN + MAX_OTHERS
#define PATIENCE     10U  // longest time for a job, as a multiple of its limit
#define LINE_BYTES   160U // of what a child prints, in its fault
#define BUSY_PART    2U   // of its time a child waited for the processor: the machine is busy

typedef struct Child {
  pid_t pid; ///< 0: none
  uint32_t job;
  Report* report;
  int output;        ///< File of what it prints
  uint64_t end_ns;   ///< Its deadline
  uint64_t last_ns;  ///< The last possible deadline
  uint64_t delay_ns; ///< run_delay_ns() at the last look
  size_t n_bytes;    ///< Of its report at the last look
  bool is_late;      ///< It was killed
} Child;

/// The children of a children_run().
typedef struct Crew {
  const ChildJobs* jobs;
  Child children[MAX_CHILDREN];
  uint32_t n_children;
  uint32_t n_running;
  uint32_t n_started; ///< Jobs
  pid_t parent;
  int interrupt;            ///< Signal that ends the run, or 0
  pid_t others[MAX_OTHERS]; ///< Children from before, which live on
  uint32_t n_others;        ///< MAX_OTHERS: perhaps there are more, and no orphan is killed
} Crew;

bool
report_add(Report* const report, const size_t max_bytes, const char* const text,
           const size_t n_bytes)
{
  const bool has_room = n_bytes <= max_bytes && report->n_bytes <= max_bytes - n_bytes;
  if (has_room) {
    memcpy(report->text + report->n_bytes, text, n_bytes);
    report->n_bytes += n_bytes;
  }
  return has_room;
}

// ---- starting ----

static size_t
report_bytes(const ChildJobs* const jobs)
{
  return sizeof(Report) + jobs->max_bytes;
}

_Noreturn static void
child_main(const Crew* const crew, const Child* const child)
{
  const bool is_private = !madvise(child->report, report_bytes(crew->jobs), MADV_DONTFORK);
  const ChildJobs* const jobs = crew->jobs;
  if (scan_confine(crew->parent, child->output, jobs->max_cpu_s, jobs->max_file_bytes,
                   jobs->may_fork) &&
      is_private) {
    jobs->work(jobs->context, child->job, child->report);
    child->report->is_complete = true;
  }
  _exit(0);
}

static void
clear_child(const Crew* const crew, Child* const child)
{
  if (child->report != MAP_FAILED) {
    munmap(child->report, report_bytes(crew->jobs));
  }
  if (child->output >= 0) {
    close(child->output);
  }
  child->pid = 0;
}

/// Start the next job.  No later child, and no child of this one, shares its memory.
static Status
start_child(Crew* const crew, Child* const child, Error* const error)
{
  const size_t n_bytes = report_bytes(crew->jobs);
  const uint64_t limit_ns = crew->jobs->limit_ms * NS_PER_MS;
  const uint64_t now_ns = time_now_ns();
  *child = (Child){
    .job = crew->n_started,
    .report = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
    .output = memfd_create("plugin", MFD_CLOEXEC),
    .end_ns = now_ns + limit_ns,
    .last_ns = now_ns + PATIENCE * limit_ns,
  };
  child->pid = child->report != MAP_FAILED && child->output >= 0 ? fork() : -1;
  if (!child->pid) {
    child_main(crew, child);
  }
  if (child->pid < 0 || madvise(child->report, n_bytes, MADV_DONTFORK)) {
    const int code = errno;
    clear_child(crew, child);
    return error_set(error, STATUS_NO_MEM, "cannot start a process for the scan: %s",
                     strerror(code));
  }
  ++crew->n_running;
  ++crew->n_started;
  return STATUS_OK;
}

static Status
start_children(Crew* const crew, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t c = 0; c < crew->n_children; ++c) {
    if (!status && !crew->children[c].pid && crew->n_started < crew->jobs->n_jobs) {
      status = start_child(crew, &crew->children[c], error);
    }
  }
  return crew->n_running ? STATUS_OK : status; // those that run will make room
}

// ---- ending ----

static bool
is_running(const Crew* const crew, const pid_t pid)
{
  bool found = false;
  for (uint32_t c = 0; c < crew->n_children; ++c) {
    found = found || crew->children[c].pid == pid;
  }
  for (uint32_t o = 0; o < crew->n_others; ++o) {
    found = found || crew->others[o] == pid;
  }
  return found;
}

/// List at most `max` children of this process; returns their number.
static uint32_t
list_children(pid_t* const pids, const uint32_t max)
{
  FILE* const list = fopen("/proc/thread-self/children", "re");
  uint32_t n = 0;
  while (list && n < max && fscanf(list, "%d", &pids[n]) == 1) {
    ++n;
  }
  if (list) {
    fclose(list);
  }
  return n;
}

/// Kill the processes that ended children have left behind; returns their number.
static uint32_t
kill_orphans_once(const Crew* const crew)
{
  pid_t pids[MAX_LISTED];
  const uint32_t n = crew->n_others < MAX_OTHERS ? list_children(pids, MAX_LISTED) : 0U;
  uint32_t n_killed = 0;
  for (uint32_t c = 0; c < n; ++c) {
    if (!is_running(crew, pids[c])) {
      kill(pids[c], SIGKILL);
      waitpid(pids[c], NULL, 0);
      ++n_killed;
    }
  }
  return n_killed;
}

static void
kill_orphans(const Crew* const crew)
{
  while (kill_orphans_once(crew)) { // their own children are orphans then
  }
}

/// The first line that a child has printed.
static void
read_line(const int output, char line[const LINE_BYTES])
{
  const ssize_t n = pread(output, line, LINE_BYTES - 1U, 0);
  line[n > 0 ? n : 0] = '\0';
  line[strcspn(line, "\n")] = '\0';
  text_make_printable(line);
}

/// Write the reason why a report is not complete.
static void
print_end(const Child* const child, const int status, char fault[const REPORT_FAULT_BYTES])
{
  char line[LINE_BYTES];
  read_line(child->output, line);
  const char* const colon = line[0] ? ": " : "";
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const char* const name = number ? sigabbrev_np(number) : NULL;
  if (child->is_late || number == SIGALRM || number == SIGXCPU) {
    snprintf(fault, REPORT_FAULT_BYTES, "took too long%s%s", colon, line);
  } else if (number) {
    snprintf(fault, REPORT_FAULT_BYTES, "crashed (SIG%s)%s%s", name ? name : "?", colon, line);
  } else {
    snprintf(fault, REPORT_FAULT_BYTES, "ended the process with code %d%s%s", WEXITSTATUS(status),
             colon, line);
  }
}

/// True if a fault may be gone at the next attempt: the child took too long while others had the
/// processor, or nobody here has killed it, but perhaps the kernel, because memory is short.
static bool
is_transient(const Crew* const crew, const Child* const child, const int status)
{
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return child->is_late || number == SIGALRM
             ? child->delay_ns >= crew->jobs->limit_ms * NS_PER_MS / BUSY_PART
             : number == SIGKILL;
}

static void
end_child(Crew* const crew, Child* const child, const int status)
{
  child->pid = 0;
  --crew->n_running;
  kill_orphans(crew);
  Report* const report = child->report;
  char fault[REPORT_FAULT_BYTES];
  if (report->is_complete && report->n_bytes <= crew->jobs->max_bytes) {
    snprintf(fault, sizeof(fault), "%.*s", (int)sizeof(fault) - 1, report->fault);
    text_make_printable(fault);
  } else {
    report->n_bytes = 0;
    print_end(child, status, fault);
    report->is_transient = is_transient(crew, child, status);
  }
  crew->jobs->ended(crew->jobs->context, child->job, report, fault);
  clear_child(crew, child);
}

/// Time for which a process could run but had no processor; 0 if the kernel does not report it.
static uint64_t
run_delay_ns(const pid_t pid)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
  FILE* const file = fopen(path, "re");
  uint64_t delay_ns = 0;
  if (file) {
    (void)!fscanf(file, "%*u %" SCNu64, &delay_ns);
    fclose(file);
  }
  return delay_ns;
}

static void
end_children(Crew* const crew)
{
  for (uint32_t c = 0; c < crew->n_children; ++c) {
    int status = 0;
    Child* const child = &crew->children[c];
    const uint64_t delay_ns = child->pid ? run_delay_ns(child->pid) : 0; // before it is reaped
    if (child->pid && waitpid(child->pid, &status, WNOHANG) == child->pid) {
      child->delay_ns = delay_ns;
      end_child(crew, child, status);
    }
  }
}

/// Extend the deadline of a child whose report grows, or that had no processor.
static void
extend(const Crew* const crew, Child* const child, const uint64_t now_ns)
{
  const uint64_t delay_ns = run_delay_ns(child->pid);
  const size_t n_bytes = child->report->n_bytes;
  const uint64_t end_ns = n_bytes != child->n_bytes ? now_ns + crew->jobs->limit_ms * NS_PER_MS
                                                    : child->end_ns + delay_ns - child->delay_ns;
  child->end_ns = end_ns < child->last_ns ? end_ns : child->last_ns;
  child->delay_ns = delay_ns;
  child->n_bytes = n_bytes;
}

static void
kill_late(Crew* const crew, const uint64_t now_ns)
{
  for (uint32_t c = 0; c < crew->n_children; ++c) {
    Child* const child = &crew->children[c];
    if (child->pid && !child->is_late && now_ns >= child->end_ns) {
      extend(crew, child, now_ns);
      child->is_late = now_ns >= child->end_ns;
    }
    if (child->pid && child->is_late) {
      kill(child->pid, SIGKILL);
    }
  }
}

/// Kill all children without an answer.
static void
dismiss(Crew* const crew)
{
  for (uint32_t c = 0; c < crew->n_children; ++c) {
    Child* const child = &crew->children[c];
    if (child->pid) {
      kill(child->pid, SIGKILL);
      waitpid(child->pid, NULL, 0);
      clear_child(crew, child);
    }
  }
  kill_orphans(crew);
}

// ---- running ----

static uint64_t
next_end_ns(const Crew* const crew)
{
  uint64_t end_ns = UINT64_MAX;
  for (uint32_t c = 0; c < crew->n_children; ++c) {
    const Child* const child = &crew->children[c];
    end_ns = child->pid && !child->is_late && child->end_ns < end_ns ? child->end_ns : end_ns;
  }
  return end_ns;
}

/// Wait until a child ends, the next deadline, or a signal that ends the run.
static void
wait_for_event(Crew* const crew, const sigset_t* const signals)
{
  const uint64_t now_ns = time_now_ns();
  const uint64_t end_ns = next_end_ns(crew);
  const uint64_t wait_ns = end_ns <= now_ns ? 0 : end_ns - now_ns;
  const struct timespec wait = time_spec(wait_ns < NS_PER_S ? wait_ns : NS_PER_S);
  const int number = sigtimedwait(signals, NULL, &wait);
  crew->interrupt = number > 0 && number != SIGCHLD ? number : 0;
}

static Status
run_jobs(Crew* const crew, const sigset_t* const signals, Error* const error)
{
  Status status = start_children(crew, error);
  while (!status && crew->n_running) {
    wait_for_event(crew, signals);
    if (crew->interrupt) {
      return error_set(error, STATUS_WORKER, "the scan was interrupted");
    }
    kill_late(crew, time_now_ns());
    end_children(crew);
    status = start_children(crew, error);
  }
  return status;
}

/// The signals that the run waits for: the end of a child, and those that end the run.
static void
list_signals(sigset_t* const signals)
{
  static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
  sigemptyset(signals);
  sigaddset(signals, SIGCHLD);
  for (uint32_t e = 0; e < ARRAY_LEN(ends); ++e) {
    struct sigaction action;
    if (!sigaction(ends[e], NULL, &action) && action.sa_handler != SIG_IGN) { // as nohup sets it
      sigaddset(signals, ends[e]);
    }
  }
}

static uint32_t
count_children(const ChildJobs* const jobs)
{
  const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  const uint32_t n = jobs->n_children ? jobs->n_children : n_cores > 0 ? (uint32_t)n_cores : 1U;
  return n < MAX_CHILDREN ? n : MAX_CHILDREN;
}

Status
children_run(const ChildJobs* const jobs, Error* const error)
{
  Crew crew = { .jobs = jobs, .n_children = count_children(jobs), .parent = getpid() };
  sigset_t signals;
  sigset_t old;
  list_signals(&signals);
  sigprocmask(SIG_BLOCK, &signals, &old);
  signal(SIGCHLD, SIG_DFL); // an ignored one would reap the children
  crew.n_others = list_children(crew.others, MAX_OTHERS);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Status status = run_jobs(&crew, &signals, error);
  dismiss(&crew);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  sigprocmask(SIG_SETMASK, &old, NULL);
  if (crew.interrupt) {
    raise(crew.interrupt);
  }
  return status;
}
