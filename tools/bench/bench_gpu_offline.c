// SPDX-License-Identifier: GPL-3.0-or-later
/**
   bench gpu-offline: measures long signals at full speed, on the device and on the CPU.

   Racks and sizes are those of the published figures of torchfx (M. Spanio, "torchfx", v0.2.1,
   benchmark/{fir,iir,api}_bench.py), at 44100 Hz; in addition the five filters of `fir` as one
   response.

   A signal is stored in blocks (bench_signal.h), and played block by block in three ways:
   - resident: from and to the device's memory;
   - end to end: from and to page-locked host memory; the copies of a block run beside the kernels
     of its neighbours;
   - worker: from and to any host memory, as in `render`: the player copies each block to and from
     the memory of the stage.
   The first two ways are repeated with every channel cut into pieces that play side by side.  Most
   kernels (not those of filters, fir and convolver) have one thread or one group per channel, so
   that a dozen channels leave most of a device idle.  `render` does not cut channels.

   The CPU plays the same signals on all cores, in blocks of at most FX_MAX_BLOCK; blocks on the
   device have no such limit.  The benchmark compares the device's output with the CPU's.
*/

#include "bench_gpu.h"
#include "bench_rack.h"
#include "bench_signal.h"

#include "dsp_cpu/fir_design.h"
#include "dsp_gpu/device.h"
#include "engine/base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_FIRS       5U
#define FUSED_TAPS   511U // the sum of 101 to 105 taps, less 4
#define MAX_ROUNDS   100U
#define DEVICE_WORDS ((uint64_t)1 << 32U) // words that kernels can address
#define LEAST_PIECE  8U                   // shortest piece, in multiples of the run-in

static int offline_run(int argc, char** argv);

const Bench bench_gpu_offline = {
  .name = "bench gpu-offline",
  .usage = "[options]",
  .summary = "Time long signals on a GPU: the grids of torchfx's benchmarks",
  .run = offline_run,
};

static const BenchColumn columns[] = {
  { "grid", "grid", -5 },         { "seconds", "seconds", 7 }, { "channels", "channels", 8 },
  { "side", "side", -4 },         { "way", "way", -10 },       { "pieces", "pieces", 6 },
  { "block_frames", "block", 6 }, { "rounds", "rounds", 6 },   { "ms_first", "first ms", 10 },
  { "ms_p50", "p50 ms", 10 },     { "ms_min", "min ms", 10 },  { "ms_max", "max ms", 10 },
  { "times_real", "x real", 10 },
};

// ---- signals and racks ----

/// Ends with a zero.
typedef uint32_t Sizes[6];

typedef struct Grid {
  const char* name;
  const char* rack;
  uint32_t run_in; ///< Frames in which its filters decay
  Sizes seconds, channels;
  struct {
    uint32_t seconds, channels;
  } usual[3]; ///< Cases measured without --all; ends with zeros
} Grid;

enum { GRID_FIR, GRID_FUSED, GRID_IIR, GRID_API, N_GRIDS };
static const char* const grid_names[] = { "fir", "fused", "iir", "api", NULL };

// 101 taps, 102 ...
static const double fir_hz[N_FIRS] = { 1000.0, 5000.0, 1500.0, 1800.0, 1850.0 };

#define FIR(hz, taps)           "fir frequency=" hz "Hz taps=" taps " compensate=off"
#define CHEBYSHEV(effect, hz)   effect " " hz "Hz order=2 type=chebyshev1 ripple=0.1dB"
#define BUTTERWORTH(effect, hz) effect " " hz "Hz order=2"

