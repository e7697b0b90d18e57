// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Subscriptions of clients: the changes that others make, and whether the client gets /done.

   A change is a key: a parameter, or one of the NOTIFY_* events.  Subscribers get its newest state
   at most once in NOTIFY_INTERVAL_NS, and always the last one; whoever made it is left out.  When
   an edit replaces the document, the values that it changed follow one after the other, a part of
   them in each interval.
*/
#ifndef WARPRACK_CONTROL_NOTIFY_H
#define WARPRACK_CONTROL_NOTIFY_H

#include "backlog.h"
#include "peer.h"

#include "../engine/rack.h"
#include "../engine/status.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTIFY_MAX_CLIENTS 32U
#define NOTIFY_MAX_KEYS    512U
#define NOTIFY_INTERVAL_NS UINT64_C(20000000) // as fast as eyes and faders need
#define NOTIFY_BATCH                                                                               \
  128U                         // values of a replaced document in one interval: what a socket's
                               // buffer holds while its reader sleeps
#define NOTIFY_BATCH_SENT 512U // ... and datagrams to all subscribers, but one value at least

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

/// The address at which subscribers are told of it. [any]
const char* notify_address(NotifyEvent event);

typedef struct NotifyEntry {
  NotifyKey key;
  Peer maker; ///< Of the newest change
  bool has_maker;
  bool is_due;      ///< Changed since it was last sent
  uint64_t sent_ns; ///< 0: never; free when not due either and long ago
} NotifyEntry;

/// A client that subscribes, or that gets no /done.
typedef struct Client {
  Peer peer;
  uint64_t heard_ns;  ///< When it last spoke
  bool is_subscribed; ///< Gets what others change
  bool is_quiet;      ///< Gets no /done; the place is free when neither is set
} Client;

/// Say to one subscriber how things are now.
typedef void (*NotifySay)(void* context, const Peer* to, const NotifyKey* key);

typedef struct Notify {
  Client clients[NOTIFY_MAX_CLIENTS];
  NotifyEntry entries[NOTIFY_MAX_KEYS];
  uint32_t n_entries; ///< Entries that have ever been used
  Backlog backlog;
  uint64_t backlog_ns; ///< When a part of it was last sent
  uint64_t sent;
  uint64_t merged; ///< Changes that never went out because a newer one took their place
  NotifySay say;
  void* context;
} Notify;

/// Begin or end to send a peer what others change; leave /done out for it, or not any more.  Of too
/// many clients the one that has been silent for longest makes way.
void notify_subscribe(Notify* notify, const Peer* peer, bool wanted, uint64_t now_ns);
void notify_set_quiet(Notify* notify, const Peer* peer, bool quiet, uint64_t now_ns);

bool notify_is_quiet(const Notify* notify, const Peer* peer);

/// The peer has spoken.
void notify_heard(Notify* notify, const Peer* peer, uint64_t now_ns);

/// Something has changed; `maker` may be NULL.
void notify_change(Notify* notify, NotifyKey key, const Peer* maker, uint64_t now_ns);

/// An edit has put `now` in the place of `before` (NULL: of something unknown): the values that it
/// changed are to be sent, to all but `maker`, which may be NULL.
void notify_replaced(Notify* notify, const Rack* before, const Rack* now, const Peer* maker);

/// Send what is due.  Call it at notify_wake_ns().
void notify_flush(Notify* notify, uint64_t now_ns);

/// When to call notify_flush(); UINT64_MAX: nothing is due.
uint64_t notify_wake_ns(const Notify* notify);

uint32_t notify_n_subscribers(const Notify* notify);

/// The subscribers as text, one a line, for the caller to free; NULL when out of memory.
char* notify_print_subscribers(const Notify* notify);

/// Subscribe those of such a text that are on this machine and of this address family.
void notify_read_subscribers(Notify* notify, const char* text, sa_family_t family, uint64_t now_ns);

void notify_clear(Notify* notify);

#endif
