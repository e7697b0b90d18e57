// SPDX-License-Identifier: GPL-3.0-or-later
// The list of senders that are allowed: addresses and networks, IPv4 inside IPv6, this machine,
// invalid lists.

#include "control/net/allow.h"
#include "tests/support/peers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static bool
may(const char* const list, const char* const address)
{
  Allow allow = { .n_rules = 0 };
  OK(allow_read(&allow, list, &error));
  const Peer peer = peer_of(address, 1);
  return allow_has(&allow, &peer);
}

TEST(a_list_names_addresses_and_networks)
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
  ck_assert(may("::/0", "198.51.100.1")); // as ::ffff:198.51.100.1
}

TEST(an_ip4_address_is_the_same_inside_ip6)
{
  ck_assert(may("192.0.2.7", "::ffff:192.0.2.7"));
  ck_assert(may("::ffff:192.0.2.7", "192.0.2.7"));
  ck_assert(may("192.0.2.0/24", "::ffff:192.0.2.200"));
  ck_assert(!may("192.0.2.0/24", "::ffff:192.0.3.200"));
  ck_assert(!may("192.0.2.7", "::192.0.2.7")); // a deprecated form, not the same address
}

TEST(this_machine_is_always_allowed)
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

TEST(a_bad_list_is_refused)
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

TEST(a_list_is_bounded_and_has_room_for_this_machine)
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

SUITE_MAIN("allow")
