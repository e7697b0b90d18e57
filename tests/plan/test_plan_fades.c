// SPDX-License-Identifier: GPL-3.0-or-later
// Fades of edits: the level of a constant signal stays as it is, in single edits and in streams,
// whatever latencies they change.

#include "tests/support/late_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>

#define FRAMES (LATE_BLOCK * 100U)

static float in[FRAMES];
static float out[FRAMES];

TEST(inserting_and_removing_latency_in_one_path_does_not_click)
{
  static const char* const racks[] = { "a: gain -6dB + g: gain -6dB",
                                       "(a: gain -6dB | late: gain) + g: gain -6dB",
                                       "a: gain -6dB + g: gain -6dB" };
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  signal_sine(in, FRAMES, 100.0, 48000.0, 0.5, 0.0);
  for (uint32_t r = 0; r < ARRAY_LEN(racks); ++r) {
    const Plan* const plan = late_rig_edit(&rig, racks[r]);
    ck_assert_uint_eq(plan->latency_frames, r == 1U ? LATE : 0U);
    late_rig_play(&rig, in + r * 30U * LATE_BLOCK, out + r * 30U * LATE_BLOCK, 30U * LATE_BLOCK);
  }
  const double steady = max_second_difference(in, FRAMES);
  ck_assert_double_le(max_second_difference(out, 90U * LATE_BLOCK), 1.5 * steady);
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
  late_rig_begin(rig);
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  late_rig_edit(rig, rack_with_latency(0, 0));
  late_rig_play(rig, in, out, FRAMES);
  return out[FRAMES - 1U];
}

/// Play, and expect the level in each frame after edit number `edit`.
static void
expect_level(RackRig* const rig, const float level, const uint32_t n_frames, const uint32_t edit)
{
  late_rig_play(rig, in, out, n_frames);
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
    expect_level(rig, level, LATE_BLOCK, edit);
  }
  late_rig_edit(rig, text);
}

TEST(edits_of_the_latency_during_the_fades_of_others_leave_no_gap)
{
  // The new path of each edit is heard after 648 frames, when the next edit has come.
  static const uint32_t n_late[] = { 9, 1, 8, 2, 9, 0 };
  const uint32_t pause = 10U * LATE_BLOCK; // longer than a fade
  SCOPED(rack_rig_free) RackRig rig;
  const float level = begin_with_level(&rig);
  for (uint32_t e = 0; e < 4U * ARRAY_LEN(n_late); ++e) {
    change_in_turn(&rig, rack_with_latency(e % 2U * 30U, n_late[e % ARRAY_LEN(n_late)]), level, e);
    expect_level(&rig, level, pause, e);
  }
  expect_level(&rig, level, FRAMES, UINT32_MAX);
  const Plan* const plan = late_rig_plan(&rig); // nothing is left of the old racks
  ck_assert_uint_eq(plan->n_nodes, plan->n_living);
}

TEST(edits_during_the_fades_of_others_keep_the_level)
{
  static const char* const racks[] = { "g: gain -6dB", "h: gain -6dB", "a: gain -6dB" };
  static const uint32_t pauses[] = { 3, 1, 5, 2, 7, 4, 1, 1, 1, 1 }; // blocks; a fade has 7.5
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  late_rig_edit(&rig, racks[0]);
  late_rig_play(&rig, in, out, FRAMES);
  const float level = out[FRAMES - 1U];
  for (uint32_t e = 1; e < 100U; ++e) {
    const Plan* const plan = late_rig_edit(&rig, racks[e % ARRAY_LEN(racks)]);
    ck_assert_uint_le(plan->n_nodes, 40U);
    const uint32_t n_frames = pauses[e % ARRAY_LEN(pauses)] * LATE_BLOCK;
    late_rig_play(&rig, in, out, n_frames);
    for (size_t i = 0; i < n_frames; ++i) {
      ck_assert_msg(fabsf(out[i] - level) < 4e-3F * level, "edit %u, frame %zu: %g, not %g", e, i,
                    (double)out[i], (double)level);
    }
  }
  expect_level(&rig, level, FRAMES, UINT32_MAX);
  const Plan* const plan = late_rig_plan(&rig); // nothing is left of the old racks
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
    expect_level(&rig, level, edits[e].n_blocks * LATE_BLOCK, e);
  }
}

