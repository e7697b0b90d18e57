// SPDX-License-Identifier: GPL-3.0-or-later
// Clients of other machines: before the proof of their address they get no packet that is larger
// than theirs, after it answers and news, while their leases last.

#include "control/clients.h"
#include "control/commands.h"
#include "control/control_private.h"
#include "control/meters.h"
#include "control/queries.h"
#include "tests/support/control_rig.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static Control control;
static int receiver;
static char packet[70000];           ///< The last packet sent
static uint32_t n_good = UINT32_MAX; ///< Number of allocations after which a command has none
static bool has_failed;              ///< The last command had one less than it wanted

static void
start(const char* const allowed)
{
  int pair[2];
  memset(&control, 0, sizeof(control));
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
  control.outlet.socket = pair[0];
  control.outlet.loopback = -1;
  control.outlet.streams = &control.streams;
  control.outlet.outbox = outbox_new();
  receiver = pair[1];
  control.now_ns = NS_PER_S;
  ck_assert(trust_init(&control.outlet.trust));
  OK(allow_read(&control.allow, allowed, &error));
  control.commands = command_table;
  control.n_commands = n_commands;
  control.config.engine = fake_engine_new();
  control.notify.say = control_say;
  control.notify.context = &control;
  clients_init(&control);
  SCOPED_RACK Rack* const rack = rack_of("lowcut: highpass 80 | vol: gain -6dB", NULL);
  const EditorConfig config = { .engine = control.config.engine };
  OK(editor_new(&config, rack, &control.editor, &error));
}

static void
stop(void)
{
  free(control.rack_text);
  notify_clear(&control.notify);
  editor_free(control.editor);
  fake_engine_free(control.config.engine);
  outbox_free(control.outlet.outbox);
  close(control.outlet.socket);
  close(receiver);
}

/// Use a rack of n gains, g1 and so on.
static void
use_gains(const uint32_t n)
{
  SCOPED_RACK Rack* const rack = rack_new();
  for (uint32_t i = 1; i <= n; ++i) {
    char name[16];
    snprintf(name, sizeof(name), "g%u", i);
    OK(rack_add(rack, name, "gain", &error));
  }
  editor_free(control.editor);
  const EditorConfig config = { .engine = control.config.engine };
  OK(editor_new(&config, rack, &control.editor, &error));
}

/// A peer of another machine whose answers go to `receiver`.
static Peer
stranger_of(const char* const address, const uint16_t port)
{
  Peer peer = peer_of(address, port);
  peer.n_bytes = 0; // sendmsg() sends to the other end of the pair
  return peer;
}

/// Receive the next packet into `packet`.  Returns its size, 0 if there is none.
static size_t
receive(void)
{
  outlet_flush(&control.outlet);
  const ssize_t n = recv(receiver, packet, sizeof(packet), 0);
  return n > 0 ? (size_t)n : 0U;
}

/// The first argument of the last packet, if it is a text.
static const char*
first_text(void)
{
  const char* const types = packet + ((strlen(packet) + 4U) & ~3UL);
  return types + ((strlen(types) + 4U) & ~3UL);
}

/// Run one message of a peer.  Returns the number of its bytes.
static size_t
ask(const Peer* const peer, const char* const address, const char* const types, ...)
{
  char text[512] = "";
  size_t n_bytes = 0;
  va_list values;
  lo_message arguments = lo_message_new();
  va_start(values, types);
  for (const char* type = types; *type; ++type) {
    if (*type == 's') {
      lo_message_add_string(arguments, va_arg(values, const char*));
    } else {
      lo_message_add_int32(arguments, va_arg(values, int));
    }
  }
  va_end(values);
  lo_message_serialise(arguments, address, text, &n_bytes);
  lo_message_free(arguments);
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  OK(bundles_read(text, n_bytes, peer, &arrival, &bundle) ? STATUS_NO_MEM : STATUS_OK);
  Message* const message = &bundle->messages[0];
  OK(command_find(message, &message->info, &error));
  Error failure;
  clients_renew(&control, peer);
  if (n_good != UINT32_MAX) {
    failing_alloc_arm(n_good);
  }
  if (message->info->run(&control, peer, message, &failure)) {
    outlet_fail(&control.outlet, peer, n_bytes, address, &failure);
  }
  has_failed = n_good != UINT32_MAX && failing_alloc_disarm();
  bundle_free(bundle);
  return n_bytes;
}

