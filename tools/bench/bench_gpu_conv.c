// SPDX-License-Identifier: GPL-3.0-or-later
/**
   bench gpu-conv: measures how many channels, each with a response, fit into half a period.

   A rack has one `convolver` node, or several side by side for more than FX_MAX_CHANNELS channels.
   Each channel of a node has its own response, noise of unit energy, and each node has its own copy
   of the responses, so that no spectrum is read for two channels.  A number of channels fits if the
   99th percentile of its paced blocks is at most half the period.  The benchmark measures given
   sizes, then searches the largest number, on the device and on the CPU with all its cores.  A
   search that would take longer than --search ends, and its rows say "at least" in place of "most".
   Before that both play two channels, and the results must agree.  A row without times is a size
   that does not fit into memory; a row of 0 channels means that one channel does not fit into half
   a period.

   Bytes read by a block: the spectra of the responses and of the inputs, by the plan of the kernel
   (dsp_cpu/shared/partition_layout.h), without rows of audio and writes, which are a few percent.
   For comparison, the benchmark measures the bytes that a copying kernel moves in the same time,
   reads and writes together.
*/

#include "bench_gpu.h"
#include "bench_rack.h"

#include "dsp_cpu/shared/partition_layout.h"
#include "dsp_gpu/device.h"
#include "dsp_gpu/kernels/layout.h"
#include "engine/base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROBES 10U
// Enough for three blocks above the 99th percentile, and for some periods of the tail.
#define PROBE_BLOCKS   400
#define MAX_CHANNELS   32768U
#define QUICK_CHANNELS 8U
#define AIM            0.95 // of half a period; the search ends at a result above 2 AIM - 1
#define MAX_GROWTH     16.0 // largest factor between two probes
#define CHECK_CHANNELS 2U
#define CHECK_FRAMES   8192U // long enough to include the tail
#define TEXT_BYTES     8192U
#define GPU_COPY_BYTES ((size_t)512 << 20U) // far more than any cache
#define CPU_COPY_BYTES ((size_t)16 << 20U)  // for a CPU as the device
#define COPY_ROUNDS    30
#define QUAD_BYTES     (QUAD_WORDS * sizeof(float))

static int conv_run(int argc, char** argv);

const Bench bench_gpu_conv = {
  .name = "bench gpu-conv",
  .usage = "[options]",
  .summary = "Find how many long convolutions fit into half a period on a GPU",
  .run = conv_run,
};

static const BenchColumn columns[] = {
  { "frames", "frames", 6 },   { "ir_seconds", "IR s", 6 }, { "channels", "channels", 8 },
  { "what", "what", -8 },      { "side", "side", -4 },      { "pace", "pace", -12 },
  { "mb_read", "MB read", 9 }, { "gb_s", "GB/s", 9 },       { "copy_share", "of copy", 7 },
  BENCH_TIME_COLUMNS,
};

typedef struct ConvArgs {
  BenchGpuArgs gpu;
  double ir_seconds;     ///< 0: the usual lengths
  double search_seconds; ///< Most time of a search
  int64_t n_channels, block_frames;
} ConvArgs;

typedef struct Case {
  uint32_t block_frames;
  double ir_seconds;
  uint32_t n_channels; ///< 0: as many as fit
} Case;

/// In order of importance, for runs with little time.  4000 frames are one segment of partitions,
/// which every block reads.
static const Case usual_cases[] = {
  { 64, 2.0, 1000 }, { 64, 2.0, 8000 }, { 64, 4000.0 / 48000.0, 8000 },
  { 64, 2.0, 0 },    { 64, 0.5, 0 },    { 64, 10.0, 0 },
  { 64, 0.1, 0 },    { 256, 2.0, 0 },   { 32, 2.0, 0 },
  { 256, 0.5, 0 },   { 32, 0.5, 0 },    { 256, 10.0, 0 },
  { 32, 10.0, 0 },
};

static const Case quick_cases[] = { { 64, 0.1, 8 }, { 64, 0.1, 0 } };

/// A number of channels, and how it was found: "given", "most" or "at least".
typedef struct Size {
  uint32_t n;
  const char* what;
} Size;

