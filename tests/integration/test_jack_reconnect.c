// SPDX-License-Identifier: GPL-3.0-or-later
// The JACK driver while its server is not there, hangs, ends and comes back, and while another
// client has its name.  It restores ports, connections and audio.

#include "io/io.h"
#include "tests/support/fake_events.h"
#include "tests/support/jack_rig.h"
#include "tests/support/jackd.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <jack/jack.h>
#include <jack/metadata.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

jack_client_t*
__real_jack_client_open(const char* name, jack_options_t options, jack_status_t* status, ...);
jack_client_t*
__wrap_jack_client_open(const char* name, jack_options_t options, jack_status_t* status, ...);

static atomic_uint n_probes;      // second clients that the driver has begun to open
static atomic_uint n_refused;     // attempts to open a client under a name that another one has
static atomic_bool holds_refused; // such an attempt does not return

static _Atomic double first_refused_s;

static double
now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// All calls in this program give the name of a server.
jack_client_t*
__wrap_jack_client_open(const char* const name, const jack_options_t options,
                        jack_status_t* const status, ...)
{
  va_list more;
  va_start(more, status);
  const char* const server = va_arg(more, const char*);
  va_end(more);
  if (!strcmp(name, "warprack_probe")) {
    atomic_fetch_add(&n_probes, 1U);
  }
  jack_client_t* const client = __real_jack_client_open(name, options, status, server);
  if (!client && options & JackUseExactName && !(*status & JackServerFailed)) {
    if (!atomic_fetch_add(&n_refused, 1U)) {
      first_refused_s = now_s();
    }
    while (holds_refused) {
      usleep(1000);
    }
  }
  return client;
}

TEST(a_server_that_is_not_there_yet_can_be_waited_for)
{
  Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  jackd_start(&jackd, 48000, 64); // sets jackd.name
  jackd_stop(&jackd);
  const IoConfig config = { .client_name = "rack",
                            .server_name = jackd.name,
                            .n_in = 2,
                            .n_out = 2,
                            .connect = true,
                            .wait = true };
  Io* io = NULL;
  const IoEvents events = fake_events(&fake, 2, 2);
  OK(io_open(io_find("jack"), &config, &events, &io, &error));
  ck_assert(!driver_is_running(io));
  poll_for(io, 30U); // the driver's attempts to connect fail
  ck_assert_uint_eq(fake.formats, 0);
  ck_assert_msg(fake.notes == 1U && strstr(fake.note, "does not run") &&
                    strstr(fake.note, "waiting for it"),
                "%s", fake.log);
  jackd_start(&jackd, 48000, 64);
  POLL_UNTIL(io, driver_is_running(io) && fake.periods > 10U);
  assert_says(fake.log, "is available: 48000 Hz, 64 frames");
  ck_assert_uint_eq(driver_status(io).reconnects, 0);
  jack_client_t* const probe = jack_rig_probe(&jackd);
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_1", "system:playback_1")); // as at a start
  jack_client_close(probe);
  io_close(io);
  jackd_stop(&jackd);
}

/// Wait until the driver has described its ports, after which it makes no further call to the
/// server.
static void
wait_until_described(Io* const io, jack_client_t* const probe)
{
  POLL_UNTIL(io, jack_rig_has_property(probe, "rack:out_1", JACK_METADATA_ORDER, "1"));
  POLL_UNTIL(io, driver_status(io).hang_s == 0.0);
}