/// Receive the next packet, which must have this address.
static void
expect_answer(const char* const answer)
{
  ck_assert_uint_gt(receive(), 0);
  ck_assert_str_eq(packet, answer);
}

/// Let a peer prove its address.
static void
prove(const Peer* const peer)
{
  ask(peer, "/server/hello", "s", "0123456789abcdef");
  expect_answer("/server/cookie");
  char cookie[TRUST_COOKIE_BYTES];
  snprintf(cookie, sizeof(cookie), "%s", first_text());
  ask(peer, "/server/hello", "s", cookie);
  expect_answer("/done");
}

/// Begin with a peer of another machine that has proved its address.
static Peer
start_proved(void)
{
  start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  prove(&peer);
  return peer;
}

/// Send all news that wait until now.
static void
flush(void)
{
  control.now_ns += NOTIFY_INTERVAL_NS;
  notify_flush(&control.notify, control.now_ns);
}

TEST(no_answer_to_a_stranger_is_larger_than_its_message)
{
  start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  static const char* const texts[] = { "",
                                       "0",
                                       "0123456789",
                                       "0123456789ab",
                                       "0123456789abcdef",
                                       "a text that is longer than any cookie can be" };
  uint32_t n_cookies = 0;
  for (uint32_t i = 0; i < ARRAY_LEN(texts); ++i) {
    const size_t n_asked = ask(&peer, "/server/hello", "s", texts[i]);
    const size_t n_answered = receive();
    ck_assert_uint_le(n_answered, n_asked);
    ck_assert_uint_eq(receive(), 0);
    ck_assert_int_eq(n_answered > 0, strlen(texts[i]) >= TRUST_COOKIE_BYTES - 1U);
    n_cookies += n_answered > 0;
  }
  ck_assert_uint_eq(n_cookies, 2);
  static const char* const addresses[] = { "/server/ping", "/server/nodes", "/server/version",
                                           "/rack/get" };
  for (uint32_t i = 0; i < ARRAY_LEN(addresses); ++i) {
    ask(&peer, addresses[i], "");
    ck_assert_uint_eq(receive(), 0);
  }
  ask(&peer, "/server/notify", "i", 1);
  ask(&peer, "/server/notify", "ii", 1, 9001);
  ask(&peer, "/server/answers", "s", "failures");
  flush();
  ck_assert_uint_eq(receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 0);
  stop();
}

TEST(messages_of_a_bundle_share_one_packet_but_each_answer_is_one)
{
  start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  for (uint32_t n_text = 16; n_text <= 100U; n_text += 4U) {
    char text[128] = "";
    memset(text, '0', n_text);
    char bytes[4096] = "";
    size_t n_bytes = 0;
    const lo_bundle all = lo_bundle_new(LO_TT_IMMEDIATE);
    for (uint32_t m = 0; m < 10U; ++m) {
      bundle_add(all, "/server/hello", "s", text);
    }
    lo_bundle_serialise(all, bytes, &n_bytes);
    lo_bundle_free_recursive(all);
    const Instant arrival = instant_now();
    Bundle* bundle = NULL;
    ck_assert_int_eq(bundles_read(bytes, n_bytes, &peer, &arrival, &bundle), STATUS_OK);
    size_t n_sent = 0;
    for (uint32_t m = 0; m < bundle->n_messages; ++m) {
      ck_assert(!query_hello(&control, &peer, &bundle->messages[m], NULL));
      const size_t n = receive();
      n_sent += n ? n + MESSAGE_HEADER_BYTES : 0U;
    }
    ck_assert_uint_le(n_sent, n_bytes + MESSAGE_HEADER_BYTES);
    ck_assert(n_text < 100U || n_sent);
    bundle_free(bundle);
  }
  stop();
}