// clang-format off: one rack per row
static const Grid grids[N_GRIDS] = {
  [GRID_FIR] = {
    .name = "fir",
    .rack = FIR("1000", "101") " | " FIR("5000", "102") " | " FIR("1500", "103") " | "
            FIR("1800", "104") " | " FIR("1850", "105"),
    .run_in = 512,
    .seconds = { 5, 60, 180, 300, 600 },
    .channels = { 1, 2, 4, 8, 12 },
    .usual = { { 600, 12 }, { 60, 8 }, { 5, 1 } },
  },
  [GRID_FUSED] = {
    .name = "fused",
    .rack = "convolver ir=fused",
    .run_in = 512,
    .seconds = { 5, 60, 180, 300, 600 },
    .channels = { 1, 2, 4, 8, 12 },
    .usual = { { 600, 12 } },
  },
  [GRID_IIR] = {
    .name = "iir",
    .rack = BUTTERWORTH("highpass", "1000") " | " BUTTERWORTH("lowpass", "5000") " | "
            CHEBYSHEV("highpass", "1500") " | " CHEBYSHEV("lowpass", "1800"),
    .run_in = 1024, // seven times the decay of 1000 Hz to -120 dB
    .seconds = { 1, 5, 180, 300, 600 },
    .channels = { 1, 2, 4, 8, 12 },
    .usual = { { 600, 12 }, { 180, 8 }, { 1, 4 } },
  },
  [GRID_API] = {
    .name = "api",
    .rack = CHEBYSHEV("highpass", "20") " | " CHEBYSHEV("highpass", "60") " | "
            CHEBYSHEV("highpass", "65") " | " BUTTERWORTH("lowpass", "5000") " | "
            BUTTERWORTH("lowpass", "4900") " | " BUTTERWORTH("lowpass", "4850"),
    .run_in = 16384, // 20 Hz take 6000 frames to decay to -120 dB
    .seconds = { 120 },
    .channels = { 8 },
    .usual = { { 120, 8 } },
  },
};
// clang-format on

typedef struct OfflineArgs {
  BenchGpuArgs gpu;
  uint32_t grid; ///< N_GRIDS: all
  int64_t n_channels, block_frames, n_rounds;
  double seconds;
  bool is_whole;
} OfflineArgs;

/// A signal in the memories of host and device.
typedef struct Memory {
  BenchSignal signal;
  GpuHostMemory *in, *out;
  float *h_in, *h_out;   ///< In these host memories
  GpuBuffer* d_both;     ///< Input, then output
  float* addresses;      ///< Addresses for d_both in stages; never accessed
  GpuRecording** copies; ///< [n_blocks][2] to and from the device
} Memory;

typedef struct Offline {
  const OfflineArgs* args;
  BenchGpu gpu;
  Device* device;
  Pool* pool;
  BenchReport report;
  float fused_taps[FUSED_TAPS];
  FxFile fused;
  uint64_t sequence; ///< Of the last copy

  // Of the current case
  const Grid* grid;
  BenchSignal whole;
  float* reference; ///< The CPU's output
  Memory memory;
} Offline;

// ---- a round ----

typedef struct Way {
  const char* name;
  const char* side;
  const float* in; ///< Input of block 0, for the player
  float* out;
  bool is_resident;     ///< `out` is on the device
  bool copies;          ///< Uses Memory::copies
  uint32_t part_frames; ///< Frames of a block for one call of the player
} Way;

static Status
submit_copy(Offline* const offline, const size_t block, const uint32_t direction,
            Error* const error)
{
  const GpuApi* const api = offline->device->api;
  const Status status =
      api->submit(offline->memory.copies[2U * block + direction], ++offline->sequence);
  if (status) {
    api->last_error(offline->device->gpu, error);
  }
  return status;
}

/// Wait until the copies of all blocks are done, whose sequence numbers are consecutive.
static Status
await_copies(Offline* const offline, const uint64_t before, Error* const error)
{
  const GpuApi* const api = offline->device->api;
  Status status = STATUS_OK;
  for (size_t c = 0; !status && c < 2U * offline->memory.signal.n_blocks; ++c) {
    for (bool is_done = false; !status && !is_done;) {
      status = api->poll(offline->memory.copies[c], before + c + 1U, &is_done);
    }
  }
  if (status) {
    api->last_error(offline->device->gpu, error);
  }
  return status;
}

