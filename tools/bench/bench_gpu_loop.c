// SPDX-License-Identifier: GPL-3.0-or-later
/**
   bench gpu-loop: measures one block to the device and back, through planner and player.

   Two racks, each on a grid of channels and frames:
   - empty: input to output, the cost of a block without effects;
   - strip: ten biquads in a chain, as on a channel of a mixing desk.
   For comparison the CPU plays the same racks on all cores.  Before a rack is timed, both play some
   blocks, and the results must agree.

   On CUDA the kernels note the device's clock: the column "device us" is the median time from the
   begin of a block's first kernel to the end of its last, without the done word.  The rest of a
   block's time is the host and the way to the device and back.
*/

#include "bench_gpu.h"
#include "bench_rack.h"

#include <stdio.h>
#include <stdlib.h>

#define N_BIQUADS    10U
#define STRIP_BYTES  1024U
#define CHECK_BLOCKS 3U    // one more than a stage has slots
#define DEVICE_TIMES 4096U // enough for a median

static int loop_run(int argc, char** argv);

const Bench bench_gpu_loop = {
  .name = "bench gpu-loop",
  .usage = "[options]",
  .summary = "Time one block to a GPU and back, through planner and worker",
  .run = loop_run,
};

static const BenchColumn columns[] = {
  { "rack", "rack", -5 },          { "channels", "channels", 8 },
  { "frames", "frames", 6 },       { "side", "side", -4 },
  { "rows", "rows", -8 },          { "pace", "pace", -12 },
  { "device_us", "device us", 9 }, BENCH_TIME_COLUMNS,
};

enum { RACK_EMPTY, RACK_STRIP, N_RACKS };
static const char* const racks[] = { "empty", "strip", NULL };

typedef struct Case {
  uint32_t rack, n_channels, block_frames;
} Case;

/// The cases of the project's targets, which are measured first.
static const Case targets[] = { { RACK_EMPTY, 64, 64 }, { RACK_STRIP, 1024, 64 } };

/// A grid of sizes; each list ends with zeros.
typedef struct Grid {
  uint32_t n_channels[8];
  uint32_t block_frames[8];
} Grid;

static const Grid whole_grid = { { 2, 8, 64, 256, 1024 }, { 32, 64, 128, 256, 512, 1024 } };
static const Grid usual_grid = { { 2, 64, 1024 }, { 64, 256 } };
static const Grid quick_grid = { { 2, 33 }, { 64 } };

typedef struct LoopArgs {
  BenchGpuArgs gpu;
  uint32_t rack; ///< N_RACKS: both
  int64_t n_channels, block_frames;
  bool is_whole;
} LoopArgs;

typedef struct Loop {
  const LoopArgs* args;
  BenchGpu gpu;
  Backend* device;
  Pool* pool;
  BenchReport report;
  double* times_ns;
  char strip[STRIP_BYTES];
} Loop;

/// Write a chain of peaks at octaves, alternately up and down.
static void
write_strip(Loop* const loop)
{
  size_t length = 0;
  for (uint32_t b = 0; b < N_BIQUADS; ++b) {
    length += (size_t)snprintf(loop->strip + length, STRIP_BYTES - length, "%speaking %gHz %sdB",
                               b ? " | " : "", 0.45 * loop->args->gpu.rate_hz / (double)(1U << b),
                               b % 2U ? "-3" : "3");
  }
}

/// A rack that plays, and the times of the device for its last blocks.
typedef struct Timed {
  BenchRack* rack;
  double device_ns[DEVICE_TIMES]; ///< [n_blocks], cyclic
  uint64_t n_blocks;
} Timed;

/// Play one block.  A BenchAction.
static Status
play(void* const context, Error* const error)
{
  Timed* const timed = context;
  const Status status = bench_rack_block(timed->rack, error);
  timed->device_ns[timed->n_blocks++ % DEVICE_TIMES] = bench_rack_device_ns(timed->rack);
  return status;
}

