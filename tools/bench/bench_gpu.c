// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by the GPU benchmarks.

#include "bench_gpu.h"

#include "dsp_gpu/gpu_compile.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/effect.h"
#include "engine/engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_OPTIONS  20U // the benchmark's own and the shared ones
#define MAX_BLOCKS   1e7
#define WARM_UP      20 // rounds before timing, to load kernels and raise clocks
#define QUICK_BLOCKS 50
#define DEADLINE_NS  (60U * NS_PER_S) // slower blocks count as hanging

#define FIRST_API (ENGINE_BACKEND_CPU + 1U)

const char* const bench_pace_names[BENCH_N_PACES] = { "back to back", "paced" };

// ---- options ----

/// Help texts with the defaults of a benchmark; NULL for an option that it does not have.
typedef struct Help {
  char texts[4][64];
  const char *block, *blocks, *limit, *rate;
} Help;

static void
write_help(const BenchGpuArgs* const args, Help* const help)
{
  *help = (Help){ .block = args->block_frames ? help->texts[0] : NULL,
                  .blocks = args->n_blocks ? help->texts[1] : NULL,
                  .limit = help->texts[2],
                  .rate = help->texts[3] };
  const size_t n_bytes = sizeof(help->texts[0]);
  snprintf(help->texts[0], n_bytes, "Frames per block, default %lld",
           (long long)args->block_frames);
  snprintf(help->texts[1], n_bytes, "Blocks of each row at most, default %lld",
           (long long)args->n_blocks);
  snprintf(help->texts[2], n_bytes, "Seconds of each row at most, default %g%s", args->row_seconds,
           args->row_seconds > 0.0 ? "" : ": no limit");
  snprintf(help->texts[3], n_bytes, "Frames per second, default %g", args->rate_hz);
}

bool
bench_gpu_parse(const Bench* const bench, const Option* const own, const uint32_t n_own,
                const int argc, char** const argv, BenchGpuArgs* const args, int* const exit_code)
{
  args->backend = UINT32_MAX;
  args->began_ns = time_now_ns();
  Help help;
  write_help(args, &help);
  // clang-format off
  const Option shared[] = {
    { "backend", 0,   OPTION_CHOICE,                              .choices = engine_backend_names + FIRST_API, .to.choice = &args->backend, .help = "GPU API of the device, default the first that is available" },
    { "block",   'b', OPTION_INTEGER, "N",       1, FX_MAX_BLOCK, .to.integer = &args->block_frames,                .help = help.block },
    { "blocks",  'n', OPTION_INTEGER, "N",       1,   MAX_BLOCKS, .to.integer = &args->n_blocks,                    .help = help.blocks },
    { "csv",     0,   OPTION_TEXT,    "FILE",                     .to.text = &args->csv_path,                       .help = "Write the rows to this file as well" },
    { "gpu",     'g', OPTION_INTEGER, "N",       0,           63, .to.integer = &args->gpu_index,                   .help = "Index of the device in \"warprack list devices\", default 0" },
    { "json",    'j', OPTION_FLAG,                                .to.flag = &args->json,                           .help = "Print JSON" },
    { "limit",   'l', OPTION_NUMBER,  "S",       0,        86400, .to.number = &args->row_seconds,                  .help = help.limit },
    { "minutes", 'm', OPTION_NUMBER,  "M",       0,         1440, .to.number = &args->minutes,                      .help = "Leave out rows that would begin after M minutes; default 0: no limit" },
    { "quick",   'q', OPTION_FLAG,                                .to.flag = &args->is_quick,                       .help = "Run a few rounds of a few rows, as a test of the benchmark" },
    { "rate",    'r', OPTION_NUMBER,  "HZ",   8000,       768000, .to.number = &args->rate_hz,                      .help = help.rate },
  };
  // clang-format on
  Option table[MAX_OPTIONS];
  memcpy(table, own, n_own * sizeof(Option));
  uint32_t n_options = n_own;
  for (uint32_t i = 0; i < ARRAY_LEN(shared); ++i) {
    if (shared[i].help) {
      table[n_options++] = shared[i];
    }
  }
  const OptionTable options = { .options = table, .n_options = n_options };
  Operands operands;
  const bool goes_on = options_parse(bench, &options, argc, argv, &operands);
  *exit_code = operands.exit_code;
  if (args->is_quick && args->n_blocks) {
    args->n_blocks = QUICK_BLOCKS;
  }
  return goes_on;
}

// ---- the device ----

static Status
load(const EngineBackend kind, const GpuApi** const api, Error* const error)
{
  *api = gpu_api_find(kind);
  return *api
             ? (*api)->load(error)
             : error_set(error, STATUS_NO_BACKEND,
                         "%s is not in this build; the output of meson setup names what is missing",
                         engine_backend_names[kind]);
}

