// SPDX-License-Identifier: GPL-3.0-or-later
// Takes: instances that play the same input in different ways.

#include "probe_take.h"

#include "plugins/format.h"
#include "plugins/host_params.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL         0.5F     // peak of the noise
#define BURST_FRAMES  4096U    // the noise is loud and quiet in turn, for dynamics and gates
#define QUIET         0.02F    // of the loud noise
#define TAIL_LEVEL    3.16e-5F // -90 dBFS
#define QUIET_FRAMES  24000U   // a tail has ended if it was below TAIL_LEVEL for so long
#define MAX_TIMES     (TAKE_FRAMES / TAKE_GRID)
#define MAX_CHOICES   64U
#define NOT_A_NUMBER  1e9 // difference between a number and a NaN
#define VALUES_SEED   7U
#define MOVES_SEED    11U
#define SETTLING_RUNS 16U // 85 ms: longer than plugins smooth their parameters

// ---- bench ----

double
probe_bench_random(uint32_t* const seed)
{
  *seed = *seed * 1664525U + 1013904223U;
  return (double)(*seed >> 8U) / (double)(1U << 24U);
}

static void
fill_noise(float* const row, uint32_t seed)
{
  for (uint32_t i = 0; i < TAKE_FRAMES; ++i) {
    const float level = i / BURST_FRAMES % 2U ? LEVEL * QUIET : LEVEL;
    row[i] = level * (float)(2.0 * probe_bench_random(&seed) - 1.0);
  }
}

static float**
take_rows(Arena* const arena, const uint32_t n_rows, const uint32_t n_frames)
{
  float** const rows = arena_take(arena, n_rows, sizeof(float*));
  for (uint32_t r = 0; rows && r < n_rows; ++r) {
    rows[r] = arena_take(arena, n_frames, sizeof(float));
  }
  return rows;
}

Status
probe_bench_init(Bench* const bench, const Plugin* const plugin, Error* const error)
{
  const PluginFormat* const format = plugin_format_find(plugin->origin.format);
  *bench = (Bench){ .plugin = plugin,
                    .n_in = plugin_count_audio(plugin, false),
                    .n_out = plugin_count_audio(plugin, true) };
  if (!format || !format->calls) {
    return error_set(error, STATUS_NO_BACKEND, "this build cannot host it");
  }
  bench->calls = format->calls;
  Arena* const arena = &bench->arena;
  bench->noise = take_rows(arena, bench->n_in, TAKE_FRAMES);
  bench->in = take_rows(arena, bench->n_in, TAKE_BLOCK);
  bench->out = take_rows(arena, bench->n_out, TAKE_BLOCK);
  bench->is_fixed = arena_take(arena, plugin->fx.n_params, sizeof(bool));
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t r = 0; r < bench->n_in; ++r) {
    fill_noise(bench->noise[r], r);
  }
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    bench->is_fixed[p] = plugin->param_ports[p] < 0 || fx_param_is_text(&plugin->fx.params[p]);
  }
  rt_flush_denormals(); // as the player does
  return STATUS_OK;
}

void
probe_bench_clear(Bench* const bench)
{
  arena_clear(&bench->arena);
}

Status
probe_bench_open(const Bench* const bench, const uint32_t max_block, const bool offline,
                 Instance** const instance, Error* const error)
{
  const InstanceSetup setup = { .rate_hz = REPORT_RATE_HZ,
                                .max_block_frames = max_block,
                                .offline = offline };
  const uint64_t float_mode = rt_float_mode();
  const Status status = bench->calls->open(bench->plugin, &setup, instance, error);
  rt_keep_float_mode(float_mode);
  if (!status) {
    host_send_modes(bench->plugin, bench->calls, *instance, offline);
  }
  return status;
}

void
probe_bench_close(const Bench* const bench, Instance* const instance)
{
  const uint64_t float_mode = rt_float_mode();
  bench->calls->close(instance);
  rt_keep_float_mode(float_mode);
}

