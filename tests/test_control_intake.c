// SPDX-License-Identifier: GPL-3.0-or-later
// The way in: who may send, how fast, and that nobody waits behind another's flood.  Times are the
// tests' own; the kernel's part is tried on sockets of loopback.

#include "support/peers.h"
#include "support/suite.h"

#include "../control/allow.h"
#include "../control/bucket.h"
#include "../control/intake.h"
#include "../control/sieve.h"
#include "../control/sources.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGIN_NS UINT64_C(1000000000)
#define MS_NS    UINT64_C(1000000)
#define S_NS     UINT64_C(1000000000)

// ---- who may ----

static bool
may(const char* const list, const char* const address)
{
  Allow allow = { .n_rules = 0 };
  Error error;
  ck_assert_msg(allow_read(&allow, list, &error) == STATUS_OK, "%s", error.text);
  const Peer peer = peer_of(address, 1);
  return allow_has(&allow, &peer);
}

START_TEST(a_list_names_addresses_and_networks)
{
  ck_assert(may("192.0.2.7", "192.0.2.7"));
  ck_assert(!may("192.0.2.7", "192.0.2.6"));
  ck_assert(!may("192.0.2.7", "2001:db8::1"));
  ck_assert(may("192.0.2.0/24", "192.0.2.255"));
  ck_assert(!may("192.0.2.0/24", "192.0.3.0"));
  ck_assert(may("192.0.2.128/25", "192.0.2.129"));
  ck_assert(!may("192.0.2.128/25", "192.0.2.127"));
  ck_assert(may("10.0.0.0/8,192.0.2.1", "10.9.8.7"));
  ck_assert(may("10.0.0.0/8,192.0.2.1", "192.0.2.1"));
  ck_assert(!may("10.0.0.0/8,192.0.2.1", "192.0.2.2"));
  ck_assert(may("2001:db8::/32", "2001:db8:1::5"));
  ck_assert(!may("2001:db8::/32", "2001:db9::"));
  ck_assert(may("0.0.0.0/0", "198.51.100.1"));
  ck_assert(!may("0.0.0.0/0", "2001:db8::1"));
  ck_assert(may("::/0", "198.51.100.1")); // which is ::ffff:198.51.100.1
}
END_TEST

START_TEST(an_ip4_address_is_the_same_inside_ip6)
{
  ck_assert(may("192.0.2.7", "::ffff:192.0.2.7"));
  ck_assert(may("::ffff:192.0.2.7", "192.0.2.7"));
  ck_assert(may("192.0.2.0/24", "::ffff:192.0.2.200"));
  ck_assert(!may("192.0.2.0/24", "::ffff:192.0.3.200"));
  ck_assert(!may("192.0.2.7", "::192.0.2.7")); // deprecated, and something else
}
END_TEST

START_TEST(this_machine_always_may)
{
  const Allow nobody = { .n_rules = 0 };
  const char* const own[] = { "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1" };
  for (uint32_t i = 0; i < ARRAY_LEN(own); ++i) {
    const Peer peer = peer_of(own[i], 1);
    ck_assert(allow_has(&nobody, &peer));
  }
  const Peer other = peer_of("192.0.2.1", 1);
  ck_assert(!allow_has(&nobody, &other));
  Peer unknown = { .n_bytes = 0 };
  unknown.address.ss_family = AF_UNIX;
  Allow all = { .n_rules = 0 };
  ck_assert_int_eq(allow_read(&all, "::/0", &(Error){ 0 }), STATUS_OK);
  ck_assert(!allow_has(&all, &unknown));
}
END_TEST

START_TEST(a_bad_list_is_refused)
{
  static const char* const lists[] = {
    "",           ",",          "localhost",   "10.0.0.1,",   "10.0.0",        "10.0.0.1/33",
    "10.0.0.0/",  "10.0.0.0/x", "10.0.0.0/8x", "10.0.0.7/8",  "10.0.0.0/-1",   "::1/129",
    "2001::7/16", "10.0.0.1 ",  "[::1]",       "10.0.0.1:99", "10.0.0.0/0008", "1:2:3:4:5:6:7:8:9",
  };
  for (uint32_t i = 0; i < ARRAY_LEN(lists); ++i) {
    Allow allow = { .n_rules = 0 };
    Error error;
    ck_assert_msg(allow_read(&allow, lists[i], &error) == STATUS_BAD_ARG, "\"%s\"", lists[i]);
    ck_assert_uint_gt(strlen(error.text), 0);
  }
}
END_TEST

