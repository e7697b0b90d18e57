// SPDX-License-Identifier: GPL-3.0-or-later
// The gate names what is wrong with each bad packet and lets each good one through.  A hundred
// thousand mutated packets crash neither it nor the library behind it.

#include "support/signals.h"
#include "support/suite.h"

#include "../control/gate.h"
#include "../control/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In the packets below "~" is a zero byte.
#define NOW     UINT64_C(0xE8754C0000000000)
#define AT_ONCE "~~~~~~~\x01"
#define PAST    "\xE8\x75\x4B\x01~~~~"
#define IN_5_S  "\xE8\x75\x4C\x05~~~~"
#define IN_6_S  "\xE8\x75\x4C\x06~~~~"
#define IN_10_S "\xE8\x75\x4C\x0A~~~~"
#define IN_11_S "\xE8\x75\x4C\x0B~~~~"
#define BUNDLE  "#bundle~"
#define PING    "/ping~~~,~~~" // 12 bytes

typedef struct Packet {
  GateReason reason;
  size_t n_bytes;
  const char* bytes;
} Packet;

#define P(reason, bytes)                                                                           \
  {                                                                                                \
    reason, sizeof(bytes) - 1U, bytes                                                              \
  }

static const Packet good[] = {
  // Addresses
  P(GATE_OK, "/a~~,~~~"),
  P(GATE_OK, "/ab~,~~~"),
  P(GATE_OK, "/abc~~~~,~~~"),
  P(GATE_OK, "/server/ping~~~~,~~~"),
  P(GATE_OK, "/node/low-cut_2/gain~~~~,~~~"),
  P(GATE_OK, "/a!$%&'()+;<=>@^_`|~,~~~"),
  // Patterns
  P(GATE_OK, "/node/*/gain~~~~,~~~"),
  P(GATE_OK, "/node/?/gain~~~~,~~~"),
  P(GATE_OK, "/node/[a-c]/gain~~~~,~~~"),
  P(GATE_OK, "/n/[!x]~,~~~"),
  P(GATE_OK, "/n/{a,b}~~~~,~~~"),
  P(GATE_OK, "/n/{ab}[c]?*~~~~,~~~"),
  // Arguments
  P(GATE_OK, "/a~~,i~~\x01\x02\x03\x04"),
  P(GATE_OK, "/a~~,f~~\x3F\x80~~"),
  P(GATE_OK, "/a~~,f~~\x7F\xC0~~"),
  P(GATE_OK, "/a~~,h~~~~~~~~~\x01"),
  P(GATE_OK, "/a~~,d~~\x3F\xF0~~~~~~"),
  P(GATE_OK, "/a~~,t~~\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
  P(GATE_OK, "/a~~,s~~abc~"),
  P(GATE_OK, "/a~~,s~~abcd~~~~"),
  P(GATE_OK, "/a~~,s~~~~~~"),
  P(GATE_OK, "/a~~,s~~a\nb~"),
  P(GATE_OK, "/a~~,s~~\xC3\xA4~~"),
  P(GATE_OK, "/a~~,S~~abc~"),
  P(GATE_OK, "/a~~,b~~~~~~"),
  P(GATE_OK, "/a~~,b~~~~~\x03xyz~"),
  P(GATE_OK, "/a~~,b~~~~~\x04wxyz"),
  P(GATE_OK, "/a~~,c~~~~~x"),
  P(GATE_OK, "/a~~,m~~\x01\x90\x40\x40"),
  P(GATE_OK, "/a~~,TFNI~~~"),
  P(GATE_OK, "/a~~,sif~~~~abc~\x01\x02\x03\x04\x3F\x80~~"),
  // Bundles
  P(GATE_OK, BUNDLE AT_ONCE),
  P(GATE_OK, BUNDLE IN_5_S),
  P(GATE_OK, BUNDLE IN_10_S),
  P(GATE_OK, BUNDLE PAST),
  P(GATE_OK, BUNDLE AT_ONCE "~~~\x0C" PING),
  P(GATE_OK, BUNDLE AT_ONCE "~~~\x0C" PING "~~~\x0C" PING),
  P(GATE_OK, BUNDLE AT_ONCE "~~~\x10" BUNDLE AT_ONCE),
  P(GATE_OK, BUNDLE IN_5_S "~~~\x10" BUNDLE IN_6_S),
  P(GATE_OK, BUNDLE IN_5_S "~~~\x10" BUNDLE IN_5_S),
  P(GATE_OK, BUNDLE IN_5_S "~~~\x10" BUNDLE AT_ONCE),
};

static const Packet bad[] = {
  // The packet
  P(GATE_EMPTY, ""),
  P(GATE_SIZE, "/"),
  P(GATE_SIZE, "/a~~,~~"),
  P(GATE_SIZE, "/a~~,~~~~"),
  P(GATE_SIZE, "#bundle"),
  P(GATE_START, "~~~~"),
  P(GATE_START, "abc~,~~~"),
  P(GATE_START, ",~~~"),
  P(GATE_START, "#bun"),
  P(GATE_START, "#bundlf~" AT_ONCE),
  P(GATE_START, "#Bundle~" AT_ONCE),
  P(GATE_START, "\xFF\xFF\xFF\xFF"),
  // Addresses
  P(GATE_ADDRESS_OPEN, "/abc"),
  P(GATE_ADDRESS_OPEN, "/abcdefg"),
  P(GATE_ADDRESS_SLASH, "/~~~,~~~"),
  P(GATE_ADDRESS_SLASH, "/a/~,~~~"),
  P(GATE_ADDRESS_SLASH, "//a~,~~~"),
  P(GATE_ADDRESS_SLASH, "/node//gain~,~~~"),
  P(GATE_ADDRESS_SLASH, "/node/gain/~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/a b~~~~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/a#b~~~~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/a,b~~~~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/a\tb~~~~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/a\x7F~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/\xC3\xA4~,~~~"),
  P(GATE_ADDRESS_CHARACTER, "/{a b}~~,~~~"),
  P(GATE_PADDING, "/a~x,~~~"),
  P(GATE_PADDING, "/abc~~~x,~~~"),
  // Patterns
  P(GATE_PATTERN, "/[a~,~~~"),
  P(GATE_PATTERN, "/a]~,~~~"),
  P(GATE_PATTERN, "/{a~,~~~"),
  P(GATE_PATTERN, "/a}~,~~~"),
  P(GATE_PATTERN, "/[]~,~~~"),
  P(GATE_PATTERN, "/{}~,~~~"),
  P(GATE_PATTERN, "/[a}~~~~,~~~"),
  P(GATE_PATTERN, "/{a{b}}~,~~~"),
  P(GATE_PATTERN, "/[a[b]]~,~~~"),
  P(GATE_PATTERN, "/{a*}~~~,~~~"),
  P(GATE_PATTERN, "/{a/b}~~,~~~"),
  // Type tags
  P(GATE_NO_TYPES, "/a~~"),
  P(GATE_NO_TYPES, "/a~~~~~~"),
  P(GATE_NO_TYPES, "/a~~i~~~\x01\x01\x01\x01"),
  P(GATE_TYPES_OPEN, "/a~~,iii"),
  P(GATE_PADDING, "/a~~,~~x"),
  P(GATE_TYPE, "/a~~,x~~"),
  P(GATE_TYPE, "/a~~,[i]~~~~\x01\x01\x01\x01"),
  P(GATE_TYPE, "/a~~,r~~\x01\x01\x01\x01"),
  P(GATE_TYPE, "/a~~,\x80~~"),
  P(GATE_TYPE, "/a~~,,~~"),
  // Arguments
  P(GATE_ARGUMENT_SHORT, "/a~~,i~~"),
  P(GATE_ARGUMENT_SHORT, "/a~~,ii~\x01\x01\x01\x01"),
  P(GATE_ARGUMENT_SHORT, "/a~~,f~~"),
  P(GATE_ARGUMENT_SHORT, "/a~~,c~~"),
  P(GATE_ARGUMENT_SHORT, "/a~~,m~~"),
  P(GATE_ARGUMENT_SHORT, "/a~~,d~~\x01\x01\x01\x01"),
  P(GATE_ARGUMENT_SHORT, "/a~~,h~~\x01\x01\x01\x01"),
  P(GATE_ARGUMENT_SHORT, "/a~~,t~~\x01\x01\x01\x01"),
  P(GATE_ARGUMENT_SHORT, "/a~~,sb~hi~~"), // made liblo 0.31 read past its end
  P(GATE_STRING_OPEN, "/a~~,s~~"),
  P(GATE_STRING_OPEN, "/a~~,s~~abcd"),
  P(GATE_STRING_OPEN, "/a~~,ss~abc~"),
  P(GATE_STRING_CHARACTER, "/a~~,s~~a\x01~~"),
  P(GATE_STRING_CHARACTER, "/a~~,s~~a\x1B~~"),
  P(GATE_STRING_CHARACTER, "/a~~,s~~a\x7F~~"),
  P(GATE_PADDING, "/a~~,s~~a~~x"),
  P(GATE_BLOB, "/a~~,b~~~~~\x01"),
  P(GATE_BLOB, "/a~~,b~~~~~\x05wxyz"),
  P(GATE_BLOB, "/a~~,b~~\xFF\xFF\xFF\xFFwxyz"),
  P(GATE_BLOB, "/a~~,b~~\x7F\xFF\xFF\xFCwxyz"),
  P(GATE_PADDING, "/a~~,b~~~~~\x03xyzw"),
  P(GATE_TRAILING, "/a~~,~~~\x01\x01\x01\x01"),
  P(GATE_TRAILING, "/a~~,i~~\x01\x01\x01\x01\x01\x01\x01\x01"),
  P(GATE_TRAILING, "/a~~,s~~abc~~~~~"),
  // Bundles
  P(GATE_BUNDLE_SHORT, BUNDLE),
  P(GATE_BUNDLE_SHORT, BUNDLE "~~~~"),
  P(GATE_ELEMENT, BUNDLE AT_ONCE "~~~~"),
  P(GATE_ELEMENT, BUNDLE AT_ONCE "~~~\x04"),
  P(GATE_ELEMENT, BUNDLE AT_ONCE "~~~\x0B" PING),
  P(GATE_ELEMENT, BUNDLE AT_ONCE "~~~\x10" PING),
  P(GATE_ELEMENT, BUNDLE AT_ONCE "\xFF\xFF\xFF\xFC" PING),
  P(GATE_ELEMENT, BUNDLE AT_ONCE "\x80~~~" PING),
  P(GATE_ADDRESS_OPEN, BUNDLE AT_ONCE "~~~\x04" PING),
  P(GATE_NO_TYPES, BUNDLE AT_ONCE "~~~\x08" PING),
  P(GATE_START, BUNDLE AT_ONCE "~~~\x04~~~~"),
  P(GATE_BUNDLE_SHORT, BUNDLE AT_ONCE "~~~\x08" BUNDLE),
  P(GATE_TYPE, BUNDLE AT_ONCE "~~~\x0C" PING "~~~\x08/a~~,x~~"),
  // Times
  P(GATE_TIME_FAR, BUNDLE IN_11_S),
  P(GATE_TIME_FAR, BUNDLE AT_ONCE "~~~\x10" BUNDLE IN_11_S),
  P(GATE_TIME_ORDER, BUNDLE IN_6_S "~~~\x10" BUNDLE IN_5_S),
  P(GATE_TIME_ORDER, BUNDLE IN_5_S "~~~\x10" BUNDLE PAST),
};

/// The packet's bytes in memory of exactly their size, so that a sanitizer sees each step too far.
static uint8_t*
bytes_of(const Packet* const packet)
{
  uint8_t* const bytes = malloc(packet->n_bytes + !packet->n_bytes);
  for (size_t i = 0; i < packet->n_bytes; ++i) {
    bytes[i] = packet->bytes[i] == '~' ? 0 : (uint8_t)packet->bytes[i];
  }
  return bytes;
}

static GateReason
judge(const Packet* const packet)
{
  uint8_t* const bytes = bytes_of(packet);
  uint32_t n_messages = 0;
  const GateReason reason = gate_check(bytes, packet->n_bytes, NOW, &n_messages);
  free(bytes);
  return reason;
}

START_TEST(good_packets_pass_and_can_be_read)
{
  ck_assert_uint_ge(ARRAY_LEN(good), 30);
  const Peer peer = { .n_bytes = 0 };
  const Instant arrival = { NOW, 1000000000U };
  for (uint32_t i = 0; i < ARRAY_LEN(good); ++i) {
    const GateReason reason = judge(&good[i]);
    ck_assert_msg(reason == GATE_OK, "good packet %u: %s", i, gate_text(reason));
    uint8_t* const bytes = bytes_of(&good[i]);
    Batch* batch = NULL;
    ck_assert_msg(batches_read(bytes, good[i].n_bytes, &peer, &arrival, &batch) == STATUS_OK,
                  "good packet %u cannot be read", i);
    while (batch) {
      Batch* const next = batch->next;
      batch_free(batch);
      batch = next;
    }
    free(bytes);
  }
}
END_TEST

START_TEST(bad_packets_are_refused_for_the_right_reason)
{
  ck_assert_uint_ge(ARRAY_LEN(bad), 60);
  for (uint32_t i = 0; i < ARRAY_LEN(bad); ++i) {
    const GateReason reason = judge(&bad[i]);
    ck_assert_msg(reason == bad[i].reason, "bad packet %u (%s): %s", i, bad[i].bytes,
                  gate_text(reason));
  }
}
END_TEST

START_TEST(every_reason_has_words)
{
  for (uint32_t r = 0; r < GATE_N_REASONS; ++r) {
    ck_assert_ptr_nonnull(gate_text((GateReason)r));
    ck_assert_ptr_nonnull(gate_word((GateReason)r));
  }
}
END_TEST

static uint32_t
put_u32(uint8_t* const to, const uint32_t value)
{
  for (uint32_t i = 0; i < 4U; ++i) {
    to[i] = (uint8_t)(value >> (24U - 8U * i));
  }
  return 4U;
}

/// `depth` bundles inside each other, the innermost one empty.
static size_t
nest(uint8_t* const packet, const uint32_t depth)
{
  size_t n = 0;
  for (uint32_t d = 0; d < depth; ++d) {
    memcpy(packet + n, "#bundle\0\0\0\0\0\0\0\0\1", 16);
    n += 16U;
    if (d + 1U < depth) {
      n += put_u32(packet + n, (depth - d - 1U) * 20U - 4U);
    }
  }
  return n;
}

START_TEST(nested_bundles_are_bounded)
{
  static uint8_t packet[65504];
  uint32_t n_messages = 0;
  const size_t n_allowed = nest(packet, GATE_MAX_DEPTH);
  ck_assert_int_eq(gate_check(packet, n_allowed, NOW, &n_messages), GATE_OK);
  const size_t n_deeper = nest(packet, GATE_MAX_DEPTH + 1U);
  ck_assert_int_eq(gate_check(packet, n_deeper, NOW, &n_messages), GATE_DEPTH);
  const size_t n_hostile = nest(packet, 3249); // killed liblo 0.31 on a small stack
  ck_assert_int_eq(gate_check(packet, n_hostile, NOW, &n_messages), GATE_DEPTH);
}
END_TEST

/// A bundle of n pings.
static size_t
many_messages(uint8_t* const packet, const uint32_t n)
{
  memcpy(packet, "#bundle\0\0\0\0\0\0\0\0\1", 16);
  size_t at = 16U;
  for (uint32_t i = 0; i < n; ++i) {
    at += put_u32(packet + at, 12);
    memcpy(packet + at, "/ping\0\0\0,\0\0\0", 12);
    at += 12U;
  }
  return at;
}

START_TEST(sizes_and_counts_are_bounded_exactly)
{
  static uint8_t packet[70000];
  uint32_t n_messages = 0;
  const size_t n_most = many_messages(packet, GATE_MAX_MESSAGES);
  ck_assert_int_eq(gate_check(packet, n_most, NOW, &n_messages), GATE_OK);
  ck_assert_uint_eq(n_messages, GATE_MAX_MESSAGES);
  const size_t n_more = many_messages(packet, GATE_MAX_MESSAGES + 1U);
  ck_assert_int_eq(gate_check(packet, n_more, NOW, &n_messages), GATE_TOO_MANY_MESSAGES);
  ck_assert_int_eq(gate_check(packet, GATE_MAX_BYTES + 4U, NOW, &n_messages), GATE_TOO_LARGE);

  memset(packet, 0, sizeof(packet));
  memset(packet, 'a', GATE_MAX_ADDRESS);
  packet[0] = '/';
  packet[GATE_MAX_ADDRESS + 1U] = ',';
  ck_assert_int_eq(gate_check(packet, GATE_MAX_ADDRESS + 5U, NOW, &n_messages), GATE_OK);
  memset(packet, 'a', GATE_MAX_ADDRESS + 1U);
  packet[0] = '/';
  packet[GATE_MAX_ADDRESS + 1U] = 0;
  packet[GATE_MAX_ADDRESS + 5U] = ',';
  ck_assert_int_eq(gate_check(packet, GATE_MAX_ADDRESS + 9U, NOW, &n_messages), GATE_ADDRESS_LONG);

  memset(packet, 0, sizeof(packet));
  memcpy(packet, "/a\0\0,", 5);
  memset(packet + 5, 'T', GATE_MAX_ARGUMENTS + 1U);
  ck_assert_int_eq(gate_check(packet, 8U + GATE_MAX_ARGUMENTS, NOW, &n_messages),
                   GATE_TOO_MANY_ARGUMENTS);
  packet[5U + GATE_MAX_ARGUMENTS] = 0;
  ck_assert_int_eq(gate_check(packet, 8U + GATE_MAX_ARGUMENTS, NOW, &n_messages), GATE_OK);
}
END_TEST

START_TEST(a_time_tag_is_right_across_the_end_of_the_era)
{
  // 2036-02-07: the seconds of an NTP time tag wrap around.
  uint8_t packet[16] = "#bundle";
  const uint64_t now = UINT64_C(0xFFFFFFFE00000000);
  uint32_t n_messages = 0;
  put_u32(packet + 8, 2); // 4 s ahead
  put_u32(packet + 12, 0);
  ck_assert_int_eq(gate_check(packet, 16, now, &n_messages), GATE_OK);
  put_u32(packet + 8, 0x0000000A); // 12 s ahead
  ck_assert_int_eq(gate_check(packet, 16, now, &n_messages), GATE_TIME_FAR);
}
END_TEST

/// Change a few bytes, or the length.
static size_t
mutate(uint8_t* const bytes, size_t n_bytes, const uint64_t seed)
{
  uint64_t random = seed;
  const uint32_t n_changes = 1U + (uint32_t)(seed % 4U);
  for (uint32_t c = 0; c < n_changes && n_bytes; ++c) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const size_t at = (size_t)(random >> 33U) % n_bytes;
    static const uint8_t interesting[] = { 0, 1, ',', '/', '#', 0x7F, 0x80, 0xFF, 's', 'b', 4 };
    bytes[at] =
        random & 1U ? (uint8_t)(random >> 20U) : interesting[(random >> 20U) % sizeof(interesting)];
    n_bytes -= random % 16U == 0 && n_bytes > 4U ? 4U : 0U;
  }
  return n_bytes;
}

