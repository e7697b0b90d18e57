// SPDX-License-Identifier: GPL-3.0-or-later
// The measurements of a plugin, the ones that crash most often last.

#include "probe_plugin.h"

#include "probe_calls.h"
#include "probe_take.h"

#include "plugins/process_memory.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_PLACES     3U // of a parameter's range that are tried for the latency
#define N_BASES      4U // times that all parameters are at other places meanwhile
#define LATENCY_RUNS 2U // some plugins report their latency in the second run only
#define RANDOM_SETS  8U // of values that may make NaN
#define RANDOM_RUNS  8U // for each

typedef struct Probe {
  Bench bench;
  void (*began)(void* context, ProbeStep step);
  void* context;
  PluginReport* report;
  uint32_t* moving; ///< PluginReport::moving, to be filled
  float* first;     ///< A take that the others are compared with
  float* other;
} Probe;

// ---- the process ----

static uint32_t
count_threads(void)
{
  uint32_t n = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (const struct dirent* task = NULL; tasks && (task = readdir(tasks));) {
    n += task->d_name[0] != '.';
  }
  if (tasks) {
    closedir(tasks);
  }
  return n;
}

static bool
has_printed(void)
{
  struct stat facts;
  return !fstat(STDOUT_FILENO, &facts) && S_ISREG(facts.st_mode) && facts.st_size > 0;
}

// ---- memory, threads ----

/// Open a second instance beside the first one, whose library is loaded.  Offline, because live an
/// LV2 plugin with work gets a thread from the host.
static Status
measure_instance(Probe* const probe, Error* const error)
{
  Instance* instance = NULL;
  const uint32_t n_threads = count_threads();
  const ProcessMemory memory = process_memory();
  const Status status = probe_bench_open(&probe->bench, TAKE_BLOCK, true, &instance, error);
  if (!status) {
    probe_bench_run(&probe->bench, instance, TAKE_BLOCK);
    const uint32_t now_threads = count_threads();
    probe->report->n_bytes = process_memory_growth(&memory);
    probe->report->n_threads = now_threads > n_threads ? now_threads - n_threads : 0U;
    probe_bench_close(&probe->bench, instance);
  }
  return status;
}

// ---- latency ----

/// The latency at the present values.  A port tells it after a run, CLAP when it is activated.
static Status
read_latency(Probe* const probe, Instance* const instance, uint32_t* const frames,
             Error* const error)
{
  Bench* const bench = &probe->bench;
  for (uint32_t r = 0; r < LATENCY_RUNS; ++r) {
    probe_bench_run(bench, instance, TAKE_BLOCK);
  }
  const bool is_clap = !strcmp(bench->plugin->origin.format, "clap");
  const Status status = is_clap ? bench->calls->renew(instance, error) : STATUS_OK;
  *frames = status ? 0U : bench->calls->latency(instance);
  return status;
}

static void
set_initial(const Bench* const bench, Instance* const instance, const uint32_t p)
{
  const int32_t place = bench->plugin->param_ports[p];
  if (place >= 0) {
    const PluginPort* const port = &bench->plugin->ports[place];
    const double scale = port->flags & PORT_RATE ? REPORT_RATE_HZ : 1.0;
    bench->calls->set(instance, (uint32_t)place, port->initial * scale, 0U);
  }
}

/// Move one parameter through its range, and note if the latency changes.
static Status
try_parameter(Probe* const probe, Instance* const instance, const uint32_t p, Error* const error)
{
  uint32_t first = 0;
  Status status = STATUS_OK;
  for (uint32_t place = 0; !status && place < N_PLACES && !probe->bench.is_fixed[p]; ++place) {
    uint32_t frames = 0;
    probe_bench_set(&probe->bench, instance, p, place / (N_PLACES - 1.0));
    status = read_latency(probe, instance, &frames, error);
    if (!status && place && frames != first) {
      probe->bench.is_fixed[p] = true;
      probe->moving[probe->report->n_moving++] = (uint32_t)probe->bench.plugin->param_ports[p];
    }
    first = place ? first : frames;
  }
  return status;
}