START_TEST(a_list_is_bounded_and_has_room_for_ourselves)
{
  Allow allow = { .n_rules = 0 };
  Error error;
  for (uint32_t i = 0; i < ALLOW_MAX; ++i) {
    char text[32];
    snprintf(text, sizeof(text), "192.0.2.%u", i);
    ck_assert_int_eq(allow_read(&allow, text, &error), STATUS_OK);
  }
  ck_assert_int_eq(allow_read(&allow, "192.0.2.200", &error), STATUS_LIMIT);
  const Peer own = peer_of("198.51.100.1", 9770);
  allow_add(&allow, &own);
  ck_assert(allow_has(&allow, &own));
}
END_TEST

// ---- how fast ----

START_TEST(a_bucket_fills_again)
{
  Bucket bucket = bucket_with(BUCKET_BURST, BEGIN_NS);
  uint32_t n_taken = 0;
  while (bucket_take(&bucket, BEGIN_NS, 1)) {
    ++n_taken;
  }
  ck_assert_uint_eq(n_taken, (uint32_t)BUCKET_BURST);
  ck_assert(bucket_take(&bucket, BEGIN_NS + MS_NS, (uint32_t)(BUCKET_RATE_HZ / 1000.0)));
  ck_assert(!bucket_take(&bucket, BEGIN_NS + MS_NS, 1));
  ck_assert(!bucket_take(&bucket, BEGIN_NS + 100U * S_NS, (uint32_t)BUCKET_BURST + 1U));
  ck_assert(bucket_take(&bucket, BEGIN_NS + 100U * S_NS, (uint32_t)BUCKET_BURST));
}
END_TEST

static Sources sources;

static void
put_from(const char* const address, const uint16_t port, const uint64_t now_ns)
{
  const Peer peer = peer_of(address, port);
  (void)sources_put(&sources, &peer, now_ns, "/a\0\0,\0\0\0", 8);
}

static uint16_t
take_port(void)
{
  Parcel* const parcel = sources_take(&sources);
  ck_assert_ptr_nonnull(parcel);
  const PeerKey key = peer_key(&parcel->peer);
  free(parcel);
  return key.port;
}

START_TEST(nobody_waits_behind_a_flood)
{
  for (uint32_t i = 0; i < 5000; ++i) {
    put_from("127.0.0.1", 1, BEGIN_NS);
  }
  for (uint32_t n = 0; n < 100; ++n) {
    (void)take_port();
    put_from("127.0.0.1", 2, BEGIN_NS);
    const uint16_t first = take_port();
    const uint16_t second = first == 2 ? 2 : take_port();
    ck_assert_uint_eq(second, 2);
  }
  sources_clear(&sources);
}
END_TEST

START_TEST(all_senders_have_their_turn)
{
  for (uint32_t i = 0; i < 100; ++i) {
    for (uint16_t port = 1; port <= 5; ++port) {
      put_from("127.0.0.1", port, BEGIN_NS);
    }
  }
  for (uint32_t i = 0; i < 100; ++i) {
    uint32_t seen = 0;
    for (uint32_t n = 0; n < 5; ++n) {
      seen |= 1U << take_port();
    }
    ck_assert_uint_eq(seen, 0x3E); // each once
  }
  ck_assert_ptr_null(sources_take(&sources));
}
END_TEST

START_TEST(packets_of_one_sender_stay_in_order)
{
  const Peer peer = peer_of("127.0.0.1", 1);
  for (uint32_t i = 0; i < 1000; ++i) {
    (void)sources_put(&sources, &peer, BEGIN_NS, &i, sizeof(i));
  }
  for (uint32_t i = 0; i < 1000; ++i) {
    Parcel* const parcel = sources_take(&sources);
    uint32_t number = 0;
    memcpy(&number, parcel->bytes, sizeof(number));
    ck_assert_uint_eq(number, i);
    ck_assert_uint_eq(parcel->n_bytes, sizeof(number));
    ck_assert_mem_eq(parcel->bytes + sizeof(number), "\0\0\0\0\0\0\0", 8);
    free(parcel);
  }
}
END_TEST

