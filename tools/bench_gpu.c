// SPDX-License-Identifier: GPL-3.0-or-later
// What the benchmarks of GPUs share.

#include "bench_gpu.h"

#include "../dsp_gpu/gpu_compile.h"
#include "../engine/effect.h"
#include "../engine/rt.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_OPTIONS  16U // own and shared
#define WARM_UP      20  // times before timing: kernels are loaded, clocks go up, PoCL compiles
#define PRIORITY     10  // the worker's default
#define QUICK_BLOCKS 50

static const char* const backends[] = { "cuda", "opencl", NULL };

// ---- options ----

bool
bench_gpu_parse(const Bench* const bench, const Option* const own, const uint32_t n_own,
                const int argc, char** const argv, BenchGpuArgs* const args, int* const exit_code)
{
  *args = (BenchGpuArgs){
    .backend = UINT32_MAX, .block_frames = 64, .n_blocks = 100000, .rate_hz = 48000.0
  };
  const Option shared[] = {
    { "backend", 0, OPTION_CHOICE, .choices = backends,
      .help = "Whose device, default the first that is there", .to.choice = &args->backend },
    { "block", 'b', OPTION_INTEGER, "N", 1, FX_MAX_BLOCK, .help = "Frames per block, default 64",
      .to.integer = &args->block_frames },
    { "blocks", 'n', OPTION_INTEGER, "N", 1, 1e7, .help = "Blocks of each row, default 100000",
      .to.integer = &args->n_blocks },
    { "csv", 0, OPTION_TEXT, "FILE", .help = "Write the rows to this file, too",
      .to.text = &args->csv_path },
    { "gpu", 'g', OPTION_INTEGER, "N", 0, 63,
      .help = "Index of the device in \"warprack list devices\", default 0",
      .to.integer = &args->gpu_index },
    { "json", 'j', OPTION_FLAG, .help = "Print JSON", .to.flag = &args->json },
    { "quick", 'q', OPTION_FLAG, .help = "50 blocks of each row: shows that it works",
      .to.flag = &args->is_quick },
    { "rate", 'r', OPTION_NUMBER, "HZ", 8000, 768000, .help = "Frames per second, default 48000",
      .to.number = &args->rate_hz },
  };
  Option table[MAX_OPTIONS];
  memcpy(table, own, n_own * sizeof(Option));
  memcpy(table + n_own, shared, sizeof(shared));
  const OptionTable options = { .options = table, .n_options = n_own + ARRAY_LEN(shared) };
  Operands operands;
  const bool goes_on = options_parse(bench, &options, argc, argv, &operands);
  *exit_code = operands.exit_code;
  args->n_blocks = args->is_quick ? QUICK_BLOCKS : args->n_blocks;
  return goes_on;
}

// ---- the device ----

static Status
load(const char* const name, const GpuApi** const api, Error* const error)
{
  uint32_t n = 0;
  const GpuApi* const* const apis = gpu_apis(&n);
  for (uint32_t i = 0; i < n; ++i) {
    if (!strcmp(apis[i]->name, name)) {
      *api = apis[i];
      return apis[i]->load(error);
    }
  }
  return error_set(error, STATUS_NO_BACKEND,
                   "%s is not in this build; meson setup says what it lacked", name);
}

static Status
load_with_devices(const char* const name, const GpuApi** const api, Error* const error)
{
  const Status status = load(name, api, error);
  return status || (*api)->n_devices()
             ? status
             : error_set(error, STATUS_NO_BACKEND, "%s has no device", name);
}

/// The one that was asked for, or the first that has a device.
static Status
find_api(const BenchGpuArgs* const args, const GpuApi** const api, Error* const error)
{
  if (args->backend != UINT32_MAX) {
    return load_with_devices(backends[args->backend], api, error);
  }
  Error reasons[ARRAY_LEN(backends) - 1U];
  for (uint32_t b = 0; backends[b]; ++b) {
    if (!load_with_devices(backends[b], api, &reasons[b])) {
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_NO_BACKEND, "%s; %s", reasons[0].text, reasons[1].text);
}

/// Back to what threads usually have.
static void
end_realtime(void)
{
  const struct sched_param usual = { .sched_priority = 0 };
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual); // always allowed
}

