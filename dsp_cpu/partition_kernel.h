// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Convolution with long impulse responses on a device: the constants and parameters of the kernels
   in fx_convolver.cu.  Like partition.h it adds no latency, and does one response or a matrix of
   them, for one unit or for many.

   A response is cut into

       taps   0                       2T                                end
              | hop x 2T/hop          | T x n                            |
                the head                the tail, if there is one

   Every hop reads each spectrum of the head, and each spectrum of its delay line: 16 bytes for
   each tap.  A period of the tail is T = 16 hops (fewer where its transform would not fit into
   local memory), and in a period each of its spectra is read once, so the tail takes a sixteenth
   of that: two levels read 16 (2T + (n_taps - 2T) hop / T) bytes in a hop.  The tail's transforms
   and its rings are some 60 bytes for each frame.  From 4T taps on two levels read about half of
   what one does, or less, and are used where a period is 4 hops or more: longer blocks leave more
   time for each.

   No more than two: device memory is read fast enough for 32 hops of head.
*/
#ifndef WARPRACK_DSP_CPU_PARTITION_KERNEL_H
#define WARPRACK_DSP_CPU_PARTITION_KERNEL_H

#include "engine/contract/effect.h"

typedef struct PartitionKernel PartitionKernel;

typedef struct PartitionKernelSpec {
  const float* taps;         ///< Planar [n_sets][n_in][n_out][n_taps]; borrowed
  uint64_t n_taps;           ///< At least 1
  uint32_t n_in, n_out;      ///< Of a unit
  uint32_t n_sets;           ///< 1 for all units, or n_units
  uint32_t n_units;          ///< Number of units that will run
  uint32_t max_block_frames; ///< The usual length of a block, in [1, 8192]
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