static Status
end_block(BenchRack* const rack, Error* const error)
{
  return player_end(&rack->player) ? STATUS_OK : bench_rack_failure(rack, error);
}

/// Begin a block or a part of one as soon as fewer than two are running.
static Status
play_part(const Offline* const offline, BenchRack* const rack, const Way* const way,
          const size_t block, const uint32_t first, const uint32_t n_frames, Error* const error)
{
  const BenchSignal* const signal = &offline->memory.signal;
  float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t r = 0; r < signal->n_rows; ++r) {
    const size_t at = block * signal->block_floats + (size_t)r * signal->block_frames + first;
    in[r] = (float*)way->in + at;
    out[r] = way->out + at;
  }
  Status status = STATUS_OK;
  if (rack->player.n_begun == PLAYER_MAX_BEGUN) {
    status = end_block(rack, error);
  }
  player_begin(&rack->player, NULL, rack->frame, n_frames, in, out);
  rack->frame += n_frames;
  return status;
}

static Status
play_block(Offline* const offline, BenchRack* const rack, const Way* const way, const size_t block,
           Error* const error)
{
  const uint32_t n_frames = bench_signal_frames(&offline->memory.signal, block);
  Status status = way->copies ? submit_copy(offline, block, 0U, error) : STATUS_OK;
  for (uint32_t done = 0; !status && done < n_frames; done += way->part_frames) {
    const uint32_t rest = n_frames - done;
    status = play_part(offline, rack, way, block, done,
                       rest < way->part_frames ? rest : way->part_frames, error);
  }
  return status || !way->copies ? status : submit_copy(offline, block, 1U, error);
}

/// Play the whole signal, with a new rack.
static Status
play(Offline* const offline, BenchRack* const rack, const Way* const way, double* const time_ns,
     Error* const error)
{
  Status status = plan_reset(rack->player.plan, error);
  const uint64_t sequence = offline->sequence;
  const uint64_t began_ns = time_now_ns();
  for (size_t b = 0; !status && b < offline->memory.signal.n_blocks; ++b) {
    status = play_block(offline, rack, way, b, error);
  }
  while (rack->player.n_begun) {
    const Status ended = end_block(rack, error);
    status = status ? status : ended;
  }
  if (!status && way->copies) {
    status = await_copies(offline, sequence, error);
  }
  *time_ns = (double)(time_now_ns() - began_ns);
  return status;
}

// ---- checks ----

static Status
compare_block(const Offline* const offline, const Way* const way, const size_t block,
              const float* const samples, Error* const error)
{
  BenchDifference at;
  if (bench_signal_agrees(&offline->memory.signal, block, samples, &offline->whole,
                          offline->reference, (float)BENCH_RACK_TOLERANCE, &at)) {
    return STATUS_OK;
  }
  return error_set(
      error, STATUS_DEVICE_LOST, "%s, %s: channel %u, frame %zu: the device has %g, the CPU %g",
      offline->grid->name, way->name, at.channel, at.frame, (double)at.is, (double)at.should);
}

static Status
compare(Offline* const offline, const Way* const way, Error* const error)
{
  const BenchSignal* const signal = &offline->memory.signal;
  const size_t n_bytes = signal->block_floats * sizeof(float);
  float* const fetched = malloc(n_bytes);
  Status status = fetched ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  for (size_t b = 0; !status && b < signal->n_blocks; ++b) {
    const float* samples = offline->memory.h_out + b * signal->block_floats;
    if (way->is_resident) {
      status = offline->device->api->buffer_read(
          offline->memory.d_both, signal->n_bytes + b * n_bytes, fetched, n_bytes, error);
      samples = fetched;
    }
    status = status ? status : compare_block(offline, way, b, samples, error);
  }
  free(fetched);
  return status;
}

