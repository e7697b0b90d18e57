// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every filter that is a cascade of second-order sections: dsp_cpu/cascade.h in floats.  One thread
  for each unit, or for each chain of units.

  A group takes GROUP_SIZE channels in tiles of TILE_FRAMES frames.  Its threads read and write rows
  along the frames, which is what memory likes, and filter along the frames of a channel each, out
  of local memory: 3 tiles, 25 KB for 32 threads.  What limits it is the recursion: 50 instructions
  for each frame and section (75 in front of another section of the same unit), of which 10 wait for
  each other, in one thread.  A sub-group has 32 channels of that to do, so a thousand channels take
  no longer than 32.

  With s and r of dsp_cpu/cascade_kernel.h, whose states these are:

    v' = v + d
    d' = (r + s) d - s v' + x      r + s = 1 - 2 a1 / (1 + a1 + a0) in terms of dsp_cpu/section.h
    y  = b0 x + cv v' + (cd - cv) d

  The lower and narrower a filter is, the nearer is r + s to 1 and s to 0; s is not a difference,
  and two floats hold what 1 - r - s is to 2^-49.

  Errors, for signals of full scale, in u = 2^-24, a float's largest error in [1, 2):
  - All coefficients, the states and what goes from section to section are sums of two floats, and
    all products and sums keep the rest of their rounding; rests are rounded, which is u u of the
    whole.  Floats alone would not do: a pole that is off by u / 2 of its frequency changes a
    resonance by Q u, 1.2e-5 for a Q of 200; and rounding d, which is 1 / (2 pi f / rate) times the
    signal, at every frame leaves 1e-6 at 10 Hz and 192 kHz.
  - y of the last section: three coefficients and three sums, u / 2 each, of numbers that are about
    the output at most: 3 u, or 1.8e-7 (-135 dB).
  - The cross-fade: 4 u, its weight being an odd polynomial around the middle.  The state that the
    next filter begins with: 4 u of what it was, which decays.
  So the output stays within 1e-6 of the CPU's and within -120 dB of exact arithmetic.
*/

#include "stage.h"

#define TILE_FRAMES 64
#define TILE_STRIDE (TILE_FRAMES + 1) // odd: threads of one frame are in banks of their own

// A node's parameters, then COEFFICIENT_WORDS for each section
#define PARAM_VERSION     0
#define PARAM_N_SECTIONS  1
#define PARAM_FADE_FRAMES 2
#define PARAM_ROWS        3

// A unit, then ROW_WORDS for each section of the filter that sounds, and for each of the next one
#define STATE_VERSION   1
#define STATE_FADE_LEFT 2
#define STATE_ROWS      16

// A row: coefficients, each the sum of two floats, then states, two floats each
#define ROW_S             0
#define ROW_R             2 // r + s
#define ROW_B0            4
#define ROW_CV            6
#define ROW_CD            8  // cd - cv
#define ROW_SIGMA         10 // one float: minus the real part of the slower pole, see overlap()
#define ROW_OMEGA         11 // its imaginary part
#define COEFFICIENT_WORDS 13
#define ROW_V             16
#define ROW_D             18
#define ROW_WORDS         20
#define ROW_QUADS         (ROW_WORDS / 4)

// States below this become zero at the end of a tile: no output knows, and tails end.
#define SMALLEST_STATE 1e-25f

// ---- a section ----

typedef struct Section {
  float2 s, r, b0, cv, cd; // .x, and .y that was rounded off
  float2 v, d;             // state
} Section;

DEVICE Section
section_load(GLOBAL const f32* const row)
{
  GLOBAL const float4* const quads = (GLOBAL const float4*)row;
  const float4 recursion = quads[ROW_S / 4];
  const float4 output = quads[ROW_B0 / 4];
  const float4 output_d = quads[ROW_CD / 4];
  const float4 state = quads[ROW_V / 4];
  Section section;
  section.s = F2(recursion.x, recursion.y);
  section.r = F2(recursion.z, recursion.w);
  section.b0 = F2(output.x, output.y);
  section.cv = F2(output.z, output.w);
  section.cd = F2(output_d.x, output_d.y);
  section.v = F2(state.x, state.y);
  section.d = F2(state.z, state.w);
  return section;
}

