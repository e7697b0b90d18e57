// SPDX-License-Identifier: GPL-3.0-or-later
/**
   OSC packets in a stream of bytes, such as a TCP connection.

   Two framings are in use.  OSC 1.0 sends the size of each packet before it, as a big-endian
   32-bit number.  OSC 1.1 uses SLIP (J. Romkey, "A nonstandard for transmission of IP datagrams
   over serial lines", RFC 1055, 1988) with an END before and after each packet.  The first byte of
   a stream decides: 0xC0 is END, and 0x00 begins a size below 16 MiB.  A packet itself begins with
   "/" or "#": that is SLIP without the first END, as liblo sends it.  A stream that begins with any
   other byte is invalid.

   A packet that is too large for packet_check() is read to its end, and cut: packet_check() then
   refuses it as any other packet, and the stream goes on.
*/
#ifndef WARPRACK_CONTROL_NET_FRAMING_H
#define WARPRACK_CONTROL_NET_FRAMING_H

#include "packet_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMING_BYTES (PACKET_MAX_BYTES + 1U) // one more byte, to detect a larger packet

typedef enum Framing {
  FRAMING_UNKNOWN, ///< No byte has arrived
  FRAMING_LENGTH,
  FRAMING_SLIP
} Framing;

typedef enum FramingResult {
  FRAMING_MORE,   ///< All bytes are read; the packet goes on
  FRAMING_PACKET, ///< A packet is complete
  FRAMING_INVALID ///< Neither framing, a size of 16 MiB or more, or an invalid escape of SLIP
} FramingResult;

/// The packet that is being read.  A zeroed struct is the begin of a stream.
typedef struct FramingReader {
  Framing framing;
  bool is_escaped;   ///< SLIP: the last byte was ESC
  uint32_t n_header; ///< Length: bytes of the size that have arrived
  uint32_t size;     ///< Length: the size, as far as it has arrived
  size_t n_arrived;  ///< Bytes of the packet that have arrived, also those that are not kept
  uint8_t bytes[FRAMING_BYTES];
} FramingReader;

/**
   Read bytes up to the end of the next packet.

   @param[out] n_read Number of bytes that were read, at most n_bytes.
   @param[out] n_packet With #FRAMING_PACKET the size of the packet in reader->bytes, at most
   FRAMING_BYTES.  The packet is there until the next call.
   @return After #FRAMING_INVALID the stream cannot be read any further. [any]
*/
FramingResult framing_read(FramingReader* reader, const uint8_t* bytes, size_t n_bytes,
                           size_t* n_read, size_t* n_packet);

/// True if a part of a packet has arrived. [any]
bool framing_is_inside(const FramingReader* reader);

/// The size of a packet within its framing, which is not FRAMING_UNKNOWN. [any]
size_t framing_size(Framing framing, const uint8_t* packet, size_t n_bytes);

/// Write a packet within its framing: framing_size() bytes. [any]
void framing_write(Framing framing, const uint8_t* packet, size_t n_bytes, uint8_t* to);

#endif
