// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The last messages with their senders and results, for /server/watch: users see why a controller
   has no effect.  Memory is fixed, and an entry costs about as much as the copy of its texts.  All
   functions [control].
*/
#ifndef WARPRACK_CONTROL_NET_WATCH_H
#define WARPRACK_CONTROL_NET_WATCH_H

#include "peer.h"

#include "engine/base/text_buffer.h"

#include <stdint.h>

#define WATCH_ENTRIES       50U
#define WATCH_ADDRESS_BYTES 96U  // of an entry, with the zero; longer ones are cut
#define WATCH_REASON_BYTES  160U // as WATCH_ADDRESS_BYTES

typedef enum WatchVerdict {
  WATCH_DONE,
  WATCH_FAILED,    ///< The sender got /fail
  WATCH_REFUSED,   ///< packet_check() refused the packet
  WATCH_FORBIDDEN, ///< The sender is not allowed
  WATCH_IGNORED    ///< An address that only servers send
} WatchVerdict;

/// The result of a message, or of all messages of a bundle.
typedef struct WatchNote {
  WatchVerdict verdict;
  const char* address;    ///< Of the first message, or of the one that failed
  size_t n_address_bytes; ///< At most so many; it may end before, with a zero
  uint32_t n_messages;    ///< In the bundle
  const char* reason;     ///< NULL: none
} WatchNote;

typedef struct WatchEntry {
  Peer peer;
  uint64_t at_ns;
  WatchVerdict verdict;
  uint32_t n_messages;
  uint32_t n_times; ///< Notes with the same words in a row; `at_ns` is the time of the last one
  char address[WATCH_ADDRESS_BYTES];
  char reason[WATCH_REASON_BYTES];
} WatchEntry;

/// Begins as zeros.
typedef struct Watch {
  WatchEntry
      entries[WATCH_ENTRIES + 1U]; ///< A ring; the newest one is before `next`, which is free
  uint32_t next, n;
} Watch;

/// Record the result of a message.  A repetition of the newest entry only increases its n_times;
/// two packets of a forbidden sender always are a repetition.
void watch_note(Watch* watch, uint64_t now_ns, const Peer* peer, const WatchNote* note);

/// Append a line for each entry, the newest one first, with tabs between the fields: age in
/// seconds, sender, verdict, number of times, number of messages in the bundle, address, reason.
void watch_print(const Watch* watch, uint64_t now_ns, TextBuffer* text);

#endif