DEVICE float2
settled(const float2 state)
{
  const float2 whole = exact_sum_ordered(state.x, state.y);
  return FABS(whole.x) < SMALLEST_STATE ? F2(0.0f, 0.0f) : whole;
}

DEVICE void
section_store(GLOBAL f32* const row, const Section section)
{
  const float2 v = settled(section.v);
  const float2 d = settled(section.d);
  ((GLOBAL float4*)row)[ROW_V / 4] = F4(v.x, v.y, d.x, d.y);
}

// The state after a frame.  v.y gathers what is rounded off; it is put in order by section_store().
DEVICE void
section_step(Section* const section, const float2 x)
{
  const float2 d = section->d;
  const float2 v = exact_sum(section->v.x, d.x);
  const f32 v_rest = section->v.y + (v.y + d.y);
  const float2 kept = exact_product(section->r.x, d.x);
  const float2 back = exact_product(section->s.x, v.x);
  const float2 push = exact_sum(x.x, -back.x);
  const float2 next = exact_sum(kept.x, push.x);
  f32 rest = FMA(section->r.x, d.y, FMA(section->r.y, d.x, kept.y));
  rest = FMA(-section->s.x, v_rest, FMA(-section->s.y, v.x, rest)) + (x.y - back.y);
  rest += push.y + next.y;
  section->v = F2(v.x, v_rest);
  section->d = exact_sum_ordered(next.x, rest);
}

// Output of a frame, after its step; d: from before the step.
DEVICE float2
section_out(const Section section, const float2 x, const float2 d)
{
  const float2 v = section.v;
  const float2 of_x = exact_product(section.b0.x, x.x);
  const float2 of_v = exact_product(section.cv.x, v.x);
  const float2 of_d = exact_product(section.cd.x, d.x);
  const float2 two = exact_sum(of_v.x, of_d.x);
  const float2 all = exact_sum(two.x, of_x.x);
  f32 rest = FMA(section.cd.x, d.y, section.cd.y * d.x);
  rest = FMA(section.cv.x, v.y, FMA(section.cv.y, v.x, rest));
  rest = FMA(section.b0.x, x.y, FMA(section.b0.y, x.x, rest));
  return F2(all.x, rest + (of_x.y + of_v.y + of_d.y) + (two.y + all.y));
}

// The same, rounded.
DEVICE f32
section_out_rounded(const Section section, const float2 x, const float2 d)
{
  const f32 rest = FMA(section.b0.x, x.y, FMA(section.cv.x, section.v.y, section.cd.x * d.y));
  return FMA(section.b0.x, x.x, FMA(section.cv.x, section.v.x, section.cd.x * d.x)) + rest;
}

// ---- a filter over frames [first, end) of a thread's tiles ----

// Signals of a thread in local memory, TILE_STRIDE each.
typedef struct Tiles {
  LOCAL_POINTER f32* in;
  LOCAL_POINTER f32* out;
  LOCAL_POINTER f32* rest; // between two sections: what does not fit into `out`
} Tiles;

// Section `s`; the first reads `in`, the others out + rest.
DEVICE void
section_run(GLOBAL f32* const row, const Tiles tiles, const u32 s, const u32 first, const u32 end)
{
  LOCAL_POINTER const f32* const from = s == 0 ? tiles.in : tiles.out;
  Section section = section_load(row);
  for (u32 i = first; i < end; ++i) {
    const float2 x = F2(from[i], s == 0 ? 0.0f : tiles.rest[i]);
    const float2 d = section.d;
    section_step(&section, x);
    const float2 y = section_out(section, x, d);
    tiles.out[i] = y.x;
    tiles.rest[i] = y.y;
  }
  section_store(row, section);
}