TEST(edits_of_the_first_rack_do_not_wait_for_its_nodes)
{
  // A take whose rack is older than the take begins with it again: the same edits wait.
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  late_rig_edit(&rig, "add g gain\nconnect in g\nconnect g out");
  late_rig_play(&rig, in, out, LATE_BLOCK);
  late_rig_edit(&rig, "add g gain\nconnect in g\nconnect g out gain=-6dB");
  late_rig_play(&rig, in, out, LATE_BLOCK);
  ck_assert(late_rig_edit(&rig, "add g gain\nconnect in g\nconnect g out")->fades_at_once);
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
  late_rig_play(rig, in, out, LATE_BLOCK);
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
  late_rig_begin(&rig);
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 0.3F;
  }
  late_rig_edit(&rig, rack_of_stream(kind, 0, "h: gain"));
  late_rig_play(&rig, in, out, FRAMES);
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
    for (size_t i = 0; i < LATE_BLOCK; ++i) {
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
  late_rig_play(&rig, in, out, 20U * LATE_BLOCK);
  for (size_t i = 0; i < 20U * LATE_BLOCK; ++i) {
    ck_assert_float_eq_tol(out[i], 0.5F * level, 2e-3F * level);
  }
}

TEST(a_stream_of_edits_of_the_latency_does_not_stop_the_sound)
{
  for (uint32_t kind = 0; kind < 5U; ++kind) {
    check_stream(kind, 1, 0);
    check_stream(kind, 3, 4U * LATE_BLOCK);
    check_stream(kind, 6, 2U * LATE_BLOCK);
  }
}

// Random streams: sections in series, each of parallel paths, each with up to MAZE_NODES nodes with
// or without latency.  The level at the output is always the same.

#define MAZE_SECTIONS 3U
#define MAZE_PATHS    3U
#define MAZE_NODES    3U
#define MAZE_PLAIN    (LATE_SHAPES + 1U) // a node without latency

typedef struct Maze {
  uint32_t n_sections, n_paths[MAZE_SECTIONS];
  uint32_t steps[MAZE_SECTIONS * MAZE_PATHS * MAZE_NODES]; ///< Latencies, in LATE; 0: no node
} Maze;

