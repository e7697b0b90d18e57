// SPDX-License-Identifier: GPL-3.0-or-later
// News: clients that have proved their address get them while their leases last, at their rate;
// those of --osc-notify get them for ever.

#include "control/clients.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/strangers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// Number of news packets that wait, and the address of the last one in `packet`.
static uint32_t
count_news(void)
{
  uint32_t n = 0;
  while (strangers_receive()) {
    ++n;
  }
  return n;
}

TEST(a_subscriber_gets_all_present_values_and_no_other_does)
{
  const Peer first = strangers_start_proved();
  const Peer second = stranger_of("192.0.2.7", 9001);
  strangers_ask(&first, "/server/notify", "i", 1);
  strangers_expect("/done");
  strangers_flush();
  const uint32_t n = count_news();
  ck_assert_uint_ge(n, 3);
  ck_assert_str_eq(strangers.packet, "/node/vol/gain");
  strangers_ask(&second, "/server/notify", "i", 1);
  ck_assert_uint_gt(strangers_receive(), 0);
  strangers_flush();
  ck_assert_uint_eq(count_news(), n);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 2);
  control_notify(&strangers.control, NOTIFY_WORKER);
  ck_assert_uint_eq(count_news(), 2);
  strangers_ask(&second, "/server/notify", "i", 0);
  ck_assert_uint_gt(strangers_receive(), 0);
  strangers_flush();
  control_notify(&strangers.control, NOTIFY_WORKER);
  ck_assert_uint_eq(count_news(), 1);
  strangers_stop();
}

TEST(a_client_can_subscribe_another_port_of_its_machine)
{
  const Peer peer = strangers_start_proved();
  const Peer tablet = stranger_of("192.0.2.7", 9001);
  strangers_ask(&peer, "/server/notify", "ii", 1, 9001);
  ck_assert_uint_gt(strangers_receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 1);
  ck_assert(peer_equal(&strangers.control.clients.of[0].peer, &tablet));
  strangers_ask(&peer, "/server/notify", "ii", 1, 65536);
  strangers_expect("/fail");
  strangers_ask(&peer, "/server/notify", "ii", 1, -1);
  strangers_expect("/fail");
  strangers_ask(&peer, "/server/notify", "ii", 1, 0); // the sender's port
  ck_assert_uint_gt(strangers_receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 2);
  strangers_ask(&peer, "/server/notify", "ii", 0, 9001);
  ck_assert_uint_gt(strangers_receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 1);
  strangers_stop();
}

TEST(a_subscription_of_another_machine_ends_after_a_minute_without_its_packets)
{
  strangers_start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  const Peer tablet = stranger_of("192.0.2.7", 9001);
  const Peer neighbour = stranger_of("192.0.2.7", 9002);
  SCOPED_FD const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const Peer any = peer_of("127.0.0.1", 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&any.address, any.n_bytes), 0);
  const Peer here = peer_bound(fd);
  strangers_prove(&peer);
  strangers_ask(&peer, "/server/notify", "i", 1);
  strangers_ask(&peer, "/server/notify", "ii", 1, 9001);
  strangers_ask(&neighbour, "/server/notify", "i", 1);
  ck_assert(client_take(&strangers.control.clients, &here, &here, CLIENT_NEWS,
                        strangers.control.now_ns, NULL));
  const uint64_t begin_ns = strangers.control.now_ns;
  strangers.control.now_ns = begin_ns + TRUST_LEASE_NS / 2U;
  clients_renew(&strangers.control, &peer); // for both subscriptions that it asked for
  strangers.control.now_ns = begin_ns + TRUST_LEASE_NS;
  clients_expire(&strangers.control);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 3);
  clients_renew(&strangers.control, &tablet);
  strangers.control.now_ns = begin_ns + TRUST_LEASE_NS * 3U / 2U;
  clients_expire(&strangers.control);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 2);
  ck_assert(trust_has(&strangers.control.outlet.trust, &neighbour)); // the machine still sends
  strangers.control.now_ns = begin_ns + 2U * TRUST_LEASE_NS;
  clients_expire(&strangers.control);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify),
                    1); // the open port of this machine
  ck_assert(!trust_has(&strangers.control.outlet.trust, &peer));
  strangers_stop();
}