TEST(all_parts_of_a_text_together_are_not_larger_than_the_message_of_a_stranger)
{
  start("192.0.2.0/24");
  use_gains(200); // several parts
  const Peer peer = stranger_of("192.0.2.7", 9000);
  static char filler[8600];
  static char bytes[16384];
  memset(filler, 'x', sizeof(filler) - 1U);
  size_t n_bytes = 0;
  const lo_message question = lo_message_new();
  static const char* const patterns[] = { filler, "/*/*", "/*/*/*" };
  for (uint32_t p = 0; p < ARRAY_LEN(patterns); ++p) {
    lo_message_add_string(question, patterns[p]);
  }
  lo_message_serialise(question, "/server/describe", bytes, &n_bytes);
  lo_message_free(question);
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  ck_assert_int_eq(bundles_read(bytes, n_bytes, &peer, &arrival, &bundle), STATUS_OK);
  OK(query_describe(&control, &peer, &bundle->messages[0], &error));
  bundle_free(bundle);
  size_t n_answers = 0;
  for (size_t n = 0; (n = receive());) {
    n_answers += n;
  }
  ck_assert_uint_gt(n_answers, 8192); // the first part
  ck_assert_uint_le(n_answers, n_bytes);
  stop();
}

TEST(a_machine_that_has_returned_its_cookie_gets_answers)
{
  const Peer peer = start_proved();
  const Peer port = stranger_of("192.0.2.7", 9001);
  const Peer other = stranger_of("192.0.2.8", 9000);
  for (uint32_t i = 0; i < 2U; ++i) { // each port of the machine
    ask(i ? &port : &peer, "/rack/get", "");
    expect_answer("/rack/get");
  }
  ask(&other, "/rack/get", "");
  ck_assert_uint_eq(receive(), 0);
  ask(&peer, "/server/hello", "s", ""); // it has proved its address
  expect_answer("/done");
  control.now_ns += TRUST_LEASE_NS;
  clients_expire(&control);
  ask(&peer, "/rack/get", "");
  ck_assert_uint_eq(receive(), 0);
  stop();
}

