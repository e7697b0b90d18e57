// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Received messages, in bundles: messages of one packet for one time.

   A message outside OSC bundles is a Bundle of one.  A nested OSC bundle is a Bundle of its own.  A
   Bundle is carried out as a whole.  It travels from the packet through the schedule and the
   session until every one of its messages has been answered, and is owned by one of them at a time.
*/
#ifndef WARPRACK_CONTROL_NET_MESSAGE_H
#define WARPRACK_CONTROL_NET_MESSAGE_H

#include "clock.h"
#include "gate.h"
#include "peer.h"

#include "engine/base/status.h"

#include <lo/lo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_BYTES 640U // at most: a bundle, a message, and liblo's memory for it

struct CommandInfo;

/// One OSC message, with its arguments in the machine's byte order.
typedef struct Message {
  char* address;                  ///< Owned
  lo_message arguments;           ///< Owned
  size_t n_bytes;                 ///< Its size in the packet: the bound for answers to strangers
  const struct CommandInfo* info; ///< Row of the table of commands, once it is known
  char* file;                     ///< Text of the file that it names, once it is read; owned
  // Of a read that is answered in steps:
  bool is_unfinished;
  uint32_t n_nodes_read;
  uint32_t n_values_read;
  size_t n_bytes_answered;
} Message;

typedef struct Bundle {
  struct Bundle* next; ///< For the owner's use
  Peer peer;           ///< Who sent it
  uint64_t due_ns;     ///< When, on the monotonic clock; 0: at once
  uint64_t frame;      ///< When, for the engine; 0: at once
  bool is_sorted;      ///< Its messages are of one kind, and its time has come
  uint32_t n_run;      ///< Messages that have been answered, where each is answered by itself
  bool
      is_scheduled; ///< The schedule counts it: it has waited for its time, and must not be dropped
  bool is_sent;     ///< Its values are with the engine already, stamped with `frame`
  uint32_t sent_revision; ///< With is_sent: the document that played when they were sent
  bool is_echo;           ///< Answered and audible already; repeated behind edits that it overtook
  size_t n_bytes;         ///< Of memory, about
  uint32_t n_messages;
  Message messages[]; ///< [n_messages]
} Bundle;

/**
   Take a packet that gate_check() has passed apart.

   @param packet [n_bytes], followed by at least 8 zero bytes (liblo has read past an end before).
   @param arrival When it arrived, for its time tags.
   @param[out] bundles List in the order of the packet, an outer bundle before the ones inside it.
   @return STATUS_OK, or STATUS_NO_MEM with nothing left over.
*/
NODISCARD Status bundles_read(const void* packet, size_t n_bytes, const Peer* peer,
                              const Instant* arrival, Bundle** bundles);

/// Move the messages that `wanted` picks into a bundle of their own, in order.  NULL when there are
/// none, or no memory (then nothing is moved and `*failed` is set).
Bundle* bundle_split(Bundle* bundle, bool (*wanted)(const Message* message), bool* failed);

/// Free one bundle (not those behind it).  Accepts NULL.
void bundle_free(Bundle* bundle);

// ---- arguments ----

uint32_t message_n_arguments(const Message* message);
char message_type(const Message* message, uint32_t argument);

/// The text of an 's' or 'S'.
const char* message_text(const Message* message, uint32_t argument);

/// The value of an i, h, f or d; 1 and 0 for T and F.
double message_number(const Message* message, uint32_t argument);

#endif
