// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Exponential back-off: the delay before the next attempt doubles with each failure, from a first
   delay up to a longest one.  A zeroed Backoff counts no failure yet.
*/
#ifndef WARPRACK_ENGINE_BASE_BACKOFF_H
#define WARPRACK_ENGINE_BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Backoff {
  uint64_t rest_ns; ///< The last delay; 0: no delay yet
  uint64_t at_ns;   ///< When the next attempt is due
} Backoff;

/// The delay after a delay of `rest_ns`; after 0, the first delay. [any]
static inline uint64_t
backoff_next(const uint64_t rest_ns, const uint64_t first_ns, const uint64_t longest_ns)
{
  const uint64_t next_ns = rest_ns ? 2U * rest_ns : first_ns;
  return next_ns < longest_ns ? next_ns : longest_ns;
}

/// Set the next delay after a failure at `now_ns`.  If the last delay ended more than `longest_ns`
/// ago, the attempt after it counts as a success, and the next delay is `first_ns`. [any]
static inline void
backoff_fail(Backoff* const backoff, const uint64_t first_ns, const uint64_t longest_ns,
             const uint64_t now_ns)
{
  const bool is_first = now_ns > backoff->at_ns + longest_ns;
  backoff->rest_ns = backoff_next(is_first ? 0U : backoff->rest_ns, first_ns, longest_ns);
  backoff->at_ns = now_ns + backoff->rest_ns;
}

#endif
