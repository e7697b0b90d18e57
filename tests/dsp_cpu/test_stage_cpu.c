// SPDX-License-Identifier: GPL-3.0-or-later
// The stage on the CPU: a node reads a connection in place, and writes to an output of the rack,
// only while the mix would copy; the samples are those of the mix, and no node changes what another
// one reads.  A batch goes to the pool while it takes long, and comes back.

#include "dsp_cpu/mix.h"
#include "engine/contract/mix_link.h"
#include "engine/contract/pool.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <stdatomic.h>
#include <string.h>

#define BLOCK   64U
#define N_RANKS 2U
#define N_UNITS 2U // of a rank, one of each node
#define N_NODES (N_RANKS * N_UNITS)
#define ALL     15U // nodes, a bit for each
#define N_OUTS  2U
#define N_LINKS (N_NODES + N_OUTS) // one to each node, then one to each output of the rack
#define N_SLOTS 2U                 // of the rack's input and output, as those of a ring
#define LINE    128U
#define RAMP    100U // frames, longer than a block

// The rows: the rack's input and output, inputs that the ranks use in turn, an output of each node.
enum {
  ROW_IN,
  ROW_OUT,
  ROW_INS = ROW_OUT + N_OUTS,
  ROW_OUTS = ROW_INS + N_UNITS,
  N_ROWS = ROW_OUTS + N_NODES
};

/// What a node does in a block.
typedef struct Probe {
  const float* in; ///< Where its first run of the block has read
  float* out;      ///< Where it has written
  uint32_t n_runs;
} Probe;

static void
probe_init(const void* const node, void* const state, const uint32_t index)
{
  (void)node;
  (void)index;
  *(Probe*)state = (Probe){ NULL, NULL, 0U };
}

static void
probe_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  (void)ramp_frames;
  (void)node;
  (void)param;
  (void)value;
}

/// Copies, so that the output shows what the node has read.
static void
probe_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    Probe* const probe = units[u].state;
    if (probe->n_runs++ == 0U) {
      probe->in = units[u].in[0];
      probe->out = units[u].out[0];
    }
    memcpy(units[u].out[0], units[u].in[0], n_frames * sizeof(float));
  }
}

static const FxInfo probe_fx = {
  .name = "probe", .unit_init = probe_init, .set = probe_set, .run = probe_run
};

/// A stage with two ranks: each has a mix with a connection from the rack's input to each node, and
/// a batch of the nodes.  Then come the outputs of the rack, each with a connection from a node.
typedef struct Rig {
  _Alignas(64) float slots[N_SLOTS][BLOCK];
  _Alignas(64) float out_slots[N_SLOTS][N_OUTS][BLOCK];
  _Alignas(64) float memory[N_ROWS][BLOCK];
  float* rows[N_ROWS];
  Probe probes[N_NODES];
  uint32_t out_nodes[N_OUTS]; // the node of each output
  MixLink links[N_LINKS];
  float lines[N_LINKS][LINE];
  MixTerm terms[N_LINKS][2];
  MixRow mixes[N_LINKS];
  MixLink* advanced[N_LINKS];
  NodeHealth health[N_NODES];
  InputLine input_lines[N_NODES];
  NodeSwitches switches[N_NODES];
  _Atomic uint32_t node_ns[N_NODES];
  NodeTimes times[N_NODES];
  uint32_t in_rows[N_NODES], out_rows[N_NODES];
  BatchUnit units[N_NODES];
  StageStep steps[2 * N_RANKS + 1U];
  Stage* stage;
  // What the mix makes of the same connections if it copies them
  MixLink copies[N_LINKS];
  float copied_lines[N_LINKS][LINE];
  uint64_t n_blocks;
  uint32_t written; // outputs to which a node has written in the last block, a bit for each
} Rig;

/// Connect a row to another one.
static void
rig_connect(Rig* const rig, const uint32_t link, const uint32_t from, const uint32_t to)
{
  rig->links[link].gain = rig->links[link].next = ramp_at(1.0F);
  rig->terms[link][0] = rig->terms[link][1] = (MixTerm){ from, &rig->links[link], 0U };
  rig->mixes[link] = (MixRow){ to, 1U, rig->terms[link] };
  rig->advanced[link] = &rig->links[link];
}

