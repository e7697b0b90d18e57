// SPDX-License-Identifier: GPL-3.0-or-later
// Senders in a hash table.  Each sender is in one of three lists, and has a queue.

#include "senders.h"

#include "engine/base/hash.h"
#include "engine/base/status.h"

#include <stdlib.h>
#include <string.h>

#define ZEROS       8U  // zero bytes after each packet
#define MIN_ELEMENT 12U // smallest size of a message in a bundle

// ---- senders ----

/// Continue a hash, which begins with a salt.  Its high bits are mixed into the low bits.
static uint64_t
hash_of(uint64_t hash, const void* const bytes, const size_t n_bytes)
{
  hash = hash_bytes(hash, bytes, n_bytes);
  return hash ^ hash >> 32U;
}

static Sender**
head_of(Senders* const senders, const PeerKey* const key)
{
  uint64_t hash = hash_of(senders->salt, key->address, sizeof(key->address));
  hash = hash_of(hash, &key->port, sizeof(key->port));
  hash = hash_of(hash, &key->connection, sizeof(key->connection));
  return &senders->heads[hash % ARRAY_LEN(senders->heads)];
}

static Sender*
find_sender(Senders* const senders, const PeerKey* const key)
{
  Sender* sender = *head_of(senders, key);
  while (sender && !peer_key_equal(&sender->key, key)) {
    sender = sender->next_of_hash;
  }
  return sender;
}

static void
forget_sender(Senders* const senders, Sender* const sender)
{
  Sender** at = head_of(senders, &sender->key);
  while (*at != sender) {
    at = &(*at)->next_of_hash;
  }
  *at = sender->next_of_hash;
}

/// Get an item that was never used, or that of the sender that was idle for longest; NULL if all
/// senders have packets waiting.
static Sender*
get_place(Senders* const senders)
{
  if (senders->n_items < SENDERS_MAX) {
    return &senders->items[senders->n_items++];
  }
  if (list_is_empty(&senders->idle)) {
    return NULL;
  }
  Sender* const sender = LIST_ITEM(senders->idle.behind, Sender, entry);
  forget_sender(senders, sender);
  list_remove(&sender->entry);
  return sender;
}

/// Add a new sender; NULL if there is no place for it.
static Sender*
add_sender(Senders* const senders, const PeerKey* const key, const uint64_t now_ns)
{
  Sender* const sender = get_place(senders);
  if (!sender) {
    return NULL;
  }
  Sender** const head = head_of(senders, key);
  *sender = (Sender){ .key = *key,
                      .next_of_hash = *head,
                      .credit_ns = SENDERS_QUANTUM_NS,
                      .idle_ns = now_ns,
                      .is_idle = true };
  *head = sender;
  list_init(&sender->queue);
  list_init(&sender->replaced);
  list_init(&sender->others);
  list_append(&senders->idle, &sender->entry);
  return sender;
}

Sender*
senders_get(Senders* const senders, const Peer* const peer, const uint64_t now_ns)
{
  const PeerKey key = peer_sender(peer);
  Sender* const sender = find_sender(senders, &key);
  return sender ? sender : add_sender(senders, &key, now_ns);
}

size_t
senders_n_bytes(Senders* const senders, const Peer* const peer)
{
  const PeerKey key = peer_sender(peer);
  const Sender* const sender = find_sender(senders, &key);
  return sender ? sender->n_bytes : 0U;
}

size_t
senders_n_text(Senders* const senders, const Peer* const peer)
{
  const PeerKey key = peer_sender(peer);
  const Sender* const sender = find_sender(senders, &key);
  const Bundle* const bundle = sender ? sender->bundles : NULL;
  const bool is_run = bundle && bundle->n_run < bundle->n_messages;
  const char* const text = is_run ? bundle->messages[bundle->n_run].text : NULL;
  return text ? strlen(text) : 0U;
}

bool
senders_init(Senders* const senders, const uint64_t salt)
{
  memset(senders, 0, sizeof(*senders));
  senders->salt = salt;
  senders->items = calloc(SENDERS_MAX, sizeof(Sender));
  list_init(&senders->fresh);
  list_init(&senders->waiting);
  list_init(&senders->idle);
  list_init(&senders->held);
  return senders->items;
}

