// SPDX-License-Identifier: GPL-3.0-or-later
// Token buckets (the "leaky bucket as a meter" of ITU-T I.371, in units of messages).

#include "bucket.h"

static Bucket*
find_bucket(Buckets* const buckets, const Peer* const peer, const uint64_t now_ns)
{
  Bucket* oldest = &buckets->items[0];
  for (uint32_t i = 0; i < BUCKETS_MAX; ++i) {
    Bucket* const bucket = &buckets->items[i];
    if (bucket->last_ns && peer_equal(&bucket->peer, peer)) {
      return bucket;
    }
    if (bucket->last_ns < oldest->last_ns) {
      oldest = bucket;
    }
  }
  *oldest = (Bucket){ *peer, BUCKET_BURST, now_ns };
  return oldest;
}

bool
buckets_take(Buckets* const buckets, const Peer* const peer, const uint64_t now_ns,
             const uint32_t n_messages)
{
  Bucket* const bucket = find_bucket(buckets, peer, now_ns);
  bucket->tokens += (double)(now_ns - bucket->last_ns) * 1e-9 * BUCKET_RATE_HZ;
  bucket->tokens = bucket->tokens < BUCKET_BURST ? bucket->tokens : BUCKET_BURST;
  bucket->last_ns = now_ns;
  if (bucket->tokens < n_messages) {
    return false;
  }
  bucket->tokens -= n_messages;
  return true;
}
