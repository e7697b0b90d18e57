// SPDX-License-Identifier: GPL-3.0-or-later
/*
   The test of real-time safety: one thread edits racks with every live effect of the table, with
   files where an effect takes them, while the thread of the callback plays block after block.
   Under the real-time trap (support/rt_trap.h) neither the callback nor the worker allocates,
   locks, calls the kernel, or takes a page fault, except for one wake of the worker by the
   callback.

   STORM_BLOCKS sets the number of blocks, STORM_SEED the seed.  The test plays more blocks until a
   quarter of that number was in time and every effect has been played.
*/

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/engine.h"
#include "tests/support/made_files.h"
#include "tests/support/rt_trap.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RATE            48000.0
#define BLOCK           64U
#define LARGE_BLOCK     512U // large enough for a second core
#define CHANNELS        2U
#define FEWEST_NODES    4U
#define MOST_NODES      9U
#define MOST_EXTRA      5U // most connections besides those of a chain
#define MOST_EFFECTS    64U
#define STRUCTURE_LIMIT 500.0 // limit of values that determine a size: no large nodes
#define NAME_CALLBACK   "storm-callback"
#define NAME_WORKER     "warprack-worker"
#define NAME_HELPER     "warprack-helper"

// ---- the callback ----

typedef struct Storm {
  Engine* engine;
  uint32_t block_frames;
  uint64_t n_wanted;       ///< Least number of blocks; a quarter must be in time
  uint64_t n_blocks;       ///< Blocks played
  uint64_t n_in_time;      ///< Those in time, at the last check
  uint64_t n_late;         ///< Late ones, at the last check
  uint64_t random;         ///< State of the generator of the editing thread
  _Atomic bool all_played; ///< Every effect has played
  _Atomic bool over;
  uint64_t n_bad; ///< Samples that were not finite or too large
} Storm;

static void
spin_for(const uint64_t ns)
{
  const uint64_t began = time_now_ns();
  while (time_now_ns() - began < ns) {
    sched_yield();
  }
}

/// Wait between two periods like an audio driver: long enough that few blocks are late.
static void
pace(Storm* const storm, uint64_t* const pause_ns)
{
  if (storm->n_blocks % 16U == 0U) {
    EngineStatus status;
    engine_status(storm->engine, &status);
    const uint64_t now = status.counts.late + status.counts.dropped;
    *pause_ns = now > storm->n_late ? *pause_ns * 9U / 8U + 500U : *pause_ns - *pause_ns / 16U;
    *pause_ns = *pause_ns < 1000000U ? *pause_ns : 1000000U;
    storm->n_late = now;
    storm->n_in_time = storm->n_blocks - 1U - now; // the next check counts the last block
  }
  // Sometimes wait so long that the worker sleeps and must be woken.
  spin_for(storm->n_blocks % 1000U == 999U ? 200000U : *pause_ns);
}

static void*
drive(void* const context)
{
  Storm* const storm = context;
  static float noise[CHANNELS][16U * LARGE_BLOCK];
  float out[CHANNELS][LARGE_BLOCK];
  float* const outs[] = { out[0], out[1] };
  uint64_t pause_ns = 20000;
  signal_noise(noise[0], ARRAY_LEN(noise[0]), 1);
  signal_noise(noise[1], ARRAY_LEN(noise[1]), 2);
  while (storm->n_blocks < storm->n_wanted || storm->n_in_time < storm->n_wanted / 4U ||
         !storm->all_played) {
    const size_t at = storm->n_blocks++ % 16U * storm->block_frames;
    const float* const ins[] = { noise[0] + at, noise[1] + at };
    engine_process(storm->engine, ins, outs, storm->block_frames, false);
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      for (uint32_t i = 0; i < storm->block_frames; ++i) {
        storm->n_bad += !(fabsf(out[c][i]) <= 0.97F);
      }
    }
    pace(storm, &pause_ns);
  }
  storm->over = true;
  return NULL;
}

// ---- the edits ----

/// Two values in turn for a FILE or TEXT parameter.
static const struct {
  const char *effect, *param, *texts[2];
} texts[] = {
  { "convolver", "ir", { "long", "short" } },        { "fir", "file", { "", "taps" } },
  { "invert", "channels", { "1", "1-2" } },          { "matrix", "file", { "", "rotate" } },
  { "matrix", "rows", { "0.5 0.5; 0.5 -0.5", "" } },
};

typedef struct Edits {
  Rack* rack; ///< The rack that plays
  uint32_t n_added;
  uint64_t n_accepted, n_refused;
  bool played[MOST_EFFECTS]; ///< By index in the table of effects
  bool files[MOST_EFFECTS];  ///< Those that have been played with a file
} Edits;

static uint32_t
below(Storm* const storm, const uint32_t n)
{
  return (uint32_t)(signal_random(&storm->random) % n);
}

