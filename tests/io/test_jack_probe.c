// SPDX-License-Identifier: GPL-3.0-or-later
// The results of a probe: a second client on a JACK server that sends no periods to the first.
// This file replaces libjack and the clock: periods arrive during sleeps.

#include "io/quirks/jack_probe.h"
#include "tests/support/suite.h"

#include <jack/jack.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

int __wrap_nanosleep(const struct timespec* time, struct timespec* rest);

#define NEVER 1000U

static char client_memory;
static JackProcessCallback process;
static void* process_context;
static _Atomic uint64_t first_periods;

static struct {
  bool refuses, is_open;
  unsigned n_sleeps;
  unsigned probe_from; ///< First sleep of those in which the second client gets periods
  unsigned first_at;   ///< The sleep in which the first client gets a period
} server;

jack_client_t*
jack_client_open(const char* const name, const jack_options_t options, jack_status_t* const status,
                 ...)
{
  (void)options;
  (void)status;
  ck_assert_str_eq(name, "warprack_probe");
  server.is_open = !server.refuses;
  return server.refuses ? NULL : (jack_client_t*)&client_memory;
}

int
jack_client_close(jack_client_t* const client)
{
  (void)client;
  server.is_open = false;
  return 0;
}

int
jack_set_process_callback(jack_client_t* const client, const JackProcessCallback callback,
                          void* const context)
{
  (void)client;
  process = callback;
  process_context = context;
  return 0;
}

int
jack_activate(jack_client_t* const client)
{
  (void)client;
  return 0;
}

jack_nframes_t
jack_get_sample_rate(jack_client_t* const client)
{
  (void)client;
  return 48000;
}

jack_nframes_t
jack_get_buffer_size(jack_client_t* const client)
{
  (void)client;
  return 64;
}

int
__wrap_nanosleep(const struct timespec* const time, struct timespec* const rest)
{
  (void)rest;
  ck_assert_int_eq(time->tv_sec, 0);
  ++server.n_sleeps;
  if (server.n_sleeps >= server.probe_from) {
    process(64, process_context);
  }
  first_periods += server.n_sleeps == server.first_at;
  return 0;
}

static JackProbe
probe(const unsigned probe_from, const unsigned first_at)
{
  memset(&server, 0, sizeof(server));
  server.probe_from = probe_from;
  server.first_at = first_at;
  const JackProbe result = jack_probe("name", &first_periods);
  ck_assert(!server.is_open);
  return result;
}

TEST(a_server_that_accepts_no_client_has_ended)
{
  server.refuses = true;
  ck_assert_int_eq(jack_probe(NULL, &first_periods), JACK_PROBE_NO_SERVER);
}

TEST(a_server_that_plays_to_the_second_client_alone_has_forgotten_the_first)
{
  ck_assert_int_eq(probe(1, NEVER), JACK_PROBE_PLAYS);
  ck_assert_int_eq(probe(90, NEVER), JACK_PROBE_PLAYS);
}

TEST(a_first_client_may_get_its_period_later_than_the_second)
{
  ck_assert_int_eq(probe(1, 6), JACK_PROBE_NONE);
  ck_assert_int_eq(probe(1, 20), JACK_PROBE_NONE);
  ck_assert_int_eq(probe(90, 110), JACK_PROBE_NONE);
}

TEST(a_server_that_gives_no_client_periods_has_stopped)
{
  ck_assert_int_eq(probe(NEVER, NEVER), JACK_PROBE_STANDS);
}

SUITE_MAIN("jack_probe")
