// SPDX-License-Identifier: GPL-3.0-or-later
// Connections outlive the server whatever the order in which it tells of them, shows them, takes
// them down and lets them be made again, and whatever libjack says once the server's graph is gone.
// libjack is played by this file: its functions are defined here, so that each order can be had.

#include "../io/jack_links.h"
#include "support/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS        1000000U
#define MAX_PORTS 16U
#define MAX_WIRES 16U

// ---- a server ----

struct _jack_port {
  char name[64];
  const char* type;
  unsigned long flags;
  bool is_active; // of its client: else it cannot be connected
};

static jack_port_t ports[MAX_PORTS];
static unsigned n_ports;
static struct {
  char from[64];
  char to[64];
} wires[MAX_WIRES];
static unsigned n_wires;
static unsigned n_refused; // attempts to connect what is not active
static char client_name[32];
static bool graph_is_gone; // libjack answers with NULL and -1

static jack_port_t*
add_port(const char* const name, const unsigned long flags)
{
  ck_assert_uint_lt(n_ports, MAX_PORTS);
  jack_port_t* const port = &ports[n_ports++];
  *port = (jack_port_t){ .type = JACK_DEFAULT_AUDIO_TYPE, .flags = flags, .is_active = true };
  snprintf(port->name, sizeof(port->name), "%s", name);
  return port;
}

static void
add_wire(const char* const from, const char* const to)
{
  ck_assert_uint_lt(n_wires, MAX_WIRES);
  snprintf(wires[n_wires].from, sizeof(wires[n_wires].from), "%s", from);
  snprintf(wires[n_wires].to, sizeof(wires[n_wires].to), "%s", to);
  ++n_wires;
}

static bool
has_wire(const char* const from, const char* const to)
{
  for (unsigned w = 0; w < n_wires; ++w) {
    if (!strcmp(wires[w].from, from) && !strcmp(wires[w].to, to)) {
      return true;
    }
  }
  return false;
}

static void
cut(const char* const from, const char* const to)
{
  for (unsigned w = 0; w < n_wires; ++w) {
    if (!strcmp(wires[w].from, from) && !strcmp(wires[w].to, to)) {
      wires[w] = wires[--n_wires];
      return;
    }
  }
  ck_abort_msg("no such wire");
}

jack_port_t*
jack_port_by_name(jack_client_t* const client, const char* const name)
{
  (void)client;
  for (unsigned p = 0; p < n_ports && !graph_is_gone; ++p) {
    if (!strcmp(ports[p].name, name)) {
      return &ports[p];
    }
  }
  return NULL;
}

const char*
jack_port_name(const jack_port_t* const port)
{
  return port && !graph_is_gone ? port->name : NULL;
}

const char*
jack_port_type(const jack_port_t* const port)
{
  return port && !graph_is_gone ? port->type : NULL;
}

int
jack_port_flags(const jack_port_t* const port)
{
  return port && !graph_is_gone ? (int)port->flags : -1;
}

char*
jack_get_client_name(jack_client_t* const client)
{
  (void)client;
  return graph_is_gone ? NULL : client_name;
}

const char**
jack_port_get_all_connections(const jack_client_t* const client, const jack_port_t* const port)
{
  (void)client;
  if (!port || graph_is_gone) {
    return NULL;
  }
  const char** const peers = calloc(MAX_WIRES + 1U, sizeof(char*));
  unsigned n = 0;
  for (unsigned w = 0; w < n_wires; ++w) {
    if (!strcmp(wires[w].from, port->name)) {
      peers[n++] = wires[w].to;
    } else if (!strcmp(wires[w].to, port->name)) {
      peers[n++] = wires[w].from;
    }
  }
  return peers;
}

void
jack_free(void* const memory)
{
  free(memory);
}

int
jack_connect(jack_client_t* const client, const char* const from, const char* const to)
{
  const jack_port_t* const a = jack_port_by_name(client, from);
  const jack_port_t* const b = jack_port_by_name(client, to);
  if (!a || !b || !a->is_active || !b->is_active) {
    ++n_refused;
    return -1;
  }
  if (has_wire(from, to)) {
    return EEXIST;
  }
  add_wire(from, to);
  return 0;
}

// ---- what every test begins with ----

static jack_port_t* own[2]; // in_1, out_1
static JackLinks links;

