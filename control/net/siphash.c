// SPDX-License-Identifier: GPL-3.0-or-later
// Jean-Philippe Aumasson and Daniel J. Bernstein, "SipHash: a fast short-input PRF", 2012, section
// 2, with 2 rounds per word and 4 at the end.

#include "siphash.h"

static uint64_t
rotate(const uint64_t word, const unsigned n_bits)
{
  return word << n_bits | word >> (64U - n_bits);
}

static void
do_rounds(uint64_t v[const 4], const unsigned n)
{
  for (unsigned r = 0; r < n; ++r) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
  }
}

/// Read up to 8 bytes, the least significant one first.
static uint64_t
read_word(const uint8_t* const bytes, const size_t n_bytes)
{
  uint64_t word = 0;
  for (size_t i = 0; i < n_bytes && i < 8U; ++i) {
    word |= (uint64_t)bytes[i] << (8U * i);
  }
  return word;
}

uint64_t
siphash(const uint8_t key[const SIPHASH_KEY_BYTES], const void* const bytes, const size_t n_bytes)
{
  const uint8_t* const text = bytes;
  const uint64_t k0 = read_word(key, 8);
  const uint64_t k1 = read_word(key + 8, 8);
  uint64_t v[4] = { k0 ^ UINT64_C(0x736F6D6570736575), k1 ^ UINT64_C(0x646F72616E646F6D),
                    k0 ^ UINT64_C(0x6C7967656E657261), k1 ^ UINT64_C(0x7465646279746573) };
  for (size_t at = 0; at <= n_bytes; at += 8U) { // the last word has fewer than 8 bytes
    uint64_t word = read_word(text + at, n_bytes - at);
    word |= n_bytes - at < 8U ? (uint64_t)n_bytes << 56U : 0U;
    v[3] ^= word;
    do_rounds(v, 2);
    v[0] ^= word;
  }
  v[2] ^= 0xFFU;
  do_rounds(v, 4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
