// SPDX-License-Identifier: GPL-3.0-or-later
// Senders in a hash table, each in one of three lists and with a queue of its own.

#include "sources.h"

#include "engine/base/hash.h"
#include "engine/base/status.h"

#include <stdlib.h>
#include <string.h>

#define ZEROS       8U  // behind each packet
#define MIN_ELEMENT 12U // bytes of a message in a bundle

// ---- senders ----

/// The hash of more bytes, begun with a salt; its high bits count in the low ones.
static uint64_t
hash_of(uint64_t hash, const void* const bytes, const size_t n_bytes)
{
  hash = hash_bytes(hash, bytes, n_bytes);
  return hash ^ hash >> 32U;
}

static Source**
head_of(Sources* const sources, const PeerKey* const key)
{
  uint64_t hash = hash_of(sources->salt, key->address, sizeof(key->address));
  hash = hash_of(hash, &key->port, sizeof(key->port));
  return &sources->heads[hash % ARRAY_LEN(sources->heads)];
}

static Source*
find_source(Sources* const sources, const PeerKey* const key)
{
  Source* source = *head_of(sources, key);
  while (source && !peer_key_equal(&source->key, key)) {
    source = source->next_of_hash;
  }
  return source;
}

static void
forget_source(Sources* const sources, Source* const source)
{
  Source** at = head_of(sources, &source->key);
  while (*at != source) {
    at = &(*at)->next_of_hash;
  }
  *at = source->next_of_hash;
}

/// An item that was never used, or that of the sender silent for longest; NULL: there is none.
static Source*
get_place(Sources* const sources)
{
  if (sources->n_items < SOURCES_MAX) {
    return &sources->items[sources->n_items++];
  }
  if (list_is_empty(&sources->idle)) {
    return NULL;
  }
  Source* const source = LIST_ITEM(sources->idle.behind, Source, link);
  forget_source(sources, source);
  list_remove(&source->link);
  return source;
}

/// A place for a sender that is not known; NULL: all have something waiting.
static Source*
add_source(Sources* const sources, const PeerKey* const key, const uint64_t now_ns)
{
  Source* const source = get_place(sources);
  if (!source) {
    return NULL;
  }
  Source** const head = head_of(sources, key);
  *source = (Source){ .key = *key,
                      .next_of_hash = *head,
                      .credit_ns = SOURCES_QUANTUM_NS,
                      .idle_ns = now_ns,
                      .is_idle = true };
  *head = source;
  list_init(&source->queue);
  list_init(&source->replaced);
  list_init(&source->others);
  list_append(&sources->idle, &source->link);
  return source;
}

Source*
sources_get(Sources* const sources, const Peer* const peer, const uint64_t now_ns)
{
  const PeerKey key = peer_sender(peer);
  Source* const source = find_source(sources, &key);
  return source ? source : add_source(sources, &key, now_ns);
}

bool
sources_init(Sources* const sources, const uint64_t salt)
{
  memset(sources, 0, sizeof(*sources));
  sources->salt = salt;
  sources->items = calloc(SOURCES_MAX, sizeof(Source));
  list_init(&sources->fresh);
  list_init(&sources->waiting);
  list_init(&sources->idle);
  return sources->items;
}

// ---- credit ----

bool
source_is_waiting(const Source* const source)
{
  return source->batches || !list_is_empty(&source->queue);
}

bool
sources_are_waiting(const Sources* const sources)
{
  return !list_is_empty(&sources->fresh) || !list_is_empty(&sources->waiting);
}

/// Time in which a sender had nothing waiting pays its debt.
static void
rest(Source* const source, const uint64_t now_ns)
{
  if (source->is_idle) {
    const uint64_t rested_ns = now_ns - source->idle_ns;
    const uint64_t owed_ns = (uint64_t)(SOURCES_QUANTUM_NS - source->credit_ns);
    source->credit_ns += (int64_t)(rested_ns < owed_ns ? rested_ns : owed_ns);
    source->idle_ns = now_ns;
  }
}

