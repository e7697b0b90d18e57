// SPDX-License-Identifier: GPL-3.0-or-later
// The intake: which sender has the next turn, and which packets are dropped when a queue is full.
// The tests choose all times and costs.

#include "control/net/allow.h"
#include "control/net/intake.h"
#include "control/net/senders.h"
#include "control/schedule.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BEGIN_NS UINT64_C(1000000000)
#define MS_NS    UINT64_C(1000000)
#define S_NS     UINT64_C(1000000000)

// ---- turns ----

static Senders senders;

static void
begin(void)
{
  ck_assert(senders_init(&senders, 1));
}

static void
end(void)
{
  senders_clear(&senders);
  ck_assert_uint_eq(senders.n_bytes, 0);
  ck_assert_uint_eq(senders.n_packets, 0);
}

static void
put_bytes(const uint16_t port, const void* const bytes, const size_t n_bytes, const uint64_t now_ns)
{
  const Peer peer = peer_of("127.0.0.1", port);
  senders_put(&senders, &peer, now_ns, bytes, n_bytes);
}

static void
put_ping(const uint16_t port, const uint64_t now_ns)
{
  put_bytes(port, "/a\0\0,\0\0\0", 8, now_ns);
}

/// Take one packet of the next sender, and charge it `cost_ns`.  Returns the sender's port, 0 if no
/// packet waits.
static uint16_t
take_turn(const uint64_t now_ns, const uint64_t cost_ns)
{
  Sender* const sender = senders_turn(&senders);
  if (!sender) {
    return 0;
  }
  Packet* const packet = senders_take(&senders, sender);
  if (!packet) {
    ck_abort_msg("a sender has a turn, but no packet");
  }
  const uint16_t port = peer_key(&packet->peer).port;
  free(packet);
  senders_charge(&senders, sender, now_ns, cost_ns);
  return port;
}

TEST(no_sender_waits_for_an_expensive_one)
{
  uint64_t now_ns = BEGIN_NS;
  for (uint32_t i = 0; i < 1000; ++i) {
    put_ping(1, now_ns);
  }
  for (uint32_t n = 0; n < 100; ++n) {
    ck_assert_uint_eq(take_turn(now_ns += 20U * MS_NS, 20U * MS_NS), 1);
    put_ping(2, now_ns);
    const uint16_t first = take_turn(now_ns += 20U * MS_NS, MS_NS / 100U);
    ck_assert(first == 2 || take_turn(now_ns, MS_NS / 100U) == 2);
  }
}

TEST(time_is_shared_whatever_a_packet_costs)
{
  static const uint64_t cost_ns[] = { MS_NS / 100U, MS_NS / 10U, MS_NS, 20U * MS_NS };
  enum { N = ARRAY_LEN(cost_ns) };
  uint64_t used_ns[N] = { 0 };
  for (uint16_t s = 0; s < N; ++s) {
    put_ping((uint16_t)(s + 1U), BEGIN_NS);
  }
  for (uint64_t now_ns = BEGIN_NS; now_ns < BEGIN_NS + S_NS;) {
    Sender* const sender = senders_turn(&senders);
    const uint32_t s = sender->key.port - 1U;
    free(senders_take(&senders, sender));
    now_ns += cost_ns[s];
    used_ns[s] += cost_ns[s];
    put_ping(sender->key.port, now_ns); // every sender always has a packet waiting
    senders_charge(&senders, sender, now_ns, cost_ns[s]);
  }
  for (uint32_t s = 0; s < N; ++s) {
    ck_assert_uint_ge(used_ns[s], S_NS / N - 25U * MS_NS);
    ck_assert_uint_le(used_ns[s], S_NS / N + 25U * MS_NS);
  }
}

TEST(a_sender_alone_has_every_turn)
{
  for (uint32_t n = 0; n < 100; ++n) {
    put_ping(1, BEGIN_NS);
    put_ping(1, BEGIN_NS);
    ck_assert_uint_eq(take_turn(BEGIN_NS, S_NS), 1); // time stands still: its debt grows
  }
}