/// Send for a second, spread evenly, and take everything.  Packets that came through.
static uint32_t
send_a_second(const uint64_t begin_ns, const uint32_t rate_hz)
{
  uint32_t n_taken = 0;
  for (uint64_t i = 0; i < rate_hz; ++i) {
    put_from("127.0.0.1", 1, begin_ns + i * S_NS / rate_hz);
    while (sources.n_parcels) {
      (void)take_port();
      ++n_taken;
    }
  }
  return n_taken;
}

START_TEST(a_sender_at_its_rate_loses_nothing)
{
  for (uint32_t s = 0; s < 5; ++s) {
    ck_assert_uint_eq(send_a_second(BEGIN_NS + s * S_NS, (uint32_t)BUCKET_RATE_HZ),
                      (uint32_t)BUCKET_RATE_HZ);
  }
  ck_assert_uint_eq(sources.slowed, 0);
}
END_TEST

START_TEST(a_sender_that_is_a_little_too_fast_is_slowed_and_not_shut_out)
{
  uint32_t n_taken = 0;
  for (uint32_t s = 0; s < 5; ++s) {
    n_taken = send_a_second(BEGIN_NS + s * S_NS, (uint32_t)(1.5 * BUCKET_RATE_HZ));
  }
  ck_assert_uint_ge(n_taken, (uint32_t)(0.99 * BUCKET_RATE_HZ));
  ck_assert_uint_le(n_taken, (uint32_t)(1.01 * BUCKET_RATE_HZ));
  ck_assert_uint_gt(sources.slowed, 0);
  ck_assert_uint_eq(sources.shut_out, 0);
}
END_TEST

/// Flood at one instant until the sender is shut out.
static void
flood(const uint16_t port, const uint64_t now_ns)
{
  const Peer peer = peer_of("127.0.0.1", port);
  for (uint32_t i = 0; i < 100000; ++i) {
    if (sources_put(&sources, &peer, now_ns, "/a\0\0,\0\0\0", 8)) {
      return;
    }
  }
  ck_abort_msg("a flood is not noticed");
}

START_TEST(a_flood_is_shut_out_for_longer_each_time_and_forgiven)
{
  uint64_t now_ns = BEGIN_NS;
  PeerKey key;
  for (uint64_t ms = 50; ms < 3000; ms *= 2U) {
    flood(1, now_ns);
    const uint64_t expected_ns = (ms < 1000U ? ms : 1000U) * MS_NS;
    ck_assert_uint_eq(sources_wake_ns(&sources, now_ns), now_ns + expected_ns);
    ck_assert_uint_eq(sources_shut(&sources, now_ns, &key, 1), 1);
    ck_assert_uint_eq(key.port, 1);
    const uint64_t slowed = sources.slowed;
    ck_assert_uint_eq(sources.n_parcels, 0); // nor is heard what it had in its queue
    put_from("127.0.0.1", 1, now_ns + expected_ns - 1U);
    ck_assert_ptr_null(sources_take(&sources));
    ck_assert_uint_eq(sources.slowed, slowed + 1U);
    now_ns += expected_ns;
    ck_assert_uint_eq(sources_shut(&sources, now_ns, &key, 1), 0);
    ck_assert_uint_eq(sources_wake_ns(&sources, now_ns), UINT64_MAX);
    put_from("127.0.0.1", 1, now_ns);
    ck_assert_uint_eq(take_port(), 1);
  }
  now_ns += SOURCES_FORGIVE_NS;
  flood(1, now_ns);
  ck_assert_uint_eq(sources_wake_ns(&sources, now_ns), now_ns + SOURCES_MIN_SHUT_NS);
  sources_clear(&sources);
}
END_TEST

START_TEST(a_sender_that_has_made_way_meanwhile_pays_as_well)
{
  const Peer peer = peer_of("127.0.0.1", 5000);
  ck_assert(sources_charge(&sources, &peer, BEGIN_NS, (uint32_t)BUCKET_BURST));
  ck_assert(!sources_charge(&sources, &peer, BEGIN_NS, 1));
  sources_clear(&sources);
}
END_TEST