// The last section; true when an output is not finite.
DEVICE u32
section_run_last(GLOBAL f32* const row, const Tiles tiles, const u32 s, const u32 first,
                 const u32 end)
{
  LOCAL_POINTER const f32* const from = s == 0 ? tiles.in : tiles.out;
  Section section = section_load(row);
  u32 is_bad = 0;
  f32 ahead = from[first]; // read a frame ahead of its use, up to the place behind the tile
  for (u32 i = first; i < end; ++i) {
    const float2 x = F2(ahead, s == 0 ? 0.0f : tiles.rest[i]);
    ahead = from[i + 1];
    const float2 d = section.d;
    section_step(&section, x);
    const f32 y = section_out_rounded(section, x, d);
    is_bad |= !is_finite(y);
    tiles.out[i] = y;
  }
  section_store(row, section);
  return is_bad;
}

DEVICE u32
filter_run(GLOBAL f32* const rows, const u32 n_sections, const Tiles tiles, const u32 first,
           const u32 end)
{
  const u32 last = n_sections - 1;
  for (u32 s = 0; s < last; ++s) {
    section_run(rows + s * ROW_WORDS, tiles, s, first, end);
  }
  return section_run_last(rows + last * ROW_WORDS, tiles, last, first, end);
}

// ---- a unit ----

// The node's present design.
DEVICE void
take_design(const Stage stage, const u32 s, GLOBAL f32* const row)
{
  for (u32 w = 0; w < COEFFICIENT_WORDS; ++w) {
    row[w] = unit_param_f32(stage, 0, PARAM_ROWS + s * COEFFICIENT_WORDS + w);
  }
}

DEVICE void
unit_begin(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL f32* const row = state + STATE_ROWS + s * ROW_WORDS;
    take_design(stage, s, row);
    ((GLOBAL float4*)row)[ROW_V / 4] = F4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  state[0] = 1.0f;
  state[STATE_VERSION] = F32_OF_BITS(unit_param(stage, 0, PARAM_VERSION));
  state[STATE_FADE_LEFT] = F32_OF_BITS(0U);
}

// How far two sections ring alike, 0 to 1: the cosine between exp(p t) and exp(q t) as vectors.
DEVICE f32
overlap(GLOBAL const f32* const p, GLOBAL const f32* const q)
{
  const f32 sum = p[ROW_SIGMA] + q[ROW_SIGMA];
  const f32 apart = (q[ROW_OMEGA] - p[ROW_OMEGA]) + (q[ROW_OMEGA + 1] - p[ROW_OMEGA + 1]);
  return SQRT(4.0f * p[ROW_SIGMA] * q[ROW_SIGMA] / (sum * sum + apart * apart));
}

// Start the next filter with as much of the state as their resonances overlap; returns the frames
// until it has taken over.  dsp_cpu/cascade.c says why.
DEVICE u32
fade_begin(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  const u32 fade_frames = unit_param(stage, 0, PARAM_FADE_FRAMES);
  f32 least_kept = 1.0f;
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL const f32* const old = state + STATE_ROWS + s * ROW_WORDS;
    GLOBAL f32* const next = state + STATE_ROWS + (n_sections + s) * ROW_WORDS;
    take_design(stage, s, next);
    const f32 kept = overlap(old, next);
    const f32 scale = old[ROW_S] / next[ROW_S];
    const f32 scale_v = kept * scale;
    const f32 scale_d = kept * SQRT(scale);
    ((GLOBAL float4*)next)[ROW_V / 4] = F4(scale_v * old[ROW_V], scale_v * old[ROW_V + 1],
                                           scale_d * old[ROW_D], scale_d * old[ROW_D + 1]);
    least_kept = FMIN(least_kept, kept);
  }
  state[STATE_VERSION] = F32_OF_BITS(unit_param(stage, 0, PARAM_VERSION));
  return fade_frames + (u32)((1.0f - least_kept) * (f32)fade_frames);
}

DEVICE void
fade_end(GLOBAL f32* const state, const u32 n_sections)
{
  GLOBAL float4* const old = (GLOBAL float4*)(state + STATE_ROWS);
  const u32 n_quads = n_sections * ROW_QUADS;
  for (u32 q = 0; q < n_quads; ++q) {
    old[q] = old[n_quads + q];
  }
}

