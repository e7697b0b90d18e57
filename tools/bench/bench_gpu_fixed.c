// SPDX-License-Identifier: GPL-3.0-or-later
/**
   bench gpu-fixed: the fixed cost of one submission.

   Three parts, each with the CPU's time for the same work:
   - kernels: a recording of nothing, of 1, of 8 and of 32 kernels that each scale 16 KiB in device
     memory (64 channels of 64 frames);
   - transfers: a kernel that scales n bytes, with copies to and from the device, against the same
     kernel that reads and writes mapped host memory.  Above the switch point copies are faster.
     The CPU copies the bytes there and back;
   - completion: one kernel, with a poll of its flag, against finish().
   After each row the benchmark checks the results, to be sure that every timed kernel has run.
*/

#include "bench_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES    ((size_t)4U << 20U)
#define KERNEL_BYTES ((size_t)16U << 10U)
#define MAX_KERNELS  32U
#define GAIN         0.5F
#define N_PACES      BENCH_N_PACES

static int fixed_run(int argc, char** argv);

const Bench bench_gpu_fixed = {
  .name = "bench gpu-fixed",
  .usage = "[options]",
  .summary = "Time the fixed costs of one submission to a GPU",
  .run = fixed_run,
};

static const BenchColumn columns[] = {
  { "part", "part", -10 }, { "what", "what", -12 }, { "bytes", "bytes", 8 },
  { "side", "side", -4 },  { "pace", "pace", -12 }, BENCH_TIME_COLUMNS,
};

enum { PART_ALL, PART_KERNELS, PART_TRANSFERS, PART_COMPLETION };
static const char* const parts[] = { "all", "kernels", "transfers", "completion", NULL };

static const size_t sizes[] = { 256,
                                1024,
                                (size_t)4 << 10,
                                (size_t)16 << 10,
                                (size_t)64 << 10,
                                (size_t)256 << 10,
                                (size_t)1 << 20,
                                MAX_BYTES };

typedef enum Way { WAY_DEVICE, WAY_COPIES, WAY_MAPPED, WAY_CPU_SCALE, WAY_CPU_COPY } Way;

/// One row.
typedef struct Case {
  const char* part;
  const char* what;
  Way way;
  uint32_t n_kernels;
  size_t n_bytes; ///< Bytes that each kernel, or each of two copies, moves
  bool by_finish; ///< Uses finish() instead of polling
} Case;

typedef struct Rig {
  BenchGpu gpu;
  GpuKernel* scale;
  GpuHostMemory *in, *out;
  float *h_in, *h_out; ///< Host memory of `in` and `out`
  GpuBuffer *d_in, *d_out;
  float* cpu[3]; ///< Copied from the first row to the second, then to the third
  double* times_ns;
  GpuRecording* recording; ///< The recording of the current case
  const Case* present;
} Rig;

// ---- memory ----

static void
rig_clear(Rig* const rig)
{
  const GpuApi* const api = rig->gpu.api;
  if (api) {
    api->buffer_free(rig->d_out);
    api->buffer_free(rig->d_in);
    api->host_free(rig->out);
    api->host_free(rig->in);
  }
  for (uint32_t i = 0; i < ARRAY_LEN(rig->cpu); ++i) {
    free(rig->cpu[i]);
  }
  free(rig->times_ns);
  bench_gpu_close(&rig->gpu);
}

static Status
allocate_cpu(Rig* const rig, const size_t n_blocks, Error* const error)
{
  rig->times_ns = calloc(n_blocks, sizeof(double));
  bool is_good = rig->times_ns != NULL;
  for (uint32_t i = 0; i < ARRAY_LEN(rig->cpu); ++i) {
    rig->cpu[i] = aligned_alloc(4096, MAX_BYTES);
    is_good = is_good && rig->cpu[i];
  }
  if (!is_good) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (size_t i = 0; i < MAX_BYTES / sizeof(float); ++i) {
    rig->cpu[0][i] = (float)(i % 1024U) / 512.0F - 1.0F; // exact in float, also when halved
  }
  return STATUS_OK;
}

