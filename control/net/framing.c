// SPDX-License-Identifier: GPL-3.0-or-later
// Reads and writes packets within a stream of bytes.

#include "framing.h"

#include <string.h>

#define HEADER_BYTES 4U

// RFC 1055, "PROTOCOL"
#define SLIP_END     0xC0U
#define SLIP_ESC     0xDBU
#define SLIP_ESC_END 0xDCU
#define SLIP_ESC_ESC 0xDDU

// ---- reading ----

/// Append bytes to the packet, as far as there is room.
static void
keep(FramingReader* const reader, const uint8_t* const bytes, const size_t n_bytes)
{
  if (reader->n_arrived < FRAMING_BYTES) {
    const size_t room = FRAMING_BYTES - reader->n_arrived;
    memcpy(reader->bytes + reader->n_arrived, bytes, n_bytes < room ? n_bytes : room);
  }
  reader->n_arrived += n_bytes;
}

/// End the packet.
static FramingResult
end_packet(FramingReader* const reader, size_t* const n_packet)
{
  *n_packet = reader->n_arrived < FRAMING_BYTES ? reader->n_arrived : FRAMING_BYTES;
  reader->n_arrived = 0;
  reader->n_header = 0;
  reader->size = 0;
  return FRAMING_PACKET;
}

/// Read bytes of the size.  Returns their number.
static size_t
read_header(FramingReader* const reader, const uint8_t* const bytes, const size_t n_bytes)
{
  size_t n = 0;
  for (; n < n_bytes && reader->n_header < HEADER_BYTES; ++n) {
    reader->size = reader->size << 8U | bytes[n];
    ++reader->n_header;
  }
  return n;
}

static FramingResult
read_length(FramingReader* const reader, const uint8_t* const bytes, const size_t n_bytes,
            size_t* const n_read, size_t* const n_packet)
{
  if (reader->n_header == 0U && n_bytes && bytes[0]) {
    *n_read = 0;
    return FRAMING_INVALID;
  }
  *n_read = read_header(reader, bytes, n_bytes);
  if (reader->n_header < HEADER_BYTES) {
    return FRAMING_MORE;
  }
  const size_t n_left = n_bytes - *n_read;
  const size_t n_missing = reader->size - reader->n_arrived;
  const size_t n = n_left < n_missing ? n_left : n_missing;
  keep(reader, bytes + *n_read, n);
  *n_read += n;
  return n == n_missing ? end_packet(reader, n_packet) : FRAMING_MORE;
}

/// Read the byte after ESC.
static FramingResult
read_escaped(FramingReader* const reader, const uint8_t byte)
{
  const uint8_t meant = byte == SLIP_ESC_END ? SLIP_END : SLIP_ESC;
  reader->is_escaped = false;
  keep(reader, &meant, 1U);
  return byte == SLIP_ESC_END || byte == SLIP_ESC_ESC ? FRAMING_MORE : FRAMING_INVALID;
}

static FramingResult
read_slip(FramingReader* const reader, const uint8_t* const bytes, const size_t n_bytes,
          size_t* const n_read, size_t* const n_packet)
{
  FramingResult result = FRAMING_MORE;
  size_t n = 0;
  for (; n < n_bytes && result == FRAMING_MORE; ++n) {
    if (reader->is_escaped) {
      result = read_escaped(reader, bytes[n]);
    } else if (bytes[n] == SLIP_ESC) {
      reader->is_escaped = true;
    } else if (bytes[n] != SLIP_END) {
      keep(reader, &bytes[n], 1U);
    } else if (reader->n_arrived) { // else the END of the packet before, or of none
      result = end_packet(reader, n_packet);
    }
  }
  *n_read = n;
  return result;
}

FramingResult
framing_read(FramingReader* const reader, const uint8_t* const bytes, const size_t n_bytes,
             size_t* const n_read, size_t* const n_packet)
{
  if (reader->framing == FRAMING_UNKNOWN && n_bytes) {
    const bool is_slip = bytes[0] == SLIP_END || bytes[0] == '/' || bytes[0] == '#';
    reader->framing = is_slip ? FRAMING_SLIP : FRAMING_LENGTH;
  }
  return reader->framing == FRAMING_SLIP ? read_slip(reader, bytes, n_bytes, n_read, n_packet)
                                         : read_length(reader, bytes, n_bytes, n_read, n_packet);
}

bool
framing_is_inside(const FramingReader* const reader)
{
  return reader->n_arrived || reader->n_header || reader->is_escaped;
}

// ---- writing ----

static bool
is_special(const uint8_t byte)
{
  return byte == SLIP_END || byte == SLIP_ESC;
}

size_t
framing_size(const Framing framing, const uint8_t* const packet, const size_t n_bytes)
{
  size_t n_special = 0;
  if (framing == FRAMING_LENGTH) {
    return HEADER_BYTES + n_bytes;
  }
  for (size_t b = 0; b < n_bytes; ++b) {
    n_special += is_special(packet[b]);
  }
  return n_bytes + n_special + 2U;
}

static void
write_slip(const uint8_t* const packet, const size_t n_bytes, uint8_t* to)
{
  *to++ = SLIP_END;
  for (size_t b = 0; b < n_bytes; ++b) {
    if (is_special(packet[b])) {
      *to++ = SLIP_ESC;
      *to++ = packet[b] == SLIP_END ? SLIP_ESC_END : SLIP_ESC_ESC;
    } else {
      *to++ = packet[b];
    }
  }
  *to = SLIP_END;
}

void
framing_write(const Framing framing, const uint8_t* const packet, const size_t n_bytes,
              uint8_t* const to)
{
  if (framing == FRAMING_SLIP) {
    write_slip(packet, n_bytes, to);
    return;
  }
  for (uint32_t b = 0; b < HEADER_BYTES; ++b) {
    to[b] = (uint8_t)(n_bytes >> 8U * (HEADER_BYTES - 1U - b));
  }
  memcpy(to + HEADER_BYTES, packet, n_bytes);
}
