// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the benchmarks of GPUs share: their options, the device, the head of their reports, and how
   something is timed.

   Everything is timed twice, because a device that idles between blocks answers slower than one
   that is kept busy:

       back to back    again as soon as it is done
       paced           once per block, on the tick of a clock that the thread sleeps for, as it
                       would for a sound card; on a GPU with real-time priority, where it is to be
                       had, like the worker.  The time begins when the thread is awake; ticks that
                       pass meanwhile are left out, and nothing is made up for.

   Without a pause there is no real-time priority: Linux takes the processor from threads that have
   it and never sleep.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_GPU_H
#define WARPRACK_TOOLS_BENCH_BENCH_GPU_H

#include "bench.h"
#include "bench_report.h"

#include "dsp_gpu/gpu.h"
#include "engine/base/percentiles.h"
#include "engine/contract/backend.h"
#include "tools/options.h"

#define BENCH_GPU_GROUP 256U ///< Threads per group, as the kernels of bench_gpu_open() have it

/// What bench_gpu_parse() reads.  What a benchmark has as its defaults before is in the help.
typedef struct BenchGpuArgs {
  uint32_t backend;     ///< Of --backend; UINT32_MAX: the first that is there
  int64_t gpu_index;    ///< As `warprack list devices` counts
  int64_t block_frames; ///< Before: 0 for a benchmark that has no --block, or its own
  int64_t n_blocks;     ///< That are timed, of each row, at most.  Before: 0 for no --blocks
  double row_seconds;   ///< A row ends with fewer blocks when it has taken so long; 0: it does not
  double minutes;       ///< From the start on, after which no row begins; 0: all rows
  double rate_hz;
  bool may_sleep; ///< A GPU is not kept awake between paced blocks: --gpu-sleep of some benchmarks
  bool is_quick, json;
  const char* csv_path; ///< NULL: no file
  uint64_t began_ns;    ///< When bench_gpu_parse() was called
} BenchGpuArgs;

/// A device, and the kernels of one file where the benchmark has it open.
typedef struct BenchGpu {
  const GpuApi* api;
  GpuDevice* device; ///< NULL unless bench_gpu_open() was called
  GpuModule* module;
  GpuDeviceInfo info;
  uint32_t index;
  uint64_t sequence; ///< Of the last submission
  bool is_realtime;  ///< SCHED_FIFO for what is paced
} BenchGpu;

/**
   Read the options that all have, and the benchmark's own, which come first in the help.

   @param[in,out] args The benchmark's defaults, and then what was given; --quick has changed
   n_blocks.
   @return False when the benchmark is to end with *exit_code.
*/
NODISCARD bool // [main]
bench_gpu_parse(const Bench* bench, const Option* own, uint32_t n_own, int argc, char** argv,
                BenchGpuArgs* args, int* exit_code);

/**
   Find the device that was asked for.

   @return #STATUS_NO_BACKEND with the driver's words, #STATUS_NOT_FOUND for an index that is none.
*/
NODISCARD Status // [main]
bench_gpu_find(BenchGpu* gpu, const BenchGpuArgs* args, Error* error);

/// Find it, open it, and compile an embedded kernel file for groups of BENCH_GPU_GROUP.  Close it
/// also after an error.
NODISCARD Status // [main]
bench_gpu_open(BenchGpu* gpu, const BenchGpuArgs* args, const char* kernel_file, Error* error);

void bench_gpu_close(BenchGpu* gpu); ///< Accepts one that was zeroed. [main]

/// The device that was found as a backend for racks; free with device_backend_free().
///
/// @param keep_awake A GPU's clocks stay up, as when it plays live.
NODISCARD Status bench_gpu_backend(const BenchGpu* gpu, bool keep_awake, Backend** backend,
                                   Error* error);

/// The head of the report: device, driver, processor, date, pace; owned by the caller.
json_t* bench_gpu_head(const Bench* bench, const BenchGpu* gpu, const BenchGpuArgs* args);

/// Print the head for people, with an empty line behind it.
void bench_gpu_print_head(const json_t* head);

/// Submit a recording and poll until it is done; an error has the driver's words. [player]
NODISCARD Status bench_gpu_run(BenchGpu* gpu, GpuRecording* recording, Error* error);

/// What is timed, once.
typedef Status (*BenchAction)(void* context, Error* error);

/**
   Time an action n_blocks times, after some that are not counted.

   @param times_ns Room for n_blocks.
   @param[out] times Untouched on error.
*/
NODISCARD Status // [player]
bench_gpu_time(const BenchGpu* gpu, const BenchGpuArgs* args, bool paced, BenchAction action,
               void* context, double* times_ns, BenchTimes* times, Error* error);

#define BENCH_N_PACES 2U ///< Of bench_gpu_time(): not paced, paced

extern const char* const bench_pace_names[BENCH_N_PACES];

/// True while --minutes allow more rows; else the report counts these n as left out.
bool bench_gpu_goes_on(const BenchGpuArgs* args, BenchReport* report, uint32_t n);

#endif
