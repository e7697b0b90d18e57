// SPDX-License-Identifier: GPL-3.0-or-later
/// A rack on the CUDA backend with the fake driver.  Its kernels do nothing here, and the samples
/// are not looked at.
#ifndef WARPRACK_TESTS_FAKE_CUDA_STAGE_BENCH_H
#define WARPRACK_TESTS_FAKE_CUDA_STAGE_BENCH_H

#include "dsp_gpu/device.h"
#include "tests/support/rack_rig.h"

#define STAGE_BENCH_BLOCK    64U
#define STAGE_BENCH_CHANNELS 3U
#define STAGE_BENCH_RACK     "x: gain -6dB | y: gain 3dB"
#define PATIENT_NS           20000000000U
#define SHORT_NS             100000000U // the deadline where it is the test

typedef struct StageBench {
  Backend* device;
  RackRig rig;
  float** in;
  float** out;
  uint32_t first_launch; ///< Number of the graph launch that is the first block's
} StageBench;

/// Teach the driver, which begins anew, the kernels; no cache of modules.
void stage_bench_prepare(void);

/// Signals and a rig, without a rack, for a device that is open.
void stage_bench_furnish(StageBench* bench);

/// Open the device, without a rack; with copies, or with kernels that read and write host memory.
StageBench stage_bench_open(bool copies, uint64_t deadline_ns);

/// The same with STAGE_BENCH_RACK.
StageBench stage_bench_new(bool copies, uint64_t deadline_ns);

/// False when the device is stuck and was left behind with all that it holds.
bool stage_bench_free(StageBench* bench);

/// Begin a block; even and odd ones have memory of their own.
void stage_bench_begin(StageBench* bench, uint32_t block);

/// End the oldest block; false when a device failed.
bool stage_bench_end(StageBench* bench);

/// Graph launches so far.
uint32_t stage_bench_launches(void);

/// Groups of the last stage_begin.
uint32_t stage_bench_begin_groups(void);

#endif