TEST(a_new_sender_is_served_beside_2000_that_flood)
{
  enum { N_FLOODS = 2000 };
  uint64_t now_ns = BEGIN_NS;
  for (uint32_t i = 0; i < 200; ++i) {
    for (uint16_t port = 1; port <= N_FLOODS; ++port) {
      put_ping(port, now_ns);
    }
  }
  for (uint32_t n = 0; n < 2U * N_FLOODS; ++n) { // until none of these senders counts as new
    (void)take_turn(now_ns += MS_NS / 5U, MS_NS / 5U);
  }
  ck_assert_uint_gt(senders.dropped, 0);
  for (uint16_t port = 3000; port < 3100; ++port) {
    put_ping(port, now_ns);
    const uint16_t first = take_turn(now_ns += MS_NS / 5U, MS_NS / 5U);
    ck_assert(first == port || take_turn(now_ns += MS_NS / 5U, MS_NS / 5U) == port);
  }
}

TEST(new_senders_take_every_second_turn_at_most)
{
  for (uint32_t i = 0; i < 1000; ++i) {
    put_ping(1, BEGIN_NS);
  }
  (void)take_turn(BEGIN_NS, MS_NS); // puts sender 1 into debt
  uint32_t n_turns = 0;
  for (uint16_t port = 2; port < 402; ++port) {
    put_ping(port, BEGIN_NS);
    put_ping((uint16_t)(port + 1000U), BEGIN_NS);
    n_turns += take_turn(BEGIN_NS, 1) == 1;
  }
  ck_assert_uint_ge(n_turns, 190); // its debt cost it 10 turns at most
  ck_assert_uint_le(n_turns, 200);
}

TEST(a_debt_decreases_while_the_sender_pauses)
{
  put_ping(1, BEGIN_NS);
  ck_assert_uint_eq(take_turn(BEGIN_NS, 20U * MS_NS), 1);
  const Peer peer = peer_of("127.0.0.1", 1);
  ck_assert(!senders_has_credit(&senders, &peer, BEGIN_NS + 19U * MS_NS));
  ck_assert(senders_has_credit(&senders, &peer, BEGIN_NS + 20U * MS_NS));
  senders_charge_peer(&senders, &peer, BEGIN_NS + 20U * MS_NS, 20U * MS_NS);
  ck_assert(!senders_has_credit(&senders, &peer, BEGIN_NS + 39U * MS_NS));
  ck_assert(senders_has_credit(&senders, &peer, BEGIN_NS + 9U * S_NS));
  senders_charge_peer(&senders, &peer, BEGIN_NS + 9U * S_NS, MS_NS); // the credit is at most a turn
  ck_assert(!senders_has_credit(&senders, &peer, BEGIN_NS + 9U * S_NS));
}

TEST(packets_of_one_sender_stay_in_order)
{
  for (uint32_t i = 0; i < 1000; ++i) {
    put_bytes(1, &i, sizeof(i), BEGIN_NS);
  }
  Sender* const sender = senders_turn(&senders);
  for (uint32_t i = 0; i < 1000; ++i) {
    SCOPED_MEMORY Packet* const packet = senders_take(&senders, sender);
    uint32_t number = 0;
    memcpy(&number, packet->bytes, sizeof(number));
    ck_assert_uint_eq(number, i);
    ck_assert_uint_eq(packet->n_bytes, sizeof(number));
    ck_assert_mem_eq(packet->bytes + sizeof(number), "\0\0\0\0\0\0\0", 8);
  }
  ck_assert_ptr_null(senders_take(&senders, sender));
}

TEST(a_bundle_whose_time_has_come_goes_before_packets)
{
  put_ping(1, BEGIN_NS);
  Bundle* bundles[3];
  for (uint32_t b = 0; b < ARRAY_LEN(bundles); ++b) {
    bundles[b] = calloc(1, sizeof(Bundle));
    bundles[b]->peer = peer_of("127.0.0.1", (uint16_t)(1U + b / 2U));
    senders_put_bundle(&senders, senders_get(&senders, &bundles[b]->peer, BEGIN_NS), bundles[b],
                       BEGIN_NS);
  }
  Sender* const sender = senders_turn(&senders);
  ck_assert_uint_eq(sender->key.port, 1);
  ck_assert_ptr_eq(sender->bundles, bundles[0]);
  ck_assert_ptr_eq(bundles[0]->next, bundles[1]); // bundles stay in order
  ck_assert_ptr_null(bundles[1]->next);
}

TEST(another_host_is_one_sender_for_all_its_ports)
{
  for (uint16_t i = 0; i < 1000; ++i) {
    const Peer peer = peer_of("192.0.2.1", (uint16_t)(2000U + i));
    senders_put(&senders, &peer, BEGIN_NS, "/a\0\0,\0\0\0", 8);
  }
  put_ping(1, BEGIN_NS);
  (void)take_turn(BEGIN_NS, MS_NS);
  ck_assert_uint_eq(take_turn(BEGIN_NS, MS_NS), 1);
  ck_assert_uint_eq(senders.n_active, 1);
}