static StageStep
rig_mix(const Rig* const rig, const uint32_t first, const uint32_t n)
{
  return (StageStep){ &backend_cpu,
                      .kind = STEP_MIX,
                      .rows = rig->mixes + first,
                      .n_rows = n,
                      .links = rig->advanced + first,
                      .n_links = n };
}

/// Describe the stage, with outputs from these nodes.
static void
rig_describe(Rig* const rig, const FxInfo* const fx, const uint32_t left, const uint32_t right)
{
  memset(rig, 0, sizeof(*rig));
  rig->out_nodes[0] = left;
  rig->out_nodes[1] = right;
  for (uint32_t r = 0; r < N_ROWS; ++r) {
    rig->rows[r] = rig->memory[r];
  }
  for (uint32_t n = 0; n < N_NODES; ++n) {
    rig->in_rows[n] = ROW_INS + n % N_UNITS;
    rig->out_rows[n] = ROW_OUTS + n;
    rig_connect(rig, n, ROW_IN, rig->in_rows[n]);
    rig->units[n] = (BatchUnit){ .node = rig,
                                 .state = &rig->probes[n],
                                 .node_index = n,
                                 .node_ns = &rig->node_ns[n],
                                 .times = &rig->times[n],
                                 .health = &rig->health[n],
                                 .input_line = &rig->input_lines[n],
                                 .switches = &rig->switches[n],
                                 .n_in = 1U,
                                 .n_out = 1U,
                                 .in_rows = &rig->in_rows[n],
                                 .out_rows = &rig->out_rows[n] };
  }
  for (uint32_t o = 0; o < N_OUTS; ++o) {
    rig_connect(rig, N_NODES + o, rig->out_rows[rig->out_nodes[o]], ROW_OUT + o);
  }
  for (uint32_t r = 0; r < N_RANKS; ++r) {
    const uint32_t first = r * N_UNITS;
    rig->steps[2U * r] = rig_mix(rig, first, N_UNITS);
    rig->steps[2U * r + 1U] = (StageStep){ &backend_cpu, .kind = STEP_BATCH, .fx = fx,
                                           .units = rig->units + first, .n_units = N_UNITS };
  }
  rig->steps[2U * N_RANKS] = rig_mix(rig, N_NODES, N_OUTS);
}

static void
rig_make(Rig* const rig, Pool* const pool)
{
  const StageSpec spec = { .max_block_frames = BLOCK,
                           .steps = rig->steps,
                           .n_steps = ARRAY_LEN(rig->steps),
                           .rows = rig->rows,
                           .n_rows = N_ROWS,
                           .n_in = 1U,
                           .n_out = N_OUTS,
                           .n_nodes = N_NODES };
  OK(backend_cpu.stage_new(&backend_cpu, &spec, pool, &rig->stage, &error));
}

static void
rig_start(Rig* const rig, const FxInfo* const fx, Pool* const pool)
{
  rig_describe(rig, fx, 0U, N_NODES - 1U);
  rig_make(rig, pool);
}

static void
rig_run(Rig* const rig, const uint32_t n_frames, const StageEvent* const events,
        const uint32_t n_events)
{
  uint32_t n_reset = 0;
  for (uint32_t n = 0; n < N_NODES; ++n) {
    rig->probes[n] = (Probe){ NULL, NULL, 0U };
  }
  const StageChanges changes = { .events = events, .n_events = n_events };
  backend_cpu.stage_submit(rig->stage, n_frames, &changes);
  ck_assert_int_eq(backend_cpu.stage_collect(rig->stage, &n_reset), STATUS_OK);
  ck_assert_uint_eq(n_reset, 0U);
}

/// What the mix makes of the samples `in` by a connection.
static void
mix_copy(Rig* const rig, const uint32_t link, float* const in, const uint32_t n_frames,
         float* const out)
{
  float* rows[] = { in, out };
  const MixTerm terms[2] = { { 0U, &rig->copies[link], 0U }, { 0U, &rig->copies[link], 0U } };
  const MixRow mix = { 1U, rig->mixes[link].n_terms, terms };
  mix_row(rows, &mix, n_frames);
  mix_link_advance(&rig->copies[link], n_frames);
}

