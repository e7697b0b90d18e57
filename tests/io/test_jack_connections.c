// SPDX-License-Identifier: GPL-3.0-or-later
// Connections are restored after a restart of the server, in whatever order the server reports,
// shows, removes and accepts them, and whatever libjack returns after the end of the graph.

#include "io/jack_connections.h"
#include "tests/support/played_jack.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000U

// ---- set-up of every test ----

static jack_port_t* own[2]; // in_1, out_1
static JackConnections connections;

static void
start_server(const char* const name)
{
  play_jack(name);
  char port[64];
  snprintf(port, sizeof(port), "%s:in_1", name);
  own[0] = add_port(port, JackPortIsInput);
  snprintf(port, sizeof(port), "%s:out_1", name);
  own[1] = add_port(port, JackPortIsOutput);
}

static void
add_peer(void)
{
  add_port("peer:out", JackPortIsOutput);
  add_port("peer:in", JackPortIsInput);
}

static void
remove_peer(void)
{
  remove_port(jack_port_by_name(NULL, "peer:out"));
  remove_port(jack_port_by_name(NULL, "peer:in"));
}

/// Connect rack:out_1 → card:in, a port of a device, and let the connections see it.
static jack_port_t*
begin_with_device(void)
{
  connections = (JackConnections){ NULL, 0 };
  start_server("rack");
  jack_port_t* const card = add_port("card:in", JackPortIsInput | JackPortIsPhysical);
  add_wire("rack:out_1", "card:in");
  ck_assert(jack_connections_update(&connections, NULL, own, 2, MS));
  ck_assert_uint_eq(connections.n, 1);
  return card;
}

static bool
update(const uint64_t now_ms)
{
  return jack_connections_update(&connections, NULL, own, 2, now_ms * MS);
}

/// Connect rack:out_1 → peer:in and peer:out → rack:in_1, and let the connections see both.
static void
begin(void)
{
  connections = (JackConnections){ NULL, 0 };
  start_server("rack");
  add_peer();
  add_wire("rack:out_1", "peer:in");
  add_wire("peer:out", "rack:in_1");
  ck_assert(update(1));
  ck_assert_uint_eq(connections.n, 2);
}

/// Restore the lost connections as a new session does.  Returns their number.
static uint32_t
restore(void)
{
  SCOPED(jack_connections_clear) JackConnections todo = { NULL, 0 };
  ck_assert(jack_connections_add_lost(&todo, &connections));
  const uint32_t n = jack_connections_restore(&todo, NULL);
  return n;
}

// ---- tests ----

TEST(all_connections_are_restored_under_another_client_name)
{
  begin();
  jack_connections_lose(&connections);
  start_server("rack-01");
  add_peer();
  ck_assert(jack_connections_can_restore(&connections, NULL));
  ck_assert_uint_eq(restore(), 2);
  ck_assert(has_wire("rack-01:out_1", "peer:in"));
  ck_assert(has_wire("peer:out", "rack-01:in_1"));
  ck_assert(update(2));
  ck_assert(!jack_connections_can_restore(&connections, NULL));
}

TEST(a_peer_that_is_not_active_yet_is_tried_again)
{
  begin();
  jack_connections_lose(&connections);
  start_server("rack");
  ck_assert(!jack_connections_can_restore(&connections, NULL)); // without any peer
  ck_assert_uint_eq(restore(), 0);
  add_port("peer:out", JackPortIsOutput)->is_active = false;
  ck_assert(jack_connections_can_restore(&connections, NULL));
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(n_refused, 1);
  update(2);
  add_port("peer:in", JackPortIsInput)->is_active = false;
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(n_refused, 3);
  update(5000);
  jack_port_by_name(NULL, "peer:out")->is_active = true;
  jack_port_by_name(NULL, "peer:in")->is_active = true;
  ck_assert(jack_connections_can_restore(&connections, NULL));
  ck_assert_uint_eq(restore(), 2);
  update(5001);
  ck_assert(!jack_connections_can_restore(&connections, NULL));
}

TEST(connections_restored_but_not_yet_listed_survive_the_next_death)
{
  begin();
  jack_connections_lose(&connections);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
  n_wires = 0; // confirmed by the server, not yet visible in its memory
  update(2);
  jack_connections_lose(&connections);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
}

TEST(a_disconnected_connection_leaves_the_list_after_a_moment)
{
  begin();
  cut("rack:out_1", "peer:in");
  ck_assert(!update(1000));
  ck_assert_uint_eq(connections.n, 2);
  ck_assert(!update(1099));
  ck_assert(update(1100));
  ck_assert_uint_eq(connections.n, 1);
  add_wire("rack:out_1", "peer:in");
  ck_assert(update(1101));
  ck_assert_uint_eq(connections.n, 2);
}

TEST(a_connection_that_comes_back_at_once_is_as_before)
{
  begin();
  cut("rack:out_1", "peer:in");
  ck_assert(!update(1000));
  add_wire("rack:out_1", "peer:in");
  ck_assert(update(1050));
  cut("rack:out_1", "peer:in");
  ck_assert(!update(1140)); // its waiting time restarts
  ck_assert_uint_eq(connections.n, 2);
}

