// SPDX-License-Identifier: GPL-3.0-or-later
// Changes that are merged until they are due, and the parameters that an edit has changed, as a
// sorted list without duplicates.

#include "notify.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_NS  NS_PER_MS              // between two searches for a free entry, if there is none
#define INDEX_KEYS (4U * NOTIFY_MAX_KEYS) // in the index, with keys that have lost their entry

const char*
notify_address(const NotifyEvent event)
{
  static const char* const addresses[N_NOTIFY_EVENTS] = {
    [NOTIFY_RACK] = "/rack/changed",      [NOTIFY_LATENCY] = "/server/latency",
    [NOTIFY_AUDIO] = "/server/audio",     [NOTIFY_BACKEND] = "/server/backend",
    [NOTIFY_WORKER] = "/server/worker",   [NOTIFY_QUARANTINE] = "/server/quarantine",
    [NOTIFY_SCANNED] = "/server/scanned", [NOTIFY_STARTED] = "/server/started",
    [NOTIFY_LEARNED] = "/midi/learned",   [NOTIFY_TEMPO] = "/rack/tempo",
    [NOTIFY_WARNING] = "/rack/warning",   [NOTIFY_TAKE] = "/take/ended"
  };
  return addresses[event];
}

// ---- subscribers ----

static void
backlog_clear(Backlog* const backlog)
{
  free(backlog->keys);
  *backlog = (Backlog){ .keys = NULL };
}

/// The bit of a client in NotifyEntry::late_for.
static uint64_t
bit_of(const uint32_t client)
{
  _Static_assert(CLIENTS_MAX <= 64U, "one bit for each client");
  return UINT64_C(1) << client;
}

static Subscriber*
subscriber_of(Notify* const notify, const Client* const client)
{
  return &notify->subscribers[client - notify->clients->of];
}

static bool
has_news(const Notify* const notify, const uint32_t client)
{
  return notify->clients->of[client].wishes & CLIENT_NEWS;
}

void
notify_forget(Notify* const notify, const Client* const client)
{
  Subscriber* const subscriber = subscriber_of(notify, client);
  backlog_clear(&subscriber->greeting);
  *subscriber = (Subscriber){ .has_norm = false };
  for (uint32_t e = 0; e < ARRAY_LEN(notify->entries); ++e) {
    notify->entries[e].late_for &= ~bit_of((uint32_t)(client - notify->clients->of));
  }
}

void
notify_pace(Notify* const notify, const Client* const client, const uint64_t interval_ns)
{
  subscriber_of(notify, client)->interval_ns = interval_ns;
}

void
notify_norm(Notify* const notify, const Peer* const sender)
{
  const bool is_there = !peer_is_loopback(sender);
  const PeerKey key = peer_key(sender);
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    const Client* const client = &notify->clients->of[c];
    Subscriber* const subscriber = &notify->subscribers[c];
    if (!has_news(notify, c) || subscriber->has_norm) {
      continue;
    }
    subscriber->has_norm = peer_key_equal(&client->key, &key) ||
                           peer_key_equal(&client->renewer, &key) ||
                           (client->is_fixed && is_there && peer_host_equal(&client->peer, sender));
  }
}

// ---- changes ----

static void
send_to(Notify* const notify, const uint32_t client, const NotifyKey* const key)
{
  const bool has_norm = notify->subscribers[client].has_norm;
  notify->say(notify->context, &notify->clients->of[client].peer, key, has_norm);
  ++notify->sent;
  notify->n_sent += has_norm ? 2U : 1U;
}

/// True if a client gets the news that `maker`, which may be NULL, has made.
static bool
wants(const Notify* const notify, const uint32_t client, const PeerKey* const maker)
{
  return has_news(notify, client) &&
         !(maker && peer_key_equal(&notify->clients->of[client].key, maker));
}

/// Send a key's state to all subscribers but `maker`, which may be NULL.
static void
send_key(Notify* const notify, const NotifyKey* const key, const PeerKey* const maker)
{
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    if (wants(notify, c, maker)) {
      send_to(notify, c, key);
    }
  }
}

/// Datagrams of one key to all subscribers: positions are further ones.
static uint32_t
count_datagrams(const Notify* const notify)
{
  uint32_t n = 0;
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    n += has_news(notify, c) ? 1U + notify->subscribers[c].has_norm : 0U;
  }
  return n;
}

static bool
may_send(const Notify* const notify)
{
  return notify->n_sent + count_datagrams(notify) <= NOTIFY_SENT;
}

