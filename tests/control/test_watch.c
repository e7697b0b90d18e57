// SPDX-License-Identifier: GPL-3.0-or-later
// The last messages are kept, the newest one first; repetitions are counted; texts are cut, and
// have no tabs.

#include "control/net/watch.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static Watch watch;

static Peer
peer_at(const uint16_t port)
{
  Peer peer = { .n_bytes = sizeof(struct sockaddr_in) };
  const struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  memcpy(&peer.address, &address, sizeof(address));
  return peer;
}

static void
note(const uint16_t port, const WatchVerdict verdict, const char* const address,
     const char* const reason)
{
  const Peer peer = peer_at(port);
  const WatchNote note = { verdict, address, SIZE_MAX, 1, reason };
  watch_note(&watch, SECOND_NS, &peer, &note);
}

/// The lines at this second; the caller frees them.
static char*
print(const uint64_t second)
{
  TextBuffer text = { .bytes = NULL };
  watch_print(&watch, second * SECOND_NS, &text);
  char* const lines = text_buffer_take(&text);
  ck_assert_ptr_nonnull(lines);
  return lines;
}

static void
assert_lines(const uint64_t second, const char* const expected)
{
  SCOPED_MEMORY char* const lines = print(second);
  ck_assert_str_eq(lines, expected);
}

static void
set_up(void)
{
  memset(&watch, 0, sizeof(watch));
}

static void
tear_down(void)
{
}

TEST(nothing_is_shown_before_the_first_message)
{
  assert_lines(1, "");
}

TEST(the_newest_message_comes_first)
{
  note(9001, WATCH_DONE, "/node/vol/gain", NULL);
  note(9002, WATCH_FAILED, "/node/voll/gain", "no node \"voll\"");
  assert_lines(3, "2.000\t127.0.0.1 9002\tfailed\t1\t1\t/node/voll/gain\tno node \"voll\"\n"
                  "2.000\t127.0.0.1 9001\tdone\t1\t1\t/node/vol/gain\t\n");
}

TEST(repetitions_of_a_sender_are_counted)
{
  for (uint32_t i = 0; i < 1000U; ++i) {
    note(9001, WATCH_DONE, "/node/vol/gain", NULL);
  }
  note(9002, WATCH_DONE, "/node/vol/gain", NULL);
  note(9001, WATCH_DONE, "/node/vol/gain", NULL);
  note(9001, WATCH_FAILED, "/node/vol/gain", NULL);
  note(9001, WATCH_FAILED, "/node/vol/gain", "why");
  note(9001, WATCH_FORBIDDEN, "/a", "no");
  note(9001, WATCH_FORBIDDEN, "/b", "no");
  assert_lines(1, "0.000\t127.0.0.1 9001\tforbidden\t2\t1\t/a\tno\n"
                  "0.000\t127.0.0.1 9001\tfailed\t1\t1\t/node/vol/gain\twhy\n"
                  "0.000\t127.0.0.1 9001\tfailed\t1\t1\t/node/vol/gain\t\n"
                  "0.000\t127.0.0.1 9001\tdone\t1\t1\t/node/vol/gain\t\n"
                  "0.000\t127.0.0.1 9002\tdone\t1\t1\t/node/vol/gain\t\n"
                  "0.000\t127.0.0.1 9001\tdone\t1000\t1\t/node/vol/gain\t\n");
}

TEST(the_last_messages_are_kept)
{
  char address[32];
  for (uint32_t i = 0; i < 3U * WATCH_ENTRIES; ++i) {
    snprintf(address, sizeof(address), "/a/%u", i);
    note(9001, WATCH_DONE, address, NULL);
  }
  SCOPED_MEMORY char* const lines = print(1);
  const char* at = lines;
  for (uint32_t i = 0; i < WATCH_ENTRIES; ++i) {
    snprintf(address, sizeof(address), "\t/a/%u\t", 3U * WATCH_ENTRIES - 1U - i);
    const char* const end = strchr(at, '\n');
    const char* const found = strstr(at, address);
    ck_assert_msg(end && found && found < end, "line %u: %s", i, at);
    at = end + 1;
  }
  ck_assert_str_eq(at, "");
}

TEST(texts_of_any_bytes_are_cut_and_printable)
{
  char longest[1000];
  memset(longest, 'x', sizeof(longest) - 1U);
  longest[sizeof(longest) - 1U] = '\0';
  note(9001, WATCH_REFUSED, longest, longest);
  const Peer peer = peer_at(9001);
  const WatchNote part = { WATCH_REFUSED, "/a\t\xFF\n/never", 5U, 7, "b\tc" };
  watch_note(&watch, SECOND_NS, &peer, &part);
  char expected[512];
  snprintf(expected, sizeof(expected),
           "0.000\t127.0.0.1 9001\trefused\t1\t7\t/a???\tb?c\n"
           "0.000\t127.0.0.1 9001\trefused\t1\t1\t%.*s\t%.*s\n",
           (int)WATCH_ADDRESS_BYTES - 1, longest, (int)WATCH_REASON_BYTES - 1, longest);
  assert_lines(1, expected);
}

SUITE_MAIN_WITH("watch", set_up, tear_down)
