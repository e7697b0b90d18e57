// SPDX-License-Identifier: GPL-3.0-or-later
// Starts, calls and watches the processes of groups.

#include "group_process.h"

#include "group_losses.h"

#include "engine/base/backoff.h"
#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/time.h"
#include "plugins/host_group.h"
#include "plugins/process_memory.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_GROUPS       32U
#define CALL_LIMIT_NS    (8U * NS_PER_S) // less than the 10 s after which the worker counts as hung
#define HANG_NS          (NS_PER_S / 2U)
#define HANG_USUAL_NS    (2U * NS_PER_S)  // without real-time priority
#define LOOK_NS          (NS_PER_S / 10U) // after a longer pause, this process was suspended
#define RESTART_FIRST_NS (NS_PER_S / 10U)
#define RESTART_LONG_NS  (60U * NS_PER_S)
#define END_LIMIT_NS     (NS_PER_S / 2U) // for a process to end by itself
#define LATE_CALL_NS     (NS_PER_S / 2U) // for a call after fx_set_deadline(), to close an instance
#define SETTLE_POLL_NS   (NS_PER_S / 500U) // between looks at blocks that a call has to wait for
#define WATCH_NS         (NS_PER_S / 50U)  // between looks at a process

struct Group {
  char name[GROUP_NAME_BYTES];
  Process* process; ///< NULL: none runs
  Recorder* recorder;
  GroupBell* bell;
  int socket;
  uint32_t n_calls;
  GroupMember* members[GROUP_SLOTS]; ///< By slot; NULL: free
  uint32_t n_joined;                 ///< Members, also of lost processes
  bool is_called;                    ///< A call has not been answered yet
  uint64_t looked_ns;
  RecorderWatch calls[RECORDER_THREADS]; ///< At the last look
  Backoff restart;
  char why[PROCESS_REASON_BYTES]; ///< Of the last loss
};

static Group* groups[MAX_GROUPS];

static const char* program; // of the processes

static Process* left; // processes that are lost, or are to end, until they have ended

// ---- time ----

/// The time since the last look, which this one is now.
static uint64_t
passed_since(uint64_t* const looked_ns)
{
  const uint64_t now_ns = time_now_ns();
  const uint64_t passed_ns = now_ns - *looked_ns;
  *looked_ns = now_ns;
  return passed_ns < LOOK_NS ? passed_ns : LOOK_NS;
}

/// The longest time for a block.
static uint64_t
hang_limit(void)
{
  return host_priority() ? HANG_NS : HANG_USUAL_NS;
}

/// The longest time for a call, with the blocks that it waits for.
static uint64_t
call_limit(void)
{
  return host_is_late() ? LATE_CALL_NS : CALL_LIMIT_NS;
}

// ---- losses ----

/// What is known of a loss.
typedef struct Cause {
  const char* what; ///< "did not return from a block", or NULL: it has ended
  uint32_t uid;     ///< Of the node; 0: the flight recorder may know
  RecorderPhase phase;
  bool is_hang;
  bool is_guess; ///< Other nodes may have caused it
} Cause;

/// The call of the threads of the process, if all that execute code of nodes are in the same node.
///
/// @param with_runs Look at threads that run blocks, too.
static RecorderCall
only_call(const Recorder* const recorder, const bool with_runs)
{
  RecorderCall only = { .phase = RECORDER_NONE };
  for (uint32_t t = 0; t < RECORDER_THREADS; ++t) {
    const RecorderCall call = recorder_read(recorder, t);
    const bool counts = call.phase != RECORDER_NONE && (with_runs || call.phase != RECORDER_RUN);
    if (counts && only.phase != RECORDER_NONE && call.node != only.node) {
      return (RecorderCall){ .phase = RECORDER_NONE };
    }
    only = counts ? call : only;
  }
  return only;
}

/// True if the node has instances in the process.
static bool
has_node(const Group* const group, const uint32_t uid)
{
  bool has = false;
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    has = has || (group->members[s] && group->members[s]->uid == uid);
  }
  return has;
}

/// The only node that has instances in the process.
static uint32_t
only_uid(const Group* const group)
{
  uint32_t uid = 0;
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    const GroupMember* const member = group->members[s];
    if (member && uid && member->uid != uid) {
      return 0;
    }
    uid = member ? member->uid : uid;
  }
  return uid;
}

