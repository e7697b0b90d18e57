// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The code of one thread for fx_cascade.cu: sections, filters and units.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_CASCADE_H
#define WARPRACK_DSP_GPU_KERNELS_CASCADE_H

#include "stage.h"

#include "dsp_cpu/shared/cascade_words.h"

// A row: coefficients, each the sum of two floats, then states, two floats each
#define ROW_S     0
#define ROW_R     2 // r + s
#define ROW_B0    4
#define ROW_CV    6
#define ROW_CD    8  // cd - cv
#define ROW_SIGMA 10 // one float: minus the real part of the slower pole, see overlap()
#define ROW_OMEGA 11 // its imaginary part
#define ROW_V     16
#define ROW_D     18
#define ROW_QUADS (CASCADE_ROW_WORDS / 4)

// States below this become zero at the end of a tile: outputs do not change, and tails end.
#define SMALLEST_STATE 1e-25f

// ---- a section ----

typedef struct Section {
  float2 s, r, b0, cv, cd; // .x, and its rounding error in .y
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

DEVICE Section
section_zero(void)
{
  Section section;
  section.s = section.r = section.b0 = section.cv = section.cd = F2(0.0f, 0.0f);
  section.v = section.d = F2(0.0f, 0.0f);
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

// The state after a frame. v.y collects rounding errors; section_store() normalises the sum.
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

// Output of a frame, after its step; d: the state d before the step.
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

// As above, rounded to one float.
DEVICE f32
section_out_rounded(const Section section, const float2 x, const float2 d)
{
  const f32 rest = FMA(section.b0.x, x.y, FMA(section.cv.x, section.v.y, section.cd.x * d.y));
  return FMA(section.b0.x, x.x, FMA(section.cv.x, section.v.x, section.cd.x * d.x)) + rest;
}

// ---- frames [first, end) of tiles ----

// Signals in local memory, frame by frame.
typedef struct Tiles {
  LOCAL_POINTER f32* in;
  LOCAL_POINTER f32* out;
  LOCAL_POINTER f32* rest; // beside `out`, between two sections: the rounding errors
} Tiles;

// The input of section `s` of a filter: `in` for the first, out + rest for the others.
DEVICE LOCAL_POINTER const f32*
read_by(const Tiles tiles, const u32 s)
{
  return s == 0 ? tiles.in : tiles.out;
}

// Run a section that is not the last one.
DEVICE void
section_run(Section* const section, const Tiles tiles, const u32 s, const u32 first, const u32 end)
{
  LOCAL_POINTER const f32* const from = read_by(tiles, s);
  for (u32 i = first; i < end; ++i) {
    const float2 x = F2(from[i], s == 0 ? 0.0f : tiles.rest[i]);
    const float2 d = section->d;
    section_step(section, x);
    const float2 y = section_out(*section, x, d);
    tiles.out[i] = y.x;
    tiles.rest[i] = y.y;
  }
}

// Run the last section, and multiply its output by a gain; returns true if an output is not finite
// before that.
DEVICE u32
section_run_last(Section* const section, const Tiles tiles, const u32 s, const u32 first,
                 const u32 end, const f32 gain)
{
  LOCAL_POINTER const f32* const from = read_by(tiles, s);
  u32 is_bad = 0;
  f32 ahead = first < end ? from[first] : 0.0f; // read one frame before its use
  for (u32 i = first; i < end; ++i) {
    const float2 x = F2(ahead, s == 0 ? 0.0f : tiles.rest[i]);
    ahead = i + 1 < end ? from[i + 1] : 0.0f; // the memory after `end` may be another thread's
    const float2 d = section->d;
    section_step(section, x);
    const f32 y = section_out_rounded(*section, x, d);
    is_bad |= !is_finite(y);
    tiles.out[i] = gain * y;
  }
  return is_bad;
}

// ---- a unit ----

// The node's current design.
DEVICE void
take_design(const Stage stage, const u32 s, GLOBAL f32* const row)
{
  for (u32 w = 0; w < CASCADE_COEFFICIENT_WORDS; ++w) {
    row[w] = unit_param_f32(stage, 0, CASCADE_PARAM_HEAD + s * CASCADE_COEFFICIENT_WORDS + w);
  }
}

DEVICE void
unit_begin(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL f32* const row = state + CASCADE_STATE_HEAD + s * CASCADE_ROW_WORDS;
    take_design(stage, s, row);
    ((GLOBAL float4*)row)[ROW_V / 4] = F4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  state[0] = 1.0f;
  state[CASCADE_STATE_VERSION] = F32_OF_BITS(unit_param(stage, 0, CASCADE_VERSION));
  state[CASCADE_STATE_FADE_LEFT] = F32_OF_BITS(0U);
}

// Similarity of the impulse responses of two sections, 0 to 1: the cosine between exp(p t) and
// exp(q t) as vectors.
DEVICE f32
overlap(GLOBAL const f32* const p, GLOBAL const f32* const q)
{
  const f32 sum = p[ROW_SIGMA] + q[ROW_SIGMA];
  const f32 apart = (q[ROW_OMEGA] - p[ROW_OMEGA]) + (q[ROW_OMEGA + 1] - p[ROW_OMEGA + 1]);
  return SQRT(4.0f * p[ROW_SIGMA] * q[ROW_SIGMA] / (sum * sum + apart * apart));
}

// Start the next filter from the old state times the similarity of the filters; returns the frames
// until the fade ends. dsp_cpu/cascade.c gives the reason.
DEVICE u32
fade_begin(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  const u32 fade_frames = unit_param(stage, 0, CASCADE_FADE_FRAMES);
  f32 least_kept = 1.0f;
  for (u32 s = 0; s < n_sections; ++s) {
    GLOBAL const f32* const old = state + CASCADE_STATE_HEAD + s * CASCADE_ROW_WORDS;
    GLOBAL f32* const next = state + CASCADE_STATE_HEAD + (n_sections + s) * CASCADE_ROW_WORDS;
    take_design(stage, s, next);
    const f32 kept = overlap(old, next);
    const f32 scale = old[ROW_S] / next[ROW_S];
    const f32 scale_v = kept * scale;
    const f32 scale_d = kept * SQRT(scale);
    ((GLOBAL float4*)next)[ROW_V / 4] = F4(scale_v * old[ROW_V], scale_v * old[ROW_V + 1],
                                           scale_d * old[ROW_D], scale_d * old[ROW_D + 1]);
    least_kept = FMIN(least_kept, kept);
  }
  state[CASCADE_STATE_VERSION] = F32_OF_BITS(unit_param(stage, 0, CASCADE_VERSION));
  state[CASCADE_STATE_FADE_FRAMES] = F32_OF_BITS(fade_frames);
  return fade_frames + (u32)((1.0f - least_kept) * (f32)fade_frames);
}

DEVICE void
fade_end(GLOBAL f32* const state, const u32 n_sections)
{
  GLOBAL float4* const old = (GLOBAL float4*)(state + CASCADE_STATE_HEAD);
  const u32 n_quads = n_sections * ROW_QUADS;
  for (u32 q = 0; q < n_quads; ++q) {
    old[q] = old[n_quads + q];
  }
}

// Cross-fade `out` to the next filter, whose output is in `in`; `left` frames remain until the
// fade ends.
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

// Call before running frames of unit 0 of the stage: initialises a new unit, and starts a fade if
// the design has changed.  Returns the frames until the fade ends, 0: only the old filter runs.
DEVICE u32
unit_prepare(const Stage stage, const u32 n_sections)
{
  GLOBAL f32* const state = unit_state(stage, 0);
  if (state[0] == 0.0f) {
    unit_begin(stage, n_sections);
  }
  if (BITS_OF_F32(state[CASCADE_STATE_FADE_LEFT]) == 0 &&
      BITS_OF_F32(state[CASCADE_STATE_VERSION]) != unit_param(stage, 0, CASCADE_VERSION)) {
    state[CASCADE_STATE_FADE_LEFT] = F32_OF_BITS(fade_begin(stage, n_sections));
  }
  return BITS_OF_F32(state[CASCADE_STATE_FADE_LEFT]);
}

// Advance a fade with `left` remaining frames by n_frames.
DEVICE void
fade_advance(GLOBAL f32* const state, const u32 n_sections, const u32 left, const u32 n_frames)
{
  if (left == n_frames) {
    fade_end(state, n_sections);
  }
  state[CASCADE_STATE_FADE_LEFT] = F32_OF_BITS(left - n_frames);
}

// Tiles of the next filter: its output replaces the input.
DEVICE Tiles
tiles_of_next(const Tiles tiles)
{
  Tiles next = tiles;
  next.out = tiles.in;
  return next;
}

#endif