START_TEST(messages_of_a_bundle_are_paid_for)
{
  const Peer peer = peer_of("127.0.0.1", 1);
  put_from("127.0.0.1", 1, BEGIN_NS);
  (void)take_port();
  ck_assert(sources_charge(&sources, &peer, BEGIN_NS, 0));
  for (uint32_t i = 0; i < 7; ++i) {
    ck_assert(sources_charge(&sources, &peer, BEGIN_NS, 1024));
  }
  ck_assert(!sources_charge(&sources, &peer, BEGIN_NS, 1024)); // 8,192 less the one above
  ck_assert_uint_eq(sources.slowed, 1);
  ck_assert(sources_charge(&sources, &peer, BEGIN_NS, 1023));
  put_from("127.0.0.1", 1, BEGIN_NS);
  ck_assert_ptr_null(sources_take(&sources));
}
END_TEST

START_TEST(queues_are_bounded)
{
  static uint8_t packet[65504];
  for (uint16_t port = 1; port <= 20; ++port) {
    const Peer peer = peer_of("127.0.0.1", port);
    for (uint32_t i = 0; i < 100; ++i) {
      (void)sources_put(&sources, &peer, BEGIN_NS, packet, sizeof(packet));
    }
    ck_assert_uint_le(sources.items[port - 1U].n_bytes, SOURCES_BYTES / 2U);
  }
  ck_assert_uint_le(sources.n_bytes, SOURCES_BYTES);
  sources_clear(&sources);
  ck_assert_uint_eq(sources.n_bytes, 0);
}
END_TEST

START_TEST(more_senders_than_the_table_holds_are_served)
{
  for (uint32_t i = 0; i < 3U * SOURCES_MAX; ++i) {
    put_from("127.0.0.1", (uint16_t)(1000U + i), BEGIN_NS + i);
    ck_assert_uint_eq(take_port(), 1000U + i);
  }
}
END_TEST

/// As many new senders as the table holds, one after the other.
static void
fill_with_strangers(const uint64_t now_ns)
{
  for (uint32_t i = 0; i < SOURCES_MAX; ++i) {
    put_from("127.0.0.1", (uint16_t)(1000U + i), now_ns);
    (void)take_port();
  }
}

START_TEST(a_known_sender_keeps_its_place_among_strangers)
{
  put_from("127.0.0.1", 1, BEGIN_NS);
  put_from("127.0.0.1", 1, BEGIN_NS + SOURCES_KNOWN_NS);
  sources_clear(&sources);
  fill_with_strangers(BEGIN_NS + SOURCES_KNOWN_NS + MS_NS);
  ck_assert_uint_eq(sources.items[0].key.port, 1);
  fill_with_strangers(BEGIN_NS + SOURCES_KNOWN_NS + SOURCES_KEEP_NS);
  ck_assert_uint_ne(sources.items[0].key.port, 1);
}
END_TEST

START_TEST(who_was_shut_out_is_a_stranger_again)
{
  put_from("127.0.0.1", 1, BEGIN_NS);
  flood(1, BEGIN_NS + SOURCES_KNOWN_NS);
  const uint64_t end_ns = BEGIN_NS + SOURCES_KNOWN_NS + SOURCES_MIN_SHUT_NS;
  put_from("127.0.0.1", 1, end_ns);
  ck_assert_uint_eq(take_port(), 1);
  fill_with_strangers(end_ns + MS_NS);
  ck_assert_uint_ne(sources.items[0].key.port, 1);
}
END_TEST

START_TEST(floods_from_many_ports_are_shut_out_and_leave_room)
{
  const uint16_t n_floods = 200;
  for (uint32_t i = 0; i < 1000; ++i) { // each far below its own rate
    for (uint16_t port = 1; port <= n_floods; ++port) {
      put_from("127.0.0.1", port, BEGIN_NS);
    }
  }
  PeerKey keys[SOURCES_MAX];
  ck_assert_uint_ge(sources_shut(&sources, BEGIN_NS, keys, SOURCES_MAX), n_floods - 20U);
  put_from("127.0.0.1", 9999, BEGIN_NS);
  uint32_t n_before = 0;
  for (; take_port() != 9999; ++n_before) {
  }
  ck_assert_uint_le(n_before, n_floods); // one of each
  sources_clear(&sources);
}
END_TEST

