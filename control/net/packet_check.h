// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decides whether bytes from the network are one well-formed OSC 1.0 packet, before any library
   reads them.  The check does not write or allocate, and recurses at most PACKET_MAX_DEPTH times.

   It is stricter than OSC 1.0 where other servers had faults.  A type tag string is required, and
   padding is zero.  Addresses have balanced brackets and do not end in "/" (liblo answers such an
   address with a list of its methods, which amplifies attacks).  The depth of nested bundles, and
   the time until which a bundle may wait, are limited.
*/
#ifndef WARPRACK_CONTROL_NET_PACKET_CHECK_H
#define WARPRACK_CONTROL_NET_PACKET_CHECK_H

#include <stddef.h>
#include <stdint.h>

#define PACKET_MAX_BYTES     65504U // the largest UDP payload that is a multiple of 4
#define PACKET_MAX_ADDRESS   191U   // two names of 63 characters, and room for a pattern
#define PACKET_MAX_ARGUMENTS 512U
#define PACKET_MAX_MESSAGES  1024U // in one packet, nested bundles included
#define PACKET_MAX_DEPTH     8U
#define PACKET_HORIZON_S     10U // longest time until a time tag

typedef enum PacketFault {
  PACKET_OK,
  PACKET_EMPTY,
  PACKET_SIZE,
  PACKET_TOO_LARGE,
  PACKET_START,
  PACKET_ADDRESS_OPEN,
  PACKET_ADDRESS_LONG,
  PACKET_ADDRESS_CHARACTER,
  PACKET_ADDRESS_SLASH,
  PACKET_PATTERN,
  PACKET_PADDING,
  PACKET_NO_TYPES,
  PACKET_TYPES_OPEN,
  PACKET_TYPE,
  PACKET_TOO_MANY_ARGUMENTS,
  PACKET_ARGUMENT_SHORT,
  PACKET_STRING_OPEN,
  PACKET_STRING_CHARACTER,
  PACKET_BLOB,
  PACKET_TRAILING,
  PACKET_BUNDLE_SHORT,
  PACKET_ELEMENT,
  PACKET_DEPTH,
  PACKET_TOO_MANY_MESSAGES,
  PACKET_TIME_FAR,
  PACKET_TIME_ORDER,
  PACKET_N_FAULTS
} PacketFault;

/**
   Check one packet.

   @param packet [n_bytes] as received.
   @param now_ntp Current wall-clock time, for PACKET_HORIZON_S.
   @param[out] n_messages Number of messages in the packet; set only with #PACKET_OK.
   @return #PACKET_OK, or the reason of the first fault. [any]
*/
PacketFault
packet_check(const void* packet, size_t n_bytes, uint64_t now_ntp, uint32_t* n_messages);

/// The reason as text. [any]
const char* packet_fault_text(PacketFault reason);

/// The reason as one word, for counters: "padding". [any]
const char* packet_fault_word(PacketFault reason);

/// Read a big-endian number. [any]
uint32_t packet_read_u32(const void* bytes);
uint64_t packet_read_u64(const void* bytes);

#endif