// ---- rows ----

static void
add_row(Offline* const offline, const Way* const way, const double first_ns, double* const times_ns,
        const uint32_t n)
{
  const BenchSignal* const signal = &offline->memory.signal;
  const double seconds = (double)signal->n_frames / offline->args->gpu.rate_hz;
  const Percentiles ns = percentiles_of(times_ns, n);
  json_t* const row =
      json_pack("{ss sf si ss ss si si sf sf sf sf sf si}", "grid", offline->grid->name, "seconds",
                seconds, "channels", (int)signal->n_channels, "side", way->side, "way", way->name,
                "pieces", (int)signal->n_cuts, "rounds", (int)n, "ms_first", first_ns / 1e6,
                "ms_p50", ns.p50 / 1e6, "ms_min", times_ns[0] / 1e6, "ms_max", ns.max / 1e6,
                "times_real", 1e9 * seconds / ns.p50, "block_frames", (int)way->part_frames);
  bench_report_row(&offline->report, row);
}

/// Measure a way: once with the creation of the rack, then repeatedly without.
static Status
measure_way(Offline* const offline, const BenchRackSpec* const spec, const Way* const way,
            Error* const error)
{
  const OfflineArgs* const args = offline->args;
  BenchRack rack;
  const uint64_t began_ns = time_now_ns();
  Status status = bench_rack_new(&rack, spec, error);
  double times_ns[MAX_ROUNDS];
  status = status ? status : play(offline, &rack, way, &times_ns[0], error);
  const double first_ns = (double)(time_now_ns() - began_ns);
  if (!status && spec->device) {
    status = compare(offline, way, error);
  }
  uint32_t n = 0;
  double sum_ns = 0.0;
  while (!status && n < args->n_rounds &&
         (n == 0U || args->gpu.row_seconds <= 0.0 || 1e-9 * sum_ns < args->gpu.row_seconds)) {
    status = play(offline, &rack, way, &times_ns[n], error);
    sum_ns += times_ns[n++];
  }
  bench_rack_free(&rack);
  if (!status) {
    add_row(offline, way, first_ns, times_ns, n);
  }
  return status;
}

static BenchRackSpec
rack_spec(const Offline* const offline, const Way* const way, const bool on_device)
{
  return (BenchRackSpec){ .text = offline->grid->rack,
                          .rate_hz = offline->args->gpu.rate_hz,
                          .block_frames = way->part_frames,
                          .n_channels = offline->memory.signal.n_rows,
                          .device = on_device ? &offline->device->backend : NULL,
                          .pool = on_device ? NULL : offline->pool,
                          .file = &offline->fused };
}

static Status
measure_cpu(Offline* const offline, Error* const error)
{
  const uint32_t block = offline->whole.block_frames;
  const Way way = { .name = "worker",
                    .side = "cpu",
                    .in = offline->memory.h_in,
                    .out = offline->reference,
                    .part_frames = block < FX_MAX_BLOCK ? block : FX_MAX_BLOCK };
  const BenchRackSpec spec = rack_spec(offline, &way, false);
  return measure_way(offline, &spec, &way, error);
}

static Status
measure_resident(Offline* const offline, Error* const error)
{
  const Memory* const memory = &offline->memory;
  Backend* const backend = &offline->device->backend;
  const uint32_t block = memory->signal.block_frames;
  float* const d_out = memory->addresses + memory->signal.n_bytes / sizeof(float);
  const Way ways[] = {
    { "resident", "gpu", memory->addresses, d_out, true, false, block },
    { "end to end", "gpu", memory->addresses, d_out, false, true, block },
  };
  device_attach_buffer(offline->device, memory->addresses, memory->d_both);
  Status status = STATUS_OK;
  for (uint32_t w = 0; !status && w < ARRAY_LEN(ways); ++w) {
    const BenchRackSpec spec = rack_spec(offline, &ways[w], true);
    status = measure_way(offline, &spec, &ways[w], error);
  }
  backend->detach(backend);
  return status;
}

