// SPDX-License-Identifier: GPL-3.0-or-later
// TCP connections: packets reach their senders, answers have the framing of the connection; limits
// for clients that are too many, too slow, or send garbage.  The tests choose all times.

#include "control/net/streams.h"
#include "tests/support/peers.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BEGIN_NS UINT64_C(1000000000)
#define LATER_NS (BEGIN_NS + STREAM_LIMIT_NS)

static const char ping[] = "/a\0\0,\0\0\0"; // 8 bytes
static const char framed[2][12] = { "\0\0\0\x08/a\0\0,\0\0", "\xC0/a\0\0,\0\0\0\xC0\xC0" };

static Streams streams;
static Senders senders;
static Allow allow;
static Watch watch;
static uint16_t port;
static uint32_t n_closed;
static Peer closed; // the connection that ended last

static void
on_closed(void* const context, const Peer* const peer)
{
  ck_assert_ptr_eq(context, &streams);
  closed = *peer;
  ++n_closed;
}

static void
begin(void)
{
  ck_assert(senders_init(&senders, 1));
  streams_init(&streams, &allow, &watch, on_closed, &streams);
  const Peer any_port = peer_of("0.0.0.0", 0);
  streams.listeners[0] = streams_listen(&any_port);
  ck_assert_int_ge(streams.listeners[0], 0);
  const Peer own = peer_bound(streams.listeners[0]);
  port = peer_key(&own).port;
  n_closed = 0;
}

static void
end(void)
{
  streams_clear(&streams);
  ck_assert_uint_eq(streams_count(&streams), 0);
  senders_clear(&senders);
}

/// True if a line of the last messages has this text.
static bool
is_noted(const char* const text)
{
  TextBuffer lines = { .bytes = NULL };
  watch_print(&watch, BEGIN_NS, &lines);
  SCOPED_MEMORY char* const all = text_buffer_take(&lines);
  return strstr(all, text);
}

/// One round of the control thread, which does not wait.  Returns the number of ready sockets.
static int
do_round(const uint64_t now_ns)
{
  struct pollfd fds[STREAMS_POLLED];
  const uint32_t n_fds = streams_prepare(&streams, &senders, now_ns, fds);
  const int n = poll(fds, n_fds, 0);
  streams_serve(&streams, &senders, now_ns, fds);
  return n;
}

/// Rounds until a condition holds: the kernel passes bytes on at its own time.
#define ROUNDS_UNTIL(now_ns, condition) AWAIT((do_round(now_ns), (condition)))

/// Connect from an address of this machine.
static int
connect_from(const char* const address)
{
  const Peer from = peer_of(address, 0);
  const Peer to = peer_of("127.0.0.1", port);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int n_bytes = 65536;
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n_bytes, sizeof(n_bytes)), 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&from.address, from.n_bytes), 0);
  ck_assert_int_eq(connect(fd, (const struct sockaddr*)&to.address, to.n_bytes), 0);
  return fd;
}

static void
send_bytes(const int fd, const void* const bytes, const size_t n_bytes)
{
  ck_assert_int_eq(send(fd, bytes, n_bytes, MSG_NOSIGNAL), (ssize_t)n_bytes);
}

/// Take the next packet of any sender; NULL if there is none.
static Packet*
take_packet(void)
{
  Sender* const sender = senders_turn(&senders);
  Packet* const packet = sender ? senders_take(&senders, sender) : NULL;
  if (sender) {
    senders_charge(&senders, sender, BEGIN_NS, 1);
  }
  return packet;
}

/// Connect from an address, send one packet, and return the peer that has sent it.
static Peer
meet(const char* const address, int* const fd, const Framing framing)
{
  Packet* packet = NULL;
  *fd = connect_from(address);
  send_bytes(*fd, framed[framing == FRAMING_SLIP], framing == FRAMING_SLIP ? 11 : 12);
  ROUNDS_UNTIL(BEGIN_NS, (packet = take_packet()));
  const Peer peer = packet->peer;
  free(packet);
  return peer;
}

/// True if the server has closed this connection.
static bool
is_cut(const int fd)
{
  char byte = 0;
  const ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno == ECONNRESET);
}

// ---- packets ----

