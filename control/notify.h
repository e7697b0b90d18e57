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

#define NOTIFY_MAX_CLIENTS 32U // of one wish
#define NOTIFY_MAX_KEYS    512U
#define NOTIFY_INTERVAL_NS UINT64_C(20000000) // as fast as eyes and faders need
#define NOTIFY_BATCH                                                                               \
  128U // values of a replaced document in one interval: what a socket's
       // buffer holds while its reader sleeps
#define NOTIFY_SENT                                                                                \
  512U // datagrams between two calls of notify_flush(), and of a part of a document

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

/// What a client may ask for.
typedef enum NotifyWish {
  NOTIFY_NEWS = 1, ///< To get what others change
  NOTIFY_QUIET = 2 ///< To get no /done
} NotifyWish;

typedef struct Client {
  Peer peer;
  unsigned wishes; ///< Bits; 0: the place is free
} Client;

/// Say to one subscriber how things are now.
typedef void (*NotifySay)(void* context, const Peer* to, const NotifyKey* key);

typedef struct Notify {
  Client clients[2U * NOTIFY_MAX_CLIENTS];
  NotifyEntry entries[NOTIFY_MAX_KEYS];
  uint32_t n_entries;  ///< Entries that have ever been used
  uint32_t next_entry; ///< Where notify_flush() goes on
  uint32_t n_sent;     ///< Datagrams since the last notify_flush()
  Backlog backlog;
  uint64_t backlog_ns; ///< When a part of it was last sent
  uint64_t sent;
  uint64_t merged; ///< Changes that never went out because a newer one took their place
  NotifySay say;
  void* context;
} Notify;

/// Grant a wish, or end it.  NOTIFY_MAX_CLIENTS have the same wish at most: of more, those that
/// have closed their ports make way.  False when all are there: they stay.
bool notify_set(Notify* notify, const Peer* peer, NotifyWish wish, bool wanted);

bool notify_is_quiet(const Notify* notify, const Peer* peer);

/// Something has changed; `maker` may be NULL.
void notify_change(Notify* notify, NotifyKey key, const Peer* maker, uint64_t now_ns);

/// An edit has put `now` in the place of `before` (NULL: of something unknown): the values that it
/// changed are to be sent, to all but `maker`, which may be NULL.
void notify_replaced(Notify* notify, const Rack* before, const Rack* now, const Peer* maker);

/// Send what is due, a bounded number of datagrams.  Call it at notify_wake_ns().
void notify_flush(Notify* notify, uint64_t now_ns);

/// When to call notify_flush(); UINT64_MAX: nothing is due.
uint64_t notify_wake_ns(const Notify* notify);

uint32_t notify_n_subscribers(const Notify* notify);

/// The subscribers as text, one a line, for the caller to free; NULL when out of memory.
char* notify_print_subscribers(const Notify* notify);

/// Subscribe those of such a text that are on this machine and of this address family.
void notify_read_subscribers(Notify* notify, const char* text, sa_family_t family);

void notify_clear(Notify* notify);

#endif