/// The place of a parameter while others are tried.  Each second time all switches are on, because
/// the lookahead of a band that is off, for example, does not count.
static double
base_place(const Bench* const bench, const uint32_t p, const uint32_t base, uint32_t* const seed)
{
  const double place = probe_bench_random(seed);
  return base % 2U && bench->plugin->fx.params[p].kind == PARAM_SWITCH ? 1.0 : place;
}

/// Try all parameters while the others are at their initial values, if `base` is 0, or at other
/// ones.
static Status
try_parameters(Probe* const probe, Instance* const instance, const uint32_t base,
               Error* const error)
{
  const Bench* const bench = &probe->bench;
  uint32_t seed = base;
  for (uint32_t p = 0; base && p < bench->plugin->fx.n_params; ++p) {
    probe_bench_set(bench, instance, p, base_place(bench, p, base, &seed));
  }
  seed = base;
  Status status = STATUS_OK;
  for (uint32_t p = 0; !status && p < bench->plugin->fx.n_params; ++p) {
    const double place = base_place(bench, p, base, &seed);
    if (!bench->is_fixed[p]) {
      probe->began(probe->context, PROBE_LATENCY);
      status = try_parameter(probe, instance, p, error);
      if (base) {
        probe_bench_set(bench, instance, p, place);
      } else {
        set_initial(bench, instance, p);
      }
    }
  }
  return status;
}

static Status
measure_latency(Probe* const probe, Instance* const instance, Error* const error)
{
  Status status = read_latency(probe, instance, &probe->report->latency_frames, error);
  for (uint32_t base = 0; !status && base <= N_BASES; ++base) {
    status = try_parameters(probe, instance, base, error);
  }
  return status;
}

static Status
measure_opened(Probe* const probe, Error* const error)
{
  Instance* instance = NULL;
  probe->began(probe->context, PROBE_OPEN);
  Status status = probe_bench_open(&probe->bench, TAKE_BLOCK, false, &instance, error);
  if (status) {
    return status;
  }
  probe_bench_run(&probe->bench, instance, TAKE_BLOCK);
  status = measure_instance(probe, error);
  status = status ? status : measure_latency(probe, instance, error);
  probe_bench_close(&probe->bench, instance);
  return status;
}

// ---- samples ----

/// Play a take that differs from the first one, and enlarge the largest difference.
static Status
compare(Probe* const probe, const ProbeStep step, const TakePlan* const plan,
        TakeFacts* const facts, double* const most, Error* const error)
{
  probe->began(probe->context, step);
  const Status status = take(&probe->bench, plan, probe->other, facts, error);
  if (!status) {
    *most = fmax(*most, take_difference(&probe->bench, probe->first, probe->other));
  }
  return status;
}

static Status
play_first(Probe* const probe, const ProbeStep step, const TakePlan* const plan,
           TakeFacts* const facts, Error* const error)
{
  probe->began(probe->context, step);
  return take(&probe->bench, plan, probe->first, facts, error);
}

/// Add what was seen in a take to the report.
static void
add_facts(PluginReport* const report, const TakeFacts* const facts)
{
  report->flags |= facts->writes_input ? REPORT_WRITES_INPUT : REPORT_NO_FLAGS;
  report->flags |= facts->is_finite ? REPORT_NO_FLAGS : REPORT_NAN;
  if (facts->calls.n_allocations > report->n_allocations) {
    report->n_allocations = facts->calls.n_allocations;
  }
  if (facts->calls.n_locks > report->n_locks) {
    report->n_locks = facts->calls.n_locks;
  }
}

static Status
measure_runs(Probe* const probe, Error* const error)
{
  const TakePlan live = { .max_block = TAKE_BLOCK };
  const TakePlan offline = { .max_block = TAKE_BLOCK, .offline = true };
  TakeFacts facts = { .is_finite = true };
  PluginReport* const report = probe->report;
  calls_watch();
  Status status = play_first(probe, PROBE_RUN, &live, &facts, error);
  report->tail_frames = facts.tail_frames;
  add_facts(report, &facts);
  return status ? status : compare(probe, PROBE_RUN, &offline, NULL, &report->run_error, error);
}