/// Count the packets of the news of `n` changes, one in each millisecond.
static uint32_t
count_changes(const uint32_t n)
{
  uint32_t n_news = 0;
  for (uint32_t i = 0; i < n; ++i) {
    strangers.control.now_ns += NS_PER_MS;
    control_notify(&strangers.control, NOTIFY_WORKER);
    notify_flush(&strangers.control.notify, strangers.control.now_ns);
    n_news += count_news();
  }
  return n_news;
}

/// Send all news that the server sends without a further change.  Returns their number.
static uint32_t
count_rest(void)
{
  uint32_t n = count_news();
  while (notify_wake_ns(&strangers.control.notify) != UINT64_MAX) {
    const uint64_t wake_ns = notify_wake_ns(&strangers.control.notify);
    strangers.control.now_ns =
        wake_ns > strangers.control.now_ns ? wake_ns : strangers.control.now_ns;
    notify_flush(&strangers.control.notify, strangers.control.now_ns);
    n += count_news();
  }
  return n;
}

TEST(a_subscriber_with_a_rate_gets_the_newest_state_at_that_rate)
{
  const Peer peer = strangers_start_proved();
  static const int wrong[] = { 0, -1, 51 };
  for (uint32_t i = 0; i < ARRAY_LEN(wrong); ++i) {
    strangers_ask(&peer, "/server/notify", "iii", 1, 0, wrong[i]);
    strangers_expect("/fail");
  }
  strangers_ask(&peer, "/server/notify", "iii", 1, 0, 10);
  strangers_expect("/done");
  count_rest();
  ck_assert_uint_eq(count_changes(1000), 10);
  ck_assert_uint_eq(count_rest(), 1);
  strangers_ask(&peer, "/server/notify", "iii", 1, 0, 50);
  count_rest();
  strangers.control.now_ns += NS_PER_S;
  ck_assert_uint_eq(count_changes(1000), 50);
  ck_assert_uint_eq(count_rest(), 1);
  strangers_stop();
}

TEST(a_slow_subscriber_does_not_slow_others_down)
{
  const Peer slow = strangers_start_proved();
  const Peer fast = stranger_of("192.0.2.7", 9001);
  strangers_ask(&slow, "/server/notify", "iii", 1, 0, 1);
  strangers_ask(&fast, "/server/notify", "i", 1);
  count_rest();
  ck_assert_uint_eq(count_changes(2000), 100 + 2);
  ck_assert_uint_eq(count_rest(), 2);
  // The client that made the newest change does not get it, at any rate.
  const NotifyKey key = { editor_rack(strangers.control.editor)->nodes[1].uid, 0 };
  notify_change(&strangers.control.notify, key, &fast, strangers.control.now_ns);
  ck_assert_uint_eq(count_news(), 0);
  strangers.control.now_ns += NOTIFY_INTERVAL_NS;
  notify_change(&strangers.control.notify, key, &slow, strangers.control.now_ns);
  ck_assert_uint_eq(count_rest(), 1);
  // What waits for a client that leaves is forgotten.
  notify_change(&strangers.control.notify, key, &fast,
                strangers.control.now_ns + NOTIFY_INTERVAL_NS);
  strangers_ask(&slow, "/server/notify", "i", 0);
  ck_assert_uint_gt(strangers_receive(), 0);
  ck_assert_uint_eq(notify_wake_ns(&strangers.control.notify), UINT64_MAX);
  strangers_stop();
}

/// Listeners from a list; their answers go to `receiver`.
static Listeners
listeners_of(const char* const list)
{
  Listeners listeners = { .n = 0 };
  OK(listeners_read(&listeners, list, &error));
  return listeners;
}