typedef struct Conv {
  const ConvArgs* args;
  BenchGpu gpu;
  Backend* device;
  Pool* pool;
  BenchReport report;
  double* times_ns;
  double copy_gb_s;
  float* responses; ///< [n_responses][ir_frames], as many as the case has needed so far
  uint32_t n_responses;
  uint64_t ir_frames;
} Conv;

// ---- racks ----

/// A rack of n convolutions, or a few more, so that all its nodes have the same width.
typedef struct ConvRack {
  BenchRackSpec spec;
  BenchRack rack;
  FxFile file;
  char text[TEXT_BYTES];
  uint32_t n_nodes;
} ConvRack;

static uint32_t
n_convolutions(const ConvRack* const conv_rack)
{
  return conv_rack->n_nodes * conv_rack->spec.n_channels;
}

/// Make the responses for n channels that do not exist yet: noise of unit energy.
static Status
make_responses(Conv* const conv, const uint64_t ir_frames, const uint32_t n, Error* const error)
{
  const uint32_t n_made = conv->ir_frames == ir_frames ? conv->n_responses : 0U;
  if (n_made >= n) {
    return STATUS_OK;
  }
  float* const responses = realloc(conv->responses, n * ir_frames * sizeof(float));
  if (!responses) {
    return error_set(error, STATUS_NO_MEM, "no memory for %u responses", n);
  }
  for (uint32_t r = n_made; r < n; ++r) {
    bench_noise(responses + r * ir_frames, ir_frames, r + 1U, (float)sqrt(3.0 / (double)ir_frames));
  }
  conv->responses = responses;
  conv->n_responses = n;
  conv->ir_frames = ir_frames;
  return STATUS_OK;
}

static void
write_text(ConvRack* const conv_rack)
{
  size_t length = 0;
  for (uint32_t k = 0; k < conv_rack->n_nodes; ++k) {
    length +=
        (size_t)snprintf(conv_rack->text + length, TEXT_BYTES - length,
                         "add c%u convolver ir=noise\nconnect in c%u\nconnect c%u out\n", k, k, k);
  }
}

static Status
conv_rack_new(Conv* const conv, ConvRack* const conv_rack, const Case* const one, const uint32_t n,
              const bool on_device, Error* const error)
{
  const double rate_hz = conv->args->gpu.rate_hz;
  const uint64_t ir_frames = (uint64_t)(one->ir_seconds * rate_hz);
  *conv_rack = (ConvRack){ .n_nodes = (n + FX_MAX_CHANNELS - 1U) / FX_MAX_CHANNELS };
  const uint32_t width = (n + conv_rack->n_nodes - 1U) / conv_rack->n_nodes;
  const Status status = make_responses(conv, ir_frames, width, error);
  if (status) {
    return status;
  }
  write_text(conv_rack);
  conv_rack->file = (FxFile){ "noise", width, ir_frames, conv->responses, true, 0 };
  conv_rack->spec = (BenchRackSpec){ .text = conv_rack->text,
                                     .rate_hz = rate_hz,
                                     .block_frames = one->block_frames,
                                     .n_channels = width,
                                     .device = on_device ? conv->device : NULL,
                                     .pool = on_device ? NULL : conv->pool,
                                     .file = &conv_rack->file,
                                     .has_rows = true };
  return bench_rack_new(&conv_rack->rack, &conv_rack->spec, error);
}

static Status
check(Conv* const conv, const Case* const one, Error* const error)
{
  ConvRack racks[2] = { { .n_nodes = 0U }, { .n_nodes = 0U } };
  Status status = STATUS_OK;
  for (uint32_t r = 0; !status && r < 2U; ++r) {
    status = conv_rack_new(conv, &racks[r], one, CHECK_CHANNELS, r == 0U, error);
  }
  if (!status) {
    status = bench_rack_compare(&racks[0].rack, &racks[1].rack,
                                CHECK_FRAMES / one->block_frames + 1U, error);
  }
  bench_rack_free(&racks[1].rack);
  bench_rack_free(&racks[0].rack);
  return status;
}

// ---- bytes read ----

static uint32_t
size_of(const FxKernelShape* const shape, const char* const name)
{
  for (uint32_t s = 0; s < FX_KERNEL_SIZES; ++s) {
    if (shape->sizes[s].name && !strcmp(shape->sizes[s].name, name)) {
      return shape->sizes[s].value;
    }
  }
  return 0U;
}