static Status
measure_worker(Offline* const offline, Error* const error)
{
  const Memory* const memory = &offline->memory;
  const Way way = { .name = "worker",
                    .side = "gpu",
                    .in = memory->h_in,
                    .out = memory->h_out,
                    .part_frames = memory->signal.block_frames };
  const BenchRackSpec spec = rack_spec(offline, &way, true);
  return measure_way(offline, &spec, &way, error);
}

// ---- memory ----

static Status
record_copies(const Device* const device, Memory* const memory, Error* const error)
{
  const BenchSignal* const signal = &memory->signal;
  const size_t n_bytes = signal->block_floats * sizeof(float);
  memory->copies = calloc(2U * signal->n_blocks, sizeof(GpuRecording*));
  Status status = memory->copies ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  for (size_t b = 0; !status && b < signal->n_blocks; ++b) {
    const GpuCopy in = { memory->d_both, b * n_bytes, memory->in, b * n_bytes, n_bytes };
    const GpuCopy out = { memory->d_both, signal->n_bytes + b * n_bytes, memory->out, b * n_bytes,
                          n_bytes };
    const GpuWork up = { .slot = (uint32_t)b, .in = &in, .n_in = 1U };
    const GpuWork down = { .slot = (uint32_t)b, .out = &out, .n_out = 1U };
    status = device->api->record(device->gpu, &up, &memory->copies[2U * b], error);
    if (!status) {
      status = device->api->record(device->gpu, &down, &memory->copies[2U * b + 1U], error);
    }
  }
  return status;
}