/// Find the node of a process that has ended by itself.  The process may have written any number to
/// its recorder.  Without a handler, for example after _exit(), it may have been a thread that a
/// plugin has started, while another node ran.
static void
find_node(const Group* const group, Cause* const cause)
{
  RecorderCall call;
  const bool is_handled = recorder_has_crashed(group->recorder, &call);
  const uint32_t only = only_uid(group);
  if (!is_handled) {
    call = only_call(group->recorder, true);
  }
  const bool is_of_node = call.phase != RECORDER_NONE && !call.is_shared &&
                          (is_handled ? has_node(group, call.node) : call.node == only);
  if (is_of_node) {
    cause->uid = call.node;
    cause->phase = call.phase;
  } else if (!cause->uid) {
    cause->uid = only;
    cause->phase = RECORDER_THREAD;
  }
}

/// Find the node of a call that the process does not answer: another one than it was called for may
/// hold its thread.
static void
find_stuck(const Group* const group, Cause* const cause)
{
  const RecorderCall call = only_call(group->recorder, false);
  if (process_is_stopped(group->process)) {
    cause->uid = 0U;
  } else if (call.phase != RECORDER_NONE && has_node(group, call.node)) {
    cause->uid = call.node;
    cause->phase = call.phase;
  }
}

/// True for the signals by which others end a process.
static bool
is_from_outside(const int number)
{
  return number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP;
}

static void
report(const Group* const group, const Cause* const cause)
{
  FxLoss loss = {
    .uid = cause->uid, .phase = cause->phase, .is_hang = cause->is_hang, .is_guess = cause->is_guess
  };
  snprintf(loss.text, sizeof(loss.text),
           "the process of the group \"%s\" %s; its nodes play their inputs, and it starts again "
           "in %.1f s",
           group->name, group->why, (double)group->restart.rest_ns / NS_PER_S);
  group_losses_add(&loss);
}

/// Free what belongs to a process, which ends by itself, or is killed at `kill_at_ns`.
static void
release_process(Group* const group, const uint64_t kill_at_ns)
{
  process_leave(&left, group->process, kill_at_ns);
  recorder_free(group->recorder);
  if (group->bell) {
    group_bell_leave(group->bell);
  }
  close(group->socket);
  group->process = NULL;
  group->recorder = NULL;
  group->bell = NULL;
}

/// End the process, and take its members out of use.
static void
lose(Group* const group, Cause cause)
{
  char ended[PROCESS_REASON_BYTES] = "";
  const bool was_over = process_has_ended(group->process, ended);
  if (!was_over) {
    process_kill(group->process, 0U, ended);
  }
  const char* const what = was_over || !cause.what ? ended : cause.what;
  snprintf(group->why, sizeof(group->why), "%s%s", strncmp(what, "killed", 6U) ? "" : "was ", what);
  if (was_over && is_from_outside(process_signal(group->process))) {
    cause.uid = 0;
  } else if (was_over) {
    find_node(group, &cause);
    cause.is_hang = cause.is_guess = false;
  }
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    GroupMember* const member = group->members[s];
    if (member) {
      member->is_lost = true;
      ring_abandon(member->ring);
      group->members[s] = NULL;
    }
  }
  backoff_fail(&group->restart, RESTART_FIRST_NS, RESTART_LONG_NS, time_now_ns());
  report(group, &cause);
  release_process(group, 0U);
}

// ---- watching ----

/// Note the progress of a member.  The process may write any number to its ring: what it has got is
/// known here, and only steps forward count, up to that number.  A call of the member may keep its
/// blocks waiting.
static void
note_progress(GroupMember* const member, const uint64_t passed_ns)
{
  const uint64_t n_submitted = atomic_load_explicit(&member->n_submitted, memory_order_relaxed);
  const uint64_t n_finished = ring_n_finished(member->ring);
  const bool moves = n_finished > member->n_finished && n_finished <= n_submitted;
  member->n_finished = moves ? n_finished : member->n_finished;
  const bool waits = !moves && !member->is_called && member->n_finished != n_submitted;
  member->waited_ns = waits ? member->waited_ns + passed_ns : 0U;
}

/// Note how busy each member is: the mean number of threads that run its node, lately.
static void
note_runs(const Group* const group, const uint64_t passed_ns)
{
  const double weight = (double)passed_ns / (double)hang_limit();
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    if (group->members[s]) {
      group->members[s]->load *= 1.0 - weight;
    }
  }
  for (uint32_t t = 0; t < RECORDER_THREADS; ++t) {
    const RecorderCall* const call = &group->calls[t].call;
    for (uint32_t s = 0; call->phase == RECORDER_RUN && s < GROUP_SLOTS; ++s) {
      if (group->members[s] && group->members[s]->uid == call->node) {
        group->members[s]->load += weight;
      }
    }
  }
}