static const Framing framings[] = { FRAMING_LENGTH, FRAMING_SLIP };

TEST_ROWS(a_packet_reaches_its_sender_and_the_answer_has_its_framing, framings)
{
  SCOPED_FD int fd = -1;
  const Peer peer = meet("127.0.0.1", &fd, framings[row]);
  ck_assert_uint_ne(peer.connection, 0);
  ck_assert_uint_eq(streams.packets, 1);
  ck_assert(streams_send(&streams, &peer, "/b\0\0,\0\0\0", 8));
  do_round(BEGIN_NS);
  char answer[16] = "";
  const size_t n = framing_size(framings[row], (const uint8_t*)ping, 8);
  ck_assert_int_eq(recv(fd, answer, sizeof(answer), 0), (ssize_t)n);
  ck_assert_mem_eq(answer + (row ? 1 : 4), "/b\0\0,\0\0\0", 8);
  ck_assert_mem_eq(answer, row ? "\xC0" : "\0\0\0\x08", row ? 1 : 4);
}

TEST(each_connection_is_a_sender_of_its_own)
{
  SCOPED_FD int a = -1;
  SCOPED_FD int b = -1;
  const Peer first = meet("127.0.0.1", &a, FRAMING_LENGTH);
  const Peer second = meet("127.0.0.1", &b, FRAMING_SLIP);
  Peer udp = first;
  udp.connection = 0;
  ck_assert(!peer_equal(&first, &second));
  ck_assert(!peer_equal(&first, &udp));
  const PeerKey x = peer_sender(&first);
  const PeerKey y = peer_sender(&udp);
  ck_assert(!peer_key_equal(&x, &y));
}

TEST(a_connection_pays_for_the_time_of_reading_it)
{
  static const uint8_t half[8192] = { 0, 0, 0x40 }; // of a packet
  SCOPED_FD int fd = -1;
  const Peer peer = meet("127.0.0.1", &fd, FRAMING_LENGTH);
  const Sender* const sender = senders_get(&senders, &peer, BEGIN_NS);
  const int64_t credit_ns = sender->credit_ns;
  send_bytes(fd, half, sizeof(half));
  ROUNDS_UNTIL(BEGIN_NS, sender->credit_ns < credit_ns);
  ck_assert(!sender_is_waiting(sender));
}

TEST(an_answer_to_a_connection_that_has_ended_goes_to_no_other)
{
  SCOPED_FD int fd = -1;
  SCOPED_FD int next = -1;
  const Peer before = meet("127.0.0.1", &fd, FRAMING_LENGTH);
  close(fd);
  const Peer after = meet("127.0.0.1", &next, FRAMING_LENGTH);
  ROUNDS_UNTIL(LATER_NS, n_closed == 1);
  ck_assert(peer_equal(&closed, &before));
  ck_assert(!streams_send(&streams, &before, ping, 8));
  ck_assert(streams_send(&streams, &after, ping, 8));
  fd = connect_from("127.0.0.1"); // takes the free entry
  ROUNDS_UNTIL(LATER_NS, streams_count(&streams) == 2);
  ck_assert(!streams_send(&streams, &before, ping, 8));
}

TEST(a_client_that_has_sent_all_still_gets_its_answers)
{
  SCOPED_FD int fd = connect_from("127.0.0.1");
  send_bytes(fd, framed[0], 12);
  ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
  Packet* packet = NULL;
  ROUNDS_UNTIL(BEGIN_NS, (packet = take_packet()));
  ROUNDS_UNTIL(BEGIN_NS, streams.items[0].has_ended);
  ck_assert_int_eq(do_round(LATER_NS - 1U), 0); // does not spin
  ck_assert(streams_send(&streams, &packet->peer, ping, 8));
  free(packet);
  do_round(LATER_NS - 1U);
  char answer[16];
  ck_assert_int_eq(recv(fd, answer, sizeof(answer), 0), 12);
  do_round(LATER_NS);
  ck_assert_uint_eq(n_closed, 1);
  ck_assert_uint_eq(streams.slow, 0);
  ck_assert(is_cut(fd));
}

// ---- limits ----