/// Compute the bytes of spectra that a block of one node reads.  For each partition it reads a row
/// of the responses and a row of the inputs: the partitions of the head in each hop (at least one),
/// the partitions of the tail once in each period of the tail.
static Status
node_bytes(const Conv* const conv, const Case* const one, const Node* const node,
           double* const n_bytes, Error* const error)
{
  const Device* const device = (const Device*)conv->device;
  uint32_t head[PARTITION_HEAD] = { 0 };
  const Status status = device->api->buffer_read(chunk_buffer(node->device->chunk),
                                                 (size_t)node->device->first_quad * QUAD_BYTES,
                                                 head, sizeof(head), error);
  const FxKernelShape* const shape = &node->device->shape;
  const double complex_bytes = 2.0 * sizeof(float);
  const double n_hops = fmax(1.0, (double)one->block_frames / head[PARTITION_HOP]);
  const double head_points = (double)head[PARTITION_N_PARTS] * size_of(shape, "POINTS");
  const double tail_points = (double)head[PARTITION_TAIL_PARTS] * size_of(shape, "TAIL_POINTS") /
                             (head[PARTITION_TAIL_HOPS] ? head[PARTITION_TAIL_HOPS] : 1U);
  *n_bytes = node->n_units * 2.0 * (head_points + tail_points) * complex_bytes * n_hops;
  return status;
}

static Status
bytes_read(const Conv* const conv, const Case* const one, const ConvRack* const conv_rack,
           double* const n_bytes, Error* const error)
{
  const Plan* const plan = conv_rack->rack.player.plan;
  Status status = STATUS_OK;
  *n_bytes = 0.0;
  for (uint32_t n = 0; !status && n < plan->n_nodes; ++n) {
    double more = 0.0;
    status = node_bytes(conv, one, plan->nodes[n].node, &more, error);
    *n_bytes += more;
  }
  return status;
}

// ---- timing ----

/// True if a size exceeds the memory or the numbers of the kernels, which is a result and not an
/// error.
static bool
is_too_much(const Status status)
{
  return status == STATUS_NO_MEM || status == STATUS_LIMIT;
}

/// Add a row for n channels; `times` may be NULL.
static void
add_row(Conv* const conv, const Case* const one, const Size* const size, const bool on_device,
        const uint32_t pace, const double n_bytes, const BenchTimes* const times)
{
  json_t* const row =
      json_pack("{si sf si ss ss ss}", "frames", (int)one->block_frames, "ir_seconds",
                one->ir_seconds, "channels", (int)size->n, "what", size->what, "side",
                on_device ? "gpu" : "cpu", "pace", bench_pace_names[pace]);
  if (times) {
    bench_row_times(row, times);
  }
  if (times && on_device) {
    const double gb_s = n_bytes / times->ns.p50;
    json_object_set_new(row, "mb_read", json_real(n_bytes / 1e6));
    json_object_set_new(row, "gb_s", json_real(gb_s));
    json_object_set_new(row, "copy_share", json_real(gb_s / conv->copy_gb_s));
  }
  bench_report_row(&conv->report, row);
}

/// Measure rows for a number of channels, at both paces.
static Status
measure_rows(Conv* const conv, const Case* const one, Size size, const bool on_device,
             Error* const error)
{
  ConvRack conv_rack;
  BenchGpuArgs args = conv->args->gpu;
  args.block_frames = one->block_frames;
  double n_bytes = 0.0;
  Status status = conv_rack_new(conv, &conv_rack, one, size.n, on_device, error);
  size.n = n_convolutions(&conv_rack);
  if (!status && on_device) {
    status = bytes_read(conv, one, &conv_rack, &n_bytes, error);
  }
  for (uint32_t pace = BENCH_N_PACES; !status && pace-- > 0U;) {
    BenchTimes times;
    status = bench_gpu_time(&conv->gpu, &args, pace, bench_rack_block, bench_rack_rest,
                            &conv_rack.rack, conv->times_ns, &times, error);
    if (!status) {
      add_row(conv, one, &size, on_device, pace, n_bytes, &times);
    }
  }
  bench_rack_free(&conv_rack.rack);
  return status;
}