/// True if there is a member with a block that it does not finish.
static bool
has_hung(const Group* const group, const uint64_t passed_ns)
{
  bool has = false;
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    GroupMember* const member = group->members[s];
    if (member) {
      note_progress(member, passed_ns);
      has = has || member->waited_ns >= hang_limit();
    }
  }
  return has;
}

/// The run that lasts longest; NULL: none.
static const RecorderWatch*
find_longest(const Group* const group)
{
  const RecorderWatch* longest = NULL;
  for (uint32_t t = 0; t < RECORDER_THREADS; ++t) {
    const RecorderWatch* const watched = &group->calls[t];
    if (watched->call.phase == RECORDER_RUN &&
        (!longest || watched->lasted_ns > longest->lasted_ns)) {
      longest = watched;
    }
  }
  return longest;
}

/// The node that ran most lately; 0: none did.
static uint32_t
find_busiest(const Group* const group)
{
  const GroupMember* busiest = NULL;
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    const GroupMember* const member = group->members[s];
    if (member && member->load > (busiest ? busiest->load : 0.0)) {
      busiest = member;
    }
  }
  return busiest ? busiest->uid : 0U;
}

static bool
has_faults(const Group* const group)
{
  bool has = false;
  for (uint32_t s = 0; s < GROUP_SLOTS; ++s) {
    has = has || (group->members[s] && ring_faults(group->members[s]->ring));
  }
  return has;
}

/// End a process that does not return from the code of a node.
static void
lose_hung(Group* const group, Cause cause)
{
  const bool is_named = has_node(group, cause.uid) && !process_is_stopped(group->process);
  cause.uid = is_named ? cause.uid : 0U;
  cause.is_hang = true;
  lose(group, cause);
}

/// End a process that does not finish blocks.  The node is that of a run that lasts: others wait
/// behind it for the same thread.  If none lasts, all runs together take too long, and the node
/// that ran most is a guess.
static void
lose_busy(Group* const group, const char* const what)
{
  const RecorderWatch* const longest = find_longest(group);
  const bool lasts = longest && longest->lasted_ns >= hang_limit() / 2U;
  const uint32_t only = only_uid(group);
  lose_hung(group, (Cause){ .what = what,
                            .uid = lasts  ? longest->call.node
                                   : only ? only
                                          : find_busiest(group),
                            .phase = RECORDER_RUN,
                            .is_guess = !lasts && !only });
}

/// Look at a process.  A call detects by itself that the process has ended or does not return, and
/// knows the node.
static void
watch(Group* const group)
{
  const uint64_t passed_ns = passed_since(&group->looked_ns);
  char why[PROCESS_REASON_BYTES];
  if (!group->is_called && process_has_ended(group->process, why)) {
    lose(group, (Cause){ .what = NULL });
    return;
  }
  if (has_faults(group)) {
    lose(group, (Cause){ .what = "wrote invalid data to a ring",
                         .uid = only_uid(group),
                         .phase = RECORDER_RUN });
    return;
  }
  const RecorderWatch* const endless =
      recorder_watch(group->recorder, group->calls, passed_ns, CALL_LIMIT_NS);
  note_runs(group, passed_ns);
  if (has_hung(group, passed_ns)) {
    lose_busy(group, "did not finish a block");
  } else if (endless && !group->is_called) {
    lose_hung(group, (Cause){ .what = "did not return in 8 s",
                              .uid = endless->call.node,
                              .phase = endless->call.phase });
  }
}

/// Look at the process of a group, if there is one and the last look is not too recent.
static void
watch_if_due(Group* const group)
{
  if (group->process && time_now_ns() - group->looked_ns >= WATCH_NS) {
    watch(group);
  }
}

void
groups_watch(void)
{
  for (uint32_t g = 0; g < MAX_GROUPS; ++g) {
    if (groups[g]) {
      watch_if_due(groups[g]);
    }
  }
  process_reap_left(&left, time_now_ns());
}

// ---- calls ----

/// Wait for a packet, the end of the process, or the limit.  Meanwhile, watch all groups: the
/// process may be lost by a block.
static bool
await_reply(const Group* const group, const uint64_t limit_ns)
{
  struct pollfd there[] = { { .fd = group->socket, .events = POLLIN },
                            { .fd = process_fd(group->process), .events = POLLIN } };
  uint64_t looked_ns = time_now_ns();
  uint64_t waited_ns = 0;
  int n = 0;
  while (n <= 0 && waited_ns < limit_ns) {
    const uint64_t left_ns = limit_ns - waited_ns;
    const struct timespec pause = time_spec(left_ns < WATCH_NS ? left_ns : WATCH_NS);
    n = ppoll(there, ARRAY_LEN(there), &pause, NULL);
    waited_ns += passed_since(&looked_ns);
    groups_watch();
    if (!group->process) {
      return false;
    }
  }
  return n > 0;
}