TEST(port_0_is_a_sender_like_any_other)
{
  for (uint32_t i = 0; i < 100000; ++i) {
    put_ping(0, BEGIN_NS);
  }
  (void)take_turn(BEGIN_NS, MS_NS);
  put_ping(1, BEGIN_NS);
  (void)take_turn(BEGIN_NS, MS_NS);
  ck_assert_uint_eq(senders.n_active, 1); // port 1 has had its turn; port 0 goes on
}

TEST(more_senders_than_the_table_holds_are_served_in_turn)
{
  uint32_t n_served = 0;
  for (uint32_t i = 0; i < 3U * SENDERS_MAX; ++i) {
    put_ping((uint16_t)(1000U + i), BEGIN_NS + i);
    n_served += take_turn(BEGIN_NS + i, 1) == 1000U + i;
  }
  ck_assert_uint_eq(n_served, 3U * SENDERS_MAX);
  for (uint32_t i = 0; i < SENDERS_MAX + 10U; ++i) { // 10 too many at the same time
    put_ping((uint16_t)(1000U + i), BEGIN_NS + S_NS);
  }
  ck_assert_uint_eq(senders.n_active, SENDERS_MAX);
  ck_assert_uint_eq(senders.crowded, 10);
}

// ---- dropped packets ----

/// Write `/node/n<number>/gain ,f <value>`, or `/rack/set ,sf n<number>.gain <value>`.  Returns the
/// size.
static size_t
write_value(uint8_t* const bytes, const bool by_address, const uint32_t number, const float value)
{
  memset(bytes, 0, 64);
  size_t n_bytes = 0;
  if (by_address) {
    n_bytes = (size_t)snprintf((char*)bytes, 64, "/node/n%05u/gain", number) / 4U * 4U + 4U;
    memcpy(bytes + n_bytes, ",f", 2);
    n_bytes += 4U;
  } else {
    memcpy(bytes, "/rack/set\0\0\0,sf", 15);
    n_bytes = 16U + (size_t)snprintf((char*)bytes + 16, 40, "n%05u.gain", number) / 4U * 4U + 4U;
  }
  memcpy(bytes + n_bytes, &value, sizeof(value));
  return n_bytes + sizeof(value);
}

static float
value_of(const Packet* const packet)
{
  float value = 0.0F;
  memcpy(&value, packet->bytes + packet->n_bytes - sizeof(value), sizeof(value));
  return value;
}

static const bool is_by_address[] = { true, false };

TEST_ROWS(the_newest_value_of_each_address_survives_an_overflow, is_by_address)
{
  const bool by_address = is_by_address[row];
  enum { N_NODES = 300, N_ROUNDS = 300 };
  uint8_t bytes[64];
  const size_t n_once = write_value(bytes, by_address, N_NODES, 1.0F); // set once, at the begin
  put_bytes(1, bytes, n_once, BEGIN_NS);
  size_t n_most = 0; // largest number of bytes in the queues
  for (uint32_t i = 0; i < N_NODES * N_ROUNDS; ++i) {
    const size_t n_bytes =
        write_value(bytes, by_address, i % N_NODES, (float)(i / N_NODES)); // NOLINT
    put_bytes(1, bytes, n_bytes, BEGIN_NS);
    n_most = senders.n_bytes > n_most ? senders.n_bytes : n_most;
  }
  ck_assert_uint_le(n_most, SENDERS_BYTES);
  ck_assert_uint_gt(senders.dropped, 0);
  ck_assert_uint_eq(senders.dropped + senders.n_packets, N_NODES * N_ROUNDS + 1U);
  float newest[N_NODES + 1] = { 0.0F };
  bool is_in_order = true;
  Sender* const sender = senders_turn(&senders);
  for (Packet* packet = NULL; (packet = senders_take(&senders, sender));) {
    const char* const name = strstr((const char*)packet->bytes + (by_address ? 0 : 16), "n0");
    const uint32_t node = (uint32_t)strtoul(name + 1, NULL, 10);
    is_in_order = is_in_order && value_of(packet) >= newest[node];
    newest[node] = value_of(packet);
    free(packet);
  }
  ck_assert(is_in_order);
  for (uint32_t node = 0; node < N_NODES; ++node) {
    ck_assert_float_eq(newest[node], N_ROUNDS - 1U);
  }
  ck_assert_float_eq(newest[N_NODES], 1.0F);
}