// Fade `out` to the next filter's signal, which is in `in`; `left` frames before the end.
DEVICE void
fade_mix(const Tiles tiles, const u32 first, const u32 end, const u32 left, const u32 fade_frames)
{
  const f32 per_frame = 1.0f / (f32)fade_frames;
  const u32 listens = left > fade_frames ? left - fade_frames : 0;
  for (u32 i = first + listens; i < end; ++i) {
    // From the middle, -1/2 to 1/2; 6 w^5 - 15 w^4 + 10 w^3 for w = 1/2 + c.
    const f32 c = (0.5f * (f32)fade_frames - (f32)(left - (i - first))) * per_frame;
    const f32 c2 = c * c;
    const f32 weight = 0.5f + c * (1.875f + c2 * (6.0f * c2 - 5.0f));
    tiles.out[i] += weight * (tiles.in[i] - tiles.out[i]);
  }
}

// n frames of unit 0 of the stage; true when an output is not finite.
DEVICE u32
unit_run(const Stage stage, const Tiles tiles, const u32 n)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  GLOBAL f32* const rows = state + STATE_ROWS;
  const u32 n_sections = unit_param(stage, 0, PARAM_N_SECTIONS);
  if (state[0] == 0.0f) {
    unit_begin(stage, n_sections);
  }
  Tiles next = tiles; // the next filter's output takes the place of the input
  next.out = tiles.in;
  u32 is_bad = 0;
  u32 left = BITS_OF_F32(state[STATE_FADE_LEFT]);
  for (u32 done = 0; done < n;) {
    if (left == 0 && BITS_OF_F32(state[STATE_VERSION]) != unit_param(stage, 0, PARAM_VERSION)) {
      left = fade_begin(stage, n_sections);
    }
    const u32 end = left > 0 ? min(n, done + left) : n;
    is_bad |= filter_run(rows, n_sections, tiles, done, end);
    if (left > 0) {
      is_bad |= filter_run(rows + n_sections * ROW_WORDS, n_sections, next, done, end);
      fade_mix(tiles, done, end, left, unit_param(stage, 0, PARAM_FADE_FRAMES));
      left -= end - done;
      if (left == 0) {
        fade_end(state, n_sections);
      }
      state[STATE_FADE_LEFT] = F32_OF_BITS(left);
    }
    done = end;
  }
  return is_bad;
}

// ---- a chain of units ----

DEVICE void
silence(const Tiles tiles, const u32 n)
{
  for (u32 i = 0; i < n; ++i) {
    tiles.out[i] = 0.0f;
  }
}

// Frames [at, at + n) of the chain that begins with unit 0 of the stage.  silenced: a bit for each
// of its units that had an output that is not finite; returns it with the new ones.
DEVICE u32
chain_run(Stage stage, const Tiles tiles, const u32 at, const u32 n, u32 silenced)
{
  for (u32 bit = 1;; bit <<= 1) {
    if (silenced & bit) {
      silence(tiles, n);
    } else if (unit_run(stage, tiles, n)) {
      silence(tiles, n);
      unit_reset(stage, 0);
      silenced |= bit;
    }
    const u32 next = unit_word(stage, 0, UNIT_NEXT);
    if (next == 0) {
      return silenced;
    }
    stage.first_unit = next;
    const u32 link = unit_word(stage, 0, UNIT_IN);
    const u32 is_steady = stage.live[link + LINK_IS_STEADY];
    const f32 steady_gain = F32_OF_BITS(stage.live[link + LINK_GAIN]);
    for (u32 i = 0; i < n; ++i) {
      const f32 gain = is_steady ? steady_gain : moving_gain(stage, link, at + i + 1);
      tiles.in[i] = gain * tiles.out[i];
    }
  }
}

// ---- a group ----

// Where the group's units read and write, one word for each.
typedef struct Rows {
  LOCAL_POINTER u32* from; // row of the first term
  LOCAL_POINTER f32* gain; // of a plain input; else 0
  LOCAL_POINTER u32* to;
  LOCAL_POINTER u32* any_moving; // one word for all: an input is not plain
} Rows;

