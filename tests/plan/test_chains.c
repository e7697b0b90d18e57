// SPDX-License-Identifier: GPL-3.0-or-later
// Chains (StageStep) on the CPU: a rack that runs its nodes together gives the samples of the same
// rack without, to the bit, whatever happens to its nodes: parameters that change in the middle of
// a block, fades, switches, edits, outputs that are not finite, nodes that are watched, several
// cores.  Quiet nodes do run together, and a row of a chain keeps its signal until its readers have
// run.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include "engine/contract/pool.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE_HZ       48000.0
#define MOST_CHANNELS 64U
#define MOST_BLOCK    1000U
#define MOST_NODES    24U
#define TEXT_BYTES    4096U
#define POISON        0x7FC0FFEEU // a NaN that no arithmetic makes

/// The same rack twice: with chains, and without.
typedef struct Pair {
  RackRig fused, apart;
  NodeTap taps[2];
  uint64_t seed;
  uint32_t n_channels, n_blocks;
} Pair;

static float in[MOST_CHANNELS][MOST_BLOCK];
static float outs[2][MOST_CHANNELS][MOST_BLOCK];

static uint32_t
random_below(Pair* const pair, const uint32_t n)
{
  return (uint32_t)(signal_random(&pair->seed) % n);
}

static void
pair_new(Pair* const pair, const char* const text, const uint32_t n_channels,
         const uint32_t block_frames, Pool* const pool)
{
  const Format format = {
    .rate_hz = RATE_HZ, .block_frames = block_frames, .n_in = n_channels, .n_out = n_channels
  };
  *pair = (Pair){ .n_channels = n_channels };
  rack_rig_begin(&pair->fused, &backend_cpu, NULL, &format, NULL, 0U);
  rack_rig_begin(&pair->apart, &backend_cpu, NULL, &format, NULL, 0U);
  pair->apart.no_fusion = true;
  pair->fused.pool = pair->apart.pool = pool;
  rack_rig_edit(&pair->fused, text);
  rack_rig_edit(&pair->apart, text);
}

static void
pair_free(Pair* const pair)
{
  rack_rig_free(&pair->fused);
  rack_rig_free(&pair->apart);
}

static void
pair_edit(Pair* const pair, const char* const text)
{
  rack_rig_edit(&pair->fused, text);
  rack_rig_edit(&pair->apart, text);
}

static void
pair_set(Pair* const pair, const char* const node, const char* const param, const double value,
         const uint32_t offset, const uint32_t fade_frames)
{
  const uint64_t frame = pair->fused.frame + offset;
  rack_rig_fade(&pair->fused, node, param, value, frame, fade_frames, CURVE_LINEAR);
  rack_rig_fade(&pair->apart, node, param, value, frame, fade_frames, CURVE_LINEAR);
}

static void
tap(const RackRig* const rig, const uint32_t node, NodeTap* const to)
{
  const Plan* const plan = rig->player.plan;
  *to = (NodeTap){ .n_samples = 0 };
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    if (backend_cpu.stage_tap(plan->stages[s].stage, node, to)) {
      return;
    }
  }
  ck_abort_msg("node %u is in no stage", node);
}

/// Watch a node, until the next edit.
static void
pair_tap(Pair* const pair, const uint32_t node)
{
  tap(&pair->fused, node, &pair->taps[0]);
  tap(&pair->apart, node, &pair->taps[1]);
}

static void
expect_same_health(const Pair* const pair)
{
  const Plan* const plans[] = { pair->fused.player.plan, pair->apart.player.plan };
  ck_assert_uint_eq(plans[0]->n_nodes, plans[1]->n_nodes);
  for (uint32_t n = 0; n < plans[0]->n_nodes; ++n) {
    const NodeHealth* const a = &plans[0]->nodes[n].node->health;
    const NodeHealth* const b = &plans[1]->nodes[n].node->health;
    ck_assert_uint_eq(a->n_bad, b->n_bad);
    ck_assert_int_eq(a->needs_care, b->needs_care);
    ck_assert_int_eq(a->plays_input, b->plays_input);
  }
}

