// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Received messages, in bundles.  A bundle has messages of one packet with one time.

   A message outside OSC bundles is a Bundle of one message.  A nested OSC bundle is a separate
   Bundle.  A Bundle is executed as a whole.  It passes from the sender's queue through the schedule
   and the editor until all its messages are answered; it has one owner at a time.
*/
#ifndef WARPRACK_CONTROL_NET_MESSAGE_H
#define WARPRACK_CONTROL_NET_MESSAGE_H

#include "clock.h"
#include "packet_check.h"
#include "peer.h"

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_BYTES        384U // of a bundle and a message, without the packet
#define MESSAGE_HEADER_BYTES 62U  // of a packet on the network: Ethernet, IPv6, UDP

struct CommandInfo;
struct RackFades;

/// One OSC message.
typedef struct Message {
  char* address;                  ///< Owned: a copy of the message, which begins with its address
  const char* types;              ///< In the copy: a letter for each argument
  const uint32_t* places;         ///< [strlen(types)] of the arguments' values, from `address` on
  size_t n_bytes;                 ///< Limit for answers to strangers: its size in the packet; in an
                                  ///< OSC bundle, less the headers of a packet for the answer
  const struct CommandInfo* info; ///< Row of the table of commands; NULL until it is found
  char* file;                     ///< Text of the file that it names, once read, or the name of
                                  ///< the file that it has saved; owned
  // Of /scene/stop, once it has its turn:
  const struct RackFades* fades; ///< The fades that run; borrowed
  uint64_t stop_frame;           ///< They stop at this frame
  // State of a query that is answered in steps:
  bool is_unfinished;
  char* text;            ///< Whose other parts are still to be sent; owned
  uint32_t n_parts_sent; ///< Of `text`
  uint32_t n_nodes_read;
  uint32_t n_params_read; ///< Of the next node
  uint32_t n_values_read;
  size_t n_bytes_answered; ///< With the headers of all packets
} Message;

typedef struct Bundle {
  struct Bundle* next;  ///< For the owner's use
  struct Bundle* older; ///< Bundles of the same parameter whose edits this one replaces, in order
  Peer peer;            ///< The sender
  uint64_t due_ns;      ///< Time to execute it, on the monotonic clock; 0: at once
  uint64_t frame;       ///< The same time as the engine's frame; 0: at once
  uint64_t group; ///< Of its answers, see outbox.h: a number of its OSC bundle; 0: it was none
  bool is_sorted; ///< Its messages are of one kind, and it is due
  uint32_t n_run; ///< If each message is answered separately: number of answered messages
  bool
      is_scheduled; ///< The schedule counts it: it has waited for its time, and must not be dropped
  bool is_sent;     ///< The engine has its values already, with `frame`
  uint32_t sent_revision; ///< With is_sent: number of the active document when they were sent
  bool makes_smaller;     ///< While it waits for edits: it takes nodes away, or replaces the rack
  bool is_own;            ///< From the server itself: nobody gets an answer
  bool is_echo;           ///< Answered and audible already; it sets its values again after the
                          ///< edits that it overtook
  bool has_missing;       ///< A recall in it has left out missing parameters
  size_t n_bytes;         ///< Approximate memory
  uint32_t n_messages;
  Message messages[]; ///< [n_messages]
} Bundle;

/**
   Read the bundles of a packet that packet_check() has accepted.

   @param packet [n_bytes]; copied.
   @param arrival Time of arrival, for time tags.
   @param[out] bundles List in the order of the packet, an outer bundle before the ones inside it.
   @return STATUS_OK, or STATUS_NO_MEM without any bundle.
*/
NODISCARD Status bundles_read(const void* packet, size_t n_bytes, const Peer* peer,
                              const Instant* arrival, Bundle** bundles);

/// Move the messages for which `wanted` returns true to a new bundle, in order.  Returns NULL if
/// there are none, or if out of memory; then no message is moved, and `*failed` is set.
Bundle* bundle_split(Bundle* bundle, bool (*wanted)(const Message* message), bool* failed);

/// Free one bundle, without the bundles after it.  Accepts NULL.
void bundle_free(Bundle* bundle);

/// Read a message that packet_check() has accepted, copied; STATUS_NO_MEM.  Free it with
/// message_clear().
NODISCARD Status message_read(Message* message, const void* packet, size_t n_bytes);
void message_clear(Message* message);

#define ADDRESS_ROOT_BYTES 6U // of "/node/", "/norm/" and "/note/"

/// True if an address begins with one of these roots.
static inline bool
address_is_under(const char* const address, const char root[const ADDRESS_ROOT_BYTES + 1U])
{
  uint32_t n_equal = 0;
  while (n_equal < ADDRESS_ROOT_BYTES && address[n_equal] == root[n_equal]) {
    ++n_equal;
  }
  return n_equal == ADDRESS_ROOT_BYTES;
}

/// The name in an address "/node/NAME/...", cut to `n_bytes` with the final zero.  Returns `name`.
const char* address_node(const char* address, char* name, size_t n_bytes);

// ---- arguments ----

uint32_t message_n_arguments(const Message* message);
char message_type(const Message* message, uint32_t argument);

/// The text of an 's' or 'S'.
const char* message_text(const Message* message, uint32_t argument);

/// The value of an i, h, f or d; 1 and 0 for T and F.
double message_number(const Message* message, uint32_t argument);

#endif
