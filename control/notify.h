// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Settings of clients: subscription to the changes of others, and suppression of /done.

   A client is an address with a port.  A client of this machine keeps its settings until its port
   is closed.  The server cannot see the ports of other machines: a client there has a lease.

   A change is identified by a key: a parameter, or one of the NOTIFY_* events.  Subscribers get the
   newest state of a key at most once in NOTIFY_INTERVAL_NS, and always its last state; a client may
   choose a longer interval, in which it gets all keys that have changed at once.  The client
   that made the change gets no message.  When an edit replaces the document, the values that it
   changed follow, a part of them in each interval.
*/
#ifndef WARPRACK_CONTROL_NOTIFY_H
#define WARPRACK_CONTROL_NOTIFY_H

#include "control/net/peer.h"
#include "engine/base/status.h"
#include "engine/base/time.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTIFY_MAX_CLIENTS 32U               // for each NotifyWish
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
  NOTIFY_TEMPO,
  NOTIFY_WARNING,
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
  Peer maker; ///< The client that made the newest change
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
  Peer maker;
  bool has_maker; ///< The client that made all the changes and knows their values
} Backlog;

/// A setting of a client, as a bit.
typedef enum NotifyWish {
  NOTIFY_NEWS = 1, ///< The client gets the changes of others
  NOTIFY_QUIET = 2 ///< The client gets no /done
} NotifyWish;

typedef struct Client {
  Peer peer;
  unsigned wishes;      ///< Bits of NotifyWish; 0: the entry is free
  bool is_fixed;        ///< It stays a subscriber for ever
  bool has_norm;        ///< It gets positions beside values, see notify_norm()
  uint64_t until_ns;    ///< End of its lease; UINT64_MAX: it has none
  uint64_t interval_ns; ///< Of its news, if longer than NOTIFY_INTERVAL_NS ...
  uint64_t next_ns;     ///< ... and the time from which it may get the next ones
  Peer renewer;         ///< The client that asked for it: its packets renew the lease, too
  Backlog greeting;     ///< Values to send to it because it has subscribed
} Client;

/// Sends the current state of a key to one subscriber, of a value also as a position if `has_norm`.
typedef void (*NotifySay)(void* context, const Peer* to, const NotifyKey* key, bool has_norm);

typedef struct Notify {
  Client clients[2U * NOTIFY_MAX_CLIENTS];
  NotifyEntry entries[N_NOTIFY_EVENTS + NOTIFY_MAX_KEYS]; ///< One per event, then parameters
  uint32_t n_params;   ///< Number of parameter entries that were ever used
  uint32_t next_entry; ///< The entry at which notify_flush() continues
  uint32_t n_sent;     ///< Datagrams since the last notify_flush()
  Backlog backlog;
  uint64_t backlog_ns;   ///< Time at which a part of the backlog was last sent
  uint32_t next_greeted; ///< The client that got values of Client::greeting last
  uint64_t sent;
  uint64_t merged; ///< Changes that were not sent because a newer one replaced them
  NotifySay say;
  void* context;
} Notify;

/// Set or clear a setting of a client.  At most NOTIFY_MAX_CLIENTS clients can have the same
/// setting; for a further one, clients that have closed their ports are removed.  Returns false,
/// without any change, if all ports are open.
bool notify_set(Notify* notify, const Peer* peer, NotifyWish wish, bool wanted);

/// Remove a client with all its settings, because its connection has ended.
void notify_forget(Notify* notify, const Peer* peer);

bool notify_is_quiet(Notify* notify, const Peer* peer);

/// Subscribe a client for ever.  Returns false if there is no room.
bool notify_fix(Notify* notify, const Peer* peer);

bool notify_is_fixed(Notify* notify, const Peer* peer);

/// Send positions beside values, from now on, to the subscribers of a sender that uses positions:
/// itself, ports that it has subscribed, and the fixed clients of its machine unless that is ours.
void notify_norm(Notify* notify, const Peer* sender);

/// Send a subscriber its news, except values of replaced documents, at most once in this time;
/// 0: in NOTIFY_INTERVAL_NS.
void notify_pace(Notify* notify, const Peer* peer, uint64_t interval_ns);

/// Let the settings of a client that is not fixed end at this time, unless a packet from it, or
/// from `renewer`, comes before.
void notify_lease(Notify* notify, const Peer* peer, const Peer* renewer, uint64_t until_ns);

/// Extend the leases that a packet of this sender renews.
void notify_renew(Notify* notify, const Peer* sender, uint64_t until_ns);

/// Remove the clients whose lease has ended.
void notify_expire(Notify* notify, uint64_t now_ns);

/// Send a subscriber the tempo of a rack, if that uses one, and all its values, a part of them in
/// each interval.  Returns false if out of memory.
bool notify_greet(Notify* notify, const Peer* peer, const Rack* rack);

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

/// Print the subscribers on this machine that have no connection, which would end with the server,
/// one per line.  The caller frees the text; NULL if out of memory.
char* notify_print_subscribers(const Notify* notify);

/// Subscribe clients from a text of notify_print_subscribers(): those with this address family.
void notify_read_subscribers(Notify* notify, const char* text, sa_family_t family);

void notify_clear(Notify* notify);

#endif
