// SPDX-License-Identifier: GPL-3.0-or-later
// The calls of a supervisor to its engine.  The test plays the engine, and delays calls so that
// events coincide.

#include "engine/supervisor/supervisor.h"
#include "engine/supervisor/supervisor_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"
#include "tests/support/test_driver.h"
#include "tests/support/worker_bench.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/// The engine's side, as in engine_supervisor.c, but without a period.
typedef struct Host {
  Supervisor* supervisor;
  pthread_mutex_t held;
  pthread_t main;
  bool kills_first;                 ///< Kill the worker before the main thread holds the host, and
                                    ///< wait until it is replaced
  bool is_lost;                     ///< The worker that serves the ring is lost [held]
  const ParamMessage* _Atomic sent; ///< Message to send through a ring just before the supervisor
                                    ///< holds the host
  _Atomic bool quarantines;         ///< In the moment before its ring is offered, the worker must
                                    ///< get its rack again, and the host takes the ring
  Ring* taken;                      ///< That ring
  _Atomic uint32_t n_replies, n_saved;
  _Atomic uint32_t offered_frames; ///< Block length of the last offered ring; 0: none yet
} Host;

static SupervisorStatus
supervisor_now(const Host* const host)
{
  SupervisorStatus status;
  supervisor_status(host->supervisor, &status);
  return status;
}

static bool
is_replaced(const Host* const host)
{
  const SupervisorStatus status = supervisor_now(host);
  return status.n_starts == 1U && status.state == WORKER_RUNNING;
}

/// As after a LOST in the state ARMED.
static void
must_reload(const Host* const host)
{
  supervisor_lock(host->supervisor);
  Child* const next = host->supervisor->next;
  if (next && next->state == CHILD_ARMED) {
    next->must_reload = true;
  }
  supervisor_unlock(host->supervisor);
}

static void
hold(void* const context)
{
  Host* const host = context;
  if (pthread_equal(pthread_self(), host->main) && host->kills_first) {
    host->kills_first = false;
    ck_assert_int_eq(kill((pid_t)supervisor_now(host).pid, SIGKILL), 0);
    AWAIT(is_replaced(host));
  }
  if (!pthread_equal(pthread_self(), host->main) && host->sent) {
    supervisor_calls.sent(host->supervisor, host->sent, 1U, 0U);
    host->sent = NULL;
  }
  if (!pthread_equal(pthread_self(), host->main) && host->quarantines) {
    must_reload(host);
  }
  pthread_mutex_lock(&host->held);
}

static void
release(void* const context)
{
  pthread_mutex_unlock(&((Host*)context)->held);
}

static bool
offer(void* const context, Ring* const ring, const ParamMessage* const messages, const uint32_t n)
{
  Host* const host = context;
  host->offered_frames = ring_shape(ring)->block_frames;
  (void)messages;
  (void)n;
  host->taken = host->quarantines ? ring : NULL;
  return host->quarantines;
}

static void
given(void* const context)
{
  ((Host*)context)->is_lost = false;
}

static void
lost(void* const context)
{
  ((Host*)context)->is_lost = true;
}

static bool
pulse(void* const context, SupervisorPulse* const pulse)
{
  (void)context;
  (void)pulse;
  return false;
}

static uint64_t
frame_now(void* const context)
{
  (void)context;
  return 0;
}

static void
on_replied(void* const context, const uint64_t id, const EngineReply* const reply,
           const WorkerFacts* const facts)
{
  (void)id;
  (void)facts;
  ck_assert_msg(!reply->status, "%s", reply->text);
  ++((Host*)context)->n_replies;
}

static void
on_saved(void* const context, const uint64_t id, const EngineSaved* const saved)
{
  ck_assert_uint_eq(id, 7U);
  ck_assert_msg(saved->error.status == STATUS_NOT_FOUND, "%s", saved->error.text);
  ++((Host*)context)->n_saved;
}

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  (void)context;
  (void)facts;
}