/// Play a part of the noise, or silence if `first` is TAKE_FRAMES.
static void
run(Bench* const bench, Instance* const instance, const uint32_t first, const uint32_t n_frames)
{
  const uint64_t float_mode = rt_float_mode();
  for (uint32_t r = 0; r < bench->n_in; ++r) {
    if (first < TAKE_FRAMES) {
      memcpy(bench->in[r], bench->noise[r] + first, n_frames * sizeof(float));
    } else {
      memset(bench->in[r], 0, n_frames * sizeof(float));
    }
  }
  bench->calls->run(instance, (const float* const*)bench->in, bench->out, n_frames);
  rt_keep_float_mode(float_mode);
}

void
probe_bench_run(Bench* const bench, Instance* const instance, const uint32_t n_frames)
{
  run(bench, instance, 0, n_frames);
}

bool
probe_bench_is_finite(const Bench* const bench, const uint32_t n_frames)
{
  bool is_finite = true;
  for (uint32_t r = 0; r < bench->n_out; ++r) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      is_finite = is_finite && isfinite(bench->out[r][i]);
    }
  }
  return is_finite;
}

// ---- values ----

/// The number of a place in the range of a parameter; of a choice, one of its choices.
static double
number_at(const FxParam* const param, const PluginPort* const port, const double place)
{
  if (param->kind == PARAM_CHOICE) {
    uint32_t n = 0;
    while (param->choices[n] && n < MAX_CHOICES) {
      ++n;
    }
    return param->choice_values[(uint32_t)fmin(place * n, n - 1.0)];
  }
  if (param->kind == PARAM_SWITCH) {
    return place < 0.5 ? port->min : port->max;
  }
  const double scale = port->flags & PORT_RATE ? REPORT_RATE_HZ : 1.0;
  const double number = scale * ((1.0 - place) * port->min + place * port->max);
  return param->kind == PARAM_INTEGER ? fmin(fmax(rint(number), param->min), param->max)
                                      : host_port_clip(port, REPORT_RATE_HZ, number);
}

void
probe_bench_set(const Bench* const bench, Instance* const instance, const uint32_t p,
                const double place)
{
  const int32_t port = bench->plugin->param_ports[p];
  if (port >= 0 && !fx_param_is_text(&bench->plugin->fx.params[p])) {
    const PluginPort* const row = &bench->plugin->ports[port];
    bench->calls->set(instance, (uint32_t)port, number_at(&bench->plugin->fx.params[p], row, place),
                      0U);
  }
}

void
probe_bench_set_all(const Bench* const bench, Instance* const instance, uint32_t* const seed)
{
  for (uint32_t p = 0; p < bench->plugin->fx.n_params; ++p) {
    probe_bench_set(bench, instance, p, probe_bench_random(seed));
  }
}

/// Move one parameter.
static void
move(const Bench* const bench, Instance* const instance, uint32_t* const seed)
{
  const uint32_t n = fx_own_params(&bench->plugin->fx);
  const uint32_t p = (uint32_t)(probe_bench_random(seed) * n);
  const double place = probe_bench_random(seed);
  if (!bench->is_fixed[p]) {
    probe_bench_set(bench, instance, p, place);
  }
}

// ---- take ----

/// A take that is played.
typedef struct Playing {
  Bench* bench;
  const TakePlan* plan;
  Instance* instance;
  float* output;
  bool writes_input;
  bool is_finite;
  CallCounts calls;
  uint32_t times[MAX_TIMES];
  uint32_t n_times;
} Playing;

/// Play one run, at `frame`, and keep its output.
static void
play(Playing* const playing, const uint32_t frame, const uint32_t n_frames)
{
  Bench* const bench = playing->bench;
  const uint64_t began = time_now_ns();
  calls_count(&playing->calls);
  run(bench, playing->instance, frame, n_frames);
  calls_count(NULL);
  if (n_frames == playing->plan->max_block && playing->n_times < MAX_TIMES) {
    playing->times[playing->n_times++] = (uint32_t)fmin((double)(time_now_ns() - began), 4e9);
  }
  for (uint32_t r = 0; r < bench->n_in; ++r) {
    playing->writes_input = playing->writes_input || memcmp(bench->in[r], bench->noise[r] + frame,
                                                            n_frames * sizeof(float)) != 0;
  }
  playing->is_finite = playing->is_finite && probe_bench_is_finite(bench, n_frames);
  for (uint32_t r = 0; r < bench->n_out; ++r) {
    memcpy(playing->output + (size_t)r * TAKE_FRAMES + frame, bench->out[r],
           n_frames * sizeof(float));
  }
}