static bool
is_ready(const NotifyEntry* const entry, const uint64_t now_ns)
{
  return entry->is_due && (entry->sent_ns == 0 || now_ns - entry->sent_ns >= NOTIFY_INTERVAL_NS);
}

/// Send an entry to all subscribers but its maker.  Those with longer intervals get it later.
static void
send_entry(Notify* const notify, NotifyEntry* const entry, const uint64_t now_ns)
{
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    const uint64_t bit = bit_of(c);
    if (!wants(notify, c, entry->has_maker ? &entry->maker : NULL)) {
      entry->late_for &= ~bit;
    } else if (notify->subscribers[c].interval_ns > NOTIFY_INTERVAL_NS) {
      notify->merged += (entry->late_for & bit) != 0;
      entry->late_for |= bit;
    } else {
      send_to(notify, c, &entry->key);
    }
  }
  entry->is_due = false;
  entry->sent_ns = now_ns;
}

static bool
is_free(const NotifyEntry* const entry, const uint64_t now_ns)
{
  return !entry->is_due && !entry->late_for && now_ns - entry->sent_ns >= NOTIFY_INTERVAL_NS;
}

static uint32_t
n_entries(const Notify* const notify)
{
  return N_NOTIFY_EVENTS + notify->n_params;
}

/// Find a parameter entry that is free; NULL if there is none.
static NotifyEntry*
find_free(Notify* const notify, const uint64_t now_ns)
{
  for (uint32_t n = 0; n < notify->n_params && now_ns >= notify->search_ns; ++n) {
    notify->next_free = (notify->next_free + 1U) % notify->n_params;
    NotifyEntry* const entry = &notify->entries[N_NOTIFY_EVENTS + notify->next_free];
    if (is_free(entry, now_ns)) {
      return entry;
    }
  }
  if (now_ns >= notify->search_ns) {
    notify->search_ns = now_ns + SEARCH_NS;
  }
  return notify->n_params < NOTIFY_MAX_KEYS ? &notify->entries[n_entries(notify)] : NULL;
}

/// Make the index again, without keys that have lost their entry.  Its memory suffices.
static void
renew_index(Notify* const notify)
{
  key_index_forget(&notify->index);
  for (uint32_t e = N_NOTIFY_EVENTS; e < n_entries(notify); ++e) {
    const NotifyKey* const key = &notify->entries[e].key;
    (void)key_index_set(&notify->index, key->uid, key->param, e);
  }
}

/// Give an entry, which may be the next one that was never used, to another key.  Returns false if
/// out of memory.
static bool
take_entry(Notify* const notify, NotifyEntry* const entry, const NotifyKey key)
{
  const uint32_t place = (uint32_t)(entry - notify->entries);
  if (notify->index.n_used >= INDEX_KEYS) {
    renew_index(notify);
  }
  if (!key_index_set(&notify->index, key.uid, key.param, place)) {
    return false;
  }
  if (place < n_entries(notify)) {
    (void)key_index_set(&notify->index, entry->key.uid, entry->key.param, KEY_INDEX_NONE);
  } else {
    ++notify->n_params;
  }
  *entry = (NotifyEntry){ .key = key };
  return true;
}

/// Find the entry of a key, or a free one; NULL if there is none.  An event always has an entry.
static NotifyEntry*
find_entry(Notify* const notify, const NotifyKey key, const uint64_t now_ns)
{
  if (key.uid == RACK_UID_NONE) {
    notify->entries[key.param].key = key;
    return &notify->entries[key.param];
  }
  const uint32_t found = key_index_find(&notify->index, key.uid, key.param);
  if (found != KEY_INDEX_NONE) {
    return &notify->entries[found];
  }
  NotifyEntry* const entry = find_free(notify, now_ns);
  return entry && take_entry(notify, entry, key) ? entry : NULL;
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
    // The table is full: send /rack/changed, which has an entry, to all subscribers instead.
    const NotifyKey rack = { RACK_UID_NONE, NOTIFY_RACK };
    notify_change(notify, rack, NULL, now_ns);
    return;
  }
  notify->merged += entry->is_due;
  entry->is_due = true;
  entry->has_maker = maker != NULL;
  if (maker) {
    entry->maker = peer_key(maker);
  }
  if (is_ready(entry, now_ns) && may_send(notify)) {
    send_entry(notify, entry, now_ns);
  }
}

// ---- values that an edit has changed ----

static bool
value_differs(const RackNode* const a, const RackNode* const b, const uint32_t param)
{
  const RackValue* const v = &a->values[param];
  const RackValue* const w = &b->values[param];
  return v->kind != w->kind || v->number != w->number ||
         (v->kind == VALUE_TEMPO && a->tempo_bpm != b->tempo_bpm) ||
         (v->kind == VALUE_TEXT && strcmp(v->text, w->text) != 0);
}

