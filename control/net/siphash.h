// SPDX-License-Identifier: GPL-3.0-or-later
/// SipHash-2-4, a keyed hash of short texts.
#ifndef WARPRACK_CONTROL_NET_SIPHASH_H
#define WARPRACK_CONTROL_NET_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_BYTES 16U

/// The hash of `bytes`.  Without the key, nobody can compute it, or the key from it. [any]
uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void* bytes, size_t n_bytes);

#endif
