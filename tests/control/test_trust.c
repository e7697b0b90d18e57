// SPDX-License-Identifier: GPL-3.0-or-later
// Proofs of addresses: the hash, cookies and their time, leases, the size of the table.

#include "control/net/trust.h"
#include "tests/support/peers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static Trust trust;

static void
start(void)
{
  memset(&trust, 0, sizeof(trust));
  ck_assert(trust_init(&trust));
}

/// The test vectors of the authors: key 00 01 .. 0f, text 00 01 .. of each length.
TEST(the_hash_is_siphash)
{
  static const uint64_t expected[] = {
    UINT64_C(0x726FDB47DD0E0E31), UINT64_C(0x74F839C593DC67FD), UINT64_C(0x0D6C8009D9A94F5A),
    UINT64_C(0x85676696D7FB7E2D), UINT64_C(0xCF2794E0277187B7), UINT64_C(0x18765564CD99A68D),
    UINT64_C(0xCBC9466E58FEE3CE), UINT64_C(0xAB0200F58B01D137), UINT64_C(0x93F5F5799A932462),
  };
  uint8_t key[SIPHASH_KEY_BYTES];
  uint8_t text[16];
  for (uint8_t i = 0; i < sizeof(text); ++i) {
    key[i] = text[i] = i;
  }
  for (uint32_t n = 0; n < ARRAY_LEN(expected); ++n) {
    ck_assert_uint_eq(siphash(key, text, n), expected[n]);
  }
  ck_assert_uint_eq(siphash(key, text, 15), UINT64_C(0xA129CA6149BE45E5)); // appendix A
}

TEST(a_cookie_is_of_one_host_and_one_server)
{
  start();
  char cookie[TRUST_COOKIE_BYTES];
  const Peer host = peer_of("192.0.2.7", 9000);
  const Peer port = peer_of("192.0.2.7", 9001);
  const Peer mapped = peer_of("::ffff:192.0.2.7", 9000);
  const Peer other = peer_of("192.0.2.8", 9000);
  Peer scoped = peer_of("fe80::7", 9000);
  const Peer unscoped = scoped;
  ((struct sockaddr_in6*)&scoped.address)->sin6_scope_id = 2;
  trust_print_cookie(&trust, &host, 0, cookie);
  ck_assert_uint_eq(strlen(cookie), TRUST_COOKIE_BYTES - 1U);
  ck_assert(trust_is_cookie(&trust, &host, 0, cookie));
  ck_assert(trust_is_cookie(&trust, &port, 0, cookie));
  ck_assert(trust_is_cookie(&trust, &mapped, 0, cookie));
  ck_assert(!trust_is_cookie(&trust, &other, 0, cookie));
  trust_print_cookie(&trust, &scoped, 0, cookie);
  ck_assert(!trust_is_cookie(&trust, &unscoped, 0, cookie)); // the same address on another network
  Trust second;
  ck_assert(trust_init(&second));
  ck_assert(!trust_is_cookie(&second, &scoped, 0, cookie));
}

TEST(a_cookie_is_valid_for_two_epochs)
{
  start();
  const Peer host = peer_of("192.0.2.7", 9000);
  char cookie[TRUST_COOKIE_BYTES];
  const uint64_t epoch_ns = 5U * TRUST_EPOCH_NS;
  trust_print_cookie(&trust, &host, epoch_ns, cookie);
  ck_assert(trust_is_cookie(&trust, &host, epoch_ns + 2U * TRUST_EPOCH_NS - 1U, cookie));
  ck_assert(!trust_is_cookie(&trust, &host, epoch_ns + 2U * TRUST_EPOCH_NS, cookie));
  ck_assert(!trust_is_cookie(&trust, &host, epoch_ns - 1U, cookie)); // of a time to come
}

