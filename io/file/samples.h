// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Conversion of samples between the interleaved bytes of a plain file and planar floats.

   The bits are those of libsndfile for reading; for writing, samples are rounded to the nearest
   step, and full scale is saved one step lower.
*/
#ifndef WARPRACK_IO_FILE_SAMPLES_H
#define WARPRACK_IO_FILE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/// Bytes of floats to convert at a time: small enough for L2, and for few system calls.
#define SAMPLES_CHUNK_BYTES 131072U

/// Bytes behind packed samples that samples_unpack() may read and samples_pack() may overwrite.
#define SAMPLES_SLACK 1U

/// Move interleaved frames to to[n_channels], from frame `first` on; and back. [any]
void samples_deinterleave(const float* from, uint32_t n_channels, float* const* to, uint32_t first,
                          uint32_t n_frames);
void samples_interleave(const float* const* from, uint32_t n_channels, uint32_t first,
                        uint32_t n_frames, float* to);

/// Convert n little-endian integers of 2, 3 or 4 bytes to floats; full scale is 1. [any]
void samples_unpack(const unsigned char* from, uint32_t n_bytes, size_t n, float* to);

/// Round n samples to integers of 16, 24 or 32 bits.  Returns the number of samples beyond full
/// scale, which are limited to it, and of NaN, which become 0. [any]
uint32_t samples_round(const float* from, uint32_t bits, uint32_t n, int32_t* to);

/// Write n integers as little-endian integers of 2, 3 or 4 bytes. [any]
void samples_pack(const int32_t* from, uint32_t n_bytes, size_t n, unsigned char* to);

/// Convert n floats from or to little-endian, in place; on a little-endian machine nothing changes.
/// [any]
void samples_swap_floats(void* samples, size_t n);

#endif
