// SPDX-License-Identifier: GPL-3.0-or-later
// Datagrams keep their order.  Messages of a group to one peer share a datagram while no other one
// comes between and the limit of its size allows it.

#include "control/net/outbox.h"
#include "tests/support/peers.h"
#include "tests/support/suite.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static Outbox* outbox;
static int pair[2];
static uint64_t n_sent, n_failed;
static char packet[70000]; ///< The last one received

static void
start(void)
{
  const int room = 4 << 20;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  (void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  outbox = outbox_new();
  n_sent = n_failed = 0;
}

static void
stop(void)
{
  outbox_free(outbox);
  close(pair[0]);
  close(pair[1]);
}

/// A peer whose packets go to the other end of the pair.
static Peer
peer_with(const uint16_t port)
{
  Peer peer = peer_of("127.0.0.1", port);
  peer.n_bytes = 0;
  peer.local.s6_addr[15] = (uint8_t)port; // what makes it another one
  return peer;
}

/// Send a message of 8 bytes as part of a group, as outlet.c does.
static bool
put(const uint16_t port, const uint64_t group, const char* const message)
{
  const Peer peer = peer_with(port);
  char bytes[8] = "";
  memcpy(bytes, message, strlen(message));
  if (outbox_can_extend(outbox, &peer, group, sizeof(bytes))) {
    outbox_extend(outbox, bytes, sizeof(bytes));
    return true;
  }
  return outbox_add(outbox, &peer, pair[0], group, bytes, sizeof(bytes));
}

static size_t
receive(void)
{
  const ssize_t n = recv(pair[1], packet, sizeof(packet), MSG_DONTWAIT);
  return n > 0 ? (size_t)n : 0U;
}

TEST(a_group_is_one_bundle_and_others_keep_the_order)
{
  start();
  put(1, 0, "/a");
  put(1, 5, "/b");
  put(1, 5, "/c");
  put(2, 5, "/d"); // another peer
  put(1, 5, "/e");
  put(1, 0, "/f");
  outbox_send(outbox, &n_sent, &n_failed);
  ck_assert_uint_eq(n_sent, 6);
  ck_assert_uint_eq(n_failed, 0);
  ck_assert_uint_eq(receive(), 8);
  ck_assert_str_eq(packet, "/a");
  ck_assert_uint_eq(receive(), 16U + 2U * 12U);
  ck_assert_mem_eq(packet, "#bundle\0\0\0\0\0\0\0\0\1\0\0\0\x08/b\0\0\0\0\0\0\0\0\0\x08/c", 35);
  for (const char* expected = "def"; *expected; ++expected) {
    ck_assert_uint_eq(receive(), 8);
    ck_assert_int_eq(packet[1], *expected);
  }
  ck_assert_uint_eq(receive(), 0);
  stop();
}

TEST(a_bundle_is_not_larger_than_its_limit)
{
  start();
  const uint32_t n_in_one = (OUTBOX_BUNDLE_BYTES - 16U) / 12U;
  for (uint32_t n = 0; n < n_in_one + 1U; ++n) {
    ck_assert(put(1, 5, "/a"));
  }
  outbox_send(outbox, &n_sent, &n_failed);
  ck_assert_uint_eq(receive(), 16U + 12U * n_in_one);
  ck_assert_uint_eq(receive(), 8);
  stop();
}

TEST(a_full_outbox_takes_nothing_until_it_is_sent)
{
  static char large[OUTBOX_MAX_BYTES];
  start();
  const Peer peer = peer_with(1);
  for (uint32_t round = 0; round < 2U; ++round) {
    ck_assert(outbox_add(outbox, &peer, pair[0], 0, large, sizeof(large)));
    while (outbox_add(outbox, &peer, pair[0], 0, large, 60000)) {
    }
    outbox_send(outbox, &n_sent, &n_failed);
    ck_assert_uint_eq(n_failed, 0);
    ck_assert_uint_eq(receive(), sizeof(large));
    while (receive()) {
    }
  }
  stop();
}

TEST(a_datagram_that_the_kernel_refuses_is_counted_and_the_others_are_sent)
{
  start();
  put(1, 0, "/a");
  const Peer peer = peer_with(1);
  ck_assert(outbox_add(outbox, &peer, -1, 0, "/b\0", 4)); // no socket
  ck_assert(outbox_add(outbox, &peer, pair[1], 0, "/c\0", 4));
  put(1, 0, "/d");
  outbox_send(outbox, &n_sent, &n_failed);
  ck_assert_uint_eq(n_sent, 3);
  ck_assert_uint_eq(n_failed, 1);
  ck_assert_uint_eq(receive(), 8);
  ck_assert_uint_eq(receive(), 8);
  ck_assert_str_eq(packet, "/d");
  stop();
}

SUITE_MAIN("outbox")