START_TEST(new_ports_bring_no_new_tokens)
{
  for (uint16_t i = 0; i < SOURCES_MAX; ++i) {
    const Peer peer = peer_of("127.0.0.1", (uint16_t)(1000U + i));
    put_from("127.0.0.1", (uint16_t)(1000U + i), BEGIN_NS);
    (void)take_port();
    ck_assert(sources_charge(&sources, &peer, BEGIN_NS, (uint32_t)BUCKET_BURST - 1U));
  }
  for (uint16_t i = 0; i < 1000; ++i) {
    put_from("127.0.0.1", (uint16_t)(2000U + i), BEGIN_NS);
    ck_assert_ptr_null(sources_take(&sources));
  }
}
END_TEST

START_TEST(a_host_elsewhere_is_one_sender_whatever_its_ports)
{
  for (uint16_t i = 0; i < 1000; ++i) {
    put_from("192.0.2.1", (uint16_t)(2000U + i), BEGIN_NS);
  }
  put_from("192.0.2.2", 1, BEGIN_NS);
  (void)take_port();
  ck_assert_uint_eq(take_port(), 1);
  sources_clear(&sources);
}
END_TEST

// ---- the kernel's part ----

/// A socket bound to an address of loopback; -1: this machine has none such.
static int
udp_socket(const char* const address, Peer* const own)
{
  *own = peer_of(address, 0);
  const int fd = socket(own->address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (const struct sockaddr*)&own->address, own->n_bytes) != 0) {
    return -1;
  }
  own->n_bytes = sizeof(own->address);
  getsockname(fd, (struct sockaddr*)&own->address, &own->n_bytes);
  return fd;
}

static void
send_to(const int fd, const Peer* const to, const char* const text)
{
  ck_assert_int_eq(
      sendto(fd, text, strlen(text), 0, (const struct sockaddr*)&to->address, to->n_bytes),
      (ssize_t)strlen(text));
}

/// Expect these letters, one from each packet, and then no more.
static void
expect_letters(const int fd, const char* const letters)
{
  char got[16] = "";
  for (size_t n = 0; n + 1U < sizeof(got) && recv(fd, got + n, 1, 0) == 1; ++n) {
  }
  ck_assert_str_eq(got, letters);
}

static void
check_sieve(const char* const address)
{
  Peer server;
  Peer bad;
  Peer good;
  const int to = udp_socket(address, &server);
  const int from_bad = udp_socket(address, &bad);
  const int from_good = udp_socket(address, &good);
  if (to < 0) {
    return; // this machine has no IPv6
  }
  const PeerKey shut[] = { peer_key(&bad), { .is_ip = true } };
  ck_assert(sieve_set(to, shut, 1));
  send_to(from_bad, &server, "b");
  send_to(from_good, &server, "g");
  expect_letters(to, "g");
  ck_assert_uint_eq(sieve_n_lost(to), 1);
  ck_assert(sieve_set(to, shut, 0));
  send_to(from_bad, &server, "b");
  send_to(from_good, &server, "g");
  expect_letters(to, "bg");

  PeerKey all[SIEVE_MAX];
  for (uint32_t i = 0; i < SIEVE_MAX; ++i) {
    const Peer other = peer_of(i % 2U ? "192.0.2.1" : "2001:db8::1", (uint16_t)i);
    all[i] = peer_key(&other);
  }
  ck_assert(sieve_set(to, all, SIEVE_MAX));
  send_to(from_bad, &server, "b");
  expect_letters(to, "b");
  all[SIEVE_MAX - 1U] = peer_key(&bad);
  all[SIEVE_MAX - 1U].port = 0; // all of its ports
  ck_assert(sieve_set(to, all, SIEVE_MAX));
  send_to(from_bad, &server, "b");
  send_to(from_good, &server, "g");
  expect_letters(to, "");

  for (uint32_t i = 0; i < SIEVE_MAX; ++i) { // all at one address
    all[i] = peer_key(&bad);
    all[i].port = i + 1U < SIEVE_MAX ? (uint16_t)(i + 1U) : all[i].port;
  }
  ck_assert(sieve_set(to, all, SIEVE_MAX));
  send_to(from_bad, &server, "b");
  send_to(from_good, &server, "g");
  expect_letters(to, "g");
  for (uint32_t i = 0; i < SIEVE_MAX_ADDRESSES; ++i) { // one address too many
    const Peer other = peer_of("2001:db8::1", 0);
    all[i] = peer_key(&other);
    all[i].address[15] = (uint8_t)i;
  }
  ck_assert(sieve_set(to, all, SIEVE_MAX));
  send_to(from_bad, &server, "b");
  expect_letters(to, "b");
  close(to);
  close(from_bad);
  close(from_good);
}

