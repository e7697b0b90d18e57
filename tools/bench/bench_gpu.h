// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the GPU benchmarks: options, the device, the header of reports, and timing.

   All actions are timed in two ways, because a device that idles between blocks answers more slowly
   than a busy one:

       back to back    again as soon as the action is done
       paced           once per block, on the tick of a clock for which the thread sleeps, as for
                       a sound card; on a GPU with real-time priority if possible, like the
                       player.  The time begins when the thread is awake; ticks that pass during
                       an action are left out.

   Back to back, the thread has no real-time priority, because Linux throttles real-time threads
   that never sleep.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_GPU_H
#define WARPRACK_TOOLS_BENCH_BENCH_GPU_H

#include "bench.h"
#include "bench_report.h"

#include "dsp_gpu/gpu.h"
#include "engine/base/percentiles.h"
#include "engine/contract/backend.h"
#include "tools/options.h"

#define BENCH_GPU_GROUP 256U ///< Threads per group of the kernels of bench_gpu_open()

/// Result of bench_gpu_parse().  Defaults that a benchmark sets before the call appear in the
/// help.
typedef struct BenchGpuArgs {
  uint32_t backend;     ///< Of --backend; UINT32_MAX: the first available
  int64_t gpu_index;    ///< Index in `warprack list devices`
  int64_t block_frames; ///< Set before the call: 0 for a benchmark without --block, or its default
  int64_t n_blocks;     ///< Maximum number of timed blocks of each row.  Set before the call: 0 for
                        ///< a benchmark without --blocks
  double row_seconds;   ///< Time after which a row ends with fewer blocks; 0: no limit
  double minutes;       ///< Time from the start after which no row begins; 0: no limit
  double rate_hz;
  bool may_sleep; ///< Do not keep a GPU awake between paced blocks: --gpu-sleep of some benchmarks
  bool is_quick, json;
  const char* csv_path; ///< NULL: no file
  uint64_t began_ns;    ///< Time of the call of bench_gpu_parse()
} BenchGpuArgs;

/// A device and, after bench_gpu_open(), the kernels of one file.
typedef struct BenchGpu {
  const GpuApi* api;
  GpuDevice* device; ///< NULL unless bench_gpu_open() was called
  GpuModule* module;
  GpuDeviceInfo info;
  uint32_t index;
  uint64_t sequence; ///< Of the last submission
  bool is_realtime;  ///< SCHED_FIFO for paced rounds
} BenchGpu;

/**
   Parse the shared options, and the benchmark's own options, which come first in the help.

   @param[in,out] args The benchmark's defaults, then the given values; --quick changes n_blocks.
   @return False if the benchmark must end with *exit_code.
*/
NODISCARD bool // [main]
bench_gpu_parse(const Bench* bench, const Option* own, uint32_t n_own, int argc, char** argv,
                BenchGpuArgs* args, int* exit_code);

/**
   Find the device of the options.

   @return #STATUS_NO_BACKEND with the driver's text, #STATUS_NOT_FOUND for an invalid index.
*/
NODISCARD Status // [main]
bench_gpu_find(BenchGpu* gpu, const BenchGpuArgs* args, Error* error);

/// Find the device, open it, and compile an embedded kernel file for groups of BENCH_GPU_GROUP.
/// Call bench_gpu_close() also after an error.
NODISCARD Status // [main]
bench_gpu_open(BenchGpu* gpu, const BenchGpuArgs* args, const char* kernel_file, Error* error);

void bench_gpu_close(BenchGpu* gpu); ///< Accepts a zeroed struct. [main]

/// Make a backend for racks of the found device; free with device_backend_free().
///
/// @param keep_awake Keep a GPU's clock rate high, as in a live run.
NODISCARD Status bench_gpu_backend(const BenchGpu* gpu, bool keep_awake, Backend** backend,
                                   Error* error);

/// The header of the report: device, driver, processor, date, pace; the caller owns it.  Without
/// --json it is also printed as text, followed by an empty line.
json_t* bench_gpu_head(const Bench* bench, const BenchGpu* gpu, const BenchGpuArgs* args);

/// Submit a recording and poll until it is done; an error has the driver's text. [player]
NODISCARD Status bench_gpu_run(BenchGpu* gpu, GpuRecording* recording, Error* error);

/// One round of the timed action.
typedef Status (*BenchAction)(void* context, Error* error);

/// What a live run does after a block has been returned.
typedef void BenchRest(void* context);

/**
   Measure the time of n_blocks rounds of an action, after some rounds that do not count.

   @param rest Runs after each paced round, untimed.  NULL: nothing runs.
   @param times_ns Room for n_blocks.
   @param[out] times Untouched on error.
*/
NODISCARD Status // [player]
bench_gpu_time(const BenchGpu* gpu, const BenchGpuArgs* args, bool paced, BenchAction action,
               BenchRest* rest, void* context, double* times_ns, BenchTimes* times, Error* error);

#define BENCH_N_PACES 2U ///< Of bench_gpu_time(): not paced, paced

extern const char* const bench_pace_names[BENCH_N_PACES];

/// True while --minutes allow more rows.  Otherwise the report counts these n rows as left out.
bool bench_gpu_goes_on(const BenchGpuArgs* args, BenchReport* report, uint32_t n);

#endif
