// SPDX-License-Identifier: GPL-3.0-or-later
// Plans: parallel paths of different latency are aligned, the tail of a removed node plays to its
// end, state survives edits, a structural change makes a new node, and NaN resets only the unit
// that outputs it.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define BLOCK  64U
#define LATE   72U  // latency and delay of the test effect for each step of `shape`, in frames
#define TAIL   480U // its tail, in frames
#define SHAPES 10U

// The test effect delays by (1 + shape) * LATE frames; each unit counts its frames.

typedef struct LateState {
  uint64_t n_frames;
  float line[SHAPES * LATE];
} LateState;

enum { POISON, SHAPE };

static const FxParam late_params[] = {
  [POISON] = { .id = "poison", .kind = PARAM_SWITCH, .max = 1, .help = "Give NaN" },
  [SHAPE] = { .id = "shape",
              .kind = PARAM_INTEGER,
              .min = 0,
              .max = SHAPES - 1U,
              .structural = true,
              .help = "Latency" },
};

typedef struct LateNode {
  bool poison;
  uint32_t latency_frames;
} LateNode;

static Status
late_create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  (void)error;
  const uint32_t latency_frames = (1U + (uint32_t)setup->values[SHAPE]) * LATE;
  shape->latency_frames = latency_frames;
  shape->tail_frames = TAIL;
  shape->unit_bytes = sizeof(LateState);
  *node = calloc(1, sizeof(LateNode));
  *(LateNode*)*node = (LateNode){ setup->values[POISON] != 0.0, latency_frames };
  return STATUS_OK;
}

static void
late_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)node;
  (void)channel;
  memset(state, 0, sizeof(LateState));
}

static void
late_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)ramp_frames;
  (void)param;
  ((LateNode*)node)->poison = value != 0.0;
}

static void
late_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    LateState* const state = units[u].state;
    const LateNode* const node = units[u].node;
    for (uint32_t i = 0; i < n_frames; ++i) {
      float* const sample = &state->line[state->n_frames++ % node->latency_frames];
      const float in = units[u].in[0][i];
      units[u].out[0][i] = node->poison ? NAN : *sample;
      *sample = in;
    }
  }
}

static const FxInfo late_fx = {
  .name = "late",
  .params = late_params,
  .n_params = ARRAY_LEN(late_params),
  .create = late_create,
  .destroy = free,
  .unit_init = late_init,
  .set = late_set,
  .run = late_run,
};

static const char* const names[] = { "a", "g", "h", "late", "late2" };
static const char* const kinds[] = { "late_%u", "path_%u", "plain_%u" };

#define MAX_NODES  64U
#define MAX_NUMBER 100U // in names

/// Give nodes of the same name the same uid in every rack.
static RackUid
uid_of(const char* const name)
{
  for (uint32_t i = 0; i < ARRAY_LEN(names); ++i) {
    if (!strcmp(names[i], name)) {
      return RACK_UID_FIRST + i;
    }
  }
  for (uint32_t k = 0; k < ARRAY_LEN(kinds); ++k) {
    unsigned number = 0;
    if (sscanf(name, kinds[k], &number) == 1) {
      return RACK_UID_FIRST + (RackUid)ARRAY_LEN(names) + k * MAX_NUMBER + number;
    }
  }
  ck_abort_msg("unknown name %s", name);
}

/// Parse `text`; nodes whose names begin with "late" become the test effect.
static Rack*
late_rack_of(const char* const text)
{
  Rack* const rack = rack_of(text, NULL);
  RackUid uids[MAX_NODES];
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    RackNode* const node = &rack->nodes[n];
    uids[n] = uid_of(node->name);
    if (strstr(node->name, "late")) {
      node->fx = &late_fx;
      free(node->values);
      node->values = calloc(late_fx.n_params, sizeof(RackValue));
    }
  }
  const RackUid next = RACK_UID_FIRST + (RackUid)(ARRAY_LEN(names) + ARRAY_LEN(kinds) * MAX_NUMBER);
  OK(rack_set_uids(rack, uids, rack->n_nodes, next, &error));
  return rack;
}