/// Play a block of `in` on both, and compare.
static void
pair_run(Pair* const pair, const uint32_t n_frames)
{
  const float* ins[MOST_CHANNELS];
  RackRig* const rigs[] = { &pair->fused, &pair->apart };
  for (uint32_t r = 0; r < 2U; ++r) {
    float* out[MOST_CHANNELS];
    for (uint32_t c = 0; c < pair->n_channels; ++c) {
      ins[c] = in[c];
      out[c] = outs[r][c];
    }
    ck_assert(rack_rig_run(rigs[r], ins, out, n_frames, RIG_BLOCKS, 0U));
  }
  for (uint32_t c = 0; c < pair->n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      ck_assert_msg(!memcmp(&outs[0][c][i], &outs[1][c][i], sizeof(float)),
                    "block %u, channel %u, frame %u: %.9g, apart %.9g", pair->n_blocks, c, i,
                    (double)outs[0][c][i], (double)outs[1][c][i]);
    }
  }
  ck_assert_uint_eq(pair->taps[0].n_samples, pair->taps[1].n_samples);
  ck_assert(!memcmp(&pair->taps[0].level.peak, &pair->taps[1].level.peak, sizeof(float)));
  expect_same_health(pair);
  ++pair->n_blocks;
}

/// Noise of a level; 0: silence.
static void
fill(Pair* const pair, const uint32_t n_frames, const float level)
{
  for (uint32_t c = 0; c < pair->n_channels; ++c) {
    signal_noise(in[c], n_frames, signal_random(&pair->seed));
    for (uint32_t i = 0; i < n_frames; ++i) {
      in[c][i] *= level;
    }
  }
}

// ---- random racks ----

/// A rack that edits change.
typedef struct Model {
  uint32_t n_nodes;
  uint32_t kinds[MOST_NODES];
  bool is_left[MOST_NODES];  ///< The node is not in the rack
  uint32_t also[MOST_NODES]; ///< An earlier node that it hears, too; its own number: none
  bool is_heard[MOST_NODES]; ///< It is connected to the output, too
  double gain_db;            ///< Of the connection to the output
} Model;

// More of those that can be in chains than of others
static const char* const kinds[] = {
  "gain gain=-1dB",
  "gain gain=2dB",
  "invert",
  "peaking frequency=300 gain=4dB",
  "peaking frequency=2000 gain=-4dB q=3",
  "lowpass frequency=9000 order=5",
  "highpass frequency=60 order=8",
  "highpass frequency=20 order=16",
  "notch frequency=1000",
  "allpass frequency=500",
  "delay time=20frames mix=50%",
  "compressor threshold=-20dB",
};

static void
say(char* const text, const char* const format, ...)
{
  va_list args;
  va_start(args, format);
  const size_t n = strlen(text);
  const int n_said = vsnprintf(text + n, TEXT_BYTES - n, format, args);
  va_end(args);
  ck_assert_uint_lt(n + (size_t)n_said, TEXT_BYTES);
}

static void
model_text(const Model* const model, char text[TEXT_BYTES])
{
  text[0] = '\0';
  char last[8] = "in";
  for (uint32_t n = 0; n < model->n_nodes; ++n) {
    if (!model->is_left[n]) {
      say(text, "add n%u %s\n", n, kinds[model->kinds[n]]);
    }
  }
  for (uint32_t n = 0; n < model->n_nodes; ++n) {
    if (model->is_left[n]) {
      continue;
    }
    say(text, "connect %s n%u\n", last, n);
    snprintf(last, sizeof(last), "n%u", n);
    if (model->also[n] + 1U < n && !model->is_left[model->also[n]]) {
      say(text, "connect n%u n%u gain=-9dB\n", model->also[n], n);
    }
  }
  for (uint32_t n = 0; n < model->n_nodes; ++n) {
    if (model->is_heard[n] && !model->is_left[n] && strtoul(last + 1, NULL, 10) != n) {
      say(text, "connect n%u out gain=-6dB\n", n);
    }
  }
  say(text, "connect %s out gain=%.1fdB\n", last, model->gain_db);
}

static void
model_new(Model* const model, Pair* const pair)
{
  *model = (Model){ .n_nodes = 3U + random_below(pair, MOST_NODES - 3U) };
  for (uint32_t n = 0; n < model->n_nodes; ++n) {
    model->kinds[n] = random_below(pair, (uint32_t)ARRAY_LEN(kinds));
    model->also[n] = random_below(pair, 6U) || !n ? n : random_below(pair, n);
    model->is_heard[n] = random_below(pair, 8U) == 0U;
  }
}