static double
share(Storm* const storm)
{
  return (double)(signal_random(&storm->random) >> 11U) * 0x1p-53;
}

static const char*
name_of(const Rack* const rack, const RackUid uid)
{
  return uid == RACK_UID_IN ? "in" : uid == RACK_UID_OUT ? "out" : rack_find_uid(rack, uid)->name;
}

static const RackNode*
any_node(Storm* const storm, const Rack* const rack)
{
  return &rack->nodes[below(storm, rack->n_nodes)];
}

/// Set all texts of a node to their first or second alternative.
static Status
set_texts(Rack* const rack, const char* const node, const char* const effect,
          const uint32_t alternative, Error* const error)
{
  Status status = STATUS_OK;
  for (size_t t = 0; !status && t < ARRAY_LEN(texts); ++t) {
    if (!strcmp(texts[t].effect, effect)) {
      status = set_text_by_name(rack, node, texts[t].param, texts[t].texts[alternative], error);
    }
  }
  return status;
}

/// Insert a node into a random connection.  Effects are used in the order of the table, so that
/// none is left out.
static Status
add_node(Storm* const storm, Rack* const rack, const uint32_t number, Error* const error)
{
  uint32_t n_effects = 0;
  const FxInfo* const* const table = fx_table(&n_effects);
  const FxInfo* const fx = table[number % n_effects];
  if (fx->offline_only) {
    return STATUS_OK;
  }
  const RackEdge edge = rack->edges[below(storm, rack->n_edges)];
  char from[RACK_NAME_BYTES];
  char to[RACK_NAME_BYTES];
  char name[RACK_NAME_BYTES];
  snprintf(from, sizeof(from), "%s", name_of(rack, edge.from.uid));
  snprintf(to, sizeof(to), "%s", name_of(rack, edge.to.uid));
  snprintf(name, sizeof(name), "n%u", number);
  Status status = rack_add(rack, name, fx->name, error);
  status = status ? status : set_texts(rack, name, fx->name, number / n_effects % 2U, error);
  status = status ? status : rack_disconnect(rack, from, to, error);
  status = status ? status : rack_connect(rack, from, name, 0.0, error);
  return status ? status : rack_connect(rack, name, to, -1.0, error);
}

/// Remove a random node and connect its sources to its destinations.
static Status
remove_node(Storm* const storm, Rack* const rack, Error* const error)
{
  const RackNode node = *any_node(storm, rack);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  ck_assert_ptr_nonnull(before);
  Status status = rack_remove(rack, node.name, error);
  for (uint32_t i = 0; !status && i < before->n_edges; ++i) {
    for (uint32_t o = 0; !status && o < before->n_edges; ++o) {
      if (before->edges[i].to.uid == node.uid && before->edges[o].from.uid == node.uid) {
        status = rack_connect(rack, name_of(before, before->edges[i].from.uid),
                              name_of(before, before->edges[o].to.uid), -3.0, error);
      }
    }
  }
  return status;
}

static Status
connect_nodes(Storm* const storm, Rack* const rack, Error* const error)
{
  const char* const from = below(storm, 4U) ? any_node(storm, rack)->name : "in";
  const char* const to = below(storm, 4U) ? any_node(storm, rack)->name : "out";
  return rack_connect(rack, from, to, -12.0 * share(storm), error);
}

static Status
disconnect_nodes(Storm* const storm, Rack* const rack, Error* const error)
{
  const RackEdge edge = rack->edges[below(storm, rack->n_edges)];
  return rack_disconnect(rack, name_of(rack, edge.from.uid), name_of(rack, edge.to.uid), error);
}

static double
random_value(Storm* const storm, const FxParam* const param)
{
  uint32_t n_choices = 0;
  const double max = param->structural ? fmin(param->max, STRUCTURE_LIMIT) : param->max;
  switch (param->kind) {
  case PARAM_SWITCH:
    return below(storm, 2U);
  case PARAM_CHOICE:
    while (param->choices[n_choices]) {
      ++n_choices;
    }
    return below(storm, n_choices);
  case PARAM_INTEGER:
    return floor(param->min + share(storm) * (max - param->min));
  default:
    return param->min + share(storm) * (max - param->min);
  }
}

/// Change the document: a new impulse response, a new structure, or a value.
static Status
set_in_rack(Storm* const storm, Rack* const rack, Error* const error)
{
  const RackNode* const node = any_node(storm, rack);
  const FxParam* const param = &node->fx->params[below(storm, node->fx->n_params)];
  return param->kind == PARAM_FILE || param->kind == PARAM_TEXT
             ? set_texts(rack, node->name, node->fx->name, below(storm, 2U), error)
             : set_number_by_name(rack, node->name, param->id, random_value(storm, param), error);
}