/// Give the rack a block of noise in the next slot, and an output without valid samples.
static void
rig_feed(Rig* const rig, float* const input)
{
  const uint64_t slot = ++rig->n_blocks % N_SLOTS;
  signal_noise(input, BLOCK, rig->n_blocks);
  rig->rows[ROW_IN] = rig->slots[slot];
  memcpy(rig->rows[ROW_IN], input, BLOCK * sizeof(float));
  for (uint32_t o = 0; o < N_OUTS; ++o) {
    rig->rows[ROW_OUT + o] = rig->out_slots[slot][o];
    memset(rig->rows[ROW_OUT + o], 0xFF, BLOCK * sizeof(float)); // NaN
  }
}

/// Play a block of noise, and compare each node and each output with the mix.  Returns the nodes
/// that have read in place, a bit for each.
static uint32_t
rig_play(Rig* const rig, const uint32_t n_frames, const StageEvent* const events,
         const uint32_t n_events)
{
  float input[BLOCK];
  float mixed[BLOCK];
  uint32_t in_place = 0;
  rig_feed(rig, input);
  memcpy(rig->copies, rig->links, sizeof(rig->links));
  memcpy(rig->copied_lines, rig->lines, sizeof(rig->lines));
  for (uint32_t l = 0; l < N_LINKS; ++l) {
    rig->copies[l].lines = rig->links[l].lines ? rig->copied_lines[l] : NULL;
  }
  rig_run(rig, n_frames, events, n_events);
  ck_assert_mem_eq(rig->rows[ROW_IN], input, sizeof(input));
  for (uint32_t n = 0; n < N_NODES; ++n) {
    mix_copy(rig, n, input, n_frames, mixed);
    ck_assert_mem_eq(rig->probes[n].out, mixed, n_frames * sizeof(float));
    in_place |= (rig->probes[n].in == rig->rows[ROW_IN]) << n;
  }
  rig->written = 0;
  for (uint32_t o = 0; o < N_OUTS; ++o) {
    float* const from = rig->probes[rig->out_nodes[o]].out;
    mix_copy(rig, N_NODES + o, from, n_frames, mixed);
    ck_assert_mem_eq(rig->rows[ROW_OUT + o], mixed, n_frames * sizeof(float));
    rig->written |= (from == rig->rows[ROW_OUT + o]) << o;
  }
  return in_place;
}

static void
rig_clear(Rig* const rig)
{
  backend_cpu.stage_free(rig->stage);
}

// ---- connections that are read in place ----

TEST(nodes_read_the_input_of_the_rack_where_each_block_has_it)
{
  static Rig rig;
  rig_start(&rig, &probe_fx, NULL);
  for (uint32_t b = 0; b < 5U; ++b) {
    ck_assert_uint_eq(rig_play(&rig, BLOCK - b, NULL, 0U), ALL);
  }
  rig_clear(&rig);
}

TEST(a_gain_is_mixed_while_it_is_not_1)
{
  static Rig rig;
  rig_start(&rig, &probe_fx, NULL);
  rig_play(&rig, BLOCK, NULL, 0U);
  ramp_aim(&rig.links[1].next, 0.5F, RAMP);
  rig.links[1].gain = rig.links[1].next;
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 2U);
  ramp_aim(&rig.links[1].next, 1.0F, RAMP); // in the middle of the ramp
  rig.links[1].gain = rig.links[1].next;
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 2U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 2U); // ends in this block
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL);
  rig.links[1].gain = rig.links[1].next = ramp_at(-1.0F);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 2U);
  rig_clear(&rig);
}

TEST(a_fade_that_waits_begins_at_its_frame)
{
  static Rig rig;
  rig_start(&rig, &probe_fx, NULL);
  ramp_aim(&rig.links[0].next, 0.0F, RAMP);
  rig.links[0].hold_frames = BLOCK + 10U;
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL); // the gain is 1 in all of this block
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 1U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 1U);
  ramp_aim(&rig.links[0].next, 1.0F, RAMP);
  rig.links[0].gain = ramp_at(0.0F);
  rig.links[0].hold_frames = BLOCK;
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 1U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 1U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 1U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL);
  rig_clear(&rig);
}