TEST(a_machine_that_only_everybody_rules_allow_stays_a_stranger)
{
  static const char* const lists[] = { "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96",
                                       "192.0.3.0/24,0.0.0.0/0" };
  for (uint32_t i = 0; i < ARRAY_LEN(lists); ++i) {
    start(lists[i]);
    const Peer peer = stranger_of("192.0.2.7", 9000);
    char text[256] = "";
    memset(text, '0', sizeof(text) - 1U);
    const size_t n_asked = ask(&peer, "/server/hello", "s", text);
    ck_assert_uint_gt(n_asked, receive());
    ck_assert_str_eq(packet, "/fail");
    trust_print_cookie(&control.outlet.trust, &peer, control.now_ns, text);
    ask(&peer, "/server/hello", "s", text);
    ck_assert_uint_eq(control.outlet.trust.n_hosts, 0);
    stop();
  }
  start("0.0.0.0/0,192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  prove(&peer);
  stop();
}

/// Open a connection of a peer, or end it.  Returns its peer.
static Peer
connect_peer(const Peer* const peer, const bool is_open, const Framing framing)
{
  // The buffers of streams.c, which begin with the framing; FRAMING_UNKNOWN: nothing is sent.
  _Alignas(max_align_t) static char buffers[1U << 20U];
  memcpy(buffers, &framing, sizeof(framing));
  Peer connected = *peer;
  connected.connection = 1;
  // Its output waits: nothing is written to the socket.
  control.streams.items[1] =
      (Stream){ .peer = connected, .buffers = is_open ? (void*)buffers : NULL, .waits_ns = 1 };
  return connected;
}

/// Run `/server/notify 1 9001` from a connection of a peer, which is open or has ended.  Returns
/// the result.
static Status
subscribe_by_connection(const Peer* const peer, const bool is_open)
{
  static const char bytes[] = "/server/notify\0\0,ii\0\0\0\0\1\0\0\x23\x29\0\0\0\0\0\0\0";
  const Peer connected = connect_peer(peer, is_open, FRAMING_UNKNOWN);
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(bundles_read(bytes, 28, &connected, &arrival, &bundle), STATUS_OK);
  const Status status = query_notify(&control, &connected, &bundle->messages[0], &error);
  bundle_free(bundle);
  return status;
}

#define LONG_BYTES 500000U

/// ControlPlugins::list.
static char*
list_many_plugins(void* const context, const char* const* const words, const uint32_t n_words)
{
  (void)context;
  (void)words;
  (void)n_words;
  char* const text = calloc(1, LONG_BYTES + 1U);
  memset(text, 'x', LONG_BYTES);
  return text;
}

TEST(a_long_text_waits_for_room_in_a_connection)
{
  start("192.0.2.0/24");
  static const ControlPlugins plugins = { .list = list_many_plugins };
  control.config.plugins = &plugins;
  static const char bytes[32] = "/server/plugins\0,\0\0";
  const Peer peer = stranger_of("192.0.2.7", 9000);
  const Peer connected = connect_peer(&peer, true, FRAMING_LENGTH);
  Stream* const stream = &control.streams.items[1];
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  ck_assert_int_eq(bundles_read(bytes, 20, &connected, &arrival, &bundle), STATUS_OK);
  Message* const message = &bundle->messages[0];
  OK(query_plugins(&control, &connected, message, &error));
  uint32_t n_steps = 1;
  for (; message->is_unfinished; ++n_steps) {
    ck_assert_uint_le(stream->n_out, STREAM_OUT_BYTES);
    stream->n_out = stream->out_begin = 0; // the client has read it
    queries_continue(&control, &connected, message);
  }
  ck_assert_uint_gt(n_steps, 2);
  ck_assert_uint_eq(control.outlet.failed, 0);
  ck_assert_uint_eq(control.outlet.sent, LONG_BYTES / 8192U + 1U);
  bundle_free(bundle);
  stop();
}

TEST(a_connection_does_not_make_a_machine_trusted_that_nobody_has_named)
{
  start("0.0.0.0/0");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  ck_assert_int_eq(subscribe_by_connection(&peer, true), STATUS_BAD_ARG);
  ck_assert_uint_eq(control.outlet.trust.n_hosts, 0);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 0);
  stop();
}

TEST(a_hello_through_a_connection_proves_the_address_of_the_machine)
{
  start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  const Peer connected = connect_peer(&peer, true, FRAMING_UNKNOWN); // answers go nowhere
  ask(&connected, "/server/hello", "s", "");
  ask(&peer, "/rack/get", "");
  expect_answer("/rack/get");
  stop();
  start("0.0.0.0/0");
  ask(&connected, "/server/hello", "s", "");
  ask(&peer, "/rack/get", "");
  ck_assert_uint_eq(receive(), 0);
  stop();
}

/// Subscribe a peer to `format` with the numbers 1 to n.  Returns how many meters it gets.
static int
subscribe_meters(const Peer* const peer, const char* const format, const int n)
{
  int n_done = 0;
  for (int i = 1; i <= n; ++i) {
    char what[32];
    snprintf(what, sizeof(what), format, i);
    ask(peer, "/meter/subscribe", "s", what);
    ck_assert_uint_gt(receive(), 0);
    n_done += strcmp(packet, "/done") == 0;
  }
  return n_done;
}

