// SPDX-License-Identifier: GPL-3.0-or-later
// Clients of other machines: before the proof of their address they get no packet that is larger
// than theirs, after it answers, as far as there is room in their connection.

#include "control/clients.h"
#include "control/meters.h"
#include "control/queries.h"
#include "tests/support/osc_client.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/strangers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(no_answer_to_a_stranger_is_larger_than_its_message)
{
  strangers_start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  static const char* const texts[] = { "",
                                       "0",
                                       "0123456789",
                                       "0123456789ab",
                                       "0123456789abcdef",
                                       "a text that is longer than any cookie can be" };
  uint32_t n_cookies = 0;
  for (uint32_t i = 0; i < ARRAY_LEN(texts); ++i) {
    const size_t n_asked = strangers_ask(&peer, "/server/hello", "s", texts[i]);
    const size_t n_answered = strangers_receive();
    ck_assert_uint_le(n_answered, n_asked);
    ck_assert_uint_eq(strangers_receive(), 0);
    ck_assert_int_eq(n_answered > 0, strlen(texts[i]) >= TRUST_COOKIE_BYTES - 1U);
    n_cookies += n_answered > 0;
  }
  ck_assert_uint_eq(n_cookies, 2);
  static const char* const addresses[] = { "/server/ping", "/server/nodes", "/server/version",
                                           "/rack/get" };
  for (uint32_t i = 0; i < ARRAY_LEN(addresses); ++i) {
    strangers_ask(&peer, addresses[i], "");
    ck_assert_uint_eq(strangers_receive(), 0);
  }
  strangers_ask(&peer, "/server/notify", "i", 1);
  strangers_ask(&peer, "/server/notify", "ii", 1, 9001);
  strangers_ask(&peer, "/server/answers", "s", "failures");
  strangers_flush();
  ck_assert_uint_eq(strangers_receive(), 0);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 0);
  strangers_stop();
}

TEST(messages_of_a_bundle_share_one_packet_but_each_answer_is_one)
{
  strangers_start("192.0.2.0/24");
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
      ck_assert(!query_hello(&strangers.control, &peer, &bundle->messages[m], NULL));
      const size_t n = strangers_receive();
      n_sent += n ? n + MESSAGE_HEADER_BYTES : 0U;
    }
    ck_assert_uint_le(n_sent, n_bytes + MESSAGE_HEADER_BYTES);
    ck_assert(n_text < 100U || n_sent);
    bundle_free(bundle);
  }
  strangers_stop();
}

TEST(all_parts_of_a_text_together_are_not_larger_than_the_message_of_a_stranger)
{
  strangers_start("192.0.2.0/24");
  strangers_use_gains(200); // several parts
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
  OK(query_describe(&strangers.control, &peer, &bundle->messages[0], &error));
  bundle_free(bundle);
  size_t n_answers = 0;
  for (size_t n = 0; (n = strangers_receive());) {
    n_answers += n;
  }
  ck_assert_uint_gt(n_answers, 8192); // the first part
  ck_assert_uint_le(n_answers, n_bytes);
  strangers_stop();
}

TEST(a_machine_that_has_returned_its_cookie_gets_answers)
{
  const Peer peer = strangers_start_proved();
  const Peer port = stranger_of("192.0.2.7", 9001);
  const Peer other = stranger_of("192.0.2.8", 9000);
  for (uint32_t i = 0; i < 2U; ++i) { // each port of the machine
    strangers_ask(i ? &port : &peer, "/rack/get", "");
    strangers_expect("/rack/get");
  }
  strangers_ask(&other, "/rack/get", "");
  ck_assert_uint_eq(strangers_receive(), 0);
  strangers_ask(&peer, "/server/hello", "s", ""); // it has proved its address
  strangers_expect("/done");
  strangers.control.now_ns += TRUST_LEASE_NS;
  clients_expire(&strangers.control);
  strangers_ask(&peer, "/rack/get", "");
  ck_assert_uint_eq(strangers_receive(), 0);
  strangers_stop();
}

TEST(a_machine_that_only_everybody_rules_allow_stays_a_stranger)
{
  static const char* const lists[] = { "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96",
                                       "192.0.3.0/24,0.0.0.0/0" };
  for (uint32_t i = 0; i < ARRAY_LEN(lists); ++i) {
    strangers_start(lists[i]);
    const Peer peer = stranger_of("192.0.2.7", 9000);
    char text[256] = "";
    memset(text, '0', sizeof(text) - 1U);
    const size_t n_asked = strangers_ask(&peer, "/server/hello", "s", text);
    ck_assert_uint_gt(n_asked, strangers_receive());
    ck_assert_str_eq(strangers.packet, "/fail");
    trust_print_cookie(&strangers.control.outlet.trust, &peer, strangers.control.now_ns, text);
    strangers_ask(&peer, "/server/hello", "s", text);
    ck_assert_uint_eq(strangers.control.outlet.trust.n_hosts, 0);
    strangers_stop();
  }
  strangers_start("0.0.0.0/0,192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  strangers_prove(&peer);
  strangers_stop();
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
  strangers.control.streams.items[1] =
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
  const Status status = query_notify(&strangers.control, &connected, &bundle->messages[0], &error);
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
  strangers_start("192.0.2.0/24");
  static const ControlPlugins plugins = { .list = list_many_plugins };
  strangers.control.config.plugins = &plugins;
  static const char bytes[32] = "/server/plugins\0,\0\0";
  const Peer peer = stranger_of("192.0.2.7", 9000);
  const Peer connected = connect_peer(&peer, true, FRAMING_LENGTH);
  Stream* const stream = &strangers.control.streams.items[1];
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  ck_assert_int_eq(bundles_read(bytes, 20, &connected, &arrival, &bundle), STATUS_OK);
  Message* const message = &bundle->messages[0];
  OK(query_plugins(&strangers.control, &connected, message, &error));
  uint32_t n_steps = 1;
  for (; message->is_unfinished; ++n_steps) {
    ck_assert_uint_le(stream->n_out, STREAM_OUT_BYTES);
    stream->n_out = stream->out_begin = 0; // the client has read it
    queries_continue(&strangers.control, &connected, message);
  }
  ck_assert_uint_gt(n_steps, 2);
  ck_assert_uint_eq(strangers.control.outlet.failed, 0);
  ck_assert_uint_eq(strangers.control.outlet.sent, LONG_BYTES / 8192U + 1U);
  bundle_free(bundle);
  strangers_stop();
}

TEST(a_connection_does_not_make_a_machine_trusted_that_nobody_has_named)
{
  strangers_start("0.0.0.0/0");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  ck_assert_int_eq(subscribe_by_connection(&peer, true), STATUS_BAD_ARG);
  ck_assert_uint_eq(strangers.control.outlet.trust.n_hosts, 0);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 0);
  strangers_stop();
}