static RecorderPhase
phase_of(const uint32_t op)
{
  return op == GROUP_SAVE    ? RECORDER_STATE
         : op == GROUP_CLOSE ? RECORDER_CLOSE
         : op == GROUP_RENEW ? RECORDER_RENEW
                             : RECORDER_INSTANTIATE;
}

/// Exchange one call for its reply.  Returns what is wrong with the process; NULL: nothing.
static const char*
exchange(Group* const group, GroupCall* const call, const int* const fds, const uint32_t n_fds,
         const uint64_t limit_ns, GroupReply* const reply, int received[GROUP_FDS],
         bool* const is_hang)
{
  call->number = ++group->n_calls;
  received[0] = received[1] = -1;
  if (group_send(group->socket, call, sizeof(*call), fds, n_fds, NULL)) {
    return "closed its socket";
  }
  if (!await_reply(group, limit_ns)) {
    *is_hang = true;
    return limit_ns <= LATE_CALL_NS ? "did not return in the time of an edit"
                                    : "did not return in 8 s";
  }
  const Status status = group_receive(group->socket, reply, sizeof(*reply), received, NULL);
  if (status) {
    return status == STATUS_NET ? "closed its socket" : "sent an invalid answer";
  }
  if (reply->op != call->op || reply->number != call->number ||
      reply->status >= STATUS_N_STATUSES) {
    group_close_fds(received);
    return "sent an invalid answer";
  }
  reply->text[sizeof(reply->text) - 1U] = '\0';
  return NULL;
}

static Status
say_lost(const Group* const group, Error* const error)
{
  return error_set(error, STATUS_WORKER, "the process of the group \"%s\" %s", group->name,
                   group->why);
}

/// As group_call(), for a group that has a process.
static Status
call_group(Group* const group, const uint32_t uid, GroupCall* const call, const int* const fds,
           const uint32_t n_fds, const uint64_t limit_ns, GroupReply* const reply,
           int* const reply_fd, Error* const error)
{
  int received[GROUP_FDS];
  Cause cause = { .uid = uid, .phase = phase_of(call->op) };
  group->is_called = true;
  cause.what = exchange(group, call, fds, n_fds, limit_ns, reply, received, &cause.is_hang);
  group->is_called = false;
  if (!group->process) {
    return say_lost(group, error); // by a block of another member
  }
  if (cause.what) {
    struct pollfd end = { process_fd(group->process), POLLIN, 0 };
    if (cause.is_hang) {
      find_stuck(group, &cause);
    } else {
      (void)poll(&end, 1, 500); // a process that ends closes its socket first
    }
    lose(group, cause);
    return error_set(error, STATUS_WORKER, "the process of the group \"%s\" %s in %s", group->name,
                     group->why, recorder_phase_names[cause.phase]);
  }
  if (reply_fd) {
    *reply_fd = received[0];
    received[0] = -1;
  }
  group_close_fds(received);
  return reply->status ? error_set(error, (Status)reply->status, "%s", reply->text) : STATUS_OK;
}

/// Wait until the process has finished the blocks of a member: a call of it waits for the thread
/// that runs them.  A process that does not finish them in time is lost.  Returns how long it took.
static uint64_t
settle(GroupMember* const member, const uint64_t limit_ns)
{
  const uint64_t n_wanted = atomic_load_explicit(&member->n_submitted, memory_order_relaxed);
  uint64_t looked_ns = time_now_ns();
  uint64_t waited_ns = 0;
  while (!member->is_lost && member->n_finished < n_wanted) { // the ring may show any number later
    watch(member->group);
    waited_ns += passed_since(&looked_ns);
    if (!member->is_lost && member->n_finished < n_wanted && waited_ns >= limit_ns) {
      lose_busy(member->group, "finished its blocks too slowly for a call");
    } else if (!member->is_lost && member->n_finished < n_wanted) {
      time_sleep(SETTLE_POLL_NS);
    }
  }
  return waited_ns;
}

Status
group_call(GroupMember* const member, GroupCall* const call, const int* const fds,
           const uint32_t n_fds, GroupReply* const reply, int* const reply_fd, Error* const error)
{
  const uint64_t limit_ns = call_limit();
  watch_if_due(member->group); // a loss is reported before the call
  // A call of its own for the supervisor: a node may take several, each with its blocks for 8 s.
  const uint64_t before = recorder_enter(member->uid, phase_of(call->op));
  const uint64_t settled_ns = settle(member, limit_ns / 2U);
  Status status = STATUS_OK;
  if (member->is_lost) {
    status = say_lost(member->group, error);
  } else {
    call->slot = member->slot;
    member->is_called = true;
    status = call_group(member->group, member->uid, call, fds, n_fds, limit_ns - settled_ns, reply,
                        reply_fd, error);
    member->is_called = false;
  }
  recorder_leave(before);
  return status;
}

