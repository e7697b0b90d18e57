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
#ifndef WARPRACK_TOOLS_BENCH_GPU_H
#define WARPRACK_TOOLS_BENCH_GPU_H

#include "bench.h"
#include "bench_report.h"
#include "options.h"
#include "percentiles.h"

#include "../dsp_gpu/gpu.h"

#define BENCH_GPU_GROUP 256U ///< Threads per group, as the kernels of bench_gpu_open() have it

typedef struct BenchGpuArgs {
  uint32_t backend;  ///< Of --backend; UINT32_MAX: the first that is there
  int64_t gpu_index; ///< As `warprack list devices` counts
  int64_t block_frames;
  int64_t n_blocks; ///< That are timed, of each row
  double rate_hz;
  bool is_quick, json;
  const char* csv_path; ///< NULL: no file
} BenchGpuArgs;

/// A device with the kernels of one file.
typedef struct BenchGpu {
  const GpuApi* api;
  GpuDevice* device;
  GpuModule* module;
  GpuDeviceInfo info;
  uint32_t index;
  uint64_t sequence; ///< Of the last submission
  bool is_realtime;  ///< SCHED_FIFO for what is paced
} BenchGpu;

/**
   Read the options that all have, and the benchmark's own, which come first in the help.

   @param[out] args Filled, with defaults where nothing was given; --quick has changed n_blocks.
   @return False when the benchmark is to end with *exit_code.
*/
NODISCARD bool // [main]
bench_gpu_parse(const Bench* bench, const Option* own, uint32_t n_own, int argc, char** argv,
                BenchGpuArgs* args, int* exit_code);

/**
   Open the device that was asked for, and compile an embedded kernel file for groups of
   BENCH_GPU_GROUP.

   @return #STATUS_NO_BACKEND with the driver's words, #STATUS_NOT_FOUND for an index that is none.
           Close it also then.
*/
NODISCARD Status // [main]
bench_gpu_open(BenchGpu* gpu, const BenchGpuArgs* args, const char* kernel_file, Error* error);

void bench_gpu_close(BenchGpu* gpu); ///< Accepts one that was zeroed. [main]

/// The head of the report: device, driver, processor, date, pace; owned by the caller.
json_t* bench_gpu_head(const Bench* bench, const BenchGpu* gpu, const BenchGpuArgs* args);

/// Print the head for people, with an empty line behind it.
void bench_gpu_print_head(const json_t* head);

/// Submit a recording and poll until it is done; an error has the driver's words. [worker]
NODISCARD Status bench_gpu_run(BenchGpu* gpu, GpuRecording* recording, Error* error);

/// What is timed, once.
typedef Status (*BenchAction)(void* context, Error* error);

/**
   Time an action n_blocks times, after some that are not counted.

   @param times_ns Room for n_blocks; sorted on return.
   @param[out] ns Percentiles; untouched on error.
*/
NODISCARD Status // [worker]
bench_gpu_time(const BenchGpu* gpu, const BenchGpuArgs* args, bool paced, BenchAction action,
               void* context, double* times_ns, Percentiles* ns, Error* error);

#endif
