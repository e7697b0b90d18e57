// SPDX-License-Identifier: GPL-3.0-or-later
/*
  fx_cascade.cu with one group for each channel: for few channels and long blocks.

  Method: a scan over time.  A section is linear, so its state after a chunk of frames is the sum
  of two states: the one that the chunk produces from a zero state, and the one that a silent chunk
  produces from the previous state.  Each thread has its own chunk and runs it twice.  The first run
  starts from a zero state; then log2(GROUP_SIZE) steps of all threads compute the true initial
  state of every chunk (W. D. Hillis and G. L. Steele, "Data Parallel Algorithms", Communications of
  the ACM 29(12), 1986).  The second run starts from that state, with the arithmetic of
  cascade_channels.h.  The sections of a filter, and the filters of a chain, run in series.

  A third run over as many silent frames computes the effect of a chunk on the states (1, 0) and
  (0, 1).  So each section takes 125 instructions for each frame of a chunk (a chunk has 1/128 of
  the frames), and about 2,000 for the scan. 3 tiles and the scan take 27 KB of local memory.

  Errors, with u of fx_cascade.cu: the effect of a chunk on a state has an error of about 60 u u
  after 17 frames, and of 3e-11 after 7 squarings.  In a tile of 2048 frames, a resonance with a Q
  of 200 at 10 Hz and 192 kHz decays by 1.7e-3, all others by more.  So the error is at most 2e-8 of
  the output, in addition to the errors listed in fx_cascade.cu.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CASCADE_SPREAD_H
#define WARPRACK_DSP_GPU_KERNELS_CASCADE_SPREAD_H

#include "cascade.h"

#define TILE_FRAMES   2048
#define TILE_WORDS    TILE_FRAMES
#define SCRATCH_WORDS (4 * GROUP_SIZE + 1)

// ---- sums of two floats ----

DEVICE float2
pair_sum(const float2 a, const float2 b)
{
  const float2 sum = exact_sum(a.x, b.x);
  return exact_sum_ordered(sum.x, sum.y + (a.y + b.y));
}

DEVICE float2
pair_product(const float2 a, const float2 b)
{
  const float2 product = exact_product(a.x, b.x);
  return exact_sum_ordered(product.x, FMA(a.x, b.y, FMA(a.y, b.x, product.y)));
}

// a b + c d
DEVICE float2
pair_products(const float2 a, const float2 b, const float2 c, const float2 d)
{
  return pair_sum(pair_product(a, b), pair_product(c, d));
}

// ---- states, and the effect of silent frames on them ----

typedef struct State {
  float2 v, d;
} State;

// The states that (1, 0) and (0, 1) become after a chunk: a 2 x 2 matrix.
typedef struct Turn {
  State of_v, of_d;
} Turn;

DEVICE State
turned(const Turn turn, const State state)
{
  State result;
  result.v = pair_products(turn.of_v.v, state.v, turn.of_d.v, state.d);
  result.d = pair_products(turn.of_v.d, state.v, turn.of_d.d, state.d);
  return result;
}

DEVICE Turn
turned_twice(const Turn turn)
{
  Turn result;
  result.of_v = turned(turn, turn.of_v);
  result.of_d = turned(turn, turn.of_d);
  return result;
}

DEVICE State
state_sum(const State a, const State b)
{
  State sum;
  sum.v = pair_sum(a.v, b.v);
  sum.d = pair_sum(a.d, b.d);
  return sum;
}

DEVICE State
state_of(const Section section)
{
  State state;
  state.v = exact_sum_ordered(section.v.x, section.v.y);
  state.d = section.d;
  return state;
}

// Publish the thread's state to the group: shared has 4 * GROUP_SIZE words.
DEVICE void
state_show(LOCAL_POINTER f32* const shared, const State state)
{
  shared[LOCAL_ID] = state.v.x;
  shared[GROUP_SIZE + LOCAL_ID] = state.v.y;
  shared[2 * GROUP_SIZE + LOCAL_ID] = state.d.x;
  shared[3 * GROUP_SIZE + LOCAL_ID] = state.d.y;
}

DEVICE State
state_shown(LOCAL_POINTER const f32* const shared, const u32 thread)
{
  State state;
  state.v = F2(shared[thread], shared[GROUP_SIZE + thread]);
  state.d = F2(shared[2 * GROUP_SIZE + thread], shared[3 * GROUP_SIZE + thread]);
  return state;
}

// ---- chunks ----

typedef struct Chunk {
  u32 first, end; // the thread's frames; none after the last frame
  u32 n_frames;   // of a complete chunk; odd, so that threads use different banks
} Chunk;

DEVICE Chunk
chunk_of(const u32 first, const u32 end)
{
  Chunk chunk;
  chunk.n_frames = ((end - first + GROUP_SIZE - 1) / GROUP_SIZE) | 1;
  chunk.first = min(end, first + LOCAL_ID * chunk.n_frames);
  chunk.end = min(end, chunk.first + chunk.n_frames);
  return chunk;
}

// The effect of a silent chunk on a state.
DEVICE Turn
chunk_turn(Section section, const Chunk chunk, LOCAL_POINTER f32* const shared)
{
  section.v = F2(LOCAL_ID == 0 ? 1.0f : 0.0f, 0.0f);
  section.d = F2(LOCAL_ID == 0 ? 0.0f : 1.0f, 0.0f);
  for (u32 i = 0; i < chunk.n_frames; ++i) {
    section_step(&section, F2(0.0f, 0.0f));
  }
  state_show(shared, state_of(section));
  BARRIER();
  Turn turn;
  turn.of_v = state_shown(shared, 0);
  turn.of_d = state_shown(shared, 1);
  BARRIER();
  return turn;
}

// Compute the section's state before the thread's chunk; `section` has the state before the first
// chunk.
DEVICE State
state_before(const Section section, const Tiles tiles, const u32 s, const Chunk chunk,
             LOCAL_POINTER f32* const shared)
{
  Turn turn = chunk_turn(section, chunk, shared);
  LOCAL_POINTER const f32* const from = read_by(tiles, s);
  Section own = section;
  if (LOCAL_ID > 0) {
    own.v = own.d = F2(0.0f, 0.0f);
  }
  for (u32 i = chunk.first; i < chunk.end; ++i) {
    section_step(&own, F2(from[i], s == 0 ? 0.0f : tiles.rest[i]));
  }
  State behind = state_of(own); // of the last 1, 2, 4, ... chunks
  for (u32 step = 1; step < GROUP_SIZE; step *= 2) {
    state_show(shared, behind);
    BARRIER();
    if (LOCAL_ID >= step) {
      behind = state_sum(behind, turned(turn, state_shown(shared, LOCAL_ID - step)));
    }
    BARRIER(); // all threads have read
    turn = turned_twice(turn);
  }
  state_show(shared, behind);
  BARRIER();
  const State before = LOCAL_ID > 0 ? state_shown(shared, LOCAL_ID - 1) : state_of(section);
  BARRIER();
  return before;
}

// ---- a unit, by the group ----

// Run frames [first, end) of a filter; returns true if an output of the thread's chunk is not
// finite.
DEVICE u32
filter_run(GLOBAL f32* const rows, const u32 n_sections, const Tiles tiles, const u32 first,
           const u32 end, LOCAL_POINTER f32* const shared)
{
  const Chunk chunk = chunk_of(first, end);
  u32 is_bad = 0;
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL f32* const row = rows + s * CASCADE_ROW_WORDS;
    Section section = section_load(row);
    const State before = state_before(section, tiles, s, chunk, shared);
    section.v = before.v;
    section.d = before.d;
    if (s + 1 < n_sections) {
      section_run(&section, tiles, s, chunk.first, chunk.end);
    } else {
      is_bad = section_run_last(&section, tiles, s, chunk.first, chunk.end, 1.0f);
    }
    if (chunk.first < chunk.end && chunk.end == end) {
      section_store(row, section); // all have loaded the row before the barriers of the scan
    }
  }
  return is_bad;
}

// Run n frames of unit 0 of the stage; returns true if an output of this thread is not finite.
DEVICE u32
unit_run(const Stage stage, const Tiles tiles, const u32 n, LOCAL_POINTER f32* const shared)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  GLOBAL f32* const rows = state + CASCADE_STATE_HEAD;
  const u32 n_sections = unit_param(stage, 0, CASCADE_N_SECTIONS);
  u32 is_bad = 0;
  for (u32 done = 0; done < n;) {
    if (LOCAL_ID == 0) {
      unit_prepare(stage, n_sections);
    }
    BARRIER(); // all threads see its words, and the filter's barriers precede the next write
    const u32 left = BITS_OF_F32(state[CASCADE_STATE_FADE_LEFT]);
    const u32 end = left > 0 ? min(n, done + left) : n;
    const u32 n_filters = left > 0 ? 2 : 1;
    for (u32 f = 0; f < n_filters; ++f) {
      is_bad |= filter_run(rows + f * n_sections * CASCADE_ROW_WORDS, n_sections,
                           f == 0 ? tiles : tiles_of_next(tiles), done, end, shared);
    }
    if (left > 0) {
      const Chunk chunk = chunk_of(done, end);
      fade_mix(tiles, chunk.first, chunk.end, left - (chunk.first - done),
               BITS_OF_F32(state[CASCADE_STATE_FADE_FRAMES]));
    }
    BARRIER(); // the states are stored
    if (LOCAL_ID == 0 && left > 0) {
      fade_advance(state, n_sections, left, end - done);
    }
    done = end;
  }
  return is_bad;
}

// ---- a chain of units ----

// Make the output of one unit the input of the next, which becomes unit 0 of the stage.
DEVICE void
pass_on(const Stage stage, const Tiles tiles, const u32 at, const u32 n)
{
  const u32 link = unit_word(stage, 0, UNIT_IN);
  for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
    const f32 gain = stage.live[link + LINK_IS_STEADY] ? F32_OF_BITS(stage.live[link + LINK_GAIN])
                                                       : moving_gain(stage, link, at + i + 1);
    tiles.in[i] = gain * tiles.out[i];
  }
}

// Run frames [at, at + n) of the chain that begins with unit 0 of the stage. silenced: a bit for
// each of its units that had a non-finite output; returns it with the new bits.
DEVICE u32
chain_run(Stage stage, const Tiles tiles, const u32 at, const u32 n, u32 silenced,
          LOCAL_POINTER u32* const scratch)
{
  u32 bit = 1;
  u32 next = 0;
  do {
    const u32 is_bad =
        group_any(unit_run(stage, tiles, n, (LOCAL_POINTER f32*)scratch), scratch + 4 * GROUP_SIZE);
    if (LOCAL_ID == 0 && is_bad && !(silenced & bit)) {
      unit_reset(stage, 0);
    }
    silenced |= is_bad ? bit : 0;
    if (silenced & bit) { // also after the reset: the unit sounds again from the next block on
      unit_state(stage, 0)[0] = 0.0f;
      for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
        tiles.out[i] = 0.0f;
      }
    }
    BARRIER(); // `out` is complete
    next = unit_word(stage, 0, UNIT_NEXT);
    if (next != 0) {
      stage.first_unit = next;
      pass_on(stage, tiles, at, n);
    }
    BARRIER(); // `in` is complete
    bit <<= 1;
  } while (next != 0);
  return silenced;
}

// The kernel.  tiles: TILE_WORDS each; scratch: SCRATCH_WORDS words.
DEVICE void
group_run(Stage stage, const Tiles tiles, LOCAL_POINTER u32* const scratch)
{
  stage.first_unit += GROUP_X * UNIT_WORDS; // unit 0 becomes the unit of the group
  const Input input = unit_input(stage, 0, 0);
  GLOBAL f32* const out = unit_out(stage, 0, 0);
  u32 silenced = 0;
  for (u32 at = 0; at < stage.n_frames; at += TILE_FRAMES) {
    const u32 n = min(stage.n_frames - at, (u32)TILE_FRAMES);
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      tiles.in[i] = input_at(stage, input, at + i);
    }
    BARRIER();
    silenced = chain_run(stage, tiles, at, n, silenced, scratch);
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      out[at + i] = tiles.out[i];
    }
    BARRIER(); // the tile is stored
  }
}

#endif