/// Make a rig without a rack.
static void
begin(RackRig* const rig)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = 1, .n_out = 1 };
  rack_rig_begin(rig, &backend_cpu, NULL, &format, NULL, 0U);
}

/// Plan the rack of the rig, after the test has changed it.  Returns the plan.
static const Plan*
plan_again(RackRig* const rig)
{
  OK(rack_rig_plan(rig, rig->rack, &error));
  return rig->player.plan;
}

/// Change to another rack.  Returns its plan.
static const Plan*
change_to(RackRig* const rig, const char* const text)
{
  OK(rack_rig_plan(rig, late_rack_of(text), &error));
  return rig->player.plan;
}

/// Set a value of the first node in the document.
static void
set_value(const RackRig* const rig, const uint32_t param, const double number)
{
  rig->rack->nodes[0].values[param] = (RackValue){ .kind = VALUE_NUMBER, .number = number };
}

static void
play(RackRig* const rig, const float* const in, float* const out, const size_t n_frames)
{
  ck_assert(rack_rig_run(rig, &in, &out, n_frames, RIG_BLOCKS, 0U));
}

#define FRAMES (BLOCK * 100U)

static float in[FRAMES];
static float out[FRAMES];

TEST(parallel_paths_of_different_latency_line_up)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  const Plan* const plan = change_to(&rig, "(late: gain + g: gain) | (late2: gain + h: gain)");
  ck_assert_uint_eq(plan->latency_frames, 2U * LATE);
  ck_assert_uint_eq(plan->tail_frames, 2U * TAIL);
  signal_noise(in, FRAMES, 1);
  play(&rig, in, out, FRAMES);
  for (size_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[i] == (i < 2U * LATE ? 0.0F : 4.0F * in[i - 2U * LATE]));
  }
}

TEST(inserting_and_removing_latency_in_one_path_does_not_click)
{
  static const char* const racks[] = { "a: gain -6dB + g: gain -6dB",
                                       "(a: gain -6dB | late: gain) + g: gain -6dB",
                                       "a: gain -6dB + g: gain -6dB" };
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  signal_sine(in, FRAMES, 100.0, 48000.0, 0.5, 0.0);
  for (uint32_t r = 0; r < ARRAY_LEN(racks); ++r) {
    const Plan* const plan = change_to(&rig, racks[r]);
    ck_assert_uint_eq(plan->latency_frames, r == 1U ? LATE : 0U);
    play(&rig, in + r * 30U * BLOCK, out + r * 30U * BLOCK, 30U * BLOCK);
  }
  const double steady = max_second_difference(in, FRAMES);
  ck_assert_double_le(max_second_difference(out, 90U * BLOCK), 1.5 * steady);
}

/// A rack with a gain beside a path of n nodes with latency, whose names begin with number `first`.
static const char*
rack_with_latency(const uint32_t first, const uint32_t n)
{
  static char text[2000];
  size_t length = (size_t)snprintf(text, sizeof(text), "a: gain -6dB + (g: gain -6dB");
  for (uint32_t i = first; i < first + n; ++i) {
    length += (size_t)snprintf(text + length, sizeof(text) - length, " | late_%u: gain", i);
  }
  snprintf(text + length, sizeof(text) - length, ")");
  return text;
}

/// Begin with a constant signal through a rack without latency.  Returns its level.
static float
begin_with_level(RackRig* const rig)
{
  begin(rig);
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  change_to(rig, rack_with_latency(0, 0));
  play(rig, in, out, FRAMES);
  return out[FRAMES - 1U];
}

/// Play, and expect the level in each frame after edit number `edit`.
static void
expect_level(RackRig* const rig, const float level, const uint32_t n_frames, const uint32_t edit)
{
  play(rig, in, out, n_frames);
  for (size_t i = 0; i < n_frames; ++i) {
    ck_assert_msg(fabsf(out[i] - level) < 1e-3F, "edit %u, frame %zu: %g, not %g", edit, i,
                  (double)out[i], (double)level);
  }
}

