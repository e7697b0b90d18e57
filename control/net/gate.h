// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The packet gate: decides whether bytes from the network are one well-formed OSC 1.0 packet,
   before any library looks at them.  Reads only, allocates nothing, recurses at most
   GATE_MAX_DEPTH times.

   Stricter than OSC 1.0 where leniency has hurt others: a type tag string is required, padding is
   zero, addresses neither end in "/" (which makes liblo list its methods: an amplifier) nor hold
   unbalanced brackets, nested bundles are bounded, and nothing can be scheduled for a far future.
*/
#ifndef WARPRACK_CONTROL_NET_GATE_H
#define WARPRACK_CONTROL_NET_GATE_H

#include <stddef.h>
#include <stdint.h>

#define GATE_MAX_BYTES     65504U // the largest UDP payload that is a multiple of 4
#define GATE_MAX_ADDRESS   191U   // two names of 63 characters, and room for a pattern
#define GATE_MAX_ARGUMENTS 512U
#define GATE_MAX_MESSAGES  1024U // in one packet, nested bundles included
#define GATE_MAX_DEPTH     8U
#define GATE_HORIZON_S     10U // longest wait that a time tag may ask for

typedef enum GateReason {
  GATE_OK,
  GATE_EMPTY,
  GATE_SIZE,
  GATE_TOO_LARGE,
  GATE_START,
  GATE_ADDRESS_OPEN,
  GATE_ADDRESS_LONG,
  GATE_ADDRESS_CHARACTER,
  GATE_ADDRESS_SLASH,
  GATE_PATTERN,
  GATE_PADDING,
  GATE_NO_TYPES,
  GATE_TYPES_OPEN,
  GATE_TYPE,
  GATE_TOO_MANY_ARGUMENTS,
  GATE_ARGUMENT_SHORT,
  GATE_STRING_OPEN,
  GATE_STRING_CHARACTER,
  GATE_BLOB,
  GATE_TRAILING,
  GATE_BUNDLE_SHORT,
  GATE_ELEMENT,
  GATE_DEPTH,
  GATE_TOO_MANY_MESSAGES,
  GATE_TIME_FAR,
  GATE_TIME_ORDER,
  GATE_N_REASONS
} GateReason;

/**
   Judge one packet.

   @param packet [n_bytes] as received.
   @param now_ntp Present wall-clock time, for the horizon.
   @param[out] n_messages Messages in it; set only when the packet is good.
   @return #GATE_OK, or the first thing found wrong. [any]
*/
GateReason gate_check(const void* packet, size_t n_bytes, uint64_t now_ntp, uint32_t* n_messages);

/// The reason in a few words. [any]
const char* gate_text(GateReason reason);

/// The same as one word for counters: "padding". [any]
const char* gate_word(GateReason reason);

/// Big-endian numbers of a packet. [any]
uint32_t gate_read_u32(const void* bytes);
uint64_t gate_read_u64(const void* bytes);

#endif
