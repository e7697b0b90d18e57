// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A rack on one backend for benchmarks: planner and player as they are, block after block, without
   audio driver, ring of blocks in flight or second thread.

   Its rows lie in a ring region, filled with noise, that the device is attached to: as when it
   plays live, kernels read and write them there where the stage finds that quicker.  What is timed
   is what the player does for a block; the callback's copies and the wake-up of the player are not
   in it.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_RACK_H
#define WARPRACK_TOOLS_BENCH_BENCH_RACK_H

#include "engine/contract/pool.h"
#include "engine/ring/ring.h"
#include "engine/worker/player.h"

#define BENCH_RACK_SLOTS 4U ///< Blocks that take turns

/// Output of a device and of the CPU may differ by so much: -80 dB, much more than rounding makes
/// of some nodes in a chain, much less than anything that went wrong.
#define BENCH_RACK_TOLERANCE 1e-4

typedef struct BenchRackSpec {
  const char* text; ///< A chain or a document
  double rate_hz;
  uint32_t block_frames;
  uint32_t n_channels; ///< In and out
  Backend* device;     ///< Where all nodes must run; NULL: on the CPU
  Pool* pool;          ///< Of the CPU's other cores, or NULL
  const FxFile* file;  ///< What every name of a file means, or NULL
  bool has_rows;       ///< False: the caller runs `player` on rows of its own
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
   @return What the planner says; #STATUS_BAD_RACK when a node would not run on the device.  Free it
           also then.
*/
NODISCARD Status // [main]
bench_rack_new(BenchRack* rack, const BenchRackSpec* spec, Error* error);

void bench_rack_free(BenchRack* rack); ///< Accepts one that was zeroed. [main]

/// One block from its begin to its end; a BenchAction. [player]
Status bench_rack_block(void* rack, Error* error);

/// Why a block has failed, after player_end() said so.
Status bench_rack_failure(const BenchRack* rack, Error* error);

/// Where the rows are for the kernels of the device, see stage_gpu_rows(); "host" on the CPU.
const char* bench_rack_rows(const BenchRack* rack);

/// Play n blocks on both from their start; #STATUS_DEVICE_LOST when their outputs differ by more
/// than BENCH_RACK_TOLERANCE.
NODISCARD Status bench_rack_compare(BenchRack* a, BenchRack* b, uint32_t n_blocks, Error* error);

/// Uniform noise in [-peak, peak), the same for the same seed.
void bench_noise(float* samples, size_t n, uint32_t seed, float peak);

/// Helpers for the CPU's side: all cores but this one.
NODISCARD Status bench_pool_new(Pool** pool, Error* error);

#endif
