// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Convolution with long impulse responses on a device: the constants and parameters of the kernels
   of convolver.h.  Like partition.h, it adds no latency and convolves with one response or a
   matrix of responses, for one unit or many.

   A response is cut into

       taps   0                       2T                                end
              | hop x 2T/hop          | T x n                            |
                the head                the tail, if there is one

   In every hop, the kernels read all spectra of the head and of its delay line: 16 bytes for each
   tap.  A period of the tail is T = 16 hops (fewer if its transform would not fit into local
   memory), in which its spectra are read once, so each hop reads a sixteenth of them: with two
   segments, a hop reads 16 (2T + (n_taps - 2T) hop / T) bytes.  The tail's transforms and rings
   need about 60 bytes for each frame.  From 4T taps on, two segments read at most about half as
   much as one segment, and are used if a period is at least 4 hops: longer blocks leave more time
   for each hop.

   A third segment is not needed: device memory is fast enough for a head of 32 hops.
*/
#ifndef WARPRACK_DSP_CPU_PARTITION_KERNEL_H
#define WARPRACK_DSP_CPU_PARTITION_KERNEL_H

#include "engine/contract/effect.h"

typedef struct PartitionKernel PartitionKernel;

typedef struct PartitionKernelSpec {
  const float* taps;         ///< Planar [n_sets][n_in][n_out][n_taps]; borrowed
  uint64_t n_taps;           ///< At least 1
  uint32_t n_in, n_out;      ///< Channels of a unit
  uint32_t n_sets;           ///< 1 for all units, or n_units
  uint32_t n_units;          ///< Number of units that will run
  uint32_t max_block_frames; ///< The usual length of a block, in [1, 2^24]
} PartitionKernelSpec;

/**
   Plan a convolution.

   @param spec Only partition_kernel_data() reads its taps.
   @return #STATUS_NO_MEM, #STATUS_LIMIT if a size exceeds 32 bits, or #STATUS_OK.
*/
NODISCARD Status partition_kernel_new(const PartitionKernelSpec* spec, PartitionKernel** kernel,
                                      Error* error); // [builder]
void partition_kernel_free(PartitionKernel* kernel); ///< Accepts NULL. [builder]

/// Fill a shape completely; partition_kernel_pack() writes its parameters. [builder]
void partition_kernel_shape(const PartitionKernel* kernel, FxKernelShape* shape);

/// Write the constants; spectra are computed in double.  Afterwards the taps are no longer needed.
/// [builder]
void partition_kernel_data(PartitionKernel* kernel, uint32_t* words);

/// Write the parameters: out = wet * convolved + dry * in, ramped. [builder, rt]
void partition_kernel_pack(float dry, float wet, uint32_t ramp_frames, uint32_t* words);

#endif
