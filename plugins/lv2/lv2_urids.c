// SPDX-License-Identifier: GPL-3.0-or-later
// A hash table with chains.  Entries never change, and a lock orders the writers, so readers need
// no lock.

#include "lv2_urids.h"

#include "engine/base/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N_CHAINS    4096U
#define BLOCK_URIDS 256U

typedef struct Entry {
  struct Entry* next;
  LV2_URID urid;
  char uri[];
} Entry;

typedef _Atomic(Entry*) EntryLink;

static EntryLink chains[N_CHAINS];
static _Atomic(EntryLink*) blocks[URIDS_MAX / BLOCK_URIDS]; // entries by their numbers
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LV2_URID last_urid; // under the lock

static Entry*
find(const EntryLink* const chain, const char* const uri)
{
  Entry* entry = atomic_load_explicit(chain, memory_order_acquire);
  while (entry && strcmp(entry->uri, uri) != 0) {
    entry = entry->next;
  }
  return entry;
}

/// The place of a number in the blocks; NULL if out of memory.
static EntryLink*
place_of(const LV2_URID urid)
{
  _Atomic(EntryLink*)* const block = blocks + urid / BLOCK_URIDS;
  if (!atomic_load_explicit(block, memory_order_relaxed)) {
    EntryLink* const made = calloc(BLOCK_URIDS, sizeof(*made));
    atomic_store_explicit(block, made, memory_order_release);
  }
  EntryLink* const places = atomic_load_explicit(block, memory_order_relaxed);
  return places ? places + urid % BLOCK_URIDS : NULL;
}

static Entry*
add(EntryLink* const chain, const char* const uri)
{
  const LV2_URID urid = last_urid + 1U;
  const size_t n_bytes = strlen(uri) + 1U;
  EntryLink* const place = urid < URIDS_MAX ? place_of(urid) : NULL;
  Entry* const entry = place ? malloc(sizeof(*entry) + n_bytes) : NULL;
  if (entry) {
    entry->next = atomic_load_explicit(chain, memory_order_relaxed);
    entry->urid = urid;
    memcpy(entry->uri, uri, n_bytes);
    last_urid = urid;
    atomic_store_explicit(place, entry, memory_order_release);
    atomic_store_explicit(chain, entry, memory_order_release);
  }
  return entry;
}

LV2_URID
urid_map(const char* const uri)
{
  EntryLink* const chain = chains + hash_text(HASH32_START, uri) % N_CHAINS;
  const Entry* entry = find(chain, uri);
  if (!entry) {
    pthread_mutex_lock(&lock);
    entry = find(chain, uri);
    entry = entry ? entry : add(chain, uri);
    pthread_mutex_unlock(&lock);
  }
  return entry ? entry->urid : 0U;
}

LV2_URID
urid_map_sparingly(const char* const uri)
{
  pthread_mutex_lock(&lock);
  const bool has_room = last_urid < URIDS_MAX - 1U - URIDS_KEPT;
  pthread_mutex_unlock(&lock);
  const Entry* const entry = find(chains + hash_text(HASH32_START, uri) % N_CHAINS, uri);
  return entry || has_room ? urid_map(uri) : 0U;
}

const char*
urid_unmap(const LV2_URID urid)
{
  const EntryLink* const block =
      urid < URIDS_MAX ? atomic_load_explicit(blocks + urid / BLOCK_URIDS, memory_order_acquire)
                       : NULL;
  const Entry* const entry =
      block ? atomic_load_explicit(block + urid % BLOCK_URIDS, memory_order_acquire) : NULL;
  return entry ? entry->uri : NULL;
}