TEST(values_outlive_other_packets)
{
  uint8_t bytes[64];
  put_bytes(1, bytes, write_value(bytes, true, 1, 1.0F), BEGIN_NS);
  for (uint32_t i = 0; i < 200000; ++i) {
    put_ping(1, BEGIN_NS);
  }
  put_bytes(1, bytes, write_value(bytes, true, 2, 2.0F), BEGIN_NS);
  put_bytes(1, "/norm/n1/gain\0\0\0,f\0\0\0\0\0\0", 24, BEGIN_NS);
  put_bytes(1, "/node/n1/gain\0\0\0,\0\0\0", 20, BEGIN_NS); // a query sets no value
  ck_assert_uint_gt(senders.dropped, 0);
  uint32_t n_values = 0;
  Sender* const sender = senders_turn(&senders);
  for (Packet* packet = NULL; (packet = senders_take(&senders, sender));) {
    n_values += packet->n_of_value > 0;
    free(packet);
  }
  ck_assert_uint_eq(n_values, 3);
}

TEST(malformed_packets_that_look_like_values_are_dropped_safely)
{
  static const char* const packets[] = { "/node/",
                                         "/node/n/gain",
                                         "/rack/set",
                                         "/rack/set\0\0\0,s",
                                         "/rack/set\0\0\0,sf\0abc",
                                         "/rack/set\0\0\0,sfffffff" };
  static const size_t sizes[] = { 6, 12, 9, 14, 19, 21 };
  for (uint32_t i = 0; i < ARRAY_LEN(packets); ++i) {
    for (size_t n = 0; n <= sizes[i]; ++n) {
      put_bytes(1, packets[i], n, BEGIN_NS);
    }
  }
  const Sender* const sender = senders_turn(&senders);
  ck_assert(list_is_empty(&sender->replaced));
}

TEST(queues_are_bounded_and_leave_room_for_every_sender)
{
  static uint8_t bytes[65504] = "#bundle";
  for (uint16_t port = 1; port <= 500; ++port) {
    for (uint32_t i = 0; i < 100; ++i) {
      put_bytes(port, bytes, i % 2U ? sizeof(bytes) : 100U, BEGIN_NS);
    }
    ck_assert_uint_le(senders.n_bytes, SENDERS_BYTES);
  }
  const uint64_t dropped = senders.dropped;
  put_ping(501, BEGIN_NS);
  put_bytes(502, bytes, sizeof(bytes), BEGIN_NS);
  ck_assert_uint_gt(senders.dropped, dropped);
  bool is_there[503] = { false };
  for (Sender* sender = NULL; (sender = senders_turn(&senders));) {
    for (Packet* packet = NULL; (packet = senders_take(&senders, sender));) {
      is_there[sender->key.port] = true;
      free(packet);
    }
    senders_charge(&senders, sender, BEGIN_NS, 0);
  }
  ck_assert(is_there[501] && is_there[502]);
}

TEST(the_rest_of_a_packet_makes_room_as_well)
{
  static uint8_t bytes[65504] = "#bundle";
  for (uint16_t port = 1; port <= 50; ++port) { // each sender has a packet that is in progress
    put_bytes(port, bytes, sizeof(bytes), BEGIN_NS);
    Sender* const sender = senders_turn(&senders);
    Packet* const packet = senders_take(&senders, sender);
    if (packet) {
      sender->bundles = calloc(1, sizeof(Bundle));
      free(packet);
    }
    senders_charge(&senders, sender, BEGIN_NS, MS_NS);
    ck_assert_uint_le(senders.n_bytes, SENDERS_BYTES);
  }
  ck_assert_uint_gt(senders.dropped, 0);
  put_ping(51, BEGIN_NS);
  bool is_there = false;
  for (uint32_t n = 0; n < 200 && !is_there; ++n) {
    Sender* const sender = senders_turn(&senders);
    is_there = sender->key.port == 51;
    senders_charge(&senders, sender, BEGIN_NS, MS_NS);
  }
  ck_assert(is_there);
}

