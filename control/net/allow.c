// SPDX-License-Identifier: GPL-3.0-or-later
// A list of address prefixes.  IPv4 addresses are stored as IPv4-mapped IPv6 addresses.

#include "allow.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORD  64U // longer than any ADDRESS/BITS
#define IP4_START 96U // bits before a mapped IPv4 address

static bool
has_prefix(const uint8_t* const address, const AllowRule* const rule)
{
  const uint32_t n_whole = rule->n_bits / 8U;
  const uint32_t n_rest = rule->n_bits % 8U;
  const uint8_t mask = (uint8_t)(0xFF00U >> n_rest);
  return memcmp(address, rule->address, n_whole) == 0 &&
         (n_rest == 0 || ((address[n_whole] ^ rule->address[n_whole]) & mask) == 0);
}

/// True if all bits after the first n_bits are 0.
static bool
is_network(const AllowRule* const rule)
{
  for (uint32_t bit = rule->n_bits; bit < 128U; ++bit) {
    if (rule->address[bit / 8U] >> (7U - bit % 8U) & 1U) {
      return false;
    }
  }
  return true;
}

static bool
read_address(const char* const word, AllowRule* const rule, uint32_t* const first_bit)
{
  Peer peer = { .n_bytes = 0 };
  struct sockaddr_in* const ip4 = (struct sockaddr_in*)&peer.address;
  struct sockaddr_in6* const ip6 = (struct sockaddr_in6*)&peer.address;
  *first_bit = 0;
  if (inet_pton(AF_INET, word, &ip4->sin_addr) == 1) {
    ip4->sin_family = AF_INET;
    *first_bit = IP4_START;
  } else if (inet_pton(AF_INET6, word, &ip6->sin6_addr) == 1) {
    ip6->sin6_family = AF_INET6;
  } else {
    return false;
  }
  const PeerKey key = peer_key(&peer);
  memcpy(rule->address, key.address, sizeof(rule->address));
  return true;
}

/// Read the number after the "/".  Returns false if it is not a number in [0, max].
static bool
read_bits(const char* const text, const uint32_t max, uint32_t* const n_bits)
{
  const size_t length = strspn(text, "0123456789");
  *n_bits = (uint32_t)strtoul(text, NULL, 10);
  return length > 0 && length < 4U && !text[length] && *n_bits <= max;
}

static Status
add_rule(Allow* const allow, char* const word, Error* const error)
{
  char* const slash = strchr(word, '/');
  AllowRule rule = { .n_bits = 128 };
  uint32_t first_bit = 0;
  uint32_t n_bits = 0;
  if (slash) {
    *slash = '\0';
  }
  if (!read_address(word, &rule, &first_bit)) {
    return error_set(error, STATUS_BAD_ARG, "\"%.60s\" is not a numeric IP address", word);
  }
  if (slash) {
    if (!read_bits(slash + 1, 128U - first_bit, &n_bits)) {
      return error_set(error, STATUS_BAD_ARG, "%.60s: after the \"/\" comes a number from 0 to %u",
                       word, 128U - first_bit);
    }
    rule.n_bits = (uint8_t)(first_bit + n_bits);
  }
  if (!is_network(&rule)) {
    return error_set(error, STATUS_BAD_ARG,
                     "%.60s/%u is not a network: bits behind the first %u are set", word, n_bits,
                     n_bits);
  }
  if (allow->n_rules == ALLOW_MAX) {
    return error_set(error, STATUS_LIMIT, "more than %u addresses", ALLOW_MAX);
  }
  allow->rules[allow->n_rules++] = rule;
  return STATUS_OK;
}

Status
allow_read(Allow* const allow, const char* const text, Error* const error)
{
  const char* at = text;
  for (;;) {
    const size_t length = strcspn(at, ",");
    char word[MAX_WORD] = "";
    memcpy(word, at, length < MAX_WORD ? length : MAX_WORD - 1U);
    const Status status = add_rule(allow, word, error);
    if (status != STATUS_OK || !at[length]) {
      return status;
    }
    at += length + 1U;
  }
}

void
allow_add(Allow* const allow, const Peer* const peer)
{
  const PeerKey key = peer_key(peer);
  AllowRule* const rule = &allow->rules[allow->n_rules];
  memcpy(rule->address, key.address, sizeof(rule->address));
  rule->n_bits = 128;
  ++allow->n_rules;
}

/// True for 0.0.0.0/0 and ::/0.
static bool
is_everybody(const AllowRule* const rule)
{
  static const AllowRule ip4 = { .address = { [10] = 0xFF, [11] = 0xFF }, .n_bits = IP4_START };
  return rule->n_bits == 0U || (rule->n_bits == IP4_START && has_prefix(rule->address, &ip4));
}

/// True if a rule, or one that names addresses, has the peer.
static bool
has_rule(const Allow* const allow, const Peer* const peer, const bool must_name)
{
  const PeerKey key = peer_key(peer);
  for (uint32_t r = 0; r < allow->n_rules && key.is_ip; ++r) {
    const AllowRule* const rule = &allow->rules[r];
    if (has_prefix(key.address, rule) && !(must_name && is_everybody(rule))) {
      return true;
    }
  }
  return false;
}

bool
allow_has(const Allow* const allow, const Peer* const peer)
{
  return peer_is_loopback(peer) || has_rule(allow, peer, false);
}

bool
allow_names(const Allow* const allow, const Peer* const peer)
{
  return peer_is_loopback(peer) || has_rule(allow, peer, true);
}