/// A sender has something waiting.
static void
wake(Sources* const sources, Source* const source, const uint64_t now_ns)
{
  if (source->is_idle) {
    rest(source, now_ns);
    source->is_idle = false;
    source->is_fresh = source->credit_ns > 0;
    ++sources->n_active;
    list_move(source->is_fresh ? &sources->fresh : &sources->waiting, &source->link);
  }
}

int64_t
sources_quantum_ns(const Sources* const sources)
{
  const int64_t shared_ns = SOURCES_ROUND_NS / (int64_t)(sources->n_active + 1U);
  return shared_ns < SOURCES_QUANTUM_NS ? shared_ns : SOURCES_QUANTUM_NS;
}

Source*
sources_turn(Sources* const sources)
{
  for (;;) {
    const bool is_waiting = !list_is_empty(&sources->waiting);
    const bool is_fresh = !list_is_empty(&sources->fresh);
    if (!is_waiting && !is_fresh) {
      return NULL;
    }
    Link* const list = is_fresh && !(is_waiting && sources->is_turn_of_waiting) ? &sources->fresh
                                                                                : &sources->waiting;
    Source* const source = LIST_ITEM(list->behind, Source, link);
    if (source->credit_ns > 0) {
      return source;
    }
    source->credit_ns += sources_quantum_ns(sources); // it has its turn a round later
    list_move(&sources->waiting, &source->link);
    sources->is_turn_of_waiting = false;
  }
}

static void
release_bytes(Sources* const sources, Source* const source, const size_t n_bytes)
{
  source->n_bytes -= n_bytes;
  sources->n_bytes -= n_bytes;
}

/// The packet that was taken last is carried out, or given up.
static void
close_packet(Sources* const sources, Source* const source)
{
  release_bytes(sources, source, source->n_open_bytes);
  source->n_open_bytes = 0;
}

void
sources_charge(Sources* const sources, Source* const source, const uint64_t now_ns,
               const uint64_t cost_ns)
{
  source->credit_ns -= (int64_t)cost_ns;
  sources->is_turn_of_waiting = !sources->is_turn_of_waiting;
  if (!source_is_waiting(source)) {
    close_packet(sources, source);
    --sources->n_active;
    source->is_idle = true;
    source->idle_ns = now_ns;
    list_move(&sources->idle, &source->link);
  } else if (source->is_fresh) {
    source->is_fresh = source->credit_ns > 0;
    list_move(source->is_fresh ? &sources->fresh : &sources->waiting, &source->link);
  }
}

bool
sources_has_credit(Sources* const sources, const Peer* const peer, const uint64_t now_ns)
{
  Source* const source = sources_get(sources, peer, now_ns);
  if (source) {
    rest(source, now_ns);
  }
  return source && source->credit_ns > 0;
}

void
sources_charge_peer(Sources* const sources, const Peer* const peer, const uint64_t now_ns,
                    const uint64_t cost_ns)
{
  Source* const source = sources_get(sources, peer, now_ns);
  if (source) {
    source->credit_ns -= (int64_t)cost_ns;
  }
}

// ---- queues ----