// ---- the search ----

/// A number of channels and the fraction of half a period that it takes; infinite if memory does
/// not suffice.
typedef struct Probe {
  uint32_t n;
  double share;
} Probe;

static Status
probe(Conv* const conv, const Case* const one, const bool on_device, Probe* const at,
      Error* const error)
{
  ConvRack conv_rack;
  BenchGpuArgs args = conv->args->gpu;
  args.block_frames = one->block_frames;
  args.n_blocks = args.n_blocks < PROBE_BLOCKS ? args.n_blocks : PROBE_BLOCKS;
  BenchTimes times = { .n = 0 };
  Status status = conv_rack_new(conv, &conv_rack, one, at->n, on_device, error);
  if (!status) {
    at->n = n_convolutions(&conv_rack);
    status = bench_gpu_time(&conv->gpu, &args, true, bench_rack_block, bench_rack_rest,
                            &conv_rack.rack, conv->times_ns, &times, error);
  }
  bench_rack_free(&conv_rack.rack);
  const double half_ns = 0.5e9 * one->block_frames / args.rate_hz;
  at->share = status ? HUGE_VAL : times.ns.p99 / half_ns;
  return is_too_much(status) ? STATUS_OK : status;
}

static uint32_t
limited(const double value, const double lowest, const double highest)
{
  return (uint32_t)(value < lowest ? lowest : value > highest ? highest : value);
}

/// The next number to try: where the straight line through the two probes reaches AIM.
static uint32_t
next_probe(const Probe* const fits, const Probe* const other, const uint32_t most)
{
  const double slope = (other->share - fits->share) / ((double)other->n - fits->n);
  const double meets = fits->n + (AIM - fits->share) / slope;
  if (other->n > fits->n) { // it does not fit
    const double width = (double)other->n - fits->n;
    return limited(isfinite(slope) ? meets : fits->n + width / 2.0, fits->n + 0.1 * width,
                   fits->n + fmax(0.9 * width, 1.0));
  }
  return limited(slope > 0.0 ? meets : most, fits->n * 1.1 + 1.0,
                 fmin((double)fits->n * MAX_GROWTH, most));
}

static double
seconds_since(const uint64_t began_ns)
{
  return 1e-9 * (double)(time_now_ns() - began_ns);
}

/// Seconds that a probe of n channels will take after one of `before` channels: as long for the
/// blocks, and in proportion for making the rack.
static double
probe_seconds(const Conv* const conv, const Case* const one, const uint32_t before,
              const double took_seconds, const uint32_t n)
{
  const double play_seconds = PROBE_BLOCKS * (double)one->block_frames / conv->args->gpu.rate_hz;
  return play_seconds + fmax(took_seconds - play_seconds, 0.0) * (double)n / before;
}

/// Find a number of channels that fits, while 10 % more do not fit or the limit is close; 0 if one
/// channel does not fit.
static Status
search(Conv* const conv, const Case* const one, const bool on_device, Size* const size,
       Error* const error)
{
  const bool is_quick = conv->args->gpu.is_quick;
  const uint32_t most = is_quick ? QUICK_CHANNELS : MAX_CHANNELS;
  const uint64_t began_ns = time_now_ns();
  Probe fits = { 0U, 0.0 };
  Probe fewer = { 0U, 0.0 };
  Probe too_many = { 0U, 0.0 };
  Probe at = { is_quick ? 1U : on_device ? 64U : 4U, 0.0 };
  Status status = STATUS_OK;
  size->what = "most";
  for (uint32_t p = 0; !status && p < MAX_PROBES; ++p) {
    const uint64_t probe_ns = time_now_ns();
    status = probe(conv, one, on_device, &at, error);
    const double took_seconds = seconds_since(probe_ns);
    if (at.share <= 1.0) {
      fewer = fits;
      fits = at;
    } else {
      too_many = at;
    }
    const bool is_near = too_many.n && too_many.n - fits.n <= 1U + fits.n / 10U;
    if (is_near || fits.share >= 2.0 * AIM - 1.0 || fits.n >= most) {
      break;
    }
    const uint32_t before = at.n;
    at.n = next_probe(&fits, too_many.n ? &too_many : &fewer, most);
    if (seconds_since(began_ns) + probe_seconds(conv, one, before, took_seconds, at.n) >
        conv->args->search_seconds) {
      size->what = "at least";
      break;
    }
  }
  size->n = fits.n;
  return status;
}