static Status
allocate_gpu(Rig* const rig, Error* const error)
{
  GpuDevice* const device = rig->gpu.device;
  const GpuApi* const api = rig->gpu.api;
  Status status = api->kernel_get(rig->gpu.module, "selftest_scale", &rig->scale, error);
  status = status ? status : api->host_new(device, MAX_BYTES, &rig->in, error);
  status = status ? status : api->host_new(device, MAX_BYTES, &rig->out, error);
  status = status ? status : api->buffer_new(device, MAX_BYTES, &rig->d_in, error);
  status = status ? status : api->buffer_new(device, MAX_BYTES, &rig->d_out, error);
  if (!status) {
    rig->h_in = api->host_pointer(rig->in);
    rig->h_out = api->host_pointer(rig->out);
    memcpy(rig->h_in, rig->cpu[0], MAX_BYTES);
    status = api->buffer_write(rig->d_in, 0, rig->cpu[0], MAX_BYTES, error);
  }
  return status;
}

static Status
rig_init(Rig* const rig, const BenchGpuArgs* const args, Error* const error)
{
  Status status = bench_gpu_open(&rig->gpu, args, "selftest.cu", error);
  status = status ? status : allocate_cpu(rig, (size_t)args->n_blocks, error);
  return status ? status : allocate_gpu(rig, error);
}

// ---- timed actions ----

static bool
is_cpu(const Case* const one)
{
  return one->way == WAY_CPU_SCALE || one->way == WAY_CPU_COPY;
}

static Status
do_on_gpu(void* const context, Error* const error)
{
  Rig* const rig = context;
  return bench_gpu_run(&rig->gpu, rig->recording, error);
}

static Status
do_and_finish(void* const context, Error* const error)
{
  Rig* const rig = context;
  const GpuApi* const api = rig->gpu.api;
  Status status = api->submit(rig->recording, ++rig->gpu.sequence);
  if (status) {
    api->last_error(rig->gpu.device, error);
    return status;
  }
  status = api->finish(rig->gpu.device, error);
  bool done = false; // poll once more, so that the recording can be submitted again
  return status ? status : api->poll(rig->recording, rig->gpu.sequence, &done);
}

static Status
do_on_cpu(void* const context, Error* const error)
{
  (void)error;
  Rig* const rig = context;
  const Case* const one = rig->present;
  if (one->way == WAY_CPU_COPY) {
    memcpy(rig->cpu[1], rig->cpu[0], one->n_bytes);
    memcpy(rig->cpu[2], rig->cpu[1], one->n_bytes);
    return STATUS_OK;
  }
  const float* const restrict in = rig->cpu[0];
  float* const restrict out = rig->cpu[2];
  for (uint32_t k = 0; k < one->n_kernels; ++k) {
    for (size_t i = 0; i < one->n_bytes / sizeof(float); ++i) {
      out[i] = in[i] * GAIN;
    }
    __asm__ volatile("" : : "r"(out) : "memory"); // prevents optimisation across rounds
  }
  return STATUS_OK;
}

static Status
record(Rig* const rig, Error* const error)
{
  const Case* const one = rig->present;
  const bool is_mapped = one->way == WAY_MAPPED;
  const bool has_copies = one->way == WAY_COPIES;
  const uint32_t length = (uint32_t)(one->n_bytes / sizeof(float));
  GpuLaunch launch = {
    .kernel = rig->scale,
    .groups = { (length + BENCH_GPU_GROUP - 1U) / BENCH_GPU_GROUP, 1 },
    .group_size = BENCH_GPU_GROUP,
    .n_args = 4,
    .args = { { .kind = GPU_ARG_BUFFER, .buffer = rig->d_in },
              { .kind = GPU_ARG_BUFFER, .buffer = rig->d_out },
              { .kind = GPU_ARG_F32, .f32 = GAIN },
              { .kind = GPU_ARG_U32, .u32 = length } },
  };
  if (is_mapped) {
    launch.args[0] = (GpuArg){ .kind = GPU_ARG_HOST, .host = rig->in };
    launch.args[1] = (GpuArg){ .kind = GPU_ARG_HOST, .host = rig->out };
  }
  GpuLaunch launches[MAX_KERNELS];
  for (uint32_t k = 0; k < one->n_kernels; ++k) {
    launches[k] = launch;
  }
  const GpuCopy in = { rig->d_in, 0, rig->in, 0, one->n_bytes };
  const GpuCopy out = { rig->d_out, 0, rig->out, 0, one->n_bytes };
  const GpuWork work = { .in = &in,
                         .n_in = has_copies,
                         .launches = launches,
                         .n_launches = one->n_kernels,
                         .out = &out,
                         .n_out = has_copies };
  return rig->gpu.api->record(rig->gpu.device, &work, &rig->recording, error);
}

