// SPDX-License-Identifier: GPL-3.0-or-later
// Packets in a stream of bytes, in both framings: whatever the pieces in which the bytes arrive,
// the packets are the same; invalid bytes end the stream, large packets do not.

#include "control/net/framing.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static FramingReader reader;

static void
begin(void)
{
  memset(&reader, 0, sizeof(reader));
}

static const Framing framings[] = { FRAMING_LENGTH, FRAMING_SLIP };

/// What was read from a stream.
typedef struct Found {
  uint32_t n;
  size_t sizes[8];
  uint8_t first[8][512]; ///< The first bytes of each packet
  bool is_invalid;
} Found;

/// Read bytes that arrive in one piece.
static void
arrive(Found* const found, const uint8_t* bytes, size_t n_bytes)
{
  while (n_bytes && !found->is_invalid) {
    size_t n_read = 0;
    size_t n_packet = 0;
    const FramingResult result = framing_read(&reader, bytes, n_bytes, &n_read, &n_packet);
    ck_assert_uint_le(n_read, n_bytes);
    bytes += n_read;
    n_bytes -= n_read;
    found->is_invalid = result == FRAMING_INVALID;
    if (result == FRAMING_PACKET) {
      ck_assert_uint_lt(found->n, ARRAY_LEN(found->sizes));
      memcpy(found->first[found->n], reader.bytes, n_packet < 512U ? n_packet : 512U);
      found->sizes[found->n++] = n_packet;
    } else {
      ck_assert(n_bytes == 0 || result == FRAMING_INVALID);
    }
  }
}

static Found
read_all(const void* const bytes, const size_t n_bytes)
{
  Found found = { 0 };
  begin();
  arrive(&found, bytes, n_bytes);
  return found;
}

// ---- the bytes of each framing ----

TEST(a_packet_with_its_size_is_as_in_osc_1_0)
{
  uint8_t framed[12];
  ck_assert_uint_eq(framing_size(FRAMING_LENGTH, (const uint8_t*)"/a\0\0,\0\0\0", 8), 12);
  framing_write(FRAMING_LENGTH, (const uint8_t*)"/a\0\0,\0\0\0", 8, framed);
  ck_assert_mem_eq(framed, "\0\0\0\x08/a\0\0,\0\0\0", 12);
}

TEST(a_packet_in_slip_is_as_in_rfc_1055_with_two_ends)
{
  static const uint8_t packet[] = { 1, 0xC0, 2, 0xDB, 0xDC, 0xDD };
  static const uint8_t expected[] = { 0xC0, 1, 0xDB, 0xDC, 2, 0xDB, 0xDD, 0xDC, 0xDD, 0xC0 };
  uint8_t framed[sizeof(expected)];
  ck_assert_uint_eq(framing_size(FRAMING_SLIP, packet, sizeof(packet)), sizeof(expected));
  framing_write(FRAMING_SLIP, packet, sizeof(packet), framed);
  ck_assert_mem_eq(framed, expected, sizeof(expected));
}

// ---- pieces ----

/// A stream of three packets with all values of a byte: 256, 0 or 4, and 8 bytes.  SLIP has no
/// empty packets.
static size_t
write_stream(const Framing framing, uint8_t to[2048])
{
  uint8_t all[256];
  for (uint32_t b = 0; b < sizeof(all); ++b) {
    all[b] = (uint8_t)b;
  }
  const size_t sizes[] = { 256, framing == FRAMING_SLIP ? 4 : 0, 8 };
  size_t n = 0;
  for (uint32_t p = 0; p < ARRAY_LEN(sizes); ++p) {
    framing_write(framing, all + 256U - sizes[p], sizes[p], to + n);
    n += framing_size(framing, all + 256U - sizes[p], sizes[p]);
  }
  return n;
}

static void
assert_stream(const Found* const found, const Framing framing)
{
  ck_assert(!found->is_invalid);
  ck_assert_uint_eq(found->n, 3);
  ck_assert_uint_eq(found->sizes[0], 256);
  ck_assert_uint_eq(found->sizes[1], framing == FRAMING_SLIP ? 4 : 0);
  ck_assert_uint_eq(found->sizes[2], 8);
  for (uint32_t b = 0; b < 256; ++b) {
    ck_assert_uint_eq(found->first[0][b], b);
  }
  ck_assert_mem_eq(found->first[2], "\xF8\xF9\xFA\xFB\xFC\xFD\xFE\xFF", 8);
}

TEST_ROWS(a_stream_may_be_split_at_every_byte, framings)
{
  uint8_t stream[2048];
  const size_t n = write_stream(framings[row], stream);
  for (size_t cut = 0; cut <= n; ++cut) {
    Found found = { 0 };
    begin();
    arrive(&found, stream, cut);
    arrive(&found, stream + cut, n - cut);
    assert_stream(&found, framings[row]);
    ck_assert(!framing_is_inside(&reader));
  }
}