// ---- credit ----

bool
sender_is_waiting(const Sender* const sender)
{
  return sender->bundles || !list_is_empty(&sender->queue);
}

bool
senders_are_waiting(const Senders* const senders)
{
  return !list_is_empty(&senders->fresh) || !list_is_empty(&senders->waiting);
}

/// Add the time for which a sender was idle to its credit, at most up to one quantum.
static void
rest(Sender* const sender, const uint64_t now_ns)
{
  if (sender->is_idle) {
    const uint64_t rested_ns = now_ns - sender->idle_ns;
    const uint64_t owed_ns = (uint64_t)(SENDERS_QUANTUM_NS - sender->credit_ns);
    sender->credit_ns += (int64_t)(rested_ns < owed_ns ? rested_ns : owed_ns);
    sender->idle_ns = now_ns;
  }
}

/// Move a sender that has received a packet out of the idle list.
static void
wake(Senders* const senders, Sender* const sender, const uint64_t now_ns)
{
  if (sender->is_idle) {
    rest(sender, now_ns);
    sender->is_idle = false;
    sender->is_fresh = sender->credit_ns > 0;
    ++senders->n_active;
    list_move(sender->is_fresh ? &senders->fresh : &senders->waiting, &sender->entry);
  }
}

int64_t
senders_quantum_ns(const Senders* const senders)
{
  const int64_t shared_ns = SENDERS_ROUND_NS / (int64_t)(senders->n_active + 1U);
  return shared_ns < SENDERS_QUANTUM_NS ? shared_ns : SENDERS_QUANTUM_NS;
}

Sender*
senders_turn(Senders* const senders)
{
  for (;;) {
    const bool is_waiting = !list_is_empty(&senders->waiting);
    const bool is_fresh = !list_is_empty(&senders->fresh);
    if (!is_waiting && !is_fresh) {
      return NULL;
    }
    ListEntry* const list = is_fresh && !(is_waiting && senders->is_turn_of_waiting)
                                ? &senders->fresh
                                : &senders->waiting;
    Sender* const sender = LIST_ITEM(list->behind, Sender, entry);
    if (sender->credit_ns > 0) {
      return sender;
    }
    sender->credit_ns += senders_quantum_ns(senders); // its turn comes one round later
    list_move(&senders->waiting, &sender->entry);
    senders->is_turn_of_waiting = false;
  }
}

void
senders_hold(Senders* const senders, Sender* const sender)
{
  list_move(&senders->held, &sender->entry);
}

void
senders_release(Senders* const senders)
{
  while (!list_is_empty(&senders->held)) {
    list_move(&senders->waiting, senders->held.behind);
  }
}

static void
release_bytes(Senders* const senders, Sender* const sender, const size_t n_bytes)
{
  sender->n_bytes -= n_bytes;
  senders->n_bytes -= n_bytes;
}

/// End the packet that was taken last, and stop charging its bytes.
static void
close_packet(Senders* const senders, Sender* const sender)
{
  release_bytes(senders, sender, sender->n_open_bytes);
  sender->n_open_bytes = 0;
}

void
senders_charge(Senders* const senders, Sender* const sender, const uint64_t now_ns,
               const uint64_t cost_ns)
{
  sender->credit_ns -= (int64_t)cost_ns;
  senders->is_turn_of_waiting = !senders->is_turn_of_waiting;
  if (!sender_is_waiting(sender)) {
    close_packet(senders, sender);
    --senders->n_active;
    sender->is_idle = true;
    sender->idle_ns = now_ns;
    list_move(&senders->idle, &sender->entry);
  } else if (sender->is_fresh) {
    sender->is_fresh = sender->credit_ns > 0;
    list_move(sender->is_fresh ? &senders->fresh : &senders->waiting, &sender->entry);
  }
}

bool
senders_has_credit(Senders* const senders, const Peer* const peer, const uint64_t now_ns)
{
  Sender* const sender = senders_get(senders, peer, now_ns);
  if (sender) {
    rest(sender, now_ns);
  }
  return sender && sender->credit_ns > 0;
}

