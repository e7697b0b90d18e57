// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The exchange of two halves of a sum, without locks: one side adds to one half, and the reader has
   the other one.

     adds to A     | adds to B              | adds to A
     reader: asks    reader: takes A, asks    reader: takes B, asks

   Each side has a word that only it writes.  The lowest bits of a word are the number of a span,
   which selects its half; the others are the reader's.  The reader asks for the next span by a new
   word, and the adding side begins it when it sees the word: from then on the half before is the
   reader's, which clears it before it asks again.  Neither side relies on the order of the other
   one: it uses its own copy of the words, so that a faulty process can spoil no more than the sums.
*/
#ifndef WARPRACK_ENGINE_BASE_HALVES_H
#define WARPRACK_ENGINE_BASE_HALVES_H

#include "macros.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// The half of a word's span, and the one before, which is the reader's once the span has begun.
/// [any]
static inline uint32_t
half_of(const uint64_t word)
{
  return (uint32_t)(word % 2U);
}

static inline uint32_t
half_before(const uint64_t word)
{
  return (uint32_t)((word + 1U) % 2U);
}

/// Begin the span that the reader has asked for: true, with its word in `*own`.  False: the span
/// `*own` goes on. [adding side]
REALTIME static inline bool
halves_begin(_Atomic uint64_t* const wanted, _Atomic uint64_t* const begun, uint64_t* const own)
{
  const uint64_t word = atomic_load_explicit(wanted, memory_order_acquire);
  const bool is_new = word != *own;
  if (is_new) {
    *own = word;
    atomic_store_explicit(begun, word, memory_order_release);
  }
  return is_new;
}

/// True if the span that the reader asked for last, `own`, has begun. [reader]
static inline bool
halves_have_begun(_Atomic uint64_t* const begun, const uint64_t own)
{
  return atomic_load_explicit(begun, memory_order_acquire) == own;
}

/// Ask for the next span, after halves_have_begun(). [reader]
static inline void
halves_ask(_Atomic uint64_t* const wanted, uint64_t* const own, const uint64_t word)
{
  *own = word;
  atomic_store_explicit(wanted, word, memory_order_release);
}

#endif
