// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A token bucket per sender: one that floods the server is slowed down, the others are not.

   The rate is generous: 100 faders at 100 messages a second each are half of it.  The burst lets
   the largest packet through, several times over.
*/
#ifndef WARPRACK_CONTROL_BUCKET_H
#define WARPRACK_CONTROL_BUCKET_H

#include "peer.h"

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_RATE_HZ 20000.0 // messages per second and sender
#define BUCKET_BURST   8192.0  // messages at once
#define BUCKETS_MAX    64U     // senders known at a time; the one silent for longest makes way

typedef struct Bucket {
  Peer peer;
  double tokens;
  uint64_t last_ns; ///< 0: free
} Bucket;

typedef struct Buckets {
  Bucket items[BUCKETS_MAX];
} Buckets;

/// Take n messages from the sender's bucket; false, and nothing taken, when it holds fewer.
bool buckets_take(Buckets* buckets, const Peer* peer, uint64_t now_ns, uint32_t n_messages);

#endif