// Of threads without a unit: any row, times 0.
DEVICE void
rows_find(const Stage stage, const Rows rows, const u32 first, const u32 n_rows)
{
  if (LOCAL_ID == 0) {
    rows.any_moving[0] = 0;
  }
  rows.from[LOCAL_ID] = 0;
  rows.gain[LOCAL_ID] = 0.0f;
  BARRIER();
  if (LOCAL_ID < n_rows) {
    const u32 unit = first + LOCAL_ID;
    const Input input = unit_input(stage, unit, 0);
    rows.to[LOCAL_ID] = stage.table[unit_word(stage, unit, UNIT_OUT)];
    if (input.is_plain) {
      rows.from[LOCAL_ID] = stage.table[input.terms + TERM_FROM];
      rows.gain[LOCAL_ID] = input.gain;
    } else {
      rows.any_moving[0] = 1;
    }
  }
  BARRIER();
}

// Frames [at, at + n) of n_rows inputs.  First the plain ones, all of a frame on their way at once.
DEVICE void
tile_load(const Stage stage, const Rows rows, LOCAL_POINTER f32* const tile, const u32 first,
          const u32 n_rows, const u32 at, const u32 n)
{
  for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
    f32 samples[GROUP_SIZE];
#pragma unroll
    for (u32 u = 0; u < GROUP_SIZE; ++u) {
      samples[u] = row_at(stage, rows.from[u])[at + i];
    }
#pragma unroll
    for (u32 u = 0; u < GROUP_SIZE; ++u) {
      tile[u * TILE_STRIDE + i] = rows.gain[u] * samples[u];
    }
  }
  if (rows.any_moving[0]) {
    for (u32 u = 0; u < n_rows; ++u) {
      const Input input = unit_input(stage, first + u, 0);
      for (u32 i = LOCAL_ID; i < n && !input.is_plain; i += GROUP_SIZE) {
        tile[u * TILE_STRIDE + i] = input_at(stage, input, at + i);
      }
    }
  }
}

DEVICE void
tile_store(const Stage stage, const Rows rows, LOCAL_POINTER const f32* const tile,
           const u32 n_rows, const u32 at, const u32 n)
{
  for (u32 u = 0; u < n_rows; ++u) {
    GLOBAL f32* const row = stage.rows + (u64)rows.to[u] * stage.row_stride + at;
    for (u32 i = LOCAL_ID; i < n; i += GROUP_SIZE) {
      row[i] = tile[u * TILE_STRIDE + i];
    }
  }
}

KERNEL
fx_cascade(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, in, GROUP_SIZE * TILE_STRIDE);
  LOCAL_ARRAY(f32, out, GROUP_SIZE * TILE_STRIDE);
  LOCAL_ARRAY(f32, rest, GROUP_SIZE * TILE_STRIDE);
  LOCAL_ARRAY(u32, from_rows, GROUP_SIZE);
  LOCAL_ARRAY(f32, gains, GROUP_SIZE);
  LOCAL_ARRAY(u32, to_rows, GROUP_SIZE);
  LOCAL_ARRAY(u32, any_moving, 1);
  const Stage stage = STAGE;
  const u32 first = GROUP_X * GROUP_SIZE;
  const u32 n_rows = min(n_units - first, (u32)GROUP_SIZE);
  Rows group;
  group.from = from_rows;
  group.gain = gains;
  group.to = to_rows;
  group.any_moving = any_moving;
  rows_find(stage, group, first, n_rows);

  Tiles tiles;
  tiles.in = in + LOCAL_ID * TILE_STRIDE;
  tiles.out = out + LOCAL_ID * TILE_STRIDE;
  tiles.rest = rest + LOCAL_ID * TILE_STRIDE;
  Stage own = stage; // whose unit 0 is the thread's
  own.first_unit += (first + LOCAL_ID) * UNIT_WORDS;
  u32 silenced = 0;
  for (u32 at = 0; at < stage.n_frames; at += TILE_FRAMES) {
    const u32 n = min(stage.n_frames - at, (u32)TILE_FRAMES);
    tile_load(stage, group, in, first, n_rows, at, n);
    BARRIER(); // the tile is complete, and the one before is stored
    if (LOCAL_ID < n_rows) {
      silenced = chain_run(own, tiles, at, n, silenced);
    }
    BARRIER(); // all channels are filtered
    tile_store(stage, group, out, n_rows, at, n);
  }
}