/// A BenchRest.
static void
rest(void* const context)
{
  bench_rack_rest(((const Timed*)context)->rack);
}

static double
median_device_us(Timed* const timed)
{
  const uint64_t n = timed->n_blocks < DEVICE_TIMES ? timed->n_blocks : DEVICE_TIMES;
  return percentiles_of(timed->device_ns, n).p50 / 1e3;
}

/// Measure the times of a rack at both paces.
static Status
time_rack(Loop* const loop, const Case* const one, BenchRack* const rack, Error* const error)
{
  BenchGpuArgs args = loop->args->gpu;
  args.block_frames = one->block_frames;
  Status status = STATUS_OK;
  for (uint32_t pace = BENCH_N_PACES; !status && pace-- > 0U;) {
    BenchTimes times;
    Timed timed = { .rack = rack };
    status =
        bench_gpu_time(&loop->gpu, &args, pace, play, rest, &timed, loop->times_ns, &times, error);
    const double device_us = status ? 0.0 : median_device_us(&timed);
    if (!status) {
      json_t* const row = json_pack("{ss si si ss ss ss}", "rack", racks[one->rack], "channels",
                                    (int)one->n_channels, "frames", (int)one->block_frames, "side",
                                    rack->spec->device ? "gpu" : "cpu", "rows",
                                    bench_rack_rows(rack), "pace", bench_pace_names[pace]);
      if (device_us > 0.0) {
        json_object_set_new(row, "device_us", json_real(device_us));
      }
      bench_row_times(row, &times);
      bench_report_row(&loop->report, row);
    }
  }
  return status;
}

static Status
measure(Loop* const loop, const Case* const one, Error* const error)
{
  const BenchRackSpec on_gpu = { .text = one->rack == RACK_STRIP ? loop->strip : "connect in out",
                                 .rate_hz = loop->args->gpu.rate_hz,
                                 .block_frames = one->block_frames,
                                 .n_channels = one->n_channels,
                                 .device = loop->device,
                                 .has_rows = true };
  BenchRackSpec on_cpu = on_gpu;
  on_cpu.device = NULL;
  on_cpu.pool = loop->pool;
  BenchRack gpu = { 0 };
  BenchRack cpu = { 0 };
  Status status = bench_rack_new(&gpu, &on_gpu, error);
  status = status ? status : bench_rack_new(&cpu, &on_cpu, error);
  status = status ? status : bench_rack_compare(&gpu, &cpu, CHECK_BLOCKS, error);
  status = status ? status : time_rack(loop, one, &gpu, error);
  status = status ? status : time_rack(loop, one, &cpu, error);
  bench_rack_free(&cpu);
  bench_rack_free(&gpu);
  return status;
}

// ---- the grid ----

static bool
is_target(const Case* const one)
{
  for (uint32_t t = 0; t < ARRAY_LEN(targets); ++t) {
    if (one->rack == targets[t].rack && one->n_channels == targets[t].n_channels &&
        one->block_frames == targets[t].block_frames) {
      return true;
    }
  }
  return false;
}

/// Measure a case of the grid unless the options exclude it.
static Status
consider(Loop* const loop, const Case* const one, Error* const error)
{
  const LoopArgs* const args = loop->args;
  const bool is_asked = args->rack == N_RACKS || args->rack == one->rack;
  if (!is_asked || !bench_gpu_goes_on(&args->gpu, &loop->report, 2U * BENCH_N_PACES)) {
    return STATUS_OK;
  }
  return measure(loop, one, error);
}

/// Choose the value of an option, or all values of the grid.
static void
choose(const int64_t asked, const uint32_t* const all, uint32_t* const chosen)
{
  uint32_t n = 0;
  if (asked) {
    chosen[n++] = (uint32_t)asked;
  } else {
    for (; all[n]; ++n) {
      chosen[n] = all[n];
    }
  }
  chosen[n] = 0U;
}