TEST(a_wrong_cookie_is_refused)
{
  start();
  const Peer host = peer_of("192.0.2.7", 9000);
  char cookie[TRUST_COOKIE_BYTES];
  trust_print_cookie(&trust, &host, 0, cookie);
  char wrong[TRUST_COOKIE_BYTES + 1U];
  for (uint32_t digit = 0; digit < TRUST_COOKIE_BYTES - 1U; ++digit) {
    strcpy(wrong, cookie);
    wrong[digit] = wrong[digit] == '0' ? '1' : '0';
    ck_assert_msg(!trust_is_cookie(&trust, &host, 0, wrong), "%s for %s", wrong, cookie);
  }
  static const char* const texts[] = {
    "", "0", "0x00000000000000", "                ", "-000000000000001", "xxxxxxxxxxxxxxxx"
  };
  for (uint32_t i = 0; i < ARRAY_LEN(texts); ++i) {
    ck_assert_msg(!trust_is_cookie(&trust, &host, 0, texts[i]), "\"%s\"", texts[i]);
  }
  snprintf(wrong, sizeof(wrong), "%s0", cookie);
  ck_assert(!trust_is_cookie(&trust, &host, 0, wrong));
  snprintf(wrong, sizeof(wrong), "%.15s", cookie);
  ck_assert(!trust_is_cookie(&trust, &host, 0, wrong));
}

TEST(packets_extend_a_lease_and_cannot_begin_one)
{
  start();
  const Peer host = peer_of("192.0.2.7", 9000);
  const Peer port = peer_of("192.0.2.7", 9001);
  const Peer other = peer_of("192.0.2.8", 9000);
  ck_assert(!trust_has(&trust, &host));
  ck_assert(trust_begin(&trust, &host, TRUST_LEASE_NS));
  ck_assert(trust_has(&trust, &port));
  trust_renew(&trust, &other, 1);
  ck_assert(!trust_has(&trust, &other));
  trust_renew(&trust, &port, 10);
  trust_expire(&trust, TRUST_LEASE_NS + 9U);
  ck_assert(trust_has(&trust, &host));
  trust_expire(&trust, TRUST_LEASE_NS + 10U);
  ck_assert(!trust_has(&trust, &host));
  trust_renew(&trust, &host, TRUST_LEASE_NS + 11U);
  ck_assert(!trust_has(&trust, &host));
}

TEST(a_lease_without_an_end_stays)
{
  start();
  const Peer host = peer_of("192.0.2.7", 9000);
  const Peer other = peer_of("192.0.2.8", 9000);
  ck_assert(trust_begin(&trust, &other, TRUST_LEASE_NS));
  ck_assert(trust_begin(&trust, &host, UINT64_MAX));
  ck_assert(trust_begin(&trust, &host, TRUST_LEASE_NS));
  trust_renew(&trust, &host, 1);
  trust_expire(&trust, UINT64_MAX - 1U);
  ck_assert(trust_has(&trust, &host));
  ck_assert(!trust_has(&trust, &other));
  ck_assert_uint_eq(trust.n_hosts, 1);
}

TEST(a_full_table_takes_no_more_hosts_until_a_lease_ends)
{
  start();
  char address[32];
  for (uint32_t h = 0; h <= TRUST_MAX_HOSTS; ++h) {
    snprintf(address, sizeof(address), "192.0.2.%u", h);
    const Peer host = peer_of(address, 9000);
    ck_assert_int_eq(trust_begin(&trust, &host, 1U + h), h < TRUST_MAX_HOSTS);
  }
  const Peer more = peer_of("198.51.100.1", 9000);
  ck_assert(!trust_begin(&trust, &more, 9));
  const Peer known = peer_of("192.0.2.5", 9000);
  ck_assert(trust_begin(&trust, &known, 9));
  trust_expire(&trust, 1);
  ck_assert_uint_eq(trust.n_hosts, TRUST_MAX_HOSTS - 1U);
  ck_assert(trust_begin(&trust, &more, 9));
}

TEST(a_machine_has_the_proofs_of_8_addresses_of_ip6_but_each_needs_its_own)
{
  start();
  char address[40];
  for (uint32_t h = 1; h <= 20U; ++h) {
    snprintf(address, sizeof(address), "2001:db8::%u", h);
    const Peer host = peer_of(address, 9000);
    ck_assert(!trust_has(&trust, &host));
    ck_assert_int_eq(trust_begin(&trust, &host, 9), h <= TRUST_PER_MACHINE);
  }
  const Peer known = peer_of("2001:db8::1", 9001);
  const Peer fixed = peer_of("2001:db8::f00d", 9000); // of --osc-notify
  const Peer other = peer_of("2001:db8:0:1::1", 9000);
  ck_assert(trust_begin(&trust, &known, 9));
  ck_assert(trust_begin(&trust, &fixed, UINT64_MAX));
  ck_assert(trust_begin(&trust, &other, 9));
}

SUITE_MAIN("trust")