/// How many bytes say which value a packet sets: the address, and for /rack/set the first argument
/// as well.  0: it is no message that sets a value.  The packet has not passed the gate.
static uint32_t
bytes_of_value(const uint8_t* const bytes, const size_t n_bytes)
{
  static const char set[] = "/rack/set\0\0\0,s";
  const bool is_set = n_bytes > sizeof(set) && memcmp(bytes, set, sizeof(set) - 1U) == 0;
  if (!is_set && (n_bytes < 6U || memcmp(bytes, "/node/", 6) != 0)) {
    return 0;
  }
  const uint8_t* end = memchr(bytes, 0, n_bytes);
  for (uint32_t n = is_set ? 2U : 0U; end && n > 0; --n) { // behind the types, behind the target
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
newest_of(Sources* const sources, const uint64_t hash)
{
  return &sources->newest[hash % ARRAY_LEN(sources->newest)];
}

static bool
is_same_value(const Packet* const a, const Packet* const b)
{
  return a->source == b->source && a->n_of_value == b->n_of_value &&
         memcmp(a->bytes, b->bytes, a->n_of_value) == 0;
}

static void
remove_newest(Sources* const sources, Packet* const packet)
{
  Packet** at = newest_of(sources, packet->hash);
  while (*at != packet) {
    at = &(*at)->next_newest;
  }
  *at = packet->next_newest;
  packet->is_newest = false;
}

/// Let a value be the newest of its address.
static void
add_newest(Sources* const sources, Packet* const packet)
{
  Packet** const head = newest_of(sources, packet->hash);
  Packet* older = *head;
  while (older && !is_same_value(older, packet)) {
    older = older->next_newest;
  }
  if (older) {
    remove_newest(sources, older);
    list_append(&older->source->replaced, &older->spare);
  }
  packet->is_newest = true;
  packet->next_newest = *head;
  *head = packet;
}

/// Take a packet out of the lists that it is in.
static void
remove_packet(Sources* const sources, Packet* const packet)
{
  if (packet->is_newest) {
    remove_newest(sources, packet);
  } else {
    list_remove(&packet->spare);
  }
  list_remove(&packet->link);
  --sources->n_parcels;
}

static void
charge_bytes(Sources* const sources, Source* const source, const size_t n_bytes)
{
  source->n_bytes += n_bytes;
  sources->n_bytes += n_bytes;
}

static void
count_dropped(Sources* const sources, Source* const source)
{
  ++sources->dropped;
  ++source->n_dropped;
}

static void
drop(Sources* const sources, Packet* const packet)
{
  release_bytes(sources, packet->source, packet->n_charged);
  remove_packet(sources, packet);
  count_dropped(sources, packet->source);
  free(packet);
}

/// The packet that a sender can spare most; NULL: all are newest values.
static Packet*
least_packet(const Source* const source)
{
  const Link* const list = list_is_empty(&source->replaced) ? &source->others : &source->replaced;
  return list_is_empty(list) ? NULL : LIST_ITEM(list->behind, Packet, spare);
}

/// Free the batches of a sender: all of them, or those that may be dropped.
static void
free_batches(Source* const source, const bool all)
{
  for (Batch** at = &source->batches; *at;) {
    Batch* const batch = *at;
    if (all || !batch->is_scheduled) {
      *at = batch->next;
      batch_free(batch);
    } else {
      at = &batch->next;
    }
  }
}

/// Drop what a sender that has more than its share can spare most.
static void
drop_of(Sources* const sources, Source* const source)
{
  Packet* const least = least_packet(source);
  if (least) {
    drop(sources, least);
  } else if (source->n_open_bytes) {
    free_batches(source, false); // the rest of the packet that is being run
    close_packet(sources, source);
    count_dropped(sources, source);
  } else {
    drop(sources, LIST_ITEM(source->queue.behind, Packet, link));
  }
}

/// Another sender that has more than its share, mostly the one that was found last; NULL: none.
static Source*
find_longer(Sources* const sources, const Source* const than, const size_t share)
{
  for (uint32_t i = 0; i < sources->n_items; ++i) {
    Source* const source = &sources->items[sources->longer];
    if (source != than && source->n_bytes > share) {
      return source;
    }
    sources->longer = (sources->longer + 1U) % sources->n_items;
  }
  return NULL;
}

/// Make room after a packet was added: at the cost of a sender that has more than its share, which
/// is the packet's own one, unless that has less, or nothing but the packet.
static void
make_room(Sources* const sources, Packet* const packet)
{
  Source* const own = packet->source;
  const size_t share = SOURCES_BYTES / (sources->n_active + 1U);
  bool is_there = true;
  while (sources->n_bytes > SOURCES_BYTES && is_there) {
    const bool is_short = own->n_bytes <= share || own->n_bytes == packet->n_charged;
    Source* const other = is_short ? find_longer(sources, own, share) : NULL;
    if (other) {
      drop_of(sources, other);
    } else {
      Packet* const least = least_packet(own);
      is_there = least && least != packet;
      drop(sources, is_there ? least : packet);
    }
  }
}

/// Bytes that a packet takes: those of a bundle grow when it is taken apart, and it may stay so for
/// several turns.
static size_t
charge_of(const uint8_t* const bytes, const size_t n_bytes)
{
  const bool is_bundle = n_bytes && bytes[0] == '#';
  const size_t n_most = is_bundle ? n_bytes / MIN_ELEMENT + 1U : 0U;
  const size_t n_messages = n_most < GATE_MAX_MESSAGES ? n_most : GATE_MAX_MESSAGES;
  return sizeof(Packet) + n_bytes + n_messages * MESSAGE_BYTES;
}

static Packet*
new_packet(const Sources* const sources, Source* const source, const Peer* const peer,
           const void* const bytes, const size_t n_bytes)
{
  Packet* const packet = malloc(sizeof(Packet) + n_bytes + ZEROS);
  if (packet) {
    *packet = (Packet){ .source = source, .peer = *peer, .n_bytes = n_bytes };
    packet->n_charged = charge_of(bytes, n_bytes);
    packet->n_of_value = bytes_of_value(bytes, n_bytes);
    const uint64_t salt = sources->salt + (uint64_t)(source - sources->items);
    packet->hash = hash_of(salt, bytes, packet->n_of_value);
    memcpy(packet->bytes, bytes, n_bytes);
    memset(packet->bytes + n_bytes, 0, ZEROS);
  }
  return packet;
}

static void
append(Sources* const sources, Packet* const packet)
{
  Source* const source = packet->source;
  if (packet->n_of_value) {
    add_newest(sources, packet);
  } else {
    list_append(&source->others, &packet->spare);
  }
  list_append(&source->queue, &packet->link);
  ++sources->n_parcels;
  charge_bytes(sources, source, packet->n_charged);
}

void
sources_put(Sources* const sources, const Peer* const peer, const uint64_t now_ns,
            const void* const bytes, const size_t n_bytes)
{
  Source* const source = sources_get(sources, peer, now_ns);
  Packet* const packet = source ? new_packet(sources, source, peer, bytes, n_bytes) : NULL;
  if (!packet) {
    ++sources->dropped;
    ++sources->crowded;
    return;
  }
  source->peer = *peer;
  append(sources, packet);
  make_room(sources, packet);
  if (source_is_waiting(source)) {
    wake(sources, source, now_ns);
  }
}

void
sources_put_batch(Sources* const sources, Source* const source, Batch* const batch,
                  const uint64_t now_ns)
{
  Batch** at = &source->batches;
  while (*at && (*at)->is_sorted && (*at)->n_run == 0) {
    at = &(*at)->next;
  }
  batch->is_sorted = true;
  batch->next = *at;
  *at = batch;
  wake(sources, source, now_ns);
}

Packet*
sources_take(Sources* const sources, Source* const source)
{
  if (list_is_empty(&source->queue)) {
    return NULL;
  }
  Packet* const packet = LIST_ITEM(source->queue.behind, Packet, link);
  remove_packet(sources, packet);
  close_packet(sources, source);
  source->n_open_bytes = packet->n_charged; // until all of it has been carried out
  return packet;
}

void
sources_clear(Sources* const sources)
{
  for (Source* source = NULL; sources->items && (source = sources_turn(sources));) {
    for (Packet* packet = NULL; (packet = sources_take(sources, source));) {
      free(packet);
    }
    free_batches(source, true);
    sources_charge(sources, source, 0, 0);
  }
  free(sources->items);
  sources->items = NULL;
}

// ---- what was dropped ----

const Source*
sources_report(Sources* const sources, const uint64_t now_ns, uint32_t* const index,
               uint64_t* const n_dropped)
{
  while (*index < sources->n_items) {
    Source* const source = &sources->items[(*index)++];
    if (source->n_dropped && now_ns - source->reported_ns >= SOURCES_REPORT_NS) {
      *n_dropped = source->n_dropped;
      source->n_dropped = 0;
      source->reported_ns = now_ns;
      return source;
    }
  }
  return NULL;
}
