// SPDX-License-Identifier: GPL-3.0-or-later
// The list of --osc-notify: names and addresses with ports, invalid lists.

#include "control/net/listeners.h"
#include "tests/support/peers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

TEST(a_list_names_hosts_and_ports)
{
  Listeners listeners = { .n = 0 };
  OK(listeners_read(&listeners, "192.0.2.7:9001,[2001:db8::7]:1,localhost:65535", &error));
  ck_assert_uint_eq(listeners.n, 3);
  const Peer ip4 = peer_of("192.0.2.7", 9001);
  const Peer ip6 = peer_of("2001:db8::7", 1);
  const Peer here = peer_of("127.0.0.1", 65535);
  ck_assert(peer_equal(&listeners.peers[0], &ip4));
  ck_assert(peer_equal(&listeners.peers[1], &ip6));
  ck_assert(peer_equal(&listeners.peers[2], &here));
}

TEST(a_bad_list_is_refused)
{
  static const char* const lists[] = {
    "",
    ",",
    "192.0.2.7",
    ":9001",
    "192.0.2.7:",
    "192.0.2.7:0",
    "192.0.2.7:65536",
    "192.0.2.7:-1",
    "192.0.2.7:9001x",
    "192.0.2.7:000001",
    "192.0.2.7:9001,",
    "2001:db8::7:9001",
    "[2001:db8::7]",
    "[2001:db8::7:9001",
    "2001:db8::7]:9001",
    "[]:9001",
    "[192.0.2.7]:9001",
    "[localhost]:9001",
  };
  for (uint32_t i = 0; i < ARRAY_LEN(lists); ++i) {
    Listeners listeners = { .n = 0 };
    Error error;
    ck_assert_msg(listeners_read(&listeners, lists[i], &error) == STATUS_BAD_ARG, "\"%s\"",
                  lists[i]);
    ck_assert_uint_gt(strlen(error.text), 0);
  }
  char text[1000];
  memset(text, 'a', sizeof(text));
  strcpy(text + sizeof(text) - 6U, ":9001");
  Listeners listeners = { .n = 0 };
  Error error;
  ck_assert_int_eq(listeners_read(&listeners, text, &error), STATUS_BAD_ARG);
}

TEST(a_name_without_an_address_is_named)
{
  Listeners listeners = { .n = 0 };
  Error error;
  ck_assert_int_eq(listeners_read(&listeners, "nowhere.invalid:9001", &error), STATUS_NET);
  assert_says(error.text, "no machine \"nowhere.invalid\"");
}

TEST(a_list_is_bounded)
{
  char list[LISTENERS_MAX * 16U + 32U] = "";
  for (uint32_t i = 0; i < LISTENERS_MAX; ++i) {
    snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s192.0.2.7:%u", i ? "," : "",
             1U + i);
  }
  Listeners listeners = { .n = 0 };
  OK(listeners_read(&listeners, list, &error));
  ck_assert_uint_eq(listeners.n, LISTENERS_MAX);
  strcat(list, ",192.0.2.7:99");
  listeners.n = 0;
  Error error;
  ck_assert_int_eq(listeners_read(&listeners, list, &error), STATUS_LIMIT);
}

SUITE_MAIN("listeners")