/// A node that is in the rack.
static uint32_t
random_node(Pair* const pair, const Model* const model)
{
  uint32_t n = random_below(pair, model->n_nodes);
  while (model->is_left[n]) {
    n = (n + 1U) % model->n_nodes;
  }
  return n;
}

static void
change_model(Pair* const pair, Model* const model)
{
  const uint32_t n = 1U + random_below(pair, model->n_nodes - 1U); // the first one stays
  switch (random_below(pair, 3U)) {
  case 0:
    model->is_left[n] = !model->is_left[n];
    break;
  case 1:
    model->is_heard[n] = !model->is_heard[n];
    break;
  default:
    model->gain_db = random_below(pair, 2U) ? -3.0 : 0.0;
    break;
  }
  char text[TEXT_BYTES];
  model_text(model, text);
  pair_edit(pair, text);
}

/// Set a parameter of a node within the block.
static void
change_node(Pair* const pair, const Model* const model, const uint32_t n_frames)
{
  char name[8];
  const uint32_t n = random_node(pair, model);
  snprintf(name, sizeof(name), "n%u", n);
  const char* const kind = kinds[model->kinds[n]];
  const uint32_t offset = random_below(pair, n_frames);
  const uint32_t fade = random_below(pair, 3U) ? 0U : random_below(pair, 3000U);
  const uint32_t choice = random_below(pair, 6U);
  if (choice < 2U) {
    pair_set(pair, name, choice ? "bypass" : "mute", random_below(pair, 2U), offset, 0U);
  } else if (strstr(kind, "invert")) {
    pair_set(pair, name, "on", random_below(pair, 2U), offset, 0U);
  } else if (strstr(kind, "frequency")) {
    pair_set(pair, name, "frequency", 40.0 + random_below(pair, 9000U), offset, fade);
  } else if (strstr(kind, "gain gain")) {
    pair_set(pair, name, "gain", (double)random_below(pair, 12U) - 9.0, offset, fade);
  }
}

static const uint32_t blocks[] = { 32, 64, 1000 };

#define N_RACKS      12U
#define RACK_FRAMES  8000U
#define EVENT_FRAMES 1500U // on average between two of a kind

TEST_ROWS(random_racks_give_the_same_bits, blocks)
{
  const uint32_t n_frames = blocks[row];
  for (uint32_t r = 0; r < N_RACKS; ++r) {
    Pair pair = { .seed = 77U + r };
    const uint32_t n_channels = 1U + random_below(&pair, 3U);
    Model model;
    char text[TEXT_BYTES];
    model_new(&model, &pair);
    model_text(&model, text);
    const uint64_t seed = pair.seed;
    pair_new(&pair, text, n_channels, n_frames, NULL);
    pair.seed = seed;
    for (uint32_t f = 0; f < RACK_FRAMES; f += n_frames) {
      const uint32_t rare = 1U + EVENT_FRAMES / n_frames;
      fill(&pair, n_frames, random_below(&pair, 8U) ? 0.25F : 0.0F);
      if (random_below(&pair, rare) == 0U) {
        change_node(&pair, &model, n_frames);
      }
      if (random_below(&pair, 2U * rare) == 0U) {
        change_model(&pair, &model);
      }
      if (random_below(&pair, rare) == 0U) {
        pair_tap(&pair, random_below(&pair, pair.fused.player.plan->n_living));
      }
      if (random_below(&pair, 3U * rare) == 0U) {
        in[0][random_below(&pair, n_frames)] = random_below(&pair, 2U) ? NAN : 1e38F;
      }
      pair_run(&pair, n_frames);
    }
    pair_free(&pair);
  }
}

// ---- single properties ----

/// Fill the outputs of all nodes that have rows of their own with a value that no node writes.
static void
poison(const RackRig* const rig, const uint32_t n_frames)
{
  const Plan* const plan = rig->player.plan;
  const uint32_t bits = POISON;
  for (uint32_t r = plan->n_in + plan->n_out; r < plan->n_rows; ++r) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      memcpy(&plan->rows[r][i], &bits, sizeof(bits));
    }
  }
}

/// The rows in which something was written since.
static uint32_t
n_written(const RackRig* const rig)
{
  const Plan* const plan = rig->player.plan;
  const uint32_t bits = POISON;
  uint32_t n = 0;
  for (uint32_t r = plan->n_in + plan->n_out; r < plan->n_rows; ++r) {
    n += memcmp(plan->rows[r], &bits, sizeof(bits)) != 0;
  }
  return n;
}