/// Mix BLOCK frames of two connections, in parts of so many frames.  The gain of one moves for the
/// first 20.
static void
mix_in_parts(float out[BLOCK], const uint32_t n_frames)
{
  float ins[2][BLOCK];
  MixLink links[2] = { { .gain = ramp_at(0.7F) }, { .gain = ramp_at(1.0F) } };
  links[0].next = links[0].gain;
  mix_link_aim(&links[1], 0.3F, 20U, 0U);
  signal_noise(ins[0], BLOCK, 1U);
  signal_noise(ins[1], BLOCK, 2U);
  const MixTerm terms[2] = { { 0U, &links[0], 0U }, { 1U, &links[1], 0U } };
  const MixRow mix = { 2U, 2U, terms };
  for (uint32_t done = 0; done < BLOCK; done += n_frames) {
    float* rows[] = { ins[0] + done, ins[1] + done, out + done };
    mix_row(rows, &mix, n_frames);
    mix_link_advance(&links[0], n_frames);
    mix_link_advance(&links[1], n_frames);
  }
}

TEST(a_mix_does_not_depend_on_the_blocks)
{
  float whole[BLOCK];
  float parts[BLOCK];
  mix_in_parts(whole, BLOCK);
  for (uint32_t n_frames = 1; n_frames < BLOCK; n_frames *= 2U) {
    mix_in_parts(parts, n_frames);
    ck_assert_mem_eq(parts, whole, sizeof(whole));
  }
}

TEST(a_delay_two_connections_and_none_are_mixed)
{
  static Rig rig;
  rig_start(&rig, &probe_fx, NULL);
  rig_play(&rig, BLOCK, NULL, 0U);
  rig.links[0].lines = rig.lines[0];
  rig.links[0].line_mask = LINE - 1U;
  rig.links[0].delay_frames = 33U;
  rig.mixes[1].n_terms = 2U;
  rig.mixes[2].n_terms = 0U;
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 7U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 7U);
  rig.links[0].lines = NULL;
  rig.mixes[1].n_terms = rig.mixes[2].n_terms = 1U;
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL);
  rig_clear(&rig);
}

TEST(a_change_within_a_block_does_not_move_the_input)
{
  static Rig rig;
  rig_start(&rig, &probe_fx, NULL);
  const StageEvent events[] = { { .offset = 0U, .node_index = 1U },
                                { .offset = 13U, .node_index = 1U },
                                { .offset = 50U, .node_index = 0U } };
  ck_assert_uint_eq(rig_play(&rig, BLOCK, events, ARRAY_LEN(events)), ALL);
  ck_assert_uint_eq(rig.probes[1].n_runs, 2U);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL);
  rig_clear(&rig);
}

// ---- nodes that write to the outputs of the rack ----

TEST(nodes_write_to_the_outputs_of_the_rack_where_each_block_has_them)
{
  static Rig rig;
  rig_start(&rig, &probe_fx, NULL);
  for (uint32_t b = 0; b < 5U; ++b) {
    const StageEvent event = { .offset = 10U * b, .node_index = 0U };
    ck_assert_uint_eq(rig_play(&rig, BLOCK - b, &event, b % 2U), ALL);
    ck_assert_uint_eq(rig.written, 3U);
  }
  rig_clear(&rig);
}

TEST(an_output_is_mixed_while_the_mix_does_not_only_copy)
{
  static Rig rig;
  MixLink* const link = &rig.links[N_NODES];
  rig_start(&rig, &probe_fx, NULL);
  ramp_aim(&link->next, 0.5F, RAMP);
  link->hold_frames = BLOCK + 10U;
  rig_play(&rig, BLOCK, NULL, 0U); // the gain is 1 in all of this block
  ck_assert_uint_eq(rig.written, 3U);
  rig_play(&rig, BLOCK, NULL, 0U);
  ck_assert_uint_eq(rig.written, 2U);
  link->gain = link->next = ramp_at(1.0F);
  link->lines = rig.lines[N_NODES];
  link->line_mask = LINE - 1U;
  link->delay_frames = 33U;
  rig_play(&rig, BLOCK, NULL, 0U);
  ck_assert_uint_eq(rig.written, 2U);
  link->lines = NULL;
  rig.mixes[N_NODES].n_terms = 2U;
  rig_play(&rig, BLOCK, NULL, 0U);
  ck_assert_uint_eq(rig.written, 2U);
  rig.mixes[N_NODES].n_terms = 1U;
  rig_play(&rig, BLOCK, NULL, 0U);
  ck_assert_uint_eq(rig.written, 3U);
  rig_clear(&rig);
}