void
senders_charge_peer(Senders* const senders, const Peer* const peer, const uint64_t now_ns,
                    const uint64_t cost_ns)
{
  Sender* const sender = senders_get(senders, peer, now_ns);
  if (sender) {
    sender->credit_ns -= (int64_t)cost_ns;
  }
}

// ---- queues ----

/// The place after a text at `at` and its padding.
static size_t
after_text(const uint8_t* const bytes, const size_t n_bytes, const size_t at)
{
  const uint8_t* const end = at < n_bytes ? memchr(bytes + at, 0, n_bytes - at) : NULL;
  return end ? ((size_t)(end - bytes) + 4U) & ~(size_t)3U : n_bytes;
}

/// As bytes_of_value(), of a note: its address and key, or that of /note/<node>/off.  So the end of
/// a note replaces its beginning.
static uint32_t
bytes_of_note(const uint8_t* const bytes, const size_t n_bytes)
{
  const size_t types = after_text(bytes, n_bytes, 0U);
  const size_t key = after_text(bytes, n_bytes, types);
  return (uint32_t)(key + 4U <= n_bytes ? key + 4U : types);
}

/// Number of leading bytes that identify the value that a packet sets: the address, and for
/// /rack/set also the first argument.  0: the packet does not set a value.  packet_check() has not
/// checked the packet yet.
static uint32_t
bytes_of_value(const uint8_t* const bytes, const size_t n_bytes)
{
  static const char set[] = "/rack/set\0\0\0,s";
  const bool is_set = n_bytes > sizeof(set) && memcmp(bytes, set, sizeof(set) - 1U) == 0;
  if (n_bytes > 6U && memcmp(bytes, "/note/", 6) == 0) {
    return bytes_of_note(bytes, n_bytes);
  }
  const bool has_value =
      n_bytes >= 6U && (memcmp(bytes, "/node/", 6) == 0 || memcmp(bytes, "/norm/", 6) == 0);
  if (!is_set && !has_value) {
    return 0;
  }
  const uint8_t* end = memchr(bytes, 0, n_bytes);
  for (uint32_t n = is_set ? 2U : 0U; end && n > 0; --n) { // past the types, past the target
    const size_t at = ((size_t)(end - bytes) + 4U) & ~(size_t)3U;
    end = at < n_bytes ? memchr(bytes + at, 0, n_bytes - at) : NULL;
  }
  if (!end) {
    return 0;
  }
  const size_t types = ((size_t)(end - bytes) + 4U) & ~(size_t)3U;
  const bool has_argument = types + 1U < n_bytes && bytes[types] == ',' && bytes[types + 1U] != 0;
  return is_set || has_argument ? (uint32_t)(end - bytes) + 1U : 0U;
}

static Packet**
newest_of(Senders* const senders, const uint64_t hash)
{
  return &senders->newest[hash % ARRAY_LEN(senders->newest)];
}

static bool
is_same_value(const Packet* const a, const Packet* const b)
{
  return a->sender == b->sender && a->n_of_value == b->n_of_value &&
         memcmp(a->bytes, b->bytes, a->n_of_value) == 0;
}

static void
remove_newest(Senders* const senders, Packet* const packet)
{
  Packet** at = newest_of(senders, packet->hash);
  while (*at != packet) {
    at = &(*at)->next_newest;
  }
  *at = packet->next_newest;
  packet->is_newest = false;
}

/// Make a packet the newest value of its address.
static void
add_newest(Senders* const senders, Packet* const packet)
{
  Packet** const head = newest_of(senders, packet->hash);
  Packet* older = *head;
  while (older && !is_same_value(older, packet)) {
    older = older->next_newest;
  }
  if (older) {
    remove_newest(senders, older);
    list_append(&older->sender->replaced, &older->spare);
  }
  packet->is_newest = true;
  packet->next_newest = *head;
  *head = packet;
}

/// Remove a packet from all its lists.
static void
remove_packet(Senders* const senders, Packet* const packet)
{
  if (packet->is_newest) {
    remove_newest(senders, packet);
  } else {
    list_remove(&packet->spare);
  }
  list_remove(&packet->entry);
  --senders->n_packets;
}