TEST(a_server_that_stands_is_probed_but_not_in_freewheel)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  jack_client_t* const probe = jack_rig_probe(&jackd);
  wait_until_described(io, probe);
  ck_assert_int_eq(jack_set_freewheel(probe, 1), 0);
  POLL_UNTIL(io, fake.waited > 100U);
  kill(jackd.pid, SIGSTOP);
  poll_for(io, 400U); // 4 s or more, twice the time until a probe
  ck_assert_uint_eq(atomic_load(&n_probes), 0);
  ck_assert(driver_status(io).freewheeling);
  kill(jackd.pid, SIGCONT);
  const uint64_t waited = fake.waited;
  POLL_UNTIL(io, fake.waited > waited + 100U);
  ck_assert_int_eq(jack_set_freewheel(probe, 0), 0);
  POLL_UNTIL(io, !driver_status(io).freewheeling);
  kill(jackd.pid, SIGSTOP);
  POLL_UNTIL(io, atomic_load(&n_probes) == 1U);
  kill(jackd.pid, SIGCONT);
  const uint64_t periods = fake.periods;
  POLL_UNTIL(io, fake.periods > periods + 100U && driver_status(io).hang_s == 0.0);
  ck_assert_uint_eq(driver_status(io).reconnects, 0);
  ck_assert_uint_eq(fake.formats, 1);
  jack_client_close(probe);
  io_close(io);
}

/// Run jack_connect or jack_disconnect until it succeeds: a server refuses a new client while
/// another one ends.
static void
change_wire(const Jackd* const jackd, const char* const tool, const char* const from,
            const char* const to)
{
  AWAIT(!jackd_tool(jackd, tool, from, to, NULL));
}

static void
connect_all(const Jackd* const jackd)
{
  change_wire(jackd, "jack_connect", "peer:out", "rack:in_1");
  change_wire(jackd, "jack_connect", "rack:out_1", "peer:in");
  change_wire(jackd, "jack_connect", "rack:out_2", "rack:in_2");
  change_wire(jackd, "jack_connect", "rack:out_1", "system:playback_2");
}

static pid_t
start_peer(const Jackd* const jackd)
{
  const pid_t pid = jackd_run(jackd, getenv("WARPRACK_JACK_PEER"));
  change_wire(jackd, "jack_connect", "peer:out", "peer:in");
  change_wire(jackd, "jack_disconnect", "peer:out", "peer:in");
  return pid;
}

static void
check_all(const Jackd* const jackd, Io* const io)
{
  jack_client_t* const probe = jack_rig_probe(jackd);
  // The peer starts after the rack and registers its ports one by one, so the driver needs a few
  // polls to restore its connections.
  POLL_UNTIL(io, jack_rig_is_connected(probe, "peer:out", "rack:in_1"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_1", "peer:in"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_1", "system:playback_1"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_1", "system:playback_2"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_2", "rack:in_2"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "system:capture_1", "rack:in_1"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "system:capture_2", "rack:in_2"));
  ck_assert(!jack_rig_is_connected(probe, "rack:out_2", "system:playback_2"));
  jack_client_close(probe);
}

// End the server with a signal and start it again with another format.  Prints how long the driver
// takes to detect the loss, and to play again.
static void
die_and_return(const int signal_number, const unsigned rate_hz, const unsigned period,
               const useconds_t settle_us)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 2, 2, true);
  POLL_UNTIL(io, fake.periods > 10U); // until the driver has stored its own connections
  const pid_t peer = start_peer(&jackd);
  change_wire(&jackd, "jack_disconnect", "rack:out_2", "system:playback_2");
  poll_for(io, 20U); // longer than 100 ms: then the disconnection is permanent
  connect_all(&jackd);
  POLL_UNTIL(io, fake.has_input);
  // No poll here: the driver must find the last changes in the memory of the dead server, where
  // they are after the next period.
  const uint64_t connected = fake.periods;
  AWAIT(fake.periods >= connected + 3U);
  usleep(settle_us);
  const double killed_s = now_s();
  jackd_kill(&jackd, signal_number);
  waitpid(peer, NULL, 0);
  POLL_UNTIL(io, !driver_is_running(io));
  const double lost_s = now_s();
  ck_assert_msg(strstr(fake.note, "lost JACK server"), "%s", fake.log);
  poll_for(io, 60U); // the driver's attempts to reconnect fail
  ck_assert_msg(fake.notes == 1U, "%s", fake.log);

  fake.has_input = false;
  const uint64_t periods = fake.periods;
  const double launched_s = now_s();
  jackd_launch(&jackd, rate_hz, period);
  POLL_UNTIL(io, fake.periods > periods);
  const double back_s = now_s();
  start_peer(&jackd); // ends with the server; killed before it, it would delay the server's end
  POLL_UNTIL(io, fake.has_input);
  ck_assert(driver_is_running(io));
  ck_assert_msg(driver_status(io).reconnects == 1U, "%s", fake.log);
  ck_assert_double_eq(fake.rate_hz, rate_hz);
  ck_assert_uint_eq(fake.last_frames, period);
  ck_assert(!fake.overlapped);
  POLL_UNTIL(io, strstr(fake.log, "is back"));
  check_all(&jackd, io);
  printf("signal %d: detected after %.0f ms; first period %.0f ms after jackd was started again "
         "(%s)\n",
         signal_number, 1e3 * (lost_s - killed_s), 1e3 * (back_s - launched_s), fake.note);
  io_close(io);
}