TEST(an_address_has_8_connections_and_all_have_32)
{
  int fds[STREAMS_MAX + 2];
  char address[16] = "127.0.0.1";
  for (uint32_t c = 0; c < STREAMS_MAX; ++c) {
    address[8] = (char)('1' + c / STREAMS_PER_MACHINE);
    fds[c] = connect_from(address);
    ROUNDS_UNTIL(BEGIN_NS, streams_count(&streams) == c + 1U);
  }
  fds[STREAMS_MAX] = connect_from("127.0.0.1");      // the 9th of its address
  fds[STREAMS_MAX + 1U] = connect_from("127.0.0.9"); // the 33rd
  ROUNDS_UNTIL(BEGIN_NS, streams.refused == 2);
  ck_assert_uint_eq(streams_count(&streams), STREAMS_MAX);
  ck_assert(is_cut(fds[STREAMS_MAX]) && is_cut(fds[STREAMS_MAX + 1U]));
  ck_assert(is_noted("127.0.0.1 0\trefused\t1\t0\ttcp\tits machine has 8 connections already"));
  ck_assert(is_noted("127.0.0.9 0\trefused\t1\t0\ttcp\t32 connections are open already"));
  ck_assert_uint_eq(n_closed, 0);
  for (uint32_t c = 0; c < ARRAY_LEN(fds); ++c) {
    close(fds[c]);
  }
}

TEST(a_connection_whose_client_has_ended_gives_its_place)
{
  int fds[STREAMS_PER_MACHINE + 1U];
  for (uint32_t c = 0; c < STREAMS_PER_MACHINE; ++c) {
    fds[c] = connect_from("127.0.0.1");
    ROUNDS_UNTIL(BEGIN_NS, streams_count(&streams) == c + 1U);
  }
  close(fds[2]);
  ROUNDS_UNTIL(BEGIN_NS, streams.items[2].has_ended);
  fds[2] = connect_from("127.0.0.1");
  ROUNDS_UNTIL(BEGIN_NS, n_closed == 1);
  ck_assert_uint_eq(streams_count(&streams), STREAMS_PER_MACHINE);
  ck_assert_uint_eq(streams.refused, 0);
  for (uint32_t c = 0; c < STREAMS_PER_MACHINE; ++c) {
    close(fds[c]);
  }
}

/// While ppoll(2) has reported another connection, a client ends one and begins the next.
TEST(a_client_may_change_its_connection_at_any_time)
{
  struct pollfd polled[STREAMS_POLLED];
  Packet* packet = NULL;
  int fds[STREAMS_PER_MACHINE];
  for (uint32_t c = 0; c < STREAMS_PER_MACHINE; ++c) {
    fds[c] = connect_from("127.0.0.1");
  }
  ROUNDS_UNTIL(BEGIN_NS, streams_count(&streams) == STREAMS_PER_MACHINE);
  SCOPED_FD const int ninth = connect_from("127.0.0.1");
  const uint32_t n_polled = streams_prepare(&streams, &senders, BEGIN_NS, polled);
  AWAIT(poll(polled, n_polled, 0) == 1);
  close(fds[0]);
  SCOPED_FD const int next = connect_from("127.0.0.1");
  streams_serve(&streams, &senders, BEGIN_NS, polled);
  send_bytes(next, framed[0], 12);
  ROUNDS_UNTIL(BEGIN_NS, (packet = take_packet()));
  free(packet);
  ck_assert(is_cut(ninth));
  for (uint32_t c = 1; c < STREAMS_PER_MACHINE; ++c) {
    close(fds[c]);
  }
}

TEST(a_client_that_does_not_read_is_closed)
{
  SCOPED_FD int slow = -1;
  SCOPED_FD int other = -1;
  static const char answer[8192];
  const Peer peer = meet("127.0.0.1", &slow, FRAMING_LENGTH);
  const Peer reader = meet("127.0.0.1", &other, FRAMING_LENGTH);
  uint32_t n = 0;
  while (streams_send(&streams, &peer, answer, sizeof(answer))) {
    do_round(BEGIN_NS);
    ck_assert_uint_lt(++n, 1000); // its buffers are bounded
  }
  ck_assert(streams_send(&streams, &reader, ping, 8));
  do_round(LATER_NS - 1U);
  ck_assert_uint_eq(streams_count(&streams), 2);
  do_round(LATER_NS);
  ck_assert_uint_eq(streams_count(&streams), 1);
  ck_assert_uint_eq(streams.slow, 1);
  ck_assert(peer_equal(&closed, &peer));
  ck_assert(!streams_send(&streams, &peer, ping, 8));
  ck_assert(streams_send(&streams, &reader, ping, 8));
}