TEST(one_machine_leaves_meters_for_others)
{
  enum { N_NODES = 40 };
  const Peer peer = start_proved();
  const Peer port = stranger_of("192.0.2.7", 9001);
  const Peer other = stranger_of("192.0.2.8", 9000);
  use_gains(N_NODES);
  control.engine.n_out = N_NODES;
  ck_assert_int_eq(subscribe_meters(&peer, "loudness/out:%d", 4), LOUDNESS_PER_MACHINE);
  ask(&peer, "/meter/unsubscribe", "");
  expect_answer("/done");
  ck_assert_int_eq(subscribe_meters(&peer, "node/g%d", N_NODES), TAPS_PER_MACHINE);
  ck_assert_int_eq(subscribe_meters(&port, "node/g%d", N_NODES), TAPS_PER_MACHINE); // the same
  ck_assert_uint_eq(control.meters.n, METERS_PER_MACHINE);
  ask(&port, "/meter/subscribe", "s", "out");
  expect_answer("/fail");
  prove(&other);
  ck_assert_int_eq(subscribe_meters(&other, "node/g%d", N_NODES), TAPS_PER_MACHINE);
  control.now_ns += CLIENT_LEASE_NS;
  clients_expire(&control);
  ck_assert_uint_eq(control.meters.n, 0);
  meters_clear(&control.meters);
  stop();
}

TEST(a_connection_that_has_ended_before_the_turn_of_its_packet_does_not_subscribe)
{
  start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  ck_assert_int_eq(subscribe_by_connection(&peer, false), STATUS_NET);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 0);
  ck_assert_uint_eq(control.outlet.trust.n_hosts, 0);
  ck_assert_int_eq(subscribe_by_connection(&peer, true), STATUS_OK);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 1);
  stop();
}

TEST(half_open_proofs_use_no_memory)
{
  start("10.0.0.0/8");
  for (uint32_t i = 0; i < 10000U; ++i) {
    char address[32];
    snprintf(address, sizeof(address), "10.1.%u.%u", i / 256U, i % 256U);
    const Peer peer = stranger_of(address, 9000);
    ask(&peer, "/server/hello", "s", "0123456789abcdef");
    ck_assert_uint_eq(receive(), 16U + 4U + 20U);
  }
  ck_assert_uint_eq(control.outlet.trust.n_hosts, 0);
  ck_assert_uint_eq(control.counts.cookies, 10000);
  const Peer peer = stranger_of("10.9.9.9", 9000);
  prove(&peer);
  stop();
}

/// Number of news packets that wait, and the address of the last one in `packet`.
static uint32_t
count_news(void)
{
  uint32_t n = 0;
  while (receive()) {
    ++n;
  }
  return n;
}

TEST(a_subscriber_gets_all_present_values_and_no_other_does)
{
  const Peer first = start_proved();
  const Peer second = stranger_of("192.0.2.7", 9001);
  ask(&first, "/server/notify", "i", 1);
  expect_answer("/done");
  flush();
  const uint32_t n = count_news();
  ck_assert_uint_ge(n, 3);
  ck_assert_str_eq(packet, "/node/vol/gain");
  ask(&second, "/server/notify", "i", 1);
  ck_assert_uint_gt(receive(), 0);
  flush();
  ck_assert_uint_eq(count_news(), n);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 2);
  control_notify(&control, NOTIFY_WORKER);
  ck_assert_uint_eq(count_news(), 2);
  ask(&second, "/server/notify", "i", 0);
  ck_assert_uint_gt(receive(), 0);
  flush();
  control_notify(&control, NOTIFY_WORKER);
  ck_assert_uint_eq(count_news(), 1);
  stop();
}

TEST(a_client_can_subscribe_another_port_of_its_machine)
{
  const Peer peer = start_proved();
  const Peer tablet = stranger_of("192.0.2.7", 9001);
  ask(&peer, "/server/notify", "ii", 1, 9001);
  ck_assert_uint_gt(receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 1);
  ck_assert(peer_equal(&control.clients.of[0].peer, &tablet));
  ask(&peer, "/server/notify", "ii", 1, 65536);
  expect_answer("/fail");
  ask(&peer, "/server/notify", "ii", 1, -1);
  expect_answer("/fail");
  ask(&peer, "/server/notify", "ii", 1, 0); // the sender's port
  ck_assert_uint_gt(receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 2);
  ask(&peer, "/server/notify", "ii", 0, 9001);
  ck_assert_uint_gt(receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 1);
  stop();
}