/// Play a block, and return the number of rows that the rack with chains has written.
static uint32_t
rows_of_block(Pair* const pair, const uint32_t n_frames)
{
  fill(pair, n_frames, 0.25F);
  poison(&pair->fused, n_frames);
  pair_run(pair, n_frames);
  return n_written(&pair->fused);
}

TEST(quiet_nodes_run_together)
{
  // Only the last node writes, and that to the output of the rack.
  SCOPED(pair_free) Pair pair;
  pair_new(&pair,
           "chain a: peaking 100 gain=3 | b: gain -3 | c: invert | "
           "d: lowpass 8000 order=8 | e: peaking 400 gain=2",
           2U, 64U, NULL);
  ck_assert_uint_eq(rows_of_block(&pair, 64U), 0U);

  // c moves for 20 ms: a and b run together, c alone, and d and e together.
  pair_set(&pair, "c", "on", 0.0, 10U, 0U);
  ck_assert_uint_eq(rows_of_block(&pair, 64U), 4U);
  uint32_t n_rows = 4U;
  for (uint32_t b = 0; n_rows && b < 20U; ++b) {
    n_rows = rows_of_block(&pair, 64U);
    ck_assert(n_rows == 0U || n_rows == 4U);
  }
  ck_assert_uint_eq(n_rows, 0U);

  // A node that is watched writes its output.
  pair_tap(&pair, 1U);
  ck_assert_uint_eq(rows_of_block(&pair, 64U), 2U);

  // A node with a switch that is on is alone.
  pair_edit(&pair, "chain a: peaking 100 gain=3 | b: gain -3 bypass=on | c: invert | "
                   "d: lowpass 8000 order=8 | e: peaking 400 gain=2");
  for (uint32_t b = 0; b < 40U; ++b) {
    n_rows = rows_of_block(&pair, 64U);
  }
  ck_assert_uint_eq(n_rows, 4U);
}

TEST(a_node_with_two_readers_ends_a_chain)
{
  SCOPED(pair_free) Pair pair;
  pair_new(&pair, "chain a: gain -1 | b: gain -2 | c: gain -3 | d: gain -4\nconnect b out", 1U, 64U,
           NULL);
  ck_assert_uint_eq(rows_of_block(&pair, 64U), 2U); // of b, and of d, which is mixed
}

TEST(a_connection_with_a_gain_parts_the_nodes)
{
  SCOPED(pair_free) Pair pair;
  pair_new(&pair,
           "add a gain -1\nadd b gain -2\nadd c gain -3\nadd d gain -4\nconnect in a\n"
           "connect a b\nconnect b c gain=-6dB\nconnect c d\nconnect d out",
           1U, 64U, NULL);
  ck_assert_uint_eq(rows_of_block(&pair, 64U), 2U); // the output of b, and the input of c
}

TEST(nodes_after_a_bad_sample_run_as_ever)
{
  SCOPED(pair_free) Pair pair;
  pair_new(&pair,
           "chain a: peaking 100 gain=3 | b: gain 40 | c: gain 40 | "
           "d: peaking 500 gain=-3 | e: gain -40 | f: gain -40",
           2U, 64U, NULL);
  for (uint32_t b = 0; b < 200U; ++b) {
    fill(&pair, 64U, 0.25F);
    if (b % 40U < 12U) { // c overflows, often enough for a bypass
      in[1][b % 64U] = 1e36F;
    }
    pair_run(&pair, 64U);
  }
  const Plan* const plan = pair.fused.player.plan;
  ck_assert_uint_gt(plan->nodes[2].node->health.n_bad, 0U);
  ck_assert_uint_eq(plan->nodes[0].node->health.n_bad, 0U);
}

TEST(a_bad_run_of_nodes_keeps_its_input)
{
  // The output of e has the rows of that of x, which b reads again after c has overflowed.
  SCOPED(pair_free) Pair pair;
  pair_new(&pair,
           "add x invert\nadd b gain 40\nadd c gain 40\nadd d gain -40\nadd e gain -40\n"
           "connect in x\nconnect x b\nconnect b c\nconnect c d\nconnect d e\n"
           "connect e out gain=-1dB",
           1U, 64U, NULL);
  for (uint32_t b = 0; b < 40U; ++b) {
    fill(&pair, 64U, 0.25F);
    if (b % 20U == 0U) {
      pair_set(&pair, "x", "on", b == 0U ? 0.0 : 1.0, 3U, 0U);
    }
    if (b % 5U == 1U) {
      in[0][b] = 1e36F;
    }
    pair_run(&pair, 64U);
  }
}