/// Play until the next plan may begin, and change to a rack.  Expects the level in each frame.
static void
change_in_turn(RackRig* const rig, const char* const text, const float level, const uint32_t edit)
{
  while (rig->frame < plan_next_begin(rig->player.plan)) {
    expect_level(rig, level, BLOCK, edit);
  }
  change_to(rig, text);
}

TEST(edits_of_the_latency_during_the_fades_of_others_leave_no_gap)
{
  // The new path of each edit is heard after 648 frames, when the next edit has come.
  static const uint32_t n_late[] = { 9, 1, 8, 2, 9, 0 };
  const uint32_t pause = 10U * BLOCK; // longer than a fade
  SCOPED(rack_rig_free) RackRig rig;
  const float level = begin_with_level(&rig);
  for (uint32_t e = 0; e < 4U * ARRAY_LEN(n_late); ++e) {
    change_in_turn(&rig, rack_with_latency(e % 2U * 30U, n_late[e % ARRAY_LEN(n_late)]), level, e);
    expect_level(&rig, level, pause, e);
  }
  expect_level(&rig, level, FRAMES, UINT32_MAX);
  const Plan* const plan = plan_again(&rig); // nothing is left of the old racks
  ck_assert_uint_eq(plan->n_nodes, plan->n_living);
}

TEST(edits_during_the_fades_of_others_keep_the_level)
{
  static const char* const racks[] = { "g: gain -6dB", "h: gain -6dB", "a: gain -6dB" };
  static const uint32_t pauses[] = { 3, 1, 5, 2, 7, 4, 1, 1, 1, 1 }; // blocks; a fade has 7.5
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  change_to(&rig, racks[0]);
  play(&rig, in, out, FRAMES);
  const float level = out[FRAMES - 1U];
  for (uint32_t e = 1; e < 100U; ++e) {
    const Plan* const plan = change_to(&rig, racks[e % ARRAY_LEN(racks)]);
    ck_assert_uint_le(plan->n_nodes, 40U);
    const uint32_t n_frames = pauses[e % ARRAY_LEN(pauses)] * BLOCK;
    play(&rig, in, out, n_frames);
    for (size_t i = 0; i < n_frames; ++i) {
      ck_assert_msg(fabsf(out[i] - level) < 4e-3F * level, "edit %u, frame %zu: %g, not %g", e, i,
                    (double)out[i], (double)level);
    }
  }
  expect_level(&rig, level, FRAMES, UINT32_MAX);
  const Plan* const plan = plan_again(&rig); // nothing is left of the old racks
  ck_assert_uint_eq(plan->n_nodes, plan->n_living);
}

TEST(a_connection_that_still_fades_out_puts_off_no_fade_before_it)
{
  // The first edit leaves a connection, which the plan of the second one still has.
  static const struct {
    uint32_t first, n, n_blocks;
  } edits[] = { { 50, 1, 18 }, { 50, 5, 13 }, { 60, 6, 20 } };
  SCOPED(rack_rig_free) RackRig rig;
  const float level = begin_with_level(&rig);
  for (uint32_t e = 0; e < ARRAY_LEN(edits); ++e) {
    change_in_turn(&rig, rack_with_latency(edits[e].first, edits[e].n), level, e);
    expect_level(&rig, level, edits[e].n_blocks * BLOCK, e);
  }
}