static uint32_t
below(uint64_t* const seed, const uint32_t n)
{
  return (uint32_t)((signal_random(seed) >> 32U) * n >> 32U);
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

/// Set the latencies of the nodes "late_<number>" of a rack, in LATE.
static Rack*
with_latencies(Rack* const rack, const uint32_t* const steps)
{
  for (uint32_t v = 0; v < rack->n_nodes; ++v) {
    unsigned number = 0;
    if (sscanf(rack->nodes[v].name, "late_%u", &number) == 1) {
      rack->nodes[v].values[LATE_SHAPE] =
          (RackValue){ .kind = VALUE_NUMBER, .number = steps[number] - 1.0 };
    }
  }
  return rack;
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
  return with_latencies(late_rack_of(text), maze->steps);
}

/// Play blocks of a stream, with plans between its edits.  Changes to the rack *next, if there is
/// one, when it may.  Returns by which share the level moves.
static float
play_blocks(RackRig* const rig, Rack** const next, const uint32_t n_blocks, const float level,
            uint64_t* const seed)
{
  float largest = 0.0F;
  for (uint32_t b = 0; b < n_blocks; ++b) {
    if (below(seed, 8U) == 0U) {
      late_rig_plan(rig); // as when a node has ended: nothing fades
    }
    *next = play_stream(rig, *next) ? *next : NULL;
    for (size_t i = 0; i < LATE_BLOCK; ++i) {
      largest = fmaxf(largest, fabsf(out[i] / level - 1.0F));
    }
  }
  return largest;
}

/// Make a rig that has played a rack for longer than its latency.
static void
begin_with(RackRig* const rig, Rack* const rack)
{
  late_rig_begin(rig);
  OK(rack_rig_plan(rig, rack, &error));
  late_rig_play(rig, in, out, FRAMES);
  late_rig_play(rig, in, out, FRAMES);
}

/// Edit a random rack every few blocks: the level stays.  Returns by which share it moves.
static float
check_maze(const uint64_t number)
{
  uint64_t seed = number;
  Maze maze = maze_new(&seed);
  float level = 1.0F;
  for (uint32_t s = 0; s < maze.n_sections; ++s) {
    level *= (float)maze.n_paths[s];
  }
  SCOPED(rack_rig_free) RackRig rig;
  begin_with(&rig, rack_of_maze(&maze));
  rig.plan_frames = below(&seed, 4U) * LATE_BLOCK;
  const uint32_t most = 1U + below(&seed, 8U);
  float largest = 0.0F;
  Rack* next = NULL;
  for (uint32_t e = 0; e < 60U; ++e) {
    change_maze(&maze, &seed);
    rack_free(next);
    next = rack_of_maze(&maze);
    largest = fmaxf(largest, play_blocks(&rig, &next, 1U + below(&seed, most), level, &seed));
  }
  rack_free(next);
  return largest;
}

/// Check random racks whose numbers begin with that in the variable STREAM_FIRST, as many as the
/// variable STREAMS says.
static void
check_all(float (*const check)(uint64_t), const uint64_t otherwise, const char* const what)
{
  const uint64_t first = suite_number("STREAM_FIRST", 0);
  const uint64_t n = suite_number("STREAMS", otherwise);
  float largest = 0.0F;
  for (size_t i = 0; i < FRAMES; ++i) {
    in[i] = 1.0F;
  }
  for (uint64_t number = first; number < first + n; ++number) {
    const float moves = check(number);
    ck_assert_msg(moves < 4e-3F, "number %llu: the level moves by %g %%",
                  (unsigned long long)number, 100.0 * (double)moves);
    largest = fmaxf(largest, moves);
  }
  printf("figure: %llu %s: the level moves by %.2f %% (0.4)\n", (unsigned long long)n, what,
         100.0 * (double)largest);
}

TEST(random_streams_of_edits_of_the_latency_keep_the_level)
{
  check_all(check_maze, 60U, "streams of edits of the latency");
}

// Random webs: each node, and the output, has random sources among the nodes before it and the
// input, with gains whose sum is 1.  So the level is 1 everywhere, whatever the edits change.

#define WEB_NODES   8U
#define WEB_CHANGES 6U
#define WEB_IN      (1U << WEB_NODES)

typedef struct Web {
  uint32_t steps[WEB_NODES];        ///< As in Maze
  uint32_t sources[WEB_NODES + 1U]; ///< A set of bits: nodes, WEB_IN; the last one is of the output
} Web;

/// Add, remove or replace a node, or add or remove a source.
static void
change_web(Web* const web, uint64_t* const seed)
{
  const uint32_t v = below(seed, WEB_NODES + 1U);
  if (v < WEB_NODES && below(seed, 2U)) {
    web->steps[v] = below(seed, 4U) ? MAZE_PLAIN : below(seed, MAZE_PLAIN);
  } else {
    const uint32_t source = below(seed, v + 1U);
    web->sources[v] ^= source == v ? WEB_IN : 1U << source;
  }
}

/// The sources of a node, or of the output, that exist; else the input.
static uint32_t
sources_of(const Web* const web, const uint32_t v)
{
  uint32_t sources = web->sources[v] & WEB_IN;
  for (uint32_t u = 0; u < v; ++u) {
    sources |= web->steps[u] ? web->sources[v] & 1U << u : 0U;
  }
  return sources ? sources : WEB_IN;
}

/// Print the name of a node or end: of the bit `v` in sources if `is_source`.
static const char*
name_of(const Web* const web, const uint32_t v, const bool is_source)
{
  static char names[2][20];
  char* const name = names[is_source];
  if (v < WEB_NODES) {
    snprintf(name, sizeof(names[0]), "%s_%u", web->steps[v] == MAZE_PLAIN ? "plain" : "late", v);
    return name;
  }
  return is_source ? "in" : "out";
}

static Rack*
rack_of_web(const Web* const web)
{
  char text[8000];
  size_t n = 0;
  for (uint32_t v = 0; v < WEB_NODES; ++v) {
    if (web->steps[v]) {
      n += (size_t)snprintf(text + n, sizeof(text) - n, "add %s gain\n", name_of(web, v, false));
    }
  }
  for (uint32_t v = 0; v <= WEB_NODES; ++v) {
    const uint32_t sources = v == WEB_NODES || web->steps[v] ? sources_of(web, v) : 0U;
    const double gain_db = -20.0 * log10((double)__builtin_popcount(sources));
    for (uint32_t u = 0; u <= WEB_NODES; ++u) {
      if (sources & 1U << u) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "connect %s %s gain=%.9gdB\n",
                              name_of(web, u, true), name_of(web, v, false), gain_db);
      }
    }
  }
  return with_latencies(late_rack_of(text), web->steps);
}