static Status
measure_side(Conv* const conv, const Case* const one, const bool on_device, Error* const error)
{
  Size size = { one->n_channels, "given" };
  Status status = size.n ? STATUS_OK : search(conv, one, on_device, &size, error);
  bool is_played = !status && size.n > 0U;
  if (is_played) {
    status = measure_rows(conv, one, size, on_device, error);
    is_played = !is_too_much(status);
  }
  if (!is_played && (!status || is_too_much(status))) {
    add_row(conv, one, &size, on_device, 1U, 0.0, NULL);
    status = STATUS_OK;
  }
  return status;
}

/// Measure a case.  Opens the device again, because memory that other cases have left would change
/// the result.
static Status
measure(Conv* const conv, const Case* const one, Error* const error)
{
  const uint32_t n_sides = one->n_channels ? 1U : 2U; // given sizes are too large for most CPUs
  if (!bench_gpu_goes_on(&conv->args->gpu, &conv->report, n_sides * BENCH_N_PACES)) {
    return STATUS_OK;
  }
  Status status = bench_gpu_backend(&conv->gpu, !conv->args->gpu.may_sleep, &conv->device, error);
  status = status ? status : check(conv, one, error);
  for (uint32_t side = 0; !status && side < n_sides; ++side) {
    status = measure_side(conv, one, side == 0U, error);
  }
  device_backend_free(conv->device);
  conv->device = NULL;
  return status;
}

static Status
measure_cases(Conv* const conv, Error* const error)
{
  const ConvArgs* const args = conv->args;
  const bool is_quick = args->gpu.is_quick;
  const Case* const cases = is_quick ? quick_cases : usual_cases;
  const uint32_t n_cases = (uint32_t)(is_quick ? ARRAY_LEN(quick_cases) : ARRAY_LEN(usual_cases));
  if (args->n_channels || args->block_frames || args->ir_seconds > 0.0) {
    const Case one = { args->block_frames ? (uint32_t)args->block_frames : 64U,
                       args->ir_seconds > 0.0 ? args->ir_seconds : 2.0,
                       (uint32_t)args->n_channels };
    return measure(conv, &one, error);
  }
  Status status = STATUS_OK;
  for (uint32_t c = 0; !status && c < n_cases; ++c) {
    status = measure(conv, &cases[c], error);
  }
  return status;
}

// ---- copies, for comparison ----

typedef struct Copy {
  BenchGpu* gpu;
  GpuRecording* recording;
} Copy;

static Status
do_copy(void* const context, Error* const error)
{
  Copy* const copy = context;
  return bench_gpu_run(copy->gpu, copy->recording, error);
}

static Status
time_copy(BenchGpu* const gpu, GpuBuffer* const from, GpuBuffer* const to, const size_t n_bytes,
          double* const gb_s, Error* const error)
{
  const uint32_t n_quads = (uint32_t)(n_bytes / QUAD_BYTES);
  GpuLaunch launch = { .groups = { n_quads / BENCH_GPU_GROUP, 1U },
                       .group_size = BENCH_GPU_GROUP,
                       .n_args = 2U,
                       .args = { { .kind = GPU_ARG_BUFFER, .buffer = from },
                                 { .kind = GPU_ARG_BUFFER, .buffer = to } } };
  const GpuWork work = { .launches = &launch, .n_launches = 1U };
  Status status = gpu->api->kernel_get(gpu->module, "selftest_copy", &launch.kernel, error);
  Copy copy = { gpu, NULL };
  status = status ? status : gpu->api->record(gpu->device, &work, &copy.recording, error);
  if (status) {
    return status;
  }
  const BenchGpuArgs rounds = { .block_frames = 1, .n_blocks = COPY_ROUNDS, .rate_hz = 1.0 };
  double times_ns[COPY_ROUNDS];
  BenchTimes times;
  status = bench_gpu_time(gpu, &rounds, false, do_copy, NULL, &copy, times_ns, &times, error);
  gpu->api->recording_free(copy.recording);
  *gb_s = status ? 0.0 : 2.0 * (double)n_bytes / times.ns.p50;
  return status;
}