static void
charge_bytes(Senders* const senders, Sender* const sender, const size_t n_bytes)
{
  sender->n_bytes += n_bytes;
  senders->n_bytes += n_bytes;
}

static void
count_dropped(Senders* const senders, Sender* const sender)
{
  ++senders->dropped;
  ++sender->n_dropped;
}

static void
drop(Senders* const senders, Packet* const packet)
{
  release_bytes(senders, packet->sender, packet->n_charged);
  remove_packet(senders, packet);
  count_dropped(senders, packet->sender);
  free(packet);
}

/// The packet of a sender to drop first; NULL if all packets are newest values.
static Packet*
least_packet(const Sender* const sender)
{
  const ListEntry* const list =
      list_is_empty(&sender->replaced) ? &sender->others : &sender->replaced;
  return list_is_empty(list) ? NULL : LIST_ITEM(list->behind, Packet, spare);
}

/// Free the bundles of a sender: all of them, or those that may be dropped.
static void
free_bundles(Sender* const sender, const bool all)
{
  for (Bundle** at = &sender->bundles; *at;) {
    Bundle* const bundle = *at;
    if (all || !bundle->is_scheduled) {
      *at = bundle->next;
      bundle_free(bundle);
    } else {
      at = &bundle->next;
    }
  }
}

/// Drop one packet of a sender above its share, or the bundles of the packet that is being run.
static void
drop_of(Senders* const senders, Sender* const sender)
{
  Packet* const least = least_packet(sender);
  if (least) {
    drop(senders, least);
  } else if (sender->n_open_bytes) {
    free_bundles(sender, false); // the remaining bundles of the packet that is being run
    close_packet(senders, sender);
    count_dropped(senders, sender);
  } else {
    drop(senders, LIST_ITEM(sender->queue.behind, Packet, entry));
  }
}

/// Find another sender above its share; NULL if there is none.  The search begins with the sender
/// that was found last.
static Sender*
find_longer(Senders* const senders, const Sender* const than, const size_t share)
{
  for (uint32_t i = 0; i < senders->n_items; ++i) {
    Sender* const sender = &senders->items[senders->longer];
    if (sender != than && sender->n_bytes > share) {
      return sender;
    }
    senders->longer = (senders->longer + 1U) % senders->n_items;
  }
  return NULL;
}

/// Drop packets after `packet` was added, until the queues are within their limit: those of the
/// packet's sender, or of another sender above its share if the packet's sender is within its share
/// or has only this packet.
static void
make_room(Senders* const senders, Packet* const packet)
{
  Sender* const own = packet->sender;
  const size_t share = SENDERS_BYTES / (senders->n_active + 1U);
  bool is_there = true;
  while (senders->n_bytes > SENDERS_BYTES && is_there) {
    const bool is_short = own->n_bytes <= share || own->n_bytes == packet->n_charged;
    Sender* const other = is_short ? find_longer(senders, own, share) : NULL;
    if (other) {
      drop_of(senders, other);
    } else {
      Packet* const least = least_packet(own);
      is_there = least && least != packet;
      drop(senders, is_there ? least : packet);
    }
  }
}

/// The most messages and bundles of bytes in a bundle.
static size_t
most_elements(const size_t n_bytes)
{
  return n_bytes / MIN_ELEMENT + 1U;
}

/// Number of messages in a bundle, or a larger one, with the bundle itself.  packet_check() has not
/// checked the packet yet.
static size_t
count_elements(const uint8_t* const bytes, const size_t n_bytes)
{
  size_t n = 1;
  size_t at = 16U;
  while (at + 8U <= n_bytes) {
    const size_t n_element = packet_read_u32(bytes + at);
    if (n_element > n_bytes - at - 4U) {
      break; // malformed
    }
    n += bytes[at + 4U] == '#' ? most_elements(n_element) : 1U;
    at += 4U + n_element;
  }
  return n;
}