TEST(a_hello_through_a_connection_proves_the_address_of_the_machine)
{
  strangers_start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  const Peer connected = connect_peer(&peer, true, FRAMING_UNKNOWN); // answers go nowhere
  strangers_ask(&connected, "/server/hello", "s", "");
  strangers_ask(&peer, "/rack/get", "");
  strangers_expect("/rack/get");
  strangers_stop();
  strangers_start("0.0.0.0/0");
  strangers_ask(&connected, "/server/hello", "s", "");
  strangers_ask(&peer, "/rack/get", "");
  ck_assert_uint_eq(strangers_receive(), 0);
  strangers_stop();
}

/// Subscribe a peer to `format` with the numbers 1 to n.  Returns how many meters it gets.
static int
subscribe_meters(const Peer* const peer, const char* const format, const int n)
{
  int n_done = 0;
  for (int i = 1; i <= n; ++i) {
    char what[32];
    snprintf(what, sizeof(what), format, i);
    strangers_ask(peer, "/meter/subscribe", "s", what);
    ck_assert_uint_gt(strangers_receive(), 0);
    n_done += strcmp(strangers.packet, "/done") == 0;
  }
  return n_done;
}

TEST(one_machine_leaves_meters_for_others)
{
  enum { N_NODES = 40 };
  const Peer peer = strangers_start_proved();
  const Peer port = stranger_of("192.0.2.7", 9001);
  const Peer other = stranger_of("192.0.2.8", 9000);
  strangers_use_gains(N_NODES);
  strangers.control.engine.n_out = N_NODES;
  ck_assert_int_eq(subscribe_meters(&peer, "loudness/out:%d", 4), LOUDNESS_PER_MACHINE);
  strangers_ask(&peer, "/meter/unsubscribe", "");
  strangers_expect("/done");
  ck_assert_int_eq(subscribe_meters(&peer, "node/g%d", N_NODES), TAPS_PER_MACHINE);
  ck_assert_int_eq(subscribe_meters(&port, "node/g%d", N_NODES), TAPS_PER_MACHINE); // the same
  ck_assert_uint_eq(strangers.control.meters.n, METERS_PER_MACHINE);
  strangers_ask(&port, "/meter/subscribe", "s", "out");
  strangers_expect("/fail");
  strangers_prove(&other);
  ck_assert_int_eq(subscribe_meters(&other, "node/g%d", N_NODES), TAPS_PER_MACHINE);
  strangers.control.now_ns += CLIENT_LEASE_NS;
  clients_expire(&strangers.control);
  ck_assert_uint_eq(strangers.control.meters.n, 0);
  meters_clear(&strangers.control.meters);
  strangers_stop();
}

TEST(a_connection_that_has_ended_before_the_turn_of_its_packet_does_not_subscribe)
{
  strangers_start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  ck_assert_int_eq(subscribe_by_connection(&peer, false), STATUS_NET);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 0);
  ck_assert_uint_eq(strangers.control.outlet.trust.n_hosts, 0);
  ck_assert_int_eq(subscribe_by_connection(&peer, true), STATUS_OK);
  ck_assert_uint_eq(notify_n_subscribers(&strangers.control.notify), 1);
  strangers_stop();
}

TEST(half_open_proofs_use_no_memory)
{
  strangers_start("10.0.0.0/8");
  for (uint32_t i = 0; i < 10000U; ++i) {
    char address[32];
    snprintf(address, sizeof(address), "10.1.%u.%u", i / 256U, i % 256U);
    const Peer peer = stranger_of(address, 9000);
    strangers_ask(&peer, "/server/hello", "s", "0123456789abcdef");
    ck_assert_uint_eq(strangers_receive(), 16U + 4U + 20U);
  }
  ck_assert_uint_eq(strangers.control.outlet.trust.n_hosts, 0);
  ck_assert_uint_eq(strangers.control.counts.cookies, 10000);
  const Peer peer = stranger_of("10.9.9.9", 9000);
  strangers_prove(&peer);
  strangers_stop();
}

SUITE_MAIN("clients")