static uint32_t
count_params(const Rack* const rack)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < rack->n_nodes; ++i) {
    n += rack->nodes[i].fx->n_params;
  }
  return n;
}

/// Append the parameters of a node whose values differ from those in `before`.
static void
add_node(Backlog* const backlog, const Rack* const before, const RackNode* const node)
{
  const RackNode* old = before ? rack_find(before, node->name) : NULL;
  old = old && old->fx == node->fx ? old : NULL;
  for (uint32_t p = 0; p < node->fx->n_params && !node->fx->is_missing; ++p) {
    if (!old || value_differs(old, node, p)) {
      backlog->keys[backlog->n++] = (NotifyKey){ node->uid, p };
    }
  }
}

static int
compare_keys(const void* const a, const void* const b)
{
  const NotifyKey* const x = a;
  const NotifyKey* const y = b;
  return x->uid != y->uid ? (x->uid > y->uid) - (x->uid < y->uid)
                          : (x->param > y->param) - (x->param < y->param);
}

/// Sort the keys, and drop duplicates.
static void
sort(Backlog* const backlog)
{
  qsort(backlog->keys, backlog->n, sizeof(NotifyKey), compare_keys);
  uint32_t n_kept = 0;
  for (uint32_t k = 0; k < backlog->n; ++k) {
    if (n_kept == 0U || compare_keys(&backlog->keys[n_kept - 1U], &backlog->keys[k]) != 0) {
      backlog->keys[n_kept++] = backlog->keys[k];
    }
  }
  backlog->n = n_kept;
}

static bool
is_empty(const Backlog* const backlog)
{
  return backlog->next == backlog->n;
}

void
notify_replaced(Notify* const notify, const Rack* const before, const Rack* const now,
                const Peer* const maker)
{
  if (notify_n_subscribers(notify) == 0) {
    return;
  }
  Backlog* const backlog = &notify->backlog;
  const uint32_t n_waiting = backlog->n - backlog->next;
  Backlog all = { .keys = malloc((n_waiting + count_params(now) + 1U) * sizeof(NotifyKey)) };
  if (!all.keys) {
    return; // out of memory: subscribers get /rack/changed only
  }
  if (maker) {
    all.maker = peer_key(maker);
    all.has_maker =
        n_waiting == 0U || (backlog->has_maker && peer_key_equal(&backlog->maker, &all.maker));
  }
  for (uint32_t k = backlog->next; k < backlog->n; ++k) {
    if (rack_find_uid(now, backlog->keys[k].uid)) {
      all.keys[all.n++] = backlog->keys[k];
    }
  }
  for (uint32_t n = 0; n < now->n_nodes; ++n) {
    add_node(&all, before, &now->nodes[n]);
  }
  sort(&all);
  backlog_clear(backlog);
  *backlog = all;
}

bool
notify_greet(Notify* const notify, const Client* const client, const Rack* const rack)
{
  Backlog* const greeting = &subscriber_of(notify, client)->greeting;
  Backlog all = { .keys = malloc((count_params(rack) + 1U) * sizeof(NotifyKey)) };
  if (!all.keys) {
    return false;
  }
  if (rack_uses_tempo(rack)) {
    all.keys[all.n++] = (NotifyKey){ RACK_UID_NONE, NOTIFY_TEMPO };
  }
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    add_node(&all, NULL, &rack->nodes[n]);
  }
  backlog_clear(greeting);
  *greeting = all;
  return true;
}

/// True if values of a replaced document, or for a new subscriber, wait.
static bool
has_backlog(const Notify* const notify)
{
  bool has = !is_empty(&notify->backlog);
  for (uint32_t c = 0; c < CLIENTS_MAX && !has; ++c) {
    has = !is_empty(&notify->subscribers[c].greeting);
  }
  return has;
}

static bool
is_backlog_due(const Notify* const notify, const uint64_t now_ns)
{
  return has_backlog(notify) && now_ns - notify->backlog_ns >= NOTIFY_INTERVAL_NS;
}

/// Send values to new subscribers, one after the other: at most NOTIFY_MAX_VALUES in all.  The next
/// call begins with the subscriber after the last one, because one that subscribes again and again
/// has always values that wait.
static void
send_greetings(Notify* const notify)
{
  uint32_t n_left = NOTIFY_MAX_VALUES;
  for (uint32_t i = 0; i < CLIENTS_MAX && n_left; ++i) {
    notify->next_greeted = (notify->next_greeted + 1U) % CLIENTS_MAX;
    Backlog* const greeting = &notify->subscribers[notify->next_greeted].greeting;
    for (; n_left && !is_empty(greeting); --n_left) {
      send_to(notify, notify->next_greeted, &greeting->keys[greeting->next++]);
    }
    if (is_empty(greeting)) {
      backlog_clear(greeting);
    }
  }
}

