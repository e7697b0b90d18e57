// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Settings of clients: which clients subscribe to the changes of others, and which get no /done.

   A change is identified by a key: a parameter, or one of the NOTIFY_* events.  Subscribers get the
   newest state of a key at most once in NOTIFY_INTERVAL_NS, and always its last state.  The client
   that made the change gets no message.  When an edit replaces the document, the values that it
   changed follow, a part of them in each interval.
*/
#ifndef WARPRACK_CONTROL_NOTIFY_H
#define WARPRACK_CONTROL_NOTIFY_H

#include "backlog.h"

#include "control/net/peer.h"
#include "engine/base/status.h"
#include "engine/base/time.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTIFY_MAX_CLIENTS 32U               // for each NotifyWish
#define NOTIFY_MAX_KEYS    512U              // parameters that change in one interval
#define NOTIFY_INTERVAL_NS (20U * NS_PER_MS) // as fast as eyes and faders need
/// Values of a replaced document in one interval: as many as a socket's buffer holds while the
/// client does not read.
#define NOTIFY_MAX_VALUES 128U
/// Datagrams between two calls of notify_flush(), and in one part of a document.
#define NOTIFY_SENT 512U

typedef enum NotifyEvent {
  NOTIFY_RACK,
  NOTIFY_LATENCY,
  NOTIFY_AUDIO,
  NOTIFY_BACKEND,
  NOTIFY_WORKER,
  NOTIFY_QUARANTINE,
  NOTIFY_STARTED,
  NOTIFY_WARNING,
  N_NOTIFY_EVENTS
} NotifyEvent;

/// The OSC address of the message that reports the event to subscribers. [any]
const char* notify_address(NotifyEvent event);

typedef struct NotifyEntry {
  NotifyKey key;
  Peer maker; ///< The client that made the newest change
  bool has_maker;
  bool is_due;      ///< Changed since it was last sent
  uint64_t sent_ns; ///< 0: never.  An entry that is not due is free NOTIFY_INTERVAL_NS after this
} NotifyEntry;

/// A setting of a client, as a bit.
typedef enum NotifyWish {
  NOTIFY_NEWS = 1, ///< The client gets the changes of others
  NOTIFY_QUIET = 2 ///< The client gets no /done
} NotifyWish;

typedef struct Client {
  Peer peer;
  unsigned wishes; ///< Bits; 0: the place is free
} Client;

/// Send the present state of a key to one subscriber.
typedef void (*NotifySay)(void* context, const Peer* to, const NotifyKey* key);

typedef struct Notify {
  Client clients[2U * NOTIFY_MAX_CLIENTS];
  NotifyEntry entries[N_NOTIFY_EVENTS + NOTIFY_MAX_KEYS]; ///< One per event, then parameters
  uint32_t n_params;   ///< Entries of parameters that have ever been used
  uint32_t next_entry; ///< The entry at which notify_flush() continues
  uint32_t n_sent;     ///< Datagrams since the last notify_flush()
  Backlog backlog;
  uint64_t backlog_ns; ///< When a part of it was last sent
  uint64_t sent;
  uint64_t merged; ///< Changes that were not sent because a newer one replaced them
  NotifySay say;
  void* context;
} Notify;

/// Set or clear a wish of a client.  At most NOTIFY_MAX_CLIENTS clients have the same wish; for a
/// further one, those that have closed their ports are removed.  False when all ports are open:
/// then nothing changes.
bool notify_set(Notify* notify, const Peer* peer, NotifyWish wish, bool wanted);

bool notify_is_quiet(const Notify* notify, const Peer* peer);

/// Something has changed; `maker` may be NULL.  When more than NOTIFY_MAX_KEYS parameters change in
/// one interval, all subscribers get /rack/changed for the others.
void notify_change(Notify* notify, NotifyKey key, const Peer* maker, uint64_t now_ns);

/// An edit has replaced the document `before` (NULL: unknown) by `now`.  The values that differ
/// will be sent to all subscribers but `maker`, which may be NULL.
void notify_replaced(Notify* notify, const Rack* before, const Rack* now, const Peer* maker);

/// Send the keys that are due, a bounded number of datagrams.  Call it at notify_wake_ns().
void notify_flush(Notify* notify, uint64_t now_ns);

/// When to call notify_flush(); UINT64_MAX: nothing is due.
uint64_t notify_wake_ns(const Notify* notify);

uint32_t notify_n_subscribers(const Notify* notify);

/// The subscribers as text, one a line, for the caller to free; NULL when out of memory.
char* notify_print_subscribers(const Notify* notify);

/// Subscribe the clients in a text of notify_print_subscribers() that are on this machine and have
/// this address family.
void notify_read_subscribers(Notify* notify, const char* text, sa_family_t family);

void notify_clear(Notify* notify);

#endif
