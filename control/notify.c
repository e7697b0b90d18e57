// SPDX-License-Identifier: GPL-3.0-or-later
// Subscribers, and changes merged until their time.

#include "notify.h"

const char*
notify_address(const NotifyEvent event)
{
  static const char* const addresses[N_NOTIFY_EVENTS] = {
    [NOTIFY_RACK] = "/rack/changed",    [NOTIFY_LATENCY] = "/server/latency",
    [NOTIFY_AUDIO] = "/server/audio",   [NOTIFY_BACKEND] = "/server/backend",
    [NOTIFY_WORKER] = "/server/worker", [NOTIFY_QUARANTINE] = "/server/quarantine"
  };
  return addresses[event];
}

static Subscriber*
find_subscriber(Notify* const notify, const Peer* const peer)
{
  for (uint32_t s = 0; s < NOTIFY_MAX_SUBSCRIBERS; ++s) {
    Subscriber* const subscriber = &notify->subscribers[s];
    if (subscriber->heard_ns && peer_equal(&subscriber->peer, peer)) {
      return subscriber;
    }
  }
  return NULL;
}

void
notify_subscribe(Notify* const notify, const Peer* const peer, const bool wanted,
                 const uint64_t now_ns)
{
  Subscriber* subscriber = find_subscriber(notify, peer);
  if (!subscriber && wanted) {
    subscriber = &notify->subscribers[0];
    for (uint32_t s = 1; s < NOTIFY_MAX_SUBSCRIBERS; ++s) {
      if (notify->subscribers[s].heard_ns < subscriber->heard_ns) {
        subscriber = &notify->subscribers[s];
      }
    }
  }
  if (subscriber) {
    *subscriber = (Subscriber){ *peer, wanted ? now_ns : 0U };
  }
}

void
notify_heard(Notify* const notify, const Peer* const peer, const uint64_t now_ns)
{
  Subscriber* const subscriber = find_subscriber(notify, peer);
  if (subscriber) {
    subscriber->heard_ns = now_ns;
  }
}

static void
send_entry(Notify* const notify, NotifyEntry* const entry, const uint64_t now_ns)
{
  for (uint32_t s = 0; s < NOTIFY_MAX_SUBSCRIBERS; ++s) {
    const Subscriber* const subscriber = &notify->subscribers[s];
    if (subscriber->heard_ns &&
        !(entry->has_maker && peer_equal(&subscriber->peer, &entry->maker))) {
      notify->say(notify->context, &subscriber->peer, &entry->key);
      ++notify->sent;
    }
  }
  entry->is_due = false;
  entry->sent_ns = now_ns;
}

static bool
is_free(const NotifyEntry* const entry, const uint64_t now_ns)
{
  return !entry->is_due && now_ns - entry->sent_ns >= NOTIFY_INTERVAL_NS;
}

/// The key's entry, or a free one; NULL when there is none.
static NotifyEntry*
find_entry(Notify* const notify, const NotifyKey key, const uint64_t now_ns)
{
  NotifyEntry* unused = NULL;
  for (uint32_t e = 0; e < notify->n_entries; ++e) {
    NotifyEntry* const entry = &notify->entries[e];
    if (entry->key.uid == key.uid && entry->key.param == key.param) {
      return entry;
    }
    unused = unused || !is_free(entry, now_ns) ? unused : entry;
  }
  if (!unused && notify->n_entries < NOTIFY_MAX_KEYS) {
    unused = &notify->entries[notify->n_entries++];
  }
  if (unused) {
    *unused = (NotifyEntry){ .key = key };
  }
  return unused;
}

void
notify_change(Notify* const notify, const NotifyKey key, const Peer* const maker,
              const uint64_t now_ns)
{
  if (notify_n_subscribers(notify) == 0) {
    return;
  }
  NotifyEntry* const entry = find_entry(notify, key, now_ns);
  if (!entry) {
    // Hundreds of parameters at once: "the rack has changed" says it, to everybody.
    const NotifyKey rack = { RACK_UID_NONE, NOTIFY_RACK };
    notify_change(notify, rack, NULL, now_ns);
    return;
  }
  notify->merged += entry->is_due;
  entry->is_due = true;
  entry->has_maker = maker != NULL;
  if (maker) {
    entry->maker = *maker;
  }
  if (entry->sent_ns == 0 || now_ns - entry->sent_ns >= NOTIFY_INTERVAL_NS) {
    send_entry(notify, entry, now_ns);
  }
}

void
notify_flush(Notify* const notify, const uint64_t now_ns)
{
  for (uint32_t e = 0; e < notify->n_entries; ++e) {
    NotifyEntry* const entry = &notify->entries[e];
    if (entry->is_due && now_ns - entry->sent_ns >= NOTIFY_INTERVAL_NS) {
      send_entry(notify, entry, now_ns);
    }
  }
}

uint64_t
notify_wake_ns(const Notify* const notify)
{
  uint64_t wake_ns = UINT64_MAX;
  for (uint32_t e = 0; e < notify->n_entries; ++e) {
    const NotifyEntry* const entry = &notify->entries[e];
    if (entry->is_due && entry->sent_ns + NOTIFY_INTERVAL_NS < wake_ns) {
      wake_ns = entry->sent_ns + NOTIFY_INTERVAL_NS;
    }
  }
  return wake_ns;
}

uint32_t
notify_n_subscribers(const Notify* const notify)
{
  uint32_t n = 0;
  for (uint32_t s = 0; s < NOTIFY_MAX_SUBSCRIBERS; ++s) {
    n += notify->subscribers[s].heard_ns != 0;
  }
  return n;
}