static Status
take_host_memory(const Device* const device, Memory* const memory, Error* const error)
{
  const size_t n_bytes = memory->signal.n_bytes;
  Status status = device->api->host_new(device->gpu, n_bytes, &memory->in, error);
  status = status ? status : device->api->host_new(device->gpu, n_bytes, &memory->out, error);
  if (status) {
    return status;
  }
  memory->h_in = device->api->host_pointer(memory->in);
  memory->h_out = device->api->host_pointer(memory->out);
  bench_signal_fill(&memory->signal, memory->h_in);
  // Reserve addresses without memory, so that a wrong access fails.
  void* const addresses =
      mmap(NULL, 2U * n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  memory->addresses = addresses == MAP_FAILED ? NULL : addresses;
  return memory->addresses ? STATUS_OK
                           : error_set(error, STATUS_NO_MEM, "no room for %zu bytes", n_bytes);
}

static Status
memory_new(const Device* const device, const BenchSignal* const signal, Memory* const memory,
           Error* const error)
{
  *memory = (Memory){ .signal = *signal };
  if (2U * signal->n_bytes / sizeof(float) >= DEVICE_WORDS) {
    return error_set(error, STATUS_LIMIT, "a signal of %zu bytes is more than kernels can number",
                     signal->n_bytes);
  }
  Status status = take_host_memory(device, memory, error);
  if (!status) {
    status = device->api->buffer_new(device->gpu, 2U * signal->n_bytes, &memory->d_both, error);
  }
  if (!status) {
    status = device->api->buffer_write(memory->d_both, 0U, memory->h_in, signal->n_bytes, error);
  }
  return status ? status : record_copies(device, memory, error);
}

static void
memory_free(const Device* const device, Memory* const memory)
{
  const GpuApi* const api = device->api;
  for (size_t c = 0; memory->copies && c < 2U * memory->signal.n_blocks; ++c) {
    api->recording_free(memory->copies[c]);
  }
  free(memory->copies);
  api->buffer_free(memory->d_both);
  if (memory->addresses) {
    munmap(memory->addresses, 2U * memory->signal.n_bytes);
  }
  api->host_free(memory->out);
  api->host_free(memory->in);
  *memory = (Memory){ .copies = NULL };
}

// ---- the grids ----

/// Measure all ways of a signal.  A signal that is cut into pieces is played on the device only.
static Status
measure_signal(Offline* const offline, const BenchSignal* const signal, Error* const error)
{
  const bool is_cut = signal != &offline->whole;
  Status status = memory_new(offline->device, signal, &offline->memory, error);
  if (!status && !is_cut) {
    status = measure_cpu(offline, error);
  }
  status = status ? status : measure_resident(offline, error);
  if (!status && !is_cut) {
    status = measure_worker(offline, error);
  }
  memory_free(offline->device, &offline->memory);
  return status;
}

/// The number of pieces of each channel: as many as a rack can have channels, while the run-in is
/// at most an eighth of a piece.
static uint32_t
n_pieces(const Grid* const grid, const size_t n_frames, const uint32_t n_channels)
{
  const size_t sensible = n_frames / ((size_t)LEAST_PIECE * grid->run_in);
  const uint32_t most = FX_MAX_CHANNELS / n_channels;
  return sensible < most ? (uint32_t)sensible : most;
}

static Status
measure(Offline* const offline, const Grid* const grid, const double seconds,
        const uint32_t n_channels, Error* const error)
{
  const BenchGpuArgs* const args = &offline->args->gpu;
  const size_t n_frames = (size_t)(seconds * args->rate_hz);
  const size_t block = (size_t)offline->args->block_frames;
  const uint32_t n_cuts = n_pieces(grid, n_frames, n_channels);
  if (!bench_gpu_goes_on(args, &offline->report, n_cuts > 1U ? 6U : 4U)) {
    return STATUS_OK;
  }
  offline->grid = grid;
  offline->whole = bench_signal(n_frames, n_channels, 1U, 0U, block);
  offline->reference = malloc(offline->whole.n_bytes);
  Status status = offline->reference ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : measure_signal(offline, &offline->whole, error);
  if (!status && n_cuts > 1U) {
    const BenchSignal cut = bench_signal(n_frames, n_channels, n_cuts, grid->run_in, block);
    status = measure_signal(offline, &cut, error);
  }
  free(offline->reference);
  offline->reference = NULL;
  return status;
}

static Status
measure_all(Offline* const offline, const Grid* const grid, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t s = 0; grid->seconds[s]; ++s) {
    for (uint32_t c = 0; !status && grid->channels[c]; ++c) {
      status = measure(offline, grid, grid->seconds[s], grid->channels[c], error);
    }
  }
  return status;
}

static Status
measure_usual(Offline* const offline, const Grid* const grid, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t u = 0; !status && u < ARRAY_LEN(grid->usual) && grid->usual[u].seconds; ++u) {
    status = measure(offline, grid, grid->usual[u].seconds, grid->usual[u].channels, error);
  }
  return status;
}

static Status
measure_grids(Offline* const offline, Error* const error)
{
  const OfflineArgs* const args = offline->args;
  const bool is_one = args->seconds > 0.0 || args->n_channels || args->gpu.is_quick;
  Status status = STATUS_OK;
  for (uint32_t g = 0; !status && g < N_GRIDS; ++g) {
    const Grid* const grid = &grids[g];
    if (args->grid != N_GRIDS && args->grid != g) {
      continue;
    }
    if (is_one) {
      const double seconds = args->gpu.is_quick ? 0.5 : grid->usual[0].seconds;
      const uint32_t n_channels = args->gpu.is_quick ? 2U : grid->usual[0].channels;
      status = measure(offline, grid, args->seconds > 0.0 ? args->seconds : seconds,
                       args->n_channels ? (uint32_t)args->n_channels : n_channels, error);
    } else {
      status =
          args->is_whole ? measure_all(offline, grid, error) : measure_usual(offline, grid, error);
    }
  }
  return status;
}

