// SPDX-License-Identifier: GPL-3.0-or-later
// Senders in a small table, each with its buckets and its queue.

#include "sources.h"

#include <stdlib.h>
#include <string.h>

#define ZEROS 8U // behind each packet

static PeerKey
source_key(const Peer* const peer)
{
  PeerKey key = peer_key(peer);
  key.port = peer_is_loopback(peer) ? key.port : 0U;
  return key;
}

static bool
may_make_way(const Source* const source, const uint64_t now_ns)
{
  const bool is_known = source->heard_ns >= source->since_ns + SOURCES_KNOWN_NS &&
                        now_ns - source->heard_ns < SOURCES_KEEP_NS;
  return !source->first && source->shut_until_ns <= now_ns && !is_known;
}

/// The one that has been silent for longest, of those that may make way; NULL: there is none.
static Source*
find_oldest(Sources* const sources, const uint64_t now_ns)
{
  Source* oldest = NULL;
  for (uint32_t i = 0; i < SOURCES_MAX; ++i) {
    Source* const source = &sources->items[i];
    if (may_make_way(source, now_ns) && (!oldest || source->heard_ns < oldest->heard_ns)) {
      oldest = source;
    }
  }
  return oldest;
}

/// A place for a sender that is not known.  It goes on with the tokens of the one that makes way,
/// so that nobody gets more of them by changing ports.
static Source*
add_source(Sources* const sources, const PeerKey* const key, const uint64_t now_ns)
{
  Source* const source = find_oldest(sources, now_ns);
  if (source) {
    const bool is_free = source->heard_ns == 0;
    *source = (Source){ .key = *key,
                        .since_ns = now_ns,
                        .heard_ns = now_ns,
                        .rate = is_free ? bucket_with(BUCKET_BURST, now_ns) : source->rate,
                        .excess = is_free ? bucket_with(BUCKET_BURST, now_ns) : source->excess };
    source->last = &source->first;
    sources->newest = (uint32_t)(source - sources->items);
  }
  return source;
}

static Source*
find_source(Sources* const sources, const Peer* const peer, const uint64_t now_ns)
{
  const PeerKey key = source_key(peer);
  for (uint32_t i = 0; i < SOURCES_MAX; ++i) {
    const uint32_t index = (sources->newest + i) % SOURCES_MAX; // most come many in a row
    Source* const source = &sources->items[index];
    if (source->heard_ns && peer_key_equal(&source->key, &key)) {
      sources->newest = index;
      return source;
    }
  }
  return add_source(sources, &key, now_ns);
}

static Parcel*
take(Sources* const sources, Source* const source)
{
  Parcel* const parcel = source->first;
  const size_t n_all = sizeof(Parcel) + parcel->n_bytes + ZEROS;
  source->first = parcel->next;
  source->last = source->first ? source->last : &source->first;
  source->n_bytes -= n_all;
  sources->n_bytes -= n_all;
  --sources->n_parcels;
  return parcel;
}

/// Count a packet that is dropped; true when it was one too many.
static bool
drop(Sources* const sources, Source* const source, const uint64_t now_ns)
{
  ++sources->slowed;
  if (now_ns < source->shut_until_ns ||
      (bucket_take(&source->excess, now_ns, 1) && bucket_take(&sources->excess, now_ns, 1))) {
    return false;
  }
  const bool is_first =
      source->shut_ns == 0 || now_ns - source->shut_until_ns >= SOURCES_FORGIVE_NS;
  source->shut_ns = is_first ? SOURCES_MIN_SHUT_NS : 2U * source->shut_ns;
  source->shut_ns = source->shut_ns < SOURCES_MAX_SHUT_NS ? source->shut_ns : SOURCES_MAX_SHUT_NS;
  source->shut_until_ns = now_ns + source->shut_ns;
  source->since_ns = source->shut_until_ns;
  source->rate = bucket_with(SOURCES_SHUT_BURST, source->shut_until_ns);
  source->excess = bucket_with(SOURCES_SHUT_BURST, source->shut_until_ns);
  while (source->first) {
    free(take(sources, source));
    ++sources->slowed;
  }
  ++sources->shut_out;
  return true;
}

static bool
has_room(const Sources* const sources, const Source* const source, const size_t n_bytes)
{
  return source->n_bytes + sources->n_bytes + 2U * n_bytes <= SOURCES_BYTES;
}

static bool
append(Sources* const sources, Source* const source, const Peer* const peer,
       const void* const bytes, const size_t n_bytes)
{
  const size_t n_all = sizeof(Parcel) + n_bytes + ZEROS;
  Parcel* const parcel = has_room(sources, source, n_all) ? malloc(n_all) : NULL;
  if (!parcel) {
    return false;
  }
  *parcel = (Parcel){ .peer = *peer, .n_bytes = n_bytes };
  memcpy(parcel->bytes, bytes, n_bytes);
  memset(parcel->bytes + n_bytes, 0, ZEROS);
  *source->last = parcel;
  source->last = &parcel->next;
  source->n_bytes += n_all;
  sources->n_bytes += n_all;
  ++sources->n_parcels;
  return true;
}

bool
sources_put(Sources* const sources, const Peer* const peer, const uint64_t now_ns,
            const void* const bytes, const size_t n_bytes)
{
  Source* const source = find_source(sources, peer, now_ns);
  if (!source) {
    ++sources->slowed;
    return false;
  }
  source->heard_ns = now_ns;
  if (now_ns >= source->shut_until_ns && bucket_take(&source->rate, now_ns, 1) &&
      append(sources, source, peer, bytes, n_bytes)) {
    return false;
  }
  return drop(sources, source, now_ns);
}

bool
sources_charge(Sources* const sources, const Peer* const peer, const uint64_t now_ns,
               const uint32_t n_messages)
{
  if (n_messages == 0) {
    return true;
  }
  Source* const source = find_source(sources, peer, now_ns);
  const bool is_taken =
      source && now_ns >= source->shut_until_ns && bucket_take(&source->rate, now_ns, n_messages);
  sources->slowed += !is_taken;
  return is_taken;
}

Parcel*
sources_take(Sources* const sources)
{
  for (uint32_t i = 0; i < SOURCES_MAX && sources->n_parcels; ++i) {
    Source* const source = &sources->items[sources->turn];
    sources->turn = (sources->turn + 1U) % SOURCES_MAX;
    if (source->first) {
      return take(sources, source);
    }
  }
  return NULL;
}

uint32_t
sources_shut(const Sources* const sources, const uint64_t now_ns, PeerKey* const keys,
             const uint32_t capacity)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < SOURCES_MAX && n < capacity; ++i) {
    if (sources->items[i].shut_until_ns > now_ns) {
      keys[n++] = sources->items[i].key;
    }
  }
  return n;
}

uint64_t
sources_wake_ns(const Sources* const sources, const uint64_t now_ns)
{
  uint64_t wake_ns = UINT64_MAX;
  for (uint32_t i = 0; i < SOURCES_MAX; ++i) {
    const uint64_t until_ns = sources->items[i].shut_until_ns;
    wake_ns = until_ns > now_ns && until_ns < wake_ns ? until_ns : wake_ns;
  }
  return wake_ns;
}

void
sources_clear(Sources* const sources)
{
  for (Parcel* parcel = NULL; (parcel = sources_take(sources));) {
    free(parcel);
  }
}