// ---- checks ----

static Status
clear_results(Rig* const rig, Error* const error)
{
  memset(rig->h_out, 0, MAX_BYTES);
  memset(rig->cpu[2], 0, MAX_BYTES);
  return rig->gpu.api->buffer_write(rig->d_out, 0, rig->cpu[2], MAX_BYTES, error);
}

static Status
check_results(Rig* const rig, Error* const error)
{
  const Case* const one = rig->present;
  const float* result = is_cpu(one) ? rig->cpu[2] : rig->h_out;
  if (one->way == WAY_DEVICE) {
    const Status status =
        rig->gpu.api->buffer_read(rig->d_out, 0, rig->cpu[1], one->n_bytes, error);
    if (status) {
      return status;
    }
    result = rig->cpu[1];
  }
  const float gain = one->way == WAY_CPU_COPY ? 1.0F : GAIN;
  for (size_t i = 0; one->n_kernels && i < one->n_bytes / sizeof(float); ++i) {
    if (result[i] != rig->cpu[0][i] * gain) {
      return error_set(error, STATUS_DEVICE_LOST, "%s, %zu bytes: value %zu is %g instead of %g",
                       one->what, one->n_bytes, i, (double)result[i],
                       (double)(rig->cpu[0][i] * gain));
    }
  }
  return STATUS_OK;
}

// ---- rows ----

/// Time one case at both paces; the medians go to us_p50.
static Status
measure(Rig* const rig, const BenchGpuArgs* const args, const Case* const one,
        BenchReport* const report, double* const us_p50, Error* const error)
{
  rig->present = one;
  const BenchAction action = is_cpu(one) ? do_on_cpu : one->by_finish ? do_and_finish : do_on_gpu;
  Status status = clear_results(rig, error);
  if (!status && !is_cpu(one)) {
    status = record(rig, error);
  }
  for (uint32_t pace = 0; pace < N_PACES && !status; ++pace) {
    BenchTimes times;
    status = bench_gpu_time(&rig->gpu, args, pace, action, NULL, rig, rig->times_ns, &times, error);
    if (!status) {
      json_t* const row =
          json_pack("{ss ss sI ss ss}", "part", one->part, "what", one->what, "bytes",
                    (json_int_t)(one->n_kernels ? one->n_bytes : 0U), "side",
                    is_cpu(one) ? "cpu" : "gpu", "pace", bench_pace_names[pace]);
      bench_row_times(row, &times);
      bench_report_row(report, row);
      us_p50[pace] = times.ns.p50 / 1e3;
    }
  }
  rig->gpu.api->recording_free(rig->recording);
  rig->recording = NULL;
  return status ? status : check_results(rig, error);
}

static Status
measure_kernels(Rig* const rig, const BenchGpuArgs* const args, BenchReport* const report,
                Error* const error)
{
  static const struct {
    const char* what;
    uint32_t n;
  } counts[] = { { "nothing", 0 }, { "1 kernel", 1 }, { "8 kernels", 8 }, { "32 kernels", 32 } };
  double us_p50[N_PACES];
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < ARRAY_LEN(counts) && !status; ++i) {
    Case one = { "kernels", counts[i].what, WAY_DEVICE, counts[i].n, KERNEL_BYTES, false };
    if (!bench_gpu_goes_on(args, report, (one.n_kernels ? 2U : 1U) * N_PACES)) {
      continue;
    }
    status = measure(rig, args, &one, report, us_p50, error);
    if (!status && one.n_kernels) {
      one.way = WAY_CPU_SCALE;
      status = measure(rig, args, &one, report, us_p50, error);
    }
  }
  return status;
}

