// SPDX-License-Identifier: GPL-3.0-or-later
// Clients and their settings, changes that are merged until they are due, and the parameters that
// an edit has changed, as a sorted list without duplicates.

#include "notify.h"

#include "control/net/own.h"

#include <stdlib.h>
#include <string.h>

const char*
notify_address(const NotifyEvent event)
{
  static const char* const addresses[N_NOTIFY_EVENTS] = {
    [NOTIFY_RACK] = "/rack/changed",      [NOTIFY_LATENCY] = "/server/latency",
    [NOTIFY_AUDIO] = "/server/audio",     [NOTIFY_BACKEND] = "/server/backend",
    [NOTIFY_WORKER] = "/server/worker",   [NOTIFY_QUARANTINE] = "/server/quarantine",
    [NOTIFY_SCANNED] = "/server/scanned", [NOTIFY_STARTED] = "/server/started",
    [NOTIFY_TEMPO] = "/rack/tempo",       [NOTIFY_WARNING] = "/rack/warning"
  };
  return addresses[event];
}

// ---- clients ----

/// NULL if the peer is not in the table.
static Client*
find_client(Notify* const notify, const Peer* const peer)
{
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    Client* const client = &notify->clients[c];
    if (client->wishes && peer_equal(&client->peer, peer)) {
      return client;
    }
  }
  return NULL;
}

/// Take a free entry.  There is one, because the table has room for the maximum of both settings.
static Client*
add_client(Notify* const notify, const Peer* const peer)
{
  Client* client = notify->clients;
  while (client->wishes) {
    ++client;
  }
  *client = (Client){ .peer = *peer, .until_ns = UINT64_MAX };
  return client;
}

static void
backlog_clear(Backlog* const backlog)
{
  free(backlog->keys);
  *backlog = (Backlog){ .keys = NULL };
}

/// The client's bit in NotifyEntry::late_for.
static uint64_t
bit_of(const Notify* const notify, const Client* const client)
{
  _Static_assert(ARRAY_LEN(notify->clients) <= 64U, "one bit for each client");
  return UINT64_C(1) << (client - notify->clients);
}

static void
drop_wishes(Notify* const notify, Client* const client, const unsigned wishes)
{
  client->wishes &= ~wishes;
  if (client->wishes & NOTIFY_NEWS) {
    return;
  }
  client->has_norm = false;
  backlog_clear(&client->greeting);
  for (uint32_t e = 0; e < ARRAY_LEN(notify->entries); ++e) {
    notify->entries[e].late_for &= ~bit_of(notify, client);
  }
}

static uint32_t
count_wishes(const Notify* const notify, const NotifyWish wish)
{
  uint32_t n = 0;
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    n += (notify->clients[c].wishes & wish) != 0;
  }
  return n;
}

static void
forget_gone(Notify* const notify)
{
  OwnAddresses own = { .n_keys = 0 };
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    Client* const client = &notify->clients[c];
    if (client->wishes && !client->is_fixed && !client->peer.connection &&
        own_has(&own, &client->peer) && peer_is_closed(&client->peer)) {
      drop_wishes(notify, client, client->wishes);
    }
  }
}

static bool
has_place(Notify* const notify, const NotifyWish wish)
{
  if (count_wishes(notify, wish) == NOTIFY_MAX_CLIENTS) {
    forget_gone(notify);
  }
  return count_wishes(notify, wish) < NOTIFY_MAX_CLIENTS;
}

bool
notify_set(Notify* const notify, const Peer* const peer, const NotifyWish wish, const bool wanted)
{
  Client* client = find_client(notify, peer);
  if (client && !wanted) {
    drop_wishes(notify, client, wish);
  } else if (wanted && !(client && client->wishes & wish)) {
    if (!has_place(notify, wish)) {
      return false;
    }
    client = find_client(notify, peer); // has_place() may have removed it
    client = client ? client : add_client(notify, peer);
    client->wishes |= wish;
  }
  return true;
}

void
notify_forget(Notify* const notify, const Peer* const peer)
{
  Client* const client = find_client(notify, peer);
  if (client) {
    drop_wishes(notify, client, client->wishes);
  }
}

bool
notify_is_quiet(Notify* const notify, const Peer* const peer)
{
  const Client* const client = find_client(notify, peer);
  return client && client->wishes & NOTIFY_QUIET;
}