/// Compute the response of the five filters in series: one filter with the sum of their taps less
/// 4.
static void
fuse(Offline* const offline)
{
  double product[FUSED_TAPS] = { 1.0 };
  uint32_t n = 1;
  for (uint32_t k = 0; k < N_FIRS; ++k) {
    double taps[FUSED_TAPS];
    double longer[FUSED_TAPS] = { 0.0 };
    const FirDesign design = { .band = FIR_LOWPASS,
                               .low = fir_hz[k] / (offline->args->gpu.rate_hz / 2.0),
                               .n_taps = 101U + k,
                               .window = FIR_HAMMING };
    fir_design(&design, taps);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < design.n_taps; ++j) {
        longer[i + j] += product[i] * taps[j];
      }
    }
    memcpy(product, longer, sizeof(product));
    n += design.n_taps - 1U;
  }
  for (uint32_t i = 0; i < FUSED_TAPS; ++i) {
    offline->fused_taps[i] = (float)product[i];
  }
  offline->fused = (FxFile){ "fused", 1U, FUSED_TAPS, offline->fused_taps, true, 0 };
}

static Status
run_grids(Offline* const offline, Error* const error)
{
  const OfflineArgs* const args = offline->args;
  fuse(offline);
  Backend* backend = NULL;
  Status status = bench_gpu_find(&offline->gpu, &args->gpu, error);
  if (!status) {
    status = bench_gpu_backend(&offline->gpu, false, &backend, error);
    offline->device = (Device*)backend;
  }
  status = status ? status : bench_pool_new(&offline->pool, error);
  if (status) {
    return status;
  }
  json_t* const head = bench_gpu_head(&bench_gpu_offline, &offline->gpu, &args->gpu);
  status = bench_report_begin(&offline->report, columns, ARRAY_LEN(columns), head, args->gpu.json,
                              args->gpu.csv_path, error);
  return status ? status : measure_grids(offline, error);
}

static int
offline_run(const int argc, char** const argv)
{
  OfflineArgs args = { .gpu = { .row_seconds = 5.0, .rate_hz = 44100.0 },
                       .grid = N_GRIDS,
                       .block_frames = 65536,
                       .n_rounds = 20 };
  // clang-format off
  const Option own[] = {
    { "all",      'a', OPTION_FLAG,                                .to.flag = &args.is_whole,                      .help = "The whole grids: 1 to 600 seconds, 1 to 12 channels" },
    { "block",    'b', OPTION_INTEGER, "N",   64,         1 << 24, .to.integer = &args.block_frames,               .help = "Approximate frames per block on the device, default 65536" },
    { "channels", 'c', OPTION_INTEGER, "N",    1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,                 .help = "Only N channels, and only one length" },
    { "grid",     0,   OPTION_CHOICE,                              .choices = grid_names, .to.choice = &args.grid, .help = "Only this grid" },
    { "rounds",   0,   OPTION_INTEGER, "N",    1,      MAX_ROUNDS, .to.integer = &args.n_rounds,                   .help = "Rounds of each row at most, default 20" },
    { "seconds",  's', OPTION_NUMBER,  "S", 0.01,            3600, .to.number = &args.seconds,                     .help = "Only signals of S seconds" },
  };
  // clang-format on
  int exit_code = 0;
  if (!bench_gpu_parse(&bench_gpu_offline, own, ARRAY_LEN(own), argc, argv, &args.gpu,
                       &exit_code)) {
    return exit_code;
  }
  args.n_rounds = args.gpu.is_quick ? 2 : args.n_rounds;
  Error error = { STATUS_OK, "" };
  static Offline offline;
  offline = (Offline){ .args = &args, .report = { .bench = &bench_gpu_offline } };
  const Status status = run_grids(&offline, &error);
  exit_code = bench_report_finish(&offline.report, status, &error, NULL);
  pool_free(offline.pool);
  device_backend_free(offline.device ? &offline.device->backend : NULL);
  return exit_code;
}