Status
bench_gpu_open(BenchGpu* const gpu, const BenchGpuArgs* const args, const char* const kernel_file,
               Error* const error)
{
  static const char* const options[] = { "-DGROUP_SIZE=256", NULL };
  _Static_assert(BENCH_GPU_GROUP == 256U, "as in the options");
  *gpu = (BenchGpu){ .index = (uint32_t)args->gpu_index };
  Status status = find_api(args, &gpu->api, error);
  if (!status && gpu->index >= gpu->api->n_devices()) {
    status = error_set(error, STATUS_NOT_FOUND,
                       "%s has no device %u; \"warprack list devices\" shows what there is",
                       gpu->api->name, gpu->index);
  }
  if (!status) {
    status = gpu->api->describe(gpu->index, &gpu->info, error);
  }
  if (!status) {
    status = gpu->api->open(gpu->index, &gpu->device, error);
  }
  if (!status) {
    const GpuSource* const source = gpu_source_find(kernel_file);
    status =
        gpu->api->module_new(gpu->device, source->name, source->text, options, &gpu->module, error);
  }
  if (!status) {
    // A CPU that plays the device needs its time.
    gpu->is_realtime = gpu->info.is_gpu && !rt_become_realtime(PRIORITY, NULL);
    end_realtime();
  }
  return status;
}

void
bench_gpu_close(BenchGpu* const gpu)
{
  if (gpu->module) {
    gpu->api->module_free(gpu->module);
  }
  if (gpu->device) {
    gpu->api->close(gpu->device);
  }
  *gpu = (BenchGpu){ 0 };
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

// ---- the head ----

/// What /proc/cpuinfo calls the processor; empty when it does not.
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
                gpu->api->name, "gpu", (int)gpu->index, "device", command_json_text(gpu->info.name),
                "driver", command_json_text(gpu->info.driver));
  json_t* const rest = json_pack(
      "{si sb sb so ss sI sf sf sI sb}", "compute_units", (int)gpu->info.compute_units, "is_gpu",
      gpu->info.is_gpu, "reaches_host", gpu->info.reaches_host, "cpu", command_json_text(cpu),
      "date", date, "block_frames", (json_int_t)args->block_frames, "rate_hz", args->rate_hz,
      "period_us", 1e6 * (double)args->block_frames / args->rate_hz, "blocks",
      (json_int_t)args->n_blocks, "realtime", gpu->is_realtime);
  json_object_update(head, rest);
  json_decref(rest);
  return head;
}

void
bench_gpu_print_head(const json_t* const head)
{
  const char *api, *device, *driver, *cpu, *date;
  int index, n_units, realtime;
  json_int_t n_blocks, block_frames;
  double rate_hz, period_us;
  if (json_unpack((json_t*)head, "{ss si ss ss si ss ss sI sI sF sF sb}", "api", &api, "gpu",
                  &index, "device", &device, "driver", &driver, "compute_units", &n_units, "cpu",
                  &cpu, "date", &date, "blocks", &n_blocks, "block_frames", &block_frames,
                  "rate_hz", &rate_hz, "period_us", &period_us, "realtime", &realtime)) {
    return; // none of ours
  }
  printf("%s %d: %s, %d units, driver %s\n", api, index, device, n_units, driver);
  printf("CPU: %s; %s\n", cpu, date);
  printf(
      "%lld blocks each, %lld frames at %.0f Hz: a period is %.1f us; real-time priority: %s\n\n",
      (long long)n_blocks, (long long)block_frames, rate_hz, period_us, realtime ? "yes" : "no");
}

// ---- timing ----

/// Sleep until the next tick that is still to come.
static void
sleep_to_tick(uint64_t* const tick_ns, const uint64_t period_ns)
{
  const uint64_t now_ns = rt_now_ns();
  *tick_ns += period_ns;
  if (*tick_ns < now_ns) {
    *tick_ns += (now_ns - *tick_ns + period_ns - 1U) / period_ns * period_ns;
  }
  const struct timespec at = { .tv_sec = (time_t)(*tick_ns / 1000000000U),
                               .tv_nsec = (long)(*tick_ns % 1000000000U) };
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/// One round, and what it took.
static Status
time_once(const BenchAction action, void* const context, double* const time_ns, Error* const error)
{
  const uint64_t began_ns = rt_now_ns();
  const Status status = action(context, error);
  *time_ns = (double)(rt_now_ns() - began_ns);
  return status;
}

Status
bench_gpu_time(const BenchGpu* const gpu, const BenchGpuArgs* const args, const bool paced,
               const BenchAction action, void* const context, double* const times_ns,
               Percentiles* const ns, Error* const error)
{
  const uint64_t period_ns = (uint64_t)(1e9 * (double)args->block_frames / args->rate_hz);
  const int64_t n_blocks = args->n_blocks;
  Status status = STATUS_OK;
  if (paced && gpu->is_realtime) {
    status = rt_become_realtime(PRIORITY, error);
  }
  uint64_t tick_ns = rt_now_ns();
  for (int64_t i = -WARM_UP; i < n_blocks && !status; ++i) {
    if (paced) {
      sleep_to_tick(&tick_ns, period_ns);
    }
    status = time_once(action, context, &times_ns[i < 0 ? 0 : i], error);
  }
  end_realtime();
  if (!status) {
    *ns = percentiles_of(times_ns, (size_t)n_blocks);
  }
  return status;
}