TEST(rows_of_chains_beside_others_keep_their_signals)
{
  // Chains of several lengths beside nodes of other ranks: each has rows of its own.
  SCOPED(pair_free) Pair pair;
  pair_new(&pair,
           "chain ((a1: gain -1 | a2: peaking 200 gain=3 | a3: gain -2) + b1: gain -7 + "
           "(c1: delay 3ms | c2: peaking 300 gain=3 | c3: invert | c4: gain -3 | c5: gain 1) + "
           "(d1: peaking 800 gain=2 | d2: compressor -20dB | d3: peaking 90 gain=2 | d4: gain 2))",
           2U, 64U, NULL);
  for (uint32_t b = 0; b < 60U; ++b) {
    fill(&pair, 64U, 0.25F);
    pair_run(&pair, 64U);
  }
}

TEST(a_node_in_quarantine_plays_its_input)
{
  SCOPED(pair_free) Pair pair;
  pair_new(&pair, "chain a: gain -1 | b: lowpass 100 order=8 | c: gain -2", 1U, 64U, NULL);
  RackRig* const rigs[] = { &pair.fused, &pair.apart };
  for (uint32_t r = 0; r < 2U; ++r) {
    Rack* const rack = rack_copy(rigs[r]->rack);
    ck_assert_ptr_nonnull(rack);
    rack->nodes[1].is_quarantined = true;
    OK(rack_rig_plan(rigs[r], rack, &error));
  }
  ck_assert_ptr_null(pair.fused.player.plan->nodes[1].node->fx->linear);
  for (uint32_t b = 0; b < 200U; ++b) { // until the tail of the old node has ended
    fill(&pair, 64U, 0.25F);
    pair_run(&pair, 64U);
  }
  const double factor = pow(10.0, -3.0 / 20.0);
  for (uint32_t i = 0; i < 64U; ++i) {
    ck_assert_double_eq_tol(outs[0][0][i], factor * (double)in[0][i], 1e-7);
  }
}

TEST(long_chains_need_no_more_rows)
{
  SCOPED(pair_free) Pair pair;
  pair_new(&pair, "chain gain -1 | gain -2 | gain -3 | gain -4", 1U, 64U, NULL);
  const uint32_t n_rows = pair.fused.player.plan->n_rows;
  SCOPED(pair_free) Pair other;
  pair_new(&other,
           "chain gain -1 | gain -2 | gain -3 | gain -4 | gain 5 | gain 6 | x: invert | gain 8 | "
           "gain -8 | gain 1 | gain 2 | gain -1 | gain -2 | gain -3 | gain -4 | gain 5 | gain 6 | "
           "gain 8 | gain -8 | gain 1 | gain 2",
           1U, 64U, NULL);
  ck_assert_uint_eq(other.fused.player.plan->n_rows, n_rows);
  ck_assert_uint_eq(rows_of_block(&other, 64U), 0U);
  pair_set(&other, "x", "on", 0.0, 3U, 0U); // between nodes with the same rows
  ck_assert_uint_eq(rows_of_block(&other, 64U), 2U);
}

TEST(cores_share_the_signals_of_chains)
{
  Pool* pool = NULL;
  OK(pool_new(1U, false, 0, &pool, &error));
  Pair pair;
  pair_new(&pair,
           "chain a: peaking 100 gain=3 | b: lowpass 9000 order=8 | c: gain -1 | "
           "d: highpass 40 order=8",
           MOST_CHANNELS - 1U, MOST_BLOCK, pool);
  for (uint32_t b = 0; b < 8U; ++b) {
    fill(&pair, MOST_BLOCK, 0.25F);
    pair_run(&pair, MOST_BLOCK);
  }
  const Plan* const plan = pair.fused.player.plan;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) { // each has its part of the time
    ck_assert_uint_gt(plan->nodes[n].node->block_ns, 0U);
  }
  ck_assert_uint_gt(plan->nodes[1].node->block_ns, plan->nodes[2].node->block_ns);
  pair_free(&pair);
  pool_free(pool);
}

SUITE_MAIN("chains")