/// The rack of edit `e` in a stream of edits that change the latency.
static const char*
rack_of_stream(const uint32_t kind, const uint32_t e, const char* const last)
{
  static const uint32_t ms[] = { 10, 20, 5, 15, 8, 18, 3, 12 };
  static const uint32_t n_late[] = { 9, 1, 8, 2, 9, 3 };
  static const char* const forms[] = { "(%s) | %s", "a: limiter 0dB lookahead=%ums | %s",
                                       "(a: limiter 0dB lookahead=%ums + g: gain) | %s",
                                       "a: limiter 0dB lookahead=%ums | "
                                       "g: limiter 0dB lookahead=%ums | %s",
                                       "g: reverb decay=9s size=0.%u mix=0 | "
                                       "a: limiter 0dB lookahead=%ums | %s" };
  static char text[2100];
  const uint32_t of_a = ms[e % ARRAY_LEN(ms)];
  switch (kind) {
  case 0:
    snprintf(text, sizeof(text), forms[0], rack_with_latency(e % 2U * 30U, n_late[e % 6U]), last);
    break;
  case 3:
    snprintf(text, sizeof(text), forms[3], of_a, ms[(e * 3U + 1U) % ARRAY_LEN(ms)], last);
    break;
  case 4:
    snprintf(text, sizeof(text), forms[4], 3U + e % 2U, of_a, last);
    break;
  default:
    snprintf(text, sizeof(text), forms[kind], of_a, last);
  }
  return text;
}

/// Change to a rack, if there is one and the next plan may begin, and play a block.  Returns
/// whether the rack waits.
static bool
play_stream(RackRig* const rig, Rack* const next)
{
  const bool waits = next && rig->frame < plan_next_begin(rig->player.plan);
  if (next && !waits) {
    OK(rack_rig_plan(rig, next, &error));
  }
  play(rig, in, out, BLOCK);
  return waits;
}

/// Edit the latency every `pause` blocks, while each plan takes `plan_frames`: the sound goes on,
/// and soon after the last edit the output has the level of that edit.  A newer edit replaces one
/// that waits.
static void
check_stream(const uint32_t kind, const uint32_t pause, const uint32_t plan_frames)
{
  const uint32_t n_edits = 2U * TAIL_LIMIT_NODES;
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 0.3F;
  }
  change_to(&rig, rack_of_stream(kind, 0, "h: gain"));
  play(&rig, in, out, FRAMES);
  const float level = out[FRAMES - 1U];
  rig.plan_frames = plan_frames;
  Rack* next = NULL;
  for (uint32_t b = pause; b < (n_edits + 1U) * pause; ++b) {
    if (b % pause == 0U) {
      rack_free(next);
      next = late_rack_of(rack_of_stream(kind, b / pause, "h: gain"));
    }
    next = play_stream(&rig, next) ? next : NULL;
    const Plan* const plan = rig.player.plan;
    ck_assert_uint_le(plan->n_nodes - plan->n_living, TAIL_LIMIT_NODES + 20U);
    for (size_t i = 0; i < BLOCK; ++i) {
      const double share = (double)(out[i] / level);
      ck_assert_msg(share > 0.97 && share < 1.03, "rack %u, %u blocks apart, block %u: level %g",
                    kind, pause, b, share);
    }
  }
  rack_free(next);
  next = late_rack_of(rack_of_stream(kind, n_edits, "h: gain -6.0206dB"));
  for (uint32_t b = 0; b < 60U; ++b) {
    next = play_stream(&rig, next) ? next : NULL;
  }
  play(&rig, in, out, 20U * BLOCK);
  for (size_t i = 0; i < 20U * BLOCK; ++i) {
    ck_assert_float_eq_tol(out[i], 0.5F * level, 2e-3F * level);
  }
}

TEST(a_stream_of_edits_of_the_latency_does_not_stop_the_sound)
{
  for (uint32_t kind = 0; kind < 5U; ++kind) {
    check_stream(kind, 1, 0);
    check_stream(kind, 3, 4U * BLOCK);
    check_stream(kind, 6, 2U * BLOCK);
  }
}

// Random streams: sections in series, each of parallel paths, each with up to MAZE_NODES nodes with
// or without latency.  The level at the output is always the same.

#define MAZE_SECTIONS 3U
#define MAZE_PATHS    3U
#define MAZE_NODES    3U
#define MAZE_PLAIN    (SHAPES + 1U) // a node without latency

typedef struct Maze {
  uint32_t n_sections, n_paths[MAZE_SECTIONS];
  uint32_t steps[MAZE_SECTIONS * MAZE_PATHS * MAZE_NODES]; ///< Latencies, in LATE; 0: no node
} Maze;