/// Play all frames.  A run ends at the latest where a parameter may move.
static void
play_all(Playing* const playing)
{
  const TakePlan* const plan = playing->plan;
  const bool moves = plan->values == VALUES_MOVE;
  const uint32_t longest = moves && plan->max_block > TAKE_GRID ? TAKE_GRID : plan->max_block;
  uint32_t seed = MOVES_SEED;
  uint32_t odd = 1;
  for (uint32_t frame = 0; frame < TAKE_FRAMES;) {
    if (moves && frame % TAKE_GRID == 0U) {
      move(playing->bench, playing->instance, &seed);
    }
    const uint32_t left =
        (moves ? TAKE_GRID : TAKE_FRAMES) - frame % (moves ? TAKE_GRID : TAKE_FRAMES);
    uint32_t n = plan->is_odd ? odd : longest;
    n = n < left ? n : left;
    play(playing, frame, n);
    frame += n;
    odd = (odd + 12U) % longest | 1U; // 1, 13, 25, ...: all classes of n mod 8
  }
}

/// Let the instance reach other values before the take, always in runs of the same length.
static void
settle(Bench* const bench, Instance* const instance)
{
  uint32_t seed = VALUES_SEED;
  probe_bench_set_all(bench, instance, &seed);
  for (uint32_t r = 0; r < SETTLING_RUNS; ++r) {
    probe_bench_run(bench, instance, TAKE_BLOCK);
  }
}

/// The frames for which an instance still sounds after the noise.
static uint32_t
play_tail(const Playing* const playing)
{
  Bench* const bench = playing->bench;
  const uint32_t most = REPORT_TAIL_SECONDS * (uint32_t)REPORT_RATE_HZ;
  uint32_t tail = 0;
  uint32_t frame = 0;
  for (; frame < most && frame < tail + QUIET_FRAMES; frame += TAKE_BLOCK) {
    run(bench, playing->instance, TAKE_FRAMES, TAKE_BLOCK);
    for (uint32_t r = 0; r < bench->n_out; ++r) {
      for (uint32_t i = 0; i < TAKE_BLOCK; ++i) {
        tail = fabsf(bench->out[r][i]) > TAIL_LEVEL && tail <= frame + i ? frame + i + 1U : tail;
      }
    }
  }
  return tail < most ? tail : most;
}

static int
compare_times(const void* const a, const void* const b)
{
  const uint32_t left = *(const uint32_t*)a;
  const uint32_t right = *(const uint32_t*)b;
  return (left > right) - (left < right);
}

Status
take(Bench* const bench, const TakePlan* const plan, float* const output, TakeFacts* const facts,
     Error* const error)
{
  Playing playing = { .bench = bench, .plan = plan, .output = output, .is_finite = true };
  const Status status =
      probe_bench_open(bench, plan->max_block, plan->offline, &playing.instance, error);
  if (status) {
    return status;
  }
  if (plan->values == VALUES_RANDOM) {
    settle(bench, playing.instance);
  }
  play_all(&playing);
  if (facts) {
    qsort(playing.times, playing.n_times, sizeof(uint32_t), compare_times);
    *facts = (TakeFacts){ .writes_input = playing.writes_input,
                          .is_finite = playing.is_finite,
                          .calls = playing.calls,
                          .block_ns = playing.times[playing.n_times / 2U],
                          .tail_frames = play_tail(&playing) };
  }
  probe_bench_close(bench, playing.instance);
  return STATUS_OK;
}

double
take_difference(const Bench* const bench, const float* const a, const float* const b)
{
  double most = 0.0;
  double peak = 1.0;
  for (size_t i = 0; i < (size_t)bench->n_out * TAKE_FRAMES; ++i) {
    const double difference = fabs((double)a[i] - (double)b[i]);
    const bool is_same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
    const double counted = is_same ? 0.0 : isfinite(difference) ? difference : NOT_A_NUMBER;
    most = fmax(most, counted);
    peak = isfinite(a[i]) ? fmax(peak, fabs((double)a[i])) : peak;
  }
  return most >= NOT_A_NUMBER ? NOT_A_NUMBER : most / peak;
}