TEST(a_subscriber_without_room_for_news_is_closed)
{
  SCOPED_FD int fd = -1;
  const Peer peer = meet("127.0.0.1", &fd, FRAMING_SLIP);
  Peer udp = peer;
  udp.connection = 0;
  streams_close_slow(&streams, &udp);
  ck_assert_uint_eq(streams_count(&streams), 1);
  streams_close_slow(&streams, &peer);
  streams_close_slow(&streams, &peer);
  ck_assert_uint_eq(streams_count(&streams), 0);
  ck_assert_uint_eq(n_closed, 0); // the caller may be iterating over its clients
  do_round(BEGIN_NS);
  ck_assert_uint_eq(n_closed, 1);
  ck_assert_uint_eq(streams.slow, 1);
}

TEST(a_client_that_reads_late_gets_everything_in_order)
{
  SCOPED_FD int fd = -1;
  const Peer peer = meet("127.0.0.1", &fd, FRAMING_LENGTH);
  uint32_t n = 0;
  for (uint32_t answer[1024] = { 0 }; streams_send(&streams, &peer, answer, sizeof(answer));) {
    answer[0] = ++n;
    do_round(BEGIN_NS);
  }
  ck_assert(streams.items[peer.connection % STREAMS_MAX].waits_ns); // the kernel takes no more
  for (uint32_t a = 0; a < n; ++a) {
    uint32_t answer[1025];
    size_t n_bytes = 0;
    while (n_bytes < sizeof(answer)) {
      const ssize_t got = recv(fd, (char*)answer + n_bytes, sizeof(answer) - n_bytes, MSG_DONTWAIT);
      n_bytes += got > 0 ? (size_t)got : 0U;
      do_round(BEGIN_NS);
    }
    ck_assert_uint_eq(answer[1], a);
  }
  do_round(LATER_NS);
  ck_assert_uint_eq(streams_count(&streams), 1);
}

TEST(a_packet_that_is_begun_must_be_ended)
{
  SCOPED_FD int idle = -1;
  (void)meet("127.0.0.1", &idle, FRAMING_SLIP);
  SCOPED_FD int fd = connect_from("127.0.0.1");
  send_bytes(fd, framed[0], 11);
  ROUNDS_UNTIL(BEGIN_NS, streams.items[1].begun_ns);
  do_round(LATER_NS - 1U);
  ck_assert_uint_eq(streams_count(&streams), 2);
  do_round(LATER_NS);
  ck_assert_uint_eq(streams_count(&streams), 1); // an idle client may stay
  ck_assert_uint_eq(streams.slow, 1);
  ck_assert(is_cut(fd));
}

TEST(a_connection_is_not_read_while_its_packets_wait)
{
  SCOPED_FD int fd = connect_from("127.0.0.1");
  char many[1212];
  for (uint32_t p = 0; p < sizeof(many); p += 12) {
    memcpy(many + p, framed[0], 12);
  }
  size_t n_bytes = 0;
  for (uint32_t n_idle = 0; n_idle < 100; ++n_idle) {
    ssize_t n = 0;
    while ((n = send(fd, many + n_bytes % 12U, sizeof(many) - 12U, MSG_DONTWAIT)) > 0) {
      n_bytes += (size_t)n;
      n_idle = 0;
      ck_assert_uint_lt(n_bytes, 10000000); // TCP stops the client
    }
    do_round(BEGIN_NS);
  }
  ck_assert_uint_lt(senders.n_bytes, 16U * STREAM_QUEUE_BYTES);
  ck_assert_uint_gt(senders.n_packets, 0);
  ck_assert_int_eq(do_round(BEGIN_NS), 0); // does not spin
  for (size_t n_left = n_bytes / 12U; n_left > 0; --n_left) {
    Packet* packet = take_packet();
    if (!packet) {
      ROUNDS_UNTIL(BEGIN_NS, (packet = take_packet()));
    }
    free(packet);
  }
  ck_assert_uint_eq(senders.dropped, 0); // no packet is lost
}