static uint32_t
below(uint64_t* const seed, const uint32_t n)
{
  return (uint32_t)(signal_random(seed) % n);
}

/// Add, remove or replace a node.
static void
change_maze(Maze* const maze, uint64_t* const seed)
{
  const uint32_t section = below(seed, maze->n_sections);
  const uint32_t path = section * MAZE_PATHS + below(seed, maze->n_paths[section]);
  maze->steps[path * MAZE_NODES + below(seed, MAZE_NODES)] =
      below(seed, 3U) ? below(seed, MAZE_PLAIN + 1U) : 0U;
}

static Maze
maze_new(uint64_t* const seed)
{
  Maze maze = { .n_sections = 1U + below(seed, MAZE_SECTIONS) };
  for (uint32_t s = 0; s < maze.n_sections; ++s) {
    maze.n_paths[s] = 1U + below(seed, MAZE_PATHS);
  }
  for (uint32_t i = below(seed, 10U); i; --i) {
    change_maze(&maze, seed);
  }
  return maze;
}

static size_t
print_path(const Maze* const maze, const uint32_t path, char* const text, const size_t max)
{
  size_t n = (size_t)snprintf(text, max, "(path_%u: gain", path);
  for (uint32_t v = path * MAZE_NODES; v < (path + 1U) * MAZE_NODES; ++v) {
    if (maze->steps[v]) {
      const char* const kind = maze->steps[v] == MAZE_PLAIN ? "plain" : "late";
      n += (size_t)snprintf(text + n, max - n, " | %s_%u: gain", kind, v);
    }
  }
  return n + (size_t)snprintf(text + n, max - n, ")");
}

static Rack*
rack_of_maze(const Maze* const maze)
{
  char text[2000];
  size_t n = 0;
  for (uint32_t s = 0; s < maze->n_sections; ++s) {
    n += (size_t)snprintf(text + n, sizeof(text) - n, s ? ") | (" : "(");
    for (uint32_t p = 0; p < maze->n_paths[s]; ++p) {
      n += (size_t)snprintf(text + n, sizeof(text) - n, p ? " + " : "");
      n += print_path(maze, s * MAZE_PATHS + p, text + n, sizeof(text) - n);
    }
  }
  snprintf(text + n, sizeof(text) - n, ")");
  Rack* const rack = late_rack_of(text);
  for (uint32_t v = 0; v < rack->n_nodes; ++v) {
    unsigned number = 0;
    if (sscanf(rack->nodes[v].name, "late_%u", &number) == 1) {
      rack->nodes[v].values[SHAPE] =
          (RackValue){ .kind = VALUE_NUMBER, .number = maze->steps[number] - 1.0 };
    }
  }
  return rack;
}

/// Edit a random rack every few blocks: the level stays.  Returns by which share it moves.
static float
check_maze(const uint64_t number)
{
  uint64_t seed = number;
  Maze maze = maze_new(&seed);
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  OK(rack_rig_plan(&rig, rack_of_maze(&maze), &error));
  float level = 1.0F;
  for (uint32_t s = 0; s < maze.n_sections; ++s) {
    level *= (float)maze.n_paths[s];
  }
  for (uint32_t b = 0; b <= MAZE_SECTIONS * MAZE_NODES * SHAPES * LATE / BLOCK; ++b) {
    play(&rig, in, out, BLOCK);
  }
  rig.plan_frames = below(&seed, 4U) * BLOCK;
  const uint32_t most = 1U + below(&seed, 8U);
  float largest = 0.0F;
  Rack* next = NULL;
  for (uint32_t e = 0; e < 60U; ++e) {
    change_maze(&maze, &seed);
    rack_free(next);
    next = rack_of_maze(&maze);
    for (uint32_t b = 1U + below(&seed, most); b; --b) {
      if (below(&seed, 8U) == 0U) {
        plan_again(&rig); // as when a node has ended: nothing fades
      }
      next = play_stream(&rig, next) ? next : NULL;
      for (size_t i = 0; i < BLOCK; ++i) {
        largest = fmaxf(largest, fabsf(out[i] / level - 1.0F));
      }
    }
  }
  rack_free(next);
  return largest;
}