static Status
load_with_devices(const EngineBackend kind, const GpuApi** const api, Error* const error)
{
  const Status status = load(kind, api, error);
  return status || (*api)->n_devices()
             ? status
             : error_set(error, STATUS_NO_BACKEND, "%s has no device", engine_backend_names[kind]);
}

/// Find the API of --backend, or the first one with a device.
static Status
find_api(const BenchGpuArgs* const args, const GpuApi** const api, Error* const error)
{
  if (args->backend != UINT32_MAX) {
    return load_with_devices((EngineBackend)(FIRST_API + args->backend), api, error);
  }
  Error reasons[ENGINE_N_BACKENDS - FIRST_API];
  for (uint32_t b = 0; b < ARRAY_LEN(reasons); ++b) {
    if (!load_with_devices((EngineBackend)(FIRST_API + b), api, &reasons[b])) {
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_NO_BACKEND, "%s; %s", reasons[0].text, reasons[1].text);
}

/// Return to the usual scheduling.
static void
end_realtime(void)
{
  const struct sched_param usual = { .sched_priority = 0 };
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual); // always allowed
}

Status
bench_gpu_find(BenchGpu* const gpu, const BenchGpuArgs* const args, Error* const error)
{
  *gpu = (BenchGpu){ .index = (uint32_t)args->gpu_index };
  Status status = find_api(args, &gpu->api, error);
  if (!status && gpu->index >= gpu->api->n_devices()) {
    status = error_set(error, STATUS_NOT_FOUND,
                       "%s has no device %u; \"warprack list devices\" shows what there is",
                       engine_backend_names[gpu->api->kind], gpu->index);
  }
  status = status ? status : gpu->api->describe(gpu->index, &gpu->info, error);
  if (!status) {
    // No real-time priority if the device is a CPU, because the device needs processor time.
    gpu->is_realtime = gpu->info.is_gpu && !rt_become_realtime(ENGINE_PRIORITY, NULL);
    end_realtime();
  }
  return status;
}

Status
bench_gpu_open(BenchGpu* const gpu, const BenchGpuArgs* const args, const char* const kernel_file,
               Error* const error)
{
  static const char* const options[] = { "-DGROUP_SIZE=256", NULL };
  _Static_assert(BENCH_GPU_GROUP == 256U, "as in the options");
  Status status = bench_gpu_find(gpu, args, error);
  status = status ? status : gpu->api->open(gpu->index, &gpu->device, error);
  if (!status) {
    const GpuSource* const source = gpu_source_find(kernel_file);
    status =
        gpu->api->module_new(gpu->device, source->name, source->text, options, &gpu->module, error);
  }
  return status;
}

void
bench_gpu_close(BenchGpu* const gpu)
{
  if (gpu->api) {
    gpu->api->module_free(gpu->module);
    gpu->api->close(gpu->device);
  }
  *gpu = (BenchGpu){ 0 };
}

Status
bench_gpu_backend(const BenchGpu* const gpu, const bool keep_awake, Backend** const backend,
                  Error* const error)
{
  const DeviceChoice choice = {
    .api = gpu->api->kind, .index = gpu->index, .deadline_ns = DEADLINE_NS, .keep_awake = keep_awake
  };
  const Status status = device_backend_new(&choice, backend, error);
  if (!status) {
    device_backend_play(*backend, keep_awake);
  }
  return status;
}

Status
bench_gpu_run(BenchGpu* const gpu, GpuRecording* const recording, Error* const error)
{
  Status status = gpu->api->submit(recording, ++gpu->sequence);
  for (bool done = false; !status && !done;) {
    status = gpu->api->poll(recording, gpu->sequence, &done);
    if (!gpu->info.is_gpu) {
      sched_yield();
    }
  }
  if (status) {
    gpu->api->last_error(gpu->device, error);
  }
  return status;
}

// ---- the header of a report ----

