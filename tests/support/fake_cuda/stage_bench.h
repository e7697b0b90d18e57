// SPDX-License-Identifier: GPL-3.0-or-later
/// A rack on the CUDA backend with the fake driver.  The kernels do nothing, and the bench does not
/// check samples.
#ifndef WARPRACK_TESTS_FAKE_CUDA_STAGE_BENCH_H
#define WARPRACK_TESTS_FAKE_CUDA_STAGE_BENCH_H

#include "dsp_gpu/device.h"
#include "tests/support/rack_rig.h"

#define STAGE_BENCH_BLOCK    64U
#define STAGE_BENCH_CHANNELS 3U
#define STAGE_BENCH_RACK     "x: gain -6dB | y: gain 3dB"
#define PATIENT_NS           20000000000U
#define SHORT_NS             100000000U // for tests of the deadline itself

typedef struct StageBench {
  Backend* device;
  RackRig rig;
  uint32_t n_channels;   ///< Inputs
  float** in;            ///< [n_channels][2 * STAGE_BENCH_BLOCK]
  float** out;           ///< As `in`
  uint32_t first_launch; ///< Number of the graph launch of the first block
} StageBench;

/// Reset the fake driver and register all kernels.  Disables the cache of modules.
void stage_bench_prepare(void);

/// Make the signals and the rig, without a rack.  The device must be open.
void stage_bench_furnish(StageBench* bench);

/// stage_bench_prepare(), open the device and stage_bench_furnish(), with so many channels and
/// without copies.
StageBench stage_bench_open_wide(uint32_t n_channels);

/// stage_bench_open_wide() with STAGE_BENCH_CHANNELS.  With `copies`, blocks are copied to and from
/// the device; without, kernels read and write host memory.
StageBench stage_bench_open(bool copies, uint64_t deadline_ns);

/// stage_bench_open(), with STAGE_BENCH_RACK as the rack.
StageBench stage_bench_new(bool copies, uint64_t deadline_ns);

/// Free the bench, and check that nothing leaks.  Returns false if the device hangs: its resources
/// are then not freed.
bool stage_bench_free(StageBench* bench);

/// Begin a block.  Blocks with even and odd numbers have separate memory.
void stage_bench_begin(StageBench* bench, uint32_t block);

/// End the oldest block; false if a device failed.
bool stage_bench_end(StageBench* bench);

/// Number of graph launches so far.
uint32_t stage_bench_launches(void);

/// Groups of the last stage_begin that apply changes.
uint32_t stage_bench_apply_groups(void);

/// Number of stage_begins that ran without a block, in this process.
uint32_t stage_bench_void_begins(void);

#endif