TEST(random_streams_of_edits_of_the_latency_keep_the_level)
{
  const uint64_t first = suite_number("STREAM_FIRST", 0);
  const uint64_t n = suite_number("STREAMS", 60);
  float largest = 0.0F;
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  for (uint64_t stream = first; stream < first + n; ++stream) {
    const float moves = check_maze(stream);
    ck_assert_msg(moves < 4e-3F, "stream %llu: the level moves by %g %%",
                  (unsigned long long)stream, 100.0 * (double)moves);
    largest = fmaxf(largest, moves);
  }
  printf("figure: %llu streams of edits of the latency: the level moves by %.2f %% (0.4)\n",
         (unsigned long long)n, 100.0 * (double)largest);
}

static uint32_t
n_batches(const Plan* const plan)
{
  uint32_t n = 0;
  for (uint32_t step = 0; step < plan->n_steps; ++step) {
    n += plan->steps[step].kind == STEP_BATCH;
  }
  return n;
}

TEST(nodes_that_run_apart_are_batches_of_their_own)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  ck_assert_uint_eq(n_batches(change_to(&rig, "a: gain + (g: gain + h: gain)")), 1U);
  const Node* const node = rig.player.plan->nodes[1].node;
  for (uint32_t n = 0; n < rig.rack->n_nodes; ++n) {
    rig.rack->nodes[n].is_apart = true;
  }
  ck_assert_uint_eq(n_batches(plan_again(&rig)), 3U);
  ck_assert_ptr_eq(rig.player.plan->nodes[1].node, node); // it keeps its state
  for (uint32_t n = 0; n < rig.rack->n_nodes; ++n) {
    rig.rack->nodes[n].is_apart = false;
  }
  ck_assert_uint_eq(n_batches(plan_again(&rig)), 1U);
}

TEST(a_built_in_node_in_quarantine_plays_its_input_with_its_latency)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  Rack* const rack = late_rack_of("late: gain");
  rack->nodes[0].values[POISON] = (RackValue){ .kind = VALUE_NUMBER, .number = 1.0 };
  rack->nodes[0].is_quarantined = true;
  rack->nodes[0].backend = RACK_BACKEND_GPU; // there is none
  OK(rack_rig_plan(&rig, rack, &error));
  ck_assert_uint_eq(rig.player.plan->latency_frames, LATE);
  signal_noise(in, FRAMES, 5);
  play(&rig, in, out, FRAMES);
  for (size_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[i] == (i < LATE ? 0.0F : in[i - LATE]));
  }
  rig.rack->nodes[0].is_quarantined = false;
  rig.rack->nodes[0].backend = RACK_BACKEND_AUTO;
  ck_assert_ptr_eq(plan_again(&rig)->nodes[0].node->fx, &late_fx);
}

TEST(a_removed_node_sounds_until_its_tail_has_ended)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  change_to(&rig, "late: gain");
  signal_noise(in, FRAMES, 2);
  play(&rig, in, out, BLOCK);
  const Plan* plan = change_to(&rig, "add g gain\nconnect g out");
  ck_assert_uint_eq(plan->n_nodes, 2);
  play(&rig, in + BLOCK, out + BLOCK, FRAMES / 2U - BLOCK);
  ck_assert(out[BLOCK] == 0.0F && out[LATE] == in[0] && out[LATE + BLOCK - 1U] == in[BLOCK - 1U]);
  const uint64_t ramp = (uint64_t)lrint(LINK_RAMP_SECONDS * 48000.0);
  ck_assert_uint_eq(plan_next_expiry(plan), BLOCK + ramp); // its input
  plan = plan_again(&rig);
  ck_assert_uint_eq(plan->n_nodes, 1); // after LATE + TAIL frames and two ramps
  ck_assert_uint_eq(plan_next_expiry(plan), UINT64_MAX);
}