bool
notify_fix(Notify* const notify, const Peer* const peer)
{
  const bool is_set = notify_set(notify, peer, NOTIFY_NEWS, true);
  if (is_set) {
    find_client(notify, peer)->is_fixed = true;
  }
  return is_set;
}

bool
notify_is_fixed(Notify* const notify, const Peer* const peer)
{
  const Client* const client = find_client(notify, peer);
  return client && client->is_fixed;
}

void
notify_pace(Notify* const notify, const Peer* const peer, const uint64_t interval_ns)
{
  Client* const client = find_client(notify, peer);
  if (client) {
    client->interval_ns = interval_ns;
  }
}

// ---- leases ----

void
notify_lease(Notify* const notify, const Peer* const peer, const Peer* const renewer,
             const uint64_t until_ns)
{
  Client* const client = find_client(notify, peer);
  if (client && !client->is_fixed) {
    client->renewer = *renewer;
    client->until_ns = until_ns;
  }
}

void
notify_renew(Notify* const notify, const Peer* const sender, const uint64_t until_ns)
{
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    Client* const client = &notify->clients[c];
    if (client->wishes && client->until_ns != UINT64_MAX &&
        (peer_equal(&client->peer, sender) || peer_equal(&client->renewer, sender))) {
      client->until_ns = until_ns;
    }
  }
}

void
notify_norm(Notify* const notify, const Peer* const sender)
{
  const bool is_there = !peer_is_loopback(sender);
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    Client* const client = &notify->clients[c];
    if (!(client->wishes & NOTIFY_NEWS) || client->has_norm) {
      continue;
    }
    client->has_norm = peer_equal(&client->peer, sender) || peer_equal(&client->renewer, sender) ||
                       (client->is_fixed && is_there && peer_host_equal(&client->peer, sender));
  }
}

void
notify_expire(Notify* const notify, const uint64_t now_ns)
{
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    Client* const client = &notify->clients[c];
    if (client->wishes && client->until_ns <= now_ns) {
      drop_wishes(notify, client, client->wishes);
    }
  }
}

// ---- changes ----

static void
send_to(Notify* const notify, const Client* const client, const NotifyKey* const key)
{
  notify->say(notify->context, &client->peer, key, client->has_norm);
  ++notify->sent;
  notify->n_sent += client->has_norm ? 2U : 1U;
}

/// True if a client gets the news that `maker`, which may be NULL, has made.
static bool
wants(const Client* const client, const Peer* const maker)
{
  return client->wishes & NOTIFY_NEWS && !(maker && peer_equal(&client->peer, maker));
}

/// Send a key's state to all subscribers but `maker`, which may be NULL.
static void
send_key(Notify* const notify, const NotifyKey* const key, const Peer* const maker)
{
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    const Client* const client = &notify->clients[c];
    if (wants(client, maker)) {
      send_to(notify, client, key);
    }
  }
}