TEST(a_subscription_of_another_machine_ends_after_a_minute_without_its_packets)
{
  start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  const Peer tablet = stranger_of("192.0.2.7", 9001);
  const Peer neighbour = stranger_of("192.0.2.7", 9002);
  SCOPED_FD const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const Peer any = peer_of("127.0.0.1", 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&any.address, any.n_bytes), 0);
  const Peer here = peer_bound(fd);
  prove(&peer);
  ask(&peer, "/server/notify", "i", 1);
  ask(&peer, "/server/notify", "ii", 1, 9001);
  ask(&neighbour, "/server/notify", "i", 1);
  ck_assert(client_take(&control.clients, &here, &here, CLIENT_NEWS, control.now_ns, NULL));
  const uint64_t begin_ns = control.now_ns;
  control.now_ns = begin_ns + TRUST_LEASE_NS / 2U;
  clients_renew(&control, &peer); // for both subscriptions that it asked for
  control.now_ns = begin_ns + TRUST_LEASE_NS;
  clients_expire(&control);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 3);
  clients_renew(&control, &tablet);
  control.now_ns = begin_ns + TRUST_LEASE_NS * 3U / 2U;
  clients_expire(&control);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 2);
  ck_assert(trust_has(&control.outlet.trust, &neighbour)); // the machine still sends
  control.now_ns = begin_ns + 2U * TRUST_LEASE_NS;
  clients_expire(&control);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 1); // the open port of this machine
  ck_assert(!trust_has(&control.outlet.trust, &peer));
  stop();
}

/// Count the packets of the news of `n` changes, one in each millisecond.
static uint32_t
count_changes(const uint32_t n)
{
  uint32_t n_news = 0;
  for (uint32_t i = 0; i < n; ++i) {
    control.now_ns += NS_PER_MS;
    control_notify(&control, NOTIFY_WORKER);
    notify_flush(&control.notify, control.now_ns);
    n_news += count_news();
  }
  return n_news;
}

/// Send all news that the server sends without a further change.  Returns their number.
static uint32_t
count_rest(void)
{
  uint32_t n = count_news();
  while (notify_wake_ns(&control.notify) != UINT64_MAX) {
    const uint64_t wake_ns = notify_wake_ns(&control.notify);
    control.now_ns = wake_ns > control.now_ns ? wake_ns : control.now_ns;
    notify_flush(&control.notify, control.now_ns);
    n += count_news();
  }
  return n;
}

TEST(a_subscriber_with_a_rate_gets_the_newest_state_at_that_rate)
{
  const Peer peer = start_proved();
  static const int wrong[] = { 0, -1, 51 };
  for (uint32_t i = 0; i < ARRAY_LEN(wrong); ++i) {
    ask(&peer, "/server/notify", "iii", 1, 0, wrong[i]);
    expect_answer("/fail");
  }
  ask(&peer, "/server/notify", "iii", 1, 0, 10);
  expect_answer("/done");
  count_rest();
  ck_assert_uint_eq(count_changes(1000), 10);
  ck_assert_uint_eq(count_rest(), 1);
  ask(&peer, "/server/notify", "iii", 1, 0, 50);
  count_rest();
  control.now_ns += NS_PER_S;
  ck_assert_uint_eq(count_changes(1000), 50);
  ck_assert_uint_eq(count_rest(), 1);
  stop();
}

