// SPDX-License-Identifier: GPL-3.0-or-later
/// A token bucket: so much at once, and so much a second from then on.
#ifndef WARPRACK_CONTROL_BUCKET_H
#define WARPRACK_CONTROL_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_RATE_HZ 20000.0 // 100 faders at 100 messages a second each are half of it
#define BUCKET_BURST   8192.0  // the largest packet, several times over

typedef struct Bucket {
  double tokens;
  uint64_t last_ns; ///< When it was filled last
} Bucket;

/// A bucket with so many tokens in it now.
Bucket bucket_with(double tokens, uint64_t now_ns);

/// Take n tokens; false, and nothing taken, when it holds fewer.
bool bucket_take(Bucket* bucket, uint64_t now_ns, uint32_t n);

#endif
