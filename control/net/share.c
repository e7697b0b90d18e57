// SPDX-License-Identifier: GPL-3.0-or-later
// The share of one sender is counted for each new bundle.  The lists are short enough for that, and
// no stored sum can become wrong.

#include "share.h"

static Share
share_of_sender(const Bundle* const list, const Peer* const peer)
{
  const PeerKey sender = peer_sender(peer);
  Share share = { 0, 0 };
  for (const Bundle* bundle = list; bundle; bundle = bundle->next) {
    const PeerKey key = peer_sender(&bundle->peer);
    if (peer_key_equal(&key, &sender)) {
      ++share.n_bundles;
      share.n_bytes += bundle->n_bytes;
    }
  }
  return share;
}

Status
share_check(const Share* const max, const Share* const used, const Bundle* const list,
            const Bundle* const bundle, const char* const what, Error* const error)
{
  const Share own = share_of_sender(list, &bundle->peer);
  if (used->n_bundles + own.n_bundles + 1U > max->n_bundles) {
    return error_set(error, STATUS_LIMIT, "%u %s, %u of them from this sender", used->n_bundles,
                     what, own.n_bundles);
  }
  if (used->n_bytes + own.n_bytes + bundle->n_bytes > max->n_bytes) {
    return error_set(error, STATUS_LIMIT, "%zu KiB of %s, %zu KiB of them from this sender",
                     used->n_bytes >> 10U, what, own.n_bytes >> 10U);
  }
  return STATUS_OK;
}