TEST(a_bundle_that_waited_for_its_time_is_not_dropped)
{
  static uint8_t bytes[65504] = "#bundle";
  Bundle* const due = calloc(1, sizeof(Bundle));
  due->is_scheduled = true;
  for (uint16_t port = 1; port <= 50; ++port) {
    put_bytes(port, bytes, sizeof(bytes), BEGIN_NS);
    Sender* const sender = senders_turn(&senders);
    free(senders_take(&senders, sender));
    sender->bundles = calloc(1, sizeof(Bundle)); // the rest of its packet
    if (port == 1) {
      senders_put_bundle(&senders, sender, due, BEGIN_NS);
    }
    senders_charge(&senders, sender, BEGIN_NS, MS_NS);
  }
  ck_assert_uint_gt(senders.dropped, 0);
  bool is_there = false;
  for (uint32_t i = 0; i < senders.n_items; ++i) {
    for (const Bundle* bundle = senders.items[i].bundles; bundle; bundle = bundle->next) {
      is_there = is_there || bundle == due;
    }
  }
  ck_assert(is_there);
}

TEST(a_bundle_takes_room_in_the_schedule_until_it_is_carried_out)
{
  SCOPED(schedule_clear) Schedule schedule = { NULL, 0, 0 };
  Bundle* bundles[SCHEDULE_MAX_BUNDLES];
  Error error;
  for (uint32_t b = 0; b < SCHEDULE_MAX_BUNDLES; ++b) {
    bundles[b] = calloc(1, sizeof(Bundle));
    bundles[b]->peer = peer_of("127.0.0.1", (uint16_t)(1U + b));
    bundles[b]->due_ns = BEGIN_NS;
  }
  const uint32_t last = SCHEDULE_MAX_BUNDLES - 1U;
  for (uint32_t b = 0; b < last; ++b) {
    ck_assert_int_eq(schedule_add(&schedule, bundles[b], &error), STATUS_OK);
  }
  ck_assert_ptr_null(schedule_due(&schedule, BEGIN_NS - 1U));
  ck_assert_ptr_eq(schedule_due(&schedule, BEGIN_NS), bundles[0]);
  ck_assert_int_eq(schedule_add(&schedule, bundles[last], &error), STATUS_OK);
  schedule_take(&schedule, bundles[0]); // due, but not carried out yet
  Bundle* const more = calloc(1, sizeof(Bundle));
  ck_assert_int_eq(schedule_add(&schedule, more, &error), STATUS_LIMIT);
  schedule_release(&schedule, bundles[0]);
  schedule_release(&schedule, bundles[0]);
  ck_assert_int_eq(schedule_add(&schedule, more, &error), STATUS_OK);
  bundle_free(bundles[0]);
}

TEST(large_bundles_of_one_sender_leave_room_in_the_schedule)
{
  SCOPED(schedule_clear) Schedule schedule = { NULL, 0, 0 };
  Error error;
  Bundle* bundles[6];
  for (uint32_t b = 0; b < ARRAY_LEN(bundles); ++b) {
    bundles[b] = calloc(1, sizeof(Bundle));
    bundles[b]->peer = peer_of("127.0.0.1", b == 5U ? 2U : 1U);
    bundles[b]->due_ns = BEGIN_NS;
    bundles[b]->n_bytes = SCHEDULE_MAX_BYTES / 8U;
    ck_assert_int_eq(schedule_add(&schedule, bundles[b], &error),
                     b == 4U ? STATUS_LIMIT : STATUS_OK);
  }
  ck_assert_str_eq(error.text, "2048 KiB of bundles already wait for their time, 2048 KiB of them "
                               "from this sender; send bundles closer to their time");
  bundle_free(bundles[4]);
}

static bool
is_of_200_bytes(const Message* const message)
{
  return message->n_bytes == 200U;
}

TEST(the_parts_of_a_bundle_share_its_bytes)
{
  bool failed = false;
  Bundle* const bundle = calloc(1, sizeof(Bundle) + 3U * sizeof(Message));
  for (bundle->n_messages = 0; bundle->n_messages < 3U; ++bundle->n_messages) {
    bundle->messages[bundle->n_messages].n_bytes = 100U * (bundle->n_messages + 1U);
  }
  bundle->n_bytes = 600U + 3U * MESSAGE_BYTES;
  Bundle* const part = bundle_split(bundle, is_of_200_bytes, &failed);
  ck_assert_uint_eq(part->n_bytes, 200U + MESSAGE_BYTES);
  ck_assert_uint_eq(bundle->n_bytes, 400U + 2U * MESSAGE_BYTES);
  bundle_free(bundle);
  bundle_free(part);
}