TEST(connections_are_restored_after_the_server_was_killed)
{
  die_and_return(SIGKILL, 48000, 64, 0);
}

TEST(connections_are_restored_after_the_server_ended_in_order)
{
  die_and_return(SIGTERM, 48000, 64, 300000);
}

TEST(messages_of_libjack_are_reported_unless_the_server_is_lost)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  POLL_UNTIL(io, fake.periods > 10U);
  jack_error_callback("words at the end");
  io_poll(io);
  jackd_kill(&jackd, SIGKILL);
  POLL_UNTIL(io, !driver_is_running(io));
  const uint64_t periods = fake.periods;
  jackd_launch(&jackd, 48000, 64);
  POLL_UNTIL(io, fake.periods > periods);
  jack_error_callback("other words");
  POLL_UNTIL(io, strstr(fake.log, "libjack: other words"));
  ck_assert_msg(!strstr(fake.log, "words at the end"), "%s", fake.log);
  io_close(io);
}

TEST(a_server_may_come_back_with_another_format)
{
  die_and_return(SIGKILL, 44100, 100, 0);
}

static int
play_nothing(const jack_nframes_t n_frames, void* const context)
{
  (void)n_frames;
  (void)context;
  return 0;
}

/// Open a client in this process, with one port in each direction, and do not activate it.  It has
/// a process callback, because an active client without one delays the clients after it.
static jack_client_t*
open_late_peer(const Jackd* const jackd)
{
  jack_client_t* const peer = jack_rig_client(jackd, "late");
  jack_set_process_callback(peer, play_nothing, NULL);
  jack_port_register(peer, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  jack_port_register(peer, "in", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
  return peer;
}

/// Activate the late peer, or another one in its place (see jack_rig_probe()).
static jack_client_t*
activate_late_peer(const Jackd* const jackd, jack_client_t* peer)
{
  while (jack_activate(peer)) {
    jack_client_close(peer);
    peer = open_late_peer(jackd);
  }
  return peer;
}

TEST(a_peer_that_becomes_active_long_after_its_ports_are_there_is_connected)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  jack_client_t* peer = activate_late_peer(&jackd, open_late_peer(&jackd));
  ck_assert_int_eq(jack_connect(peer, "late:out", "rack:in_1"), 0);
  ck_assert_int_eq(jack_connect(peer, "rack:out_1", "late:in"), 0);
  POLL_UNTIL(io, jack_rig_is_connected(peer, "late:out", "rack:in_1"));
  POLL_UNTIL(io, jack_rig_is_connected(peer, "rack:out_1", "late:in"));
  signal(SIGPIPE, SIG_IGN); // jack_client_close() below writes to the socket of a dead server
  jackd_kill(&jackd, SIGKILL);
  jack_client_close(peer);
  POLL_UNTIL(io, !driver_is_running(io));
  jackd_start(&jackd, 48000, 64);
  POLL_UNTIL(io, driver_is_running(io));
  peer = open_late_peer(&jackd);
  const uint32_t notes = fake.notes;
  poll_for(io, 50U); // the driver's attempts to connect are refused
  ck_assert(!jack_rig_is_connected(peer, "late:out", "rack:in_1"));
  ck_assert_msg(fake.notes == notes, "%s", fake.log);
  peer = activate_late_peer(&jackd, peer);
  POLL_UNTIL(io, jack_rig_is_connected(peer, "late:out", "rack:in_1"));
  POLL_UNTIL(io, jack_rig_is_connected(peer, "rack:out_1", "late:in"));
  jack_client_close(peer);
  io_close(io);
}

TEST(a_taken_client_name_is_reported)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents first = { 0 };
  FakeEvents second = { 0 };
  jackd_start(&jackd, 48000, 64);
  Io* const a = jack_rig_open(&jackd, &first, 1, 1, false);
  Io* const b = jack_rig_open(&jackd, &second, 1, 1, false);
  ck_assert_msg(first.notes == 0U, "%s", first.log);
  assert_says(second.log, "'rack' is taken");
  io_close(a);
  io_close(b);
}