START_TEST(the_kernel_holds_senders_back)
{
  check_sieve("127.0.0.1");
  check_sieve("::1");
}
END_TEST

START_TEST(an_ip4_sender_is_held_back_from_a_socket_for_both_families)
{
  Peer server;
  Peer sender;
  const int to = udp_socket("::ffff:127.0.0.1", &server);
  const int from = udp_socket("127.0.0.1", &sender);
  if (to < 0) {
    return; // this machine has no IPv6
  }
  const Peer server_ip4 = peer_of("127.0.0.1", peer_key(&server).port);
  send_to(from, &server_ip4, "a");
  Peer seen = { .n_bytes = sizeof(seen.address) };
  char letter = 0;
  ck_assert_int_eq(recvfrom(to, &letter, 1, 0, (struct sockaddr*)&seen.address, &seen.n_bytes), 1);
  ck_assert_int_eq(seen.address.ss_family, AF_INET6); // as ::ffff:127.0.0.1
  ck_assert(peer_equal(&seen, &sender));
  const PeerKey key = peer_key(&seen);
  ck_assert(sieve_set(to, &key, 1));
  send_to(from, &server_ip4, "b");
  expect_letters(to, "");
  close(to);
  close(from);
}
END_TEST

/// A network of its own in which a socket has as much room for options as older kernels give.
static bool
enter_narrow_network(void)
{
  FILE* const limit = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0
                          ? fopen("/proc/sys/net/core/optmem_max", "we")
                          : NULL;
  return limit && fputs("20480", limit) >= 0 && fclose(limit) == 0;
}

START_TEST(a_sieve_makes_way_for_the_next_where_there_is_no_room_for_two)
{
  PeerKey keys[SIEVE_MAX];
  for (uint32_t i = 0; i < SIEVE_MAX; ++i) {
    const Peer peer = peer_of("2001:db8::1", (uint16_t)(i + 1U));
    keys[i] = peer_key(&peer);
    keys[i].address[15] = (uint8_t)(i % SIEVE_MAX_ADDRESSES);
  }
  if (!enter_narrow_network()) {
    return; // this machine does not allow it
  }
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert(sieve_set(fd, keys, SIEVE_MAX));
  ck_assert(sieve_set(fd, keys, SIEVE_MAX));
  close(fd);
}
END_TEST

