// SPDX-License-Identifier: GPL-3.0-or-later
// The part of one sender is counted anew for each batch: lists are bounded, and no sum can be
// wrong.

#include "share.h"

static Share
share_of_sender(const Batch* const list, const Peer* const peer)
{
  const PeerKey sender = peer_sender(peer);
  Share share = { 0, 0 };
  for (const Batch* batch = list; batch; batch = batch->next) {
    const PeerKey key = peer_sender(&batch->peer);
    if (peer_key_equal(&key, &sender)) {
      ++share.n_batches;
      share.n_bytes += batch->n_bytes;
    }
  }
  return share;
}

Status
share_check(const Share* const max, const Share* const used, const Batch* const list,
            const Batch* const batch, const char* const what, Error* const error)
{
  const Share own = share_of_sender(list, &batch->peer);
  if (used->n_batches + own.n_batches + 1U > max->n_batches) {
    return error_set(error, STATUS_LIMIT, "%u %s, %u of them from this sender", used->n_batches,
                     what, own.n_batches);
  }
  if (used->n_bytes + own.n_bytes + batch->n_bytes > max->n_bytes) {
    return error_set(error, STATUS_LIMIT, "%zu KiB of %s, %zu KiB of them from this sender",
                     used->n_bytes >> 10U, what, own.n_bytes >> 10U);
  }
  return STATUS_OK;
}