static Web
web_new(uint64_t* const seed)
{
  Web web = { 0 };
  for (uint32_t i = 0; i < 40U; ++i) {
    change_web(&web, seed);
  }
  return web;
}

/// Change a random web, one change after the other, up to WEB_CHANGES.  Returns its rack.
static Rack*
next_web(Web* const web, uint64_t* const seed)
{
  for (uint32_t c = 1U + below(seed, WEB_CHANGES); c; --c) {
    change_web(web, seed);
  }
  return rack_of_web(web);
}

/// Edit a random web, each time when it has played the edit before for longer than its latency.
/// Returns by which share the level moves.
static float
check_edits(const uint64_t number)
{
  uint64_t seed = number;
  Web web = web_new(&seed);
  SCOPED(rack_rig_free) RackRig rig;
  begin_with(&rig, rack_of_web(&web));
  float largest = 0.0F;
  for (uint32_t e = 0; e < 20U; ++e) {
    Rack* next = next_web(&web, &seed);
    const uint32_t n_blocks = 2U * WEB_NODES * LATE_SHAPES * LATE / LATE_BLOCK;
    largest = fmaxf(largest, play_blocks(&rig, &next, n_blocks, 1.0F, &seed));
  }
  return largest;
}

/// Edit a random web every few blocks.  Returns by which share the level moves.
static float
check_web(const uint64_t number)
{
  uint64_t seed = number;
  Web web = web_new(&seed);
  SCOPED(rack_rig_free) RackRig rig;
  begin_with(&rig, rack_of_web(&web));
  rig.plan_frames = below(&seed, 4U) * LATE_BLOCK;
  const uint32_t most = 1U + below(&seed, 30U);
  float largest = 0.0F;
  Rack* next = NULL;
  for (uint32_t e = 0; e < 40U; ++e) {
    rack_free(next);
    next = next_web(&web, &seed);
    largest = fmaxf(largest, play_blocks(&rig, &next, 1U + below(&seed, most), 1.0F, &seed));
  }
  rack_free(next);
  return largest;
}

TEST(random_edits_of_nodes_connections_and_latencies_keep_the_level)
{
  check_all(check_edits, 50U, "times 20 edits of up to 6 changes");
}

TEST(random_streams_of_edits_of_up_to_six_changes_keep_the_level)
{
  check_all(check_web, 50U, "streams of edits of up to 6 changes");
}

SUITE_MAIN("plan_fades")