TEST_ROWS(a_stream_may_arrive_byte_by_byte, framings)
{
  uint8_t stream[2048];
  const size_t n = write_stream(framings[row], stream);
  Found found = { 0 };
  begin();
  for (size_t b = 0; b < n; ++b) {
    arrive(&found, stream + b, 1);
  }
  assert_stream(&found, framings[row]);
  ck_assert_int_eq(reader.framing, framings[row]);
}

TEST_ROWS(a_packet_is_incomplete_until_its_last_byte, framings)
{
  uint8_t framed[16];
  framing_write(framings[row], (const uint8_t*)"/a\0\0,\0\0\0", 8, framed);
  const size_t n = framing_size(framings[row], (const uint8_t*)"/a\0\0,\0\0\0", 8);
  for (size_t cut = 2; cut < n; ++cut) {
    ck_assert_uint_eq(read_all(framed, cut).n, 0);
    ck_assert(framing_is_inside(&reader));
  }
  ck_assert_uint_eq(read_all(framed, n).n, 1);
  ck_assert(!framing_is_inside(&reader));
}

TEST(an_escape_may_be_split)
{
  const Found found = read_all("\xC0\xDB", 2);
  ck_assert_uint_eq(found.n, 0);
  ck_assert(framing_is_inside(&reader));
}

// ---- ends of SLIP ----

TEST(any_number_of_ends_may_separate_packets)
{
  const Found found = read_all("\xC0\xC0\xC0/a\xC0/b\xC0\xC0\xC0/c\xC0", 14);
  ck_assert_uint_eq(found.n, 3);
  ck_assert_mem_eq(found.first[1], "/b", 2);
  ck_assert(!framing_is_inside(&reader));
}

TEST(liblo_sends_no_end_before_a_packet)
{
  const Found found = read_all("/a\0\0,\0\0\0\xC0/b\xC0", 12);
  ck_assert_uint_eq(found.n, 2);
  ck_assert_mem_eq(found.first[0], "/a\0\0,\0\0\0", 8);
}

// ---- large packets ----

TEST_ROWS(a_large_packet_is_cut_and_the_next_one_is_read, framings)
{
  enum { N = 3 * 65504 };
  uint8_t* const packet = malloc(N);
  memset(packet, 0xC0, N);
  const size_t sizes[] = { PACKET_MAX_BYTES, PACKET_MAX_BYTES + 1U, PACKET_MAX_BYTES + 2U, N };
  for (uint32_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    const size_t n_large = framing_size(framings[row], packet, sizes[s]);
    uint8_t* const stream = malloc(n_large + 16U);
    framing_write(framings[row], packet, sizes[s], stream);
    framing_write(framings[row], (const uint8_t*)"/a\0\0,\0\0\0", 8, stream + n_large);
    const size_t n_small = framing_size(framings[row], (const uint8_t*)"/a\0\0,\0\0\0", 8);
    Found found = { 0 };
    begin();
    for (size_t at = 0; at < n_large + n_small; at += 1000) {
      const size_t n_left = n_large + n_small - at;
      arrive(&found, stream + at, n_left < 1000U ? n_left : 1000U);
    }
    ck_assert_uint_eq(found.n, 2);
    ck_assert_uint_eq(found.sizes[0], s ? FRAMING_BYTES : PACKET_MAX_BYTES);
    ck_assert_mem_eq(found.first[1], "/a\0\0,\0\0\0", 8);
    free(stream);
  }
  free(packet);
}

// ---- invalid streams ----

TEST(a_stream_begins_with_an_end_a_packet_or_a_small_size)
{
  for (uint32_t b = 0; b < 256; ++b) {
    const uint8_t byte = (uint8_t)b;
    const bool is_slip = b == 0xC0 || b == '/' || b == '#';
    ck_assert_int_eq(read_all(&byte, 1).is_invalid, b != 0 && !is_slip);
  }
  ck_assert(read_all("GET / HTTP/1.1\r\n", 16).is_invalid);
}

TEST(a_size_of_16_mib_is_invalid_later_too)
{
  const Found found = read_all("\0\0\0\x04/a\0\0\x01\0\0\0", 12);
  ck_assert_uint_eq(found.n, 1);
  ck_assert(found.is_invalid);
  ck_assert(!read_all("\0\xFF\xFF\xFF", 4).is_invalid);
}

TEST(an_escape_has_two_meanings)
{
  for (uint32_t b = 0; b < 256; ++b) {
    const uint8_t stream[] = { 0xC0, 0xDB, (uint8_t)b, 0xC0 };
    const Found found = read_all(stream, sizeof(stream));
    ck_assert_int_eq(found.is_invalid, b != 0xDC && b != 0xDD);
    ck_assert_uint_eq(found.n, !found.is_invalid);
  }
}

SUITE_MAIN("framing")
