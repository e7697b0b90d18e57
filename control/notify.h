// SPDX-License-Identifier: GPL-3.0-or-later
/**
   News for subscribers: the clients with CLIENT_NEWS.

   A change is identified by a key: a parameter, or one of the NOTIFY_* events.  Subscribers get the
   newest state of a key at most once in NOTIFY_INTERVAL_NS, and always its last state; a client may
   choose a longer interval, in which it gets all keys that have changed at once.  The client
   that made the change gets no message.  When an edit replaces the document, the values that it
   changed follow, a part of them in each interval.
*/
#ifndef WARPRACK_CONTROL_NOTIFY_H
#define WARPRACK_CONTROL_NOTIFY_H

#include "client_table.h"

#include "control/net/peer.h"
#include "engine/base/key_index.h"
#include "engine/base/time.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTIFY_MAX_KEYS    512U              // parameters that change in one interval
#define NOTIFY_INTERVAL_NS (20U * NS_PER_MS) // fast enough for displays and faders
/// Values of a replaced document in one interval: as many as fit into a socket's buffer if the
/// client does not read.
#define NOTIFY_MAX_VALUES 128U
/// Limit for datagrams between two calls of notify_flush(), and in one part of a document.
#define NOTIFY_SENT 512U

typedef enum NotifyEvent {
  NOTIFY_RACK,
  NOTIFY_LATENCY,
  NOTIFY_AUDIO,
  NOTIFY_BACKEND,
  NOTIFY_WORKER,
  NOTIFY_QUARANTINE,
  NOTIFY_SCANNED,
  NOTIFY_STARTED,
  NOTIFY_LEARNED,
  NOTIFY_TEMPO,
  NOTIFY_WARNING,
  NOTIFY_TAKE,
  N_NOTIFY_EVENTS
} NotifyEvent;

/// A parameter of a node, or an event with uid RACK_UID_NONE.
typedef struct NotifyKey {
  RackUid uid;
  uint32_t param; ///< Or NotifyEvent
} NotifyKey;

/// The OSC address of the message that reports the event to subscribers. [any]
const char* notify_address(NotifyEvent event);

typedef struct NotifyEntry {
  NotifyKey key;
  PeerKey maker; ///< Of the client that made the newest change
  bool has_maker;
  bool is_due;       ///< Changed since it was last sent
  uint64_t late_for; ///< Bit c: client c, which has a longer interval, has not got the newest state
  uint64_t sent_ns; ///< Time at which it was last sent; 0: never.  An entry that is not due is free
                    ///< NOTIFY_INTERVAL_NS after this
} NotifyEntry;

/// Values to send to subscribers, because an edit that replaced the document has changed them: at
/// most all parameters of one rack.
typedef struct Backlog {
  NotifyKey* keys; ///< [n], sorted, without duplicates; the keys before `next` are sent
  uint32_t n, next;
  PeerKey maker;
  bool has_maker; ///< The client that made all the changes and knows their values
} Backlog;

/// What the news of a client need beside its entry in the table of clients.
typedef struct Subscriber {
  bool has_norm;        ///< It gets positions beside values, see notify_norm()
  uint64_t interval_ns; ///< Of its news, if longer than NOTIFY_INTERVAL_NS ...
  uint64_t next_ns;     ///< ... and the time from which it may get the next ones
  Backlog greeting;     ///< Values to send to it because it has subscribed
} Subscriber;

/// Sends the current state of a key to one subscriber, of a value also as a position if `has_norm`.
typedef void (*NotifySay)(void* context, const Peer* to, const NotifyKey* key, bool has_norm);

typedef struct Notify {
  ClientTable* clients;                                   ///< Borrowed
  Subscriber subscribers[CLIENTS_MAX];                    ///< Of the clients with the same index
  NotifyEntry entries[N_NOTIFY_EVENTS + NOTIFY_MAX_KEYS]; ///< One per event, then parameters
  KeyIndex index;                                         ///< Finds the entry of a parameter
  uint32_t n_params;   ///< Number of parameter entries that were ever used
  uint32_t next_free;  ///< The parameter entry at which the search for a free one continues
  uint64_t search_ns;  ///< Time of the next search, after one that has found none
  uint32_t next_entry; ///< The entry at which notify_flush() continues
  uint32_t n_sent;     ///< Datagrams since the last notify_flush()
  Backlog backlog;
  uint64_t backlog_ns;   ///< Time at which a part of the backlog was last sent
  uint32_t next_greeted; ///< The client that got values of Subscriber::greeting last
  uint64_t sent;
  uint64_t merged; ///< Changes that were not sent because a newer one replaced them
  NotifySay say;
  void* context;
} Notify;

/// Forget what waits for a client that subscribes no longer.
void notify_forget(Notify* notify, const Client* client);

/// Send positions beside values, from now on, to the subscribers of a sender that uses positions:
/// itself, ports that it has subscribed, and the fixed clients of its machine unless that is ours.
void notify_norm(Notify* notify, const Peer* sender);

/// Send a subscriber its news, except values of replaced documents, at most once in this time;
/// 0: in NOTIFY_INTERVAL_NS.
void notify_pace(Notify* notify, const Client* client, uint64_t interval_ns);

/// Send a subscriber the tempo of a rack, if that uses one, and all its values, a part of them in
/// each interval.  Returns false if out of memory.
bool notify_greet(Notify* notify, const Client* client, const Rack* rack);

/// Record a change of a key.  `maker`: the client that made it, or NULL.  If more than
/// NOTIFY_MAX_KEYS parameters change in one interval, all subscribers get /rack/changed for the
/// others.
void notify_change(Notify* notify, NotifyKey key, const Peer* maker, uint64_t now_ns);

/// Record that an edit has replaced the document `before` (NULL: unknown) by `now`.  All
/// subscribers except `maker` (may be NULL) get the values that differ, and all values of nodes
/// whose name is new or has another effect.  Values of nodes that are gone are not sent.
void notify_replaced(Notify* notify, const Rack* before, const Rack* now, const Peer* maker);

/// Send the keys that are due, up to a limited number of datagrams.  Call it at notify_wake_ns().
void notify_flush(Notify* notify, uint64_t now_ns);

/// Time of the next notify_flush(); UINT64_MAX: no key is due.
uint64_t notify_wake_ns(const Notify* notify);

uint32_t notify_n_subscribers(const Notify* notify);

void notify_clear(Notify* notify);

#endif