START_TEST(one_round_takes_in_a_bounded_number_of_packets)
{
  const int room = 212992; // by default allowed to anybody; the kernel doubles it
  Peer server;
  Peer client;
  const int to = udp_socket("127.0.0.1", &server);
  const int from = udp_socket("127.0.0.1", &client);
  ck_assert_int_eq(setsockopt(to, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
  const Allow nobody = { .n_rules = 0 };
  Intake* const intake = intake_new((const int[]){ to, -1 }, &nobody);
  for (uint32_t n = 0; n < 260; ++n) {
    send_to(from, &server, "/a");
  }
  intake_receive(intake, BEGIN_NS);
  ck_assert_uint_eq(intake_counts(intake).packets, 256);
  intake_receive(intake, BEGIN_NS);
  ck_assert_uint_eq(intake_counts(intake).packets, 260);
  intake_free(intake);
  close(to);
  close(from);
}
END_TEST

START_TEST(a_flood_is_held_back_by_the_kernel_until_its_time_is_over)
{
  Peer server;
  Peer bad;
  Peer good;
  const int to = udp_socket("127.0.0.1", &server);
  const int from_bad = udp_socket("127.0.0.1", &bad);
  const int from_good = udp_socket("127.0.0.1", &good);
  const Allow nobody = { .n_rules = 0 };
  Intake* const intake = intake_new((const int[]){ to, -1 }, &nobody);
  uint64_t wake_ns = UINT64_MAX;
  for (uint32_t i = 0; i < 1000 && wake_ns == UINT64_MAX; ++i) {
    for (uint32_t n = 0; n < 50; ++n) {
      send_to(from_bad, &server, "/bad");
    }
    intake_receive(intake, BEGIN_NS);
    wake_ns = intake_wake_ns(intake);
  }
  ck_assert_uint_eq(wake_ns, BEGIN_NS + SOURCES_MIN_SHUT_NS);
  ck_assert_uint_eq(intake_counts(intake).shut_out, 1);
  ck_assert_uint_eq(intake_counts(intake).lost, 0);
  for (Parcel* parcel = NULL; (parcel = intake_take(intake));) {
    free(parcel);
  }

  send_to(from_bad, &server, "/bad");
  send_to(from_good, &server, "/good");
  intake_receive(intake, BEGIN_NS + 1U);
  ck_assert_uint_eq(intake_counts(intake).lost, 1);
  Parcel* const parcel = intake_take(intake);
  ck_assert_uint_eq(parcel->n_bytes, 5);
  free(parcel);
  ck_assert(!intake_is_waiting(intake));

  intake_receive(intake, wake_ns);
  send_to(from_bad, &server, "/bad");
  intake_receive(intake, wake_ns);
  ck_assert(intake_is_waiting(intake));
  ck_assert_uint_eq(intake_counts(intake).lost, 1);
  intake_free(intake);
  close(to);
  close(from_bad);
  close(from_good);
}
END_TEST

START_TEST(who_is_not_on_the_list_is_not_listened_to)
{
  int pair[2]; // a peer that is no IP address at all is on no list
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  const Allow nobody = { .n_rules = 0 };
  Intake* const intake = intake_new((const int[]){ pair[0], -1 }, &nobody);
  ck_assert_int_eq(send(pair[1], "/a\0\0,\0\0\0", 8, 0), 8);
  intake_receive(intake, BEGIN_NS);
  ck_assert_uint_eq(intake_counts(intake).packets, 1);
  ck_assert_uint_eq(intake_counts(intake).forbidden, 1);
  ck_assert(!intake_is_waiting(intake));
  intake_free(intake);
  close(pair[0]);
  close(pair[1]);
}
END_TEST

SUITE_MAIN("control_intake", a_list_names_addresses_and_networks,
           an_ip4_address_is_the_same_inside_ip6, this_machine_always_may, a_bad_list_is_refused,
           a_list_is_bounded_and_has_room_for_ourselves, a_bucket_fills_again,
           nobody_waits_behind_a_flood, all_senders_have_their_turn,
           a_sender_that_has_made_way_meanwhile_pays_as_well, packets_of_one_sender_stay_in_order,
           a_sender_at_its_rate_loses_nothing,
           a_sender_that_is_a_little_too_fast_is_slowed_and_not_shut_out,
           a_flood_is_shut_out_for_longer_each_time_and_forgiven, messages_of_a_bundle_are_paid_for,
           queues_are_bounded, more_senders_than_the_table_holds_are_served,
           a_known_sender_keeps_its_place_among_strangers, who_was_shut_out_is_a_stranger_again,
           floods_from_many_ports_are_shut_out_and_leave_room, new_ports_bring_no_new_tokens,
           a_host_elsewhere_is_one_sender_whatever_its_ports, the_kernel_holds_senders_back,
           an_ip4_sender_is_held_back_from_a_socket_for_both_families,
           a_sieve_makes_way_for_the_next_where_there_is_no_room_for_two,
           one_round_takes_in_a_bounded_number_of_packets,
           a_flood_is_held_back_by_the_kernel_until_its_time_is_over,
           who_is_not_on_the_list_is_not_listened_to)