static void
start_server(const char* const name)
{
  snprintf(client_name, sizeof(client_name), "%s", name);
  n_ports = n_wires = n_refused = 0;
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

static bool
look(const uint64_t now_ms)
{
  return jack_links_look(&links, NULL, own, 2, now_ms * MS);
}

/// rack:out_1 → peer:in, peer:out → rack:in_1, seen.
static void
begin(void)
{
  links = (JackLinks){ NULL, 0 };
  start_server("rack");
  add_peer();
  add_wire("rack:out_1", "peer:in");
  add_wire("peer:out", "rack:in_1");
  ck_assert(look(1));
  ck_assert_uint_eq(links.n, 2);
}

/// What a session that begins now restores.
static uint32_t
restore(void)
{
  JackLinks todo = { NULL, 0 };
  ck_assert(jack_links_add_lost(&todo, &links));
  const uint32_t n = jack_links_restore(&todo, NULL);
  jack_links_clear(&todo);
  return n;
}

// ---- tests ----

START_TEST(all_come_back_under_another_client_name)
{
  begin();
  jack_links_lose(&links);
  start_server("rack-01");
  add_peer();
  ck_assert(jack_links_can_restore(&links, NULL));
  ck_assert_uint_eq(restore(), 2);
  ck_assert(has_wire("rack-01:out_1", "peer:in"));
  ck_assert(has_wire("peer:out", "rack-01:in_1"));
  ck_assert(look(2));
  ck_assert(!jack_links_can_restore(&links, NULL));
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_peer_that_is_not_active_yet_is_tried_again)
{
  begin();
  jack_links_lose(&links);
  start_server("rack");
  ck_assert(!jack_links_can_restore(&links, NULL)); // no peer at all
  ck_assert_uint_eq(restore(), 0);
  add_port("peer:out", JackPortIsOutput)->is_active = false;
  ck_assert(jack_links_can_restore(&links, NULL));
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(n_refused, 1);
  look(2);
  add_port("peer:in", JackPortIsInput)->is_active = false;
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(n_refused, 3);
  look(5000);
  jack_port_by_name(NULL, "peer:out")->is_active = true;
  jack_port_by_name(NULL, "peer:in")->is_active = true;
  ck_assert(jack_links_can_restore(&links, NULL));
  ck_assert_uint_eq(restore(), 2);
  look(5001);
  ck_assert(!jack_links_can_restore(&links, NULL));
  jack_links_clear(&links);
}
END_TEST

START_TEST(what_was_restored_but_is_not_shown_yet_survives_the_next_death)
{
  begin();
  jack_links_lose(&links);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
  n_wires = 0; // the server has said yes, its memory is a cycle behind
  look(2);
  jack_links_lose(&links);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_connection_that_was_cut_is_forgotten_after_a_moment)
{
  begin();
  cut("rack:out_1", "peer:in");
  ck_assert(!look(1000));
  ck_assert_uint_eq(links.n, 2);
  ck_assert(!look(1099));
  ck_assert(look(1100));
  ck_assert_uint_eq(links.n, 1);
  add_wire("rack:out_1", "peer:in");
  ck_assert(look(1101));
  ck_assert_uint_eq(links.n, 2);
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_connection_that_comes_back_at_once_is_as_before)
{
  begin();
  cut("rack:out_1", "peer:in");
  ck_assert(!look(1000));
  add_wire("rack:out_1", "peer:in");
  ck_assert(look(1050));
  cut("rack:out_1", "peer:in");
  ck_assert(!look(1140)); // its time begins anew
  ck_assert_uint_eq(links.n, 2);
  jack_links_clear(&links);
}
END_TEST

START_TEST(what_a_server_takes_down_on_its_way_out_is_remembered)
{
  begin();
  n_wires = 0;
  n_ports = 2; // the peer has ended with the server
  ck_assert(!look(1000));
  ck_assert(!look(1900));
  jack_links_lose(&links);
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_peer_that_left_a_running_server_is_forgotten_after_a_second)
{
  begin();
  n_wires = 0;
  n_ports = 2;
  ck_assert(!look(1000));
  ck_assert(!look(1999));
  ck_assert(look(2000));
  ck_assert_uint_eq(links.n, 0);
  jack_links_clear(&links);
}
END_TEST

START_TEST(ends_that_do_not_fit_are_not_tried)
{
  begin();
  jack_links_lose(&links);
  start_server("rack");
  add_port("peer:in", JackPortIsOutput); // it has changed its mind
  add_port("peer:out", JackPortIsOutput)->type = "8 bit raw midi";
  ck_assert(!jack_links_can_restore(&links, NULL));
  ck_assert_uint_eq(restore(), 0);
  ck_assert_uint_eq(n_refused + n_wires, 0);
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_wire_between_own_ports_is_one_connection)
{
  begin();
  add_wire("rack:out_1", "rack:in_1");
  ck_assert(look(2));
  ck_assert_uint_eq(links.n, 3);
  jack_links_lose(&links);
  start_server("rack-02");
  ck_assert_uint_eq(restore(), 1);
  ck_assert(has_wire("rack-02:out_1", "rack-02:in_1"));
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_graph_that_is_gone_changes_nothing)
{
  begin();
  graph_is_gone = true;
  for (uint64_t now_ms = 2; now_ms < 5000; now_ms += 50) {
    ck_assert(!look(now_ms)); // it is to be called again
    ck_assert_uint_eq(links.n, 2);
  }
  jack_links_lose(&links);
  ck_assert(!jack_links_can_restore(&links, NULL));
  ck_assert_uint_eq(restore() + n_refused, 0);
  ck_assert(!look(5000));
  ck_assert_uint_eq(links.n, 2);
  graph_is_gone = false;
  start_server("rack");
  add_peer();
  ck_assert_uint_eq(restore(), 2);
  ck_assert(has_wire("rack:out_1", "peer:in"));
  ck_assert(has_wire("peer:out", "rack:in_1"));
  jack_links_clear(&links);
}
END_TEST

START_TEST(a_port_that_was_never_made_changes_nothing)
{
  begin();
  jack_port_t* const in = own[0];
  own[0] = NULL;
  ck_assert(!look(2));
  ck_assert(!look(5000));
  ck_assert_uint_eq(links.n, 2);
  own[0] = in;
  ck_assert(look(5001));
  jack_links_clear(&links);
}
END_TEST

SUITE_MAIN("jack_links", all_come_back_under_another_client_name,
           a_peer_that_is_not_active_yet_is_tried_again,
           what_was_restored_but_is_not_shown_yet_survives_the_next_death,
           a_connection_that_was_cut_is_forgotten_after_a_moment,
           a_connection_that_comes_back_at_once_is_as_before,
           what_a_server_takes_down_on_its_way_out_is_remembered,
           a_peer_that_left_a_running_server_is_forgotten_after_a_second,
           ends_that_do_not_fit_are_not_tried, a_wire_between_own_ports_is_one_connection,
           a_graph_that_is_gone_changes_nothing, a_port_that_was_never_made_changes_nothing)