static void
host_start(Host* const host)
{
  static const char* argv[] = { NULL, "worker", NULL };
  argv[0] = good_worker();
  const EngineConfig config = rig_config(argv);
  *host = (Host){ .main = pthread_self() };
  pthread_mutex_init(&host->held, NULL);
  const WorkerEvents events = {
    .context = host, .replied = on_replied, .changed = on_changed, .saved = on_saved
  };
  const SupervisorHost calls = { host, hold, release, offer, given, lost, pulse, frame_now };
  OK(supervisor_new(&config, &events, &calls, &host->supervisor, &error));
}

static void
host_stop(Host* const host)
{
  supervisor_calls.free(host->supervisor);
  pthread_mutex_destroy(&host->held);
}

static Ring*
new_ring(const uint32_t block_frames)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = block_frames, .n_slots = 8, .n_messages = 16
  };
  Ring* ring = NULL;
  OK(ring_new(&shape, &ring, &error));
  return ring;
}

static void
arm(const Host* const host, Ring* const ring)
{
  const uint32_t block_frames = ring_shape(ring)->block_frames;
  const WorkerStart start = {
    .format = { .rate_hz = 48000.0, .block_frames = block_frames, .n_in = 1, .n_out = 1 },
    .ring = ring
  };
  WorkerFacts facts;
  OK(supervisor_calls.arm(host->supervisor, &start, &facts, &error));
}

/// Arm the worker with a new ring, and disarm it.  Returns whether the host takes the worker as
/// serving that ring.
static bool
arm_and_disarm(Host* const host)
{
  SCOPED_RING Ring* const ring = new_ring(64);
  arm(host, ring);
  hold(host);
  const bool is_lost = host->is_lost;
  release(host);
  const ParamMessage message = { .uid = 1 };
  ck_assert_int_eq(supervisor_calls.set(host->supervisor, &message, 1U),
                   is_lost); // else the message goes through the ring
  supervisor_calls.disarm(host->supervisor);
  return !is_lost;
}

TEST(a_worker_lost_before_the_next_is_armed_is_not_confused_with_it)
{
  SCOPED(host_stop) Host host;
  host_start(&host);
  ck_assert(arm_and_disarm(&host));
  host.kills_first = true;
  ck_assert(arm_and_disarm(&host));
  ck_assert(!host.kills_first);
  ck_assert_uint_eq(supervisor_now(&host).n_starts, 1);
}

/// Sets another format while the supervisor makes a ring for the next worker.
static struct {
  const Host* host; ///< NULL: no other format
  Ring* ring;
} other;

__typeof__(memfd_create) __real_memfd_create, __wrap_memfd_create; // --wrap in meson.build

int
__wrap_memfd_create(const char* const name, const unsigned flags)
{
  const Host* const host = other.host;
  if (host) {
    other.host = NULL;
    supervisor_calls.reset_load(host->supervisor); // there is no worker: must do nothing
    supervisor_calls.disarm(host->supervisor);
    arm(host, other.ring);
  }
  return __real_memfd_create(name, flags);
}

static _Atomic uint32_t n_idle_waits; // of the supervisor, while it has no child

int __real_poll(struct pollfd* fds, nfds_t n, int timeout_ms); // --wrap in meson.build
int __wrap_poll(struct pollfd* fds, nfds_t n, int timeout_ms);

int
__wrap_poll(struct pollfd* const fds, const nfds_t n, const int timeout_ms)
{
  const int n_ready = __real_poll(fds, n, timeout_ms);
  n_idle_waits += n == 1U && !n_ready;
  return n_ready;
}

TEST(the_first_worker_starts_before_the_supervisor_waits)
{
  SCOPED(host_stop) Host host;
  n_idle_waits = 0;
  host_start(&host);
  ck_assert_uint_eq(n_idle_waits, 0U);
}

TEST(a_ring_for_the_format_before_is_not_given_to_a_worker)
{
  Host host;
  host_start(&host);
  SCOPED_RING Ring* const ring = new_ring(64);
  other.ring = new_ring(128);
  arm(&host, ring);
  other.host = &host;
  ck_assert_int_eq(kill((pid_t)supervisor_now(&host).pid, SIGKILL), 0);
  AWAIT(host.offered_frames > 0U);
  ck_assert_ptr_null(other.host);
  ck_assert_uint_eq(host.offered_frames, 128);
  // The kill is the only failure that was recorded.
  assert_says(supervisor_now(&host).note, "SIGKILL");
  supervisor_calls.disarm(host.supervisor);
  host_stop(&host);
  ring_free(other.ring);
}