/// Bytes to charge for a packet.  A bundle needs more memory once it is parsed, and stays parsed
/// for several turns.
static size_t
charge_of(const uint8_t* const bytes, const size_t n_bytes)
{
  const bool is_bundle = n_bytes && bytes[0] == '#';
  const size_t n_most = is_bundle ? count_elements(bytes, n_bytes) : 0U;
  const size_t n_messages = n_most < PACKET_MAX_MESSAGES ? n_most : PACKET_MAX_MESSAGES;
  return sizeof(Packet) + n_bytes + n_messages * MESSAGE_BYTES;
}

static Packet*
new_packet(const Senders* const senders, Sender* const sender, const Peer* const peer,
           const void* const bytes, const size_t n_bytes)
{
  Packet* const packet = malloc(sizeof(Packet) + n_bytes + ZEROS);
  if (packet) {
    *packet = (Packet){ .sender = sender, .peer = *peer, .n_bytes = n_bytes };
    packet->n_charged = charge_of(bytes, n_bytes);
    packet->n_of_value = bytes_of_value(bytes, n_bytes);
    const uint64_t salt = senders->salt + (uint64_t)(sender - senders->items);
    packet->hash = hash_of(salt, bytes, packet->n_of_value);
    memcpy(packet->bytes, bytes, n_bytes);
    memset(packet->bytes + n_bytes, 0, ZEROS);
  }
  return packet;
}

static void
append(Senders* const senders, Packet* const packet)
{
  Sender* const sender = packet->sender;
  if (packet->n_of_value) {
    add_newest(senders, packet);
  } else {
    list_append(&sender->others, &packet->spare);
  }
  list_append(&sender->queue, &packet->entry);
  ++senders->n_packets;
  charge_bytes(senders, sender, packet->n_charged);
}

void
senders_put(Senders* const senders, const Peer* const peer, const uint64_t now_ns,
            const void* const bytes, const size_t n_bytes)
{
  Sender* const sender = senders_get(senders, peer, now_ns);
  Packet* const packet = sender ? new_packet(senders, sender, peer, bytes, n_bytes) : NULL;
  if (!packet) {
    ++senders->dropped;
    ++senders->crowded;
    return;
  }
  sender->peer = *peer;
  append(senders, packet);
  make_room(senders, packet);
  if (sender_is_waiting(sender)) {
    wake(senders, sender, now_ns);
  }
}

void
senders_put_bundle(Senders* const senders, Sender* const sender, Bundle* const bundle,
                   const uint64_t now_ns)
{
  Bundle** at = &sender->bundles;
  while (*at && (*at)->is_sorted && (*at)->n_run == 0) {
    at = &(*at)->next;
  }
  bundle->is_sorted = true;
  bundle->next = *at;
  *at = bundle;
  wake(senders, sender, now_ns);
}

Packet*
senders_take(Senders* const senders, Sender* const sender)
{
  if (list_is_empty(&sender->queue)) {
    return NULL;
  }
  Packet* const packet = LIST_ITEM(sender->queue.behind, Packet, entry);
  remove_packet(senders, packet);
  close_packet(senders, sender);
  sender->n_open_bytes = packet->n_charged; // until close_packet()
  return packet;
}

void
senders_clear(Senders* const senders)
{
  if (senders->items) {
    senders_release(senders);
  }
  for (Sender* sender = NULL; senders->items && (sender = senders_turn(senders));) {
    for (Packet* packet = NULL; (packet = senders_take(senders, sender));) {
      free(packet);
    }
    free_bundles(sender, true);
    senders_charge(senders, sender, 0, 0);
  }
  free(senders->items);
  senders->items = NULL;
}

// ---- reports of dropped packets ----

const Sender*
senders_report(Senders* const senders, const uint64_t now_ns, uint32_t* const index,
               uint64_t* const n_dropped)
{
  while (*index < senders->n_items) {
    Sender* const sender = &senders->items[(*index)++];
    if (sender->n_dropped && now_ns - sender->reported_ns >= SENDERS_REPORT_NS) {
      *n_dropped = sender->n_dropped;
      sender->n_dropped = 0;
      sender->reported_ns = now_ns;
      return sender;
    }
  }
  return NULL;
}
