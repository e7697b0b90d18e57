// SPDX-License-Identifier: GPL-3.0-or-later
// The table of clients: one entry for all settings of a client, one rule for their end, and places
// that one machine cannot take from the others.

#include "control/client_table.h"
#include "tests/support/peers.h"
#include "tests/support/suite.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BEGIN_NS UINT64_C(1000000000)

static ClientTable table;
static OwnAddresses machine;
static uint32_t n_ended[CLIENT_WISHES_END];
static const ClientWish wishes[] = { CLIENT_NEWS, CLIENT_QUIET, CLIENT_METERS, CLIENT_BUNDLES };

/// A ClientEnded.
static void
on_ended(void* const context, const Client* const client, const unsigned ended)
{
  ck_assert_ptr_eq(context, &table);
  ck_assert(client >= table.of && client < table.of + CLIENTS_MAX);
  for (uint32_t w = 0; w < ARRAY_LEN(wishes); ++w) {
    n_ended[wishes[w]] += (ended & wishes[w]) != 0;
  }
}

static void
begin(void)
{
  table = (ClientTable){ .machine = &machine, .ended = on_ended, .context = &table };
}

static Client*
take(const Peer* const peer, const ClientWish wish)
{
  return client_take(&table, peer, peer, wish, BEGIN_NS, NULL);
}

/// Open a socket on a free port of loopback; *own is its address.
static int
open_client(Peer* const own)
{
  const Peer any = peer_of("127.0.0.1", 0);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&any.address, any.n_bytes), 0);
  *own = peer_bound(fd);
  return fd;
}

TEST(a_client_has_one_entry_for_all_its_settings)
{
  begin();
  const Peer peer = peer_of("192.0.2.1", 1);
  Client* const client = take(&peer, CLIENT_QUIET);
  ck_assert_ptr_eq(take(&peer, CLIENT_NEWS), client);
  ck_assert_ptr_eq(take(&peer, CLIENT_METERS), client);
  client_end(&table, client, CLIENT_NEWS);
  ck_assert(client_has(&table, &peer, CLIENT_QUIET) && !client_has(&table, &peer, CLIENT_NEWS));
  ck_assert_uint_eq(client_count(&table, CLIENT_NEWS), 0);
  client_end(&table, client, CLIENT_NEWS);
  ck_assert_uint_eq(n_ended[CLIENT_NEWS], 1);
  client_expire(&table, BEGIN_NS + CLIENT_LEASE_NS - 1U);
  ck_assert(client_find(&table, &peer));
  client_expire(&table, BEGIN_NS + CLIENT_LEASE_NS);
  ck_assert(!client_find(&table, &peer));
  ck_assert_uint_eq(n_ended[CLIENT_QUIET], 1);
  ck_assert_uint_eq(n_ended[CLIENT_METERS], 1);
}

/// One rule for each setting.
TEST_ROWS(a_packet_of_the_client_or_of_the_one_that_asked_renews_the_lease, wishes)
{
  begin();
  const Peer asking = peer_of("192.0.2.1", 1);
  const Peer client = peer_of("192.0.2.1", 2);
  const Peer neighbour = peer_of("192.0.2.1", 3);
  ck_assert(client_take(&table, &client, &asking, wishes[row], BEGIN_NS, NULL));
  const uint64_t half_ns = CLIENT_LEASE_NS / 2U;
  client_renew(&table, &asking, BEGIN_NS + half_ns);
  client_renew(&table, &client, BEGIN_NS + 2U * half_ns);
  client_renew(&table, &neighbour, BEGIN_NS + 3U * half_ns);
  client_expire(&table, BEGIN_NS + 4U * half_ns - 1U);
  ck_assert(client_has(&table, &client, wishes[row]));
  client_expire(&table, BEGIN_NS + 4U * half_ns);
  ck_assert(!client_has(&table, &client, wishes[row]));
  client_renew(&table, &client, BEGIN_NS + 5U * half_ns);
  ck_assert(!client_find(&table, &client));
}

TEST_ROWS(a_client_of_this_machine_ends_when_it_has_closed_its_port, wishes)
{
  begin();
  Peer peer;
  const int fd = open_client(&peer);
  ck_assert(take(&peer, wishes[row]));
  uint64_t now_ns = BEGIN_NS + 3U * CLIENT_LEASE_NS;
  client_expire(&table, now_ns);
  ck_assert(client_has(&table, &peer, wishes[row]));
  close(fd);
  client_expire(&table, now_ns + CLIENT_LOOK_NS - 1U);
  ck_assert(client_has(&table, &peer, wishes[row]));
  client_expire(&table, now_ns + CLIENT_LOOK_NS);
  ck_assert(!client_has(&table, &peer, wishes[row]));
}

TEST(a_port_of_this_machine_may_be_opened_a_minute_later)
{
  begin();
  Peer ports[2];
  Peer asking;
  const int own = open_client(&asking);
  for (uint32_t p = 0; p < 2U; ++p) {
    close(open_client(&ports[p]));
    ck_assert(client_take(&table, &ports[p], &asking, CLIENT_NEWS, BEGIN_NS, NULL));
  }
  client_expire(&table, BEGIN_NS + CLIENT_LEASE_NS - CLIENT_LOOK_NS);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&ports[1].address, ports[1].n_bytes), 0);
  client_expire(&table, BEGIN_NS + CLIENT_LEASE_NS);
  ck_assert(!client_find(&table, &ports[0]));
  ck_assert(client_find(&table, &ports[1]));
  close(fd);
  close(own);
}