TEST(a_value_sent_before_a_worker_is_known_to_be_armed_is_set)
{
  Host host;
  host_start(&host);
  SCOPED_RACK Rack* const rack = rack_of(HALVED, NULL);
  ck_assert_int_eq(supervisor_calls.edit(host.supervisor, 1U, rack, 0U, 0U), STATUS_OK);
  AWAIT(host.n_replies > 0U);
  const ParamMessage message = { .uid = rack->nodes[0].uid, .value = QUARTER_DB };
  Bench bench = { .ring = new_ring(BENCH_BLOCK) }; // without the message
  host.sent = &message;
  arm(&host, bench.ring);
  ck_assert_ptr_null(host.sent);
  AWAIT(fabsf(bench_play(&bench) - 0.25F) < 1e-6F);
  supervisor_calls.disarm(host.supervisor);
  host_stop(&host);
  ring_free(bench.ring);
}

/// True if the serving worker has its rack again.
static bool
is_reloaded(const Host* const host)
{
  supervisor_lock(host->supervisor);
  const Child* const worker = host->supervisor->worker;
  const bool is_reloaded = worker && worker->state == CHILD_SERVING && !worker->must_reload;
  supervisor_unlock(host->supervisor);
  return is_reloaded;
}

TEST(a_quarantine_that_begins_while_a_worker_is_armed_is_not_left_to_the_next_edit)
{
  Host host;
  host_start(&host);
  SCOPED_RING Ring* const ring = new_ring(64);
  arm(&host, ring);
  host.quarantines = true;
  ck_assert_int_eq(kill((pid_t)supervisor_now(&host).pid, SIGKILL), 0);
  AWAIT(is_replaced(&host) && is_reloaded(&host));
  ck_assert_ptr_nonnull(host.taken);
  supervisor_calls.disarm(host.supervisor);
  host_stop(&host);
  ring_free(host.taken);
}

TEST(a_save_in_the_moment_of_a_loss_waits_for_the_next_worker)
{
  SCOPED(host_stop) Host host;
  siginfo_t end;
  Error error = { STATUS_OK, "" };
  host_start(&host);
  const pid_t pid = (pid_t)supervisor_now(&host).pid;
  hold(&host); // the supervisor cannot take the worker out of use
  ck_assert_int_eq(kill(pid, SIGKILL), 0);
  const int waited = waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT);
  ck_assert(!waited || errno == ECHILD); // it has ended, and the supervisor may know
  const Status status = supervisor_calls.save(host.supervisor, 7U, RACK_UID_FIRST, &error);
  release(&host);
  ck_assert_msg(!status, "%s", error.text);
  AWAIT(host.n_saved == 1U); // the next worker does not know the node
  ck_assert(is_replaced(&host));
}

TEST(a_device_that_does_not_come_back_is_tried_for_at_longer_and_longer_intervals)
{
  static const uint64_t seconds[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
  static Supervisor supervisor;
  uint64_t now_ns = 1000U * CRASH_POLICY_FIRST_REST_NS;
  for (uint32_t i = 0; i < ARRAY_LEN(seconds); ++i) {
    supervisor_postpone_exchange(&supervisor, now_ns);
    ck_assert_uint_eq(supervisor.exchange.at_ns - now_ns, seconds[i] * CRASH_POLICY_FIRST_REST_NS);
    // One nanosecond later, the next failure would start again with the first interval.
    now_ns = supervisor.exchange.at_ns + CRASH_POLICY_LONGEST_REST_NS;
  }
  supervisor_postpone_exchange(&supervisor, now_ns + 1U);
  ck_assert_uint_eq(supervisor.exchange.rest_ns, CRASH_POLICY_FIRST_REST_NS);
}

SUITE_MAIN("supervisor_host")