TEST(a_slow_subscriber_does_not_slow_others_down)
{
  const Peer slow = start_proved();
  const Peer fast = stranger_of("192.0.2.7", 9001);
  ask(&slow, "/server/notify", "iii", 1, 0, 1);
  ask(&fast, "/server/notify", "i", 1);
  count_rest();
  ck_assert_uint_eq(count_changes(2000), 100 + 2);
  ck_assert_uint_eq(count_rest(), 2);
  // The client that made the newest change does not get it, at any rate.
  const NotifyKey key = { editor_rack(control.editor)->nodes[1].uid, 0 };
  notify_change(&control.notify, key, &fast, control.now_ns);
  ck_assert_uint_eq(count_news(), 0);
  control.now_ns += NOTIFY_INTERVAL_NS;
  notify_change(&control.notify, key, &slow, control.now_ns);
  ck_assert_uint_eq(count_rest(), 1);
  // What waits for a client that leaves is forgotten.
  notify_change(&control.notify, key, &fast, control.now_ns + NOTIFY_INTERVAL_NS);
  ask(&slow, "/server/notify", "i", 0);
  ck_assert_uint_gt(receive(), 0);
  ck_assert_uint_eq(notify_wake_ns(&control.notify), UINT64_MAX);
  stop();
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
  start("192.0.2.0/24");
  // clients_add() asks the socket for its family.
  const int pair = control.outlet.socket;
  const Peer any = peer_of("0.0.0.0", 0);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&any.address, any.n_bytes), 0);
  control.outlet.socket = fd;
  const Listeners listeners = listeners_of(list);
  OK(clients_add(&control, &listeners, &error));
  control.outlet.socket = pair;
  close(fd);
  for (uint32_t l = 0; l < listeners.n; ++l) {
    control.clients.of[l].peer.n_bytes = 0;
  }
}

TEST(a_listener_gets_all_news_without_a_subscription_for_ever)
{
  start_listeners("192.0.2.7:9001,127.0.0.1:9");
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 2);
  const Peer tablet = stranger_of("192.0.2.7", 50000);
  ask(&tablet, "/ping", ""); // from another port, without a proof
  expect_answer("/done");
  ask(&tablet, "/server/notify", "ii", 0, 9001);
  expect_answer("/fail");
  control.now_ns += 1000U * TRUST_LEASE_NS;
  clients_expire(&control);
  control_notify(&control, NOTIFY_STARTED);
  ck_assert_uint_eq(count_news(), 2);
  ask(&tablet, "/server/notify", "ii", 1, 9001); // again, for all values
  ck_assert_uint_gt(receive(), 0);
  ck_assert_uint_ge(count_rest(), 3);
  control.now_ns += 1000U * TRUST_LEASE_NS;
  clients_expire(&control);
  ck_assert_uint_eq(notify_n_subscribers(&control.notify), 2);
  ck_assert_uint_eq(control.outlet.trust.n_hosts, 1);
  stop();
}

TEST(nobody_sets_the_rate_of_a_listener)
{
  start_listeners("192.0.2.7:9001");
  const Peer tablet = stranger_of("192.0.2.7", 50000);
  ask(&tablet, "/server/notify", "iii", 1, 9001, 1);
  expect_answer("/fail");
  ck_assert_uint_eq(count_changes(1000), 50);
  stop();
}

TEST(a_listener_stays_when_there_is_no_memory_for_its_values)
{
  start_listeners("192.0.2.7:9001");
  const Peer tablet = stranger_of("192.0.2.7", 50000);
  has_failed = true;
  for (n_good = 0; has_failed; ++n_good) {
    ask(&tablet, "/server/notify", "ii", 1, 9001);
    ck_assert_uint_eq(notify_n_subscribers(&control.notify), 1);
  }
  ck_assert_uint_gt(n_good, 1U);
  n_good = UINT32_MAX;
  stop();
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
    start("192.0.2.0/24");
    const int pair = control.outlet.socket;
    const Peer own = peer_of(rows[r].bound, 0);
    const int fd = socket(own.address.ss_family, SOCK_DGRAM, 0);
    if (bind(fd, (const struct sockaddr*)&own.address, own.n_bytes) == 0) { // else no IPv6 here
      control.outlet.socket = fd;
      const Listeners listeners = listeners_of(rows[r].listener);
      Error error;
      ck_assert_msg(!clients_add(&control, &listeners, &error) == rows[r].is_reached, "%s to %s",
                    rows[r].bound, rows[r].listener);
    }
    control.outlet.socket = pair;
    close(fd);
    stop();
  }
}

SUITE_MAIN("clients")