static Status
measure_blocks(Probe* const probe, Error* const error)
{
  const TakePlan short_blocks = { .max_block = REPORT_BLOCK_FRAMES };
  const TakePlan odd = { .max_block = TAKE_BLOCK, .is_odd = true };
  TakePlan other = { .max_block = TAKE_BLOCK, .values = VALUES_RANDOM };
  TakeFacts facts = { .is_finite = true };
  double* const most = &probe->report->block_error;
  Status status = compare(probe, PROBE_BLOCKS, &short_blocks, &facts, most, error);
  probe->report->block_ns = facts.block_ns;
  add_facts(probe->report, &facts);
  status = status ? status : compare(probe, PROBE_BLOCKS, &odd, NULL, most, error);
  status = status ? status : play_first(probe, PROBE_BLOCKS, &other, NULL, error);
  other.is_odd = true;
  return status ? status : compare(probe, PROBE_BLOCKS, &other, NULL, most, error);
}

static Status
measure_moves(Probe* const probe, Error* const error)
{
  TakePlan plan = { .max_block = TAKE_BLOCK, .values = VALUES_MOVE };
  PluginReport* const report = probe->report;
  TakeFacts facts = { .is_finite = true };
  Status status = play_first(probe, PROBE_MOVE, &plan, &facts, error);
  add_facts(report, &facts);
  plan.offline = true;
  status = status ? status : compare(probe, PROBE_MOVE, &plan, NULL, &report->run_error, error);
  plan.offline = false;
  plan.is_odd = true;
  return status ? status : compare(probe, PROBE_MOVE, &plan, NULL, &report->move_error, error);
}

static Status
measure_random(Probe* const probe, Error* const error)
{
  Bench* const bench = &probe->bench;
  Instance* instance = NULL;
  uint32_t seed = 1;
  probe->began(probe->context, PROBE_RANDOM);
  const Status status = probe_bench_open(bench, TAKE_BLOCK, false, &instance, error);
  if (status) {
    return status;
  }
  bool finite = true;
  for (uint32_t set = 0; finite && set < RANDOM_SETS; ++set) {
    probe_bench_set_all(bench, instance, &seed);
    for (uint32_t r = 0; finite && r < RANDOM_RUNS; ++r) {
      probe_bench_run(bench, instance, TAKE_BLOCK);
      finite = probe_bench_is_finite(bench, TAKE_BLOCK);
    }
  }
  probe->report->flags |= finite ? REPORT_NO_FLAGS : REPORT_NAN;
  probe_bench_close(bench, instance);
  return STATUS_OK;
}

// ---- all ----

static Status
measure(Probe* const probe, Error* const error)
{
  Status status = measure_opened(probe, error);
  status = status ? status : measure_runs(probe, error);
  status = status ? status : measure_blocks(probe, error);
  status = status ? status : measure_moves(probe, error);
  status = status ? status : measure_random(probe, error);
  probe->report->flags |= has_printed() ? REPORT_PRINTS : REPORT_NO_FLAGS;
  return status;
}

static int
compare_places(const void* const a, const void* const b)
{
  const uint32_t left = *(const uint32_t*)a;
  const uint32_t right = *(const uint32_t*)b;
  return (left > right) - (left < right);
}

Status
probe_plugin(const Plugin* const plugin, void (*const began)(void* context, ProbeStep step),
             void* const context, Arena* const arena, PluginReport* const report,
             Error* const error)
{
  uint32_t* const moving = arena_take(arena, plugin->n_ports, sizeof(uint32_t));
  Probe probe = { .began = began, .context = context, .report = report, .moving = moving };
  *report = (PluginReport){ .fault = "", .moving = moving };
  Status status = probe_bench_init(&probe.bench, plugin, error);
  const size_t n = (size_t)probe.bench.n_out * TAKE_FRAMES;
  probe.first = calloc(n + 1U, sizeof(float));
  probe.other = calloc(n + 1U, sizeof(float));
  if (!status && (!moving || !probe.first || !probe.other)) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  status = status ? status : measure(&probe, error);
  if (report->n_moving) {
    qsort(moving, report->n_moving, sizeof(uint32_t), compare_places);
  }
  free(probe.first);
  free(probe.other);
  probe_bench_clear(&probe.bench);
  return status;
}