/// Restart the server, and open a client that takes the driver's name before the driver can.
static jack_client_t*
take_name(Jackd* const jackd, Io* const io)
{
  jackd_kill(jackd, SIGKILL);
  POLL_UNTIL(io, !driver_is_running(io));
  poll_for(io, 20U); // its session ends
  jackd_start(jackd, 48000, 64);
  jack_client_t* const client = jack_rig_client(jackd, "rack");
  n_refused = 0;
  return client;
}

TEST(a_name_that_another_client_has_for_a_moment_is_waited_for)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  jack_client_t* const other = take_name(&jackd, io);
  holds_refused = true; // the driver makes ten attempts within half a second
  POLL_UNTIL(io, n_refused > 0U);
  jack_client_close(other);
  holds_refused = false;
  POLL_UNTIL(io, driver_is_running(io));
  jack_client_t* const probe = jack_rig_probe(&jackd);
  ck_assert_ptr_nonnull(jack_port_by_name(probe, "rack:out_1"));
  ck_assert_msg(!strstr(fake.log, "is taken"), "%s", fake.log);
  jack_client_close(probe);
  io_close(io);
}

TEST(a_name_that_another_client_keeps_is_given_up)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  jack_client_t* const other = take_name(&jackd, io);
  POLL_UNTIL(io, driver_is_running(io));
  ck_assert_uint_ge(n_refused, 10U);
  ck_assert_double_ge(now_s() - first_refused_s, 0.4); // time for the other client to end
  assert_says(fake.log, "'rack' is taken; this one is called 'rack-01'");
  jack_client_close(other);
  io_close(io);
}

TEST(a_server_that_hangs_blocks_no_thread_of_ours)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 2, 2, true);
  POLL_UNTIL(io, fake.periods > 10U);
  kill(jackd.pid, SIGSTOP);
  fake.latency = 77;
  io_latency_changed(io); // makes a call to which the server does not reply
  POLL_UNTIL(io, strstr(fake.log, "does not answer"));
  kill(jackd.pid, SIGCONT);
  const uint64_t periods = fake.periods;
  POLL_UNTIL(io, fake.periods > periods + 10U);

  kill(jackd.pid, SIGSTOP);
  const double began_s = now_s();
  io_close(io);
  printf("io_close() took %.2f s while the server hung\n", now_s() - began_s);
  kill(jackd.pid, SIGCONT);
  jack_client_t* const probe =
      jack_rig_probe(&jackd); // waits until the abandoned call has returned
  jack_rig_wait_for_end(probe);
  jack_client_close(probe);
}

int
main(void)
{
  return jackd_suite_run("jack_reconnect");
}