static Status
measure_transfers(Rig* const rig, const BenchGpuArgs* const args, BenchReport* const report,
                  json_t* const more, Error* const error)
{
  size_t switch_bytes[N_PACES] = { 0 }; // smallest size from which copies are always faster
  bool is_mapped_last[N_PACES] = { true, true };
  bool is_whole = true; // no size is left out
  for (uint32_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    double us_copies[N_PACES], us_mapped[N_PACES], us_cpu[N_PACES];
    if (!bench_gpu_goes_on(args, report, (rig->gpu.info.reaches_host ? 3U : 2U) * N_PACES)) {
      is_whole = false;
      continue;
    }
    const Case copies = { "transfers", "copies", WAY_COPIES, 1, sizes[s], false };
    const Case mapped = { "transfers", "mapped", WAY_MAPPED, 1, sizes[s], false };
    const Case cpu = { "transfers", "memcpy", WAY_CPU_COPY, 1, sizes[s], false };
    Status status = measure(rig, args, &copies, report, us_copies, error);
    if (!status && rig->gpu.info.reaches_host) {
      status = measure(rig, args, &mapped, report, us_mapped, error);
    }
    status = status ? status : measure(rig, args, &cpu, report, us_cpu, error);
    if (status) {
      return status;
    }
    for (uint32_t p = 0; p < N_PACES; ++p) {
      const bool is_mapped = rig->gpu.info.reaches_host && us_mapped[p] <= us_copies[p];
      if (is_mapped_last[p] && !is_mapped) {
        switch_bytes[p] = sizes[s];
      }
      is_mapped_last[p] = is_mapped;
    }
  }
  for (uint32_t p = 0; is_whole && p < N_PACES; ++p) {
    json_object_set_new(more, p ? "switch_bytes_paced" : "switch_bytes_back_to_back",
                        is_mapped_last[p] ? json_null()
                                          : json_integer((json_int_t)switch_bytes[p]));
  }
  return STATUS_OK;
}

static Status
measure_completion(Rig* const rig, const BenchGpuArgs* const args, BenchReport* const report,
                   Error* const error)
{
  const Case polled = { "completion", "polled", WAY_DEVICE, 1, KERNEL_BYTES, false };
  const Case finished = { "completion", "finish()", WAY_DEVICE, 1, KERNEL_BYTES, true };
  double us_p50[N_PACES];
  if (!bench_gpu_goes_on(args, report, 2U * N_PACES)) {
    return STATUS_OK;
  }
  const Status status = measure(rig, args, &polled, report, us_p50, error);
  return status ? status : measure(rig, args, &finished, report, us_p50, error);
}

static void
print_switch(const json_t* const more)
{
  const char* key;
  json_t* value;
  json_object_foreach((json_t*)more, key, value)
  {
    const char* const pace = bench_pace_names[!strcmp(key, "switch_bytes_paced")];
    if (json_is_null(value)) {
      printf("\n%s: mapped memory is as quick as copies at every size", pace);
    } else {
      printf("\n%s: copies are quicker from %lld bytes each way on", pace,
             (long long)json_integer_value(value));
    }
  }
  putchar('\n');
}

/// Measure all parts, from the device's memory to the last row.
static Status
run_parts(Rig* const rig, const BenchGpuArgs* const args, const uint32_t part,
          BenchReport* const report, json_t* const more, Error* const error)
{
  Status status = rig_init(rig, args, error);
  if (status) {
    return status;
  }
  json_t* const head = bench_gpu_head(&bench_gpu_fixed, &rig->gpu, args);
  status = bench_report_begin(report, columns, ARRAY_LEN(columns), head, args->json, args->csv_path,
                              error);
  if (!status && (part == PART_ALL || part == PART_KERNELS)) {
    status = measure_kernels(rig, args, report, error);
  }
  if (!status && (part == PART_ALL || part == PART_TRANSFERS)) {
    status = measure_transfers(rig, args, report, more, error);
  }
  if (!status && (part == PART_ALL || part == PART_COMPLETION)) {
    status = measure_completion(rig, args, report, error);
  }
  return status;
}

static int
fixed_run(const int argc, char** const argv)
{
  BenchGpuArgs args = { .block_frames = 64, .n_blocks = 100000, .rate_hz = 48000.0 };
  uint32_t part = PART_ALL;
  // clang-format off
  const Option own[] = {
    { "part", 'p', OPTION_CHOICE, .choices = parts, .to.choice = &part, .help = "Costs to measure, default all" },
  };
  // clang-format on
  int exit_code = 0;
  if (!bench_gpu_parse(&bench_gpu_fixed, own, ARRAY_LEN(own), argc, argv, &args, &exit_code)) {
    return exit_code;
  }
  Error error = { STATUS_OK, "" };
  Rig rig = { 0 };
  BenchReport report = { .bench = &bench_gpu_fixed };
  json_t* const more = json_object();
  const Status status = run_parts(&rig, &args, part, &report, more, &error);
  if (!status && !args.json && json_object_size(more)) {
    print_switch(more);
  }
  exit_code = bench_report_finish(&report, status, &error, more);
  rig_clear(&rig);
  return exit_code;
}
