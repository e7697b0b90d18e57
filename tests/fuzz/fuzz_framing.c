// SPDX-License-Identifier: GPL-3.0-or-later
// A stream of bytes in either framing: it is read in one piece and byte by byte, with the same
// packets; and each packet that was read survives being written and read again.

#include "fuzz.h"

#include "control/net/framing.h"

#include <stdlib.h>
#include <string.h>

/// The packets of a stream: their number, and a number that depends on all bytes and sizes.
typedef struct Digest {
  uint32_t n_packets;
  uint64_t sum;
  int is_invalid;
} Digest;

static void
add(Digest* const digest, const uint8_t* const bytes, const size_t n_bytes)
{
  fuzz_check(n_bytes <= FRAMING_BYTES, "a packet is cut");
  digest->sum = digest->sum * 31U + n_bytes;
  for (size_t b = 0; b < n_bytes; ++b) {
    digest->sum = digest->sum * 31U + bytes[b];
  }
  ++digest->n_packets;
}

/// Write a packet in a framing, and read it back.
static void
check_again(const Framing framing, const uint8_t* const packet, const size_t n_bytes)
{
  static FramingReader reader;
  reader = (FramingReader){ .framing = framing };
  const size_t n_framed = framing_size(framing, packet, n_bytes);
  uint8_t* const framed = malloc(n_framed);
  size_t n_packet = 0;
  size_t at = 0;
  FramingResult result = FRAMING_MORE;
  framing_write(framing, packet, n_bytes, framed);
  while (at < n_framed && result == FRAMING_MORE) {
    size_t n_read = 0;
    result = framing_read(&reader, framed + at, n_framed - at, &n_read, &n_packet);
    at += n_read;
  }
  fuzz_check(n_bytes ? result == FRAMING_PACKET && at == n_framed && n_packet == n_bytes &&
                           memcmp(reader.bytes, packet, n_bytes) == 0
                     : framing == FRAMING_SLIP || result == FRAMING_PACKET,
             "a packet is the same after it was written and read");
  free(framed);
}

/// Read a stream that arrives in pieces of at most n_piece bytes.
static Digest
read_stream(const uint8_t* bytes, const size_t n_bytes, const size_t n_piece)
{
  static FramingReader reader;
  Digest digest = { 0 };
  memset(&reader, 0, sizeof(reader));
  for (size_t at = 0; at < n_bytes && !digest.is_invalid;) {
    const size_t n_left = n_bytes - at;
    size_t n_read = 0;
    size_t n_packet = 0;
    const FramingResult result =
        framing_read(&reader, bytes + at, n_left < n_piece ? n_left : n_piece, &n_read, &n_packet);
    fuzz_check(n_read <= n_left && (n_read || result == FRAMING_INVALID), "a stream goes on");
    at += n_read;
    digest.is_invalid = result == FRAMING_INVALID;
    if (result == FRAMING_PACKET) {
      add(&digest, reader.bytes, n_packet);
      if (n_piece == n_bytes) {
        check_again(FRAMING_LENGTH, reader.bytes, n_packet);
        check_again(FRAMING_SLIP, reader.bytes, n_packet);
      }
    }
  }
  return digest;
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  const Digest whole = read_stream(bytes, n_bytes, n_bytes);
  const Digest pieces = read_stream(bytes, n_bytes, 1U);
  fuzz_check(whole.n_packets == pieces.n_packets && whole.sum == pieces.sum &&
                 whole.is_invalid == pieces.is_invalid,
             "a stream has the same packets in any pieces");
  return 0;
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  static const struct {
    const char* bytes;
    size_t n_bytes;
  } examples[] = {
    { "\0\0\0\x08/a\0\0,\0\0\0\0\0\0\0\0\0\0\x04/b\0\0", 24 },
    { "\xC0/a\0\0,\0\0\0\xC0\xC0/b\xDB\xDC\xDB\xDD,\0\0\0\xC0", 21 },
    { "\0\xFF\xFF\xFF", 4 },
    { "\xC0\xDB", 2 },
    { "\xC0\xDB\xC0", 3 },
    { "\0\0\0\x04/a\0\0\x01", 9 },
    { "GET / HTTP/1.1\r\n\r\n", 18 },
  };
  for (uint32_t e = 0; e < sizeof(examples) / sizeof(examples[0]); ++e) {
    visit(context, examples[e].bytes, examples[e].n_bytes);
  }
  uint8_t* const large = calloc(1, 2U * FRAMING_BYTES);
  large[1] = 1; // a size of 65,536
  visit(context, large, 2U * FRAMING_BYTES);
  large[0] = 0xC0;
  visit(context, large, 2U * FRAMING_BYTES);
  free(large);
}