/// Send the next part of the values that an edit has changed.
static void
send_backlog(Notify* const notify)
{
  const uint32_t n_datagrams = count_datagrams(notify);
  uint32_t n_left = n_datagrams ? NOTIFY_SENT / n_datagrams : 0U;
  n_left = n_left < NOTIFY_MAX_VALUES ? n_left : NOTIFY_MAX_VALUES;
  Backlog* const backlog = &notify->backlog;
  for (; n_left && !is_empty(backlog); --n_left) {
    send_key(notify, &backlog->keys[backlog->next++], backlog->has_maker ? &backlog->maker : NULL);
  }
  if (!n_datagrams || is_empty(backlog)) {
    backlog_clear(backlog);
  }
}

// ---- what is due ----

/// The clients with longer intervals for which entries wait, as NotifyEntry::late_for.
static uint64_t
late_clients(const Notify* const notify)
{
  uint64_t late_for = 0;
  for (uint32_t e = 0; e < n_entries(notify); ++e) {
    late_for |= notify->entries[e].late_for;
  }
  return late_for;
}

/// Send a client with a longer interval all that waits for it.
static void
send_late(Notify* const notify, const uint32_t client, const uint64_t now_ns)
{
  const uint64_t bit = bit_of(client);
  Subscriber* const subscriber = &notify->subscribers[client];
  for (uint32_t e = 0; e < n_entries(notify); ++e) {
    NotifyEntry* const entry = &notify->entries[e];
    if (entry->late_for & bit && notify->n_sent + 1U + subscriber->has_norm > NOTIFY_SENT) {
      return; // the next flush continues
    }
    if (entry->late_for & bit) {
      send_to(notify, client, &entry->key);
      entry->late_for &= ~bit;
    }
  }
  subscriber->next_ns = now_ns + subscriber->interval_ns;
}

static void
send_all_late(Notify* const notify, const uint64_t now_ns)
{
  const uint64_t late_for = late_clients(notify);
  for (uint32_t c = 0; c < CLIENTS_MAX && late_for; ++c) {
    if (late_for & bit_of(c) && notify->subscribers[c].next_ns <= now_ns) {
      send_late(notify, c, now_ns);
    }
  }
}

void
notify_flush(Notify* const notify, const uint64_t now_ns)
{
  notify->n_sent = 0;
  for (uint32_t n = 0; n < n_entries(notify) && may_send(notify); ++n) {
    notify->next_entry %= n_entries(notify);
    NotifyEntry* const entry = &notify->entries[notify->next_entry++];
    if (is_ready(entry, now_ns)) {
      send_entry(notify, entry, now_ns);
    }
  }
  send_all_late(notify, now_ns);
  if (is_backlog_due(notify, now_ns)) {
    send_backlog(notify);
    send_greetings(notify);
    notify->backlog_ns = now_ns;
  }
}

uint64_t
notify_wake_ns(const Notify* const notify)
{
  uint64_t late_for = 0;
  uint64_t wake_ns = has_backlog(notify) ? notify->backlog_ns + NOTIFY_INTERVAL_NS : UINT64_MAX;
  for (uint32_t e = 0; e < n_entries(notify); ++e) {
    const NotifyEntry* const entry = &notify->entries[e];
    const uint64_t due_ns = entry->sent_ns ? entry->sent_ns + NOTIFY_INTERVAL_NS : 0U;
    wake_ns = entry->is_due && due_ns < wake_ns ? due_ns : wake_ns;
    late_for |= entry->late_for;
  }
  for (uint32_t c = 0; c < CLIENTS_MAX && late_for; ++c) {
    const uint64_t next_ns = notify->subscribers[c].next_ns;
    wake_ns = late_for & bit_of(c) && next_ns < wake_ns ? next_ns : wake_ns;
  }
  return wake_ns;
}

uint32_t
notify_n_subscribers(const Notify* const notify)
{
  return client_count(notify->clients, CLIENT_NEWS);
}

void
notify_clear(Notify* const notify)
{
  backlog_clear(&notify->backlog);
  key_index_clear(&notify->index);
  for (uint32_t c = 0; c < CLIENTS_MAX; ++c) {
    backlog_clear(&notify->subscribers[c].greeting);
  }
}