TEST(small_packets_of_many_connections_do_not_make_a_round_long)
{
  int fds[STREAMS_PER_MACHINE];
  char many[16384];
  for (uint32_t b = 0; b < sizeof(many); ++b) {
    many[b] = b % 2U ? 'a' : '\xC0';
  }
  for (uint32_t c = 0; c < ARRAY_LEN(fds); ++c) {
    fds[c] = connect_from("127.0.0.1");
    ROUNDS_UNTIL(BEGIN_NS, streams_count(&streams) == c + 1U);
  }
  for (uint32_t c = 0; c < ARRAY_LEN(fds); ++c) {
    send_bytes(fds[c], many, sizeof(many));
  }
  for (uint64_t before = 0; streams.packets < ARRAY_LEN(fds) * 1000U; before = streams.packets) {
    ROUNDS_UNTIL(BEGIN_NS, streams.packets > before);
    ck_assert_uint_le(streams.packets - before, sizeof(many) / 2U);
  }
  for (uint32_t c = 0; c < ARRAY_LEN(fds); ++c) {
    close(fds[c]);
  }
}

TEST(a_sender_has_no_turn_while_there_is_no_room_for_its_answers)
{
  SCOPED_FD int fd = -1;
  static const char answer[8192];
  const Peer peer = meet("127.0.0.1", &fd, FRAMING_LENGTH);
  Peer udp = peer;
  udp.connection = 0;
  while (!streams_is_full(&streams, &peer)) {
    ck_assert(streams_send(&streams, &peer, answer, sizeof(answer)));
  }
  ck_assert(!streams_is_full(&streams, &udp));
  senders_put(&senders, &peer, BEGIN_NS, ping, 8);
  Sender* const sender = senders_turn(&senders);
  ck_assert_ptr_nonnull(sender);
  senders_hold(&senders, sender);
  ck_assert(!senders_are_waiting(&senders));
  ck_assert_ptr_null(senders_turn(&senders));
  streams_close_slow(&streams, &peer);
  ck_assert(!streams_is_full(&streams, &peer) && !streams_has(&streams, &peer));
  senders_release(&senders);
  ck_assert_ptr_eq(senders_turn(&senders), sender);
  senders_hold(&senders, sender); // senders_clear() frees the packet
}

TEST(garbage_ends_a_connection_and_no_other)
{
  SCOPED_FD int fd = -1;
  const Peer peer = meet("127.0.0.1", &fd, FRAMING_SLIP);
  static const char* const garbage[] = { "GET / HTTP/1.1\r\n", "\xC0\xDB\xC0", "\xFF" };
  for (uint32_t g = 0; g < ARRAY_LEN(garbage); ++g) {
    SCOPED_FD int other = connect_from("127.0.0.1");
    send_bytes(other, garbage[g], strlen(garbage[g]));
    ROUNDS_UNTIL(BEGIN_NS, streams.refused == g + 1U);
    ck_assert(is_cut(other));
  }
  ck_assert_uint_eq(n_closed, 3);
  ck_assert_uint_eq(streams.packets, 1);
  ck_assert(streams_send(&streams, &peer, ping, 8));
}

TEST(the_server_does_not_spin_while_it_has_no_files_for_a_connection)
{
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  SCOPED_FD int fd = connect_from("127.0.0.1");
  const struct rlimit none = { (rlim_t)fd + 1U, before.rlim_max };
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
  ROUNDS_UNTIL(BEGIN_NS, streams.accept_ns); // accept4() fails with EMFILE
  ck_assert_int_eq(do_round(BEGIN_NS), 0);   // ppoll(2) would wait
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
  const uint64_t later_ns = streams.accept_ns;
  ROUNDS_UNTIL(later_ns, streams_count(&streams) == 1);
  ck_assert_uint_eq(streams.refused, 0);
}

TEST(a_port_that_another_program_has_is_reported)
{
  const Peer taken = peer_bound(streams.listeners[0]);
  ck_assert_int_eq(streams_listen(&taken), -1);
  ck_assert_int_eq(errno, EADDRINUSE);
}

SUITE_MAIN_WITH("streams", begin, end)