/// Read the processor's name from /proc/cpuinfo; "" if there is none.
static void
read_cpu_name(char* const name, const size_t n_bytes)
{
  name[0] = '\0';
  FILE* const file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && !name[0] && fgets(line, sizeof(line), file)) {
    const char* const colon = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
    if (colon) {
      snprintf(name, n_bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
  }
  if (file) {
    fclose(file);
  }
}

static int
n_cores(void)
{
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static double
period_us(const BenchGpuArgs* const args)
{
  return 1e6 * (double)args->block_frames / args->rate_hz;
}

static void
print_head(const BenchGpu* const gpu, const BenchGpuArgs* const args, const char* const cpu,
           const char* const date)
{
  printf("%s %u: %s, %u units, driver %s\n", engine_backend_names[gpu->api->kind], gpu->index,
         gpu->info.name, gpu->info.compute_units, gpu->info.driver);
  printf("CPU: %s, %d cores; %s\n", cpu, n_cores(), date);
  if (args->block_frames) {
    printf("%lld frames at %.0f Hz: a period is %.1f us; ", (long long)args->block_frames,
           args->rate_hz, period_us(args));
  } else {
    printf("%.0f frames per second; ", args->rate_hz);
  }
  printf("real-time priority: %s\n\n", gpu->is_realtime ? "yes" : "no");
}

json_t*
bench_gpu_head(const Bench* const bench, const BenchGpu* const gpu, const BenchGpuArgs* const args)
{
  char cpu[128];
  read_cpu_name(cpu, sizeof(cpu));
  char date[32];
  const time_t now = time(NULL);
  struct tm utc;
  strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  json_t* const head =
      json_pack("{ss ss si so so}", "bench", bench->name + strlen(BENCH_PREFIX), "api",
                engine_backend_names[gpu->api->kind], "gpu", (int)gpu->index, "device",
                command_json_text(gpu->info.name), "driver", command_json_text(gpu->info.driver));
  json_t* const rest = json_pack(
      "{si sb sb so si ss sf sb}", "compute_units", (int)gpu->info.compute_units, "is_gpu",
      gpu->info.is_gpu, "reaches_host", gpu->info.reaches_host, "cpu", command_json_text(cpu),
      "cpu_cores", n_cores(), "date", date, "rate_hz", args->rate_hz, "realtime", gpu->is_realtime);
  json_object_update(head, rest);
  json_decref(rest);
  if (args->block_frames) {
    json_object_set_new(head, "block_frames", json_integer(args->block_frames));
    json_object_set_new(head, "period_us", json_real(period_us(args)));
  }
  if (!args->json) {
    print_head(gpu, args, cpu, date);
  }
  return head;
}

// ---- timing ----

/// Sleep until the next tick in the future.
static void
sleep_to_tick(uint64_t* const tick_ns, const uint64_t period_ns)
{
  const uint64_t now_ns = time_now_ns();
  *tick_ns += period_ns;
  if (*tick_ns < now_ns) {
    *tick_ns += (now_ns - *tick_ns + period_ns - 1U) / period_ns * period_ns;
  }
  time_sleep_until(*tick_ns);
}

/// Measure the time of one round.
static Status
time_once(const BenchAction action, void* const context, double* const time_ns, Error* const error)
{
  const uint64_t began_ns = time_now_ns();
  const Status status = action(context, error);
  *time_ns = (double)(time_now_ns() - began_ns);
  return status;
}

/// Compute the figures from the sorted times.
static void
sum_up(double* const times_ns, const int64_t n, const uint64_t period_ns, BenchTimes* const times)
{
  *times = (BenchTimes){ .n = n };
  for (int64_t i = 0; i < n; ++i) {
    times->n_late += times_ns[i] > (double)period_ns;
  }
  times->ns = percentiles_of(times_ns, (size_t)n);
}

Status
bench_gpu_time(const BenchGpu* const gpu, const BenchGpuArgs* const args, const bool paced,
               const BenchAction action, BenchRest* const rest, void* const context,
               double* const times_ns, BenchTimes* const times, Error* const error)
{
  const uint64_t period_ns = (uint64_t)(1e9 * (double)args->block_frames / args->rate_hz);
  Status status = STATUS_OK;
  if (paced && gpu->is_realtime) {
    status = rt_become_realtime(ENGINE_PRIORITY, error);
  }
  uint64_t tick_ns = time_now_ns();
  uint64_t began_ns = tick_ns;
  int64_t n = 0; // timed rounds; negative: warm-up
  for (int64_t i = -WARM_UP; i < args->n_blocks && !status; n = ++i) {
    if (i == 0) {
      began_ns = time_now_ns();
    } else if (i > 0 && args->row_seconds > 0.0 &&
               1e-9 * (double)(time_now_ns() - began_ns) > args->row_seconds) {
      break;
    }
    if (paced) {
      sleep_to_tick(&tick_ns, period_ns);
    }
    status = time_once(action, context, &times_ns[i < 0 ? 0 : i], error);
    if (paced && rest) {
      rest(context);
    }
  }
  end_realtime();
  if (!status) {
    sum_up(times_ns, n, period_ns, times);
  }
  return status;
}

bool
bench_gpu_goes_on(const BenchGpuArgs* const args, BenchReport* const report, const uint32_t n)
{
  const bool goes_on = args->minutes <= 0.0 ||
                       1e-9 * (double)(time_now_ns() - args->began_ns) < 60.0 * args->minutes;
  report->n_left_out += goes_on ? 0U : n;
  return goes_on;
}