/// Begin with the listeners of a list.
static void
start_listeners(const char* const list)
{
  strangers_start("192.0.2.0/24");
  // clients_add() asks the socket for its family.
  const int pair = strangers.control.outlet.socket;
  const Peer any = peer_of("0.0.0.0", 0);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&any.address, any.n_bytes), 0);
  strangers.control.outlet.socket = fd;
  const Listeners listeners = listeners_of(list);
  OK(clients_add(&strangers.control, &listeners, &error));
  strangers.control.outlet.socket = pair;
  close(fd);
  for (uint32_t l = 0; l < listeners.n; ++l) {
    strangers.control.clients.of[l].peer.n_bytes = 0;
  }
}

TEST(a_listener_gets_all_news_without_a_subscription_for_ever)
{
  start_listeners("192.0.2.7:9001,127.0.0.1:9");
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 2);
  const Peer tablet = stranger_of("192.0.2.7", 50000);
  strangers_ask(&tablet, "/ping", ""); // from another port, without a proof
  strangers_expect("/done");
  strangers_ask(&tablet, "/server/notify", "ii", 0, 9001);
  strangers_expect("/fail");
  strangers.control.now_ns += 1000U * TRUST_LEASE_NS;
  clients_expire(&strangers.control);
  control_notify(&strangers.control, NOTIFY_STARTED);
  ck_assert_uint_eq(count_news(), 2);
  strangers_ask(&tablet, "/server/notify", "ii", 1, 9001); // again, for all values
  ck_assert_uint_gt(strangers_receive(), 0);
  ck_assert_uint_ge(count_rest(), 3);
  strangers.control.now_ns += 1000U * TRUST_LEASE_NS;
  clients_expire(&strangers.control);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 2);
  ck_assert_uint_eq(strangers.control.outlet.trust.n_hosts, 1);
  strangers_stop();
}

TEST(nobody_sets_the_rate_of_a_listener)
{
  start_listeners("192.0.2.7:9001");
  const Peer tablet = stranger_of("192.0.2.7", 50000);
  strangers_ask(&tablet, "/server/notify", "iii", 1, 9001, 1);
  strangers_expect("/fail");
  ck_assert_uint_eq(count_changes(1000), 50);
  strangers_stop();
}

TEST(a_listener_stays_when_there_is_no_memory_for_its_values)
{
  start_listeners("192.0.2.7:9001");
  const Peer tablet = stranger_of("192.0.2.7", 50000);
  strangers.has_failed = true;
  for (strangers.n_good = 0; strangers.has_failed; ++strangers.n_good) {
    strangers_ask(&tablet, "/server/notify", "ii", 1, 9001);
    ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 1);
  }
  ck_assert_uint_gt(strangers.n_good, 1U);
  strangers.n_good = UINT32_MAX;
  strangers_stop();
}

TEST(a_listener_that_the_server_cannot_reach_is_refused)
{
  static const struct {
    const char* bound;
    const char* listener;
    bool is_reached;
  } rows[] = {
    { "127.0.0.1", "127.0.0.1:9001", true }, { "127.0.0.1", "192.0.2.7:9001", false },
    { "0.0.0.0", "192.0.2.7:9001", true },   { "0.0.0.0", "[2001:db8::7]:9001", false },
    { "::", "192.0.2.7:9001", true },        { "::", "[2001:db8::7]:9001", true },
    { "::1", "127.0.0.1:9001", false },      { "::1", "[::1]:9001", true },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    strangers_start("192.0.2.0/24");
    const int pair = strangers.control.outlet.socket;
    const Peer own = peer_of(rows[r].bound, 0);
    const int fd = socket(own.address.ss_family, SOCK_DGRAM, 0);
    if (bind(fd, (const struct sockaddr*)&own.address, own.n_bytes) == 0) { // else no IPv6 here
      strangers.control.outlet.socket = fd;
      const Listeners listeners = listeners_of(rows[r].listener);
      Error error;
      ck_assert_msg(!clients_add(&strangers.control, &listeners, &error) == rows[r].is_reached,
                    "%s to %s", rows[r].bound, rows[r].listener);
    }
    strangers.control.outlet.socket = pair;
    close(fd);
    strangers_stop();
  }
}

SUITE_MAIN("client_news")