// ---- start and end ----

void
groups_use_program(const char* const path)
{
  program = path;
}

static Status
start_process(Group* const group, Error* const error)
{
  static char role[] = "group";
  char* const argv[] = { (char*)program, role, NULL };
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
    return error_set(error, STATUS_NO_MEM, "the group \"%s\": no socket: %s", group->name,
                     strerror(errno));
  }
  group->socket = sockets[0];
  Status status = recorder_new(&group->recorder, error);
  status = status ? status : group_bell_new(&group->bell, error);
  status = status ? status : process_start(program, argv, sockets[1], &group->process, error);
  close(sockets[1]);
  if (status) {
    release_process(group, 0U);
    return status;
  }
  const int priority = host_priority();
  // Below the player, which shares its cores with a plugin that hangs.
  GroupCall hello = { .op = GROUP_HELLO,
                      .locks_memory = host_locks_memory(),
                      .priority = priority > 1 ? priority - 1 : priority };
  GroupReply reply;
  const int fds[] = { recorder_fd(group->recorder), ring_fd(group->bell->ring) };
  group->looked_ns = time_now_ns();
  memset(group->calls, 0, sizeof(group->calls));
  const uint64_t before = recorder_enter(0U, phase_of(hello.op));
  const Status answer =
      call_group(group, 0U, &hello, fds, ARRAY_LEN(fds), call_limit(), &reply, NULL, error);
  recorder_leave(before);
  return answer;
}

/// The group of that name, which is made if there is none.
static Status
find_group(const char* const name, Group** const out, Error* const error)
{
  Group** free_place = NULL;
  for (uint32_t g = 0; g < MAX_GROUPS; ++g) {
    if (groups[g] && !strcmp(groups[g]->name, name)) {
      *out = groups[g];
      return STATUS_OK;
    }
    free_place = !groups[g] && !free_place ? &groups[g] : free_place;
  }
  if (!free_place) {
    return error_set(error, STATUS_LIMIT, "the group \"%s\": there are %u groups already", name,
                     MAX_GROUPS);
  }
  Group* const group = calloc(1, sizeof(Group));
  if (!group) {
    return error_set(error, STATUS_NO_MEM, "the group \"%s\": out of memory", name);
  }
  snprintf(group->name, sizeof(group->name), "%s", name);
  *free_place = *out = group;
  return STATUS_OK;
}

/// End the process of a group without members, and free the group.
static void
end_group(Group* const group)
{
  if (group->process) {
    release_process(group, time_now_ns() + END_LIMIT_NS); // it ends when it reads end-of-file
  }
  for (uint32_t g = 0; g < MAX_GROUPS; ++g) {
    groups[g] = groups[g] == group ? NULL : groups[g];
  }
  free(group);
}

Status
group_join(const char* const name, GroupMember* const member, Error* const error)
{
  Group* group = NULL;
  Status status = find_group(name, &group, error);
  status = status || group->process ? status : start_process(group, error);
  uint32_t slot = 0;
  while (!status && slot < GROUP_SLOTS && group->members[slot]) {
    ++slot;
  }
  if (!status && slot == GROUP_SLOTS) {
    status = error_set(error, STATUS_LIMIT, "the group \"%s\" has %u instances already", name,
                       GROUP_SLOTS);
  }
  if (!status) {
    member->group = group;
    member->bell = group->bell;
    ++group->bell->n_users;
    member->slot = slot;
    group->members[slot] = member;
    ++group->n_joined;
  } else if (group && !group->n_joined) {
    end_group(group);
  }
  return status;
}

void
group_leave(GroupMember* const member)
{
  Group* const group = member->group;
  if (!member->is_lost) {
    group->members[member->slot] = NULL;
  }
  group_bell_leave(member->bell);
  if (!--group->n_joined) {
    end_group(group);
  }
}

uint64_t
group_memory(const GroupMember* const member)
{
  const Process* const process = member->is_lost ? NULL : member->group->process;
  return process ? process_memory_of(process_id(process)).own_bytes : 0U;
}

bool
group_may_restart(const GroupMember* const member)
{
  return member->is_lost && time_now_ns() >= member->group->restart.at_ns;
}
