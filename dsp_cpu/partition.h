// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Convolution with long impulse responses, without added latency; all work runs on the calling
   thread and is spread evenly over the blocks.  One response or a matrix of them.

   A Partition holds the constants, spectra and plans, shared by any number of states and threads.
   A state is plain memory: delay lines, rings, and the progress of the work.

   Input comes in hops of max_block_frames (16 at least; long blocks of short responses consist of
   several), counted from the state's start:

       in ──┬─▶ window of two hops ─▶ segment 0, at once ──────────────▶ + ─▶ out
            └─▶ ring of input ─▶ segments 1.. , a slice per hop ─▶ ring of sums

   - A run of exactly one hop is the fast path: one transform and its inverse.  If a hop arrives in
     several runs, segment 0 is computed for each run, with silence for the rest of the hop.
   - Each later segment processes the last complete partition of input while the next one arrives:
     at the end of each hop it does a share of its units (segment.h), so that its work is even.
   - A state rests from its start, and again after its input was silent for longer than its memory.
     At rest its clock stays at the start, and a run does no convolution.  The output does not
     depend on the number of hops of rest, so a live run and a render of the same audio agree.

   The same runs give the same output, bit for bit, on the same machine.  With another division into
   runs, the output differs by rounding.
*/
#ifndef WARPRACK_DSP_CPU_PARTITION_H
#define WARPRACK_DSP_CPU_PARTITION_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Partition Partition;

/// A matrix of responses, without their samples.
typedef struct PartitionSize {
  uint64_t n_taps;           ///< At least 1
  uint32_t n_in, n_out;      ///< Size of the matrix
  uint32_t max_block_frames; ///< The usual length of a run, in [1, 8192]
  uint32_t
      n_states; ///< That run one after another; if too many for the caches, they are prefetched.  0: not known
} PartitionSize;

/// Memory of a partition, computed from its size.
typedef struct PartitionBytes {
  size_t constant; ///< Bytes of the partition
  size_t design;   ///< Bytes that partition_new() needs temporarily
  size_t state;    ///< Bytes of a state, which must be aligned to 64 bytes
} PartitionBytes;

PartitionBytes partition_measure(const PartitionSize* size); ///< [any]

/**
   Prepare a matrix of responses.

   @param taps Responses [n_in * n_out] of n_taps samples, from input i to output o at i * n_out +
   o; copied.
   @return #STATUS_NO_MEM or #STATUS_OK.
*/
NODISCARD Status partition_new(const PartitionSize* size, const float* const* taps,
                               Partition** partition, Error* error); // [builder]
void partition_free(Partition* partition);                           ///< Accepts NULL. [builder]

/// Fill a state with silence.  `number` differs between states that run together: it offsets the
/// start of their larger partitions, so that their work does not coincide. [builder, rt]
void partition_init(const Partition* partition, void* state, uint32_t number);

/// Convolve any number of frames; in and out must not overlap. [rt]
void partition_run(const Partition* partition, void* state, const float* const* in,
                   float* const* out, uint32_t n_frames);

#endif
