// SPDX-License-Identifier: GPL-3.0-or-later
// packet_check() accepts each good packet of data/packets.txt, and refuses each bad one with the
// expected reason.  It also refuses good packets that are cut short.  100,000 mutated packets crash
// neither packet_check() nor the code that reads packets behind it.

#include "control/net/packet_check.h"
#include "control/net/message.h"
#include "tests/support/osc_corpus.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW UINT64_C(0xE8754C0000000000)

static OscCorpus
read_corpus(void)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/packets.txt", getenv("WARPRACK_TEST_DATA"));
  return osc_corpus_read(path, NOW);
}

static bool
can_be_read(const uint8_t* const bytes, const size_t n_bytes)
{
  const Peer peer = { .n_bytes = 0 };
  const Instant arrival = { NOW, 1000000000U };
  Bundle* bundle = NULL;
  const Status status = bundles_read(bytes, n_bytes, &peer, &arrival, &bundle);
  while (bundle) {
    Bundle* const next = bundle->next;
    bundle_free(bundle);
    bundle = next;
  }
  return status == STATUS_OK;
}

TEST(every_packet_gets_the_expected_verdict)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus();
  uint32_t n_of[PACKET_N_FAULTS] = { 0 };
  for (uint32_t i = 0; i < corpus.n; ++i) {
    const OscPacket* const packet = &corpus.packets[i];
    uint32_t n_messages = 0;
    const PacketFault reason = packet_check(packet->bytes, packet->n_bytes, NOW, &n_messages);
    ck_assert_msg(reason == packet->reason, "packets.txt:%u: %s, not %s", packet->line,
                  packet_fault_word(reason), packet_fault_word(packet->reason));
    ck_assert_msg(reason != PACKET_OK || can_be_read(packet->bytes, packet->n_bytes),
                  "packets.txt:%u passed packet_check(), but cannot be read", packet->line);
    ++n_of[reason];
  }
  ck_assert_uint_ge(n_of[PACKET_OK], 50);
  ck_assert_uint_ge(corpus.n - n_of[PACKET_OK], 200);
  for (int reason = 0; reason < PACKET_N_FAULTS; ++reason) {
    ck_assert_msg(n_of[reason] > 0, "packets.txt has no packet for the reason \"%s\"",
                  packet_fault_word((PacketFault)reason));
  }
}

TEST(no_two_packets_are_the_same)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus();
  for (uint32_t i = 0; i < corpus.n; ++i) {
    for (uint32_t k = 0; k < i; ++k) {
      const OscPacket* const a = &corpus.packets[i];
      const OscPacket* const b = &corpus.packets[k];
      ck_assert_msg(a->n_bytes != b->n_bytes || memcmp(a->bytes, b->bytes, a->n_bytes) != 0,
                    "lines %u and %u of packets.txt are the same packet", b->line, a->line);
    }
  }
}

/// A prefix of a good packet is not a good packet, except for a bundle that is cut between two of
/// its elements.
TEST(a_good_packet_that_is_cut_short_is_refused)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus();
  for (uint32_t i = 0; i < corpus.n; ++i) {
    const OscPacket* const packet = &corpus.packets[i];
    if (packet->reason != PACKET_OK || packet->n_bytes > 2000U) {
      continue;
    }
    for (size_t n_bytes = 0; n_bytes < packet->n_bytes; ++n_bytes) {
      SCOPED_MEMORY uint8_t* const cut =
          malloc(n_bytes + !n_bytes); // exactly this size, so that a sanitizer finds overruns
      memcpy(cut, packet->bytes, n_bytes);
      uint32_t n_messages = 0;
      const PacketFault reason = packet_check(cut, n_bytes, NOW, &n_messages);
      ck_assert_msg(reason != PACKET_OK || (cut[0] == '#' && can_be_read(cut, n_bytes)),
                    "packets.txt:%u was accepted with %zu of its %zu bytes", packet->line, n_bytes,
                    packet->n_bytes);
    }
  }
}

TEST(every_reason_has_a_text)
{
  for (uint32_t r = 0; r < PACKET_N_FAULTS; ++r) {
    ck_assert_ptr_nonnull(packet_fault_text((PacketFault)r));
    ck_assert_ptr_nonnull(packet_fault_word((PacketFault)r));
  }
}

static uint32_t
put_u32(uint8_t* const to, const uint32_t value)
{
  for (uint32_t i = 0; i < 4U; ++i) {
    to[i] = (uint8_t)(value >> (24U - 8U * i));
  }
  return 4U;
}

/// Write `depth` nested bundles, the innermost one empty.  Returns the size.
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