static Status
edit(Storm* const storm, Edits* const edits, Rack* const rack, Error* const error)
{
  switch (below(storm, 6U)) {
  case 0:
  case 1:
    return rack->n_nodes < MOST_NODES ? add_node(storm, rack, edits->n_added++, error)
                                      : remove_node(storm, rack, error);
  case 2:
    return rack->n_nodes > FEWEST_NODES ? remove_node(storm, rack, error)
                                        : add_node(storm, rack, edits->n_added++, error);
  case 3:
    return rack->n_edges < rack->n_nodes + MOST_EXTRA ? connect_nodes(storm, rack, error)
                                                      : disconnect_nodes(storm, rack, error);
  default:
    return set_in_rack(storm, rack, error);
  }
}

/// Set a value of a random node at one of the next frames, while audio runs.
static void
turn_something(Storm* const storm, const Rack* const rack)
{
  const RackNode* const node = any_node(storm, rack);
  const uint32_t p = below(storm, node->fx->n_params);
  const FxParam* const param = &node->fx->params[p];
  if (!param->structural) {
    const double value = random_value(storm, param);
    const uint64_t at = engine_frame_now(storm->engine) + below(storm, 1000U);
    const ParamMessage change = { .frame = at, .uid = node->uid, .param = p, .value = value };
    (void)!engine_set(storm->engine, &change, 1); // the ring of messages may be full
  }
}

static void
record_played(Edits* const edits)
{
  uint32_t n_effects = 0;
  const FxInfo* const* const table = fx_table(&n_effects);
  for (uint32_t n = 0; n < edits->rack->n_nodes; ++n) {
    const RackNode* const node = &edits->rack->nodes[n];
    for (uint32_t e = 0; e < n_effects; ++e) {
      edits->played[e] |= table[e] == node->fx;
      for (uint32_t p = 0; table[e] == node->fx && p < node->fx->n_params; ++p) {
        const char* const text = rack_text(node, p);
        edits->files[e] |= node->fx->params[p].kind == PARAM_FILE && text && *text;
      }
    }
  }
  ++edits->n_accepted;
}

static bool
has_played_every_effect(const Edits* const edits)
{
  uint32_t n_effects = 0;
  const FxInfo* const* const table = fx_table(&n_effects);
  ck_assert_uint_le(n_effects, MOST_EFFECTS);
  for (uint32_t e = 0; e < n_effects; ++e) {
    const bool takes_files = fx_file_param(table[e]) >= 0;
    if (edits->played[e] == table[e]->offline_only || edits->files[e] != takes_files) {
      return false;
    }
  }
  return true;
}

/// Make one edit; an invalid rack is refused, and the current one is unchanged.
static void
edit_once(Storm* const storm, Edits* const edits)
{
  Error error = { STATUS_OK, "" };
  Rack* const next = rack_copy(edits->rack);
  ck_assert_ptr_nonnull(next);
  Status status = edit(storm, edits, next, &error);
  status = status ? status : engine_edit_wait(storm->engine, next, &error);
  ck_assert_msg(status != STATUS_NO_MEM && status != STATUS_FILE, "%s", error.text);
  if (status) {
    rack_free(next);
    ++edits->n_refused;
  } else {
    rack_free(edits->rack);
    edits->rack = next;
    record_played(edits);
  }
}

static void
edit_until_over(Storm* const storm, Edits* const edits)
{
  const char* const first = "gain -6dB | highpass 80 | peaking 1000 6dB | limiter -1dB";
  edits->rack = rack_of(first, NULL);
  OK(engine_edit_wait(storm->engine, edits->rack, &error));
  while (!storm->over) {
    edit_once(storm, edits);
    storm->all_played = has_played_every_effect(edits);
    for (uint32_t n = below(storm, 20U); n > 0U; --n) {
      turn_something(storm, edits->rack);
      const struct timespec pause = { 0, (long)below(storm, 100000U) };
      nanosleep(&pause, NULL);
    }
  }
}

// ---- results ----

/// Number of calls that detectors with one of these prefixes counted.
static uint64_t
calls_like(const char* const* const beginnings, const size_t n)
{
  uint64_t sum = 0;
  for (uint32_t d = 0; rt_trap_detector(d); ++d) {
    for (size_t b = 0; b < n; ++b) {
      if (!strncmp(rt_trap_detector(d), beginnings[b], strlen(beginnings[b]))) {
        sum += rt_trap_calls(rt_trap_detector(d));
      }
    }
  }
  return sum;
}