TEST(a_connection_and_a_fixed_client_have_no_lease)
{
  begin();
  Peer connected = peer_of("192.0.2.1", 1);
  const Peer fixed = peer_of("127.0.0.1", 1);
  connected.connection = 33;
  ck_assert(take(&connected, CLIENT_METERS));
  client_fix(&table, &fixed);
  client_renew(&table, &connected, BEGIN_NS);
  client_renew(&table, &fixed, BEGIN_NS);
  client_expire(&table, UINT64_MAX - 1U);
  ck_assert(client_has(&table, &connected, CLIENT_METERS));
  ck_assert(client_has(&table, &fixed, CLIENT_NEWS));
  client_forget(&table, &connected);
  ck_assert(!client_find(&table, &connected));
  ck_assert_uint_eq(n_ended[CLIENT_METERS], 1);
}

// Of each row, all addresses are one machine: a host, also by connections, or 64 bits of IPv6.
static const struct {
  const char* format; ///< Of its addresses
  bool is_tcp;
} machines[] = { { "192.0.2.1", false }, { "192.0.2.1", true }, { "2001:db8::%x", false } };

TEST_ROWS(one_machine_has_8_places_and_leaves_the_others, machines)
{
  static const char* const words[] = { "subscribe", "get failures only", "have meters",
                                       "get bundles" };
  begin();
  Error error = { STATUS_OK, "" };
  const Peer fixed = peer_of("192.0.2.1", 9001); // counts for no machine
  client_fix(&table, &fixed);
  for (uint32_t w = 0; w < ARRAY_LEN(wishes); ++w) {
    for (uint32_t c = 0; c < 100U; ++c) {
      char address[32];
      snprintf(address, sizeof(address), machines[row].format, 1U + c);
      Peer peer = peer_of(address, (uint16_t)(1U + c));
      peer.connection = machines[row].is_tcp ? 1U + c : 0U;
      Client* const client = client_take(&table, &peer, &peer, wishes[w], BEGIN_NS, &error);
      ck_assert_int_eq(client != NULL, c < CLIENTS_PER_MACHINE);
    }
    ck_assert_int_eq(error.status, STATUS_LIMIT);
    assert_says(error.text, "8 clients of your machine");
    assert_says(error.text, words[w]);
    const Peer other = peer_of("2001:db8:0:1::1", 1);
    ck_assert(take(&other, wishes[w]));
  }
}

TEST(active_clients_stay_and_inactive_ones_are_replaced)
{
  static const ClientWish settings[] = { CLIENT_NEWS, CLIENT_QUIET };
  begin();
  int fds[ARRAY_LEN(settings)][CLIENTS_PER_WISH];
  Peer peers[ARRAY_LEN(settings)][CLIENTS_PER_WISH];
  for (uint32_t w = 0; w < ARRAY_LEN(settings); ++w) { // each setting has its own limit
    for (uint32_t c = 0; c < CLIENTS_PER_WISH; ++c) {
      fds[w][c] = open_client(&peers[w][c]);
      ck_assert(take(&peers[w][c], settings[w]));
    }
  }
  Peer more;
  const int fd = open_client(&more);
  for (uint32_t w = 0; w < ARRAY_LEN(settings); ++w) {
    ck_assert(!take(&more, settings[w]));
    ck_assert(!client_find(&table, &more) || w);
    ck_assert(take(&peers[w][1], settings[w])); // it has this setting
    close(fds[w][7]);
    ck_assert(take(&more, settings[w]));
  }
  ck_assert_uint_eq(client_count(&table, CLIENT_NEWS), CLIENTS_PER_WISH);
  ck_assert(client_has(&table, &more, CLIENT_QUIET));
  close(fd);
  for (uint32_t c = 0; c < CLIENTS_PER_WISH; ++c) {
    ck_assert_int_eq(client_has(&table, &peers[1][c], CLIENT_QUIET), c != 7U);
    for (uint32_t w = 0; w < ARRAY_LEN(settings) && c != 7U; ++w) {
      close(fds[w][c]);
    }
  }
}

TEST(the_next_server_gets_the_subscribers_on_this_machine)
{
  begin();
  const Peer here = peer_of("127.0.0.1", 7);
  const Peer there = peer_of("192.0.2.1", 7);
  const Peer fixed = peer_of("127.0.0.1", 8);
  const Peer quiet = peer_of("127.0.0.1", 9);
  Peer connected = peer_of("127.0.0.1", 10);
  connected.connection = 1;
  client_fix(&table, &fixed);
  ck_assert(take(&here, CLIENT_NEWS) && take(&there, CLIENT_NEWS) && take(&quiet, CLIENT_QUIET));
  ck_assert(take(&connected, CLIENT_NEWS));
  char* const text = client_print(&table);
  ck_assert_str_eq(text, "127.0.0.1 7\n");
  begin();
  client_read(&table, text, AF_INET6, BEGIN_NS);
  ck_assert_uint_eq(client_count(&table, CLIENT_NEWS), 0);
  client_read(&table, text, AF_INET, BEGIN_NS);
  ck_assert(client_has(&table, &here, CLIENT_NEWS));
  free(text);
}

SUITE_MAIN("client_table")