/// Datagrams of one key to all subscribers: positions are further ones.
static uint32_t
count_datagrams(const Notify* const notify)
{
  uint32_t n = 0;
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    const Client* const client = &notify->clients[c];
    n += client->wishes & NOTIFY_NEWS ? 1U + client->has_norm : 0U;
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
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    const Client* const client = &notify->clients[c];
    const uint64_t bit = bit_of(notify, client);
    if (!wants(client, entry->has_maker ? &entry->maker : NULL)) {
      entry->late_for &= ~bit;
    } else if (client->interval_ns > NOTIFY_INTERVAL_NS) {
      notify->merged += (entry->late_for & bit) != 0;
      entry->late_for |= bit;
    } else {
      send_to(notify, client, &entry->key);
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

/// Find the entry of a key, or a free one; NULL if there is none.  An event always has an entry.
static NotifyEntry*
find_entry(Notify* const notify, const NotifyKey key, const uint64_t now_ns)
{
  if (key.uid == RACK_UID_NONE) {
    notify->entries[key.param].key = key;
    return &notify->entries[key.param];
  }
  NotifyEntry* unused = NULL;
  for (uint32_t e = N_NOTIFY_EVENTS; e < n_entries(notify); ++e) {
    NotifyEntry* const entry = &notify->entries[e];
    if (entry->key.uid == key.uid && entry->key.param == key.param) {
      return entry;
    }
    unused = unused || !is_free(entry, now_ns) ? unused : entry;
  }
  if (!unused && notify->n_params < NOTIFY_MAX_KEYS) {
    unused = &notify->entries[N_NOTIFY_EVENTS + notify->n_params++];
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
    // The table is full: send /rack/changed, which has an entry, to all subscribers instead.
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
  if (maker && (n_waiting == 0U || (backlog->has_maker && peer_equal(&backlog->maker, maker)))) {
    all.maker = *maker;
    all.has_maker = true;
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
notify_greet(Notify* const notify, const Peer* const peer, const Rack* const rack)
{
  Client* const client = find_client(notify, peer);
  Backlog all = { .keys = malloc((count_params(rack) + 1U) * sizeof(NotifyKey)) };
  if (!client || !all.keys) {
    free(all.keys);
    return false;
  }
  if (rack_uses_tempo(rack)) {
    all.keys[all.n++] = (NotifyKey){ RACK_UID_NONE, NOTIFY_TEMPO };
  }
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    add_node(&all, NULL, &rack->nodes[n]);
  }
  backlog_clear(&client->greeting);
  client->greeting = all;
  return true;
}

/// True if values of a replaced document, or for a new subscriber, wait.
static bool
has_backlog(const Notify* const notify)
{
  bool has = !is_empty(&notify->backlog);
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients) && !has; ++c) {
    has = !is_empty(&notify->clients[c].greeting);
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
  for (uint32_t i = 0; i < ARRAY_LEN(notify->clients) && n_left; ++i) {
    notify->next_greeted = (notify->next_greeted + 1U) % ARRAY_LEN(notify->clients);
    Client* const client = &notify->clients[notify->next_greeted];
    Backlog* const greeting = &client->greeting;
    for (; n_left && !is_empty(greeting); --n_left) {
      send_to(notify, client, &greeting->keys[greeting->next++]);
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
send_late(Notify* const notify, Client* const client, const uint64_t now_ns)
{
  const uint64_t bit = bit_of(notify, client);
  for (uint32_t e = 0; e < n_entries(notify); ++e) {
    NotifyEntry* const entry = &notify->entries[e];
    if (entry->late_for & bit && notify->n_sent + 1U + client->has_norm > NOTIFY_SENT) {
      return; // the next flush continues
    }
    if (entry->late_for & bit) {
      send_to(notify, client, &entry->key);
      entry->late_for &= ~bit;
    }
  }
  client->next_ns = now_ns + client->interval_ns;
}

static void
send_all_late(Notify* const notify, const uint64_t now_ns)
{
  const uint64_t late_for = late_clients(notify);
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients) && late_for; ++c) {
    Client* const client = &notify->clients[c];
    if (late_for & bit_of(notify, client) && client->next_ns <= now_ns) {
      send_late(notify, client, now_ns);
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
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients) && late_for; ++c) {
    const Client* const client = &notify->clients[c];
    const bool is_late = late_for & bit_of(notify, client);
    wake_ns = is_late && client->next_ns < wake_ns ? client->next_ns : wake_ns;
  }
  return wake_ns;
}

uint32_t
notify_n_subscribers(const Notify* const notify)
{
  return count_wishes(notify, NOTIFY_NEWS);
}

char*
notify_print_subscribers(const Notify* const notify)
{
  char* const text = calloc(NOTIFY_MAX_CLIENTS, PEER_TEXT_BYTES + 1U);
  char* end = text;
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients) && text; ++c) {
    const Client* const client = &notify->clients[c];
    const bool outlives = peer_is_loopback(&client->peer) && !client->peer.connection;
    if (client->wishes & NOTIFY_NEWS && outlives) {
      peer_print(&client->peer, end);
      end = strcat(end, "\n") + strlen(end);
    }
  }
  return text;
}

void
notify_read_subscribers(Notify* const notify, const char* const text, const sa_family_t family)
{
  for (const char* line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    Peer peer;
    if (peer_read(line, &peer) && peer.address.ss_family == family && peer_is_loopback(&peer)) {
      notify_set(notify, &peer, NOTIFY_NEWS, true);
    }
  }
}

void
notify_clear(Notify* const notify)
{
  backlog_clear(&notify->backlog);
  for (uint32_t c = 0; c < ARRAY_LEN(notify->clients); ++c) {
    backlog_clear(&notify->clients[c].greeting);
  }
}