static void
tell(const Storm* const storm, const Edits* const edits, const EngineStatus* const status)
{
  static const char* const allocations[] = { "malloc",        "calloc",   "realloc",       "free",
                                             "aligned_alloc", "memalign", "posix_memalign" };
  static const char* const locks[] = { "pthread_", "sem_" };
  const RtTrapCounts all = rt_trap_counts();
  const uint64_t n_allocations = calls_like(allocations, ARRAY_LEN(allocations));
  const uint64_t n_locks = calls_like(locks, ARRAY_LEN(locks));
  printf("%llu edits accepted, %llu refused, %llu plans, %llu parameters; %llu blocks late, %llu "
         "dropped\n",
         (unsigned long long)edits->n_accepted, (unsigned long long)edits->n_refused,
         (unsigned long long)status->worker_counts.plans,
         (unsigned long long)status->worker_counts.params_applied,
         (unsigned long long)status->counts.late, (unsigned long long)status->counts.dropped);
  printf("figure: %llu blocks, %llu allocations, %llu locks, %llu system calls but %llu wakes, "
         "%llu page "
         "faults\n",
         (unsigned long long)storm->n_blocks, (unsigned long long)n_allocations,
         (unsigned long long)n_locks,
         (unsigned long long)(all.violations - n_allocations - n_locks),
         (unsigned long long)rt_trap_thread_counts(NAME_CALLBACK).wakes,
         (unsigned long long)all.faults);
}

/// Returns whether memory is locked; otherwise the kernel may reclaim pages at any time.
static bool
run_storm(const uint32_t n_helpers, const uint32_t block_frames, const uint64_t n_wanted)
{
  made_files_begin();
  rt_trap_reset();
  const EngineConfig config = { .n_in = CHANNELS,
                                .n_out = CHANNELS,
                                .depth = 1,
                                .n_helpers = n_helpers,
                                .ceiling_lin = 0.97F,
                                .files = made_files };
  Storm storm = { .block_frames = block_frames,
                  .n_wanted = n_wanted,
                  .random = suite_number("STORM_SEED", 1) };
  Edits edits = { .rack = NULL };
  Error error = { STATUS_OK, "" };
  const bool is_locked = !rt_lock_memory(&error);
  if (!is_locked) {
    printf("skipped: page faults: %s\n", error.text);
  }
  ck_assert_msg(!engine_new(&config, &storm.engine, &error), "%s", error.text);
  ck_assert_msg(!engine_arm(storm.engine, RATE, block_frames, CHANNELS, CHANNELS, &error), "%s",
                error.text);
  pthread_t callback;
  ck_assert_msg(!rt_thread_start(NAME_CALLBACK, drive, &storm, &callback, &error), "%s",
                error.text);
  edit_until_over(&storm, &edits);
  pthread_join(callback, NULL);

  EngineStatus status;
  engine_status(storm.engine, &status);
  engine_free(storm.engine);
  rack_free(edits.rack);
  tell(&storm, &edits, &status);
  rt_trap_report(stdout);
  ck_assert_uint_eq(storm.n_bad, 0);
  ck_assert_uint_eq(status.counts.blocks, storm.n_blocks);
  ck_assert_uint_gt(edits.n_accepted, edits.n_refused);
  return is_locked;
}

TEST(every_effect_is_edited_live_without_a_real_time_violation)
{
  const uint64_t n_wanted = suite_number("STORM_BLOCKS", 40000);
  const bool is_locked = run_storm(0, BLOCK, n_wanted);
  const RtTrapCounts all = rt_trap_counts();
  const RtTrapCounts callback = rt_trap_thread_counts(NAME_CALLBACK);
  const RtTrapCounts worker = rt_trap_thread_counts(NAME_WORKER);
  if (!all.raw) {
    puts("skipped: system calls by number: this kernel has no Syscall User Dispatch");
  }
  ck_assert_uint_eq(all.violations, 0);
  ck_assert(!is_locked || all.faults == 0U);
  ck_assert_uint_ge(callback.sections, n_wanted);
  ck_assert_uint_eq(callback.waits, 0);
  ck_assert_uint_eq(callback.most_wakes, 1); // some wakes, and at most one in each period
  ck_assert_uint_ge(worker.sections, n_wanted / 4U);
  ck_assert_uint_eq(worker.wakes + worker.waits, 0);
}

TEST(with_a_helper_core_the_player_only_wakes_it)
{
  const bool is_locked = run_storm(1, LARGE_BLOCK, 5000);
  const RtTrapCounts all = rt_trap_counts();
  ck_assert_uint_eq(all.violations, 0);
  ck_assert(!is_locked || all.faults == 0U);
  ck_assert_uint_eq(rt_trap_thread_counts(NAME_CALLBACK).waits, 0);
  ck_assert_uint_le(rt_trap_thread_counts(NAME_CALLBACK).most_wakes, 1);
  ck_assert_uint_gt(rt_trap_thread_counts(NAME_HELPER).sections, 0);
}

SUITE_MAIN("storm of effects")
