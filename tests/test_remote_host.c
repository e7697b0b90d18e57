// SPDX-License-Identifier: GPL-3.0-or-later
// What a remote runner tells the engine that it works for, by a host that can hold it up at the
// moments that matter.

#include "support/player.h"
#include "support/remote_rig.h"
#include "support/suite.h"

#include "../engine/remote.h"
#include "../engine/remote_private.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// As engine_remote.c has it, without a period.
typedef struct Host {
  Remote* remote;
  pthread_mutex_t held;
  pthread_t main;
  bool kills_first; ///< The worker is exchanged for another one as the main thread comes to hold
  bool is_lost;     ///< [held]
  _Atomic uint32_t offered_frames; ///< Of a block of the ring that was offered last; 0: none yet
} Host;

static RemoteStatus
remote_now(const Host* const host)
{
  RemoteStatus status;
  remote_status(host->remote, &status);
  return status;
}

static bool
is_replaced(void* const context)
{
  const RemoteStatus status = remote_now(context);
  return status.n_starts == 1U && !strcmp(status.state, "running");
}

static void
hold(void* const context)
{
  Host* const host = context;
  if (pthread_equal(pthread_self(), host->main) && host->kills_first) {
    host->kills_first = false;
    ck_assert_int_eq(kill((pid_t)remote_now(host).pid, SIGKILL), 0);
    await(is_replaced, host, "another worker");
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
  return false;
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
pulse(void* const context, RemotePulse* const pulse)
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
           const RunnerFacts* const facts)
{
  (void)context;
  (void)id;
  (void)reply;
  (void)facts;
}

static void
on_changed(void* const context, const RunnerFacts* const facts)
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
  const RunnerEvents events = { host, on_replied, on_changed };
  const RemoteHost calls = { host, hold, release, offer, given, lost, pulse, frame_now };
  Error error;
  ck_assert_msg(!remote_new(&config, &events, &calls, &host->remote, &error), "%s", error.text);
}

static void
host_stop(Host* const host)
{
  remote_calls.free(host->remote);
  pthread_mutex_destroy(&host->held);
}

static Ring*
new_ring(const uint32_t block_frames)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = block_frames, .n_slots = 8, .n_messages = 16
  };
  Ring* ring = NULL;
  Error error;
  ck_assert_msg(!ring_new(&shape, &ring, &error), "%s", error.text);
  return ring;
}

static void
arm(const Host* const host, Ring* const ring)
{
  const uint32_t block_frames = ring_shape(ring)->block_frames;
  const RunnerStart start = {
    .format = { .rate_hz = 48000.0, .block_frames = block_frames, .n_in = 1, .n_out = 1 },
    .ring = ring
  };
  RunnerFacts facts;
  Error error;
  ck_assert_msg(!remote_calls.arm(host->remote, &start, &facts, &error), "%s", error.text);
}

/// Arm it with a ring of its host's, and disarm it; whether its worker is behind that ring, as the
/// host knows it.
static bool
arm_and_disarm(Host* const host)
{
  Ring* const ring = new_ring(64);
  arm(host, ring);
  hold(host);
  const bool is_lost = host->is_lost;
  release(host);
  const ParamMessage message = { .uid = 1 };
  ck_assert_int_eq(remote_calls.set(host->remote, &message, 1U), is_lost); // else by the ring
  remote_calls.disarm(host->remote);
  ring_free(ring);
  return !is_lost;
}

START_TEST(a_worker_lost_before_another_is_armed_is_not_taken_for_that)
{
  Host host;
  host_start(&host);
  ck_assert(arm_and_disarm(&host));
  host.kills_first = true;
  ck_assert(arm_and_disarm(&host));
  ck_assert(!host.kills_first);
  ck_assert_uint_eq(remote_now(&host).n_starts, 1);
  host_stop(&host);
}
END_TEST

/// While the link makes a ring for the next worker, another format is wanted.
static struct {
  const Host* host; ///< NULL: nothing happens
  Ring* ring;
} other;

__typeof__(memfd_create) __real_memfd_create, __wrap_memfd_create; // --wrap in meson.build

int
__wrap_memfd_create(const char* const name, const unsigned flags)
{
  const Host* const host = other.host;
  if (host) {
    other.host = NULL;
    remote_calls.reset_load(host->remote); // there is no worker to do that
    remote_calls.disarm(host->remote);
    arm(host, other.ring);
  }
  return __real_memfd_create(name, flags);
}

static bool
was_offered(void* const context)
{
  return ((const Host*)context)->offered_frames > 0U;
}

START_TEST(a_ring_for_the_format_before_is_not_given_to_a_worker)
{
  Host host;
  host_start(&host);
  Ring* const ring = new_ring(64);
  other.ring = new_ring(128);
  arm(&host, ring);
  other.host = &host;
  ck_assert_int_eq(kill((pid_t)remote_now(&host).pid, SIGKILL), 0);
  await(was_offered, &host, "a ring");
  ck_assert_ptr_null(other.host);
  ck_assert_uint_eq(host.offered_frames, 128);
  // No other failure has been noted.
  ck_assert_msg(strstr(remote_now(&host).note, "SIGKILL"), "%s", remote_now(&host).note);
  remote_calls.disarm(host.remote);
  host_stop(&host);
  ring_free(other.ring);
  ring_free(ring);
}
END_TEST

START_TEST(a_device_that_does_not_come_back_is_tried_for_at_longer_and_longer_intervals)
{
  static const uint64_t seconds[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
  static Remote remote;
  uint64_t now_ns = 1000U * BLAME_FIRST_REST_NS;
  for (uint32_t i = 0; i < ARRAY_LEN(seconds); ++i) {
    remote_put_off_exchange(&remote, now_ns);
    ck_assert_uint_eq(remote.exchange_at_ns - now_ns, seconds[i] * BLAME_FIRST_REST_NS);
    now_ns = remote.exchange_at_ns + BLAME_LONGEST_REST_NS; // later, it is another failure
  }
  remote_put_off_exchange(&remote, now_ns + 1U);
  ck_assert_uint_eq(remote.exchange_rest_ns, BLAME_FIRST_REST_NS);
}
END_TEST

SUITE_MAIN("remote_host", a_worker_lost_before_another_is_armed_is_not_taken_for_that,
           a_ring_for_the_format_before_is_not_given_to_a_worker,
           a_device_that_does_not_come_back_is_tried_for_at_longer_and_longer_intervals)