static Status
measure_grid(Loop* const loop, Error* const error)
{
  const LoopArgs* const args = loop->args;
  const bool has_targets = !args->gpu.is_quick && !args->n_channels && !args->block_frames;
  const Grid* const grid = args->gpu.is_quick ? &quick_grid
                           : args->is_whole   ? &whole_grid
                                              : &usual_grid;
  Grid asked;
  choose(args->n_channels, grid->n_channels, asked.n_channels);
  choose(args->block_frames, grid->block_frames, asked.block_frames);
  Status status = STATUS_OK;
  for (uint32_t t = 0; has_targets && !status && t < ARRAY_LEN(targets); ++t) {
    status = consider(loop, &targets[t], error);
  }
  for (uint32_t r = 0; r < N_RACKS; ++r) {
    for (uint32_t b = 0; asked.block_frames[b]; ++b) {
      for (uint32_t c = 0; !status && asked.n_channels[c]; ++c) {
        const Case one = { r, asked.n_channels[c], asked.block_frames[b] };
        if (!has_targets || !is_target(&one)) {
          status = consider(loop, &one, error);
        }
      }
    }
  }
  return status;
}

static Status
run_grid(Loop* const loop, Error* const error)
{
  const LoopArgs* const args = loop->args;
  write_strip(loop);
  loop->times_ns = calloc((size_t)args->gpu.n_blocks, sizeof(double));
  Status status = loop->times_ns ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : bench_gpu_find(&loop->gpu, &args->gpu, error);
  if (!status) {
    status = bench_gpu_backend(&loop->gpu, !args->gpu.may_sleep, &loop->device, error);
  }
  status = status ? status : bench_pool_new(&loop->pool, error);
  if (status) {
    return status;
  }
  json_t* const head = bench_gpu_head(&bench_gpu_loop, &loop->gpu, &args->gpu);
  json_object_set_new(head, "kept_awake",
                      json_boolean(loop->gpu.info.is_gpu && !args->gpu.may_sleep));
  status = bench_report_begin(&loop->report, columns, ARRAY_LEN(columns), head, args->gpu.json,
                              args->gpu.csv_path, error);
  return status ? status : measure_grid(loop, error);
}

static int
loop_run(const int argc, char** const argv)
{
  LoopArgs args = { .gpu = { .n_blocks = 100000, .row_seconds = 2.0, .rate_hz = 48000.0 },
                    .rack = N_RACKS };
  // clang-format off
  const Option own[] = {
    { "all",       'a', OPTION_FLAG,                             .to.flag = &args.is_whole,                 .help = "The whole grid: 2 to 1024 channels, 32 to 1024 frames" },
    { "block",     'b', OPTION_INTEGER, "N", 1,    FX_MAX_BLOCK, .to.integer = &args.block_frames,          .help = "Only blocks of N frames" },
    { "channels",  'c', OPTION_INTEGER, "N", 1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,            .help = "Only N channels" },
    { "gpu-sleep", 0,   OPTION_FLAG,                             .to.flag = &args.gpu.may_sleep,            .help = "Let the GPU lower its clocks between blocks, as run --gpu-sleep does" },
    { "rack",      0,   OPTION_CHOICE,                           .choices = racks, .to.choice = &args.rack, .help = "Only this rack; default both" },
  };
  // clang-format on
  int exit_code = 0;
  if (!bench_gpu_parse(&bench_gpu_loop, own, ARRAY_LEN(own), argc, argv, &args.gpu, &exit_code)) {
    return exit_code;
  }
  Error error = { STATUS_OK, "" };
  Loop loop = { .args = &args, .report = { .bench = &bench_gpu_loop } };
  const Status status = run_grid(&loop, &error);
  exit_code = bench_report_finish(&loop.report, status, &error, NULL);
  pool_free(loop.pool);
  device_backend_free(loop.device);
  free(loop.times_ns);
  return exit_code;
}