TEST(state_survives_edits_elsewhere_but_not_structural_changes)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  const Node* const first = change_to(&rig, "late: gain")->nodes[0].node;
  play(&rig, in, out, BLOCK);
  ck_assert_ptr_eq(change_to(&rig, "late: gain | g: gain")->nodes[0].node, first);
  play(&rig, in, out, BLOCK);
  ck_assert_uint_eq(((const LateState*)first->states)->n_frames, 2U * BLOCK);

  set_value(&rig, SHAPE, 1.0);
  const Plan* const plan = plan_again(&rig);
  ck_assert_ptr_ne(plan->nodes[0].node, first);
  ck_assert_uint_eq(plan->n_nodes, 3); // the old node ends
}

TEST(a_unit_that_gives_nan_is_silenced_reset_and_counted)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  change_to(&rig, "late: gain + g: gain");
  signal_noise(in, FRAMES, 3);
  play(&rig, in, out, 4U * BLOCK);
  set_value(&rig, POISON, 1.0);
  const Plan* const plan = plan_again(&rig);
  play(&rig, in + 4U * BLOCK, out + 4U * BLOCK, BLOCK);
  ck_assert_uint_eq(rig.player.counts.units_reset, 1);
  ck_assert_uint_eq(((const LateState*)plan->nodes[0].node->states)->n_frames, 0);
  for (size_t i = 4U * BLOCK; i < 5U * BLOCK; ++i) {
    ck_assert(out[i] == in[i - LATE]); // the other path plays on with its latency
  }
}

TEST(a_node_that_gives_nan_again_and_again_is_bypassed_until_it_has_recovered)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  NodeHealth* const health = &change_to(&rig, "late: gain")->nodes[0].node->health;
  set_value(&rig, POISON, 1.0);
  plan_again(&rig);
  signal_noise(in, FRAMES, 3);
  for (uint32_t b = 1; b <= 20U; ++b) {
    play(&rig, in, out, BLOCK);
    ck_assert_int_eq(health->is_bypassed, b >= 8U);
    for (size_t i = 0; i < BLOCK; ++i) {
      const float dry = b < 8U ? 0.0F : b == 8U ? (float)(i + 1U) / BLOCK : 1.0F;
      ck_assert_float_eq_tol(out[i], dry * in[(i + BLOCK * LATE - LATE) % BLOCK], 1e-6F);
    }
  }
  ck_assert_uint_eq(rig.player.counts.units_reset, 20);
  set_value(&rig, POISON, 0.0);
  plan_again(&rig);
  for (uint32_t b = 1; b <= 101U; ++b) {
    play(&rig, in, out, BLOCK);
    ck_assert_int_eq(health->is_bypassed, b < 100U);
    for (size_t i = 0; i < BLOCK; ++i) {
      ck_assert_float_eq_tol(out[i], in[(i + BLOCK * LATE - LATE) % BLOCK], 1e-6F);
    }
    ck_assert_int_eq(health->plays_input, b < 100U);
  }
}

TEST(after_a_reset_no_earlier_audio_is_played)
{
  SCOPED(rack_rig_free) RackRig rig;
  begin(&rig);
  const Plan* const plan =
      change_to(&rig, "connect in out\nadd late gain\nconnect in late\nconnect late out\n"
                      "add g gain\nconnect in g\nconnect g out");
  ck_assert_uint_gt(plan->links[0].link->mix.delay_frames, 0);
  ck_assert_uint_gt(plan->links[plan->n_links - 1U].link->mix.delay_frames, 0);
  signal_noise(in, 2U * BLOCK, 3);
  memset(in + 2U * BLOCK, 0, 4U * BLOCK * sizeof(float));
  play(&rig, in, out, 2U * BLOCK);
  OK(plan_reset(plan, &error));
  play(&rig, in + 2U * BLOCK, out + 2U * BLOCK, 4U * BLOCK);
  for (size_t i = 2U * BLOCK; i < 6U * BLOCK; ++i) {
    ck_assert_msg(out[i] == 0.0F, "%g at frame %zu", (double)out[i], i);
  }
}

SUITE_MAIN("plan")
