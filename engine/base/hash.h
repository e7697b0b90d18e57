// SPDX-License-Identifier: GPL-3.0-or-later
/**
   FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo) with 32 and 64 bits: fast, but no protection against
   chosen input.

   A hash continues the hash of earlier bytes, or begins with HASH32_START or HASH64_START.
*/
#ifndef WARPRACK_ENGINE_BASE_HASH_H
#define WARPRACK_ENGINE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH32_START UINT32_C(2166136261)
#define HASH64_START UINT64_C(14695981039346656037)

/// The hash after the characters of `text`. [any]
static inline uint32_t
hash_text(uint32_t hash, const char* text)
{
  for (; *text; ++text) {
    hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
  }
  return hash;
}

/// The hash after `n_bytes` bytes. [any]
static inline uint64_t
hash_bytes(uint64_t hash, const void* const bytes, const size_t n_bytes)
{
  const unsigned char* const at = (const unsigned char*)bytes;
  for (size_t i = 0; i < n_bytes; ++i) {
    hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  }
  return hash;
}

#endif
