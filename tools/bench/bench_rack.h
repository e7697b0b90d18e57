// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A rack on one backend, for benchmarks: the engine's planner and player run it block by block,
   without an audio driver, blocks in flight or a second thread.

   Its rows are in a ring region, which is filled with noise and attached to the device.  As in a
   live run, kernels read and write the rows there if the stage has measured that this is faster.
   The measured time is the player's time for a block, without the callback's copies and the wake-up
   of the player.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_RACK_H
#define WARPRACK_TOOLS_BENCH_BENCH_RACK_H

#include "engine/contract/pool.h"
#include "engine/ring/ring.h"
#include "engine/worker/player.h"

#define BENCH_RACK_SLOTS 4U ///< Blocks used in turn

/// Largest difference of the outputs of device and CPU: -80 dB, which is far above the rounding
/// errors of a chain, and far below any real error.
#define BENCH_RACK_TOLERANCE 1e-4

typedef struct BenchRackSpec {
  const char* text; ///< A chain or a document
  double rate_hz;
  uint32_t block_frames;
  uint32_t n_channels; ///< Number of inputs and of outputs
  Backend* device;     ///< The backend that must run all nodes; NULL: the CPU
  Pool* pool;          ///< Helpers on the CPU's other cores, or NULL
  const FxFile* file;  ///< The file for every file name of the rack, or NULL
  bool has_rows;       ///< False: the caller gives `player` its own rows
} BenchRackSpec;

typedef struct BenchRack {
  const BenchRackSpec* spec; ///< Borrowed
  Player player;
  FileLoader loader;
  Rack* rack;
  Ring* ring; ///< NULL without rows
  uint64_t n_blocks, frame;
  float** rows; ///< [BENCH_RACK_SLOTS][2][n_channels] input, output
} BenchRack;

/**
   Plan a rack.

   @param spec Kept until the rack is freed.
   @return The planner's status; #STATUS_BAD_RACK if a node would not run on the device.  Call
           bench_rack_free() also on error.
*/
NODISCARD Status // [main]
bench_rack_new(BenchRack* rack, const BenchRackSpec* spec, Error* error);

void bench_rack_free(BenchRack* rack); ///< Accepts a zeroed struct. [main]

/// Play one block.  A BenchAction. [player]
Status bench_rack_block(void* rack, Error* error);

/// As the worker between two blocks.  A BenchRest. [player]
void bench_rack_rest(void* rack);

/// Get the reason of a failed block, after player_end() has returned false.
Status bench_rack_failure(const BenchRack* rack, Error* error);

/// The memory from which the device's kernels read the rows, see stage_gpu_rows(); "host" on the
/// CPU.
const char* bench_rack_rows(const BenchRack* rack);

/// Time of the device for the last block, see stage_gpu_ns(); 0 on the CPU.
uint32_t bench_rack_device_ns(const BenchRack* rack);

/// Play n blocks on both racks from their start.  #STATUS_DEVICE_LOST if the outputs differ by more
/// than BENCH_RACK_TOLERANCE.
NODISCARD Status bench_rack_compare(BenchRack* a, BenchRack* b, uint32_t n_blocks, Error* error);

/// Fill with uniform noise in [-peak, peak), which depends only on the seed.
void bench_noise(float* samples, size_t n, uint32_t seed, float peak);

/// Make helpers for the CPU's stage, on all cores except this one.
NODISCARD Status bench_pool_new(Pool** pool, Error* error);

#endif