TEST(nested_bundles_are_bounded)
{
  static uint8_t packet[65504];
  uint32_t n_messages = 0;
  const size_t n_allowed = nest(packet, PACKET_MAX_DEPTH);
  ck_assert_int_eq(packet_check(packet, n_allowed, NOW, &n_messages), PACKET_OK);
  const size_t n_deeper = nest(packet, PACKET_MAX_DEPTH + 1U);
  ck_assert_int_eq(packet_check(packet, n_deeper, NOW, &n_messages), PACKET_DEPTH);
  const size_t n_hostile = nest(packet, 3249); // crashes liblo 0.31 on a small stack
  ck_assert_int_eq(packet_check(packet, n_hostile, NOW, &n_messages), PACKET_DEPTH);
}

/// Write a bundle of n messages.  Returns the size.
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

TEST(sizes_and_counts_are_bounded_exactly)
{
  static uint8_t packet[70000];
  uint32_t n_messages = 0;
  const size_t n_most = many_messages(packet, PACKET_MAX_MESSAGES);
  ck_assert_int_eq(packet_check(packet, n_most, NOW, &n_messages), PACKET_OK);
  ck_assert_uint_eq(n_messages, PACKET_MAX_MESSAGES);
  const size_t n_more = many_messages(packet, PACKET_MAX_MESSAGES + 1U);
  ck_assert_int_eq(packet_check(packet, n_more, NOW, &n_messages), PACKET_TOO_MANY_MESSAGES);
  ck_assert_int_eq(packet_check(packet, PACKET_MAX_BYTES + 4U, NOW, &n_messages), PACKET_TOO_LARGE);

  memset(packet, 0, sizeof(packet));
  memset(packet, 'a', PACKET_MAX_ADDRESS);
  packet[0] = '/';
  packet[PACKET_MAX_ADDRESS + 1U] = ',';
  ck_assert_int_eq(packet_check(packet, PACKET_MAX_ADDRESS + 5U, NOW, &n_messages), PACKET_OK);
  memset(packet, 'a', PACKET_MAX_ADDRESS + 1U);
  packet[0] = '/';
  packet[PACKET_MAX_ADDRESS + 1U] = 0;
  packet[PACKET_MAX_ADDRESS + 5U] = ',';
  ck_assert_int_eq(packet_check(packet, PACKET_MAX_ADDRESS + 9U, NOW, &n_messages),
                   PACKET_ADDRESS_LONG);

  memset(packet, 0, sizeof(packet));
  memcpy(packet, "/a\0\0,", 5);
  memset(packet + 5, 'T', PACKET_MAX_ARGUMENTS + 1U);
  ck_assert_int_eq(packet_check(packet, 8U + PACKET_MAX_ARGUMENTS, NOW, &n_messages),
                   PACKET_TOO_MANY_ARGUMENTS);
  packet[5U + PACKET_MAX_ARGUMENTS] = 0;
  ck_assert_int_eq(packet_check(packet, 8U + PACKET_MAX_ARGUMENTS, NOW, &n_messages), PACKET_OK);
}

TEST(a_time_tag_is_right_across_the_end_of_the_era)
{
  // 2036-02-07: the seconds of an NTP time tag wrap around.
  uint8_t packet[16] = "#bundle";
  const uint64_t now = UINT64_C(0xFFFFFFFE00000000);
  uint32_t n_messages = 0;
  put_u32(packet + 8, 2); // 4 s ahead
  put_u32(packet + 12, 0);
  ck_assert_int_eq(packet_check(packet, 16, now, &n_messages), PACKET_OK);
  put_u32(packet + 8, 0x0000000A); // 12 s ahead
  ck_assert_int_eq(packet_check(packet, 16, now, &n_messages), PACKET_TIME_FAR);
}

/// Change up to four bytes, and sometimes the length.  Returns the length.
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

TEST(mutated_packets_never_crash)
{
  SCOPED(osc_corpus_clear) OscCorpus corpus = read_corpus();
  uint32_t n_passed = 0;
  for (uint64_t seed = 0; seed < 100000; ++seed) {
    const OscPacket* const origin = &corpus.packets[seed % corpus.n];
    if (origin->n_bytes > 2000U) {
      continue; // too large: a few changes would rarely reach an interesting byte
    }
    SCOPED_MEMORY uint8_t* const scratch = malloc(origin->n_bytes + 1U);
    memcpy(scratch, origin->bytes, origin->n_bytes);
    const size_t n_bytes = mutate(scratch, origin->n_bytes, seed + 1U);
    SCOPED_MEMORY uint8_t* const exact = malloc(n_bytes + !n_bytes);
    memcpy(exact, scratch, n_bytes);
    uint32_t n_messages = 0;
    if (packet_check(exact, n_bytes, NOW, &n_messages) == PACKET_OK) {
      ck_assert_msg(can_be_read(exact, n_bytes),
                    "passed packet_check(), but cannot be read: seed %lu", (unsigned long)seed);
      ++n_passed;
    }
  }
  ck_assert_uint_gt(n_passed, 1000); // else too few mutated packets are valid
  ck_assert_uint_lt(n_passed, 60000);
}

SUITE_MAIN("packet_check")