TEST(a_node_that_two_outputs_play_is_copied)
{
  static Rig rig;
  rig_describe(&rig, &probe_fx, 2U, 2U);
  rig_make(&rig, NULL);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL);
  ck_assert_uint_eq(rig.written, 0U);
  rig_clear(&rig);
}

TEST(a_node_that_another_node_reads_is_copied)
{
  static Rig rig;
  rig_describe(&rig, &probe_fx, 0U, 3U);
  rig.terms[2][0].from = rig.out_rows[0];
  rig_make(&rig, NULL);
  ck_assert_uint_eq(rig_play(&rig, BLOCK, NULL, 0U), ALL - 4U);
  ck_assert_ptr_eq(rig.probes[2].in, rig.rows[rig.out_rows[0]]);
  ck_assert_uint_eq(rig.written, 2U);
  rig_clear(&rig);
}

// ---- all of it ----

/// One change of a connection that the player may meet between two blocks.
static void
change(Rig* const rig, uint64_t* const seed)
{
  static const float gains[] = { 1.0F, 1.0F, 1.0F, 0.5F };
  static const uint32_t n_terms[] = { 1U, 1U, 1U, 1U, 2U, 0U };
  const uint32_t n = (uint32_t)(signal_random(seed) % N_LINKS);
  MixLink* const link = &rig->links[n];
  const uint64_t kind = signal_random(seed) % 4U;
  if (kind == 0U) {
    rig->mixes[n].n_terms = n_terms[signal_random(seed) % ARRAY_LEN(n_terms)];
  } else if (kind == 1U) {
    link->lines = signal_random(seed) % 4U ? NULL : rig->lines[n];
    link->line_mask = LINE - 1U;
    link->delay_frames = (uint32_t)(signal_random(seed) % (LINE - BLOCK));
  } else {
    ramp_aim(&link->next, gains[signal_random(seed) % ARRAY_LEN(gains)],
             1U + (uint32_t)(signal_random(seed) % RAMP));
    link->hold_frames = kind == 2U ? (uint32_t)(signal_random(seed) % RAMP) : 0U;
    link->gain = link->hold_frames ? ramp_at(ramp_value(&link->next)) : link->next;
  }
}

TEST(any_changes_sound_as_if_all_connections_were_mixed)
{
  static Rig rig;
  uint64_t seed = 1U;
  uint32_t n_in_place[1U << N_NODES] = { 0 };
  uint32_t n_written[1U << N_OUTS] = { 0 };
  rig_start(&rig, &probe_fx, NULL);
  for (uint32_t b = 0; b < 20000U; ++b) {
    if (signal_random(&seed) % 4U == 0U) {
      change(&rig, &seed);
    }
    const uint32_t n_frames = 1U + (uint32_t)(signal_random(&seed) % BLOCK);
    const StageEvent event = { .offset = (uint32_t)(signal_random(&seed) % n_frames),
                               .node_index = (uint32_t)(signal_random(&seed) % N_NODES) };
    ++n_in_place[rig_play(&rig, n_frames, &event, signal_random(&seed) % 2U)];
    ++n_written[rig.written];
  }
  for (uint32_t i = 0; i < ARRAY_LEN(n_in_place); ++i) {
    ck_assert_uint_gt(n_in_place[i], 0U); // all combinations have occurred
  }
  for (uint32_t i = 0; i < ARRAY_LEN(n_written); ++i) {
    ck_assert_uint_gt(n_written[i], 0U);
  }
  rig_clear(&rig);
}

// ---- the pool ----

#define SHORT_NS 2000U    // of a unit: the batch stays on one core
#define LONG_NS  30000U   // of a unit: it goes to the pool
#define STALL_NS 2000000U // far longer than usual

static _Atomic uint64_t unit_ns;    // time that each unit takes
static _Atomic uint32_t most_units; // of one run since the last reset