TEST(dropped_packets_are_reported_to_each_sender_once_a_second)
{
  uint64_t now_ns = BEGIN_NS;
  uint64_t n_reported = 0;
  for (uint32_t i = 0; i < 100000; ++i) {
    put_ping((uint16_t)(1U + i % 2U), now_ns);
  }
  for (uint32_t round = 0; round < 40; ++round, now_ns += S_NS / 4U) {
    for (uint32_t i = 0; i < 1000; ++i) {
      put_ping((uint16_t)(1U + i % 2U), now_ns);
    }
    uint32_t n_reports = 0;
    uint32_t index = 0;
    uint64_t n = 0;
    while (senders_report(&senders, now_ns, &index, &n)) {
      ++n_reports;
      n_reported += n;
    }
    ck_assert_uint_eq(n_reports, round % 4U ? 0U : 2U);
  }
  ck_assert_uint_gt(n_reported, 36000);
  ck_assert_uint_le(n_reported, senders.dropped);
}

// ---- the socket ----

/// Make a socket that is bound to a free port of loopback; *own is its address.
static int
udp_socket(Peer* const own)
{
  *own = peer_of("127.0.0.1", 0);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&own->address, own->n_bytes), 0);
  own->n_bytes = sizeof(own->address);
  getsockname(fd, (struct sockaddr*)&own->address, &own->n_bytes);
  return fd;
}

TEST(one_round_takes_in_a_bounded_number_of_packets)
{
  static Intake intake;
  const int room = 212992; // the default limit for all users; the kernel doubles it
  Peer server;
  Peer client;
  SCOPED_FD const int to = udp_socket(&server);
  SCOPED_FD const int from = udp_socket(&client);
  ck_assert_int_eq(setsockopt(to, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
  const Allow nobody = { .n_rules = 0 };
  OK(intake_init(&intake, (const int[]){ to, -1 }, &nobody, &error));
  for (uint32_t n = 0; n < 300; ++n) {
    ck_assert_int_eq(
        sendto(from, "/a", 2, 0, (const struct sockaddr*)&server.address, server.n_bytes), 2);
  }
  intake_receive(&intake, BEGIN_NS);
  ck_assert_uint_eq(intake.packets, 256);
  intake_receive(&intake, BEGIN_NS);
  ck_assert_uint_eq(intake.packets, 300);
  ck_assert_uint_eq(intake.senders.n_packets, 300);
  intake_clear(&intake);
}

TEST(packets_received_before_the_start_are_processed)
{
  static Intake intake;
  Peer server;
  SCOPED_FD const int to = udp_socket(&server);
  ck_assert_int_eq(sendto(to, "/a", 2, 0, (const struct sockaddr*)&server.address, server.n_bytes),
                   2);
  const Allow nobody = { .n_rules = 0 };
  OK(intake_init(&intake, (const int[]){ to, -1 }, &nobody, &error));
  ck_assert(senders_are_waiting(&intake.senders));
  const int64_t from_clock = (int64_t)(intake.senders.salt - instant_now().ntp);
  ck_assert_int_gt(llabs(from_clock), INT64_C(1) << 40U); // the salt is not the time
  intake_clear(&intake);
}

TEST(packets_of_senders_outside_the_list_are_ignored)
{
  static Intake intake;
  int pair[2]; // a peer without an IP address is on no list
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  const Allow nobody = { .n_rules = 0 };
  OK(intake_init(&intake, (const int[]){ pair[0], -1 }, &nobody, &error));
  ck_assert_int_eq(send(pair[1], "/a\0\0,\0\0\0", 8, 0), 8);
  intake_receive(&intake, BEGIN_NS);
  ck_assert_uint_eq(intake.packets, 1);
  ck_assert_uint_eq(intake.forbidden, 1);
  ck_assert(!senders_are_waiting(&intake.senders));
  intake_clear(&intake);
  close(pair[0]);
  close(pair[1]);
}

/// Make recvmmsg(2) fail for this process from now on, as in a strict sandbox.
static bool
forbid_recvmmsg(void)
{
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_recvmmsg, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = { ARRAY_LEN(code), code };
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(a_refused_recvmmsg_is_an_error_at_the_start)
{
  static Intake intake;
  Peer server;
  const int to = udp_socket(&server);
  const Allow nobody = { .n_rules = 0 };
  Error error;
  if (!forbid_recvmmsg()) {
    suite_skip("cannot forbid recvmmsg(2)");
    close(to);
    return;
  }
  ck_assert_int_eq(intake_init(&intake, (const int[]){ to, -1 }, &nobody, &error), STATUS_NET);
  ck_assert_str_eq(error.text, "cannot receive packets: recvmmsg: Operation not permitted");
  intake_clear(&intake);
  close(to);
}

SUITE_MAIN_WITH("control_intake", begin, end)
