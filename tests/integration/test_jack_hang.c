// SPDX-License-Identifier: GPL-3.0-or-later
// When the server has died, libjack may hang for ever in the calls that end a client (jack2 #395).
// This file replaces these calls by functions that hang on demand.  The driver must continue with a
// new client.

#include "io/io.h"
#include "tests/support/fake_events.h"
#include "tests/support/jack_rig.h"
#include "tests/support/jackd.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <jack/jack.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- calls of libjack, and calls to libjack ----

typedef enum Hang {
  HANG_NOWHERE,
  HANG_BEFORE, // before libjack's function is called, so that libjack holds no lock
  HANG_INSIDE, // while libjack waits for the end of its audio thread and holds its lock
} Hang;

static _Atomic Hang hang;
static atomic_uint n_hanging, n_closed;
static _Thread_local bool is_closing;

static void
hang_at(const Hang where)
{
  if (hang == where) {
    ++n_hanging;
    while (hang == where) {
      usleep(1000);
    }
    --n_hanging;
  }
}

int
jack_client_close(jack_client_t* const client)
{
  int (*close_client)(jack_client_t*) = NULL;
  *(void**)&close_client = dlsym(RTLD_NEXT, "jack_client_close");
  hang_at(HANG_BEFORE);
  is_closing = true;
  const int result = close_client(client);
  is_closing = false;
  ++n_closed;
  return result;
}

int
pthread_join(const pthread_t thread, void** const result)
{
  int (*join)(pthread_t, void**) = NULL;
  *(void**)&join = dlsym(RTLD_NEXT, "pthread_join");
  if (is_closing) {
    hang_at(HANG_INSIDE);
  }
  return join(thread, result);
}

// ---- tests ----

static bool
is_connected(const Jackd* const jackd, const char* const from, const char* const to)
{
  return jackd_tool(jackd, "jack_connect", from, to, NULL) != 0; // fails: the connection exists
}

static void
come_back(Jackd* const jackd, Io* const io, FakeEvents* const fake)
{
  const uint64_t periods = fake->periods;
  jackd_start(jackd, 48000, 64);
  POLL_UNTIL(io, driver_is_running(io) && fake->periods > periods + 10U);
  ck_assert(is_connected(jackd, "system:capture_1", "rack:in_1"));
  ck_assert(is_connected(jackd, "rack:out_2", "system:playback_2"));
}

TEST(a_close_that_hangs_is_abandoned_and_a_new_client_starts)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 2, 2, true);
  for (unsigned n = 1; n <= 2U; ++n) {
    POLL_UNTIL(io, fake.periods > 10U);
    hang = HANG_BEFORE;
    jackd_kill(&jackd, SIGKILL);
    POLL_UNTIL(io, n_hanging == n);
    POLL_UNTIL(io, strstr(fake.note, "hangs; it is abandoned"));
    come_back(&jackd, io, &fake);
    ck_assert_uint_eq(n_hanging, n); // all abandoned calls still hang
    ck_assert_uint_eq(driver_status(io).reconnects, n);
  }
  ck_assert(!fake.overlapped);
  ck_assert_uint_eq(driver_status(io).overlaps, 0);
  struct timespec before;
  struct timespec after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  io_close(io);
  ck_assert(period_door_is_kept(&fake.door)); // abandoned clients may still use the door
  clock_gettime(CLOCK_MONOTONIC, &after);
  printf("io_close() took %.2f s while jack_client_close() hung\n",
         (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec));
}

// libjack opens no client while it closes one (JackGlobals::fOpenMutex), so the driver cannot
// continue with a new client.  But no other thread hangs, and the driver continues as soon as the
// call returns.
TEST(a_close_that_returns_late_is_followed_by_a_new_client_at_once)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 2, 2, true);
  POLL_UNTIL(io, fake.periods > 10U);
  hang = HANG_INSIDE;
  jackd_kill(&jackd, SIGKILL);
  POLL_UNTIL(io, n_hanging == 1U);
  jackd_start(&jackd, 48000, 64);
  POLL_UNTIL(io, strstr(fake.log, "does not answer"));
  ck_assert(!driver_is_running(io));
  ck_assert_uint_eq(n_closed, 0);
  ck_assert_double_gt(driver_status(io).hang_s, 2.0);
  hang = HANG_NOWHERE;
  const uint64_t periods = fake.periods;
  POLL_UNTIL(io, driver_is_running(io) && fake.periods > periods + 10U);
  ck_assert(driver_status(io).hang_s == 0.0);
  ck_assert_uint_eq(driver_status(io).reconnects, 1);
  POLL_UNTIL(io, is_connected(&jackd, "system:capture_1", "rack:in_1"));
  io_close(io);
  ck_assert_uint_eq(n_closed, 2);
}

int
main(void)
{
  return jackd_suite_run("jack_hang");
}