static void
work_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  (void)n_frames;
  const uint64_t began_ns = time_now_ns();
  uint32_t most = atomic_load(&most_units);
  while (n_units > most && !atomic_compare_exchange_weak(&most_units, &most, n_units)) {
  }
  while (time_now_ns() - began_ns < n_units * atomic_load(&unit_ns)) {
  }
  for (uint32_t u = 0; u < n_units; ++u) {
    units[u].out[0][0] = 0.0F;
  }
}

static const FxInfo work_fx = {
  .name = "work", .unit_init = probe_init, .set = probe_set, .run = work_run
};

/// Run a block in which each unit takes so long.  Returns true if several cores have shared it.
static bool
is_shared(Rig* const rig, const uint64_t ns)
{
  atomic_store(&unit_ns, ns);
  atomic_store(&most_units, 0U);
  rig_run(rig, BLOCK, NULL, 0U);
  return atomic_load(&most_units) < N_UNITS;
}

/// Run blocks until they are shared, or are not.
static void
until_shared(Rig* const rig, const uint64_t ns, const bool shared)
{
  uint32_t n_left = 20000U;
  while (is_shared(rig, ns) != shared) {
    ck_assert_uint_gt(n_left--, 0U);
  }
}

static Pool*
pool_rig_start(Rig* const rig)
{
  Pool* pool = NULL;
  OK(pool_new(1U, false, 0, &pool, &error));
  rig_start(rig, &work_fx, pool);
  return pool;
}

TEST(a_batch_goes_to_the_pool_while_it_takes_long_and_returns)
{
  static Rig rig;
  Pool* const pool = pool_rig_start(&rig);
  for (uint32_t round = 0; round < 3U; ++round) {
    until_shared(&rig, LONG_NS, true);
    until_shared(&rig, SHORT_NS, false);
  }
  rig_clear(&rig);
  pool_free(pool);
}

TEST(one_interruption_does_not_move_a_batch_to_the_pool)
{
  static Rig rig;
  uint32_t n_moved = 0;
  Pool* const pool = pool_rig_start(&rig);
  for (uint32_t round = 0; round < 5U; ++round) {
    until_shared(&rig, SHORT_NS, false);
    for (uint32_t b = 0; b < 400U; ++b) {
      is_shared(&rig, SHORT_NS);
    }
    until_shared(&rig, SHORT_NS, false);
    is_shared(&rig, STALL_NS);
    n_moved += is_shared(&rig, SHORT_NS);
  }
  ck_assert_uint_lt(n_moved, 3U); // the machine may interrupt it once more
  rig_clear(&rig);
  pool_free(pool);
}

TEST(a_batch_that_takes_long_in_one_block_of_16_is_shared_there)
{
  static Rig rig;
  uint32_t n_shared = 0;
  Pool* const pool = pool_rig_start(&rig);
  until_shared(&rig, SHORT_NS, false);
  for (uint32_t b = 0; b < 16U * 64U; ++b) {
    const bool is_long = b % 16U == 15U;
    const bool shared = is_shared(&rig, is_long ? STALL_NS / N_UNITS : SHORT_NS);
    n_shared += is_long && b >= 16U * 48U && shared;
  }
  ck_assert_uint_eq(n_shared, 16U);
  rig_clear(&rig);
  pool_free(pool);
}

// ---- the last times of nodes ----

TEST(every_node_has_its_turn_to_be_measured)
{
  static Rig rig;
  enum { N_BLOCKS = 4000 };
  rig_start(&rig, &probe_fx, NULL);
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    rig_run(&rig, BLOCK - b % 2U, NULL, 0U);
  }
  const uint32_t n_turns = N_BLOCKS * BLOCK / 1024U / ARRAY_LEN(rig.steps); // of each step
  for (uint32_t n = 0; n < N_NODES; ++n) {
    uint32_t p50_ns = 0;
    uint32_t p99_ns = 0;
    ck_assert(node_times_read(&rig.times[n], &p50_ns, &p99_ns));
    ck_assert_uint_le(p50_ns, p99_ns);
    ck_assert_uint_ge(rig.times[n].n, n_turns / 2U);
    ck_assert_uint_le(rig.times[n].n, n_turns * 2U);
  }
  rig_clear(&rig);
}

SUITE_MAIN("stage_cpu")
