// SPDX-License-Identifier: GPL-3.0-or-later
// The "leaky bucket as a meter" of ITU-T I.371, in units of messages.

#include "bucket.h"

Bucket
bucket_with(const double tokens, const uint64_t now_ns)
{
  return (Bucket){ tokens, now_ns };
}

static void
fill(Bucket* const bucket, const uint64_t now_ns)
{
  bucket->tokens += (double)(now_ns - bucket->last_ns) * 1e-9 * BUCKET_RATE_HZ;
  bucket->tokens = bucket->tokens < BUCKET_BURST ? bucket->tokens : BUCKET_BURST;
  bucket->last_ns = now_ns;
}

bool
bucket_take(Bucket* const bucket, const uint64_t now_ns, const uint32_t n)
{
  fill(bucket, now_ns);
  if (bucket->tokens < n) {
    return false;
  }
  bucket->tokens -= n;
  return true;
}
