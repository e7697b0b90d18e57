// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Who wants to be told what others change, and how often.

   A change is a key: a parameter, or one of the NOTIFY_* events.  Subscribers get its newest state
   at most once in NOTIFY_INTERVAL_NS, and always the last one; whoever made it is left out.
*/
#ifndef WARPRACK_CONTROL_NOTIFY_H
#define WARPRACK_CONTROL_NOTIFY_H

#include "peer.h"

#include "../engine/rack.h"
#include "../engine/status.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTIFY_MAX_SUBSCRIBERS 32U
#define NOTIFY_MAX_KEYS        512U
#define NOTIFY_INTERVAL_NS     UINT64_C(20000000) // as fast as eyes and faders need

/// A parameter of a node, or an event with uid RACK_UID_NONE.
typedef struct NotifyKey {
  RackUid uid;
  uint32_t param; ///< Or NotifyEvent
} NotifyKey;

typedef enum NotifyEvent {
  NOTIFY_RACK,
  NOTIFY_LATENCY,
  NOTIFY_AUDIO,
  NOTIFY_BACKEND,
  NOTIFY_WORKER,
  NOTIFY_QUARANTINE,
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

typedef struct Subscriber {
  Peer peer;
  uint64_t heard_ns; ///< When it last spoke; 0: free
} Subscriber;

/// Say to one subscriber how things are now.
typedef void (*NotifySay)(void* context, const Peer* to, const NotifyKey* key);

typedef struct Notify {
  Subscriber subscribers[NOTIFY_MAX_SUBSCRIBERS];
  NotifyEntry entries[NOTIFY_MAX_KEYS];
  uint32_t n_entries; ///< Entries that have ever been used
  uint64_t sent;
  uint64_t merged; ///< Changes that never went out because a newer one took their place
  NotifySay say;
  void* context;
} Notify;

/// Begin or end to tell a peer.  Of too many the one that has been silent for longest makes way.
void notify_subscribe(Notify* notify, const Peer* peer, bool wanted, uint64_t now_ns);

/// The peer has spoken.
void notify_heard(Notify* notify, const Peer* peer, uint64_t now_ns);

/// Something has changed; `maker` may be NULL.
void notify_change(Notify* notify, NotifyKey key, const Peer* maker, uint64_t now_ns);

/// Send what is due.  Call it at notify_wake_ns().
void notify_flush(Notify* notify, uint64_t now_ns);

/// When to call notify_flush(); UINT64_MAX: nothing is due.
uint64_t notify_wake_ns(const Notify* notify);

uint32_t notify_n_subscribers(const Notify* notify);

#endif