TEST(connections_removed_by_an_ending_server_are_restored)
{
  begin();
  remove_peer(); // the peer ended with the server
  ck_assert(!update(1000));
  ck_assert(!update(1900));
  jack_connections_lose(&connections);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
}

TEST(a_peer_that_left_a_running_server_is_forgotten_after_a_second)
{
  begin();
  remove_peer();
  ck_assert(!update(1000));
  ck_assert(!update(1999));
  ck_assert(update(2000));
  ck_assert_uint_eq(connections.n, 0);
}

TEST(ports_of_the_wrong_kind_are_not_connected)
{
  begin();
  jack_connections_lose(&connections);
  start_server("rack");
  add_port("peer:in", JackPortIsOutput); // the port now has the other direction
  add_port("peer:out", JackPortIsOutput)->type = "8 bit raw midi";
  ck_assert(!jack_connections_can_restore(&connections, NULL));
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(n_refused + n_wires, 0);
}

TEST(a_wire_between_own_ports_is_one_connection)
{
  begin();
  add_wire("rack:out_1", "rack:in_1");
  ck_assert(update(2));
  ck_assert_uint_eq(connections.n, 3);
  jack_connections_lose(&connections);
  start_server("rack-02");
  ck_assert_uint_eq(restore(), 1);
  ck_assert(has_wire("rack-02:out_1", "rack-02:in_1"));
}

TEST(a_graph_that_is_gone_changes_nothing)
{
  begin();
  graph_is_gone = true;
  for (uint64_t now_ms = 2; now_ms < 5000; now_ms += 50) {
    ck_assert(!update(now_ms)); // another call is needed
    ck_assert_uint_eq(connections.n, 2);
  }
  jack_connections_lose(&connections);
  ck_assert(!jack_connections_can_restore(&connections, NULL));
  ck_assert_uint_eq(restore() + n_refused, 0);
  ck_assert(!update(5000));
  ck_assert_uint_eq(connections.n, 2);
  graph_is_gone = false;
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
  ck_assert(has_wire("rack:out_1", "peer:in"));
  ck_assert(has_wire("peer:out", "rack:in_1"));
}

TEST(a_port_that_was_never_made_changes_nothing)
{
  begin();
  jack_port_t* const in = own[0];
  own[0] = NULL;
  ck_assert(!update(2));
  ck_assert(!update(5000));
  ck_assert_uint_eq(connections.n, 2);
  own[0] = in;
  ck_assert(update(5001));
}

TEST(nothing_is_forgotten_while_time_stands)
{
  begin();
  remove_peer();
  for (unsigned n = 0; n < 100U; ++n) {
    ck_assert(!update(1000)); // no more periods arrive: the server may be about to end
  }
  jack_connections_lose(&connections);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
}

TEST(a_connection_with_a_device_outlives_its_absence)
{
  jack_port_t* const card = begin_with_device();
  remove_port(card);
  ck_assert(update(1000));
  ck_assert(update(100000));
  const JackConnection* first;
  ck_assert_uint_eq(jack_connections_count_lost(&connections, &first), 1);
  ck_assert_str_eq(first->to, "card:in");
  ck_assert_uint_eq(restore(), 0);
  add_port("card:in", JackPortIsInput | JackPortIsPhysical);
  ck_assert_uint_eq(restore(), 1);
  ck_assert(update(100001));
  ck_assert_uint_eq(jack_connections_count_lost(&connections, &first), 0);
}

TEST(a_device_that_returns_between_two_scans_stays_connected)
{
  jack_port_t* const card = begin_with_device();
  remove_port(card);
  add_port("card:in", JackPortIsInput | JackPortIsPhysical);
  update(1000);
  ck_assert_uint_eq(restore(), 1);
}

TEST(a_disconnected_device_stays_disconnected)
{
  jack_port_t* const card = begin_with_device();
  cut("rack:out_1", "card:in");
  ck_assert(!update(1000));
  ck_assert(update(1100));
  remove_port(card);
  ck_assert(update(1200));
  add_port("card:in", JackPortIsInput | JackPortIsPhysical);
  ck_assert(update(1300));
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(connections.n, 0);
}

TEST(another_port_that_has_the_name_for_an_alias_is_not_taken)
{
  jack_port_t* const card = begin_with_device();
  remove_port(card);
  ck_assert(update(1000));
  jack_port_t* const twin = add_port("card:in-2", JackPortIsInput | JackPortIsPhysical);
  strcpy(twin->alias, "card:in");
  ck_assert(!jack_connections_can_restore(&connections, NULL));
  ck_assert_uint_eq(restore(), 0);
}

TEST(a_connection_that_is_wanted_is_made_and_outlives_its_port)
{
  connections = (JackConnections){ NULL, 0 };
  start_server("rack");
  ck_assert(jack_connections_want(&connections, ":out_1", "peer:in"));
  ck_assert_uint_eq(restore(), 0);
  add_peer();
  ck_assert_uint_eq(restore(), 1);
  ck_assert(update(1));
  remove_peer();
  ck_assert(update(1000));
  ck_assert(update(5000));
  add_peer();
  ck_assert_uint_eq(restore(), 1);
}

static void
clear(void)
{
  jack_connections_clear(&connections);
}

SUITE_MAIN_WITH("jack_connections", NULL, clear)