/// Measure the bytes that a copying kernel reads and writes per nanosecond.
static Status
measure_copy(Conv* const conv, Error* const error)
{
  BenchGpu gpu = { .api = NULL };
  GpuBuffer* buffers[2] = { NULL, NULL };
  Status status = bench_gpu_open(&gpu, &conv->args->gpu, "selftest.cu", error);
  const size_t n_bytes = gpu.info.is_gpu ? GPU_COPY_BYTES : CPU_COPY_BYTES;
  for (uint32_t b = 0; !status && b < 2U; ++b) {
    status = gpu.api->buffer_new(gpu.device, n_bytes, &buffers[b], error);
  }
  if (!status) {
    status = time_copy(&gpu, buffers[0], buffers[1], n_bytes, &conv->copy_gb_s, error);
  }
  for (uint32_t b = 0; gpu.api && b < 2U; ++b) {
    gpu.api->buffer_free(buffers[b]);
  }
  bench_gpu_close(&gpu);
  return status;
}

// ---- the benchmark ----

static Status
run_cases(Conv* const conv, Error* const error)
{
  const BenchGpuArgs* const args = &conv->args->gpu;
  conv->times_ns = calloc((size_t)args->n_blocks, sizeof(double));
  Status status = conv->times_ns ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : bench_gpu_find(&conv->gpu, args, error);
  status = status ? status : measure_copy(conv, error);
  status = status ? status : bench_pool_new(&conv->pool, error);
  if (status) {
    return status;
  }
  json_t* const head = bench_gpu_head(&bench_gpu_conv, &conv->gpu, args);
  json_object_set_new(head, "kept_awake", json_boolean(conv->gpu.info.is_gpu && !args->may_sleep));
  json_object_set_new(head, "copy_gb_s", json_real(conv->copy_gb_s));
  if (!args->json) {
    printf("A kernel that copies moves %.1f GB/s, reading and writing together\n\n",
           conv->copy_gb_s);
  }
  status = bench_report_begin(&conv->report, columns, ARRAY_LEN(columns), head, args->json,
                              args->csv_path, error);
  return status ? status : measure_cases(conv, error);
}

static int
conv_run(const int argc, char** const argv)
{
  ConvArgs args = { .gpu = { .n_blocks = 100000, .row_seconds = 2.0, .rate_hz = 48000.0 },
                    .search_seconds = 30.0 };
  // clang-format off
  const Option own[] = {
    { "block",     'b', OPTION_INTEGER, "N",     1, FX_MAX_BLOCK, .to.integer = &args.block_frames, .help = "Only blocks of N frames; default 64, in some rows 32 or 256" },
    { "channels",  'c', OPTION_INTEGER, "N",     1, MAX_CHANNELS, .to.integer = &args.n_channels,   .help = "Only N channels; default as many as fit" },
    { "gpu-sleep", 0,   OPTION_FLAG,                              .to.flag = &args.gpu.may_sleep,   .help = "Let the GPU lower its clocks between blocks, as run --gpu-sleep does" },
    { "ir",        'i', OPTION_NUMBER,  "S", 0.001,           60, .to.number = &args.ir_seconds,    .help = "Only responses of S seconds, default 2" },
    { "search",    0,   OPTION_NUMBER,  "S",     1,        86400, .to.number = &args.search_seconds,.help = "Longest search in seconds, default 30" },
  };
  // clang-format on
  int exit_code = 0;
  if (!bench_gpu_parse(&bench_gpu_conv, own, ARRAY_LEN(own), argc, argv, &args.gpu, &exit_code)) {
    return exit_code;
  }
  Error error = { STATUS_OK, "" };
  Conv conv = { .args = &args, .report = { .bench = &bench_gpu_conv } };
  const Status status = run_cases(&conv, &error);
  exit_code = bench_report_finish(&conv.report, status, &error, NULL);
  pool_free(conv.pool);
  free(conv.responses);
  free(conv.times_ns);
  return exit_code;
}