START_TEST(mutated_packets_never_crash)
{
  const Peer peer = { .n_bytes = 0 };
  const Instant arrival = { NOW, 1000000000U };
  uint32_t n_passed = 0;
  for (uint64_t seed = 0; seed < 100000; ++seed) {
    const Packet* const origin = &good[seed % ARRAY_LEN(good)];
    uint8_t* const scratch = bytes_of(origin);
    const size_t n_bytes = mutate(scratch, origin->n_bytes, seed + 1U);
    uint8_t* const exact = malloc(n_bytes + !n_bytes);
    memcpy(exact, scratch, n_bytes);
    uint32_t n_messages = 0;
    if (gate_check(exact, n_bytes, NOW, &n_messages) == GATE_OK) {
      Batch* batch = NULL;
      ck_assert_msg(batches_read(exact, n_bytes, &peer, &arrival, &batch) == STATUS_OK,
                    "passed the gate, but cannot be read: seed %lu", (unsigned long)seed);
      ++n_passed;
      while (batch) {
        Batch* const next = batch->next;
        batch_free(batch);
        batch = next;
      }
    }
    free(exact);
    free(scratch);
  }
  ck_assert_uint_gt(n_passed, 1000); // else the mutations are too wild to test anything
  ck_assert_uint_lt(n_passed, 60000);
}
END_TEST

SUITE_MAIN("osc_gate", good_packets_pass_and_can_be_read,
           bad_packets_are_refused_for_the_right_reason, every_reason_has_words,
           nested_bundles_are_bounded, sizes_and_counts_are_bounded_exactly,
           a_time_tag_is_right_across_the_end_of_the_era, mutated_packets_never_crash)
